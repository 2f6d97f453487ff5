/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, grouped and transposed convolutions of images that are larger than the
 * oracle's, in both layouts, against sums over every tap. */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/direct-conv/direct-conv.h"
#include "model/types.h"

#include "support/check-main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED

static struct kernel_case c;

static double nhwc_at(const struct kernel_operand *image, bool is_nchw, int64_t n, int64_t y,
                      int64_t x, int64_t k)
{
    const uint32_t *d = image->dims;
    int64_t at = is_nchw ? ((n * d[1] + k) * d[2] + y) * d[3] + x
                         : ((n * d[1] + y) * d[2] + x) * d[3] + k;

    return kernel_case_real(image, (size_t)at);
}

static void begin(uint32_t operation, const struct nn_kernel_family *family, uint32_t type,
                  const uint32_t dims[4])
{
    uint64_t seed = operation + type + dims[1], n;
    void *elements;

    ck_assert(nn_dims_product(4, dims, &n));
    elements = kernel_case_random(type, n, &seed);
    kernel_case_init(&c, operation, family);
    kernel_case_tensor(&c, type, 4, dims, elements);
    free(elements);
}

/* ---- pools ---- */

static double pool_of(uint32_t operation, bool is_nchw, const uint32_t at[4])
{
    double sum = 0.0, top = -INFINITY;
    int n = 0;

    for (int64_t y = (int64_t)at[1] * 2 - 1; y < (int64_t)at[1] * 2 + 2; y++) {
        for (int64_t x = (int64_t)at[2] - 1; x < (int64_t)at[2] + 3; x++) {
            double cell;

            if (y < 0 || y >= 21 || x < 0 || x >= 17)
                continue;
            cell = nhwc_at(&c.inputs[0], is_nchw, at[0], y, x, at[3]);
            sum += operation == NNHAL_OP_L2_POOL_2D ? cell * cell : cell;
            top = fmax(top, cell);
            n++;
        }
    }
    return operation == NNHAL_OP_MAX_POOL_2D  ? top
           : operation == NNHAL_OP_L2_POOL_2D ? sqrt(sum / n)
                                              : sum / n;
}

/* A filter 4 wide and 3 high, strides 1 and 2, padding 1, 2, 1, 1: [2, 21, 17, 300]. */
static void check_pool(uint32_t operation, uint32_t type, bool is_nchw)
{
    const uint32_t nhwc[] = {2, 21, 17, 300}, nchw[] = {2, 300, 21, 17};
    static const int32_t arguments[] = {1, 2, 1, 1, 1, 2, 4, 3, 0};
    uint32_t at[4];
    double tolerance = type == F32 ? 1e-5 : operation == NNHAL_OP_MAX_POOL_2D ? 1e-9 : 0.501;

    begin(operation, &nn_kernels_pool, type, is_nchw ? nchw : nhwc);
    for (size_t i = 0; i < 9; i++)
        kernel_case_i32(&c, arguments[i]);
    kernel_case_bool(&c, is_nchw);
    kernel_case_output(&c, type);
    kernel_case_run(&c);
    for (at[0] = 0; at[0] < 2; at[0]++) {
        for (at[1] = 0; at[1] < 11; at[1]++) {
            for (at[2] = 0; at[2] < 17; at[2]++) {
                for (at[3] = 0; at[3] < 300; at[3] += 13) {
                    double got = nhwc_at(&c.outputs[0], is_nchw, at[0], at[1], at[2], at[3]);

                    ck_assert_double_eq_tol(got, pool_of(operation, is_nchw, at), tolerance);
                }
            }
        }
    }
    kernel_case_done(&c);
}

TEST(pools_of_deep_images)
{
    for (int is_nchw = 0; is_nchw < 2; is_nchw++) {
        check_pool(NNHAL_OP_AVERAGE_POOL_2D, F32, is_nchw);
        check_pool(NNHAL_OP_MAX_POOL_2D, F32, is_nchw);
        check_pool(NNHAL_OP_L2_POOL_2D, F32, is_nchw);
        check_pool(NNHAL_OP_MAX_POOL_2D, Q8S, is_nchw);
        check_pool(NNHAL_OP_AVERAGE_POOL_2D, Q8, is_nchw);
    }
}
TEST_END

