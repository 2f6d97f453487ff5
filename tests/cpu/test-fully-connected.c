/* SPDX-License-Identifier: Apache-2.0 */
/* FULLY_CONNECTED against double and exact references on random shapes. */
#include "cpu/builder.h"
#include "support/check-main.h"

#include "drivers/cpu/kernels/common/fixed-point.h"

#include <math.h>
#include <string.h>

enum { MAX = 4096 };

struct shape {
    uint32_t batch, units, depth;
};

static struct shape random_shape(uint32_t *seed)
{
    return (struct shape){(uint32_t)builder_random_int(seed, 1, 9),
                          (uint32_t)builder_random_int(seed, 1, 40),
                          (uint32_t)builder_random_int(seed, 1, 50)};
}

static void run_model(struct builder *b, uint32_t n_inputs, const void *const *data,
                      const size_t *sizes, void *out, size_t out_bytes)
{
    void *prepared = builder_prepare(b);
    struct builder_run run;
    uint32_t status;

    builder_run_init(&run, b);
    for (uint32_t i = 0; i < n_inputs; i++)
        builder_run_input(&run, i, data[i], sizes[i]);
    builder_run_output(&run, 0, out, out_bytes);
    status = b->driver->execute(prepared, &run.execution);
    ck_assert_msg(status == NNHAL_NONE, "execute: %u (%s)", status, b->why);
    b->driver->release(prepared);
}

/* Weights are constants in one half of the cases and inputs in the other. */
static void try_float(uint32_t *seed, int is_constant, unsigned n_threads)
{
    static float in[MAX], weights[MAX], bias[64], out[MAX];
    struct shape s = random_shape(seed);
    uint32_t in_dims[] = {s.batch, s.depth}, w_dims[] = {s.units, s.depth};
    uint32_t out_dims[] = {s.batch, s.units}, operands[4], output;
    const void *data[] = {in, weights, bias};
    size_t sizes[] = {s.batch * s.depth * 4, s.units * s.depth * 4, s.units * 4};
    struct builder b;

    for (uint32_t i = 0; i < MAX; i++) {
        in[i] = builder_random_float(seed, -2, 2);
        weights[i] = builder_random_float(seed, -2, 2);
        bias[i % 64] = builder_random_float(seed, -2, 2);
    }
    builder_init(&b, n_threads);
    operands[0] = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 2, in_dims, 0, 0);
    if (is_constant) {
        operands[1] = builder_constant(&b, 0, NNHAL_TENSOR_FLOAT32, 2, w_dims, 0, 0, weights,
                                       sizes[1], 1);
        operands[2] = builder_constant(&b, 0, NNHAL_TENSOR_FLOAT32, 1, &s.units, 0, 0, bias,
                                       sizes[2], 0);
    } else {
        operands[1] = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 2, w_dims, 0, 0);
        operands[2] = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 1, &s.units, 0, 0);
    }
    operands[3] = builder_i32(&b, 0, NNHAL_FUSED_RELU);
    output = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 2, out_dims, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_FULLY_CONNECTED, 4, operands, 1, &output);
    run_model(&b, is_constant ? 1 : 3, data, sizes, out, s.batch * s.units * 4);
    for (uint32_t n = 0; n < s.batch; n++) {
        for (uint32_t u = 0; u < s.units; u++) {
            double sum = bias[u], got = out[n * s.units + u];

            for (uint32_t i = 0; i < s.depth; i++)
                sum += (double)in[n * s.depth + i] * weights[u * s.depth + i];
            ck_assert_double_le(fabs(got - fmax(sum, 0)), 1e-4);
        }
    }
    builder_done(&b);
}

TEST(float_is_close_to_double)
{
    uint32_t seed = 1;

    for (int i = 0; i < 60; i++)
        try_float(&seed, i % 2, 1 + (unsigned)i % 3);
}
TEST_END

static void try_quantized(uint32_t *seed, int is_signed, int is_constant)
{
    static uint8_t in[MAX], weights[MAX], out[MAX];
    static int32_t bias[64];
    struct shape s = random_shape(seed);
    uint32_t type = is_signed ? NNHAL_TENSOR_QUANT8_ASYMM_SIGNED : NNHAL_TENSOR_QUANT8_ASYMM;
    uint32_t in_dims[] = {s.batch, s.depth}, w_dims[] = {s.units, s.depth};
    uint32_t out_dims[] = {s.batch, s.units}, operands[4], output;
    const void *data[] = {in, weights, bias};
    size_t sizes[] = {s.batch * s.depth, s.units * s.depth, s.units * 4};
    int32_t base = is_signed ? -128 : 0;
    int32_t zx = builder_random_int(seed, 0, 255) + base,
            zw = builder_random_int(seed, 0, 255) + base;
    int32_t zo = builder_random_int(seed, 0, 255) + base;
    float sx = 0.02f, sw = 0.5f, so = builder_random_float(seed, 0.5f, 3);
    struct nn_multiplier m = nn_multiplier_make((double)(sx * sw) / (double)so);
    struct builder b;

    for (uint32_t i = 0; i < MAX; i++) {
        in[i] = (uint8_t)builder_random(seed);
        weights[i] = (uint8_t)builder_random(seed);
        bias[i % 64] = builder_random_int(seed, -20000, 20000);
    }
    builder_init(&b, 2);
    operands[0] = builder_input(&b, 0, type, 2, in_dims, sx, zx);
    if (is_constant) {
        operands[1] = builder_constant(&b, 0, type, 2, w_dims, sw, zw, weights, sizes[1], 1);
        operands[2] = builder_constant(&b, 0, NNHAL_TENSOR_INT32, 1, &s.units, sx * sw, 0, bias,
                                       sizes[2], 0);
    } else {
        operands[1] = builder_input(&b, 0, type, 2, w_dims, sw, zw);
        operands[2] = builder_input(&b, 0, NNHAL_TENSOR_INT32, 1, &s.units, sx * sw, 0);
    }
    operands[3] = builder_i32(&b, 0, NNHAL_FUSED_NONE);
    output = builder_output(&b, 0, type, 2, out_dims, so, zo);
    builder_operation(&b, 0, NNHAL_OP_FULLY_CONNECTED, 4, operands, 1, &output);
    run_model(&b, is_constant ? 1 : 3, data, sizes, out, s.batch * s.units);
    for (uint32_t n = 0; n < s.batch; n++) {
        for (uint32_t u = 0; u < s.units; u++) {
            int32_t sum = bias[u], want, got = out[n * s.units + u];

            for (uint32_t i = 0; i < s.depth; i++) {
                int32_t x = in[n * s.depth + i], w = weights[u * s.depth + i];

                sum += ((is_signed ? (int8_t)x : x) - zx) * ((is_signed ? (int8_t)w : w) - zw);
            }
            want = is_signed ? nn_multiplier_apply_once(sum, m) : nn_multiplier_apply(sum, m);
            want = nn_clamp_i32(want + zo, base, base + 255);
            ck_assert_int_eq(is_signed ? (int8_t)got : got, want);
        }
    }
    builder_done(&b);
}

TEST(quantized_is_exact)
{
    uint32_t seed = 2;

    for (int i = 0; i < 80; i++)
        try_quantized(&seed, i % 2, i / 2 % 2);
}
TEST_END

CHECK_MAIN("fully-connected", float_is_close_to_double, quantized_is_exact)
