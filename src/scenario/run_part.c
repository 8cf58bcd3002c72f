/*
 * run_part.c - `run`, `slo`, `require`, `price`, `record` and `cluster`.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "catalog/catalog.h"
#include "workload/arrivals.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS_DEFAULT = 2000, REPLICATIONS_DEFAULT = 5 };

/* ---- run ---- */

static bool read_share(struct scenario_reader *reader, const struct conf_node *node,
                       struct serve_warmup *out)
{
    static const struct base_field field = {
        .key = "warmup", .type = BASE_REAL, .unit = BASE_RATIO, .min = 0, .max = 0.99};
    out->kind = SERVE_WARMUP_SHARE;
    char text[32];
    if (!scenario_read_value(reader, node, &field, "run.warmup", &out->share))
        return false;
    scenario_param_text(reader, "run.warmup", base_print_real(out->share, text, sizeof text), "",
                        node);
    return true;
}

struct warmup_opts {
    int64_t requests, time_ns;
    bool has_requests, has_time;
};

static bool read_warmup(struct scenario_reader *reader, struct conf_node *node,
                        struct serve_warmup *out)
{
    static const struct base_field fields[] = {
        {.key = "requests",
         .type = BASE_INT,
         .unit = BASE_COUNT,
         .offset = offsetof(struct warmup_opts, requests),
         .has_offset = offsetof(struct warmup_opts, has_requests),
         .min = 0,
         .max = 1e15,
         .help = "first requests of a replication"},
        {.key = "time",
         .type = BASE_INT,
         .unit = BASE_TIME,
         .offset = offsetof(struct warmup_opts, time_ns),
         .has_offset = offsetof(struct warmup_opts, has_time),
         .min = 0,
         .max = 9e18,
         .help = "first part of the simulated time"},
        {0},
    };
    static const struct scenario_section section = {"run.warmup", fields, NULL, ""};
    struct warmup_opts opts = {0};
    if (node->kind == CONF_SCALAR)
        return read_share(reader, node, out);
    if (node->kind != CONF_MAP)
        return scenario_fail(reader, node, "run.warmup", "wrong-type",
                             "'warmup' must be a share, {requests: N} or {time: D}");
    if (!scenario_read_map(reader, node, &section, "run.warmup", &opts))
        return false;
    if (opts.has_requests == opts.has_time)
        return scenario_fail(reader, node, "run.warmup", "conflict",
                             "'warmup' needs either 'requests' or 'time'");
    out->kind = opts.has_requests ? SERVE_WARMUP_REQUESTS : SERVE_WARMUP_TIME;
    out->requests = opts.requests;
    out->time_ns = opts.time_ns;
    return true;
}

struct until_opts {
    const char *metric;
    double relative_half_width;
    int64_t max_replications;
};

/* A column of run_summary, with its unit or without: ttft_p99 is ttft_p99_ms. */
static const char *find_figure(struct scenario_reader *reader, const char *name, const char **near)
{
    static const char *const units[] = {"", "_ms", "_s"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const char *unused, *column = base_arena_printf(reader->arena, "%s%s", name, units[i]);
        if (scenario_figure_is_known(column, i == 0 ? near : &unused))
            return column;
    }
    return NULL;
}

