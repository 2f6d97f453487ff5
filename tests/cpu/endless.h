/* SPDX-License-Identifier: Apache-2.0 */
/* endless.h - a small model whose work has no end: ROI_ALIGN with 2^62 samples for a cell */
#ifndef NN_TESTS_CPU_ENDLESS_H
#define NN_TESTS_CPU_ENDLESS_H

#include "cpu/builder.h"

#include <stdbool.h>

#define ENDLESS_INPUT_BYTES  (8 * 8 * 4)
#define ENDLESS_OUTPUT_BYTES (2 * 2 * 4)

/* endless_build() - executing it has no end, or, if is_constant, folding its constants. b is
 * not initialized yet, and is to be done with. */
const struct nnhal_model *endless_build(struct builder *b, bool is_constant);

#endif
