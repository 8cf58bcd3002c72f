/*
 * Without MPI there are no others.
 */
#include "study/post.h"

enum kvsim_status study_post_open(struct study_post **out, struct kvsim_error *err)
{
    (void)err;
    *out = NULL;
    return KVSIM_OK;
}

void study_post_close(struct study_post *post, bool is_orderly)
{
    (void)is_orderly;
    base_require(post != NULL);
}

void study_post_free(struct study_post *post)
{
    base_require(post == NULL);
}

size_t study_post_count(const struct study_post *post)
{
    base_require(post == NULL);
    return 1;
}

void study_post_send(struct study_post *post, size_t to, int subject, struct base_text *body)
{
    (void)to;
    (void)subject;
    (void)body;
    base_require(post != NULL);
}

bool study_post_receive(struct study_post *post, unsigned wait_ms, struct study_letter *out)
{
    (void)wait_ms;
    (void)out;
    base_require(post != NULL);
    return false;
}

double study_post_silence_s(struct study_post *post, size_t who)
{
    (void)who;
    base_require(post != NULL);
    return 0;
}