static bool read_until(struct scenario_reader *reader, struct conf_node *node,
                       struct serve_until *out)
{
    static const struct base_field fields[] = {
        {.key = "metric",
         .type = BASE_TEXT,
         .offset = offsetof(struct until_opts, metric),
         .help = "a figure of run_summary: ttft_p99, request_throughput, ..."},
        {.key = "relative_half_width",
         .type = BASE_REAL,
         .unit = BASE_RATIO,
         .offset = offsetof(struct until_opts, relative_half_width),
         .min_open = true,
         .max = 1,
         .def = "5%",
         .help = "half of the interval over the figure"},
        {.key = "max_replications",
         .type = BASE_INT,
         .unit = BASE_COUNT,
         .offset = offsetof(struct until_opts, max_replications),
         .min = 2,
         .max = 10000,
         .def = "100",
         .help = "no more than these, precise or not"},
        {0},
    };
    static const struct scenario_section section = {"run.until", fields, NULL, ""};
    struct until_opts opts = {0};
    const char *near = NULL;
    if (node->kind != CONF_MAP)
        return scenario_fail(reader, node, "run.until", "wrong-type",
                             "'until' must be {metric: NAME, relative_half_width: SHARE}");
    if (!scenario_read_map(reader, node, &section, "run.until", &opts))
        return false;
    if (opts.metric == NULL)
        return scenario_fail(reader, node, "run.until.metric", "missing-key",
                             "'run.until' needs a 'metric'");
    out->column = find_figure(reader, opts.metric, &near);
    out->relative_half_width = opts.relative_half_width;
    out->max_replications = opts.max_replications;
    if (out->column != NULL)
        return true;
    return scenario_fail_hint(
        reader, conf_get(node, "metric"), "run.until.metric", "unknown-figure",
        near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near),
        "'%.60s' is no figure of run_summary", opts.metric);
}

static bool process_is_endless(const struct workload_spec *spec)
{
    return workload_arrivals[spec->process]->is_endless;
}

static void default_count(struct scenario_reader *reader, const char *key, int64_t value,
                          const char *source)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    scenario_param_derived(reader, key, text, "", SPEC_ASSUMED, source);
}

static bool read_run(struct scenario_load *load, struct conf_node *map)
{
    struct scenario_reader *reader = load->reader;
    struct serve_config *config = &load->scenario->config;
    struct scenario_run_opts opts = {0};
    if (!scenario_read_map(reader, map, &scenario_run_section, "run", &opts))
        return false;
    if (opts.requests != 0 && opts.duration_ns != 0)
        return scenario_fail(reader, conf_get(map, "duration"), "run.duration", "conflict",
                             "'run.requests' and 'run.duration' cannot both be stated");
    bool is_trace = config->workload.process == WORKLOAD_TRACE;
    if (load->scenario->has_workload && opts.requests == 0 && opts.duration_ns == 0 &&
        process_is_endless(&config->workload)) {
        opts.requests = REQUESTS_DEFAULT;
        default_count(reader, "run.requests", opts.requests, "kvsim's default");
    }
    if (opts.replications == 0) {
        opts.replications = load->scenario->has_workload && is_trace ? 1 : REPLICATIONS_DEFAULT;
        default_count(reader, "run.replications", opts.replications,
                      is_trace ? "a trace has nothing random" : "kvsim's default");
    }
    config->workload.request_limit = (uint64_t)opts.requests;
    config->workload.duration_ns = opts.duration_ns;
    config->replications = opts.replications;
    config->seed = (uint64_t)opts.seed;
    config->stop_when_overloaded = opts.stop_when_overloaded;
    bool ok = opts.until == NULL || read_until(reader, conf_get(map, "until"), &config->until);
    if (opts.warmup != NULL)
        ok = read_warmup(reader, conf_get(map, "warmup"), &config->warmup) && ok;
    if (opts.requests > 0 && config->warmup.kind == SERVE_WARMUP_REQUESTS &&
        config->warmup.requests >= opts.requests)
        return scenario_fail(reader, conf_get(map, "warmup"), "run.warmup", "contradiction",
                             "the warm-up takes all requests: none is measured");
    return ok;
}

/* ---- slo and require ---- */

static void append(struct scenario_reader *reader, struct base_list *list, const void *item,
                   size_t bytes)
{
    char *grown = base_arena_array(reader->arena, list->count + 1, bytes);
    if (list->count > 0)
        memcpy(grown, list->at, list->count * bytes);
    memcpy(grown + list->count * bytes, item, bytes);
    list->at = grown;
    list->count++;
}

