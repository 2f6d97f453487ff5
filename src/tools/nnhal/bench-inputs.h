/* SPDX-License-Identifier: Apache-2.0 */
/* bench-inputs.h - what nnhal bench executes a model on */
#ifndef NN_TOOLS_NNHAL_BENCH_INPUTS_H
#define NN_TOOLS_NNHAL_BENCH_INPUTS_H

#include "session.h"

/* bench_fill_inputs() - "random": floats in [0, 1), bytes of all values, all from one seed, and
 * zeros in integers of more bits, which may be indexes; "zeros"; or a file with the bytes of all
 * inputs, one behind the other.
 * Returns: TOOL_OK, or a status with the complaint printed. */
int bench_fill_inputs(struct session *session, const char *what);

#endif
