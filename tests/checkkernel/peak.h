/* SPDX-License-Identifier: Apache-2.0 */
/* peak.h - the products that the CPU forms in a nanosecond, in registers
 *
 * peak.c is compiled for each instruction set. */
#ifndef NN_TESTS_CHECKKERNEL_PEAK_H
#define NN_TESTS_CHECKKERNEL_PEAK_H

#include <stdbool.h>

/* peak_measure() - float32 or 8-bit products per nanosecond with the instruction set of this name,
 * which the CPU has. Returns: 0 where it is not known: plain C is what the compiler makes of it. */
double peak_measure(const char *isa, bool is_float);

double peak_f32__avx2(void);
double peak_i8__avx2(void);
double peak_f32__avx512(void);
double peak_i8__avx512(void);
double peak_f32__vnni(void);
double peak_i8__vnni(void);

#endif
