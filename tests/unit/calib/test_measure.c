#include "calib/measure.h"

#include "support/scratch.h"
#include "support/unit.h"

#include <string.h>

static struct calib_measurements table;
static struct kvsim_error err;

static enum kvsim_status add(const char *text)
{
    scratch_write("t.csv", text, strlen(text));
    return calib_measurements_add(&table, "t.csv", NULL, NULL, &err);
}

static void begin(void)
{
    scratch_enter();
    calib_measurements_init(&table);
}

static void end(void)
{
    calib_measurements_free(&table);
    scratch_leave();
}

START_TEST(kernels_are_known_by_their_columns)
{
    begin();
    ck_assert_int_eq(add("gpu,m,n,k,dtype,ms\nx,1,2,3,bfloat16,0.5\nx,4,5,6,fp8,1.5\n"), KVSIM_OK);
    ck_assert_int_eq(add("phase,batch_size,seq_len,q_heads,kv_heads,head_dim,kv_dtype,ms\ndecode,2,"
                         "9,32,8,128,fp8,0.25\n"),
                     KVSIM_OK);
    ck_assert_int_eq(
        add("phase,batch,seq_len,q_heads,kv_cache_dtype,ms\nprefill,1,7,16,bf16,0.125\n"),
        KVSIM_OK);
    ck_assert_int_eq(add("num_gpus,elements_16bit,ms\n4,100,0.01\n"), KVSIM_OK);
    ck_assert_uint_eq(table.rows.count, 5);
    ck_assert_int_eq(table.rows.at[1].kernel.dtype, SPEC_FP8);
    ck_assert_double_eq_tol(table.rows.at[1].measured_s, 1.5e-3, 1e-15);
    ck_assert_int_eq(table.rows.at[2].kind, CALIB_ATTENTION);
    ck_assert(table.rows.at[2].is_decode);
    ck_assert_int_eq(table.rows.at[3].kind, CALIB_MLA);
    ck_assert_int_eq(table.rows.at[3].kernel.kv_lora_rank, 512);
    ck_assert_double_eq(table.rows.at[4].kernel.message_bytes, 200);
    ck_assert_uint_eq(table.rows.at[4].kernel.gpu_count, 4);
    end();
}
END_TEST

START_TEST(steps_and_layers_have_engines)
{
    begin();
    ck_assert_int_eq(
        add("gpu,model,tp,phase,prefill_chunk,kv_prefill,n_decode,kv_decode,iter_ms\n"
            "x,a,1,mixed,100,20,3,40,5\nx,a,1,decode,0,0,8,64,\nx,b,2,decode,0,0,8,64,7\n"),
        KVSIM_OK);
    ck_assert_uint_eq(table.rows.count, 2);
    ck_assert_uint_eq(table.untimed_count, 1);
    ck_assert_uint_eq(table.engines.count, 2);
    ck_assert_int_eq(table.rows.at[0].batch.prefill_seqs, 1);
    ck_assert_int_eq(table.rows.at[0].batch.prefill_tokens, 100);
    ck_assert_uint_eq(table.rows.at[0].operators, 0);
    ck_assert_int_eq(
        add("model,tp,weight_dtype,kv_dtype,phase,batch_size,new_tokens_per_seq,context_len,qkv_ms,"
            "attn_ms,o_ms,"
            "gate_up_ms,down_ms,allreduce2_ms\na,2,fp8,fp8,decode,4,1,100,1,2,3,4,5,6\n"),
        KVSIM_OK);
    ck_assert_uint_eq(table.rows.count, 2 + 6);
    ck_assert_str_eq(table.engines.at[2].quantization, "fp8");
    ck_assert_uint_eq(table.rows.at[7].operators, 1U << COST_OP_ALL_REDUCE);
    end();
}
END_TEST

