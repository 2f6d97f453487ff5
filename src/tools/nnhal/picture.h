/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - a picture as a model's first input
 *
 * A pixel of 0 to 255 becomes (pixel - mean) / deviation for real numbers. A model does not show which
 * mean and deviation it wants: the command line says so, or the model's metadata, or the usual ones are
 * assumed, and then the user is told. For 8 bits pixels are used as they are: the quantization of such a
 * model undoes the normalization (metadata of TensorFlow Lite say the same). */
#ifndef NN_TOOLS_NNHAL_PICTURE_H
#define NN_TOOLS_NNHAL_PICTURE_H

#include "session.h"

#include <nnhal/tflite-info.h>

struct cJSON;

/* How pixels become values; from is "options", "metadata" or "assumed", or NULL for 8 bits. */
struct picture_norm {
    const char *from;
    uint32_t n; /* 1: of all channels */
    const float *means, *deviations;
    float mean, deviation; /* of the command line; NaN: not given */
};

/* picture_choose_norm() - fills all but the last two, which the caller has set. */
void picture_choose_norm(const struct session *session, const struct nnhal_tflite_info *info,
                         struct picture_norm *norm);

/* picture_use() - fills the first input, [1, height, width, 1 or 3], with the picture at path.
 * Returns: TOOL_OK, or a status with the complaint printed. */
int picture_use(struct session *session, const struct picture_norm *norm, const char *path);

/* picture_norm_to_json() - {"from", "mean", "deviation"}; NULL for 8 bits. */
struct cJSON *picture_norm_to_json(const struct picture_norm *norm);

#endif
