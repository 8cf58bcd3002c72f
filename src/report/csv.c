#include "report/csv.h"

#include "report/number.h"

#include <math.h>
#include <string.h>

void report_csv_field(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void report_csv_value(FILE *out, const struct record_value *value)
{
    char text[REPORT_NUMBER_BYTES];
    switch (value->kind) {
    case RECORD_INTEGER:
        fprintf(out, "%lld", (long long)value->integer);
        break;
    case RECORD_REAL:
        if (!isnan(value->real))
            fputs(report_print_exact(value->real, text, sizeof text), out);
        break;
    case RECORD_TEXT:
        report_csv_field(out, value->text);
        break;
    case RECORD_NULL:
    default:
        break;
    }
}
