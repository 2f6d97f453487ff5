/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed-point functions are held against the real ones for every input, and
 * the cells against a float cell of the same weights. */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/quantized-lstm/fixed16.h"

#include "support/check-main.h"

#include <math.h>
#include <string.h>

static struct kernel_case c;

TEST(logistic_of_every_code)
{
    int16_t last = 0;

    for (int32_t x = INT16_MIN; x <= INT16_MAX; x++) {
        int16_t y = nn_logistic16((int16_t)x);
        double wanted = 32768.0 / (1.0 + exp(-x / 4096.0));

        ck_assert(fabs(y - wanted) <= 16.0);
        ck_assert(y >= last - 16 && y >= 0);
        last = y;
    }
    ck_assert_int_eq(nn_logistic16(0), 16384);
}
TEST_END

TEST(tanh_of_every_code_and_scale)
{
    for (int bits = 0; bits <= 6; bits++)
        for (int32_t x = INT16_MIN; x <= INT16_MAX; x++) {
            int16_t y = nn_tanh16((int16_t)x, bits);
            double wanted = 32768.0 * tanh(ldexp(x, bits - 15));

            if (!(fabs(y - wanted) <= 32.0))
                ck_abort_msg("tanh of %d with %d bits is %d, not %g", x, bits, y, wanted);
        }
}
TEST_END

TEST(products_and_shifts_round_half_away_from_zero)
{
    ck_assert_int_eq(nn_mul16(INT16_MIN, INT16_MIN), INT16_MAX);
    ck_assert_int_eq(nn_mul16(16384, 3), 2);
    ck_assert_int_eq(nn_mul16(16384, -3), -1); /* the half of a negative product is cut */
    ck_assert_int_eq(nn_mul16(16384, -5), -2);
    ck_assert_int_eq((int)nn_rdp64(6, 2), 2);
    ck_assert_int_eq((int)nn_rdp64(-6, 2), -2);
    ck_assert_int_eq((int)nn_rdp64(-5, 2), -1);
    ck_assert_int_eq(nn_shl16(16384, 1), INT16_MAX);
    ck_assert_int_eq(nn_shl16(-16384, 1), INT16_MIN);
    ck_assert_int_eq(nn_shl16(-5, 2), -20);
}
TEST_END

static void add(uint32_t type, uint32_t rank, const uint32_t *dims, float scale, int32_t zero_point,
                int32_t range, uint64_t *seed)
{
    uint64_t n = 1;
    int32_t words[64];
    uint8_t bytes[256];

    for (uint32_t d = 0; d < rank; d++)
        n *= dims[d];
    ck_assert_uint_le(n, 64);
    for (uint64_t i = 0; i < n; i++) {
        words[i] = (int32_t)kernel_case_below(seed, 2 * (uint32_t)range + 1) - range;
        if (type == NNHAL_TENSOR_QUANT8_ASYMM)
            words[i] += 128;
        if (type == NNHAL_TENSOR_INT32)
            memcpy(bytes + 4 * i, &words[i], 4);
        else if (type == NNHAL_TENSOR_QUANT16_SYMM)
            memcpy(bytes + 2 * i, &words[i], 2);
        else
            memcpy(bytes + i, &words[i], 1);
    }
    struct kernel_operand *operand = kernel_case_tensor(&c, type, rank, dims, bytes);

    operand->scale = scale;
    operand->zero_point = zero_point;
}

#define ADD(type, scale, zero_point, range, ...)                                                   \
    add(NNHAL_TENSOR_##type, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__},     \
        (scale), (zero_point), (range), &seed)