TEST(an_average_of_many_codes_does_not_overflow)
{
    const uint32_t dims[] = {1, 3000, 3000, 1};
    const size_t n = (size_t)dims[1] * dims[2];
    uint8_t *codes = malloc(n);

    ck_assert_ptr_nonnull(codes);
    memset(codes, 255, n);
    kernel_case_init(&c, NNHAL_OP_AVERAGE_POOL_2D, &nn_kernels_pool);
    kernel_case_tensor(&c, Q8, 4, dims, codes);
    for (int i = 0; i < 4; i++)
        kernel_case_i32(&c, 0);
    kernel_case_i32(&c, 1);
    kernel_case_i32(&c, 1);
    kernel_case_i32(&c, 3000);
    kernel_case_i32(&c, 3000);
    kernel_case_i32(&c, 0);
    kernel_case_output(&c, Q8);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].data[0], 255);
    kernel_case_done(&c);
    free(codes);
}
TEST_END

TEST(an_average_of_signed_codes_rounds_away_from_zero)
{
    const int8_t codes[] = {-3, -4, 3, 4};
    const uint32_t dims[] = {1, 2, 2, 1};
    static const int32_t arguments[] = {2, 1, 1, 2, 1, 0};

    kernel_case_init(&c, NNHAL_OP_AVERAGE_POOL_2D, &nn_kernels_pool);
    kernel_case_tensor(&c, Q8S, 4, dims, codes);
    for (size_t i = 0; i < 6; i++)
        kernel_case_i32(&c, arguments[i]);
    kernel_case_output(&c, Q8S);
    kernel_case_run(&c);
    ck_assert_int_eq((int8_t)c.outputs[0].data[0], -4);
    ck_assert_int_eq((int8_t)c.outputs[0].data[1], 4);
    kernel_case_done(&c);
}
TEST_END

/* ---- convolutions ---- */

static void add_filter_and_bias(const uint32_t dims[4])
{
    uint64_t seed = 99, n;
    void *filter, *bias;

    ck_assert(nn_dims_product(4, dims, &n));
    filter = kernel_case_random(F32, n, &seed);
    bias = kernel_case_random(F32, dims[0], &seed);
    kernel_case_tensor(&c, F32, 4, dims, filter);
    kernel_case_tensor(&c, F32, 1, dims, bias);
    free(filter);
    free(bias);
}

/* [1, 9, 10, 12] in 3 groups of 4, filter [6, 3, 2, 4], strides 2 wide 1 high. */
static void check_grouped(bool is_nchw)
{
    const uint32_t nhwc[] = {1, 9, 10, 12}, nchw[] = {1, 12, 9, 10}, filter[] = {6, 3, 2, 4};
    static const int32_t arguments[] = {1, 0, 2, 1, 2, 1, 3, 0};

    begin(NNHAL_OP_GROUPED_CONV_2D, &nn_kernels_direct_conv, F32, is_nchw ? nchw : nhwc);
    add_filter_and_bias(filter);
    for (size_t i = 0; i < 8; i++)
        kernel_case_i32(&c, arguments[i]);
    kernel_case_bool(&c, is_nchw);
    kernel_case_output(&c, F32);
    kernel_case_run(&c);
    ck_assert_uint_eq(kernel_case_count(&c.outputs[0]), 10 * 5 * 6);
    for (int64_t i = 0; i < 10 * 5 * 6; i++) {
        int64_t y = i / 30, x = i / 6 % 5, k = i % 6;
        double sum = kernel_case_real(&c.inputs[2], (size_t)k);

        for (int64_t t = 0; t < 3 * 2 * 4; t++) {
            int64_t in_y = y - 2 + t / 8, in_x = x * 2 - 1 + t / 4 % 2;

            if (in_y >= 0 && in_y < 9 && in_x >= 0 && in_x < 10)
                sum += nhwc_at(&c.inputs[0], is_nchw, 0, in_y, in_x, k / 2 * 4 + t % 4) *
                       kernel_case_real(&c.inputs[1], (size_t)(k * 24 + t));
        }
        ck_assert_double_eq_tol(nhwc_at(&c.outputs[0], is_nchw, 0, y, x, k), sum, 1e-5);
    }
    kernel_case_done(&c);
}

