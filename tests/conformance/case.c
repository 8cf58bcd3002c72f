#include "conformance/case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

void case_text_add(struct case_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        abort();
    }
    const size_t needed = text->length + (size_t)length + 1;
    if (needed > text->room) {
        text->room = needed * 2;
        text->text = realloc(text->text, text->room);
        if (text->text == NULL) {
            abort();
        }
    }
    vsnprintf(text->text + text->length, (size_t)length + 1, format, again);
    va_end(again);
    text->length += (size_t)length;
}

/* ---- reading ---- */

static bool is_of(const struct json_value *root, const char *kind)
{
    const struct json_value *engine = json_get(json_get(root, "input"), "engine");
    return strcmp(json_text(engine, "kind", ""), kind) == 0;
}

bool case_is_vllm_v1(const struct json_value *root)
{
    return is_of(root, "vllm_v1");
}

bool case_is_orca(const struct json_value *root)
{
    return is_of(root, "orca");
}

bool case_is_llama_cpp(const struct json_value *root)
{
    return is_of(root, "llama_cpp");
}

static bool only_known(const struct json_value *object, const char *const known[], char *why,
                       size_t why_bytes)
{
    for (size_t i = 0; object != NULL && i < object->count; i++) {
        size_t k = 0;
        while (known[k] != NULL && strcmp(known[k], object->keys[i]) != 0) {
            k++;
        }
        if (known[k] == NULL) {
            snprintf(why, why_bytes, "unknown key '%s'", object->keys[i]);
            return false;
        }
    }
    return true;
}

/* A decimal fraction, exactly: 0.2 is 2/10. */
static void read_fraction(const char *decimal, int64_t *num, int64_t *den)
{
    *num = 0;
    *den = 1;
    bool behind = false;
    for (; *decimal != '\0'; decimal++) {
        if (*decimal == '.') {
            behind = true;
            continue;
        }
        *num = *num * 10 + (*decimal - '0');
        *den *= behind ? 10 : 1;
    }
}

/* The place of a text in a list, or the last place. */
static int place_of(const char *text, const char *const list[])
{
    int place = 0;
    while (list[place] != NULL && strcmp(list[place], text) != 0) {
        place++;
    }
    return place;
}

static bool read_orca(const struct json_value *json, struct ref_engine *engine, char *why,
                      size_t why_bytes)
{
    static const char *const known[] = {"kind",          "block_size",   "num_blocks",
                                        "max_model_len", "max_num_seqs", "reservation",
                                        "allocator",     "static",       NULL};
    static const char *const reservations[] = {"max",    "pow2",    "exact", "grow",
                                               "double", "nothing", NULL};
    static const char *const allocators[] = {"blocks", "first_fit", "best_fit", "buddy", NULL};
    const int reservation = place_of(json_text(json, "reservation", "max"), reservations);
    const int allocator = place_of(json_text(json, "allocator", "blocks"), allocators);
    *engine = (struct ref_engine){
        .kind = REF_ORCA,
        .reservation = (enum ref_reservation)reservation,
        .allocator = (enum ref_allocator)allocator,
        .is_static = json_bool(json, "static", false),
        .block_size = json_int(json, "block_size", 16),
        .num_blocks = json_int(json, "num_blocks", 0),
        .max_model_len = json_int(json, "max_model_len", 0),
        .max_num_batched_tokens = INT64_MAX,
        .max_num_seqs = json_int(json, "max_num_seqs", 128),
    };
    if (reservations[reservation] == NULL || allocators[allocator] == NULL) {
        snprintf(why, why_bytes, "unknown reservation or allocator");
        return false;
    }
    return only_known(json, known, why, why_bytes);
}

