/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalizations, reductions and products of matrices: long slices, every set
 * of axes, and what infinities, NaNs and wrapping do. */
#include "base/stop.h"
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "cpu/kernel-core.h"
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

static const float *floats(const struct kernel_operand *operand)
{
    return (const float *)(const void *)operand->data;
}

static void begin(uint32_t operation, const struct nn_kernel_family *family, uint32_t type,
                  uint32_t n_dims, const uint32_t *dims)
{
    uint64_t seed = operation * 7 + type, n;
    void *elements;

    ck_assert(nn_dims_product(n_dims, dims, &n));
    elements = kernel_case_random(type, n, &seed);
    kernel_case_init(&c, operation, family);
    kernel_case_tensor(&c, type, n_dims, dims, elements);
    free(elements);
}

#define SHAPE(...)                                                                                 \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[])                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* ---- softmax ---- */

static void check_softmax(uint32_t n_dims, const uint32_t *dims, uint32_t axis)
{
    size_t inner = 1, n = dims[axis], count;

    begin(NNHAL_OP_SOFTMAX, &nn_kernels_softmax, F32, n_dims, dims);
    kernel_case_f32(&c, 1.5f);
    kernel_case_i32(&c, (int32_t)axis);
    kernel_case_output(&c, F32);
    kernel_case_run(&c);
    for (uint32_t d = axis + 1; d < n_dims; d++)
        inner *= dims[d];
    count = kernel_case_count(&c.inputs[0]);
    for (size_t i = 0; i < count; i++) {
        size_t first = i / (n * inner) * n * inner + i % inner;
        double sum = 0.0;

        for (size_t k = 0; k < n; k++)
            sum += exp(1.5 * (double)floats(&c.inputs[0])[first + k * inner]);
        ck_assert_double_eq_tol((double)floats(&c.outputs[0])[i],
                                exp(1.5 * (double)floats(&c.inputs[0])[i]) / sum, 1e-6);
    }
    kernel_case_done(&c);
}

TEST(softmax_along_any_axis)
{
    check_softmax(SHAPE(3, 1001), 1);
    check_softmax(SHAPE(40, 30), 0);
    check_softmax(SHAPE(4, 5, 6, 7), 2);
    check_softmax(SHAPE(1), 0);
}
TEST_END

/* Ten thousand equal codes: the reference's sum would not fit an int32. */
TEST(softmax_of_many_codes)
{
    static uint8_t codes[10000];
    uint32_t n = sizeof(codes);

    memset(codes, 7, n);
    codes[77] = 255;
    kernel_case_init(&c, NNHAL_OP_SOFTMAX, &nn_kernels_softmax);
    kernel_case_tensor(&c, Q8, 1, &n, codes)->scale = 1.0f;
    kernel_case_f32(&c, 1.0f);
    kernel_case_output(&c, Q8)->scale = 1.0f / 256;
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].data[77], 255);
    ck_assert_uint_eq(c.outputs[0].data[0], 0);
    kernel_case_done(&c);
    memset(codes, 7, n);
    kernel_case_init(&c, NNHAL_OP_SOFTMAX, &nn_kernels_softmax);
    kernel_case_tensor(&c, Q8, 1, &n, codes)->scale = 1.0f;
    kernel_case_f32(&c, 1.0f);
    kernel_case_output(&c, Q8)->scale = 1.0f / 256;
    kernel_case_run(&c);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(c.outputs[0].data[i], 0); /* 1/10000 is below half a step */
    kernel_case_done(&c);
}
TEST_END

/* ---- memory that changes ---- */

enum { N_CHANGING = 1 << 20 };

static uint8_t changing[N_CHANGING];
static unsigned n_looks;

/* The twelve looks of the first two passes, which find the largest code and the sum, see zeros. */
static void change_later(void)
{
    if (++n_looks == 14)
        memset(changing, 255, sizeof(changing));
}

static const struct nn_kernel *softmax_of_codes(void)
{
    for (size_t i = 0; i < nn_kernels_softmax.n_kernels; i++)
        if (nn_kernels_softmax.kernels[i].in0 & NN_T_U8)
            return &nn_kernels_softmax.kernels[i];
    ck_abort();
    return NULL;
}

