/*
 * Prompts that begin with shared texts, and prompts of sessions, as runs of token ids.
 *
 * Ids: text t of the workload has those from TEXT_BASE + t * STRIDE on; what belongs to one beginning alone (its own
 * question, its answers, what its session adds) those from beginning * STRIDE on, in the order in which they come. So a
 * prompt of any number of turns is a few runs.
 */
#include "workload/workload_int.h"

#include <math.h>

#define STRIDE (INT64_C(1) << 31)
#define TEXT_BASE (INT64_C(1) << 62)

/* Streams of one description of shared texts, and of one class's sessions. */
enum shared_stream { GROUP, FEW_SHOT, QUESTION, SYSTEM_LENGTH, FEW_SHOT_LENGTH, QUESTION_LENGTH };
enum session_stream { TURNS, GROWTH, GAP_KIND, THINK, TOOL };
enum { STREAMS = 8 };

static double draw(const struct workload_draws *draws, enum rng_purpose purpose, uint64_t entity,
                   unsigned stream, uint64_t address)
{
    uint64_t key =
        rng_key(draws->seed, draws->replication, purpose, entity * STREAMS + (uint64_t)stream);

    return rng_uniform(key, address);
}

static int64_t draw_length(const struct rng_dist *dist, double u)
{
    double value = rng_dist_value(dist, u);

    return value < (double)(STRIDE - 1) ? (int64_t)value : STRIDE - 1;
}

static uint64_t pick(uint64_t count, double u)
{
    uint64_t which = (uint64_t)(u * (double)count);

    return which < count ? which : count - 1;
}

uint64_t workload_shared_texts(const struct workload_shared *shared)
{
    return (uint64_t)shared->group_count *
           (1 + (uint64_t)shared->few_shot_count + shared->prompts_per_group);
}

/* The texts that a beginning's prompt is made of. */
struct texts {
    uint64_t group, few_shot, question;
};

/* Which ones: by what is drawn at its address, or in turn. */
static struct texts pick_texts(const struct workload_draws *draws,
                               const struct workload_shared *shared, uint64_t address,
                               uint64_t beginning)
{
    uint64_t number = shared->number;
    struct texts texts = {0};

    if (shared->order == WORKLOAD_CYCLIC) {
        uint64_t round = beginning / shared->group_count;

        texts.group = beginning % shared->group_count;
        texts.few_shot = shared->few_shot_count > 0 ? round % shared->few_shot_count : 0;
        texts.question = shared->prompts_per_group > 0 ? round % shared->prompts_per_group : 0;
        return texts;
    }
    texts.group = (uint64_t)rng_dist_value(&shared->popularity,
                                           draw(draws, RNG_PREFIX, number, GROUP, address)) -
                  1;
    if (shared->few_shot_count > 0)
        texts.few_shot =
            pick(shared->few_shot_count, draw(draws, RNG_PREFIX, number, FEW_SHOT, address));
    if (shared->prompts_per_group > 0)
        texts.question =
            pick(shared->prompts_per_group, draw(draws, RNG_PREFIX, number, QUESTION, address));
    return texts;
}

struct prompt {
    struct spec_token_run *runs;
    size_t count;
    int64_t tokens, limit; /* so far, and where the prompt ends */
};

static void add(struct prompt *prompt, int64_t first, int64_t tokens)
{
    int64_t room = prompt->limit - prompt->tokens;

    tokens = tokens < room ? tokens : room;
    if (tokens <= 0)
        return;
    prompt->runs[prompt->count++] = (struct spec_token_run){first, tokens};
    prompt->tokens += tokens;
}

/* `which` is the number of a text within the description, in the order: system prompts, examples, questions. */
static void add_text(const struct workload_draws *draws, const struct workload_shared *shared,
                     uint64_t which, enum shared_stream stream, const struct rng_dist *length,
                     struct prompt *prompt)
{
    int64_t first = TEXT_BASE + (int64_t)(shared->first_text + which) * STRIDE;

    add(prompt, first, draw_length(length, draw(draws, RNG_PREFIX, shared->number, stream, which)));
}

static void add_texts(const struct workload_draws *draws, const struct workload_shared *shared,
                      const struct texts *texts, struct prompt *prompt)
{
    uint64_t groups = shared->group_count;

    add_text(draws, shared, texts->group, SYSTEM_LENGTH, &shared->system_prompt, prompt);
    if (shared->few_shot_count > 0)
        add_text(draws, shared, groups + texts->group * shared->few_shot_count + texts->few_shot,
                 FEW_SHOT_LENGTH, &shared->few_shot, prompt);
    if (shared->prompts_per_group > 0)
        add_text(draws, shared,
                 groups * (1 + (uint64_t)shared->few_shot_count) +
                     texts->group * shared->prompts_per_group + texts->question,
                 QUESTION_LENGTH, &shared->question, prompt);
}

static const struct workload_class *class_of(const struct workload_draws *draws, uint32_t index)
{
    return &draws->spec->classes[index];
}

