#include "base/units.h"
#include "report/number.h"
#include "report/size.h"

#include <math.h>
#include <string.h>

static void cell_integer(struct report_page *page, int64_t value)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, base_print_count((double)value, text, sizeof text));
}

static void cell_gib(struct report_page *page, int64_t bytes)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, report_print_gib((double)bytes, text, sizeof text));
}

static void header(struct report_page *page, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        report_page_cell(page, names[i]);
}

#define HEADER(page, names) header(page, names, sizeof(names) / sizeof *(names))

static void print_title(struct report_page *page, const struct record_size *size)
{
    const int64_t endless = INT64_C(1) << 60; // an engine without a budget
    char title[256], budget[REPORT_NUMBER_BYTES] = "without limit";
    if (size->max_num_batched_tokens < endless)
        snprintf(budget, sizeof budget, "%lld", (long long)size->max_num_batched_tokens);
    snprintf(title, sizeof title, "%s on %lld x %s, %s: %s", size->model, (long long)size->gpus,
             size->hardware[0] != '\0' ? size->hardware : "unnamed hardware", size->engine,
             size->starts ? "starts" : "CANNOT START");
    report_page_title(page, title);
    report_page_line(
        page,
        "%s, KV cache %s; TP %lld, PP %lld, DP %lld; blocks of %lld tokens; max_model_len %lld, "
        "max_num_seqs %lld, max_num_batched_tokens %s",
        size->attention, size->kv_cache_dtype, (long long)size->tensor_parallel_size,
        (long long)size->pipeline_parallel_size, (long long)size->data_parallel_size,
        (long long)size->block_size, (long long)size->max_model_len, (long long)size->max_num_seqs,
        budget);
}

static void print_tokens(struct report_page *page, const struct record_size *size)
{
    static const char *const names[] = {"layers of kind",
                                        "lower bound per token",
                                        "B",
                                        "with padding, scales, copies",
                                        "B per sequence",
                                        "block B",
                                        "blocks"};
    char a[REPORT_NUMBER_BYTES], b[REPORT_NUMBER_BYTES], kind[40];
    report_page_heading(page, "BYTES PER TOKEN: the lower bound, every symbol with its value");
    report_page_table_begin(page, "llrrrrr");
    HEADER(page, names);
    for (size_t i = 0; i < size->group_count; i++) {
        const struct record_size_group *group = &size->groups[i];
        snprintf(kind, sizeof kind, "%s%s", group->kind, group->is_draft ? " (draft)" : "");
        report_page_cell(page, kind);
        report_page_cell(page, group->formula);
        cell_integer(page, group->bytes_per_token);
        cell_integer(page, group->slot_bytes);
        cell_integer(page, group->bytes_per_sequence);
        cell_integer(page, group->block_bytes);
        cell_integer(page, group->blocks);
    }
    report_page_table_end(page);
    report_page_line(page, "blocks: of one sequence of max_model_len; B per sequence: of a state, "
                           "or of a full window");
    report_page_line(
        page, "lower bound of a sequence = %s B per token x T%s; N sequences N times as much",
        base_print_count((double)size->lower_bound_bytes_per_token, a, sizeof a),
        size->fixed_bytes > 0 ? " + windows and states" : "");
    report_page_line(page,
                     "a long sequence takes %s B for each token more, and %s B whatever its length",
                     base_print_count((double)size->marginal_bytes_per_token, a, sizeof a),
                     base_print_count((double)size->fixed_bytes, b, sizeof b));
    if (size->comparison.baseline != NULL && size->comparison.ratio > 1.0)
        report_page_line(
            page, "%.1f times below %s (%s B per token)", size->comparison.ratio,
            size->comparison.baseline,
            base_print_count((double)size->comparison.baseline_bytes_per_token, a, sizeof a));
}

static const char *sign_of(const struct record_size_line *line)
{
    bool total = strcmp(line->name, "driver") == 0 || strcmp(line->name, "kv_pool") == 0;
    if (strcmp(line->name, "nominal") == 0)
        return "";
    return total ? "=" : "-";
}

static void print_waterfall(struct report_page *page, const struct record_size *size)
{
    static const char *const names[] = {"", "line", "GiB", "bytes", "claim", "source"};
    report_page_heading(page, "MEMORY OF ONE GPU (the fullest)");
    report_page_table_begin(page, "llrrlw");
    HEADER(page, names);
    for (size_t i = 0; i < size->waterfall_count; i++) {
        const struct record_size_line *line = &size->waterfall[i];
        report_page_cell(page, sign_of(line));
        report_page_cell(page, line->name);
        cell_gib(page, line->bytes);
        cell_integer(page, line->bytes);
        report_page_cell(page, line->claim);
        report_page_cell(page, line->source);
    }
    report_page_table_end(page);
}

