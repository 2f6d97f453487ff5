/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"

#include "support/check-main.h"

#include <math.h>
#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32
#define F16 NNHAL_TENSOR_FLOAT16
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED

static struct kernel_case c;

struct resize {
    uint32_t n, h, w, k;
    int32_t out_h, out_w;
    bool is_nchw, aligns, has_half_pixels;
};

static struct resize pick(uint64_t *seed)
{
    uint32_t flags = kernel_case_below(seed, 3);

    return (struct resize){
        .n = 1 + kernel_case_below(seed, 2),
        .h = 1 + kernel_case_below(seed, 9),
        .w = 1 + kernel_case_below(seed, 9),
        .k = 1 + kernel_case_below(seed, 20),
        .out_h = 1 + (int32_t)kernel_case_below(seed, 13),
        .out_w = 1 + (int32_t)kernel_case_below(seed, 13),
        .is_nchw = kernel_case_below(seed, 2),
        .aligns = flags == 1,
        .has_half_pixels = flags == 2,
    };
}

static void run(uint32_t operation, uint32_t type, const struct resize *r, uint64_t *seed)
{
    void *elements = kernel_case_random(type, (size_t)r->n * r->h * r->w * r->k, seed);
    const uint32_t nhwc[4] = {r->n, r->h, r->w, r->k}, nchw[4] = {r->n, r->k, r->h, r->w};

    kernel_case_init(&c, operation, &nn_kernels_resize);
    kernel_case_tensor(&c, type, 4, r->is_nchw ? nchw : nhwc, elements);
    kernel_case_i32(&c, r->out_w);
    kernel_case_i32(&c, r->out_h);
    kernel_case_bool(&c, r->is_nchw);
    kernel_case_bool(&c, r->aligns);
    kernel_case_bool(&c, r->has_half_pixels);
    kernel_case_output(&c, type);
    kernel_case_run(&c);
    free(elements);
}

static size_t offset(const struct resize *r, const uint32_t *dims, uint32_t n, uint32_t y,
                     uint32_t x, uint32_t k)
{
    if (r->is_nchw)
        return ((size_t)(n * dims[1] + k) * dims[2] + y) * dims[3] + x;
    return ((size_t)(n * dims[1] + y) * dims[2] + x) * dims[3] + k;
}

/* Calls check for every element of the output. */
static void each(const struct resize *r, void (*check)(const struct resize *r, uint32_t n,
                                                       uint32_t y, uint32_t x, uint32_t k))
{
    for (uint32_t n = 0; n < r->n; n++)
        for (uint32_t y = 0; y < (uint32_t)r->out_h; y++)
            for (uint32_t x = 0; x < (uint32_t)r->out_w; x++)
                for (uint32_t k = 0; k < r->k; k++)
                    check(r, n, y, x, k);
}

/* Position of output i in input units, in double. */
static double position(const struct resize *r, uint32_t i, uint32_t in, int32_t out)
{
    if (r->aligns && out > 1)
        return i * (double)(in - 1) / (out - 1);
    return r->has_half_pixels ? (i + 0.5) * in / out - 0.5 : i * (double)in / out;
}

static double pixel(const struct resize *r, uint32_t n, double y, double x, uint32_t k)
{
    uint32_t at_y = (uint32_t)fmin(fmax(y, 0.0), r->h - 1);
    uint32_t at_x = (uint32_t)fmin(fmax(x, 0.0), r->w - 1);

    return kernel_case_real(&c.inputs[0], offset(r, c.inputs[0].dims, n, at_y, at_x, k));
}

static void check_bilinear(const struct resize *r, uint32_t n, uint32_t y, uint32_t x, uint32_t k)
{
    double at_y = fmin(fmax(position(r, y, r->h, r->out_h), 0.0), r->h - 1);
    double at_x = fmin(fmax(position(r, x, r->w, r->out_w), 0.0), r->w - 1);
    double fy = at_y - floor(at_y), fx = at_x - floor(at_x);
    double wanted = pixel(r, n, floor(at_y), floor(at_x), k) * (1 - fy) * (1 - fx) +
                    pixel(r, n, floor(at_y) + 1, floor(at_x), k) * fy * (1 - fx) +
                    pixel(r, n, floor(at_y), floor(at_x) + 1, k) * (1 - fy) * fx +
                    pixel(r, n, floor(at_y) + 1, floor(at_x) + 1, k) * fy * fx;
    double got = kernel_case_real(&c.outputs[0], offset(r, c.outputs[0].dims, n, y, x, k));
    uint32_t type = c.outputs[0].type;
    double most = type == F32 ? 1e-5 : type == F16 ? 2e-3 : 0.501;

    if (!(fabs(got - wanted) <= most))
        ck_abort_msg("%u %u %u %u is %g, not %g", n, y, x, k, got, wanted);
}

