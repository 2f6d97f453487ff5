/* SPDX-License-Identifier: Apache-2.0 */
/* Large broadcasts against a loop over indices; ends of integers, NaNs and
 * infinities; every code of the 8-bit functions. Ordinary values of all types are the
 * oracle's affair (tests/oracle). */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "model/types.h"

#include "support/check-main.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32
#define F16 NNHAL_TENSOR_FLOAT16
#define I32 NNHAL_TENSOR_INT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED
#define B8  NNHAL_TENSOR_BOOL8

static struct kernel_case c;

/* ---- broadcast ---- */

static double expected(uint32_t operation, float a, float b)
{
    switch (operation) {
    case NNHAL_OP_ADD:
        return (double)(a + b);
    case NNHAL_OP_SUB:
        return (double)(a - b);
    case NNHAL_OP_MUL:
        return (double)(a * b);
    case NNHAL_OP_MAXIMUM:
        return (double)(a < b ? b : a);
    default:
        return a < b;
    }
}

/* Element i of the output comes from this element of an operand. */
static size_t source_of(const struct kernel_operand *out, const struct kernel_operand *in, size_t i)
{
    size_t at = 0, stride = 1;

    for (uint32_t d = 0; d < out->n_dims; d++) {
        size_t dim = out->dims[out->n_dims - 1 - d];

        if (d < in->n_dims && in->dims[in->n_dims - 1 - d] != 1)
            at += i % dim * stride;
        if (d < in->n_dims)
            stride *= in->dims[in->n_dims - 1 - d];
        i /= dim;
    }
    return at;
}

static void check_broadcast(uint32_t operation, const struct nn_kernel_family *family,
                            uint32_t type, uint32_t n_a, const uint32_t *a, uint32_t n_b,
                            const uint32_t *b)
{
    uint64_t seed = operation + type, n;
    void *elements[2];
    bool is_comparison = operation == NNHAL_OP_LESS;

    kernel_case_init(&c, operation, family);
    ck_assert(nn_dims_product(n_a, a, &n));
    elements[0] = kernel_case_random(type, n, &seed);
    ck_assert(nn_dims_product(n_b, b, &n));
    elements[1] = kernel_case_random(type, n, &seed);
    kernel_case_tensor(&c, type, n_a, a, elements[0]);
    kernel_case_tensor(&c, type, n_b, b, elements[1]);
    if (!is_comparison && operation != NNHAL_OP_MAXIMUM)
        kernel_case_i32(&c, 0);
    kernel_case_output(&c, is_comparison ? B8 : type);
    kernel_case_run(&c);
    for (size_t i = 0; i < kernel_case_count(&c.outputs[0]); i++) {
        float x = (float)kernel_case_real(&c.inputs[0], source_of(&c.outputs[0], &c.inputs[0], i));
        float y = (float)kernel_case_real(&c.inputs[1], source_of(&c.outputs[0], &c.inputs[1], i));
        float wanted = (float)expected(operation, x, y);

        if (type == F16 && !is_comparison)
            wanted = nn_f16_to_f32(nn_f32_to_f16(wanted));
        if ((float)kernel_case_real(&c.outputs[0], i) != wanted)
            ck_abort_msg("operation %u type %u element %zu", operation, type, i);
    }
    free(elements[0]);
    free(elements[1]);
    kernel_case_done(&c);
}

#define SHAPE(...)                                                                                 \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[])                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void check_shapes(uint32_t operation, const struct nn_kernel_family *family, uint32_t type)
{
    check_broadcast(operation, family, type, SHAPE(5000), SHAPE(5000));
    check_broadcast(operation, family, type, SHAPE(1), SHAPE(2500));
    check_broadcast(operation, family, type, SHAPE(7, 1, 700), SHAPE(1, 700));
    check_broadcast(operation, family, type, SHAPE(3, 700, 5), SHAPE(3, 1, 5));
    check_broadcast(operation, family, type, SHAPE(700, 1, 3), SHAPE(2, 1, 5, 1));
    check_broadcast(operation, family, type, SHAPE(1, 1), SHAPE(1));
    check_broadcast(operation, family, type, SHAPE(1500, 1), SHAPE(1, 3));
}

