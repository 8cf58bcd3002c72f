/*
 * Tables: every row has all its columns or is an error with a place; numbers are read or refused.
 */
#include "base/error.h"
#include "conf/rows.h"
#include "fuzz/fuzz_file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_field(const struct conf_rows *rows, int column)
{
    const char *text = conf_rows_text(rows, column);
    struct kvsim_error err = {0};
    long long number = 0;
    double real = 0.0;
    size_t length = text == NULL ? 0 : strlen(text);
    if (conf_rows_int(rows, column, &number, &err) != KVSIM_OK)
        base_require(err.line > 0 && err.message[0] != '\0');
    else
        base_require(length > 0);
    if (conf_rows_seconds(rows, column, &number, &err) == KVSIM_OK)
        base_require(number >= 0);
    if (conf_rows_real(rows, column, &real, &err) == KVSIM_OK)
        base_require(length > 0);
}

static void read_rows(struct conf_rows *rows)
{
    struct kvsim_error err = {0};
    int columns = (int)conf_rows_column_count(rows), last_line = 0;
    bool more = true;
    while (conf_rows_next(rows, &more, &err) == KVSIM_OK && more) {
        base_require(conf_rows_line(rows) > last_line);
        last_line = conf_rows_line(rows);
        for (int column = -1; column <= columns; column++)
            read_field(rows, column);
    }
    base_require(!more || (err.line > 0 && err.code[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file input = fuzz_file(data, size);
    struct conf_rows *rows = NULL;
    struct kvsim_error err = {0};
    if (conf_rows_open(input.path, &rows, &err) == KVSIM_OK) {
        read_rows(rows);
        conf_rows_close(rows);
    } else {
        base_require(err.status == KVSIM_ERR_SCENARIO && err.code[0] != '\0');
    }
    fclose(input.file);
    return 0;
}
