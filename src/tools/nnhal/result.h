/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - what a model's outputs say, for people and as JSON
 *
 * One output with a row of scores is taken for a classification: the best
 * classes with their scores, in per cent if all are probabilities. Four outputs of the shapes [1, N, 4], [1, N],
 * [1, N] and [1] are taken for detections: boxes, classes, scores and their
 * number. Anything else is printed as numbers. */
#ifndef NN_TOOLS_NNHAL_RESULT_H
#define NN_TOOLS_NNHAL_RESULT_H

#include "session.h"

struct cJSON;

struct result_options {
    uint32_t top;
    char **labels; /* by class; NULL: numbers */
    size_t n_labels;
};

/* result_read_labels() - a line each. Returns: 0, or -1 if path cannot be read. */
int result_read_labels(const char *path, struct result_options *options);
void result_done(struct result_options *options);

/* image: the picture that was classified, or NULL. */
void result_print(const struct session *session, const struct result_options *options,
                  const char *image, uint64_t took_ns);
struct cJSON *result_to_json(const struct session *session, const struct result_options *options,
                             const char *image, uint64_t took_ns);

#endif
