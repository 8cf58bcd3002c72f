#include "cli/step.h"

#include "cli/input.h"

#include "report/csv.h"
#include "report/json.h"
#include "report/number.h"
#include "report/table.h"
#include "study/step.h"

#include <stdio.h>
#include <string.h>

static const double ns_per_tick = 1.0 / (double)BASE_TICKS_PER_NS;

/* One explained step and what it is of. */
struct view {
    const struct cli_args *args;
    const struct study_step_engine *engine;
    const struct cost_explanation *step;
    double step_ms, layer_ms;
};

void cli_step_request(const struct cli_args *args, bool is_kernel, struct scenario_request *out)
{
    const char *path = args->operands.count > 0 ? args->operands.at[0] : NULL;
    *out = (struct scenario_request){.path = cli_input_path(path),
                                     .text = cli_input_text(args, path),
                                     .overrides = args->overrides.at,
                                     .override_count = args->overrides.count,
                                     .purpose = is_kernel ? SCENARIO_FOR_KERNEL : SCENARIO_FOR_STEP,
                                     .warnings_wanted = !args->is_quiet};
}

static int64_t batch_of(const struct cli_args *args)
{
    if (args->batch != CLI_UNSET)
        return args->batch;
    return args->context_tokens != CLI_UNSET ? 1 : 0;
}

static int64_t context_of(const struct cli_args *args)
{
    return args->context_tokens == CLI_UNSET ? 0 : args->context_tokens;
}

/* Null where nothing was done. */
static const char *bound_of(const struct cost_operator_row *row)
{
    return row->total_s > 0 ? cost_bound_name(row->bound) : NULL;
}

static void put_engine(struct report_json *json, const struct study_step_engine *engine)
{
    const struct serve_config *config = engine->config;
    report_json_text(json, "model", config->model_name);
    report_json_text(json, "hardware", config->hardware_name);
    report_json_text(json, "engine", config->engine_name);
    report_json_integer(json, "tensor_parallel_size", config->tensor_parallel);
    report_json_integer(json, "pipeline_parallel_size", config->pipeline_parallel);
    report_json_integer(json, "data_parallel_size", config->data_parallel);
    report_json_text(json, "quantization", config->cost.quantization);
    report_json_text(json, "kv_cache_dtype", config->kv_cache_dtype);
    report_json_text(json, "cost_level", cost_level_name(study_step_level(engine)));
    report_json_text(json, "claim", spec_claim_name(SPEC_CALCULATED));
    report_json_text(json, "basis", spec_claim_name(study_step_basis(engine)));
}

static void put_batch(struct report_json *json, const struct cli_args *args)
{
    report_json_begin_list(json, "prefill");
    for (size_t i = 0; i < args->chunks.count; i++) {
        report_json_begin_object(json, NULL);
        report_json_integer(json, "tokens", args->chunks.at[i].new_tokens);
        report_json_integer(json, "context", args->chunks.at[i].cached_tokens);
        report_json_end_object(json);
    }
    report_json_end_list(json);
    report_json_integer(json, "decode_seqs", batch_of(args));
    report_json_integer(json, "decode_context", context_of(args));
}