TEST(broadcasts_of_all_kinds)
{
    static const uint32_t operations[] = {NNHAL_OP_ADD, NNHAL_OP_SUB, NNHAL_OP_MUL,
                                          NNHAL_OP_MAXIMUM};
    static const uint32_t types[] = {F32, F16};

    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 2; k++)
            check_shapes(operations[i], &nn_kernels_elementwise, types[k]);
    }
    for (size_t k = 0; k < 2; k++)
        check_shapes(NNHAL_OP_LESS, &nn_kernels_comparison, types[k]);
    check_shapes(NNHAL_OP_LESS, &nn_kernels_comparison, I32);
    check_shapes(NNHAL_OP_LESS, &nn_kernels_comparison, Q8S);
    check_shapes(NNHAL_OP_MAXIMUM, &nn_kernels_elementwise, I32);
}
TEST_END

/* ---- ends ---- */

static void run_pair(uint32_t operation, const struct nn_kernel_family *family, uint32_t type,
                     uint32_t n, const void *a, const void *b, uint32_t out_type)
{
    bool has_activation = operation == NNHAL_OP_ADD || operation == NNHAL_OP_SUB ||
                          operation == NNHAL_OP_MUL || operation == NNHAL_OP_DIV;

    kernel_case_init(&c, operation, family);
    kernel_case_tensor(&c, type, 1, &n, a);
    kernel_case_tensor(&c, type, 1, &n, b);
    if (has_activation)
        kernel_case_i32(&c, 0);
    kernel_case_output(&c, out_type);
    kernel_case_run(&c);
}

static void expect_i32s(uint32_t operation, uint32_t n, const int32_t *a, const int32_t *b,
                        const int32_t *wanted)
{
    run_pair(operation, &nn_kernels_elementwise, I32, n, a, b, I32);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_eq(((const int32_t *)(const void *)c.outputs[0].data)[i], wanted[i]);
    kernel_case_done(&c);
}

TEST(integers_wrap_and_divide_down)
{
    const int32_t a[] = {INT32_MAX, INT32_MIN, 65536, 7};
    const int32_t b[] = {1, -1, 65536, -2};
    const int32_t x[] = {7, -7, 7, -7, INT32_MIN, 5, INT32_MIN, 6};
    const int32_t y[] = {2, 2, -2, -2, -1, 0, 2, 3};

    expect_i32s(NNHAL_OP_ADD, 4, a, b, (const int32_t[]){INT32_MIN, INT32_MAX, 131072, 5});
    expect_i32s(NNHAL_OP_SUB, 4, a, b, (const int32_t[]){INT32_MAX - 1, INT32_MIN + 1, 0, 9});
    expect_i32s(NNHAL_OP_MUL, 4, a, b, (const int32_t[]){INT32_MAX, INT32_MIN, 0, -14});
    expect_i32s(NNHAL_OP_DIV, 8, x, y,
                (const int32_t[]){3, -4, -4, 3, INT32_MIN, 0, -1073741824, 2});
}
TEST_END

static void run_one(uint32_t operation, const struct nn_kernel_family *family, uint32_t type,
                    uint32_t n, const void *elements, uint32_t out_type)
{
    kernel_case_init(&c, operation, family);
    kernel_case_tensor(&c, type, 1, &n, elements);
    kernel_case_output(&c, out_type);
    kernel_case_run(&c);
}

