/*
 * An engine of V0 that has no room on the host ends the run, at one of its own turns. The other replicas had jumped past
 * that instant and counted what would have come: steps, tokens, gaps. Random services of several replicas with little room
 * on the host, where many die; jumping must count what stepping does.
 */
#include "support/check_main.h"
#include "support/engine_run.h"
#include "support/random_service.h"

enum { SERVICES = 200, DEAD_AT_LEAST = 40 };

static void run(const struct serve_config *config, enum serve_mode mode, struct engine_run *out)
{
    struct engine_options options = {.mode = mode, .request_rows = UINT64_MAX};
    engine_run_config(config, &options, out);
}

static bool dies_alike(uint64_t seed)
{
    struct random_service random;
    random_service_init_v0(&random, seed);
    struct serve_config *config = &random.service.config;
    config->replica_count = 2 + (uint32_t)(seed % 2);
    config->sched.swap_blocks = (int64_t)(seed % 12);
    config->workload.max_concurrency = 0;
    config->sched.order = SCHED_FCFS;
    config->workload.classes[0].has_sequences = true;
    config->workload.classes[0].sequences = service_fixed(3);
    struct engine_run stepped, jumped;
    char difference[300];
    run(config, SERVE_STEP, &stepped);
    run(config, SERVE_JUMP, &jumped);
    engine_compare_runs(&stepped, &jumped, difference, sizeof difference);
    ck_assert_msg(difference[0] == '\0', "service %d: %s", (int)seed, difference);
    bool has_died = stepped.result.status == SERVE_ENGINE_DIED;
    engine_run_release(&stepped);
    engine_run_release(&jumped);
    random_service_release(&random);
    return has_died;
}

START_TEST(others_count_no_further)
{
    int dead = 0;
    for (uint64_t seed = 1; seed <= SERVICES; seed++) {
        dead += dies_alike(seed) ? 1 : 0;
    }
    ck_assert_int_ge(dead, DEAD_AT_LEAST);
}
END_TEST

CHECK_MAIN("an engine that dies beside others", others_count_no_further)
