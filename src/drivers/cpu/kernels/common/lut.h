/* SPDX-License-Identifier: Apache-2.0 */
/* lut.h - functions of one 8-bit code: 256 results, looked up
 *
 * Such a kernel's lower() fills a table of 256 bytes, indexed by the code's
 * byte (signed or not), as its weights; this is its row. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_LUT_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_LUT_H

#include "drivers/cpu/kernels/kernel.h"

#include <errno.h>

/* nn_lut_row() - output 0 is the table's byte for each byte of input 0. */
void nn_lut_row(const struct nn_kernel_args *args, const struct nn_row *row);

/* For nn_rows_run(). */
enum { NN_LUT_COST = 8 };

/* nn_lut_lower() - the table of a function from code to code, which gets ctx.
 * Returns: 0, -ENOMEM. */
int nn_lut_lower(struct nn_lower *lower, int32_t (*function)(const void *ctx, int32_t code),
                 const void *ctx);

#endif