static bool add_slo(struct scenario_reader *reader, const struct conf_node *node, const char *path,
                    const char *class_name, struct base_list *out)
{
    struct kvsim_error err = {.status = KVSIM_OK};
    struct spec_slo slo;
    if (node->kind != CONF_SCALAR)
        return scenario_fail(reader, node, path, "wrong-type",
                             "an SLO must be a text: \"ttft p99 <= 2 s\"");
    const char *text = base_arena_copy(reader->arena, node->text);
    if (spec_slo_parse(text, &slo, &err) != KVSIM_OK)
        return scenario_fail_error(reader, node, path, &err);
    if (class_name != NULL) {
        if (slo.class_name != NULL && strcmp(slo.class_name, class_name) != 0)
            return scenario_fail(reader, node, path, "conflict",
                                 "an SLO of class '%.60s' is for '%.60s'", class_name,
                                 slo.class_name);
        if (slo.class_name == NULL)
            slo.text = base_arena_printf(reader->arena, "%s for %s", slo.text, class_name);
        slo.class_name = class_name;
    }
    scenario_param_text(reader, path, slo.text, "", node);
    append(reader, out, &slo, sizeof slo);
    return true;
}

bool scenario_slo_add(struct scenario_reader *reader, const struct conf_node *list,
                      const char *path, const char *class_name, struct base_list *out)
{
    if (list->kind == CONF_SCALAR)
        return add_slo(reader, list, path, class_name, out);
    if (list->kind != CONF_LIST)
        return scenario_fail(reader, list, path, "wrong-type", "'slo' must be a list of texts");
    bool ok = true;
    for (size_t i = 0; i < list->count; i++)
        ok = add_slo(reader, list->items[i], base_arena_printf(reader->arena, "%s.%zu", path, i),
                     class_name, out) &&
             ok;
    return ok;
}

static bool check_slo_classes(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    bool ok = true;
    for (size_t i = 0; load->scenario->has_workload && i < config->slo_count; i++) {
        const char *wanted = config->slos[i].class_name;
        const char *names[WORKLOAD_CLASSES_MAX + 1] = {NULL};
        bool found = wanted == NULL;
        for (size_t j = 0; j < config->workload.class_count; j++) {
            names[j] = config->workload.classes[j].name;
            found = found || strcmp(names[j], wanted) == 0;
        }
        if (found)
            continue;
        const char *near = base_name_nearest(names, wanted);
        ok = scenario_fail_hint(
            load->reader, conf_get(load->root, "slo"), "slo", "unknown-class",
            near == NULL ? NULL
                         : base_arena_printf(load->reader->arena, "did you mean '%s'?", near),
            "the SLO '%.100s' is for a class that does not exist", config->slos[i].text);
    }
    return ok;
}

static bool parse_relation(const char **at, struct serve_require *out)
{
    static const struct {
        const char *text;
        int relation;
    } relations[] = {{"<=", SERVE_LE}, {">=", SERVE_GE}, {"==", SERVE_EQ},
                     {"!=", SERVE_NE}, {"<", SERVE_LT},  {">", SERVE_GT}};
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++) {
        size_t length = strlen(relations[i].text);
        if (strncmp(*at, relations[i].text, length) == 0) {
            memcpy(&out->relation, &relations[i].relation, sizeof out->relation);
            *at += length;
            return true;
        }
    }
    return false;
}

