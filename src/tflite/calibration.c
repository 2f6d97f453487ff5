/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/calibration.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

/* What a logarithm is taken of at least: scores of 0 and 1 stay finite. */
static const double LEAST = 1e-16;

/* Numbers of a file have a point in every language of the application. Returns how many stand in
 * line, or -1 if it holds anything else. */
static int read_numbers(const char *line, locale_t plain, double values[4])
{
    int n = 0;

    if (!*line)
        return 0;
    for (;;) {
        char *end;

        if (n == 4)
            return -1;
        values[n++] = strtod_l(line, &end, plain);
        if (end == line)
            return -1;
        if (!*end)
            return n;
        if (*end != ',')
            return -1;
        line = end + 1;
    }
}

static int read_sigmoid(const char *line, locale_t plain, struct tfl_sigmoid *sigmoid)
{
    double values[4];
    int n = read_numbers(line, plain, values);

    if (n == 0)
        return 0;
    if (n < 3)
        return -EINVAL;
    *sigmoid = (struct tfl_sigmoid){
        .scale = values[0],
        .slope = values[1],
        .offset = values[2],
        .min_score = n == 4 ? values[3] : 0,
        .is_given = true,
        .has_min_score = n == 4,
    };
    return 0;
}

int tfl_calibration_parse(const struct tfl_note *note, const struct tfl_lines *lines,
                          struct tfl_calibration *ret_calibration)
{
    struct tfl_calibration calibration = {
        .n = lines->n,
        .sigmoids = calloc(lines->n, sizeof(*calibration.sigmoids)),
        .transformation = note->transformation,
        .default_score = (double)note->default_score,
    };
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    int r = calibration.sigmoids && plain ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < lines->n && !r; i++)
        r = read_sigmoid(lines->lines[i], plain, &calibration.sigmoids[i]);
    if (plain)
        freelocale(plain);
    if (r)
        tfl_calibration_done(&calibration);
    else
        *ret_calibration = calibration;
    return r;
}

static double transform(enum tfl_transformation transformation, double score)
{
    switch (transformation) {
    case TFL_LOG:
        return log(fmax(score, LEAST));
    case TFL_INVERSE_LOGISTIC:
        return log(fmax(score, LEAST)) - log(fmax(1 - score, LEAST));
    default:
        return score;
    }
}

double tfl_calibration_apply(const struct tfl_calibration *calibration, uint32_t class_index,
                             double score)
{
    const struct tfl_sigmoid *sigmoid;

    if (!calibration->n)
        return score;
    if (class_index >= calibration->n)
        return calibration->default_score;
    sigmoid = &calibration->sigmoids[class_index];
    if (!sigmoid->is_given || (sigmoid->has_min_score && score < sigmoid->min_score))
        return calibration->default_score;
    return sigmoid->scale /
           (1 + exp(-(sigmoid->slope * transform(calibration->transformation, score) +
                      sigmoid->offset)));
}

void tfl_calibration_done(struct tfl_calibration *calibration)
{
    free(calibration->sigmoids);
    *calibration = (struct tfl_calibration){0};
}