static void print_fit(struct report_page *page, const struct record_size *size)
{
    char memory[64] = "";
    if (size->concurrency_in_memory > size->concurrency_guaranteed)
        snprintf(memory, sizeof memory, "; memory alone holds %lld",
                 (long long)size->concurrency_in_memory);
    report_page_line(page,
                     "guaranteed concurrency: %lld sequences of max_model_len (%.2fx of the pool): "
                     "%s%s",
                     (long long)size->concurrency_guaranteed, size->max_concurrency,
                     size->guaranteed_means, memory);
    if (size->running_means != NULL)
        report_page_line(page, "held when running: %lld sequences of max_model_len: %s",
                         (long long)size->concurrency_running, size->running_means);
    if (isfinite(size->concurrency_expected))
        report_page_line(page, "expected concurrency: %.1f requests of the stated workload: %s",
                         size->concurrency_expected, size->expected_means);
    else
        report_page_line(page, "expected concurrency: %s", size->expected_means);
}

static void print_pool(struct report_page *page, const struct record_size *size)
{
    char blocks[REPORT_NUMBER_BYTES], tokens[REPORT_NUMBER_BYTES], usable[REPORT_NUMBER_BYTES];
    report_page_heading(page, "POOL");
    report_page_line(
        page, "%s blocks of %lld tokens and %lld bytes (%lld a GPU): %s tokens, %s of them usable",
        base_print_count((double)size->kv_pool_blocks, blocks, sizeof blocks),
        (long long)size->block_size, (long long)size->block_bytes,
        (long long)size->block_bytes_per_gpu,
        base_print_count((double)size->kv_pool_tokens, tokens, sizeof tokens),
        base_print_count((double)size->kv_usable_tokens, usable, sizeof usable));
    if (size->state_slots != 0)
        report_page_line(page,
                         "%lld recurrent states have a share of their own: %lld sequences at once",
                         (long long)size->state_slots, (long long)size->state_sequences);
    if (size->kv_window_tokens != 0)
        report_page_line(page,
                         "%s tokens in the pool of the windowed layers, of which a sequence holds "
                         "a window",
                         base_print_count((double)size->kv_window_tokens, tokens, sizeof tokens));
    if (size->kv_slots != 0)
        report_page_line(page, "%lld slots, the longest sequence has %lld tokens",
                         (long long)size->kv_slots, (long long)size->kv_slot_tokens);
    print_fit(page, size);
    if (size->max_concurrency_total > size->max_concurrency)
        report_page_line(page, "over all ranks and replicas: %.2fx", size->max_concurrency_total);
    if (size->swap_blocks > 0)
        report_page_line(page, "%lld blocks of swap space on the host",
                         (long long)size->swap_blocks);
}

/* Data-parallel ranks and replicas: each has a pool of its own. */
static int64_t pools_of(const struct record_size *size)
{
    return size->max_concurrency > 0 ? llround(size->max_concurrency_total / size->max_concurrency)
                                     : size->data_parallel_size;
}

/* More of some length run beside each other than are admitted at once. */
static bool has_running(const struct record_size *size)
{
    for (size_t i = 0; i < size->context_count; i++) {
        if (size->by_context[i].concurrency_running > size->by_context[i].concurrency_guaranteed)
            return true;
    }
    return false;
}

static void running_header(struct report_page *page)
{
    report_page_cell(page, "running");
    report_page_cell(page, "ended by");
}

static void running_cells(struct report_page *page, const struct record_size_context *row)
{
    cell_integer(page, row->concurrency_running);
    report_page_cell(page, row->running_limit);
}

