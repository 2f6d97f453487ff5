/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"

#include "support/check-main.h"

#include <math.h>
#include <string.h>

#define F32  NNHAL_TENSOR_FLOAT32
#define F16  NNHAL_TENSOR_FLOAT16
#define Q8   NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S  NNHAL_TENSOR_QUANT8_ASYMM_SIGNED
#define Q16A NNHAL_TENSOR_QUANT16_ASYMM

static struct kernel_case c;

/* A map of 2 batches, 4 x 4 pixels and 2 channels, in which pixel (y, x) of batch
 * b holds 100 b + 10 y + x, channel 1 the negative. */
static double pixel(uint32_t b, double y, double x, uint32_t k)
{
    return (100.0 * b + 10.0 * y + x) * (k ? -1.0 : 1.0);
}

static void add_map(bool is_nchw)
{
    float map[64];

    for (uint32_t i = 0; i < 64; i++) {
        uint32_t b = i / 32, rest = i % 32;
        uint32_t k = is_nchw ? rest / 16 : rest % 2, at = is_nchw ? rest % 16 : rest / 2;

        map[i] = (float)pixel(b, at / 4, at % 4, k);
    }
    if (is_nchw)
        kernel_case_tensor(&c, F32, 4, (uint32_t[]){2, 2, 4, 4}, map);
    else
        kernel_case_tensor(&c, F32, 4, (uint32_t[]){2, 4, 4, 2}, map);
}

static void roi(uint32_t operation, bool is_nchw, const float *boxes, uint32_t n,
                const int32_t *batches, int32_t size, int32_t ratio)
{
    kernel_case_init(&c, operation, &nn_kernels_roi);
    add_map(is_nchw);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){n, 4}, boxes);
    kernel_case_i32s(&c, n, batches);
    kernel_case_i32(&c, size);
    kernel_case_i32(&c, size);
    kernel_case_f32(&c, 2.0f);
    kernel_case_f32(&c, 2.0f);
    if (operation == NNHAL_OP_ROI_ALIGN) {
        kernel_case_i32(&c, ratio);
        kernel_case_i32(&c, ratio);
    }
    kernel_case_bool(&c, is_nchw);
    kernel_case_output(&c, F32);
}

static double result(bool is_nchw, uint32_t r, uint32_t i, uint32_t j, uint32_t k)
{
    uint32_t size = c.outputs[0].dims[2];
    size_t at = is_nchw ? ((r * 2 + k) * size + i) * size + j : ((r * size + i) * size + j) * 2 + k;

    return kernel_case_real(&c.outputs[0], at);
}

/* The map is a plane, so the mean of samples is the plane in their middle. */
TEST(align_samples_a_plane)
{
    const float boxes[] = {0, 0, 4, 4, 1, 2, 4, 5};

    for (int i = 0; i < 8; i++) {
        bool is_nchw = i & 1;
        int32_t size = 1 + (i >> 1 & 1), ratio = i >> 2 ? 2 : 0;

        roi(NNHAL_OP_ROI_ALIGN, is_nchw, boxes, 2, (int32_t[]){0, 1}, size, ratio);
        kernel_case_run(&c);
        for (uint32_t r = 0; r < 2; r++)
            for (uint32_t y = 0; y < (uint32_t)size; y++)
                for (uint32_t x = 0; x < (uint32_t)size; x++)
                    for (uint32_t k = 0; k < 2; k++) {
                        const float *box = boxes + r * 4;
                        double h = (double)(box[3] - box[1]) / 2 / size;
                        double w = (double)(box[2] - box[0]) / 2 / size;
                        double at_y = (double)box[1] / 2 + (y + 0.5) * h;
                        double at_x = (double)box[0] / 2 + (x + 0.5) * w;

                        ck_assert(fabs(result(is_nchw, r, y, x, k) - pixel(r, at_y, at_x, k)) <
                                  1e-3);
                    }
        kernel_case_done(&c);
    }
}
TEST_END

TEST(align_stays_in_the_map)
{
    roi(NNHAL_OP_ROI_ALIGN, false, (float[]){8, 8, 8, 8}, 1, (int32_t[]){1}, 2, 3);
    kernel_case_run(&c);
    for (uint32_t k = 0; k < 2; k++)
        ck_assert(result(false, 0, 1, 1, k) == pixel(1, 3, 3, k));
    kernel_case_done(&c);
}
TEST_END

TEST(align_stops_when_asked)
{
    roi(NNHAL_OP_ROI_ALIGN, false, (float[]){0, 0, 4, 4}, 1, (int32_t[]){0}, 1, INT32_MAX);
    c.is_stopped = true;
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_CANCELLED);
    kernel_case_done(&c);
}
TEST_END

TEST(align_of_no_region)
{
    roi(NNHAL_OP_ROI_ALIGN, false, NULL, 0, NULL, 2, 0);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].dims[0], 0);
    ck_assert_uint_eq(c.outputs[0].dims[3], 2);
    kernel_case_done(&c);
}
TEST_END

TEST(pooling_takes_the_largest)
{
    for (int is_nchw = 0; is_nchw < 2; is_nchw++) {
        roi(NNHAL_OP_ROI_POOLING, is_nchw, (float[]){0, 0, 6, 6, 2, 4, 2, 4}, 2, (int32_t[]){0, 1},
            2, 0);
        kernel_case_run(&c);
        /* All four columns and rows, in halves. */
        ck_assert(result(is_nchw, 0, 0, 0, 0) == pixel(0, 1, 1, 0));
        ck_assert(result(is_nchw, 0, 1, 1, 0) == pixel(0, 3, 3, 0));
        ck_assert(result(is_nchw, 0, 1, 1, 1) == pixel(0, 2, 2, 1));
        /* One pixel, in every cell. */
        for (uint32_t i = 0; i < 4; i++)
            ck_assert(result(is_nchw, 1, i / 2, i % 2, 0) == pixel(1, 2, 1, 0));
        kernel_case_done(&c);
    }
}
TEST_END

