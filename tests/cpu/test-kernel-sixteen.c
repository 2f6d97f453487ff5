/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of 16 bits: sums that are long or do not fit, numbers that are none, every code of the
 * functions, and what is refused. Ordinary values are the oracle's affair (tests/oracle). */
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/families.h"
#include "model/ops.h"
#include "model/types.h"

#include "support/check-main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32
#define Z16 NNHAL_TENSOR_QUANT16_SYMM
#define Y8  NNHAL_TENSOR_QUANT8_SYMM
#define I32 NNHAL_TENSOR_INT32
#define I64 NN_TYPE_TENSOR_INT64

enum { N_CODES = 65536 };

static struct kernel_case c;
static int16_t all_codes[N_CODES];

static void add_codes(uint32_t n, const int16_t *codes, float scale)
{
    kernel_case_tensor(&c, Z16, 2, (uint32_t[]){1, n}, codes)->scale = scale;
}

static void add_output(float scale)
{
    kernel_case_output(&c, Z16)->scale = scale;
}

static int16_t result(size_t i)
{
    return ((const int16_t *)(const void *)c.outputs[0].data)[i];
}

static void fill_codes(void)
{
    for (int i = 0; i < N_CODES; i++)
        all_codes[i] = (int16_t)(i - 32768);
}

/* ---- sums ---- */

/* FULLY_CONNECTED of n codes of 1 unit and weights of 127, in steps of the output's scale. */
static int16_t dense(uint32_t n, int16_t code, uint32_t bias_type, const void *bias, float scale)
{
    static int16_t codes[1000];
    static int8_t weights[1000];
    int16_t got;

    for (uint32_t i = 0; i < n; i++) {
        codes[i] = code;
        weights[i] = 127;
    }
    kernel_case_init(&c, NNHAL_OP_FULLY_CONNECTED, &nn_kernels_sixteen_sums);
    add_codes(n, codes, 1);
    kernel_case_tensor(&c, Y8, 2, (uint32_t[]){1, n}, weights)->scale = 1;
    kernel_case_tensor(&c, bias_type, 1, (uint32_t[]){1}, bias)->scale = bias_type == I32 ? 1 : 0;
    kernel_case_i32(&c, NNHAL_FUSED_NONE);
    add_output(scale);
    kernel_case_run(&c);
    got = result(0);
    kernel_case_done(&c);
    return got;
}

TEST(long_sums_do_not_overflow)
{
    const int64_t none = 0;

    for (uint32_t n = 255; n <= 1000; n += 149) {
        double sum = 127.0 * 32768.0 * n;

        ck_assert_int_eq(dense(n, INT16_MIN, I64, &none, 0x1p20f), (int)floor(-sum / 0x1p20 + 0.5));
        ck_assert_int_eq(dense(n, INT16_MAX, I64, &none, 0x1p20f),
                         (int)floor((sum - 127.0 * n) / 0x1p20 + 0.5));
    }
}
TEST_END

/* A sum of 32 bits wraps, one of 64 bits is clamped; what fits neither has some code. */
TEST(the_bias_decides_how_wide_a_sum_is)
{
    const int32_t most = INT32_MAX, small = -100;
    const int64_t as_much = INT32_MAX, far = INT64_MAX;

    ck_assert_int_eq(dense(1, 1, I64, &as_much, 0x1p20f), 2048);
    ck_assert_int_eq(dense(1, 1, I32, &most, 0x1p20f), -2048);
    ck_assert_int_eq(dense(1, 1, I64, &as_much, 0x1p10f), INT16_MAX);
    ck_assert_int_eq(dense(1, 1, I32, &small, 0x1p-8f), 256 * (127 - 100));
    (void)dense(1, 1, I64, &far, 1);
}
TEST_END

/* ---- numbers that are none ---- */

TEST(infinities_and_nan_are_quantized)
{
    const float x[] = {NAN, INFINITY, -INFINITY, 1e30f, 0.5f, -0.5f, 1.5f};
    static const int16_t wanted[] = {0, INT16_MAX, INT16_MIN, INT16_MAX, 1, -1, 2};

    kernel_case_init(&c, NNHAL_OP_QUANTIZE, &nn_kernels_sixteen_elements);
    kernel_case_tensor(&c, F32, 1, (uint32_t[]){7}, x);
    add_output(1);
    kernel_case_run(&c);
    for (size_t i = 0; i < 7; i++)
        ck_assert_int_eq(result(i), wanted[i]);
    kernel_case_done(&c);
}
TEST_END

/* ---- every code ---- */

static void check_function(uint32_t operation, float scale, double (*function)(double x))
{
    kernel_case_init(&c, operation, &nn_kernels_sixteen_functions);
    add_codes(N_CODES, all_codes, scale);
    add_output(0x1p-15f);
    kernel_case_run(&c);
    for (size_t i = 0; i < N_CODES; i++) {
        double wanted = function((double)all_codes[i] * (double)scale);

        ck_assert_msg(fabs(result(i) * 0x1p-15 - wanted) < 5e-4, "%s of %d * %g is %d * 2^-15",
                      nn_op_name(operation), all_codes[i], (double)scale, result(i));
    }
    kernel_case_done(&c);
}