/* What kvsim-microbench writes, its own copies and reads included. */
START_TEST(measurements_name_their_operators)
{
    begin();
    ck_assert_int_eq(
        add("hardware,op,m,n,k,dtype,bytes,ms,note\nc,info,,,,,100,,\"C; driver "
            "1\"\nc,gemm,1,2,3,bf16,,0.5,\n"
            "c,copy,,,,,1000,0.25,\nc,launch,,,,,,0.002,\nc,h2d_pinned,,,,,1000,0.1,\n"),
        KVSIM_OK);
    ck_assert_uint_eq(table.rows.count, 3);
    ck_assert_str_eq(table.condition, "C; driver 1");
    ck_assert_double_eq(table.rows.at[1].bytes, 1000);
    ck_assert_int_eq(table.rows.at[2].kind, CALIB_LAUNCH);
    end();
}
END_TEST

static void refused(const char *text, int line, int column, const char *part)
{
    ck_assert_int_eq(add(text), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, part) != NULL, "'%s' lacks '%s'", err.message, part);
    ck_assert_int_eq(err.line, line);
    ck_assert_int_eq(err.column, column);
}

START_TEST(nonsense_is_refused_with_its_place)
{
    begin();
    ck_assert_int_eq(add("a,b\n1,2\n"), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(add("m,n,k,dtype,ms\n1,2,3,bf16,0.5\n1,2,3,bf16,-1\n"), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(err.line, 3);
    ck_assert_int_eq(add("m,n,k,dtype,ms\n1,2,3,fp9,0.5\n"), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "fp9"));
    ck_assert_int_eq(calib_measurements_add(&table, "absent.csv", NULL, NULL, &err), KVSIM_ERR_IO);
    refused("m,n,k,dtype,ms\n0,2,3,bf16,0.5\n", 2, 1, "'m' is 0");
    refused("m,n,k,dtype,ms\n1,2,9999999999,bf16,0.5\n", 2, 5, "'k' is 9999999999");
    refused("m,n,k,dtype,ms\n1,,3,bf16,0.5\n", 2, 3, "'n' has no value");
    refused("m,n,k,dtype,ms\n1,2,3,bf16,1e-300\n", 2, 12, "from a nanosecond to an hour");
    refused("m,n,k,dtype,ms\n1,2,3,bf16,3600001\n", 2, 12, "from a nanosecond to an hour");
    refused("gpus,bytes,ms\n-3,100,0.5\n", 2, 1, "'gpus' is -3");
    refused("model,tp,prefill_chunk,kv_prefill,n_decode,kv_decode,iter_ms\na,1,0,0,-8,9,1\n", 2, 9,
            "'n_decode' is -8");
    refused("num_gpus,gpus,bytes,ms\n2,4,100,0.5\n", 1, 1, "says the same as");
    end();
}
END_TEST

/* Rows say what software ran; rows of two generations are no one fit. */
START_TEST(kernels_are_of_one_generation)
{
    begin();
    ck_assert_int_eq(add("m,n,k,dtype,ms\n1,2,3,bf16,0.5\n"), KVSIM_OK);
    ck_assert_int_eq(table.kernels, COST_KERNELS_CURRENT);
    ck_assert_int_eq(add("m,n,k,dtype,kernels,ms\n1,2,3,bf16,current,0.5\n"), KVSIM_OK);
    ck_assert_int_eq(add("m,n,k,dtype,kernels,ms\n1,2,3,bf16,,0.5\n1,2,3,bf16,2024,0.5\n"),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "mixed-kernels");
    ck_assert_int_eq(err.line, 3);
    ck_assert_int_eq(err.column, 12);
    end();
    begin();
    ck_assert_int_eq(add("m,n,k,dtype,kernels,ms\n1,2,3,bf16,2024,0.5\n"), KVSIM_OK);
    ck_assert_int_eq(table.kernels, COST_KERNELS_2024);
    ck_assert_int_eq(add("m,n,k,dtype,kernels,ms\n1,2,3,bf16,2025,0.5\n"), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "2025"));
    end();
}
END_TEST

int main(void)
{
    return unit_run(
        "calib.measure",
        (const TTest *const[]){kernels_are_known_by_their_columns, steps_and_layers_have_engines,
                               measurements_name_their_operators, kernels_are_of_one_generation,
                               nonsense_is_refused_with_its_place, NULL});
}
