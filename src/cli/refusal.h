/*
 * refusal.h - a configuration that cannot start, as a report: its memory waterfall and the smallest changes that fit.
 */
#ifndef KVSIM_CLI_REFUSAL_H
#define KVSIM_CLI_REFUSAL_H

#include "base/mem.h"
#include "report/json.h"
#include "serve/config.h"

#include <stdio.h>

void cli_refusal_text(FILE *out, const struct serve_config *config);
/* The rows of the waterfall; what would fit is said on stderr. */
void cli_refusal_csv(FILE *out, const struct serve_config *config);
/* An object: scenario, model, hardware, engine, starts, refusal, waterfall. */
void cli_refusal_json_object(struct report_json *json, const char *key,
                             const struct serve_config *config);
/* The one line for stderr, without a place. */
void cli_refusal_error(const struct serve_config *config, struct kvsim_error *err);

#endif
