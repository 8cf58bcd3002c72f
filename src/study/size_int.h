/*
 * size_int.h - the words of a size: the engine's own start-up lines, notes, and what the figures do not support.
 */
#ifndef KVSIM_STUDY_SIZE_INT_H
#define KVSIM_STUDY_SIZE_INT_H

#include "study/size.h"

/* Lines in the wording and with the rounding of the engine, to lie beside a real log. */
void study_size_add_log(const struct serve_config *config, struct base_arena *arena,
                        struct record_size *out);

void study_size_add_words(const struct serve_config *config,
                          const struct study_size_options *options, struct base_arena *arena,
                          struct record_size *out);

#endif
