/* What gnuplot draws is taken over only as far as it is known. */
#include "support/unit.h"

#include "report/plot.h"

#include <string.h>

#define CANVAS "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 10 10\">\n<title>Gnuplot</title>\n"

static void must_clean_to(const char *drawing, const char *expected)
{
    struct base_text svg = {0};
    ck_assert(report_svg_clean(drawing, &svg));
    ck_assert_str_eq(svg.at, expected);
    base_text_free(&svg);
}

START_TEST(paths_areas_dots_and_texts)
{
    must_clean_to(
        CANVAS "<g fill=\"none\" stroke-width=\"2.00\">\n"
               "<path stroke='rgb(  0,   0,  17)' stroke-dasharray='2,4'  d='M1,2 L3,4\n\t\tL5,6 "
               "'/></g>\n<polygon fill = 'rgb(0,0, 18)' fill-opacity='0.5' points = '1,2 3,4 '/>"
               "<use xlink:href='#gpPt6' transform='translate(7.5,8) scale(2.92)' "
               "color='rgb(  0,   0,  19)'/>"
               "<g transform=\"translate(1,2) rotate(270)\" fill=\"rgb(0,0,2)\" "
               "font-family=\"x\" text-anchor=\"middle\">\n<text> a &amp; b</text></g></svg>",
        "<path class=\"k17\" stroke-width=\"2.00\" stroke-dasharray=\"2,4\" "
        "d=\"M1,2 L3,4 L5,6 \"/>\n"
        "<polygon class=\"k18\" fill-opacity=\"0.5\" points=\"1,2 3,4 \"/>\n"
        "<circle class=\"k19\" cx=\"7.5\" cy=\"8\" r=\"2.92\"/>\n"
        "<text class=\"k2\" transform=\"translate(1,2) rotate(270)\" "
        "text-anchor=\"middle\">a &amp; b</text>\n");
}
END_TEST

START_TEST(everything_else_is_left_behind)
{
    must_clean_to(CANVAS "<defs><path id='gpPt0' d='M0'/><circle id='x' r='1'/></defs>"
                         "<script>alert(1)</script><image href='x'/><rect width='3'/>"
                         "<path stroke='black' d='M0,0' onclick='x' id='y'/></svg>"
                         "<path d='M9,9'/>",
                  "<path class=\"k1\" d=\"M0,0\"/>\n");
}
END_TEST

START_TEST(colours)
{
    must_clean_to(CANVAS "<path stroke='white' d='M1'/><path d='M2'/>"
                         "<path stroke='rgb(0,0,900)' d='M3'/></svg>",
                  "<path class=\"k6\" d=\"M1\"/>\n<path class=\"k1\" d=\"M2\"/>\n"
                  "<path class=\"k1\" d=\"M3\"/>\n");
}
END_TEST

START_TEST(what_is_no_drawing)
{
    static const char *const bad[] = {"",
                                      "hello",
                                      "<html><path d='M1'/></html>",
                                      CANVAS "<path d='M1'/>",
                                      CANVAS "</svg>",
                                      CANVAS "<path d='M1",
                                      "<svg>",
                                      CANVAS "<defs><path d='M1'/></svg>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct base_text svg = {0};
        ck_assert_msg(!report_svg_clean(bad[i], &svg), "%s", bad[i]);
        base_text_free(&svg);
    }
}
END_TEST

int main(void)
{
    return unit_run("report.svg", (const TTest *const[]){paths_areas_dots_and_texts,
                                                         everything_else_is_left_behind, colours,
                                                         what_is_no_drawing, NULL});
}
