/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/plane-layout.h"

#include "base/cleanup.h"

#include "support/check-main.h"

#include <android/hardware_buffer.h>
#include <string.h>

#define CPU (AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN)
#define GPU AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE

static struct nn_plane_layout layout;

static int make(uint32_t format, uint32_t width, uint32_t height, uint32_t layers, uint64_t usage)
{
    const struct nnhal_hardware_buffer like = {
        .format = format, .width = width, .height = height, .layers = layers, .usage = usage};

    return nn_plane_layout_init(&like, &layout);
}

TEST(formats_have_the_strides_that_their_usages_ask_for)
{
    static const struct {
        uint32_t format, width, height;
        uint64_t usage;
        uint32_t stride;
        uint64_t size;
    } rows[] = {
        {AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 10, 3, CPU, 10, 120},
        {AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 10, 3, CPU | GPU, 16, 192},
        {AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM, 16, 1, GPU, 16, 64},
        {AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 224, 224, CPU, 224, 150528},
        {AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 65, 2, GPU, 128, 768},
        {AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM, 3, 2, CPU, 3, 12},
        {AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM, 3, 2, GPU, 32, 128},
        {AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT, 3, 1, CPU, 3, 24},
        {AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM, 3, 1, CPU, 3, 12},
        {AHARDWAREBUFFER_FORMAT_R8_UNORM, 7, 7, CPU, 7, 49},
        {AHARDWAREBUFFER_FORMAT_R8_UNORM, 7, 7, GPU, 64, 448},
        {AHARDWAREBUFFER_FORMAT_R16_UINT, 5, 2, CPU, 5, 20},
        {AHARDWAREBUFFER_FORMAT_R16G16_UINT, 5, 2, CPU, 5, 40},
        {AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 5, 3, CPU, 5, 27},
        {AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 5, 3, CPU | GPU, 64, 448},
        {AHARDWAREBUFFER_FORMAT_YCbCr_P010, 4, 2, CPU, 4, 24},
        {AHARDWAREBUFFER_FORMAT_BLOB, 4097, 1, CPU, 4097, 4097},
    };

    for (size_t i = 0; i < NN_N_ELEMENTS(rows); i++) {
        ck_assert_int_eq(make(rows[i].format, rows[i].width, rows[i].height, 1, rows[i].usage), 0);
        ck_assert_uint_eq(layout.buffer.stride, rows[i].stride);
        ck_assert_uint_eq(layout.buffer.size, rows[i].size);
        /* What is made here is believed elsewhere, in a file of just that size and no less. */
        ck_assert_int_eq(nn_plane_layout_check(&layout.buffer, rows[i].size), 0);
        ck_assert_int_eq(nn_plane_layout_check(&layout.buffer, rows[i].size - 1),
                         NN_PLANE_LAYOUT_E_INVALID);
    }
}
TEST_END

TEST(what_is_not_made_here_is_told_apart_from_what_is_malformed)
{
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8_UNORM, 0, 1, 1, CPU),
                     NN_PLANE_LAYOUT_E_INVALID);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8_UNORM, 1, 0, 1, CPU),
                     NN_PLANE_LAYOUT_E_INVALID);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8_UNORM, 1, 1, 0, CPU),
                     NN_PLANE_LAYOUT_E_INVALID);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_BLOB, 1, 2, 1, CPU), NN_PLANE_LAYOUT_E_INVALID);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_BLOB, 1, 1, 2, CPU), NN_PLANE_LAYOUT_E_INVALID);
    ck_assert_int_eq(
        make(AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, UINT32_MAX, UINT32_MAX, UINT32_MAX, CPU),
        NN_PLANE_LAYOUT_E_INVALID);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8_UNORM, UINT32_MAX, INT32_MAX, 1, CPU), 0);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8_UNORM, UINT32_MAX, INT32_MAX, 3, CPU),
                     NN_PLANE_LAYOUT_E_INVALID);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_D16_UNORM, 1, 1, 1, CPU),
                     NN_PLANE_LAYOUT_E_UNSUPPORTED);
    ck_assert_int_eq(make(0, 1, 1, 1, CPU), NN_PLANE_LAYOUT_E_UNSUPPORTED);
    ck_assert_int_eq(
        make(AHARDWAREBUFFER_FORMAT_R8_UNORM, 1, 1, 1, AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT),
        NN_PLANE_LAYOUT_E_UNSUPPORTED);
    ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8_UNORM, 1, 1, 1, UINT64_C(1) << 40),
                     NN_PLANE_LAYOUT_E_UNSUPPORTED);
}
TEST_END

/* A buffer as a client describes it, of 8 x 4 pixels of 4 bytes in 2 layers. */
static struct nnhal_buffer_plane plane;
static struct nnhal_hardware_buffer theirs;

static void describe(void)
{
    plane = (struct nnhal_buffer_plane){.offset = 16, .row_bytes = 40, .pixel_bytes = 4};
    theirs = (struct nnhal_hardware_buffer){
        .format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM,
        .width = 8,
        .height = 4,
        .layers = 2,
        .size = 400,
        .stride = 10,
        .n_planes = 1,
        .planes = &plane,
    };
}

