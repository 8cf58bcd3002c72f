/*
 * post.h - letters between the processes of one parallel job, carried by a thread of its own.
 *
 * That thread is the only one that calls MPI, so that letters and signs of life go on whatever the others compute or wait
 * for. Process 0 and every other one exchange letters; two others do not. Each tells the other once a second that it lives;
 * silence is counted in the time in which this process ran itself, so that a job that is stopped and goes on loses nobody.
 * A letter to a process that is gone is lost without an error.
 */
#ifndef KVSIM_STUDY_POST_H
#define KVSIM_STUDY_POST_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct study_post;

struct study_letter {
    size_t who;  /* from or to */
    int subject; /* above 0 */
    struct base_text body;
};

/* Joins the processes that were started together; NULL where this program was built without the means. */
enum kvsim_status study_post_open(struct study_post **out,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;

/*
 * Ends when all letters are on their way. With `is_orderly` every process must come here, and all leave together; without
 * it, as when one is lost, the others are not waited for, and the process must then end by _exit().
 */
void study_post_close(struct study_post *post, bool is_orderly);
void study_post_free(struct study_post *post); /* closed, and in use by no other thread */

size_t study_post_count(const struct study_post *post);

/* Takes the body over, and leaves it empty. */
void study_post_send(struct study_post *post, size_t to, int subject, struct base_text *body);
/* The next letter into `out`, whose body the caller frees; false when none came for so long. */
bool study_post_receive(struct study_post *post, unsigned wait_ms, struct study_letter *out);
/* Seconds since anything was heard of it. */
double study_post_silence_s(struct study_post *post, size_t who);

#endif
