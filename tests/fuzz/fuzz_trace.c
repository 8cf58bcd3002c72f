/*
 * Traces and tables of lengths: every row of a trace is in order of time, with lengths and contents that a request can have, and
 * the scan counts the same rows; or both readers refuse with a place.
 */
#include "base/error.h"
#include "fuzz/fuzz_file.h"
#include "workload/bins.h"
#include "workload/workload_int.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct kvsim_error *err, const char *path)
{
    base_require(err->status == KVSIM_ERR_SCENARIO);
    base_require(err->message[0] != '\0' && err->code[0] != '\0');
    base_require(strcmp(err->file, path) == 0);
}

static void check_row(const struct workload_row *row)
{
    int64_t tokens = 0;
    base_require(row->at_ns >= 0 && row->max_tokens >= 0);
    base_require(row->prompt_tokens >= 0 && row->prompt_tokens <= WORKLOAD_LENGTH_MAX);
    base_require(row->output_tokens >= 1 && row->output_tokens <= WORKLOAD_LENGTH_MAX);
    for (size_t i = 0; i < row->run_count; i++) {
        base_require(row->runs[i].count >= 1);
        tokens += row->runs[i].count;
    }
    base_require(row->run_count == 0 || row->hash_block_tokens > 0 || tokens == row->prompt_tokens);
}

// The rows that are read, one by one; -1 when one is refused.
static int64_t read_rows(struct workload_trace *trace, const char *path)
{
    struct workload_row row;
    struct kvsim_error err = {0};
    int64_t count = 0, before = 0;
    for (bool more = true;; count++) {
        if (workload_trace_next(trace, &row, &more, &err) != KVSIM_OK) {
            check_error(&err, path);
            return -1;
        }
        if (!more) {
            return count;
        }
        check_row(&row);
        base_require(row.at_ns >= before);
        before = row.at_ns;
    }
}

static void read_trace(const char *path)
{
    struct workload_trace *trace = NULL;
    struct workload_trace_info info;
    struct kvsim_error err = {0};
    int64_t rows = -1;
    if (workload_trace_open(path, &trace, &err) == KVSIM_OK) {
        rows = read_rows(trace, path);
        workload_trace_close(trace);
    } else {
        check_error(&err, path);
    }
    bool is_scanned = workload_trace_scan(path, 0, &info, &err) == KVSIM_OK;
    base_require(is_scanned == (rows >= 0));
    base_require(!is_scanned || (int64_t)info.row_count == rows);
}

static void read_lengths(const char *path, enum workload_role role)
{
    struct base_arena arena;
    const struct rng_bin *bins = NULL;
    size_t count = 0;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    if (workload_bins_read(path, role, &arena, &bins, &count, &err) == KVSIM_OK) {
        base_require(count > 0);
        for (size_t i = 0; i < count; i++) {
            base_require(isfinite(bins[i].weight) && bins[i].weight >= 0);
            base_require(bins[i].low <= bins[i].high);
        }
    } else {
        check_error(&err, path);
    }
    base_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file input = fuzz_file(data, size);
    read_trace(input.path);
    read_lengths(input.path, WORKLOAD_ROLE_PROMPT);
    read_lengths(input.path, WORKLOAD_ROLE_OUTPUT);
    fclose(input.file);
    return 0;
}