#define SPOILT(change)                                                                             \
    do {                                                                                           \
        describe();                                                                                \
        change;                                                                                    \
        ck_assert_msg(nn_plane_layout_check(&theirs, 400) == NN_PLANE_LAYOUT_E_INVALID, #change);  \
    } while (0)

TEST(every_contradiction_of_a_description_is_found)
{
    describe();
    ck_assert_int_eq(nn_plane_layout_check(&theirs, 400), 0);
    SPOILT(theirs.format = 77);
    SPOILT(theirs.format = AHARDWAREBUFFER_FORMAT_BLOB);
    SPOILT(theirs.format = AHARDWAREBUFFER_FORMAT_R8_UNORM);
    SPOILT(theirs.format = AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT);
    SPOILT(theirs.width = 0);
    SPOILT(theirs.width = 11);
    SPOILT(theirs.width = UINT32_MAX);
    SPOILT(theirs.height = 0);
    SPOILT(theirs.height = 6);
    SPOILT(theirs.height = UINT32_MAX);
    SPOILT(theirs.layers = 0);
    SPOILT(theirs.layers = 3);
    SPOILT(theirs.layers = 4);
    SPOILT(theirs.layers = UINT32_MAX);
    SPOILT(theirs.size = 0);
    SPOILT(theirs.size = 401);
    SPOILT(theirs.size = 300);
    SPOILT(theirs.size = UINT64_MAX);
    SPOILT(theirs.stride = 0);
    SPOILT(theirs.stride = 8);
    SPOILT(theirs.stride = UINT32_MAX);
    SPOILT(theirs.n_planes = 0);
    SPOILT(theirs.n_planes = 3);
    SPOILT(theirs.n_planes = NNHAL_MAX_PLANES + 1);
    SPOILT(theirs.planes = NULL);
    SPOILT(plane.offset = 49);
    SPOILT(plane.offset = UINT64_MAX);
    SPOILT(plane.row_bytes = 0);
    SPOILT(plane.row_bytes = 31);
    SPOILT(plane.row_bytes = UINT32_MAX);
    SPOILT(plane.pixel_bytes = 0);
    SPOILT(plane.pixel_bytes = 8);
    SPOILT(plane.pixel_bytes = UINT32_MAX);
}
TEST_END

TEST(an_order_of_ones_own_is_judged_by_its_size)
{
    uint64_t offset, n_bytes;

    describe();
    theirs.modifier = UINT64_C(0x0100000000000001);
    plane.row_bytes = 1;
    theirs.stride = 0;
    ck_assert_int_eq(nn_plane_layout_check(&theirs, 400), 0);
    ck_assert(!nn_plane_layout_is_linear(&theirs));
    ck_assert(!nn_plane_layout_find_packed(&theirs, &offset, &n_bytes));
    ck_assert_int_eq(nn_plane_layout_check(&theirs, 399), NN_PLANE_LAYOUT_E_INVALID);
    plane.offset = 400;
    ck_assert_int_eq(nn_plane_layout_check(&theirs, 400), NN_PLANE_LAYOUT_E_INVALID);
}
TEST_END

TEST(pixels_without_gaps_are_a_view)
{
    uint64_t offset, n_bytes;

    for (uint32_t layers = 1; layers < 4; layers++) {
        ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 5, 4, layers, CPU), 0);
        ck_assert(nn_plane_layout_find_packed(&layout.buffer, &offset, &n_bytes));
        ck_assert_uint_eq(offset, 0);
        ck_assert_uint_eq(n_bytes, 60 * layers);
        ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 4, 4, layers, CPU), 0);
        ck_assert(nn_plane_layout_find_packed(&layout.buffer, &offset, &n_bytes));
        ck_assert_uint_eq(n_bytes, 24 * layers);
        ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_YCbCr_P010, 4, 4, layers, CPU), 0);
        ck_assert(nn_plane_layout_find_packed(&layout.buffer, &offset, &n_bytes));
        ck_assert_uint_eq(n_bytes, 48 * layers);
        ck_assert_int_eq(make(AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 5, 4, layers, CPU | GPU), 0);
        ck_assert(!nn_plane_layout_find_packed(&layout.buffer, &offset, &n_bytes));
    }
    describe();
    ck_assert(!nn_plane_layout_find_packed(&theirs, &offset, &n_bytes));
    /* One layer of one row begins where its plane does, with any layout behind it. */
    theirs.layers = theirs.height = 1;
    ck_assert(nn_plane_layout_find_packed(&theirs, &offset, &n_bytes));
    ck_assert_uint_eq(offset, 16);
    ck_assert_uint_eq(n_bytes, 32);
}
TEST_END

