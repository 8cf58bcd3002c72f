#include "study/post.h"

#include "base/mem.h"
#include "study/cell.h"

#include <mpi.h>

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Between two looks: short while letters come, longer when nothing happens. Silence counts a pause of this process as a
 * moment. */
enum { NAP_MIN_NS = 100000, NAP_MAX_NS = 4000000, BEAT_TAG = 0 };
#define BEAT_S 1.0
#define MOMENT_S 0.25

struct letters {
    struct study_letter *at;
    size_t count, capacity, first; /* those before `first` are taken */
};

/* A letter that MPI may still be reading. */
struct sending {
    MPI_Request request;
    struct base_text body;
};

struct study_post {
    pthread_t carrier;
    pthread_mutex_t mutex;
    pthread_cond_t arrived, to_send, opened;
    bool is_open, is_closing, is_orderly;
    enum kvsim_status status; /* of opening */
    size_t number, count;
    struct letters inbox, outbox;
    double *silence_s; /* by process */
    /* The carrier's own. */
    struct {
        struct sending *at;
        size_t count, capacity;
    } sendings;
    double looked_s, beat_s, closing_s; /* closing_s: how long it has been closing */
    long nap_ns;
};

/* ---- queues, with the mutex held ---- */

static void put_letter(struct letters *letters, const struct study_letter *letter)
{
    if (letters->first > 0 && letters->first == letters->count)
        letters->first = letters->count = 0;
    base_vec_push(letters, *letter);
}

static bool take_letter(struct letters *letters, struct study_letter *out)
{
    if (letters->first == letters->count)
        return false;
    *out = letters->at[letters->first++];
    return true;
}

static void free_letters(struct letters *letters)
{
    struct study_letter letter;
    while (take_letter(letters, &letter))
        base_text_free(&letter.body);
    base_vec_free(letters);
}

/* ---- the carrier ---- */

static void send_letter(struct study_post *post, struct study_letter *letter)
{
    struct sending sending = {.body = letter->body};
    base_require(letter->body.count <= INT_MAX);
    int rc = MPI_Isend(sending.body.at, (int)sending.body.count, MPI_BYTE, (int)letter->who,
                       letter->subject, MPI_COMM_WORLD, &sending.request);
    if (rc != MPI_SUCCESS) // it is gone; its silence will tell
        base_text_free(&sending.body);
    else
        base_vec_push(&post->sendings, sending);
}

static bool send_all(struct study_post *post)
{
    struct study_letter letter;
    bool any = false;
    pthread_mutex_lock(&post->mutex);
    while (take_letter(&post->outbox, &letter)) {
        pthread_mutex_unlock(&post->mutex);
        send_letter(post, &letter);
        any = true;
        pthread_mutex_lock(&post->mutex);
    }
    pthread_mutex_unlock(&post->mutex);
    return any;
}

static void forget_sent(struct study_post *post)
{
    size_t kept = 0;
    for (size_t i = 0; i < post->sendings.count; i++) {
        struct sending *sending = &post->sendings.at[i];
        int is_sent = 0;
        if (MPI_Test(&sending->request, &is_sent, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_sent)
            base_text_free(&sending->body);
        else
            post->sendings.at[kept++] = *sending;
    }
    post->sendings.count = kept;
}

static void keep_letter(struct study_post *post, struct study_letter *letter)
{
    pthread_mutex_lock(&post->mutex);
    post->silence_s[letter->who] = 0;
    if (letter->subject != BEAT_TAG) {
        put_letter(&post->inbox, letter);
        pthread_cond_signal(&post->arrived);
    } else {
        base_text_free(&letter->body);
    }
    pthread_mutex_unlock(&post->mutex);
}

static bool receive_one(struct study_post *post)
{
    int is_there = 0, bytes = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status) !=
            MPI_SUCCESS ||
        !is_there)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    struct study_letter letter = {.who = (size_t)status.MPI_SOURCE, .subject = status.MPI_TAG};
    base_vec_reserve(&letter.body, (size_t)bytes + 1);
    if (MPI_Recv(letter.body.at, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        base_text_free(&letter.body);
        return false;
    }
    letter.body.count = (size_t)bytes;
    letter.body.at[bytes] = '\0';
    keep_letter(post, &letter);
    return true;
}

static void beat(struct study_post *post)
{
    size_t first = post->number == 0 ? 1 : 0, end = post->number == 0 ? post->count : 1;
    for (size_t i = first; i < end; i++) {
        struct study_letter letter = {.who = i, .subject = BEAT_TAG};
        base_text_add_n(&letter.body, "", 0);
        send_letter(post, &letter);
    }
}

static void pass_time(struct study_post *post)
{
    double now_s = study_clock_s(), passed_s = now_s - post->looked_s;
    post->looked_s = now_s;
    if (passed_s > MOMENT_S)
        passed_s = MOMENT_S;
    pthread_mutex_lock(&post->mutex);
    for (size_t i = 0; i < post->count; i++)
        post->silence_s[i] += passed_s;
    post->closing_s += post->is_closing ? passed_s : 0;
    pthread_mutex_unlock(&post->mutex);
    if (now_s - post->beat_s < BEAT_S)
        return;
    post->beat_s = now_s;
    beat(post);
}

