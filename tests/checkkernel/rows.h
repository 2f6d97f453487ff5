/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - the tables whose rows are checked, and which instruction set a row is of */
#ifndef NN_TESTS_CHECKKERNEL_ROWS_H
#define NN_TESTS_CHECKKERNEL_ROWS_H

#include "drivers/cpu/kernels/kernel.h"

/* The program's tables: those of the driver, and those that were compiled again with emulated
 * instructions (emulated/immintrin.h), none without SIMDe. Both end with NULL. */
extern const struct nn_kernel_family *const checked_families[];
extern const struct nn_kernel_family *const emulated_families[];

/* rows_isa() - the name that NNHAL_CPU_ISA has for the least that the row needs. */
const char *rows_isa(const struct nn_kernel *row);

#endif