static bool read_llama_cpp(const struct json_value *json, struct ref_engine *engine, char *why,
                           size_t why_bytes)
{
    static const char *const known[] = {"kind",       "cells",        "slots",
                                        "unified",    "ring_cells",   "sliding_window",
                                        "batch_size", "ubatch_size",  "max_model_len",
                                        "similarity", "cache_prompt", NULL};
    *engine = (struct ref_engine){
        .kind = REF_LLAMA_CPP,
        .block_size = 1,
        .num_blocks = json_int(json, "cells", 0),
        .max_num_seqs = json_int(json, "slots", 1),
        .shares_cells = json_bool(json, "unified", false),
        .sliding_window = json_int(json, "sliding_window", 0),
        .ring_cells = json_int(json, "ring_cells", 0),
        .max_model_len = json_int(json, "max_model_len", 0),
        .max_num_batched_tokens = json_int(json, "batch_size", 2048),
        .pass_tokens = json_int(json, "ubatch_size", 512),
        .enable_prefix_caching = json_bool(json, "cache_prompt", true),
    };
    read_fraction(json_text(json, "similarity", "0.1"), &engine->similarity_num,
                  &engine->similarity_den);
    return only_known(json, known, why, why_bytes);
}

static bool read_engine(const struct json_value *json, struct ref_engine *engine, char *why,
                        size_t why_bytes)
{
    static const char *const known[] = {"kind",
                                        "block_size",
                                        "num_blocks",
                                        "max_model_len",
                                        "max_num_batched_tokens",
                                        "max_num_seqs",
                                        "long_prefill_token_threshold",
                                        "enable_chunked_prefill",
                                        "scheduler_reserve_full_isl",
                                        "watermark",
                                        "policy",
                                        "priority_tie",
                                        "enable_prefix_caching",
                                        "free_order",
                                        "async_scheduling",
                                        "unchunked_misfit",
                                        "sliding_window",
                                        "count_every_lookup",
                                        "preempt_keeps_budget",
                                        "startup_check",
                                        NULL};
    const char *const old = "old";
    if (strcmp(json_text(json, "kind", ""), "orca") == 0) {
        return read_orca(json, engine, why, why_bytes);
    }
    if (strcmp(json_text(json, "kind", ""), "llama_cpp") == 0) {
        return read_llama_cpp(json, engine, why, why_bytes);
    }
    *engine = (struct ref_engine){
        .block_size = json_int(json, "block_size", 16),
        .num_blocks = json_int(json, "num_blocks", 0),
        .max_model_len = json_int(json, "max_model_len", 0),
        .max_num_batched_tokens = json_int(json, "max_num_batched_tokens", 2048),
        .max_num_seqs = json_int(json, "max_num_seqs", 128),
        .long_prefill_token_threshold = json_int(json, "long_prefill_token_threshold", 0),
        .sliding_window = json_int(json, "sliding_window", 0),
        .enable_chunked_prefill = json_bool(json, "enable_chunked_prefill", true),
        .scheduler_reserve_full_isl = json_bool(json, "scheduler_reserve_full_isl", true),
        .async_scheduling = json_bool(json, "async_scheduling", false),
        .enable_prefix_caching = json_bool(json, "enable_prefix_caching", true),
        .skip_startup_check = !json_bool(json, "startup_check", true),
        .count_every_lookup = json_bool(json, "count_every_lookup", false),
        .preempt_keeps_budget = json_bool(json, "preempt_keeps_budget", false),
    };
    read_fraction(json_text(json, "watermark", "0"), &engine->watermark_num,
                  &engine->watermark_den);
    if (strcmp(json_text(json, "policy", "fcfs"), "priority") == 0) {
        engine->policy = REF_PRIORITY;
    }
    if (strcmp(json_text(json, "priority_tie", "latest"), "first") == 0) {
        engine->priority_tie = REF_TIE_FIRST;
    }
    if (strcmp(json_text(json, "free_order", "new"), old) == 0) {
        engine->free_order = REF_FREE_OLD;
    }
    if (strcmp(json_text(json, "unchunked_misfit", "stop"), "skip") == 0) {
        engine->unchunked_misfit = REF_MISFIT_SKIP;
    }
    return only_known(json, known, why, why_bytes);
}

static bool read_step(const struct json_value *json, struct ref_affine *step, char *why,
                      size_t why_bytes)
{
    static const char *const known[] = {"kind", "ns", "a", "b", "c", "d", "unit", NULL};
    const bool ticks = strcmp(json_text(json, "unit", "ns"), "ticks") == 0;
    const int64_t unit = ticks ? 1 : REF_TICKS_PER_NS;
    *step = (struct ref_affine){.a = unit * (json_int(json, "ns", 0) + json_int(json, "a", 0)),
                                .b = unit * json_int(json, "b", 0),
                                .c = unit * json_int(json, "c", 0),
                                .d = unit * json_int(json, "d", 0)};
    return only_known(json, known, why, why_bytes);
}