static void print_contexts(struct report_page *page, const struct record_size *size)
{
    static const char *const names[] = {"context",    "sequences", "lower bound B", "allocated B",
                                        "over",       "blocks",    "of pool",       "fits",
                                        "guaranteed", "ended by"};
    bool runs_more = has_running(size);
    report_page_heading(page, "BY CONTEXT");
    report_page_table_begin(page, runs_more ? "rrrrrrrlrlrl" : "rrrrrrrlrl");
    HEADER(page, names);
    if (runs_more)
        running_header(page);
    for (size_t i = 0; i < size->context_count; i++) {
        const struct record_size_context *row = &size->by_context[i];
        char text[REPORT_NUMBER_BYTES];
        double over = row->lower_bound_bytes > 0
                          ? (double)row->allocated_bytes / (double)row->lower_bound_bytes - 1
                          : (double)NAN;
        cell_integer(page, row->context_tokens);
        cell_integer(page, row->sequences);
        cell_integer(page, row->lower_bound_bytes);
        cell_integer(page, row->allocated_bytes);
        report_page_cell(page, report_print_share(over, text, sizeof text));
        cell_integer(page, row->allocated_blocks);
        report_page_cell(page, report_print_share(row->kv_usage, text, sizeof text));
        report_page_cell(page, row->fits ? "yes" : "NO");
        cell_integer(page, row->concurrency_guaranteed);
        report_page_cell(page, row->concurrency_limit);
        if (runs_more)
            running_cells(page, row);
    }
    report_page_table_end(page);
    report_page_line(page, "guaranteed: sequences that are as long in the end and that the engine "
                           "admits at once, however they are divided into prompt and answer");
    if (runs_more)
        report_page_line(page, "running: that it holds beside each other when they come one after "
                               "another, as the blocks that windows have passed come back");
    if (pools_of(size) > 1)
        report_page_line(page,
                         "all figures but `over all` are of one pool of %lld: data-parallel "
                         "ranks and replicas have their own",
                         (long long)pools_of(size));
}

static void print_ledger(struct report_page *page, const struct record_size *size)
{
    static const char *const lower[] = {"lower_bound"};
    if (size->context_count == 0)
        return;
    const struct record_size_context *row = &size->by_context[size->context_count - 1];
    char tokens[REPORT_NUMBER_BYTES], heading[128];
    snprintf(heading, sizeof heading, "LEDGER: %lld x %s tokens, cause by cause",
             (long long)row->sequences,
             base_print_count((double)row->context_tokens, tokens, sizeof tokens));
    report_page_heading(page, heading);
    report_page_table_begin(page, "llrr");
    report_page_cell(page, "");
    report_page_cell(page, "line");
    report_page_cell(page, "GiB");
    report_page_cell(page, "bytes");
    bool past_allocated = false;
    for (size_t i = 0; i < row->ledger_count; i++) {
        const struct record_size_line *line = &row->ledger[i];
        bool is_first = strcmp(line->name, lower[0]) == 0;
        if (strcmp(line->name, "cached") == 0 && !past_allocated) {
            past_allocated = true;
            report_page_cell(page, "=");
            report_page_cell(page, "allocated");
            cell_gib(page, row->allocated_bytes);
            cell_integer(page, row->allocated_bytes);
        }
        if (line->bytes == 0 && !is_first)
            continue;
        report_page_cell(page, is_first ? "" : strcmp(line->name, "shared") == 0 ? "-" : "+");
        report_page_cell(page, line->name);
        cell_gib(page, line->bytes);
        cell_integer(page, line->bytes);
    }
    report_page_table_end(page);
    if (!row->fits)
        report_page_line(page, "they do not fit at once: the pool has %lld bytes",
                         (long long)size->kv_pool_bytes);
}

static void print_refusal(struct report_page *page, const struct record_size *size)
{
    char needed[REPORT_NUMBER_BYTES], available[REPORT_NUMBER_BYTES];
    if (size->refusal_stage == NULL)
        return;
    report_page_heading(page, size->starts ? "WOULD BE REFUSED (startup_check is off)" : "REFUSED");
    report_page_line(page,
                     "stage %s: %s needs %s (%lld bytes) on each GPU, there are %s (%lld bytes)",
                     size->refusal_stage, size->refusal_limit,
                     base_print_bytes((double)size->needed_bytes, needed, sizeof needed),
                     (long long)size->needed_bytes,
                     base_print_bytes((double)size->available_bytes, available, sizeof available),
                     (long long)size->available_bytes);
    if (size->estimated_max_model_len > 0)
        report_page_line(page, "the longest sequence that fits: %lld tokens",
                         (long long)size->estimated_max_model_len);
    for (size_t i = 0; i < size->change_count; i++) {
        const struct record_size_change *change = &size->changes[i];
        report_page_line(page, "it starts with --set %s=%s: %lld usable tokens, %.2fx%s",
                         change->key, change->value, (long long)change->kv_usable_tokens,
                         change->max_concurrency,
                         change->fits_demand ? "" : "; too small for the stated sequences");
    }
    if (size->change_count == 0)
        report_page_line(
            page,
            "no single change of utilization, length, ranks, KV dtype or weight format starts it");
}

static void print_lines(struct report_page *page, const char *heading, const char *const *lines,
                        size_t count)
{
    if (count == 0)
        return;
    report_page_heading(page, heading);
    for (size_t i = 0; i < count; i++)
        report_page_line(page, "%s", lines[i]);
}