/* With beside in front of the table of e^, which no index may reach. */
static void soften_changing(int32_t beside, uint8_t *ret_out)
{
    static int32_t memory[512];
    const struct {
        float beta;
        uint32_t axis;
    } params = {1.0f, 0}; /* as the kernel's */
    const uint32_t dims[] = {N_CHANGING};
    struct nn_tensor in = {changing, N_CHANGING, Q8, 1, dims, 1.0f, 0};
    struct nn_tensor out = {ret_out, N_CHANGING, Q8, 1, dims, 1.0f / 256, 0};
    struct nn_stop stop = {.deadline_ns = UINT64_MAX};
    struct nn_run run = {.c = &c};
    const struct nn_kernel_args args = {.params = &params,
                                        .weights = (const uint8_t *)(memory + 256),
                                        .n_inputs = 1,
                                        .n_outputs = 1,
                                        .inputs = &in,
                                        .outputs = &out,
                                        .stop = &stop,
                                        .run = &run};

    for (size_t i = 0; i < 512; i++)
        memory[i] = i < 256 ? beside : 4096;
    memset(changing, 0, sizeof(changing));
    n_looks = 0;
    nn_stop_observer = change_later;
    ck_assert_int_eq(softmax_of_codes()->run(&args), 0);
    nn_stop_observer = NULL;
    ck_assert_uint_gt(n_looks, 14);
}

TEST(codes_that_change_stay_in_the_table)
{
    static uint8_t out[2][N_CHANGING];

    kernel_case_init(&c, NNHAL_OP_SOFTMAX, &nn_kernels_softmax);
    soften_changing(0, out[0]);
    soften_changing(INT32_MAX, out[1]);
    ck_assert_mem_eq(out[0], out[1], N_CHANGING);
}
TEST_END

/* ---- reductions ---- */

static double fold(uint32_t operation, double acc, double x)
{
    switch (operation) {
    case NNHAL_OP_REDUCE_MAX:
        return fmax(acc, x);
    case NNHAL_OP_REDUCE_MIN:
        return fmin(acc, x);
    default:
        return acc + x;
    }
}

static void check_reduce(uint32_t operation, uint32_t type, uint32_t n_dims, const uint32_t *dims,
                         uint32_t mask)
{
    int32_t axes[4];
    uint32_t n_axes = 0;
    size_t count, n_out;
    double *wanted;

    for (uint32_t d = 0; d < n_dims; d++) {
        if (mask >> d & 1)
            axes[n_axes++] = (int32_t)d - (d % 2 ? (int32_t)n_dims : 0);
    }
    begin(operation, &nn_kernels_reduce, type, n_dims, dims);
    kernel_case_i32s(&c, n_axes, axes);
    if (operation == NNHAL_OP_MEAN)
        kernel_case_i32(&c, 1);
    else
        kernel_case_bool(&c, true);
    kernel_case_output(&c, type);
    c.inputs[1].is_constant = true;
    kernel_case_run(&c);
    count = kernel_case_count(&c.inputs[0]);
    n_out = kernel_case_count(&c.outputs[0]);
    wanted = malloc(n_out * sizeof(*wanted));
    for (size_t i = 0; i < n_out; i++)
        wanted[i] = operation == NNHAL_OP_REDUCE_MAX   ? -INFINITY
                    : operation == NNHAL_OP_REDUCE_MIN ? INFINITY
                                                       : 0.0;
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, at = 0, stride = 1;

        for (uint32_t d = n_dims; d-- > 0;) {
            if (!(mask >> d & 1)) {
                at += rest % dims[d] * stride;
                stride *= dims[d];
            }
            rest /= dims[d];
        }
        wanted[at] = fold(operation, wanted[at], kernel_case_real(&c.inputs[0], i));
    }
    for (size_t i = 0; i < n_out; i++) {
        double divisor = operation == NNHAL_OP_MEAN ? (double)(count / n_out) : 1.0;

        ck_assert_double_eq_tol(kernel_case_real(&c.outputs[0], i), wanted[i] / divisor, 2e-4);
    }
    free(wanted);
    kernel_case_done(&c);
}