static bool add_require(struct scenario_reader *reader, const struct conf_node *node,
                        const char *path, struct base_list *out)
{
    static const struct base_field value_field = {
        .key = "require", .type = BASE_REAL, .min = -1e300, .max = 1e300};
    struct serve_require require = {0};
    if (node->kind != CONF_SCALAR)
        return scenario_fail(reader, node, path, "wrong-type",
                             "a requirement must be a text: \"preemptions == 0\"");
    const char *at = node->text + strspn(node->text, " ");
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    require.text = node->text;
    require.figure = base_arena_copy_n(reader->arena, at, length);
    at += length;
    at += strspn(at, " ");
    if (length == 0 || !parse_relation(&at, &require))
        return scenario_fail(reader, node, path, "bad-require",
                             "'%.80s' must be FIGURE RELATION NUMBER, such as \"preemptions == 0\"",
                             node->text);
    struct conf_node number = *node;
    number.text = base_arena_copy(reader->arena, at + strspn(at, " "));
    if (!scenario_read_value(reader, &number, &value_field, path, &require.value))
        return false;
    const char *near;
    if (!scenario_figure_is_known(require.figure, &near))
        return scenario_fail_hint(
            reader, node, path, "unknown-figure",
            near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near),
            "'%.60s' is no figure of run_summary", require.figure);
    scenario_param_text(reader, path, require.text, "", node);
    append(reader, out, &require, sizeof require);
    return true;
}

static bool read_requires(struct scenario_load *load, const struct conf_node *list)
{
    struct base_list out = {0};
    bool ok = true;
    if (list->kind == CONF_SCALAR) {
        ok = add_require(load->reader, list, "require", &out);
    } else if (list->kind == CONF_LIST) {
        for (size_t i = 0; i < list->count; i++)
            ok = add_require(load->reader, list->items[i],
                             base_arena_printf(load->reader->arena, "require.%zu", i), &out) &&
                 ok;
    } else {
        return scenario_fail(load->reader, list, "require", "wrong-type",
                             "'require' must be a list of texts");
    }
    load->scenario->config.requires = out.at;
    load->scenario->config.require_count = out.count;
    return ok;
}

/* ---- price, record, cluster ---- */

static bool read_price(struct scenario_load *load, struct conf_node *map)
{
    struct scenario_reader *reader = load->reader;
    struct serve_config *config = &load->scenario->config;
    struct scenario_price_opts opts = {0};
    if (!scenario_read_map(reader, map, &scenario_price_section, "price", &opts))
        return false;
    if (opts.usd_per_gpu_hour > 0 && opts.usd_per_instance_hour > 0)
        return scenario_fail(
            reader, conf_get(map, "usd_per_instance_hour"), "price.usd_per_instance_hour",
            "conflict", "'usd_per_gpu_hour' and 'usd_per_instance_hour' cannot both be stated");
    config->usd_per_gpu_hour = opts.usd_per_gpu_hour;
    config->price_utilization = opts.utilization;
    if (opts.usd_per_instance_hour > 0)
        config->usd_per_gpu_hour =
            opts.usd_per_instance_hour / (double)config->gpu_count_per_replica;
    if (config->usd_per_gpu_hour > 0 || !load->scenario->has_hardware ||
        !(load->scenario->hardware.usd_per_hour > 0))
        return true;
    config->usd_per_gpu_hour = load->scenario->hardware.usd_per_hour;
    char text[32];
    scenario_param_derived(reader, "price.usd_per_gpu_hour",
                           base_print_real(config->usd_per_gpu_hour, text, sizeof text), "usd",
                           SPEC_VENDOR, "list price in the hardware file: an example");
    return true;
}

static bool read_record(struct scenario_load *load, struct conf_node *map)
{
    static const struct base_field count = {
        .key = "requests", .type = BASE_INT, .unit = BASE_COUNT, .min = 0, .max = 1e15};
    static const struct base_field interval = {
        .key = "timeline", .type = BASE_INT, .unit = BASE_TIME, .min = 1e6, .max = 9e18};
    struct scenario_reader *reader = load->reader;
    struct serve_config *config = &load->scenario->config;
    struct scenario_record_opts opts = {0};
    int64_t rows = 0;
    if (!scenario_read_map(reader, map, &scenario_record_section, "record", &opts))
        return false;
    bool ok = true;
    if (strcmp(opts.requests, "all") == 0)
        config->record_requests = UINT64_MAX;
    else if (strcmp(opts.requests, "none") != 0)
        ok = scenario_read_value(reader, conf_get(map, "requests"), &count, "record.requests",
                                 &rows);
    if (rows > 0)
        config->record_requests = (uint64_t)rows;
    config->record_sample_ns = -1;
    if (strcmp(opts.timeline, "none") == 0)
        config->record_sample_ns = 0;
    else if (strcmp(opts.timeline, "auto") != 0)
        ok = scenario_read_value(reader, conf_get(map, "timeline"), &interval, "record.timeline",
                                 &config->record_sample_ns) &&
             ok;
    return ok;
}

