/* SPDX-License-Identifier: Apache-2.0 */
/* endless.h - a small model that computes for as long as one likes */
#ifndef NN_TESTS_CPU_ENDLESS_H
#define NN_TESTS_CPU_ENDLESS_H

#include "cpu/builder.h"

#include <stdbool.h>

/* ratio with which the work has no end: 2^62 samples for a cell */
#define ENDLESS_RATIO        INT32_MAX
#define ENDLESS_INPUT_BYTES  (8 * 8 * 4)
#define ENDLESS_OUTPUT_BYTES (2 * 2 * 4)

/* endless_build() - ROI_ALIGN with ratio^2 samples for each of four cells: of the input, or, if
 * is_constant, of constants alone, which are folded if the ratio is at most some thousands.
 * b is not initialized yet, and is to be done with. */
const struct nnhal_model *endless_build(struct builder *b, bool is_constant, int32_t ratio);

#endif