TEST(every_set_of_axes)
{
    static const uint32_t operations[] = {NNHAL_OP_MEAN, NNHAL_OP_REDUCE_SUM, NNHAL_OP_REDUCE_MAX,
                                          NNHAL_OP_REDUCE_MIN};

    for (size_t i = 0; i < 4; i++) {
        for (uint32_t mask = 1; mask < 16; mask++) {
            check_reduce(operations[i], F32, SHAPE(3, 5, 4, 7), mask);
            check_reduce(operations[i], F32, SHAPE(2, 1, 3, 300), mask);
            check_reduce(operations[i], F32, SHAPE(2, 301, 1, 2), mask);
        }
        check_reduce(operations[i], F32, SHAPE(2000), 1);
    }
    for (uint32_t mask = 1; mask < 8; mask++) {
        check_reduce(NNHAL_OP_REDUCE_MAX, Q8S, SHAPE(5, 6, 7), mask);
        check_reduce(NNHAL_OP_REDUCE_MIN, F16, SHAPE(5, 6, 7), mask);
    }
}
TEST_END

static void reduce_row(uint32_t operation, uint32_t type, uint32_t n, const void *elements)
{
    const int32_t axis = 0;

    kernel_case_init(&c, operation, &nn_kernels_reduce);
    kernel_case_tensor(&c, type, 1, &n, elements);
    kernel_case_i32s(&c, 1, &axis)->is_constant = true;
    if (operation == NNHAL_OP_MEAN)
        kernel_case_i32(&c, 0);
    else
        kernel_case_bool(&c, false);
    kernel_case_output(&c, type);
    kernel_case_run(&c);
}

TEST(reductions_of_infinities)
{
    const float low[] = {-INFINITY, -INFINITY}, factors[] = {0.0f, INFINITY, 2.0f};
    const uint16_t halves[] = {0xfc00, 0xfc00};

    reduce_row(NNHAL_OP_REDUCE_MAX, F32, 2, low);
    ck_assert(floats(&c.outputs[0])[0] == -FLT_MAX);
    kernel_case_done(&c);
    reduce_row(NNHAL_OP_REDUCE_MAX, F16, 2, halves);
    ck_assert(kernel_case_real(&c.outputs[0], 0) == -65504.0);
    kernel_case_done(&c);
    reduce_row(NNHAL_OP_REDUCE_PROD, F32, 3, factors);
    ck_assert(floats(&c.outputs[0])[0] == 0.0f);
    kernel_case_done(&c);
}
TEST_END

/* The mean's code of codes with this zero point. */
static int32_t mean_of_codes(uint32_t type, int32_t zero_point, uint32_t n, const void *codes)
{
    const int32_t axis = 0;
    int32_t code;

    kernel_case_init(&c, NNHAL_OP_MEAN, &nn_kernels_reduce);
    kernel_case_tensor(&c, type, 1, &n, codes)->zero_point = zero_point;
    kernel_case_i32s(&c, 1, &axis)->is_constant = true;
    kernel_case_i32(&c, 0);
    kernel_case_output(&c, type)->zero_point = zero_point;
    kernel_case_run(&c);
    code = type == Q8S ? (int8_t)c.outputs[0].data[0] : c.outputs[0].data[0];
    kernel_case_done(&c);
    return code;
}

TEST(a_mean_of_codes_rounds_away_from_the_zero_point)
{
    const int8_t signed_codes[] = {-1, -2, -2}, half[] = {-2, -1};
    const uint8_t codes[] = {254, 255, 255}, low_half[] = {0, 1};

    ck_assert_int_eq(mean_of_codes(Q8S, 0, 3, signed_codes), -2);
    ck_assert_int_eq(mean_of_codes(Q8S, 0, 2, half), -2);
    ck_assert_int_eq(mean_of_codes(Q8S, -128, 2, half), -1);
    ck_assert_int_eq(mean_of_codes(Q8, 0, 3, codes), 255);
    ck_assert_int_eq(mean_of_codes(Q8, 0, 2, low_half), 1);
    ck_assert_int_eq(mean_of_codes(Q8, 255, 2, low_half), 0);
}
TEST_END