static bool read_router(struct scenario_load *load, const struct conf_node *node)
{
    _Static_assert(SERVE_ROUND_ROBIN == 0 && SERVE_LEAST_OUTSTANDING == 1, "catalog_routers");
    static const char *const later[] = {"random",           "least_tokens", "power_of_two",
                                        "prefix_affinity",  "cache_aware",  "prefix_hash",
                                        "session_affinity", "weighted"};
    static const struct base_field field = {
        .key = "router", .type = BASE_CHOICE, .choices = catalog_routers};
    struct scenario_reader *reader = load->reader;
    const struct conf_node *name = node;
    if (node->kind == CONF_MAP) {
        name = conf_get(node, "policy");
        for (size_t i = 0; i < node->count; i++) {
            if (!base_key_equal(node->keys[i]->text, "policy"))
                return scenario_fail(reader, node->keys[i], "cluster.router", "unsupported-key",
                                     "'cluster.router.%.60s' is not simulated by this version",
                                     node->keys[i]->text);
        }
        if (conf_is_null(name))
            return scenario_fail(reader, node, "cluster.router", "missing-key",
                                 "'cluster.router.policy' is missing");
    }
    for (size_t i = 0; name->kind == CONF_SCALAR && i < sizeof later / sizeof later[0]; i++) {
        if (base_key_equal(later[i], name->text))
            return scenario_fail(reader, name, "cluster.router", "unsupported-key",
                                 "router '%s' is not simulated by this version", later[i]);
    }
    int router;
    if (!scenario_read_value(reader, name, &field, "cluster.router", &router))
        return false;
    load->scenario->config.router = (enum serve_router)router;
    scenario_param_text(reader, "cluster.router", catalog_routers[router].name, "", name);
    return true;
}

static bool read_cluster(struct scenario_load *load, struct conf_node *map)
{
    struct scenario_cluster_opts opts = {0};
    load->scenario->config.router = SERVE_ROUND_ROBIN;
    if (!scenario_read_map(load->reader, map, &scenario_cluster_section, "cluster", &opts))
        return false;
    load->scenario->config.replica_count = (uint32_t)opts.replicas;
    if (opts.router != NULL)
        return read_router(load, opts.router);
    scenario_param_derived(load->reader, "cluster.router", "round_robin", "", SPEC_ASSUMED,
                           "kvsim's default");
    return true;
}

bool scenario_run_read(struct scenario_load *load)
{
    static const struct {
        const char *key;
        bool (*read)(struct scenario_load *load, struct conf_node *map);
    } parts[] = {{"cluster", read_cluster},
                 {"run", read_run},
                 {"price", read_price},
                 {"record", read_record}};
    struct scenario_reader *reader = load->reader;
    struct serve_config *config = &load->scenario->config;
    bool ok = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct conf_node *map = scenario_child(reader, load->root, "", parts[i].key);
        ok = map != NULL && parts[i].read(load, map) && ok;
    }
    const struct conf_node *slo = conf_get(load->root, "slo"),
                           *require = conf_get(load->root, "require");
    struct base_list *slos = &load->scenario->slos;
    if (!conf_is_null(slo))
        ok = scenario_slo_add(reader, slo, "slo", NULL, slos) && ok;
    config->slos = slos->at;
    config->slo_count = slos->count;
    if (!conf_is_null(require))
        ok = read_requires(load, require) && ok;
    return check_slo_classes(load) && ok;
}