/* Shared texts as far as `limit` reaches. */
static struct prompt begin_prompt(const struct workload_draws *draws, uint64_t address,
                                  const struct workload_request *request, int64_t limit,
                                  struct spec_token_run *runs)
{
    const struct workload_shared *shared = class_of(draws, request->class_index)->shared;
    struct prompt prompt = {.runs = runs, .limit = limit};

    if (shared != NULL) {
        struct texts texts = pick_texts(draws, shared, address, request->beginning);

        add_texts(draws, shared, &texts, &prompt);
    }
    return prompt;
}

/* The rest of the prompt, and the answer behind it, are this beginning's own. */
static void end_prompt(struct prompt *prompt, struct workload_request *request)
{
    /* An id of 0 would mean: an answer without stated content. */
    int64_t own = (int64_t)request->beginning * STRIDE + 1, shared = prompt->tokens;

    add(prompt, own, prompt->limit - shared);
    request->prompt_tokens = prompt->tokens;
    request->runs = prompt->runs;
    request->run_count = prompt->count;
    request->answer_first = own + request->prompt_tokens - shared;
}

void workload_draws_beginning(const struct workload_draws *draws, uint64_t address,
                              struct workload_request *request, struct spec_token_run *runs)
{
    const struct workload_class *class = class_of(draws, request->class_index);
    const struct workload_shared *shared = class->shared;
    bool has_question = shared != NULL && shared->has_question;
    struct prompt prompt;

    if (shared == NULL && class->sessions == NULL)
        return;
    prompt = begin_prompt(draws, address, request,
                          has_question ? WORKLOAD_LENGTH_MAX : request->prompt_tokens, runs);
    if (has_question) {
        int64_t question = 0;

        if (shared->prompts_per_group == 0)
            question = draw_length(&shared->question, draw(draws, RNG_PREFIX, shared->number,
                                                           QUESTION_LENGTH, address));
        prompt.limit = prompt.tokens + question;
    }
    end_prompt(&prompt, request);
}

int64_t workload_seen_texts(const struct workload_request *request, int64_t *longest)
{
    int64_t seen = 0;
    bool is_leading = true;

    for (size_t i = 0; i < request->run_count && request->runs[i].first >= TEXT_BASE; i++) {
        const struct spec_token_run *run = &request->runs[i];
        int64_t *known = &longest[(run->first - TEXT_BASE) / STRIDE];

        if (is_leading)
            seen += *known < run->count ? *known : run->count;
        is_leading = is_leading && *known >= run->count;
        *known = *known > run->count ? *known : run->count;
    }
    return seen;
}

/* ---- sessions ---- */

uint64_t workload_draws_turn_count(const struct workload_draws *draws, uint32_t class_index,
                                   uint64_t address)
{
    double u = draw(draws, RNG_SESSION, class_index, TURNS, address);

    return (uint64_t)draw_length(&class_of(draws, class_index)->sessions->turns, u);
}

double workload_draws_gap_s(const struct workload_draws *draws, uint32_t class_index,
                            uint64_t address)
{
    const struct workload_sessions *sessions = class_of(draws, class_index)->sessions;
    bool is_tool = sessions->has_tool;

    if (sessions->has_tool && sessions->has_think)
        is_tool = draw(draws, RNG_SESSION, class_index, GAP_KIND, address) < sessions->tool_share;
    if (is_tool)
        return fmax(0.0, rng_dist_value(&sessions->tool,
                                        draw(draws, RNG_SESSION, class_index, TOOL, address)));
    if (sessions->has_think)
        return fmax(0.0, rng_dist_value(&sessions->think,
                                        draw(draws, RNG_SESSION, class_index, THINK, address)));
    return 0.0;
}

/* How long the first prompt of a session was, as far as that cuts its shared texts. */
static int64_t first_limit(const struct workload_draws *draws, uint64_t address,
                           uint32_t class_index)
{
    const struct workload_shared *shared = class_of(draws, class_index)->shared;
    struct workload_request first = {.class_index = class_index};

    if (shared == NULL || shared->has_question)
        return WORKLOAD_LENGTH_MAX;
    workload_draws_lengths(draws, address, &first);
    return first.prompt_tokens;
}

void workload_draws_turn(const struct workload_draws *draws, uint64_t address,
                         const struct workload_ended *ended, struct workload_request *request,
                         struct spec_token_run *runs)
{
    uint32_t class_index = request->class_index;
    const struct workload_sessions *sessions = class_of(draws, class_index)->sessions;
    int64_t growth =
        draw_length(&sessions->growth, draw(draws, RNG_SESSION, class_index, GROWTH, address));
    uint64_t start = address - request->session_turn;
    struct prompt prompt =
        begin_prompt(draws, start, request, first_limit(draws, start, class_index), runs);

    /* An answer's last token is never computed, so no cache can hold it. */
    request->seen_tokens = ended->request->prompt_tokens + ended->output_tokens - 1;
    prompt.limit = request->seen_tokens + 1 + growth;
    end_prompt(&prompt, request);
}
