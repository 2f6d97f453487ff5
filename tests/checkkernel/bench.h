/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - how fast a row is: beside what the CPU can do, and beside plain C */
#ifndef NN_TESTS_CHECKKERNEL_BENCH_H
#define NN_TESTS_CHECKKERNEL_BENCH_H

#include "drivers/cpu/kernels/kernel.h"

/* bench_print() - a line with the row's time for its typical case, on one thread; operations, 2 for
 * each product, and the share of the most that registers can do (peak.h), or where nothing is
 * multiplied bytes, and the share of copying as many; and the factor over plain C.
 * Returns: false if the row does not take the case: nothing is printed. */
bool bench_print(const struct nn_kernel *row);

#endif