static void bilinear_of(uint32_t type)
{
    for (uint64_t i = 0; i < 150; i++) {
        uint64_t seed = i;
        struct resize r = pick(&seed);

        run(NNHAL_OP_RESIZE_BILINEAR, type, &r, &seed);
        each(&r, check_bilinear);
        kernel_case_done(&c);
    }
}

TEST(bilinear_f32)
{
    bilinear_of(F32);
}
TEST_END

TEST(bilinear_f16)
{
    bilinear_of(F16);
}
TEST_END

TEST(bilinear_u8_is_nearest_code)
{
    bilinear_of(Q8);
}
TEST_END

TEST(bilinear_s8_is_nearest_code)
{
    bilinear_of(Q8S);
}
TEST_END

static void check_nearest(const struct resize *r, uint32_t n, uint32_t y, uint32_t x, uint32_t k)
{
    double at_y = position(r, y, r->h, r->out_h), at_x = position(r, x, r->w, r->out_w);
    const struct kernel_operand *in = &c.inputs[0], *out = &c.outputs[0];
    size_t bytes = out->size / kernel_case_count(out);
    size_t to = offset(r, out->dims, n, y, x, k);
    bool is_found = false;

    if (r->has_half_pixels) {
        at_y += 0.5;
        at_x += 0.5;
    }
    if (r->aligns) {
        at_y = round(at_y);
        at_x = round(at_x);
    }
    /* Just below an integer, single precision may be at it. */
    for (int i = 0; i < 4; i++) {
        double slip_y = i & 1 ? 1e-5 : 0.0, slip_x = i & 2 ? 1e-5 : 0.0;
        uint32_t in_y = (uint32_t)fmin(floor(at_y + slip_y), r->h - 1);
        uint32_t in_x = (uint32_t)fmin(floor(at_x + slip_x), r->w - 1);
        size_t from = offset(r, in->dims, n, in_y, in_x, k);

        is_found |= !memcmp(out->data + to * bytes, in->data + from * bytes, bytes);
    }
    ck_assert(is_found);
}

TEST(nearest_neighbor)
{
    static const uint32_t types[] = {F32, F16, Q8, Q8S};

    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        struct resize r = pick(&seed);

        run(NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, types[i % 4], &r, &seed);
        each(&r, check_nearest);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(a_size_that_stays_copies)
{
    static const uint32_t types[] = {F32, F16, Q8, Q8S};

    for (uint64_t i = 0; i < 48; i++) {
        uint64_t seed = i;
        struct resize r = pick(&seed);

        r.out_h = (int32_t)r.h;
        r.out_w = (int32_t)r.w;
        run(i % 2 ? NNHAL_OP_RESIZE_BILINEAR : NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, types[i / 2 % 4],
            &r, &seed);
        ck_assert_int_eq(memcmp(c.outputs[0].data, c.inputs[0].data, c.inputs[0].size), 0);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(an_empty_batch_stays_empty)
{
    kernel_case_init(&c, NNHAL_OP_RESIZE_BILINEAR, &nn_kernels_resize);
    kernel_case_tensor(&c, F32, 4, (uint32_t[]){0, 2, 2, 3}, NULL);
    kernel_case_f32(&c, 1.6f);
    kernel_case_f32(&c, 2.0f);
    kernel_case_output(&c, F32);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].dims[0], 0);
    ck_assert_uint_eq(c.outputs[0].dims[1], 4);
    ck_assert_uint_eq(c.outputs[0].dims[2], 3);
    kernel_case_done(&c);
}
TEST_END

CHECK_MAIN("kernel-resize", bilinear_f32, bilinear_f16, bilinear_u8_is_nearest_code,
           bilinear_s8_is_nearest_code, nearest_neighbor, a_size_that_stays_copies,
           an_empty_batch_stays_empty)