TEST(a_mean_of_many_codes_does_not_overflow)
{
    uint32_t n = 9 << 20;
    uint8_t *codes = malloc(n);

    ck_assert_ptr_nonnull(codes);
    memset(codes, 255, n);
    ck_assert_int_eq(mean_of_codes(Q8, 0, n, codes), 255);
    free(codes);
}
TEST_END

TEST(booleans_are_any_byte)
{
    const uint8_t bytes[] = {2, 255, 1}, others[] = {0, 128};

    reduce_row(NNHAL_OP_REDUCE_ALL, B8, 3, bytes);
    ck_assert_uint_eq(c.outputs[0].data[0], 1);
    kernel_case_done(&c);
    reduce_row(NNHAL_OP_REDUCE_ANY, B8, 2, others);
    ck_assert_uint_eq(c.outputs[0].data[0], 1);
    kernel_case_done(&c);
    reduce_row(NNHAL_OP_REDUCE_ALL, B8, 2, others);
    ck_assert_uint_eq(c.outputs[0].data[0], 0);
    kernel_case_done(&c);
}
TEST_END

static int32_t arg_of(uint32_t operation, uint32_t n, const float *values)
{
    int32_t index;

    kernel_case_init(&c, operation, &nn_kernels_arg);
    kernel_case_tensor(&c, F32, 1, &n, values);
    kernel_case_i32(&c, 0);
    kernel_case_output(&c, I32);
    kernel_case_run(&c);
    memcpy(&index, c.outputs[0].data, sizeof(index));
    kernel_case_done(&c);
    return index;
}

TEST(arg_takes_the_first_and_a_leading_nan)
{
    ck_assert_int_eq(arg_of(NNHAL_OP_ARGMAX, 4, (const float[]){1, 3, 3, 2}), 1);
    ck_assert_int_eq(arg_of(NNHAL_OP_ARGMIN, 4, (const float[]){2, 1, 3, 1}), 1);
    ck_assert_int_eq(arg_of(NNHAL_OP_ARGMAX, 3, (const float[]){NAN, 3, 4}), 0);
    ck_assert_int_eq(arg_of(NNHAL_OP_ARGMAX, 3, (const float[]){1, NAN, 4}), 2);
}
TEST_END

/* ---- normalization ---- */

TEST(a_slice_of_zeros_stays_zero)
{
    const float zeros[6] = {0};
    const uint8_t codes[] = {9, 9, 9, 12, 9, 5};
    uint32_t dims[] = {2, 3};

    kernel_case_init(&c, NNHAL_OP_L2_NORMALIZATION, &nn_kernels_normalize);
    kernel_case_tensor(&c, F32, 2, dims, zeros);
    kernel_case_output(&c, F32);
    kernel_case_run(&c);
    ck_assert_mem_eq(c.outputs[0].data, zeros, sizeof(zeros));
    kernel_case_done(&c);
    kernel_case_init(&c, NNHAL_OP_L2_NORMALIZATION, &nn_kernels_normalize);
    kernel_case_tensor(&c, Q8, 2, dims, codes)->zero_point = 9;
    kernel_case_output(&c, Q8);
    kernel_case_run(&c);
    ck_assert_mem_eq(c.outputs[0].data, ((const uint8_t[]){128, 128, 128, 205, 128, 26}), 6);
    kernel_case_done(&c);
}
TEST_END