static void add_range(struct ref_request_in *request, int64_t first, int64_t count)
{
    const size_t ranges = (size_t)request->range_count + 1;
    request->ranges = realloc(request->ranges, ranges * sizeof(*request->ranges));
    if (request->ranges == NULL) {
        abort();
    }
    request->ranges[request->range_count++] = (struct ref_range){.first = first, .count = count};
    request->prompt_tokens += count;
}

static void read_prompt(const struct json_value *json, struct ref_request_in *request)
{
    request->prompt_tokens = json_int(json, "prompt_tokens", 0);
    const struct json_value *ranges = json_get(json, "prompt_ranges");
    for (size_t i = 0; ranges != NULL && i < ranges->count; i++) {
        const struct json_value *range = &ranges->items[i];
        add_range(request, json_to_int(&range->items[0]), json_to_int(&range->items[1]));
    }
    const struct json_value *tokens = json_get(json, "prompt");
    for (size_t i = 0; tokens != NULL && i < tokens->count; i++) {
        add_range(request, json_to_int(&tokens->items[i]), 1);
    }
}

static int64_t find_request(const struct ref_input *input, int64_t before, const char *id)
{
    for (int64_t i = 0; i < before; i++) {
        if (strcmp(input->requests[i].id, id) == 0) {
            return i;
        }
    }
    return -2; // nobody: the input makes no sense
}

static bool read_request(const struct json_value *json, struct ref_input *input, int64_t index,
                         char *why, size_t why_bytes)
{
    static const char *const known[] = {"id",
                                        "arrival_ns",
                                        "prompt",
                                        "prompt_ranges",
                                        "prompt_tokens",
                                        "output_tokens",
                                        "session",
                                        "priority",
                                        "max_tokens",
                                        "after",
                                        "class",
                                        "abort_ns",
                                        "timeout_ns",
                                        "first_token_timeout_ns",
                                        NULL};
    struct ref_request_in *request = &input->requests[index];
    ref_request_defaults(request);
    snprintf(request->id, sizeof(request->id), "%s", json_text(json, "id", ""));
    request->arrival_ns = json_int(json, "arrival_ns", 0);
    request->output_tokens = json_int(json, "output_tokens", 1);
    request->max_tokens = json_int(json, "max_tokens", request->output_tokens);
    request->priority = json_int(json, "priority", 0);
    request->class_index = json_int(json, "class", 0);
    request->abort_ns = json_int(json, "abort_ns", REF_NEVER);
    request->timeout_ns = json_int(json, "timeout_ns", REF_NEVER);
    request->first_token_timeout_ns = json_int(json, "first_token_timeout_ns", REF_NEVER);
    const char *after = json_text(json, "after", NULL);
    if (after != NULL) {
        request->after = find_request(input, index, after);
    }
    read_prompt(json, request);
    return only_known(json, known, why, why_bytes);
}

bool case_read_input(const struct json_value *root, struct ref_input *input, char *why,
                     size_t why_bytes)
{
    static const char *const known[] = {"engine", "step", "workload", NULL};
    const struct json_value *json = json_get(root, "input");
    const struct json_value *workload = json_get(json, "workload");
    *input = (struct ref_input){.requests = NULL};
    if (json == NULL || workload == NULL || workload->kind != JSON_ARRAY) {
        snprintf(why, why_bytes, "no input with a workload");
        return false;
    }
    input->request_count = (int64_t)workload->count;
    input->requests = calloc(workload->count + 1, sizeof(*input->requests));
    if (input->requests == NULL) {
        abort();
    }
    bool good = only_known(json, known, why, why_bytes) &&
                read_engine(json_get(json, "engine"), &input->engine, why, why_bytes) &&
                read_step(json_get(json, "step"), &input->step, why, why_bytes);
    for (int64_t i = 0; i < input->request_count; i++) {
        good = read_request(&workload->items[i], input, i, why, why_bytes) && good;
    }
    return good;
}

/* ---- writing ---- */

static void add_int(struct case_text *text, const char *key, int64_t value)
{
    case_text_add(text, "\"%s\":%lld", key, (long long)value);
}

