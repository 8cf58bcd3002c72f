#include "study/memo.h"

#include "base/mem.h"
#include "scenario/scenario.h"
#include "serve/config.h"

#include <pthread.h>
#include <string.h>

struct entry {
    char key[33];
    struct workload_held held;
};

struct study_memo {
    pthread_mutex_t lock;
    struct {
        struct entry *at;
        size_t count, capacity;
    } entries;
};

struct study_memo *study_memo_open(void)
{
    struct study_memo *memo = base_alloc(sizeof *memo);
    *memo = (struct study_memo){.entries = {0}};
    pthread_mutex_init(&memo->lock, NULL);
    return memo;
}

void study_memo_close(struct study_memo *memo)
{
    pthread_mutex_destroy(&memo->lock);
    base_vec_free(&memo->entries);
    base_free(memo);
}

static bool find(struct study_memo *memo, const char *key, struct workload_held *out)
{
    bool found = false;
    pthread_mutex_lock(&memo->lock);
    for (size_t i = memo->entries.count; i-- > 0 && !found;) {
        found = strcmp(memo->entries.at[i].key, key) == 0;
        if (found)
            *out = memo->entries.at[i].held;
    }
    pthread_mutex_unlock(&memo->lock);
    return found;
}

static void keep(struct study_memo *memo, const char *key, const struct workload_held *held)
{
    struct entry entry = {.held = *held};
    memcpy(entry.key, key, sizeof entry.key);
    pthread_mutex_lock(&memo->lock);
    base_vec_push(&memo->entries, entry);
    pthread_mutex_unlock(&memo->lock);
}

void study_memo_complete(struct study_memo *memo, struct scenario *scenario)
{
    char key[33];
    struct workload_held held;
    bool has_key = memo != NULL && scenario_held_key(scenario, key);
    if (has_key && find(memo, key, &held)) {
        scenario_give_held(scenario, &held);
        return;
    }
    scenario_complete(scenario);
    if (has_key)
        keep(memo, key, &scenario_config(scenario)->held);
}