TEST(a_small_variance_far_from_zero_is_kept)
{
    const float values[] = {200.0f, 200.001f, 200.002f, 200.003f};
    uint32_t dims[] = {1, 2, 2, 1};

    for (int is_nchw = 0; is_nchw < 2; is_nchw++) {
        kernel_case_init(&c, NNHAL_OP_INSTANCE_NORMALIZATION, &nn_kernels_instance_normalization);
        dims[1] = is_nchw ? 1 : 2;
        dims[3] = is_nchw ? 2 : 1;
        kernel_case_tensor(&c, F32, 4, dims, values);
        kernel_case_f32(&c, 1.0f);
        kernel_case_f32(&c, 0.0f);
        kernel_case_f32(&c, 0.0f);
        kernel_case_bool(&c, is_nchw);
        kernel_case_output(&c, F32);
        kernel_case_run(&c);
        for (int i = 0; i < 4; i++)
            ck_assert_double_eq_tol((double)floats(&c.outputs[0])[i], (i - 1.5) / sqrt(1.25), 0.02);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(a_radius_beyond_the_slice_takes_all_of_it)
{
    const float values[] = {1.0f, 2.0f, 2.0f};
    uint32_t n = 3;

    kernel_case_init(&c, NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION, &nn_kernels_normalize);
    kernel_case_tensor(&c, F32, 1, &n, values);
    kernel_case_i32(&c, INT32_MAX);
    kernel_case_f32(&c, 7.0f);
    kernel_case_f32(&c, 1.0f);
    kernel_case_f32(&c, 0.5f);
    kernel_case_output(&c, F32);
    kernel_case_run(&c);
    ck_assert(floats(&c.outputs[0])[0] == 0.25f && floats(&c.outputs[0])[2] == 0.5f);
    kernel_case_done(&c);
}
TEST_END

/* ---- products ---- */

TEST(large_products_of_all_forms)
{
    for (int form = 0; form < 4; form++) {
        const uint32_t x_dims[] = {2, form & 1 ? 20 : 33, form & 1 ? 33 : 20};
        const uint32_t y_dims[] = {2, form & 2 ? 300 : 20, form & 2 ? 20 : 300};
        uint64_t seed = 5;
        float *y = kernel_case_random(F32, 2 * 20 * 300, &seed);

        begin(NNHAL_OP_BATCH_MATMUL, &nn_kernels_matmul, F32, 3, x_dims);
        kernel_case_tensor(&c, F32, 3, y_dims, y);
        kernel_case_bool(&c, form & 1);
        kernel_case_bool(&c, form & 2);
        kernel_case_output(&c, F32);
        kernel_case_run(&c);
        for (size_t i = 0; i < 2 * 33 * 300; i++) {
            size_t b = i / (33 * 300), row = i / 300 % 33, column = i % 300;
            double sum = 0.0;

            for (size_t k = 0; k < 20; k++)
                sum += (double)floats(
                           &c.inputs[0])[b * 660 + (form & 1 ? k * 33 + row : row * 20 + k)] *
                       (double)y[b * 6000 + (form & 2 ? column * 20 + k : k * 300 + column)];
            ck_assert_double_eq_tol((double)floats(&c.outputs[0])[i], sum, 1e-4);
        }
        kernel_case_done(&c);
        free(y);
    }
}
TEST_END

TEST(products_of_integers_wrap)
{
    const int32_t x[] = {INT32_MAX, 2}, y[] = {2, INT32_MAX};
    const uint32_t x_dims[] = {1, 2}, y_dims[] = {2, 1};
    int32_t out;

    kernel_case_init(&c, NNHAL_OP_BATCH_MATMUL, &nn_kernels_matmul);
    kernel_case_tensor(&c, I32, 2, x_dims, x);
    kernel_case_tensor(&c, I32, 2, y_dims, y);
    kernel_case_bool(&c, false);
    kernel_case_bool(&c, false);
    kernel_case_output(&c, I32);
    kernel_case_run(&c);
    memcpy(&out, c.outputs[0].data, sizeof(out));
    ck_assert_int_eq(out, -4);
    kernel_case_done(&c);
}
TEST_END

CHECK_MAIN("kernel-slices", softmax_along_any_axis, softmax_of_many_codes,
           codes_that_change_stay_in_the_table, every_set_of_axes, reductions_of_infinities,
           a_mean_of_codes_rounds_away_from_the_zero_point, a_mean_of_many_codes_does_not_overflow,
           booleans_are_any_byte, arg_takes_the_first_and_a_leading_nan,
           a_slice_of_zeros_stays_zero, a_small_variance_far_from_zero_is_kept,
           a_radius_beyond_the_slice_takes_all_of_it, large_products_of_all_forms,
           products_of_integers_wrap)