/* Until somebody has a letter to send, or it is time to look again. */
static void nap(struct study_post *post, bool was_busy)
{
    struct timespec until;
    post->nap_ns = was_busy                        ? NAP_MIN_NS
                   : post->nap_ns < NAP_MAX_NS / 2 ? post->nap_ns * 2
                                                   : NAP_MAX_NS;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += post->nap_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&post->mutex);
    if (post->outbox.first == post->outbox.count && !post->is_closing)
        pthread_cond_timedwait(&post->to_send, &post->mutex, &until);
    pthread_mutex_unlock(&post->mutex);
}

/* Letters to a process that is gone may never be sent: without order they are waited for a moment only. */
static bool is_finished(struct study_post *post)
{
    pthread_mutex_lock(&post->mutex);
    bool is_closing = post->is_closing, is_orderly = post->is_orderly;
    bool is_empty = post->outbox.first == post->outbox.count && post->sendings.count == 0;
    pthread_mutex_unlock(&post->mutex);
    return is_closing && (is_empty || (!is_orderly && post->closing_s >= 4 * MOMENT_S));
}

static void carry(struct study_post *post)
{
    while (!is_finished(post)) {
        bool any = send_all(post);
        while (receive_one(post))
            any = true;
        forget_sent(post);
        pass_time(post);
        nap(post, any);
    }
}

static enum kvsim_status begin(struct study_post *post)
{
    // A failed check of kvsim's own ends as it does everywhere: MPI would print its stack instead.
    struct sigaction on_abort;
    int level, number, count;
    sigaction(SIGABRT, NULL, &on_abort);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return KVSIM_ERR_IO;
    sigaction(SIGABRT, &on_abort, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    post->number = (size_t)number;
    post->count = (size_t)count;
    post->silence_s = base_alloc(base_mul_size(post->count, sizeof *post->silence_s));
    post->looked_s = post->beat_s = study_clock_s();
    post->nap_ns = NAP_MIN_NS;
    return KVSIM_OK;
}

static void *be_carrier(void *context)
{
    struct study_post *post = context;
    enum kvsim_status status = begin(post);
    pthread_mutex_lock(&post->mutex);
    post->status = status;
    post->is_open = true;
    pthread_cond_signal(&post->opened);
    pthread_mutex_unlock(&post->mutex);
    if (status != KVSIM_OK)
        return NULL;
    carry(post);
    if (post->is_orderly)
        MPI_Finalize();
    return NULL;
}

/* ---- for the others ---- */

/* Signals are for the thread that started it. */
static bool start_carrier(struct study_post *post)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&post->carrier, NULL, be_carrier, post) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

void study_post_free(struct study_post *post)
{
    free_letters(&post->inbox);
    free_letters(&post->outbox);
    for (size_t i = 0; i < post->sendings.count && post->is_orderly; i++)
        base_text_free(&post->sendings.at[i].body);
    base_vec_free(&post->sendings);
    base_free(post->silence_s);
    pthread_cond_destroy(&post->arrived);
    pthread_cond_destroy(&post->to_send);
    pthread_cond_destroy(&post->opened);
    pthread_mutex_destroy(&post->mutex);
    base_free(post);
}

enum kvsim_status study_post_open(struct study_post **out, struct kvsim_error *err)
{
    struct study_post *post = base_alloc(sizeof *post);
    pthread_mutex_init(&post->mutex, NULL);
    pthread_cond_init(&post->arrived, NULL);
    pthread_cond_init(&post->to_send, NULL);
    pthread_cond_init(&post->opened, NULL);
    bool is_started = start_carrier(post);
    pthread_mutex_lock(&post->mutex);
    while (is_started && !post->is_open)
        pthread_cond_wait(&post->opened, &post->mutex);
    pthread_mutex_unlock(&post->mutex);
    *out = post;
    if (is_started && post->status == KVSIM_OK)
        return KVSIM_OK;
    if (is_started)
        pthread_join(post->carrier, NULL);
    study_post_free(post);
    *out = NULL;
    return base_fail(err, KVSIM_ERR_IO, "cannot join the ranks of this MPI job");
}

void study_post_close(struct study_post *post, bool is_orderly)
{
    pthread_mutex_lock(&post->mutex);
    post->is_orderly = is_orderly;
    post->is_closing = true;
    pthread_cond_signal(&post->to_send);
    pthread_mutex_unlock(&post->mutex);
    pthread_join(post->carrier, NULL);
}

size_t study_post_count(const struct study_post *post)
{
    return post->count;
}

void study_post_send(struct study_post *post, size_t to, int subject, struct base_text *body)
{
    struct study_letter letter = {.who = to, .subject = subject, .body = *body};
    *body = (struct base_text){0};
    pthread_mutex_lock(&post->mutex);
    put_letter(&post->outbox, &letter);
    pthread_cond_signal(&post->to_send);
    pthread_mutex_unlock(&post->mutex);
}

bool study_post_receive(struct study_post *post, unsigned wait_ms, struct study_letter *out)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int rc = 0;
    pthread_mutex_lock(&post->mutex);
    while (post->inbox.first == post->inbox.count && rc == 0 && wait_ms > 0)
        rc = pthread_cond_timedwait(&post->arrived, &post->mutex, &until);
    bool is_there = take_letter(&post->inbox, out);
    pthread_mutex_unlock(&post->mutex);
    return is_there;
}

double study_post_silence_s(struct study_post *post, size_t who)
{
    pthread_mutex_lock(&post->mutex);
    double silence_s = post->silence_s[who];
    pthread_mutex_unlock(&post->mutex);
    return silence_s;
}
