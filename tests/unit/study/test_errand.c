/*
 * What another process does comes back as if it had been done here: every number, and what is wrong as well.
 */
#include "support/result_compare.h"
#include "support/unit.h"

#include "store/store.h"
#include "study/cell.h"
#include "study/errand.h"

#include <string.h>

#define SMALL KVSIM_TEST_DATA "/tests/cli/small.yaml"

static struct kvsim_error err;

static void resolve(struct study_cell *cell, const struct scenario_override *overrides,
                    size_t count)
{
    *cell = (struct study_cell){.path = SMALL, .overrides = overrides, .override_count = count};
    study_cell_resolve(cell);
    ck_assert_int_eq(cell->state, STUDY_CELL_READY);
}

/* Texts, lists and numbers. */
static void check_same_run(struct record_run *a, struct record_run *b)
{
    ck_assert_uint_eq(a->metrics.count, b->metrics.count);
    ck_assert_uint_gt(a->metrics.count, 40);
    ck_assert_uint_eq(a->requests.count, b->requests.count);
    ck_assert_uint_gt(a->requests.count, 100);
    ck_assert_uint_eq(a->samples.count, b->samples.count);
    ck_assert_uint_eq(a->params.count, b->params.count);
    ck_assert_str_eq(a->scenario_yaml, b->scenario_yaml);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        const struct record_value *x = &a->summary[i], *y = &b->summary[i];
        ck_assert_int_eq(x->kind, y->kind);
        ck_assert(x->kind != RECORD_TEXT || strcmp(x->text, y->text) == 0);
        ck_assert(x->integer == y->integer && memcmp(&x->real, &y->real, sizeof x->real) == 0);
    }
    for (size_t i = 0; i < a->metrics.count; i++) {
        ck_assert_str_eq(a->metrics.at[i].name, b->metrics.at[i].name);
        ck_assert_str_eq(a->metrics.at[i].basis, b->metrics.at[i].basis);
        ck_assert(memcmp(&a->metrics.at[i].value, &b->metrics.at[i].value, sizeof(double)) == 0);
        ck_assert(memcmp(&a->metrics.at[i].ci_low, &b->metrics.at[i].ci_low, sizeof(double)) == 0);
    }
    for (size_t i = 0; i < a->requests.count; i++) {
        ck_assert_str_eq(a->requests.at[i].id, b->requests.at[i].id);
        ck_assert_int_eq(a->requests.at[i].e2e_ns, b->requests.at[i].e2e_ns);
        ck_assert_uint_eq(a->request_replications.at[i], b->request_replications.at[i]);
    }
}

START_TEST(a_point_comes_back_whole)
{
    const struct scenario_override overrides[] = {{"run.seed", "5"}, {"run.replications", "2"}};
    struct study_cell cell;
    struct record_run here, there;
    struct base_text request = {0}, answer = {0};
    struct study_desk *desk = study_desk_new();
    resolve(&cell, overrides, 2);
    record_run_init(&here);
    record_run_init(&there);
    ck_assert_int_eq(study_cell_run(&cell, 1, 1, &here, &err), KVSIM_OK);
    study_errand_ask_point(&cell, 7, &request);
    study_desk_do(desk, &request, &answer);
    ck_assert_int_eq(study_errand_take_point(&answer, &there, &err), KVSIM_OK);
    check_same_run(&here, &there);
    ck_assert_int_eq(there.jobs, 7);
    record_run_free(&here);
    record_run_free(&there);
    study_cell_release(&cell);
    study_desk_free(desk);
    base_text_free(&request);
    base_text_free(&answer);
}
END_TEST

