/*
 * tokens.h - runs of consecutive token ids: how the content of prompts and answers is said.
 */
#ifndef KVSIM_SPEC_TOKENS_H
#define KVSIM_SPEC_TOKENS_H

#include <stdint.h>

struct spec_token_run {
    int64_t first, count;
};

#endif
