/*
 * errand.h - a piece of work that another process can do: the request and its answer as bytes.
 *
 * A request says where the scenario is, not what is in it: the other process reads the same files with the same overrides
 * and must come to the same fingerprint, else it answers with an error. Both are the same program on the same kind of
 * machine (ranks.h sees to it). A desk is where errands are done, by one thread at a time; it keeps the last scenario, so
 * that the replications of one are read once.
 */
#ifndef KVSIM_STUDY_ERRAND_H
#define KVSIM_STUDY_ERRAND_H

#include "base/error.h"
#include "base/text.h"
#include "record/run.h"
#include "scenario/scenario.h"
#include "serve/serve.h"
#include "study/run_int.h"

struct study_cell;

/* All replications of a configuration, gathered. */
void study_errand_ask_point(const struct study_cell *cell, unsigned jobs_noted,
                            struct base_text *request);
/* `out` is initialized; the status is the errand's own. */
enum kvsim_status study_errand_take_point(const struct base_text *answer, struct record_run *out,
                                          struct kvsim_error *err) KVSIM_MUST_CHECK;

/* One replication of a configuration; `hash` is its fingerprint. */
void study_errand_ask_replication(const struct scenario_request *source, const char *hash,
                                  uint32_t replication, enum serve_mode mode,
                                  struct base_text *request);
/* Fills result, collector, is_done, status and err. */
void study_errand_take_replication(const struct base_text *answer, size_t replica_count,
                                   struct study_replication *out);

struct study_desk;
struct study_desk *study_desk_new(void);
void study_desk_free(struct study_desk *desk);
void study_desk_do(struct study_desk *desk, const struct base_text *request,
                   struct base_text *answer);

#endif