static void put_operators(struct report_json *json, const struct view *view)
{
    report_json_begin_list(json, "operators");
    for (size_t i = 0; i < view->step->row_count; i++) {
        const struct cost_operator_row *row = &view->step->rows[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "operator", cost_operator_name(row->op));
        report_json_real(json, "per_layer_ms", row->per_layer_s * 1e3);
        report_json_integer(json, "layers", row->layer_count);
        report_json_real(json, "ms", row->total_s * 1e3);
        report_json_real(json, "flops", row->flops);
        report_json_real(json, "bytes", row->bytes);
        report_json_text(json, "bound", bound_of(row));
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void pipeline_of(const struct view *view, struct cost_pipeline *out)
{
    uint32_t stages = view->engine->config->pipeline_parallel;
    cost_pipeline_of(view->step, stages, stages, out);
}

static void put_pipeline(struct report_json *json, const struct view *view)
{
    struct cost_pipeline pipeline;
    pipeline_of(view, &pipeline);
    report_json_begin_object(json, "pipeline");
    report_json_integer(json, "stages", pipeline.stage_count);
    report_json_integer(json, "in_flight", pipeline.in_flight);
    report_json_real(json, "slowest_stage_ms", pipeline.slowest_s * 1e3);
    report_json_real(json, "interval_ms", pipeline.interval_s * 1e3);
    report_json_real(json, "bubble_share", pipeline.bubble_share);
    report_json_end_object(json);
}

static void print_json(const struct view *view)
{
    struct report_json json;
    report_json_init(&json, stdout);
    report_json_begin_object(&json, NULL);
    put_engine(&json, view->engine);
    put_batch(&json, view->args);
    report_json_real(&json, "step_ms", view->step_ms);
    report_json_real(&json, "layer_ms", view->layer_ms);
    report_json_real(&json, "device_ms", view->step->device_s * 1e3);
    report_json_real(&json, "launch_ms", view->step->launch_s * 1e3);
    report_json_real(&json, "host_ms", view->step->host_s * 1e3);
    report_json_text(&json, "bound", cost_bound_name(view->step->bound));
    report_json_real(&json, "flop_share", view->step->flop_share);
    report_json_real(&json, "bandwidth_share", view->step->bandwidth_share);
    if (view->engine->config->pipeline_parallel > 1)
        put_pipeline(&json, view);
    put_operators(&json, view);
    report_json_end_object(&json);
    report_json_finish(&json);
}

static void print_csv_real(double value)
{
    struct record_value real = {.kind = RECORD_REAL, .real = value};
    putchar(',');
    report_csv_value(stdout, &real);
}

static void print_csv(const struct view *view)
{
    puts("operator,per_layer_ms,layers,ms,flops,bytes,bound");
    for (size_t i = 0; i < view->step->row_count; i++) {
        const struct cost_operator_row *row = &view->step->rows[i];
        const char *bound = bound_of(row);
        fputs(cost_operator_name(row->op), stdout);
        print_csv_real(row->per_layer_s * 1e3);
        printf(",%u", row->layer_count);
        print_csv_real(row->total_s * 1e3);
        print_csv_real(row->flops);
        print_csv_real(row->bytes);
        printf(",%s\n", bound == NULL ? "" : bound);
    }
}

static void add_number(struct report_page *page, double value)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, value > 0 ? report_print_rounded(value, 4, text, sizeof text) : "-");
}

/* 1.23e+12 as 1.23 T: FLOPs and bytes span nine powers of ten in one column. */
static void add_scaled(struct report_page *page, double value)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    size_t prefix = 0;
    for (; value >= 999.5 && prefix + 1 < sizeof prefixes / sizeof prefixes[0]; prefix++)
        value /= 1000;
    char text[REPORT_NUMBER_BYTES];
    if (value > 0)
        snprintf(text, sizeof text, prefix == 0 ? "%.0f%s" : "%.2f %s", value, prefixes[prefix]);
    report_page_cell(page, value > 0 ? text : "-");
}

static void add_share(struct report_page *page, double share)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, share > 0 ? report_print_share(share, text, sizeof text) : "-");
}

static void add_operator(struct report_page *page, const struct view *view,
                         const struct cost_operator_row *row)
{
    char layers[REPORT_NUMBER_BYTES];
    snprintf(layers, sizeof layers, "%u", row->layer_count);
    report_page_cell(page, cost_operator_name(row->op));
    add_number(page, row->per_layer_s * 1e3);
    report_page_cell(page, row->layer_count > 0 ? layers : "-");
    add_number(page, row->total_s * 1e3);
    add_share(page, row->total_s * 1e3 / view->step_ms);
    add_scaled(page, row->flops);
    add_scaled(page, row->bytes);
    report_page_cell(page, bound_of(row) == NULL ? "-" : bound_of(row));
}

static void add_total(struct report_page *page, const struct view *view)
{
    double flops = 0, bytes = 0;
    for (size_t i = 0; i < view->step->row_count; i++) {
        flops += view->step->rows[i].flops;
        bytes += view->step->rows[i].bytes;
    }
    report_page_cell(page, "step");
    add_number(page, view->layer_ms);
    report_page_cell(page, "");
    add_number(page, view->step_ms);
    add_share(page, 1);
    add_scaled(page, flops);
    add_scaled(page, bytes);
    report_page_cell(page, cost_bound_name(view->step->bound));
}