static void add_time(struct case_text *text, const char *key, int64_t value)
{
    if (value == REF_NEVER) {
        case_text_add(text, "\"%s\":null", key);
    } else {
        add_int(text, key, value);
    }
}

static void add_bool(struct case_text *text, const char *key, bool value)
{
    case_text_add(text, "\"%s\":%s", key, value ? "true" : "false");
}

static void add_ids(struct case_text *text, const char *key, const struct ref_input *input,
                    const int64_t *requests, int64_t count)
{
    case_text_add(text, "\"%s\":[", key);
    for (int64_t i = 0; i < count; i++) {
        case_text_add(text, "%s\"%s\"", i > 0 ? "," : "", input->requests[requests[i]].id);
    }
    case_text_add(text, "]");
}

static void add_scheduled(struct case_text *text, const struct ref_input *input,
                          const struct ref_step *step)
{
    case_text_add(text, "\"scheduled\":{");
    for (int64_t i = 0; i < step->scheduled_count; i++) {
        case_text_add(text, "%s\"%s\":%lld", i > 0 ? "," : "",
                      input->requests[step->scheduled[i].request].id,
                      (long long)step->scheduled[i].tokens);
    }
    case_text_add(text, "}");
}

static void add_ledger(struct case_text *text, const int64_t lines[REF_LINES])
{
    case_text_add(text, "\"ledger\":{");
    for (int line = 0; line < REF_LINES; line++) {
        case_text_add(text, "%s", line > 0 ? "," : "");
        add_int(text, ref_line_name((enum ref_line)line), lines[line]);
    }
    case_text_add(text, "}");
}

static void comma(struct case_text *text)
{
    case_text_add(text, ",");
}

static void add_step(struct case_text *text, const struct ref_input *input,
                     const struct ref_step *step, int64_t number)
{
    const struct {
        const char *key;
        int64_t value;
    } head[] = {{"step", number},
                {"sched_ns", step->sched_ns},
                {"start_ns", step->start_ns},
                {"end_ns", step->end_ns},
                {"prefill_tokens", step->shape.prefill_tokens},
                {"decode_seqs", step->shape.decode_seqs},
                {"context_tokens", step->shape.context_tokens}},
      state[] = {{"running", step->running},
                 {"waiting", step->waiting},
                 {"free_blocks", step->free_blocks},
                 {"used_blocks", step->used_blocks},
                 {"cached_idle_blocks", step->cached_idle_blocks}};
    case_text_add(text, "  {");
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
        add_int(text, head[i].key, head[i].value);
        comma(text);
    }
    add_scheduled(text, input, step);
    comma(text);
    add_ids(text, "admitted", input, step->admitted, step->admitted_count);
    comma(text);
    add_ids(text, "preempted", input, step->preempted, step->preempted_count);
    comma(text);
    for (size_t i = 0; i < sizeof(state) / sizeof(state[0]); i++) {
        add_int(text, state[i].key, state[i].value);
        comma(text);
    }
    add_ledger(text, step->ledger_tokens);
    comma(text);
    add_ids(text, "finished", input, step->finished, step->finished_count);
    comma(text);
    add_int(text, "running_end", step->running_end);
    comma(text);
    add_int(text, "free_blocks_end", step->free_blocks_end);
    case_text_add(text, "}");
}

static void add_request(struct case_text *text, const struct ref_request_in *in,
                        const struct ref_request_out *out)
{
    static const char *const finish[] = {"none", "stop", "length"};
    const struct {
        const char *key;
        int64_t value;
    } times[] = {{"arrival_ns", out->arrival_ns},
                 {"first_scheduled_ns", out->first_scheduled_ns},
                 {"first_token_ns", out->first_token_ns},
                 {"finish_ns", out->finish_ns}},
      counts[] = {{"output_tokens", out->output_tokens},
                  {"preemptions", out->preemptions},
                  {"cached_tokens", out->cached_tokens},
                  {"cached_tokens_total", out->cached_tokens_total},
                  {"computed_tokens", out->computed_tokens},
                  {"recomputed_tokens", out->recomputed_tokens}};
    case_text_add(text, "  {\"id\":\"%s\",\"outcome\":\"%s\",\"finish_reason\":\"%s\"", in->id,
                  ref_outcome_name(out->outcome), finish[out->finish]);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        comma(text);
        add_time(text, times[i].key, times[i].value);
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        comma(text);
        add_int(text, counts[i].key, counts[i].value);
    }
    case_text_add(text, "}");
}

