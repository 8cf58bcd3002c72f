#include "serve/search.h"

#include "base/count.h"
#include "base/error.h"
#include "base/mem.h"
#include "sched/beams.h"

struct path {
    struct spec_token_run *at; /* a beam's own tokens, behind the prompt */
    size_t count, capacity;
};

struct serve_search {
    struct sched_beam_draws draws;
    int64_t tokens, end; /* of each beam */
    bool has_content;    /* a prefix cache looks at it */
    int64_t first_id, ids_per_beam;
    int64_t answer_first; /* a session goes on with the first answer: its ids; else 0 */
    uint32_t *answer;     /* then: which beam has its token i, from 0; else NULL */
    struct path *paths;   /* [width] */
    struct path runs;     /* scratch: what a request consists of */
    uint32_t parents[];   /* [2 width]: scratch of a draw */
};

/* ---- whose tokens are the first answer's ---- */

// The first beam's path, from its end to its beginning.
static void find_answer(struct serve_search *search)
{
    uint32_t beam = 0;
    search->answer = base_alloc(base_mul_size((size_t)search->end, sizeof *search->answer));
    for (int64_t tokens = search->end; tokens > 0; tokens--) {
        // Its last token is not chosen among: the search is over.
        if (tokens > 1 && tokens < search->end) {
            sched_beam_parents(&search->draws, tokens, search->parents,
                               search->parents + search->draws.width);
        }
        search->answer[tokens - 1] = beam;
        beam = tokens > 1 && tokens < search->end ? search->parents[beam] : beam;
    }
}

/* ---- paths ---- */

// Of the token that a beam gets as its `tokens`-th.
static int64_t id_of(const struct serve_search *search, uint32_t beam, int64_t tokens)
{
    if (search->answer != NULL && search->answer[tokens - 1] == beam) {
        return search->answer_first + tokens - 1;
    }
    return search->first_id + beam * search->ids_per_beam + tokens;
}

static void path_copy(struct path *to, const struct path *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        base_vec_push(to, from->at[i]);
    }
}

static void path_append(struct path *path, int64_t id)
{
    struct spec_token_run *last = path->count > 0 ? &path->at[path->count - 1] : NULL;
    if (last != NULL && last->first + last->count == id) {
        last->count++;
        return;
    }
    struct spec_token_run run = {id, 1};
    base_vec_push(path, run);
}

// Who has no continuation among the best takes over another's past, the newest token excepted: that one is its own.
static void choose(struct serve_search *search)
{
    const uint32_t *parents = search->parents;
    sched_beam_parents(&search->draws, search->tokens, search->parents,
                       search->parents + search->draws.width);
    for (uint32_t beam = 0; beam < search->draws.width; beam++) {
        if (parents[beam] != beam) {
            path_copy(&search->paths[beam], &search->paths[parents[beam]]);
        }
    }
}

/* ---- the loop ---- */

struct serve_search *serve_search_new(const struct serve_config *config,
                                      const struct workload_request *asked)
{
    uint32_t width = asked->sequence_count;
    struct serve_search *search =
        base_alloc(sizeof *search + base_mul_size(2 * (size_t)width, sizeof *search->parents));
    int64_t room = config->sched.max_model_len - asked->prompt_tokens;
    search->draws = (struct sched_beam_draws){
        .key = asked->beam_key,
        .switches = config->workload.classes[asked->class_index].beam_switch,
        .width = width};
    search->end = base_min(asked->max_tokens, base_max(room, 1));
    search->has_content = config->sched.enable_prefix_caching;
    if (search->has_content) {
        search->ids_per_beam = SERVE_SEARCH_IDS_MAX / width;
        base_require(search->end < search->ids_per_beam);
        search->first_id = serve_own_ids(asked->index, false) + SERVE_SEARCH_IDS_MAX;
        search->paths = base_alloc(base_mul_size(width, sizeof *search->paths));
        search->answer_first = asked->answer_first;
        if (asked->answer_first != 0) {
            find_answer(search);
        }
    }
    return search;
}

void serve_search_free(struct serve_search *search)
{
    for (uint32_t i = 0; search->paths != NULL && i < search->draws.width; i++) {
        base_vec_free(&search->paths[i]);
    }
    base_vec_free(&search->runs);
    base_free(search->paths);
    base_free(search->answer);
    base_free(search);
}

uint32_t serve_search_width(const struct serve_search *search)
{
    return search->tokens == 0 ? 1 : search->draws.width;
}

// The prompt's runs, or one of its own, and the beam's.
static void fill_runs(struct serve_search *search, const struct workload_request *asked,
                      uint32_t number)
{
    search->runs.count = 0;
    for (size_t i = 0; i < asked->run_count; i++) {
        base_vec_push(&search->runs, asked->runs[i]);
    }
    if (asked->run_count == 0) {
        struct spec_token_run prompt = {serve_own_ids(asked->index, false), asked->prompt_tokens};
        base_vec_push(&search->runs, prompt);
    }
    const struct path *path = &search->paths[number];
    for (size_t i = 0; i < path->count; i++) {
        base_vec_push(&search->runs, path->at[i]);
    }
}

struct workload_request serve_search_ask(struct serve_search *search,
                                         const struct workload_request *asked, uint32_t number)
{
    struct workload_request step = *asked;
    base_require(number < serve_search_width(search) && search->tokens < search->end);
    step.prompt_tokens += search->tokens;
    step.output_tokens = step.max_tokens = 1;
    step.sequence_count = 1;
    step.answer_count = 0;
    step.is_beam = false;
    step.priority = 0;
    if (search->tokens > 0) {
        step.seen_tokens = step.prompt_tokens; // the step before sent it, or was answered it
    }
    if (search->has_content) {
        fill_runs(search, asked, number);
        step.runs = search->runs.at;
        step.run_count = search->runs.count;
        step.answer_first = id_of(search, number, search->tokens + 1);
    }
    return step;
}

void serve_search_advance(struct serve_search *search)
{
    search->tokens++;
    if (!search->has_content || search->tokens == search->end) {
        return;
    }
    if (search->tokens > 1) {
        choose(search);
    }
    for (uint32_t beam = 0; beam < search->draws.width; beam++) {
        path_append(&search->paths[beam], id_of(search, beam, search->tokens));
    }
}

int64_t serve_search_tokens(const struct serve_search *search)
{
    return search->tokens;
}

int64_t serve_search_end(const struct serve_search *search)
{
    return search->end;
}
