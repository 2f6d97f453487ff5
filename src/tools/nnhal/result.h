/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - what a model's outputs say, for people and as JSON
 *
 * One output with a row of scores is taken for a classification if its classes have names, if the
 * scores are probabilities, or if a picture goes in: the best classes with their scores, in per cent
 * if all are probabilities. Four outputs of the shapes [1, N, 4], [1, N], [1, N] and [1] are taken for
 * detections: boxes, classes, scores and their number. Anything else is printed as numbers. Scores are
 * calibrated where the model's metadata say how. */
#ifndef NN_TOOLS_NNHAL_RESULT_H
#define NN_TOOLS_NNHAL_RESULT_H

#include "labels.h"
#include "session.h"

struct cJSON;

struct result_options {
    uint32_t top;
    bool all_values; /* also those of large outputs, in JSON */
    struct labels labels;
};

/* image: the picture that was classified, or NULL. */
void result_print(const struct session *session, const struct result_options *options,
                  const char *image, uint64_t took_ns);
struct cJSON *result_to_json(const struct session *session, const struct result_options *options,
                             const char *image, uint64_t took_ns);

#endif
