/* SPDX-License-Identifier: Apache-2.0 */
#include "checkkernel/peak.h"

#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/common/vector-i32.h"

#include <time.h>

/* Sums that do not wait for each other; rounds that take a tenth of a millisecond or so. */
enum { SUMS = 12, ROUNDS = 20000, REPEATS = 100 };

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void multiply_f32(void)
{
    nn_vector_f32 sums[SUMS] = {0}, x = nn_splat_f32(0.5f);

    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) {
            sums[i] = nn_madd_f32(x, x, sums[i]);
            __asm__ volatile("" : "+v"(sums[i]));
        }
}

static void multiply_i8(void)
{
    nn_vector_i32 sums[SUMS] = {0}, x = nn_splat_i32(0x01010101);

    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) {
            /* Compilers must not make the products once for all sums. */
            __asm__ volatile("" : "+v"(x));
            sums[i] = nn_multiply_add(sums[i], x, x);
            __asm__ volatile("" : "+v"(sums[i]));
        }
}

static double measure(void (*fn)(void), double products)
{
    double best = 1;

    for (int i = 0; i < REPEATS; i++) {
        double begin = seconds(), took;

        fn();
        took = seconds() - begin;
        best = took < best ? took : best;
    }
    return products * SUMS * ROUNDS / (best * 1e9);
}

double NN_VARIANT_SYMBOL(peak_f32)(void)
{
    return measure(multiply_f32, NN_LANES_F32);
}

double NN_VARIANT_SYMBOL(peak_i8)(void)
{
    return measure(multiply_i8, NN_LANES_I32 * NN_SIMD_GROUP);
}
