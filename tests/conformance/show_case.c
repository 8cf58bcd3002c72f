/*
 * show_case FILE... - prints the case with the trace that the reference gives for its input. Used to make the
 * cases of this folder; the text that comes out is reviewed before it is kept.
 */
#include <stdio.h>
#include <stdlib.h>

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
    // The input is kept as it was written; the trace is put behind it.
    char *text = read_text(path);
    char *end = text;
    for (char *c = text; c[0] != '\0'; c++) {
        if (c[0] == '}' && c[1] == ',' && c[2] == ' ' && c[3] == '"' && c[4] == 'e') {
            end = c;
            break;
        }
    }
    struct case_text expected = {0};
    case_write_output(&input, &output, &expected);
    if (end == text) {
        fprintf(stderr, "%s: no '}, \"expected\"'\n", path);
    } else {
        printf("%.*s}, \"expected\": %s}\n", (int)(end - text), text, expected.text);
    }
    const int status = end == text;
    free(text);
    free(expected.text);
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