TEST(grouped_convolutions)
{
    check_grouped(false);
    check_grouped(true);
}
TEST_END

/* By the definition: every input cell adds to the outputs under its taps. */
static void check_transposed(bool is_nchw)
{
    const uint32_t nhwc[] = {1, 5, 6, 11}, nchw[] = {1, 11, 5, 6}, filter[] = {3, 4, 2, 11};
    static const int32_t arguments[] = {0, 1, 1, -1, 3, 2, 0};
    static double sums[12][16][3];

    begin(NNHAL_OP_TRANSPOSE_CONV_2D, &nn_kernels_direct_conv, F32, is_nchw ? nchw : nhwc);
    add_filter_and_bias(filter);
    for (size_t i = 0; i < 7; i++)
        kernel_case_i32(&c, arguments[i]);
    kernel_case_bool(&c, is_nchw);
    kernel_case_output(&c, F32);
    kernel_case_run(&c);
    ck_assert_uint_eq(kernel_case_count(&c.outputs[0]), 12 * 16 * 3);
    memset(sums, 0, sizeof(sums));
    for (int64_t i = 0; i < 5 * 6 * 11; i++) {
        int64_t y = i / 66, x = i / 11 % 6, d = i % 11;

        for (int64_t t = 0; t < 3 * 4 * 2; t++) {
            int64_t k = t / 8, out_y = y * 2 - 1 + t / 2 % 4, out_x = x * 3 + t % 2;

            if (out_y >= 0 && out_y < 12 && out_x >= 0 && out_x < 16)
                sums[out_y][out_x][k] += nhwc_at(&c.inputs[0], is_nchw, 0, y, x, d) *
                                         kernel_case_real(&c.inputs[1], (size_t)(t * 11 + d));
        }
    }
    for (int64_t i = 0; i < 12 * 16 * 3; i++) {
        int64_t y = i / 48, x = i / 3 % 16, k = i % 3;
        double bias = kernel_case_real(&c.inputs[2], (size_t)k);

        ck_assert_double_eq_tol(nhwc_at(&c.outputs[0], is_nchw, 0, y, x, k), sums[y][x][k] + bias,
                                1e-5);
    }
    kernel_case_done(&c);
}

TEST(transposed_convolutions)
{
    check_transposed(false);
    check_transposed(true);
}
TEST_END

/* Every pair of a tap and a cell that an axis has is found, once, for all numbers. */
TEST(taps_are_complete)
{
    for (int32_t numbers = 0; numbers < 4 * 3 * 3 * 4; numbers++) {
        struct nn_window window = {.input = 7,
                                   .filter = 1 + (uint32_t)numbers % 4,
                                   .stride = 1 + numbers / 4 % 3,
                                   .dilation = 1 + numbers / 12 % 3,
                                   .head = numbers / 36};

        for (size_t at = 0; at < 30; at++) {
            struct nn_taps taps = nn_direct_taps(&window, at);
            struct nn_taps turned = nn_transpose_taps(&window, at);
            size_t n = 0, n_turned = 0;

            for (int64_t t = 0; t < (int64_t)window.filter; t++) {
                int64_t cell = (int64_t)at * window.stride - window.head + t * window.dilation;
                int64_t place = (int64_t)at + window.head - t;

                n += cell >= 0 && cell < 7;
                n_turned += place >= 0 && place % window.stride == 0 && place / window.stride < 7;
            }
            ck_assert_uint_eq(taps.n, n);
            ck_assert_uint_eq(turned.n, n_turned);
            for (size_t i = 0; i < turned.n; i++) {
                int64_t tap = (int64_t)(turned.tap + i * turned.tap_step);
                int64_t cell = turned.cell + (int64_t)i * turned.cell_step;

                ck_assert(tap < (int64_t)window.filter && cell >= 0 && cell < 7);
                ck_assert_int_eq(tap + cell * window.stride, (int64_t)at + window.head);
            }
        }
    }
}
TEST_END

CHECK_MAIN("kernel-window", pools_of_deep_images, an_average_of_many_codes_does_not_overflow,
           an_average_of_signed_codes_rounds_away_from_zero, grouped_convolutions,
           transposed_convolutions, taps_are_complete)