void report_size_page(FILE *out, enum report_style style, const struct record_size *size)
{
    struct report_page page;
    report_page_init(&page, out, style);
    print_title(&page, size);
    print_refusal(&page, size);
    print_lines(&page, "NOTES", size->notes, size->note_count);
    print_tokens(&page, size);
    print_waterfall(&page, size);
    print_pool(&page, size);
    print_contexts(&page, size);
    print_ledger(&page, size);
    print_lines(&page, "AS THE ENGINE'S START-UP LOG PRINTS IT", size->engine_log,
                size->engine_log_count);
    print_lines(&page, "WHAT THESE FIGURES DO NOT SUPPORT", size->unsupported,
                size->unsupported_count);
}

/* ---- a table over keys ---- */

enum { FIGURES = 7, AXES_MAX = 4 };

/* Columns that a table has beside the usual ones: ranks with pools of their own, and the contexts that were asked for. */
struct extra {
    bool ranks;
    const struct record_size_context *contexts;
    size_t context_count, count;
};

static void find_extra(const struct record_size *sizes, size_t count, size_t axes,
                       struct extra *extra)
{
    size_t room = REPORT_COLUMNS_MAX - axes - FIGURES - 1;
    *extra = (struct extra){0};
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].refusal_message != NULL)
            continue;
        extra->ranks = extra->ranks || pools_of(&sizes[i]) > 1;
        if (sizes[i].contexts_stated) {
            extra->contexts = sizes[i].by_context;
            extra->context_count = sizes[i].context_count;
        }
    }
    room -= extra->ranks ? 1 : 0;
    if (extra->context_count > room)
        extra->context_count = room;
    extra->count = extra->context_count + (extra->ranks ? 1 : 0);
}

static void extra_names(struct report_page *page, const struct extra *extra)
{
    char name[REPORT_NUMBER_BYTES + 4], number[REPORT_NUMBER_BYTES];
    if (extra->ranks)
        report_page_cell(page, "pools");
    for (size_t i = 0; i < extra->context_count; i++) {
        base_print_count((double)extra->contexts[i].context_tokens, number, sizeof number);
        snprintf(name, sizeof name, "at %s", number);
        report_page_cell(page, name);
    }
}

static void extra_cells(struct report_page *page, const struct record_size *size,
                        const struct extra *extra)
{
    if (extra->ranks)
        cell_integer(page, pools_of(size));
    for (size_t i = 0; i < extra->context_count; i++)
        cell_integer(page, size->by_context[i].concurrency_guaranteed);
}

static void print_extra_words(struct report_page *page, const struct record_size *sizes,
                              size_t count, const struct extra *extra)
{
    size_t asked = 0;
    for (size_t i = 0; i < count && asked == 0; i++)
        asked = sizes[i].refusal_message == NULL && sizes[i].contexts_stated
                    ? sizes[i].context_count
                    : 0;
    if (extra->context_count > 0)
        report_page_line(page,
                         "at: sequences of so many tokens in the end that the engine admits "
                         "at once, where it starts%s",
                         asked > extra->context_count ? "; further contexts: --format csv" : "");
    if (extra->ranks)
        report_page_line(page, "pools: data-parallel ranks and replicas; every other figure is of "
                               "one of them");
}

static void table_row(struct report_page *page, const struct record_size *size,
                      const struct extra *extra)
{
    char text[REPORT_NUMBER_BYTES];
    for (size_t i = 0; i < size->axis_count; i++)
        report_page_cell(page, size->axes[i].value);
    if (size->refusal_message != NULL) {
        for (size_t i = 0; i < FIGURES; i++)
            report_page_cell(page, "-");
        for (size_t i = 0; i < extra->count; i++)
            report_page_cell(page, "-");
        report_page_cell(page, size->refusal_message);
        return;
    }
    cell_integer(page, size->lower_bound_bytes_per_token);
    snprintf(text, sizeof text, "%.1f", size->comparison.ratio);
    report_page_cell(page, size->comparison.baseline != NULL ? text : "-");
    cell_integer(page, size->marginal_bytes_per_token);
    cell_gib(page, size->kv_pool_bytes);
    cell_integer(page, size->kv_pool_blocks);
    cell_integer(page, size->kv_pool_tokens);
    snprintf(text, sizeof text, "%.2f", size->max_concurrency);
    report_page_cell(page, text);
    extra_cells(page, size, extra);
    report_page_cell(page, size->starts ? "starts" : size->refusal_stage);
}

static const struct record_size *first_valid(const struct record_size *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].refusal_message == NULL)
            return &sizes[i];
    }
    return NULL;
}