static void print_operators(struct report_page *page, const struct view *view)
{
    static const char *const header[] = {"operator", "ms a layer", "layers", "ms",
                                         "share",    "FLOP",       "bytes",  "bound"};
    report_page_table_begin(page, "lrrrrrrl");
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        report_page_cell(page, header[i]);
    for (size_t i = 0; i < view->step->row_count; i++) {
        const struct cost_operator_row *row = &view->step->rows[i];
        if (row->total_s > 0 || row->flops > 0 || row->bytes > 0)
            add_operator(page, view, row);
    }
    add_total(page, view);
    report_page_table_end(page);
}

static void print_batch(struct report_page *page, const struct cli_args *args)
{
    for (size_t i = 0; i < args->chunks.count; i++)
        report_page_line(page, "prefill: %lld tokens on %lld in the cache",
                         (long long)args->chunks.at[i].new_tokens,
                         (long long)args->chunks.at[i].cached_tokens);
    if (batch_of(args) > 0)
        report_page_line(page, "decode: %lld sequences, each with %lld tokens in the cache",
                         (long long)batch_of(args), (long long)context_of(args));
}

static void print_pipeline(struct report_page *page, const struct view *view)
{
    struct cost_pipeline pipeline;
    char share[REPORT_NUMBER_BYTES];
    pipeline_of(view, &pipeline);
    report_page_line(page,
                     "%u stages, the slowest %.6g ms; with %u steps in flight one ends every %.6g "
                     "ms, and bubbles are %s of the GPUs' time",
                     pipeline.stage_count, pipeline.slowest_s * 1e3, pipeline.in_flight,
                     pipeline.interval_s * 1e3,
                     report_print_share(pipeline.bubble_share, share, sizeof share));
}

static void print_totals(struct report_page *page, const struct view *view)
{
    const struct cost_explanation *step = view->step;
    char flops[REPORT_NUMBER_BYTES], bandwidth[REPORT_NUMBER_BYTES];
    report_page_line(page, "device %.6g ms, launch %.6g ms, host %.6g ms", step->device_s * 1e3,
                     step->launch_s * 1e3, step->host_s * 1e3);
    if (step->flop_share > 0 || step->bandwidth_share > 0)
        report_page_line(page,
                         "used over the whole step: %s of peak FLOP/s, %s of memory bandwidth",
                         report_print_share(step->flop_share, flops, sizeof flops),
                         report_print_share(step->bandwidth_share, bandwidth, sizeof bandwidth));
    if (view->engine->config->pipeline_parallel > 1)
        print_pipeline(page, view);
    report_page_line(page,
                     "FLOP and bytes are of one GPU; cost level %s; calculated, from inputs "
                     "that are %s at the weakest",
                     cost_level_name(study_step_level(view->engine)),
                     spec_claim_name(study_step_basis(view->engine)));
}

static void print_page(const struct view *view, enum report_style style)
{
    const struct serve_config *config = view->engine->config;
    char title[256];
    snprintf(title, sizeof title, "%s on %s, TP %u: one step takes %.6g ms", config->model_name,
             config->hardware_name[0] == '\0' ? "unnamed hardware" : config->hardware_name,
             config->tensor_parallel, view->step_ms);
    struct report_page page;
    report_page_init(&page, stdout, style);
    report_page_title(&page, title);
    print_batch(&page, view->args);
    report_page_heading(&page, "OPERATORS");
    print_operators(&page, view);
    report_page_heading(&page, "TOTAL");
    print_totals(&page, view);
}

static void print_view(const struct view *view)
{
    switch (view->args->format) {
    case CLI_JSON:
        print_json(view);
        break;
    case CLI_CSV:
        print_csv(view);
        break;
    case CLI_MARKDOWN:
        print_page(view, REPORT_MARKDOWN);
        break;
    default:
        print_page(view, REPORT_TEXT);
    }
}

