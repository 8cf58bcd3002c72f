#include "report/plot.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DRAWING_BYTES_MAX = 16 << 20 };

void report_plot_begin(struct report_plot *plot, int height)
{
    *plot = (struct report_plot){.height = height};
    report_plot_add(plot,
                    "set terminal svg size %d,%d dynamic noenhanced font 'x,12' butt\n"
                    "set encoding utf8\nunset key\nset border 0\nset style fill solid 1 noborder\n"
                    "set tics nomirror scale 0 textcolor rgb '#0000%02x'\n"
                    "set grid lt 1 lw 1 lc rgb '#0000%02x'\n",
                    REPORT_PLOT_WIDTH, height, REPORT_MUTED, REPORT_GRID);
}

void report_plot_add(struct report_plot *plot, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[1024];
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    base_require(length >= 0 && (size_t)length < sizeof text);
    base_text_add(&plot->script, text);
}

static void add_quoted(struct report_plot *plot, const char *text, bool is_format)
{
    base_text_add(&plot->script, "'");
    for (; *text != '\0'; text++) {
        bool is_harmless = (unsigned char)*text >= 0x20 && *text != '\'' && *text != '\\' &&
                           *text != '`' && *text != 0x7f;
        if (is_harmless)
            base_text_add_n(&plot->script, text, 1);
        if (*text == '%' && is_format)
            base_text_add(&plot->script, "%");
    }
    base_text_add(&plot->script, "'");
}

void report_plot_quote(struct report_plot *plot, const char *text)
{
    add_quoted(plot, text, false);
}

void report_plot_tic(struct report_plot *plot, const char *text)
{
    add_quoted(plot, text, true);
}

void report_plot_colour(struct report_plot *plot, int colour)
{
    base_require(colour > 0 && colour < REPORT_COLOUR_COUNT);
    report_plot_add(plot, "rgb '#0000%02x'", (unsigned)colour);
}

void report_plot_release(struct report_plot *plot)
{
    base_text_free(&plot->script);
}

/* In the child: never returns. Only calls that are safe between fork and exec. */
static _Noreturn void become(const char *program, int in, int out)
{
    const char *const words[] = {program, "-d", NULL};
    char *argv[3];
    memcpy(argv, words, sizeof words);
    // An alarm outlives exec: a program that hangs is ended by it.
    alarm(REPORT_PLOT_SECONDS);
    int quiet = open("/dev/null", O_WRONLY);
    if (quiet >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(quiet, STDERR_FILENO) >= 0)
        execvp(program, argv);
    _exit(127);
}

/* Runs the program on the script; false with errno, or with *code its exit status. */
static bool run(const char *program, FILE *script, FILE *drawing, int *code)
{
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0)
        become(program, fileno(script), fileno(drawing));
    int state;
    pid_t ended;
    do
        ended = waitpid(child, &state, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return false;
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return true;
}

static bool read_all(FILE *file, struct base_text *text)
{
    rewind(file);
    char part[8192];
    size_t count;
    while ((count = fread(part, 1, sizeof part, file)) > 0 && text->count < DRAWING_BYTES_MAX)
        base_text_add_n(text, part, count);
    return !ferror(file) && text->count > 0 && text->count < DRAWING_BYTES_MAX;
}

static bool fail(struct report_plotter *plotter, const char *why)
{
    snprintf(plotter->failure, sizeof plotter->failure, "%s", why);
    return false;
}

static bool draw(struct report_plotter *plotter, const struct report_plot *plot, FILE *script,
                 FILE *drawing, struct base_text *svg)
{
    int code = 0;
    fwrite(plot->script.at, 1, plot->script.count, script);
    bool is_ready = fflush(script) == 0 && fseek(script, 0, SEEK_SET) == 0;
    if (!is_ready || !run(plotter->program, script, drawing, &code))
        return fail(plotter, strerror(errno));
    if (code == 127)
        return fail(plotter, "it is not installed");
    if (code != 0)
        return fail(plotter, "it failed");
    struct base_text text = {0};
    bool is_drawn = read_all(drawing, &text) && report_svg_clean(text.at, svg);
    base_text_free(&text);
    return is_drawn ? true : fail(plotter, "what it drew cannot be read");
}

bool report_plot_draw(struct report_plotter *plotter, const struct report_plot *plot,
                      struct base_text *svg)
{
    if (plotter->program == NULL || plotter->failure[0] != '\0')
        return false;
    FILE *script = tmpfile(), *drawing = tmpfile();
    bool is_drawn = script != NULL && drawing != NULL ? draw(plotter, plot, script, drawing, svg)
                                                      : fail(plotter, strerror(errno));
    if (script != NULL)
        fclose(script);
    if (drawing != NULL)
        fclose(drawing);
    return is_drawn;
}
