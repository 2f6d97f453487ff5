/* SPDX-License-Identifier: Apache-2.0 */
/* labels.h - what classes are called
 *
 * The names in a file that the user gives, else those in the model's metadata, else numbers. Both
 * files come from strangers: what would steer a terminal is not printed. */
#ifndef NN_TOOLS_NNHAL_LABELS_H
#define NN_TOOLS_NNHAL_LABELS_H

#include <nnhal/tflite-info.h>

#include <stdbool.h>
#include <stddef.h>

enum { LABEL_BYTES = 128 };

struct labels {
    char **names; /* of the file, by class; NULL: none was given */
    size_t n;
    const struct nnhal_tflite_info *info; /* borrowed */
};

/* labels_read() - a line each. Returns: 0, or -1 if path cannot be read. */
int labels_read(const char *path, struct labels *labels);

void labels_done(struct labels *labels);

/* labels_are_known() - whether the classes of an output have names. */
bool labels_are_known(const struct labels *labels, uint32_t output);

/* labels_name() - the name of a class of an output, or "class N".
 * Returns: text. */
const char *labels_name(const struct labels *labels, uint32_t output, size_t class_index,
                        char text[LABEL_BYTES]);

#endif
