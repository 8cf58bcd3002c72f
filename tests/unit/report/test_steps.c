#include "support/printed.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "report/steps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kvsim_error err;

static const char header[] =
    "replication,replica,step,sched_ns,start_ns,end_ns,prefill_tokens,decode_seqs,context_tokens,"
    "running,waiting,free_blocks,used_blocks,cached_blocks,lower_bound,block_rounding,"
    "out_of_window,reserved,replicated,padded,scales,shared,allocated,cached,fragmented,held_back,"
    "free,pool,scheduled,admitted,preempted,swapped_out,swapped_in,finished,running_end,"
    "free_blocks_end\n";

static struct record_step make_step(void)
{
    static const struct record_list_item scheduled[] = {{"0", 96}, {"\"q\"", 4}};
    static const struct record_list_item admitted[] = {{"0", 96}}, finished[] = {{"\"q\"", 0}};
    struct record_step step = {.replication = 1,
                               .replica = 2,
                               .step = 3,
                               .sched_ns = 10,
                               .start_ns = 11,
                               .end_ns = 12,
                               .prefill_tokens = 100,
                               .decode_seqs = 4,
                               .context_tokens = 500,
                               .running = 5,
                               .waiting = 6,
                               .free_blocks = 7,
                               .used_blocks = 8,
                               .cached_blocks = 9,
                               .ledger_bytes = {30, 2, 0, 0, 0, 0, 0, 1, 0, 0, 1, 8, 40},
                               .scheduled_count = 2,
                               .scheduled = scheduled,
                               .admitted_count = 1,
                               .admitted = admitted,
                               .finished_count = 1,
                               .finished = finished,
                               .running_end = 4,
                               .free_blocks_end = 8};
    return step;
}

static void must_hold(const char *path, const char *first, const char *second)
{
    char *text = scratch_read(path, NULL);
    ck_assert_ptr_nonnull(text);
    ck_assert(strncmp(text, first, strlen(first)) == 0);
    ck_assert_str_eq(text + strlen(first), second);
    free(text);
}

/* A text with a quote in it stands in quotes, its own doubled (RFC 4180, section 2.7). */
static const char quoted_row[] = "1,2,3,10,11,12,100,4,500,5,6,7,8,9,"
                                 "30,2,0,0,0,0,0,1,31,0,0,1,8,40,"
                                 "\"0:96 \"\"q\"\":4\",0,,,,\"\"\"q\"\"\",4,8\n";

START_TEST(rows_have_the_columns_in_order)
{
    struct printed printed;
    struct record_step step = make_step();
    report_steps_write_header(printed_begin(&printed));
    report_steps_write_row(printed.out, &step);
    const char *text = printed_end(&printed);
    ck_assert(strncmp(text, header, strlen(header)) == 0);
    ck_assert_str_eq(text + strlen(header), quoted_row);
    printed_free(&printed);
}
END_TEST

START_TEST(the_file_takes_its_name_at_the_end)
{
    scratch_enter();
    struct report_steps steps;
    struct record_step step = make_step();
    scratch_write("s.csv", "old", 3);
    ck_assert_int_eq(report_steps_open(&steps, "s.csv", &err), KVSIM_OK);
    ck_assert(steps.sink.wants_steps);
    ck_assert_uint_eq(steps.sink.request_limit, 0);
    steps.sink.ops->on_step(&steps.sink, &step);
    must_hold("s.csv", "old", "");
    ck_assert_int_eq(report_steps_finish(&steps, &err), KVSIM_OK);
    must_hold("s.csv", header, quoted_row);
    ck_assert_int_eq(scratch_count("."), 1);
    scratch_leave();
}
END_TEST

START_TEST(an_abandoned_file_leaves_no_trace)
{
    scratch_enter();
    struct report_steps steps;
    scratch_write("s.csv", "old", 3);
    ck_assert_int_eq(report_steps_open(&steps, "s.csv", &err), KVSIM_OK);
    report_steps_abandon(&steps);
    ck_assert_int_eq(report_steps_open(&steps, "new.csv", &err), KVSIM_OK);
    report_steps_abandon(&steps);
    must_hold("s.csv", "old", "");
    ck_assert_int_eq(scratch_count("."), 1);
    scratch_leave();
}
END_TEST

START_TEST(a_link_leads_to_the_file_that_is_written)
{
    scratch_enter();
    struct report_steps steps;
    struct stat info;
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    scratch_write("folder/real.csv", "old", 3);
    ck_assert_int_eq(symlink("real.csv", "folder/link.csv"), 0);
    ck_assert_int_eq(report_steps_open(&steps, "folder/link.csv", &err), KVSIM_OK);
    ck_assert_int_eq(report_steps_finish(&steps, &err), KVSIM_OK);
    ck_assert_int_eq(lstat("folder/link.csv", &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    must_hold("folder/real.csv", header, "");
    scratch_leave();
}
END_TEST

START_TEST(devices_are_written_directly)
{
    struct report_steps steps;
    struct record_step step = make_step();
    ck_assert_int_eq(report_steps_open(&steps, "/dev/null", &err), KVSIM_OK);
    steps.sink.ops->on_step(&steps.sink, &step);
    ck_assert_int_eq(report_steps_finish(&steps, &err), KVSIM_OK);
    struct stat info;
    ck_assert_int_eq(stat("/dev/null", &info), 0);
    ck_assert(S_ISCHR(info.st_mode));
}
END_TEST

START_TEST(a_full_disk_is_told)
{
    struct report_steps steps;
    struct record_step step = make_step();
    ck_assert_int_eq(report_steps_open(&steps, "/dev/full", &err), KVSIM_OK);
    for (int i = 0; i < 1000; i++)
        steps.sink.ops->on_step(&steps.sink, &step);
    ck_assert_int_eq(report_steps_finish(&steps, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.file, "/dev/full");
    ck_assert_ptr_nonnull(strstr(err.message, "No space left"));
}
END_TEST

START_TEST(places_that_cannot_be_are_refused)
{
    scratch_enter();
    struct report_steps steps;
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    ck_assert_int_eq(report_steps_open(&steps, "folder", &err), KVSIM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "directory"));
    ck_assert_int_eq(report_steps_open(&steps, "absent/s.csv", &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.file, "absent/s.csv");
    ck_assert_int_eq(scratch_count("."), 1);
    ck_assert_int_eq(scratch_count("folder"), 0);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run("report.steps",
                    (const TTest *const[]){
                        rows_have_the_columns_in_order, the_file_takes_its_name_at_the_end,
                        an_abandoned_file_leaves_no_trace, a_link_leads_to_the_file_that_is_written,
                        devices_are_written_directly, a_full_disk_is_told,
                        places_that_cannot_be_are_refused, NULL});
}