TEST(rows_are_gathered_and_spread)
{
    uint8_t pixels[400], back[400], dense[256];
    uint64_t n_bytes = 0;

    describe();
    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = (uint8_t)(i % 251);
    ck_assert(nn_plane_layout_find_dense(&theirs, &n_bytes));
    ck_assert_uint_eq(n_bytes, 2 * 4 * 32);
    nn_plane_layout_gather(&theirs, pixels, dense);
    memset(back, 0, sizeof(back));
    nn_plane_layout_spread(&theirs, dense, back);
    for (size_t i = 0; i < sizeof(back); i++) {
        size_t in_layer = i % 200, in_row = (in_layer - 16) % 40;
        bool is_pixel = in_layer >= 16 && in_layer < 16 + 4 * 40 && in_row < 32;

        ck_assert_uint_eq(back[i], is_pixel ? pixels[i] : 0);
    }
    ck_assert_mem_eq(dense + 5 * 32, pixels + 200 + 16 + 40, 32);
    theirs.modifier = 1;
    ck_assert(!nn_plane_layout_find_dense(&theirs, &n_bytes));
}
TEST_END

/* What a camera gives: 6 x 2 pixels in rows of 16 bytes, and the small planes in one of many places. */
static struct nnhal_buffer_plane camera_planes[3];

static const struct nnhal_hardware_buffer *camera(struct nnhal_buffer_plane b,
                                                  struct nnhal_buffer_plane r)
{
    camera_planes[0] = (struct nnhal_buffer_plane){.row_bytes = 16, .pixel_bytes = 1};
    camera_planes[1] = b;
    camera_planes[2] = r;
    theirs = (struct nnhal_hardware_buffer){
        .format = AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420,
        .width = 6,
        .height = 2,
        .layers = 2,
        .size = 200,
        .stride = 16,
        .n_planes = 3,
        .planes = camera_planes,
    };
    ck_assert_int_eq(nn_plane_layout_check(&theirs, 200), 0);
    return &theirs;
}

TEST(planes_follow_each_other_as_they_lie)
{
    static const struct {
        struct nnhal_buffer_plane b, r;
        uint8_t first[6]; /* of the bytes behind the full plane */
    } rows[] = {
        {{40, 8, 1}, {50, 8, 1}, {40, 41, 42, 50, 51, 52}}, /* I420 */
        {{50, 8, 1}, {40, 8, 1}, {40, 41, 42, 50, 51, 52}}, /* YV12 */
        {{40, 8, 2}, {41, 8, 2}, {40, 41, 42, 43, 44, 45}}, /* NV12 */
        {{41, 8, 2}, {40, 8, 2}, {40, 41, 42, 43, 44, 45}}, /* NV21 */
    };
    uint8_t pixels[200], dense[36], back[200];
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = (uint8_t)i;
    for (size_t i = 0; i < NN_N_ELEMENTS(rows); i++) {
        const struct nnhal_hardware_buffer *buffer = camera(rows[i].b, rows[i].r);

        ck_assert(nn_plane_layout_find_dense(buffer, &n_bytes));
        ck_assert_uint_eq(n_bytes, sizeof(dense));
        nn_plane_layout_gather(buffer, pixels, dense);
        ck_assert_mem_eq(dense, pixels, 6);
        ck_assert_mem_eq(dense + 6, pixels + 16, 6);
        ck_assert_mem_eq(dense + 12, rows[i].first, 6);
        ck_assert_mem_eq(dense + 18, pixels + 100, 6); /* the next layer */
        memset(back, 0, sizeof(back));
        nn_plane_layout_spread(buffer, dense, back);
        nn_plane_layout_gather(buffer, back, pixels);
        ck_assert_mem_eq(pixels, dense, sizeof(dense));
        for (size_t k = 0; k < sizeof(pixels); k++)
            pixels[k] = (uint8_t)k;
        ck_assert_uint_eq(back[6], 0);
        ck_assert_uint_eq(back[39], 0);
    }
}
TEST_END

TEST(samples_in_no_one_order_are_not_gathered)
{
    static const struct nnhal_buffer_plane pairs[][2] = {
        {{40, 16, 3}, {60, 16, 3}}, /* gaps within rows */
        {{40, 16, 2}, {42, 16, 2}}, /* of other distance */
        {{40, 16, 2}, {41, 20, 2}}, /* of other rows */
        {{8, 8, 1}, {60, 8, 1}},    /* in the first plane */
        {{40, 8, 1}, {42, 8, 1}},   /* in each other */
    };
    uint64_t n_bytes;

    for (size_t i = 0; i < NN_N_ELEMENTS(pairs); i++)
        ck_assert(!nn_plane_layout_find_dense(camera(pairs[i][0], pairs[i][1]), &n_bytes));
    /* Rows of two planes that take turns. */
    camera((struct nnhal_buffer_plane){40, 8, 1}, (struct nnhal_buffer_plane){44, 8, 1});
    theirs.height = 3;
    theirs.size = 2 * 60;
    ck_assert_int_eq(nn_plane_layout_check(&theirs, 200), 0);
    ck_assert(!nn_plane_layout_find_dense(&theirs, &n_bytes));
}
TEST_END

CHECK_MAIN("layout", rows_are_gathered_and_spread, planes_follow_each_other_as_they_lie,
           samples_in_no_one_order_are_not_gathered,
           formats_have_the_strides_that_their_usages_ask_for,
           what_is_not_made_here_is_told_apart_from_what_is_malformed,
           every_contradiction_of_a_description_is_found,
           an_order_of_ones_own_is_judged_by_its_size, pixels_without_gaps_are_a_view)
