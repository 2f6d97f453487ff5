/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.h - the scores of classes made comparable, by sigmoids that a file brings along */
#ifndef NN_TFLITE_CALIBRATION_H
#define NN_TFLITE_CALIBRATION_H

#include "tflite/attachment.h"
#include "tflite/notes.h"

/* Of one class. */
struct tfl_sigmoid {
    double scale, slope, offset, min_score;
    bool is_given, has_min_score;
};

struct tfl_calibration {
    uint32_t n; /* 0: scores stay as they are */
    struct tfl_sigmoid *sigmoids;
    enum tfl_transformation transformation;
    double default_score;
};

/* tfl_calibration_parse() - a line each class: empty, or scale,slope,offset[,min_score].
 * Returns: 0, -EINVAL for another line, -ENOMEM. */
int tfl_calibration_parse(const struct tfl_note *note, const struct tfl_lines *lines,
                          struct tfl_calibration *ret_calibration);

/* tfl_calibration_apply() - the calibrated score of a class. */
double tfl_calibration_apply(const struct tfl_calibration *calibration, uint32_t class_index,
                             double score);

/* tfl_calibration_done() - frees what tfl_calibration_parse() made. */
void tfl_calibration_done(struct tfl_calibration *calibration);

#endif
