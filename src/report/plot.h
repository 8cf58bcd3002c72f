/*
 * plot.h - plots drawn by gnuplot and made part of a page as SVG.
 *
 * gnuplot is a separate program that may be absent: then report_plot_draw() says so and the page shows tables only. It
 * runs as a child with its script on standard input and its drawing on standard output, both nameless temporary files,
 * without the user's own settings, and is given REPORT_PLOT_SECONDS. What it draws is read as XML and only paths,
 * areas, dots and texts are taken over; each has the class of one of the page's colours, which follow light and dark.
 *
 * A script holds numbers, and texts only through report_plot_quote(): no text from a scenario is ever a command.
 */
#ifndef KVSIM_REPORT_PLOT_H
#define KVSIM_REPORT_PLOT_H

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

enum { REPORT_PLOT_WIDTH = 460, REPORT_PLOT_SECONDS = 60 };

/* Colours as gnuplot is told them: rgb '#0000NN' becomes the class kNN. */
enum report_colour {
    REPORT_INK = 1,   /* texts and axes */
    REPORT_MUTED = 2, /* labels of axes */
    REPORT_GRID = 3,
    REPORT_BOUND = 4,   /* an SLO */
    REPORT_FAINT = 5,   /* what is there for comparison */
    REPORT_PAGE = 6,    /* the ground */
    REPORT_SERIES = 16, /* 16 … 29: series, told apart by hue */
    REPORT_SERIES_COUNT = 14,
    REPORT_SCALE = 32, /* 32 … 39: little to much */
    REPORT_SCALE_COUNT = 8,
    REPORT_COLOUR_COUNT = 64
};

struct report_plotter {
    const char *program; /* looked up in PATH; NULL: plots are not wanted */
    /* Why there are no plots, once one could not be drawn; "" before. */
    char failure[256];
};

struct report_plot {
    struct base_text script;
    int height;
};

/* A plot of REPORT_PLOT_WIDTH x height units, without frame and key, with calm axes. */
void report_plot_begin(struct report_plot *plot, int height);
/* Adds to the script. */
void report_plot_add(struct report_plot *plot, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A text as gnuplot's string in single quotes; what could end it or start a line is left out. */
void report_plot_quote(struct report_plot *plot, const char *text);
/* The same for a tic, whose text gnuplot takes for a format. */
void report_plot_tic(struct report_plot *plot, const char *text);
/* The colour as gnuplot writes it: rgb '#000010'. */
void report_plot_colour(struct report_plot *plot, int colour);
void report_plot_release(struct report_plot *plot);

/*
 * Draws into `svg`: the elements, without the surrounding <svg>. False when it could not be drawn; plotter->failure then says
 * why, and later calls fail at once.
 */
bool report_plot_draw(struct report_plotter *plotter, const struct report_plot *plot,
                      struct base_text *svg);

/* What gnuplot drew, cleaned as described above. False when it isn't an SVG drawing. */
bool report_svg_clean(const char *drawing, struct base_text *svg);

#endif
