/* SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <math.h>
#include <stdio.h>

enum {
    WIDTH = 800,
    HEIGHT = 400,
    LEFT = 60,
    RIGHT = 20,
    TOP = 40,
    BOTTOM = 50,
    STEPS = 8, /* of a doubling */
};

static const char *const colors[] = {"#1f6feb", "#d29922", "#8b949e", "#2da44e"};

/* What the axes show: binary logarithms of nanoseconds, and shares. */
struct axes {
    double low, high;
    double tallest;
};

static double log_of(uint64_t ns)
{
    return log2(ns ? (double)ns : 1);
}

static double x_of(const struct axes *axes, double log_ns)
{
    return LEFT + (log_ns - axes->low) / (axes->high - axes->low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *axes, double share)
{
    return HEIGHT - BOTTOM - share / axes->tallest * (HEIGHT - TOP - BOTTOM);
}

/* The share of the series in each step is told to draw, from the lowest. */
static void for_each_bin(const struct plot_series *series, const struct axes *axes,
                         void (*draw)(void *ctx, double log_ns, double share), void *ctx)
{
    uint32_t at = 0;

    for (double step = axes->low; step < axes->high; step += 1.0 / STEPS) {
        uint32_t begin = at;

        while (at < series->n_times && log_of(series->times_ns[at]) < step + 1.0 / STEPS)
            at++;
        draw(ctx, step + 0.5 / STEPS, (double)(at - begin) / series->n_times);
    }
}

static void find_tallest(void *ctx, double log_ns, double share)
{
    double *tallest = ctx;

    (void)log_ns;
    if (share > *tallest)
        *tallest = share;
}

static struct axes find_axes(const struct plot_series *series, uint32_t n_series)
{
    struct axes axes = {INFINITY, 0, 0};

    for (uint32_t i = 0; i < n_series; i++) {
        axes.low = fmin(axes.low, floor(log_of(series[i].times_ns[0])));
        axes.high = fmax(axes.high, log_of(series[i].times_ns[series[i].n_times - 1]));
    }
    axes.high = floor(axes.high) + 1;
    for (uint32_t i = 0; i < n_series; i++)
        for_each_bin(&series[i], &axes, find_tallest, &axes.tallest);
    return axes;
}

struct pen {
    FILE *file;
    const struct axes *axes;
};

static void draw_point(void *ctx, double log_ns, double share)
{
    const struct pen *pen = ctx;

    fprintf(pen->file, "%.1f,%.1f ", x_of(pen->axes, log_ns), y_of(pen->axes, share));
}

static void draw_series(struct pen *pen, const struct plot_series *series, uint32_t index)
{
    fprintf(pen->file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
            colors[index]);
    for_each_bin(series, pen->axes, draw_point, pen);
    fprintf(pen->file, "\"/>\n<text x=\"%d\" y=\"%u\" text-anchor=\"end\" fill=\"%s\">%s</text>\n",
            WIDTH - RIGHT, TOP + 18 * (index + 1), colors[index], series->name);
}

static void write_time(FILE *file, double log_ns)
{
    double ns = exp2(log_ns);

    if (ns < 1e3)
        fprintf(file, "%.0f ns", ns);
    else if (ns < 1e6)
        fprintf(file, "%.3g us", ns / 1e3);
    else
        fprintf(file, "%.3g ms", ns / 1e6);
}

static void draw_axes(FILE *file, const struct axes *axes)
{
    double every = ceil((axes->high - axes->low) / 8);

    for (double log_ns = axes->low; log_ns <= axes->high; log_ns += every) {
        double x = x_of(axes, log_ns);

        fprintf(file,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#d0d7de\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 20);
        write_time(file, log_ns);
        fputs("</text>\n", file);
    }
    for (int i = 0; i <= 4; i++) {
        double share = axes->tallest * i / 4;

        fprintf(file, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g %%</text>\n", LEFT - 6,
                y_of(axes, share) + 4, share * 100);
    }
}

/* What XML takes for itself is written as it wants it. */
static void write_text(FILE *file, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        default:
            fputc(*text, file);
        }
}

int plot_write(const char *path, const char *title, const struct plot_series *series,
               uint32_t n_series)
{
    FILE *file = fopen(path, "we");
    struct axes axes = find_axes(series, n_series);
    struct pen pen = {file, &axes};
    int is_bad;

    if (!file)
        return -1;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"16\">",
            WIDTH, HEIGHT, LEFT);
    write_text(file, title);
    fputs("</text>\n", file);
    draw_axes(file, &axes);
    for (uint32_t i = 0; i < n_series; i++)
        draw_series(&pen, &series[i], i);
    fputs("</svg>\n", file);
    is_bad = ferror(file);
    return fclose(file) || is_bad ? -1 : 0;
}