static void add_totals(struct case_text *text, const struct ref_totals *totals)
{
    const struct {
        const char *key;
        int64_t value;
    } all[] = {{"steps", totals->steps},
               {"end_ns", totals->end_ns},
               {"busy_ns", totals->busy_ns},
               {"finished", totals->finished},
               {"rejected", totals->rejected},
               {"timed_out", totals->timed_out},
               {"aborted", totals->aborted},
               {"output_tokens", totals->output_tokens},
               {"computed_tokens", totals->computed_tokens},
               {"recomputed_tokens", totals->recomputed_tokens},
               {"cached_tokens", totals->cached_tokens},
               {"lookup_tokens", totals->lookup_tokens},
               {"preemptions", totals->preemptions},
               {"peak_used_blocks", totals->peak_used_blocks},
               {"evicted_blocks", totals->evicted_blocks}};
    case_text_add(text, "\"totals\": {");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        case_text_add(text, "%s", i > 0 ? "," : "");
        add_int(text, all[i].key, all[i].value);
    }
    case_text_add(text, "}");
}

void case_write_output(const struct ref_input *input, const struct ref_output *output,
                       struct case_text *text)
{
    case_text_add(text, "{\n");
    if (output->verdict != REF_DONE) {
        case_text_add(text, "\"error\": \"%s\",\n\"why\": \"%s\"\n}",
                      output->verdict == REF_STUCK ? "stuck" : "cannot_start", output->why);
        return;
    }
    case_text_add(text, "\"steps\": [");
    for (int64_t i = 0; i < output->step_count; i++) {
        case_text_add(text, "%s\n", i > 0 ? "," : "");
        add_step(text, input, &output->steps[i], i + 1);
    }
    case_text_add(text, "],\n\"requests\": [");
    for (int64_t i = 0; i < output->request_count; i++) {
        case_text_add(text, "%s\n", i > 0 ? "," : "");
        add_request(text, &input->requests[i], &output->requests[i]);
    }
    case_text_add(text, "],\n");
    add_totals(text, &output->totals);
    case_text_add(text, "\n}");
}

/* num/den as a decimal, where den is 0 (= none) or a power of ten. */
static void add_watermark(struct case_text *text, const struct ref_engine *engine)
{
    int digits = 0;
    for (int64_t den = engine->watermark_den; den >= 10; den /= 10) {
        digits++;
    }
    const int64_t den = engine->watermark_den > 0 ? engine->watermark_den : 1;
    case_text_add(text, "\"watermark\":\"%lld", (long long)(engine->watermark_num / den));
    if (digits > 0) {
        case_text_add(text, ".%0*lld", digits, (long long)(engine->watermark_num % den));
    }
    case_text_add(text, "\"");
}

static void add_engine(struct case_text *text, const struct ref_engine *engine)
{
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"block_size", engine->block_size},
                  {"num_blocks", engine->num_blocks},
                  {"max_model_len", engine->max_model_len},
                  {"max_num_batched_tokens", engine->max_num_batched_tokens},
                  {"max_num_seqs", engine->max_num_seqs},
                  {"long_prefill_token_threshold", engine->long_prefill_token_threshold},
                  {"sliding_window", engine->sliding_window}};
    const struct {
        const char *key;
        bool value;
    } truths[] = {{"enable_chunked_prefill", engine->enable_chunked_prefill},
                  {"scheduler_reserve_full_isl", engine->scheduler_reserve_full_isl},
                  {"async_scheduling", engine->async_scheduling},
                  {"enable_prefix_caching", engine->enable_prefix_caching},
                  {"count_every_lookup", engine->count_every_lookup},
                  {"preempt_keeps_budget", engine->preempt_keeps_budget},
                  {"startup_check", !engine->skip_startup_check}};
    case_text_add(text, "\"engine\": {\"kind\":\"vllm_v1\"");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        comma(text);
        add_int(text, counts[i].key, counts[i].value);
    }
    for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
        comma(text);
        add_bool(text, truths[i].key, truths[i].value);
    }
    comma(text);
    add_watermark(text, engine);
    case_text_add(text,
                  ",\"policy\":\"%s\",\"priority_tie\":\"%s\",\"free_order\":\"%s\","
                  "\"unchunked_misfit\":\"%s\"}",
                  engine->policy == REF_PRIORITY ? "priority" : "fcfs",
                  engine->priority_tie == REF_TIE_FIRST ? "first" : "latest",
                  engine->free_order == REF_FREE_OLD ? "old" : "new",
                  engine->unchunked_misfit == REF_MISFIT_SKIP ? "skip" : "stop");
}

