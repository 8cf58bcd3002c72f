/*
 * sheet.h - what the files of level datasheet share: the engine on one GPU, and a step that is added up operator by operator.
 *
 * sheet.c makes a cost_sheet from the configuration, body.c adds what depends on numbers of tokens alone, datasheet.c the
 * attention, the host, and what is asked of a level. A sheet is the state of its instance (cost->state) and lives in its arena;
 * a cost_work lives for one step.
 */
#ifndef KVSIM_COST_SHEET_H
#define KVSIM_COST_SHEET_H

#include "cost/moe.h"
#include "cost/ops.h"
#include "cost/rates.h"

/* Attention layers of one kind. */
struct cost_group {
    uint32_t sum; /* COST_SUM_CONTEXT or a window */
    double layer_count;
    double flops_per_pair;               /* prefill */
    double bytes_per_token;              /* KV of one layer on one GPU */
    double up_projection_flops;          /* MLA without absorption: per token of context */
    struct cost_attention_decode decode; /* but for the number of sequences */
};

struct cost_sheet {
    struct cost_rates rates;
    const struct spec_model *model;
    struct cost_matrix plain, attention, dense, expert, head;
    double tp, pp, ep, dp;
    double q_heads, kv_heads; /* of one GPU */
    double attention_layers, linear_layers, dense_layers, moe_layers;
    struct cost_moe moe;
    double kv_bytes_per_token;   /* written per new token, all layers */
    double state_bytes;          /* recurrent state of a sequence, all layers on one GPU */
    double kv_write_s_per_token; /* stated by cost.kv_dtype, all layers */
    size_t group_count;
    struct cost_group groups[SPEC_KV_GROUPS_MAX];
    /* [COST_BODIES], by tokens; NULL where a body depends on more than tokens */
    struct cost_body *bodies;
};

/*
 * What of a step depends on its number of tokens alone, kept from the last step of as many tokens. Adding it first gives
 * the very sums that adding its operators one by one gives.
 */
struct cost_body {
    double tokens; /* 0: empty */
    double class_s[COST_BOUND_COUNT];
    double kernel_count;
};

enum { COST_BODIES = 4096 };

/* A step being added up. */
struct cost_work {
    const struct cost_sheet *sheet;
    struct cost_parts parts;
    double kernel_count;
    struct cost_work_rows *rows; /* NULL: nobody asks for operators */
};

struct cost_work_rows {
    double largest_s[COST_OPERATOR_COUNT];
    struct cost_operator_row of[COST_OPERATOR_COUNT];
};

/* What a step asks of the operators. */
struct cost_demand {
    double tokens, emitting_rows, sequences;
    double absorbed_rows; /* decodes of MLA with absorption */
};

/* sheet.c: fills cost->state; KVSIM_ERR_SCENARIO for what the level cannot price. */
enum kvsim_status cost_sheet_init(struct cost *cost, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* body.c */
double cost_per_gpu(double whole, double gpus);
/* An operator of `layers` layers, spread over the pipeline's stages. */
void cost_work_add_layers(struct cost_work *work, enum cost_operator op, struct cost_time time,
                          double layers);
/* Everything that depends neither on contexts nor on how many tokens are sampled. */
void cost_work_add_body(struct cost_work *work, const struct cost_demand *demand);
/* The last layer's rows that are sampled. */
void cost_work_add_head(struct cost_work *work, double rows);

#endif
