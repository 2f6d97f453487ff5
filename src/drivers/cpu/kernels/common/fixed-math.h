/* SPDX-License-Identifier: Apache-2.0 */
/* fixed-math.h - fixed-point functions of the reference: exponential, logistic, tanh
 *
 * Numbers Qn are int32 with n integer bits and 31 - n fraction bits. TensorFlow
 * Lite computes its quantized LOGISTIC, TANH, SOFTMAX and L2_NORMALIZATION in
 * these forms; results are equal bit for bit. Used to fill tables and once per
 * slice, so they need not be fast. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_FIXED_MATH_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_FIXED_MATH_H

#include "drivers/cpu/kernels/common/fixed-point.h"

/* nn_fx_exp() - e^a for a <= 0 in Qn, n = integer_bits (at most 5): Q0. */
int32_t nn_fx_exp(int32_t a, int integer_bits);

/* nn_fx_reciprocal() - 1 / (1 + a) for a in [0, 1) in Q0: Q0. */
int32_t nn_fx_reciprocal(int32_t a);

/* nn_fx_logistic(), nn_fx_tanh() - of a in Q4: Q0. */
int32_t nn_fx_logistic(int32_t a);
int32_t nn_fx_tanh(int32_t a);

/* nn_fx_radius() - the largest difference of codes that does not saturate
 * when shifted left and read as a number with these integer bits. */
int32_t nn_fx_radius(int integer_bits, int left_shift);

/* nn_fx_inverse_sqrt() - 1 / sqrt(sum) as a mantissa and a right shift; sum <= 1 is 1. */
void nn_fx_inverse_sqrt(int64_t sum, int32_t *ret_mantissa, int *ret_right_shift);

#endif