static void check_replication(struct study_desk *desk, const struct study_cell *cell,
                              uint32_t number, size_t requests_expected)
{
    const struct serve_config *config = scenario_config(cell->scenario);
    struct scenario_request source = {
        .path = cell->path, .overrides = cell->overrides, .override_count = cell->override_count};
    struct study_replication *here = base_alloc(sizeof *here), *there = base_alloc(sizeof *there);
    struct base_text request = {0}, answer = {0};
    char difference[200];
    study_replication_run(config, number, &(struct study_replication_how){.mode = SERVE_JUMP},
                          here);
    study_errand_ask_replication(&source, cell->hash, number, SERVE_STEP, &request);
    study_desk_do(desk, &request, &answer);
    study_errand_take_replication(&answer, config->replica_count, there);
    ck_assert_int_eq(there->status, KVSIM_OK);
    ck_assert(there->is_done);
    result_compare(&here->result, &there->result, difference, sizeof difference);
    ck_assert_msg(difference[0] == '\0', "replication %u: %s", (unsigned)number, difference);
    ck_assert_uint_eq(atomic_load(&there->arrived), here->result.arrived);
    ck_assert_uint_eq(there->collector.requests.count, requests_expected);
    ck_assert_uint_eq(here->collector.requests.count, requests_expected);
    ck_assert_uint_eq(here->collector.samples.count, there->collector.samples.count);
    for (size_t i = 0; i < requests_expected; i++) {
        ck_assert_str_eq(here->collector.requests.at[i].id, there->collector.requests.at[i].id);
        ck_assert_str_eq(here->collector.requests.at[i].class_name,
                         there->collector.requests.at[i].class_name);
    }
    study_replication_release(here);
    study_replication_release(there);
    base_free(here);
    base_free(there);
    base_text_free(&request);
    base_text_free(&answer);
}

START_TEST(replications_come_back_whole)
{
    struct study_cell cell;
    struct study_desk *desk = study_desk_new();
    resolve(&cell, NULL, 0);
    check_replication(desk, &cell, 1, 400); // rows of requests are those of the first
    check_replication(desk, &cell, 3, 0);
    study_cell_release(&cell);
    // Another scenario at the same desk; one replication has histograms in its segments.
    const struct scenario_override overrides[] = {{"run.replications", "1"},
                                                  {"record.requests", "none"}};
    resolve(&cell, overrides, 2);
    check_replication(desk, &cell, 1, 0);
    study_cell_release(&cell);
    study_desk_free(desk);
}
END_TEST

START_TEST(another_scenario_is_not_simulated)
{
    struct study_cell cell;
    struct record_run run;
    struct study_replication *replication = base_alloc(sizeof *replication);
    struct base_text request = {0}, answer = {0};
    struct study_desk *desk = study_desk_new();
    resolve(&cell, NULL, 0);
    cell.hash[0] = cell.hash[0] == '0' ? '1' : '0'; // as if the file were another one over there
    record_run_init(&run);
    study_errand_ask_point(&cell, 1, &request);
    study_desk_do(desk, &request, &answer);
    ck_assert_int_eq(study_errand_take_point(&answer, &run, &err), KVSIM_ERR_IO);

    struct scenario_request source = {.path = cell.path};
    base_text_clear(&request);
    base_text_clear(&answer);
    study_errand_ask_replication(&source, cell.hash, 1, SERVE_JUMP, &request);
    study_desk_do(desk, &request, &answer);
    study_errand_take_replication(&answer, 1, replication);
    ck_assert_int_eq(replication->status, KVSIM_ERR_IO);
    ck_assert(!replication->is_done);
    ck_assert_ptr_nonnull(strstr(replication->err.message, "differs"));

    cell.path = "nothing.yaml";
    base_text_clear(&request);
    base_text_clear(&answer);
    study_errand_ask_point(&cell, 1, &request);
    study_desk_do(desk, &request, &answer);
    ck_assert_int_eq(study_errand_take_point(&answer, &run, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.file, "nothing.yaml");
    record_run_free(&run);
    study_cell_release(&cell);
    study_desk_free(desk);
    base_free(replication);
    base_text_free(&request);
    base_text_free(&answer);
}
END_TEST

int main(void)
{
    return unit_run("study.errand",
                    (const TTest *const[]){a_point_comes_back_whole, replications_come_back_whole,
                                           another_scenario_is_not_simulated, NULL});
}