static void make_batch(const struct cli_args *args, struct study_step_chunk *chunks,
                       struct study_step_batch *out)
{
    for (size_t i = 0; i < args->chunks.count; i++)
        chunks[i] = (struct study_step_chunk){.seq_count = 1,
                                              .new_tokens = args->chunks.at[i].new_tokens,
                                              .cached_tokens = args->chunks.at[i].cached_tokens};
    *out = (struct study_step_batch){.chunks = chunks,
                                     .chunk_count = args->chunks.count,
                                     .decode_seq_count = batch_of(args),
                                     .decode_context_tokens = context_of(args)};
}

static int explain_and_print(const struct cli_args *args, struct study_step_engine *engine)
{
    struct study_step_batch batch;
    struct study_step_chunk *chunks =
        base_alloc(base_mul_size(args->chunks.count + 1, sizeof *chunks));
    make_batch(args, chunks, &batch);
    struct cost_explanation step;
    struct kvsim_error err;
    enum kvsim_status status = study_step_explain(engine, &batch, &step, &err);
    base_free(chunks);
    if (status != KVSIM_OK)
        return cli_fail(&err);
    struct view view = {.args = args,
                        .engine = engine,
                        .step = &step,
                        .step_ms = (double)step.step_ticks * ns_per_tick * 1e-6,
                        .layer_ms = step.layer_s * 1e3};
    print_view(&view);
    return 0;
}

static int explain_one(const struct cli_args *args)
{
    static const char *const as_stated[STUDY_STEP_KEY_COUNT] = {NULL};
    struct scenario_request request;
    cli_step_request(args, false, &request);
    struct study_steps steps;
    study_steps_init(&steps, &request);
    struct study_step_engine *engine;
    enum study_step_key fault;
    struct kvsim_error err;
    enum kvsim_status status = study_steps_engine(&steps, as_stated, &engine, &fault, &err);
    if (!args->is_quiet)
        cli_warn_all(&steps.diags);
    int code;
    if (status == KVSIM_OK)
        code = explain_and_print(args, engine);
    else
        code = steps.diags.count > 0 ? cli_fail_all(&steps.diags, status) : cli_fail(&err);
    study_steps_free(&steps);
    return code;
}

static bool has_model_axis(const struct cli_args *args)
{
    return args->axes.count > 0 && base_starts_with(args->axes.at[0], "model=");
}

static int explain_axis(const struct cli_args *args)
{
    struct study_step_batch batch;
    struct study_step_chunk *chunks =
        base_alloc(base_mul_size(args->chunks.count + 1, sizeof *chunks));
    make_batch(args, chunks, &batch);
    int code = cli_step_axis(args, &batch);
    base_free(chunks);
    return code;
}

static int fail_usage(const char *message)
{
    struct kvsim_error err;
    base_fail(&err, KVSIM_ERR_USAGE, "%s", message);
    base_error_at(&err, "kvsim step", 0, 0);
    return cli_fail(&err);
}

int cli_step(const struct cli_args *args)
{
    bool is_table = args->table_path != NULL;
    if (args->kernel != CLI_UNSET && !is_table)
        return fail_usage("--operator needs --from");
    if (is_table && args->format != CLI_UNSET && args->format != CLI_CSV &&
        args->format != CLI_JSON)
        return fail_usage("with --from the format is csv or json");
    if (args->kernel != CLI_UNSET &&
        (args->batch != CLI_UNSET || args->context_tokens != CLI_UNSET || args->chunks.count > 0))
        return fail_usage("--batch, --context and --prefill have no meaning with --operator");
    if (is_table && args->axes.count > 0)
        return fail_usage("--axis has no meaning with --from");
    if (is_table)
        return cli_step_table(args);
    if (args->operands.count == 0 && args->model == NULL && !has_model_axis(args))
        return fail_usage("a SCENARIO.yaml, or --model and --hardware, is missing");
    if (args->batch != CLI_UNSET && args->batch > 0 && args->context_tokens == CLI_UNSET)
        return fail_usage("--batch needs --context");
    if (batch_of(args) == 0 && args->chunks.count == 0)
        return fail_usage("the step is empty: give --batch and --context, or --prefill");
    return args->axes.count > 0 ? explain_axis(args) : explain_one(args);
}
