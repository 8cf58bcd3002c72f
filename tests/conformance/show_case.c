/*
 * show_case FILE... - prints the case with the trace that the reference gives for its input. Used
 * to make the cases of this folder; the text that comes out is reviewed before it is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/case.h"

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    struct case_text text = {0};
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
        case_text_add(&text, "%c", c);
    }
    fclose(file);
    return text.text;
}

/* Where the input ends and the trace begins. NULL if the text has no such place. */
static const char *find_expected(const char *text)
{
    return text == NULL ? NULL : strstr(text, "}, \"expected\"");
}

/* The input is kept as it was written; the trace is put behind it. */
static int print_with_trace(const char *path, const struct ref_input *input,
                            const struct ref_output *output)
{
    char *text = read_text(path);
    const char *end = find_expected(text);
    if (end == NULL) {
        fprintf(stderr, "%s: no '}, \"expected\"'\n", path);
        free(text);
        return 1;
    }
    struct case_text expected = {0};
    case_write_output(input, output, &expected);
    printf("%.*s}, \"expected\": %s}\n", (int)(end - text), text, expected.text);
    free(expected.text);
    free(text);
    return 0;
}

static int show(const char *path)
{
    struct json_value *root = json_read_file(path);
    struct ref_input input;
    struct ref_output output;
    char why[256] = "cannot be read";
    if (root == NULL || !case_read_input(root, &input, why, sizeof(why)) ||
        ref_run(&input, &output) != 0) {
        fprintf(stderr, "%s: %s\n", path, why);
        json_free(root);
        return 1;
    }
    const int status = print_with_trace(path, &input, &output);
    ref_output_free(&output);
    ref_input_free(&input);
    json_free(root);
    return status;
}

int main(int count, char **arguments)
{
    int status = count > 1 ? 0 : 2;
    for (int i = 1; i < count; i++) {
        status |= show(arguments[i]);
    }
    return status;
}
