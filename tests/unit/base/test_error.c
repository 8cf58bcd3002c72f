#include "support/unit.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static const char *printed(const struct kvsim_error *err, const char *severity, char text[2048])
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    base_error_print(file, err, severity);
    rewind(file);
    size_t got = fread(text, 1, 2047, file);
    text[got] = '\0';
    fclose(file);
    return text;
}

START_TEST(prints_place_code_and_hint)
{
    struct kvsim_error err;
    char text[2048];
    ck_assert_int_eq(base_fail(&err, KVSIM_ERR_SCENARIO, "unknown key '%s'", "promt"),
                     KVSIM_ERR_SCENARIO);
    base_error_at(&err, "scenarios/chat-8k.yaml", 14, 7);
    base_error_code(&err, "unknown-key");
    base_error_hint(&err, "did you mean '%s'?", "prompt");
    ck_assert_str_eq(printed(&err, "error", text),
                     "scenarios/chat-8k.yaml:14:7: error: unknown key 'promt' [unknown-key]\n"
                     "  hint: did you mean 'prompt'?\n");
}
END_TEST

START_TEST(prints_what_is_known_of_the_place)
{
    struct kvsim_error err;
    char text[2048];
    base_fail(&err, KVSIM_ERR_IO, "cannot open");
    ck_assert_str_eq(printed(&err, "error", text), "kvsim: error: cannot open\n");
    base_error_at(&err, "--set a.b", 0, 0);
    ck_assert_str_eq(printed(&err, "warning", text), "--set a.b: warning: cannot open\n");
    base_error_at(&err, "t.csv", 3, 0);
    ck_assert_str_eq(printed(&err, "error", text), "t.csv:3: error: cannot open\n");
}
END_TEST

START_TEST(control_characters_do_not_reach_a_terminal)
{
    struct kvsim_error err;
    char text[2048];
    base_fail(&err, KVSIM_ERR_SCENARIO, "bad '%s'", "\x1b[2J\x07");
    ck_assert_str_eq(printed(&err, "error", text), "kvsim: error: bad '?[2J?'\n");
}
END_TEST

START_TEST(long_messages_are_cut_between_characters)
{
    struct kvsim_error err;
    char umlauts[600];
    for (size_t i = 0; i + 2 < sizeof umlauts; i += 2)
        memcpy(umlauts + i, "\xC3\xA4", 3);
    base_fail(&err, KVSIM_ERR_SCENARIO, "%s", umlauts);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 2); // 399 bytes cut to 199 pairs
    ck_assert_int_eq((unsigned char)err.message[strlen(err.message) - 1], 0xA4);
    base_fail(&err, KVSIM_ERR_SCENARIO, "x%s", umlauts);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1); // here it fits
}
END_TEST

START_TEST(everything_may_be_filled_into_nothing)
{
    ck_assert_int_eq(base_fail(NULL, KVSIM_ERR_IO, "x"), KVSIM_ERR_IO);
    base_error_at(NULL, "f", 1, 1);
    base_error_key(NULL, "k");
    base_error_code(NULL, "c");
    base_error_hint(NULL, "h");
}
END_TEST

START_TEST(failing_again_forgets_the_first_failure)
{
    struct kvsim_error err;
    base_fail(&err, KVSIM_ERR_IO, "first");
    base_error_at(&err, "f", 1, 1);
    base_error_key(&err, "a.b");
    ck_assert_str_eq(err.key, "a.b");
    base_fail(&err, KVSIM_ERR_REFUSED, "second");
    ck_assert_str_eq(err.file, "");
    ck_assert_str_eq(err.key, "");
    ck_assert_int_eq(err.line, 0);
    ck_assert_int_eq(err.status, KVSIM_ERR_REFUSED);
}
END_TEST

START_TEST(diagnostics_are_kept_up_to_the_limit_and_all_counted)
{
    struct kvsim_diags *diags = calloc(1, sizeof *diags);
    ck_assert_ptr_nonnull(diags);
    struct kvsim_error err;
    for (int i = 0; i < KVSIM_DIAGS_MAX + 5; i++) {
        base_fail(&err, KVSIM_ERR_SCENARIO, "number %d", i);
        base_diags_add(diags, &err);
        base_diags_warn(diags, &err);
    }
    ck_assert_uint_eq(diags->count, KVSIM_DIAGS_MAX);
    ck_assert_uint_eq(diags->total, KVSIM_DIAGS_MAX + 5);
    ck_assert_uint_eq(diags->warning_count, KVSIM_DIAGS_MAX);
    ck_assert_str_eq(diags->at[KVSIM_DIAGS_MAX - 1].message, "number 19");
    free(diags);
}
END_TEST

START_TEST(every_status_has_its_exit)
{
    static const int exits[] = {
        [KVSIM_OK] = 0,         [KVSIM_ERR_USAGE] = 2,   [KVSIM_ERR_SCENARIO] = 3,
        [KVSIM_ERR_IO] = 4,     [KVSIM_ERR_REFUSED] = 5, [KVSIM_ERR_MEMORY] = 70,
        [KVSIM_ERR_DEFECT] = 70};
    for (int status = KVSIM_OK; status <= KVSIM_ERR_DEFECT; status++)
        ck_assert_int_eq(base_status_exit((enum kvsim_status)status), exits[status]);
}
END_TEST

int main(void)
{
    return unit_run("base.error", (const TTest *const[]){
                                      prints_place_code_and_hint,
                                      prints_what_is_known_of_the_place,
                                      control_characters_do_not_reach_a_terminal,
                                      long_messages_are_cut_between_characters,
                                      everything_may_be_filled_into_nothing,
                                      failing_again_forgets_the_first_failure,
                                      diagnostics_are_kept_up_to_the_limit_and_all_counted,
                                      every_status_has_its_exit,
                                      NULL,
                                  });
}