static const char *model_of(const struct record_size *size)
{
    return size->model;
}

static const char *hardware_of(const struct record_size *size)
{
    return size->hardware;
}

static const char *engine_of(const struct record_size *size)
{
    return size->engine;
}

static const char *kv_dtype_of(const struct record_size *size)
{
    return size->kv_cache_dtype;
}

typedef const char *text_of(const struct record_size *size);
typedef int64_t number_of(const struct record_size *size);

static int64_t ranks_of(const struct record_size *size)
{
    return size->tensor_parallel_size;
}

static int64_t longest_of(const struct record_size *size)
{
    return size->max_model_len;
}

static bool is_same(const struct record_size *sizes, size_t count, const char *first, text_of *of)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].refusal_message == NULL && strcmp(of(&sizes[i]), first) != 0)
            return false;
    }
    return first[0] != '\0';
}

static bool is_same_number(const struct record_size *sizes, size_t count, int64_t first,
                           number_of *of)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].refusal_message == NULL && of(&sizes[i]) != first)
            return false;
    }
    return true;
}

/* Tensor-parallel ranks and length, in the words of their keys. */
static void add_number_conditions(const struct record_size *sizes, size_t count,
                                  const struct record_size *first, char *line, size_t bytes)
{
    static const struct {
        const char *name;
        number_of *of;
    } all[] = {{"tensor_parallel_size", ranks_of}, {"max_model_len", longest_of}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        size_t used = strlen(line);
        char number[REPORT_NUMBER_BYTES];
        int64_t value = all[i].of(first);
        if (is_same_number(sizes, count, value, all[i].of))
            snprintf(line + used, bytes - used, "%s%s %s", used > 0 ? ", " : "", all[i].name,
                     base_print_count((double)value, number, sizeof number));
    }
}

/* What all rows have in common, so that a comparison states its conditions. */
static void print_conditions(struct report_page *page, const struct record_size *sizes,
                             size_t count)
{
    static const struct {
        const char *name;
        text_of *of;
    } all[] = {{"model", model_of},
               {"hardware", hardware_of},
               {"engine", engine_of},
               {"KV cache", kv_dtype_of}};
    const struct record_size *first = first_valid(sizes, count);
    char line[512] = "";
    for (size_t i = 0; first != NULL && i < sizeof all / sizeof all[0]; i++) {
        size_t used = strlen(line);
        const char *value = all[i].of(first);
        if (is_same(sizes, count, value, all[i].of))
            snprintf(line + used, sizeof line - used, "%s%s %s", used > 0 ? ", " : "", all[i].name,
                     value);
    }
    if (first != NULL)
        add_number_conditions(sizes, count, first, line, sizeof line);
    if (line[0] != '\0')
        report_page_line(page, "in every row: %s", line);
}

void report_sizes_page(FILE *out, enum report_style style, const struct record_size *sizes,
                       size_t count)
{
    static const char *const names[] = {"bound B/token", "below MHA", "held B/token", "pool GiB",
                                        "blocks",        "tokens",    "concurrency"};
    char align[REPORT_COLUMNS_MAX + 1] = "";
    struct report_page page;
    report_page_init(&page, out, style);
    report_page_title(&page, "What fits");
    print_conditions(&page, sizes, count);
    struct extra extra;
    size_t axes = sizes[0].axis_count < AXES_MAX ? sizes[0].axis_count : AXES_MAX;
    find_extra(sizes, count, axes, &extra);
    memset(align, 'r', axes + FIGURES + extra.count + 1);
    memset(align, 'l', axes);
    align[axes + FIGURES + extra.count] = 'l';
    report_page_table_begin(&page, align);
    for (size_t i = 0; i < axes; i++)
        report_page_cell(&page, sizes[0].axes[i].key);
    HEADER(&page, names);
    extra_names(&page, &extra);
    report_page_cell(&page, "verdict");
    for (size_t i = 0; i < count; i++)
        table_row(&page, &sizes[i], &extra);
    report_page_table_end(&page);
    report_page_line(
        &page,
        "bound: lower bound of a token; below MHA: times that the same layers take with K and V "
        "for each of the model's own query heads in the same format; held: what a long sequence "
        "takes for a token more; concurrency: at max_model_len, which differs by model unless "
        "it is set");
    print_extra_words(&page, sizes, count, &extra);
    const struct record_size *first = first_valid(sizes, count);
    if (first != NULL)
        print_lines(&page, "WHAT THESE FIGURES DO NOT SUPPORT", first->unsupported,
                    first->unsupported_count);
}