static void add_prompt(struct case_text *text, const struct ref_request_in *request)
{
    if (request->range_count == 0) {
        add_int(text, "prompt_tokens", request->prompt_tokens);
        return;
    }
    case_text_add(text, "\"prompt_ranges\":[");
    for (int64_t i = 0; i < request->range_count; i++) {
        case_text_add(text, "%s[%lld,%lld]", i > 0 ? "," : "", (long long)request->ranges[i].first,
                      (long long)request->ranges[i].count);
    }
    case_text_add(text, "]");
}

static void add_workload_row(struct case_text *text, const struct ref_input *input,
                             const struct ref_request_in *request)
{
    case_text_add(text, "  {\"id\":\"%s\",", request->id);
    add_int(text, "arrival_ns", request->arrival_ns);
    if (request->after >= 0) {
        case_text_add(text, ",\"after\":\"%s\"", input->requests[request->after].id);
    }
    comma(text);
    add_prompt(text, request);
    comma(text);
    add_int(text, "output_tokens", request->output_tokens);
    const struct {
        const char *key;
        int64_t value, absent;
    } optional[] = {{"max_tokens", request->max_tokens, request->output_tokens},
                    {"priority", request->priority, 0},
                    {"class", request->class_index, 0},
                    {"abort_ns", request->abort_ns, REF_NEVER},
                    {"timeout_ns", request->timeout_ns, REF_NEVER},
                    {"first_token_timeout_ns", request->first_token_timeout_ns, REF_NEVER}};
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if (optional[i].value != optional[i].absent) {
            comma(text);
            add_int(text, optional[i].key, optional[i].value);
        }
    }
    case_text_add(text, "}");
}

void case_write_input(const struct ref_input *input, struct case_text *text)
{
    case_text_add(text, "{\n");
    add_engine(text, &input->engine);
    case_text_add(text, ",\n\"step\": {\"kind\":\"affine\",\"unit\":\"ticks\",");
    add_int(text, "a", input->step.a);
    comma(text);
    add_int(text, "b", input->step.b);
    comma(text);
    add_int(text, "c", input->step.c);
    comma(text);
    add_int(text, "d", input->step.d);
    case_text_add(text, "},\n\"workload\": [");
    for (int64_t i = 0; i < input->request_count; i++) {
        case_text_add(text, "%s\n", i > 0 ? "," : "");
        add_workload_row(text, input, &input->requests[i]);
    }
    case_text_add(text, "]\n}");
}

/* ---- comparison ---- */

static bool scheduled_in_order(const struct json_value *steps, const struct ref_input *input,
                               const struct ref_output *output, char *where, size_t where_bytes)
{
    for (size_t i = 0; steps != NULL && i < steps->count; i++) {
        const struct ref_step *step = &output->steps[i];
        const struct json_value *scheduled = json_get(&steps->items[i], "scheduled");
        bool good = scheduled != NULL && (int64_t)scheduled->count == step->scheduled_count;
        for (size_t k = 0; good && k < scheduled->count; k++) {
            const int64_t request = step->scheduled[k].request;
            good = strcmp(scheduled->keys[k], input->requests[request].id) == 0;
        }
        if (!good) {
            snprintf(where, where_bytes, ".steps[%zu].scheduled: members or order differ", i);
            return false;
        }
    }
    return true;
}

bool case_agrees(const struct json_value *expected, const struct ref_input *input,
                 const struct ref_output *output, char *where, size_t where_bytes)
{
    struct case_text text = {0};
    case_write_output(input, output, &text);
    struct json_value *actual = json_parse("output of the reference", text.text);
    const bool good =
        json_equal(expected, actual, where, where_bytes) &&
        scheduled_in_order(json_get(expected, "steps"), input, output, where, where_bytes);
    json_free(actual);
    free(text.text);
    return good;
}