static double in(uint32_t input, size_t i)
{
    const struct kernel_operand *operand = &c.inputs[input];
    double scale = operand->type == NNHAL_TENSOR_INT32 ? (double)operand->scale : 1.0;

    return kernel_case_real(operand, i) * scale;
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

TEST(lstm16_is_near_a_float_cell)
{
    const float scale = 0.008f;
    const uint32_t n = 4; /* inputs and outputs: then the pairing of weights is that of sizes */

    for (uint64_t s = 0; s < 40; s++) {
        uint64_t seed = s;

        kernel_case_init(&c, NNHAL_OP_QUANTIZED_16BIT_LSTM, &nn_kernels_quantized_16bit_lstm);
        ADD(QUANT8_ASYMM, 1.0f / 128, 128, 127, 2, n);
        for (int i = 0; i < 8; i++)
            ADD(QUANT8_ASYMM, scale, 120, 127, n, n);
        for (int i = 0; i < 4; i++)
            ADD(INT32, scale / 128, 0, 9000, n);
        ADD(QUANT16_SYMM, 1.0f / 2048, 0, 3000, 2, n);
        ADD(QUANT8_ASYMM, 1.0f / 128, 128, 127, 2, n);
        kernel_case_output(&c, NNHAL_TENSOR_QUANT16_SYMM)->scale = 1.0f / 2048;
        kernel_case_output(&c, NNHAL_TENSOR_QUANT8_ASYMM)->scale = 1.0f / 128;
        c.outputs[1].zero_point = 128;
        kernel_case_run(&c);
        for (size_t b = 0; b < 2; b++)
            for (size_t u = 0; u < n; u++) {
                double z[4], state;

                for (uint32_t k = 0; k < 4; k++) {
                    z[k] = in(9 + k, u);
                    /* Recurrent weights meet the input, and the other way round. */
                    for (size_t i = 0; i < n; i++)
                        z[k] += in(5 + k, u * n + i) * in(0, b * n + i) +
                                in(1 + k, u * n + i) * in(14, b * n + i);
                }
                state = sigmoid(z[1]) * in(13, b * n + u) + sigmoid(z[0]) * tanh(z[2]);
                ck_assert(fabs(kernel_case_real(&c.outputs[0], b * n + u) - state) < 0.01);
                ck_assert(fabs(kernel_case_real(&c.outputs[1], b * n + u) -
                               sigmoid(z[3]) * tanh(state)) < 0.012);
            }
        kernel_case_done(&c);
    }
}
TEST_END

/* QUANTIZED_LSTM without normalization, projection and clipping; biases have the scale of the
 * first product. */
static void quantized_lstm(bool is_coupled, uint64_t *ret_seed)
{
    const float x_scale = 1.0f / 64, h_scale = 1.0f / 128, weight = 0.01f;
    uint64_t seed = *ret_seed;

    kernel_case_init(&c, NNHAL_OP_QUANTIZED_LSTM, &nn_kernels_quantized_lstm);
    ADD(QUANT8_ASYMM_SIGNED, x_scale, 3, 100, 2, 3);
    for (int group = 0; group < 2; group++)
        for (int k = 0; k < 4; k++) {
            if (is_coupled && k == 0)
                kernel_case_omit(&c, NNHAL_TENSOR_QUANT8_SYMM);
            else if (group == 0)
                ADD(QUANT8_SYMM, weight, 0, 127, 4, 3);
            else
                ADD(QUANT8_SYMM, weight, 0, 127, 4, 4);
        }
    for (int k = 0; k < 3; k++)
        kernel_case_omit(&c, NNHAL_TENSOR_QUANT16_SYMM);
    for (int k = 0; k < 4; k++) {
        if (is_coupled && k == 0)
            kernel_case_omit(&c, NNHAL_TENSOR_INT32);
        else
            ADD(INT32, weight * x_scale, 0, 3000, 4);
    }
    kernel_case_omit(&c, NNHAL_TENSOR_QUANT8_SYMM);
    kernel_case_omit(&c, NNHAL_TENSOR_INT32);
    ADD(QUANT8_ASYMM_SIGNED, h_scale, 0, 100, 2, 4);
    ADD(QUANT16_SYMM, 1.0f / 2048, 0, 2000, 2, 4);
    for (int k = 0; k < 4; k++)
        kernel_case_omit(&c, NNHAL_TENSOR_QUANT16_SYMM);
    kernel_case_f32(&c, 0.0f);
    kernel_case_omit(&c, NNHAL_FLOAT32);
    for (int k = 0; k < 4; k++)
        kernel_case_f32(&c, 1.0f / 4096); /* Q3.12 */
    kernel_case_i32(&c, 0);
    kernel_case_f32(&c, h_scale);
    kernel_case_output(&c, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED)->scale = h_scale;
    kernel_case_output(&c, NNHAL_TENSOR_QUANT16_SYMM)->scale = 1.0f / 2048;
    kernel_case_output(&c, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED)->scale = h_scale;
    kernel_case_run(&c);
    *ret_seed = seed;
}

TEST(quantized_lstm_is_near_a_float_cell)
{
    uint64_t seed = 9;

    for (int i = 0; i < 40; i++) {
        bool is_coupled = i % 2;

        quantized_lstm(is_coupled, &seed);
        for (size_t b = 0; b < 2; b++)
            for (size_t u = 0; u < 4; u++) {
                double z[4], keep, take, state;

                for (uint32_t k = is_coupled; k < 4; k++) {
                    z[k] = in(12 + k, u);
                    for (size_t n = 0; n < 3; n++)
                        z[k] += in(1 + k, u * 3 + n) * in(0, b * 3 + n);
                    for (size_t n = 0; n < 4; n++)
                        z[k] += in(5 + k, u * 4 + n) * in(18, b * 4 + n);
                }
                keep = sigmoid(z[1]);
                take = is_coupled ? 1.0 - keep : sigmoid(z[0]);
                state = keep * in(19, b * 4 + u) + take * tanh(z[2]);
                ck_assert(fabs(kernel_case_real(&c.outputs[1], b * 4 + u) - state) < 0.005);
                ck_assert(fabs(kernel_case_real(&c.outputs[2], b * 4 + u) -
                               sigmoid(z[3]) * tanh(state)) < 0.01);
            }
        ck_assert_int_eq(memcmp(c.outputs[0].data, c.outputs[2].data, c.outputs[0].size), 0);
        kernel_case_done(&c);
    }
}
TEST_END

CHECK_MAIN("kernel-quantized-lstm", logistic_of_every_code, tanh_of_every_code_and_scale,
           products_and_shifts_round_half_away_from_zero, lstm16_is_near_a_float_cell,
           quantized_lstm_is_near_a_float_cell)