TEST(the_least_integer_has_no_magnitude)
{
    const int32_t values[] = {INT32_MIN, -5, 0, INT32_MAX};
    const int32_t *out;

    run_one(NNHAL_OP_ABS, &nn_kernels_unary, I32, 4, values, I32);
    out = (const int32_t *)(const void *)c.outputs[0].data;
    ck_assert(out[0] == INT32_MIN && out[1] == 5 && out[2] == 0 && out[3] == INT32_MAX);
    kernel_case_done(&c);
    run_one(NNHAL_OP_NEG, &nn_kernels_unary, I32, 4, values, I32);
    out = (const int32_t *)(const void *)c.outputs[0].data;
    ck_assert(out[0] == INT32_MIN && out[1] == 5 && out[2] == 0 && out[3] == -INT32_MAX);
    kernel_case_done(&c);
}
TEST_END

TEST(comparisons_with_a_nan_are_false)
{
    const float a[] = {NAN, 1.0f, NAN, INFINITY};
    const float b[] = {1.0f, NAN, NAN, INFINITY};
    static const struct {
        uint32_t operation;
        uint8_t wanted[4];
    } rows[] = {
        {NNHAL_OP_EQUAL, {0, 0, 0, 1}},         {NNHAL_OP_NOT_EQUAL, {1, 1, 1, 0}},
        {NNHAL_OP_LESS, {0, 0, 0, 0}},          {NNHAL_OP_LESS_EQUAL, {0, 0, 0, 1}},
        {NNHAL_OP_GREATER_EQUAL, {0, 0, 0, 1}}, {NNHAL_OP_GREATER, {0, 0, 0, 0}},
    };

    for (size_t i = 0; i < 6; i++) {
        run_pair(rows[i].operation, &nn_kernels_comparison, F32, 4, a, b, B8);
        ck_assert_mem_eq(c.outputs[0].data, rows[i].wanted, 4);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(maximum_keeps_a_nan_of_its_first_operand)
{
    const float a[] = {NAN, 1.0f, -INFINITY};
    const float b[] = {1.0f, NAN, -FLT_MAX};
    const float *out;

    run_pair(NNHAL_OP_MAXIMUM, &nn_kernels_elementwise, F32, 3, a, b, F32);
    out = (const float *)(const void *)c.outputs[0].data;
    ck_assert(isnan(out[0]) && out[1] == 1.0f && out[2] == -FLT_MAX);
    kernel_case_done(&c);
}
TEST_END

TEST(division_by_zero_does_no_harm)
{
    const float a[] = {1.0f, -1.0f, 0.0f};
    const float b[] = {0.0f, 0.0f, 0.0f};
    const float *out;

    run_pair(NNHAL_OP_DIV, &nn_kernels_elementwise, F32, 3, a, b, F32);
    out = (const float *)(const void *)c.outputs[0].data;
    ck_assert(out[0] > 1e38f && out[1] < -1e38f);
    kernel_case_done(&c);
}
TEST_END

TEST(functions_take_infinities)
{
    const float values[] = {INFINITY, -INFINITY, NAN, 0.0f, -1.0f, 1e-40f};
    const float *out;

    run_one(NNHAL_OP_EXP, &nn_kernels_unary, F32, 6, values, F32);
    out = (const float *)(const void *)c.outputs[0].data;
    ck_assert(out[0] == INFINITY && out[1] == 0.0f && isnan(out[2]) && out[3] == 1.0f);
    kernel_case_done(&c);
    run_one(NNHAL_OP_LOG, &nn_kernels_unary, F32, 6, values, F32);
    out = (const float *)(const void *)c.outputs[0].data;
    ck_assert(out[0] == INFINITY && isnan(out[1]) && out[3] == -INFINITY && isnan(out[4]));
    kernel_case_done(&c);
    run_one(NNHAL_OP_FLOOR, &nn_kernels_unary, F32, 6, values, F32);
    out = (const float *)(const void *)c.outputs[0].data;
    ck_assert(out[0] == INFINITY && out[1] == -INFINITY && isnan(out[2]) && out[5] == 0.0f);
    kernel_case_done(&c);
    run_one(NNHAL_OP_TANH, &nn_kernels_activation, F32, 6, values, F32);
    out = (const float *)(const void *)c.outputs[0].data;
    ck_assert(out[0] == 1.0f && out[1] == -1.0f && isnan(out[2]) && out[3] == 0.0f);
    kernel_case_done(&c);
    run_one(NNHAL_OP_LOGISTIC, &nn_kernels_activation, F32, 6, values, F32);
    out = (const float *)(const void *)c.outputs[0].data;
    ck_assert(out[0] == 1.0f && out[1] == 0.0f && isnan(out[2]) && out[3] == 0.5f);
    kernel_case_done(&c);
}
TEST_END

TEST(transcendental_functions_hold_their_bounds)
{
    enum { N = 20001 };
    static float values[N];
    uint32_t n = N;

    for (int i = 0; i < N; i++)
        values[i] = (float)(i - N / 2) * 0.008f;
    for (int k = 0; k < 3; k++) {
        uint32_t operation = k == 0 ? NNHAL_OP_EXP : k == 1 ? NNHAL_OP_TANH : NNHAL_OP_LOGISTIC;

        run_one(operation, k == 0 ? &nn_kernels_unary : &nn_kernels_activation, F32, n, values,
                F32);
        for (uint32_t i = 0; i < n; i++) {
            double x = (double)values[i];
            double wanted = k == 0 ? exp(x) : k == 1 ? tanh(x) : 1.0 / (1.0 + exp(-x));
            double got = kernel_case_real(&c.outputs[0], i);

            if (wanted < 3e38 && fabs(got - wanted) > 4e-7 * fabs(wanted) + 1e-37)
                ck_abort_msg("function %d of %g is %g, not %g", k, x, got, wanted);
        }
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- conversions ---- */

TEST(conversions_saturate)
{
    const float values[] = {NAN, INFINITY, -INFINITY, 3e9f, -3e9f, -0.9f, 300.7f, 254.9f};
    const int32_t *out;

    run_one(NNHAL_OP_CAST, &nn_kernels_quantize, F32, 8, values, I32);
    out = (const int32_t *)(const void *)c.outputs[0].data;
    ck_assert(out[1] == INT32_MAX && out[2] == INT32_MIN && out[3] == INT32_MAX);
    ck_assert(out[4] == INT32_MIN && out[5] == 0 && out[6] == 300 && out[7] == 254);
    kernel_case_done(&c);
    run_one(NNHAL_OP_CAST, &nn_kernels_quantize, F32, 8, values, Q8);
    ck_assert_mem_eq(c.outputs[0].data + 1, ((const uint8_t[]){255, 0, 255, 0, 0, 255, 254}), 7);
    kernel_case_done(&c);
    run_one(NNHAL_OP_QUANTIZE, &nn_kernels_quantize, F32, 8, values, Q8S);
    ck_assert_mem_eq(c.outputs[0].data, ((const int8_t[]){127, 127, -128, 127, -128, -1, 127, 127}),
                     8);
    kernel_case_done(&c);
}
TEST_END

TEST(quantize_rounds_half_away_from_zero)
{
    const float values[] = {0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 0.49999997f, -0.49999997f, 126.5f};
    const int8_t wanted[] = {1, -1, 2, 3, -3, 0, 0, 127};

    run_one(NNHAL_OP_QUANTIZE, &nn_kernels_quantize, F32, 8, values, Q8S);
    ck_assert_mem_eq(c.outputs[0].data, wanted, 8);
    kernel_case_done(&c);
}
TEST_END

TEST(every_half_survives_widening)
{
    static uint16_t halves[65536];
    uint32_t n = 65536;

    for (uint32_t i = 0; i < n; i++)
        halves[i] = (uint16_t)i;
    run_one(NNHAL_OP_CAST, &nn_kernels_quantize, F16, n, halves, F32);
    for (uint32_t i = 0; i < n; i++) {
        float wide = ((const float *)(const void *)c.outputs[0].data)[i];
        uint16_t back = nn_f32_to_f16(wide);

        if ((i & 0x7fff) > 0x7c00)
            ck_assert(isnan(wide) && (back & 0x7fff) > 0x7c00);
        else
            ck_assert_uint_eq(back, i);
    }
    kernel_case_done(&c);
}
TEST_END

/* ---- 8 bits ---- */

static double function_of(uint32_t operation, double x)
{
    switch (operation) {
    case NNHAL_OP_LOGISTIC:
        return 1.0 / (1.0 + exp(-x));
    case NNHAL_OP_TANH:
        return tanh(x);
    case NNHAL_OP_RSQRT:
        return x > 0.0 ? 1.0 / sqrt(x) : INFINITY;
    default:
        return x * fmin(6.0, fmax(0.0, x + 3.0)) / 6.0;
    }
}

/* All 256 codes, against the real function. */
static void check_codes(uint32_t operation, const struct nn_kernel_family *family, uint32_t type,
                        float scale, int32_t zero_point, float out_scale, int32_t tolerance)
{
    uint32_t n = 256;
    uint8_t codes[256];
    int32_t low = type == Q8S ? -128 : 0, high = type == Q8S ? 127 : 255;

    for (uint32_t i = 0; i < n; i++)
        codes[i] = (uint8_t)i;
    kernel_case_init(&c, operation, family);
    kernel_case_tensor(&c, type, 1, &n, codes);
    c.inputs[0].scale = scale;
    c.inputs[0].zero_point = zero_point;
    kernel_case_output(&c, type);
    c.outputs[0].scale = out_scale;
    kernel_case_run(&c);
    for (uint32_t i = 0; i < n; i++) {
        const struct kernel_operand *out = &c.outputs[0];
        double real = function_of(operation, kernel_case_real(&c.inputs[0], i));
        double wanted = round(real / (double)out->scale) + out->zero_point;
        int32_t got = type == Q8S ? (int8_t)out->data[i] : out->data[i];

        wanted = fmin(high, fmax(low, wanted));
        if (fabs(got - wanted) > tolerance)
            ck_abort_msg("operation %u scale %g code %u: %d, not %g", operation, (double)scale, i,
                         got, wanted);
    }
    kernel_case_done(&c);
}

TEST(every_code_of_smooth_functions)
{
    static const float scales[] = {1e-4f, 0.003f, 1.0f / 128, 0.05f, 0.3f, 1.0f};

    for (size_t i = 0; i < 6; i++) {
        for (int32_t zero = 0; zero <= 255; zero += 51) {
            check_codes(NNHAL_OP_LOGISTIC, &nn_kernels_activation_q8, Q8, scales[i], zero, 1, 1);
            check_codes(NNHAL_OP_LOGISTIC, &nn_kernels_activation_q8, Q8S, scales[i], zero - 128, 1,
                        1);
            check_codes(NNHAL_OP_TANH, &nn_kernels_activation_q8, Q8, scales[i], zero, 1, 1);
            check_codes(NNHAL_OP_TANH, &nn_kernels_activation_q8, Q8S, scales[i], zero - 128, 1, 1);
            check_codes(NNHAL_OP_RSQRT, &nn_kernels_unary, Q8, scales[i], zero, 0.1f, 1);
            check_codes(NNHAL_OP_RSQRT, &nn_kernels_unary, Q8S, scales[i], zero - 128, 0.1f, 1);
        }
    }
    check_codes(NNHAL_OP_HARD_SWISH, &nn_kernels_activation_q8, Q8, 0.04f, 100, 0.03f, 1);
    check_codes(NNHAL_OP_HARD_SWISH, &nn_kernels_activation_q8, Q8S, 0.04f, -20, 0.05f, 1);
}
TEST_END

/* A radius of 0 must not make zero an end. */
TEST(a_coarse_zero_is_the_middle)
{
    const int8_t codes[] = {-1, 0, 1};
    uint32_t n = 3;

    kernel_case_init(&c, NNHAL_OP_TANH, &nn_kernels_activation_q8);
    kernel_case_tensor(&c, Q8S, 1, &n, codes)->scale = 20.0f;
    kernel_case_output(&c, Q8S);
    kernel_case_run(&c);
    ck_assert_mem_eq(c.outputs[0].data, ((const int8_t[]){-128, 0, 127}), 3);
    kernel_case_done(&c);
}
TEST_END

TEST(adding_a_zero_of_equal_scale_changes_nothing)
{
    static const float scales[] = {1.0f / 256, 0.0078431f, 0.5f, 3.7f};
    uint8_t codes[256];
    uint32_t n = 256, one = 1;

    for (uint32_t i = 0; i < n; i++)
        codes[i] = (uint8_t)i;
    for (size_t k = 0; k < 4; k++) {
        for (uint32_t zero = 0; zero < 256; zero += 85) {
            uint8_t code = (uint8_t)zero;

            kernel_case_init(&c, NNHAL_OP_ADD, &nn_kernels_elementwise_q8);
            kernel_case_tensor(&c, Q8, 1, &n, codes);
            kernel_case_tensor(&c, Q8, 1, &one, &code);
            kernel_case_i32(&c, 0);
            kernel_case_output(&c, Q8);
            c.inputs[0].scale = c.inputs[1].scale = c.outputs[0].scale = scales[k];
            c.inputs[0].zero_point = c.inputs[1].zero_point = (int32_t)zero;
            c.outputs[0].zero_point = (int32_t)zero;
            kernel_case_run(&c);
            ck_assert_mem_eq(c.outputs[0].data, codes, n);
            kernel_case_done(&c);
        }
    }
}
TEST_END

TEST(a_sum_that_the_reference_cannot_scale_is_refused)
{
    const uint8_t codes[] = {1, 2};
    uint32_t n = 2;

    kernel_case_init(&c, NNHAL_OP_ADD, &nn_kernels_elementwise_q8);
    kernel_case_tensor(&c, Q8, 1, &n, codes);
    kernel_case_tensor(&c, Q8, 1, &n, codes);
    kernel_case_i32(&c, 0);
    kernel_case_output(&c, Q8)->scale = 1e-7f;
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
    ck_assert_uint_gt(strlen(c.why), 0);
    kernel_case_done(&c);
}
TEST_END

TEST(any_byte_but_zero_is_true)
{
    const uint8_t a[] = {0, 1, 2, 255}, b[] = {0, 0, 128, 1};

    run_pair(NNHAL_OP_LOGICAL_AND, &nn_kernels_logical, B8, 4, a, b, B8);
    ck_assert_mem_eq(c.outputs[0].data, ((const uint8_t[]){0, 0, 1, 1}), 4);
    kernel_case_done(&c);
    run_pair(NNHAL_OP_LOGICAL_OR, &nn_kernels_logical, B8, 4, a, b, B8);
    ck_assert_mem_eq(c.outputs[0].data, ((const uint8_t[]){0, 1, 1, 1}), 4);
    kernel_case_done(&c);
    run_one(NNHAL_OP_LOGICAL_NOT, &nn_kernels_logical, B8, 4, a, B8);
    ck_assert_mem_eq(c.outputs[0].data, ((const uint8_t[]){1, 0, 0, 0}), 4);
    kernel_case_done(&c);
}
TEST_END

CHECK_MAIN("kernel-elementwise", broadcasts_of_all_kinds, integers_wrap_and_divide_down,
           the_least_integer_has_no_magnitude, comparisons_with_a_nan_are_false,
           maximum_keeps_a_nan_of_its_first_operand, division_by_zero_does_no_harm,
           functions_take_infinities, transcendental_functions_hold_their_bounds,
           conversions_saturate, quantize_rounds_half_away_from_zero, every_half_survives_widening,
           every_code_of_smooth_functions, a_coarse_zero_is_the_middle,
           adding_a_zero_of_equal_scale_changes_nothing,
           a_sum_that_the_reference_cannot_scale_is_refused, any_byte_but_zero_is_true)