TEST(pooling_outside_is_zero)
{
    roi(NNHAL_OP_ROI_POOLING, false, (float[]){8, 8, 8, 8}, 1, (int32_t[]){1}, 1, 0);
    kernel_case_run(&c);
    ck_assert(result(false, 0, 0, 0, 0) == 0.0);
    kernel_case_done(&c);
}
TEST_END

TEST(regions_outside_are_refused)
{
    static const float wrong[][4] = {{-1, 0, 2, 2}, {0, 3, 2, 2}, {4, 0, 2, 2},
                                     {0, 0, 9, 2},  {0, 0, 2, 9}, {0, NAN, 2, 2}};
    static const uint32_t operations[] = {NNHAL_OP_ROI_ALIGN, NNHAL_OP_ROI_POOLING};

    for (int o = 0; o < 2; o++) {
        for (size_t i = 0; i < 6; i++) {
            roi(operations[o], false, wrong[i], 1, (int32_t[]){0}, 2, 0);
            ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
            kernel_case_done(&c);
        }
        for (int32_t batch = -1; batch < 3; batch += 3) {
            roi(operations[o], false, (float[]){0, 0, 2, 2}, 1, &batch, 2, 0);
            ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
            kernel_case_done(&c);
        }
    }
}
TEST_END

/* A uniform map gives the same code everywhere, in another scale. */
TEST(align_of_codes)
{
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        uint32_t type = is_signed ? Q8S : Q8;
        int32_t low = is_signed ? -128 : 0;
        uint8_t map[16];

        memset(map, 140 + low, sizeof(map));
        kernel_case_init(&c, NNHAL_OP_ROI_ALIGN, &nn_kernels_roi);
        kernel_case_tensor(&c, type, 4, (uint32_t[]){1, 4, 4, 1}, map)->zero_point = 100 + low;
        c.inputs[0].scale = 0.5f;
        kernel_case_tensor(&c, Q16A, 2, (uint32_t[]){1, 4}, (uint16_t[]){0, 0, 32, 32})->scale =
            0.125f;
        kernel_case_i32s(&c, 1, (int32_t[]){0});
        kernel_case_i32(&c, 2);
        kernel_case_i32(&c, 2);
        kernel_case_f32(&c, 1.0f);
        kernel_case_f32(&c, 1.0f);
        kernel_case_i32(&c, 0);
        kernel_case_i32(&c, 0);
        kernel_case_bool(&c, false);
        kernel_case_output(&c, type)->zero_point = 7 + low;
        kernel_case_run(&c);
        for (size_t i = 0; i < 4; i++)
            ck_assert(fabs(kernel_case_real(&c.outputs[0], i) - 20.0) <= 1.0);
        /* More than one step of output for a 255th of input: not defined. */
        c.outputs[0].scale = 1e-4f;
        ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- HEATMAP_MAX_KEYPOINT ---- */

static void heatmap(bool is_nchw, const float *map, const float *box)
{
    const uint32_t nhwc[4] = {1, 3, 3, 1}, nchw[4] = {1, 1, 3, 3};

    kernel_case_init(&c, NNHAL_OP_HEATMAP_MAX_KEYPOINT, &nn_kernels_heatmap);
    kernel_case_tensor(&c, F32, 4, is_nchw ? nchw : nhwc, map);
    kernel_case_tensor(&c, F32, 2, (uint32_t[]){1, 4}, box);
    kernel_case_bool(&c, is_nchw);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, F32);
}

TEST(keypoint_is_the_top_of_the_surface)
{
    /* 5 - (x - 1.25)^2 - 2 (y - 0.75)^2: its top is between pixels. */
    float map[9];

    for (int i = 0; i < 9; i++) {
        float y = (float)(i / 3) - 0.75f, x = (float)(i % 3) - 1.25f;

        map[i] = 5.0f - x * x - 2.0f * y * y;
    }
    for (int is_nchw = 0; is_nchw < 2; is_nchw++) {
        heatmap(is_nchw, map, (float[]){10, 20, 40, 80});
        kernel_case_run(&c);
        ck_assert(fabs(kernel_case_real(&c.outputs[0], 0) - 5.0) < 1e-4);
        ck_assert(fabs(kernel_case_real(&c.outputs[1], 0) - (10.0 + 1.75 / 3 * 30)) < 1e-3);
        ck_assert(fabs(kernel_case_real(&c.outputs[1], 1) - (20.0 + 1.25 / 3 * 60)) < 1e-3);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(keypoint_of_a_flat_map_is_its_first_pixel)
{
    const float flat[9] = {0};

    heatmap(false, flat, (float[]){0, 0, 3, 3});
    kernel_case_run(&c);
    ck_assert(kernel_case_real(&c.outputs[0], 0) == 0.0);
    ck_assert(fabs(kernel_case_real(&c.outputs[1], 0) - 0.5) < 1e-6);
    kernel_case_done(&c);
    heatmap(false, flat, (float[]){3, 0, 0, 3});
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
    kernel_case_done(&c);
}
TEST_END

CHECK_MAIN("kernel-roi", align_samples_a_plane, align_stays_in_the_map, align_stops_when_asked,
           align_of_no_region, pooling_takes_the_largest, pooling_outside_is_zero,
           regions_outside_are_refused, align_of_codes, keypoint_is_the_top_of_the_surface,
           keypoint_of_a_flat_map_is_its_first_pixel)