static double logistic(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

TEST(functions_are_near_the_real_ones)
{
    static const float scales[] = {1e-5f, 0x1p-12f, 0x1p-11f, 7e-4f, 0.5f, 5.0f};

    fill_codes();
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        check_function(NNHAL_OP_LOGISTIC, scales[i], logistic);
        check_function(NNHAL_OP_TANH, scales[i], tanh);
    }
}
TEST_END

static void compute(uint32_t operation, float scale, int16_t *ret_codes)
{
    kernel_case_init(&c, operation, &nn_kernels_sixteen_functions);
    add_codes(N_CODES, all_codes, scale);
    add_output(0x1p-15f);
    kernel_case_run(&c);
    for (size_t i = 0; i < N_CODES; i++)
        ret_codes[i] = result(i);
    kernel_case_done(&c);
}

/* Within a thousandth of the logarithm a scale is a power of two. */
TEST(near_powers_of_two_are_powers_of_two)
{
    static const struct {
        uint32_t operation;
        float power;
    } rows[] = {
        {NNHAL_OP_LOGISTIC, 0x1p-12f}, {NNHAL_OP_TANH, 0x1p-12f}, {NNHAL_OP_TANH, 0x1p-11f}};
    static int16_t wanted[N_CODES], got[N_CODES];

    fill_codes();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        compute(rows[i].operation, rows[i].power, wanted);
        compute(rows[i].operation, rows[i].power * 1.0006f, got);
        ck_assert(memcmp(got, wanted, sizeof(got)) == 0);
        compute(rows[i].operation, rows[i].power * 0.9994f, got);
        ck_assert(memcmp(got, wanted, sizeof(got)) == 0);
        compute(rows[i].operation, rows[i].power * 1.0008f, got);
        ck_assert(memcmp(got, wanted, sizeof(got)) != 0);
    }
}
TEST_END

TEST(equal_scores_share_the_whole)
{
    int16_t scores[5];

    for (uint32_t n = 1; n <= 5; n++) {
        for (uint32_t i = 0; i < n; i++)
            scores[i] = INT16_MIN;
        kernel_case_init(&c, NNHAL_OP_SOFTMAX, &nn_kernels_sixteen_functions);
        add_codes(n, scores, 0.001f);
        kernel_case_f32(&c, 1);
        add_output(0x1p-15f);
        kernel_case_run(&c);
        for (uint32_t i = 0; i < n; i++)
            ck_assert_int_le(abs(result(i) - 32768 / (int)n), 4);
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- what is refused ---- */

static void expect_refused(const char *why)
{
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
    ck_assert_msg(strstr(c.why, why), "%s", c.why);
    kernel_case_done(&c);
}

static void begin(uint32_t operation, const struct nn_kernel_family *family, float scale)
{
    kernel_case_init(&c, operation, family);
    add_codes(1, all_codes, scale);
}

TEST(scales_out_of_reach_are_refused)
{
    const int8_t weight = 1;
    const int64_t bias = 0;

    begin(NNHAL_OP_ADD, &nn_kernels_sixteen_elements, 1);
    add_codes(1, all_codes, 1);
    kernel_case_i32(&c, NNHAL_FUSED_NONE);
    add_output(1e-5f);
    expect_refused("the output's scale is too small");
    begin(NNHAL_OP_FULLY_CONNECTED, &nn_kernels_sixteen_sums, 1);
    kernel_case_tensor(&c, Y8, 2, (uint32_t[]){1, 1}, &weight)->scale = 1;
    kernel_case_tensor(&c, I64, 1, (uint32_t[]){1}, &bias);
    kernel_case_i32(&c, NNHAL_FUSED_NONE);
    add_output(0x1p-9f);
    expect_refused("the output's scale is too small");
    begin(NNHAL_OP_LOGISTIC, &nn_kernels_sixteen_functions, 6);
    add_output(0x1p-15f);
    expect_refused("the input's scale 6 is too large");
    begin(NNHAL_OP_TANH, &nn_kernels_sixteen_functions, 1e-20f);
    add_output(0x1p-15f);
    expect_refused("is too small");
    begin(NN_TFLITE_OP(LEAKY_RELU), &nn_kernels_sixteen_elements, 1);
    kernel_case_f32(&c, -0.5f);
    add_output(1);
    expect_refused("the slope -0.5 is below 0");
}
TEST_END

TEST(long_rows_are_refused)
{
    static int16_t codes[65537];

    kernel_case_init(&c, NNHAL_OP_SOFTMAX, &nn_kernels_sixteen_functions);
    add_codes(65537, codes, 0.001f);
    kernel_case_f32(&c, 1);
    add_output(0x1p-15f);
    expect_refused("rows of 65537 elements");
}
TEST_END

CHECK_MAIN("kernel-sixteen", long_sums_do_not_overflow, the_bias_decides_how_wide_a_sum_is,
           infinities_and_nan_are_quantized, functions_are_near_the_real_ones,
           near_powers_of_two_are_powers_of_two, equal_scores_share_the_whole,
           scales_out_of_reach_are_refused, long_rows_are_refused)
