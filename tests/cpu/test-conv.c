/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D and DEPTHWISE_CONV_2D against naive references on random shapes:
 * float within a bound of a sum in double, 8 bits exactly; both layouts,
 * padding, stride, dilation, per-channel filters, filters that are not
 * constant. Every instruction set gives the same bits for 8 bits, and for float where
 * nothing is fused; any number of threads gives the same bits. */
#include "cpu/builder.h"
#include "support/check-main.h"

#include "base/cleanup.h"
#include "drivers/cpu/kernels/common/fixed-point.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 5 << 20, MAX_CHANNELS = 144 };

/* One random convolution; sizes are chosen so that buffers of MAX elements do. */
struct problem {
    bool is_depthwise, is_nchw, is_constant, is_signed, is_per_channel, is_float;
    bool is_long; /* sums of so many products that a bound says little */
    int32_t n, h, w, ci, co, fh, fw, multiplier;
    int32_t pad[4]; /* left, right, top, bottom */
    int32_t stride_w, stride_h, dilation_w, dilation_h;
    int32_t oh, ow;
    int32_t zero_in, zero_filter, zero_out;
    float scale_in, scale_filter, scale_out;
    float channel_scales[MAX_CHANNELS];
};

static union {
    float f32[MAX];
    uint8_t q8[MAX];
} input, filter, output[3];
static union {
    float f32[MAX_CHANNELS];
    int32_t i32[MAX_CHANNELS];
} bias;

static int32_t window_cells(int32_t taps, int32_t dilation)
{
    return (taps - 1) * dilation + 1;
}

/* Half of the depthwise problems have numbers of channels that vectors are cut from in different
 * ways: parts of a vector, several, several and a part. */
static void choose_channels(struct problem *p, uint32_t *seed)
{
    static const int32_t counts[] = {8, 16, 24, 32, 33, 48, 64, 72, 96, 128, 130, 144};

    p->ci = builder_random_int(seed, 1, 20);
    p->multiplier = builder_random_int(seed, 1, 3);
    if (p->is_depthwise && builder_random_int(seed, 0, 1)) {
        p->ci = counts[builder_random_int(seed, 0, NN_N_ELEMENTS(counts) - 1)];
        p->multiplier = 1;
    }
    p->co = p->is_depthwise ? p->ci * p->multiplier : builder_random_int(seed, 1, 40);
    if (!p->is_depthwise && builder_random_int(seed, 0, 3) == 0)
        p->co = builder_random_int(seed, 64, MAX_CHANNELS);
}

/* A single position: all that a convolution behind a pooling has. */
static void choose_point(struct problem *p)
{
    p->n = p->h = p->w = p->fh = p->fw = 1;
}

static bool choose(struct problem *p, uint32_t *seed)
{
    p->is_nchw = builder_random_int(seed, 0, 3) == 0;
    p->is_constant = builder_random_int(seed, 0, 3) != 0;
    p->is_signed = builder_random_int(seed, 0, 1);
    p->is_per_channel = builder_random_int(seed, 0, 2) == 0;
    p->n = builder_random_int(seed, 1, 2);
    p->h = builder_random_int(seed, 1, 14);
    p->w = builder_random_int(seed, 1, 14);
    choose_channels(p, seed);
    p->fh = builder_random_int(seed, 1, 4);
    p->fw = builder_random_int(seed, 1, 4);
    if (builder_random_int(seed, 0, 7) == 0)
        choose_point(p);
    p->stride_w = builder_random_int(seed, 1, 3);
    p->stride_h = builder_random_int(seed, 1, 3);
    p->dilation_w = builder_random_int(seed, 1, 2);
    p->dilation_h = builder_random_int(seed, 1, 2);
    for (int i = 0; i < 4; i++) {
        int32_t cells = i < 2 ? window_cells(p->fw, p->dilation_w)
                              : window_cells(p->fh, p->dilation_h);

        p->pad[i] = builder_random_int(seed, 0, cells - 1);
    }
    p->ow = p->w + p->pad[0] + p->pad[1] - window_cells(p->fw, p->dilation_w);
    p->oh = p->h + p->pad[2] + p->pad[3] - window_cells(p->fh, p->dilation_h);
    if (p->ow < 0 || p->oh < 0)
        return false;
    p->ow = p->ow / p->stride_w + 1;
    p->oh = p->oh / p->stride_h + 1;
    p->scale_in = 0.02f;
    p->scale_filter = 0.05f;
    p->scale_out = builder_random_float(seed, 0.02f, 0.4f);
    p->zero_in = builder_random_int(seed, 0, 255) - (p->is_signed ? 128 : 0);
    p->zero_out = builder_random_int(seed, 0, 255) - (p->is_signed ? 128 : 0);
    p->zero_filter = p->is_per_channel
                         ? 0
                         : builder_random_int(seed, 0, 255) - (p->is_signed ? 128 : 0);
    for (int i = 0; i < MAX_CHANNELS; i++)
        p->channel_scales[i] = builder_random_float(seed, 0.01f, 0.1f);
    return true;
}

static size_t data_index(const struct problem *p, int32_t h, int32_t w, int32_t c, int32_t n,
                         int32_t y, int32_t x, int32_t k)
{
    if (p->is_nchw)
        return (size_t)(((n * c + k) * h + y) * w + x);
    return (size_t)(((n * h + y) * w + x) * c + k);
}

static size_t filter_index(const struct problem *p, int32_t oc, int32_t ty, int32_t tx, int32_t k)
{
    if (p->is_depthwise)
        return (size_t)((ty * p->fw + tx) * p->co + oc);
    return (size_t)(((oc * p->fh + ty) * p->fw + tx) * p->ci + k);
}

static int32_t quantized(const uint8_t *bytes, size_t i, bool is_signed)
{
    return is_signed ? (int8_t)bytes[i] : bytes[i];
}

/* Calls each product of one output: its input and filter elements. */
struct sum {
    double real;
    float fused, plain; /* what one chain of products in order makes */
    int32_t exact;
};

static struct sum sum_of(const struct problem *p, int32_t n, int32_t oy, int32_t ox, int32_t oc)
{
    float first_f32 = p->is_float ? bias.f32[oc] : 0;
    struct sum sum = {first_f32, first_f32, first_f32, p->is_float ? 0 : bias.i32[oc]};
    int32_t first = p->is_depthwise ? oc / p->multiplier : 0;
    int32_t end = p->is_depthwise ? first + 1 : p->ci;

    for (int32_t ty = 0; ty < p->fh; ty++) {
        for (int32_t tx = 0; tx < p->fw; tx++) {
            int32_t y = oy * p->stride_h - p->pad[2] + ty * p->dilation_h;
            int32_t x = ox * p->stride_w - p->pad[0] + tx * p->dilation_w;

            for (int32_t k = first; k < end && y >= 0 && y < p->h && x >= 0 && x < p->w; k++) {
                size_t i = data_index(p, p->h, p->w, p->ci, n, y, x, k);
                size_t f = filter_index(p, oc, ty, tx, k);

                if (p->is_float) {
                    sum.real += (double)input.f32[i] * filter.f32[f];
                    sum.fused = fmaf(input.f32[i], filter.f32[f], sum.fused);
                    sum.plain += input.f32[i] * filter.f32[f];
                } else
                    sum.exact += (quantized(input.q8, i, p->is_signed) - p->zero_in) *
                                 (quantized(filter.q8, f, p->is_signed || p->is_per_channel) -
                                  p->zero_filter);
            }
        }
    }
    return sum;
}

static void check_one(const struct problem *p, int32_t n, int32_t oy, int32_t ox, int32_t oc)
{
    struct sum sum = sum_of(p, n, oy, ox, oc);
    size_t at = data_index(p, p->oh, p->ow, p->co, n, oy, ox, oc);
    float scale = p->is_per_channel ? p->channel_scales[oc] : p->scale_filter;
    int32_t low = p->is_signed ? -128 : 0, want;
    double product;

    if (p->is_long && p->is_float) {
        ck_assert(output[0].f32[at] == sum.fused || output[0].f32[at] == sum.plain);
        return;
    }
    if (p->is_float) {
        ck_assert_double_le(fabs(output[0].f32[at] - sum.real), 1e-4);
        return;
    }
    /* TensorFlow Lite multiplies the scales in double for int8, in float for uint8. */
    product = p->is_signed ? (double)p->scale_in * (double)scale : (double)(p->scale_in * scale);
    want = nn_multiplier_apply(sum.exact, nn_multiplier_make(product / (double)p->scale_out));
    want = nn_clamp_i32(want + p->zero_out, low, low + 255);
    ck_assert_int_eq(quantized(output[0].q8, at, p->is_signed), want);
}

static void check_all(const struct problem *p)
{
    for (int32_t n = 0; n < p->n; n++)
        for (int32_t y = 0; y < p->oh; y++)
            for (int32_t x = 0; x < p->ow; x++)
                for (int32_t c = 0; c < p->co; c++)
                    check_one(p, n, y, x, c);
}

static void fill(const struct problem *p, uint32_t *seed)
{
    int n_in = p->n * p->h * p->w * p->ci, n_filter = p->co * p->fh * p->fw * p->ci;

    ck_assert_int_le(n_in > n_filter ? n_in : n_filter, MAX);
    for (int i = 0; i < (n_in > n_filter ? n_in : n_filter); i++) {
        if (p->is_float) {
            input.f32[i] = builder_random_float(seed, -1, 1);
            filter.f32[i] = builder_random_float(seed, -1, 1);
        } else {
            input.q8[i] = (uint8_t)builder_random(seed);
            filter.q8[i] = (uint8_t)builder_random(seed);
        }
    }
    for (int i = 0; i < MAX_CHANNELS; i++) {
        if (p->is_float)
            bias.f32[i] = builder_random_float(seed, -1, 1);
        else
            bias.i32[i] = builder_random_int(seed, -3000, 3000);
    }
}

/* Adds input, filter and bias; returns how many inputs the model has. */
static uint32_t add_tensors(struct builder *b, const struct problem *p, uint32_t *operands)
{
    uint32_t type = p->is_float    ? NNHAL_TENSOR_FLOAT32
                    : p->is_signed ? NNHAL_TENSOR_QUANT8_ASYMM_SIGNED
                                   : NNHAL_TENSOR_QUANT8_ASYMM;
    bool has_channels = !p->is_float && p->is_per_channel;
    uint32_t filter_type = has_channels ? NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL : type;
    uint32_t bias_type = p->is_float ? NNHAL_TENSOR_FLOAT32 : NNHAL_TENSOR_INT32;
    uint32_t nhwc[] = {(uint32_t)p->n, (uint32_t)p->h, (uint32_t)p->w, (uint32_t)p->ci};
    uint32_t nchw[] = {nhwc[0], nhwc[3], nhwc[1], nhwc[2]};
    uint32_t f[] = {p->is_depthwise ? 1 : (uint32_t)p->co, (uint32_t)p->fh, (uint32_t)p->fw,
                    (uint32_t)(p->is_depthwise ? p->co : p->ci)};
    uint32_t co = (uint32_t)p->co;
    float scale = p->is_float ? 0 : p->scale_filter;
    float bias_scale = p->is_float || has_channels ? 0 : p->scale_in * p->scale_filter;
    size_t element = p->is_float ? 4 : 1, n_filter = (size_t)f[0] * f[1] * f[2] * f[3];

    operands[0] = builder_input(b, 0, type, 4, p->is_nchw ? nchw : nhwc,
                                p->is_float ? 0 : p->scale_in, p->is_float ? 0 : p->zero_in);
    if (p->is_constant) {
        operands[1] = builder_constant(b, 0, filter_type, 4, f, has_channels ? 0 : scale,
                                       p->is_float ? 0 : p->zero_filter, &filter,
                                       n_filter * element, 1);
        operands[2] = builder_constant(b, 0, bias_type, 1, &co, bias_scale, 0, &bias, co * 4, 0);
    } else {
        operands[1] = builder_input(b, 0, filter_type, 4, f, has_channels ? 0 : scale,
                                    p->is_float ? 0 : p->zero_filter);
        operands[2] = builder_input(b, 0, bias_type, 1, &co, bias_scale, 0);
    }
    if (has_channels) {
        struct nnhal_operand *operand = &b->graphs[0].operands[operands[1]];

        operand->extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
        operand->channel_quant = (struct nnhal_channel_quant){p->is_depthwise ? 3 : 0, co,
                                                              p->channel_scales};
    }
    return p->is_constant ? 1 : 3;
}

static void build(struct builder *b, const struct problem *p)
{
    uint32_t type = p->is_float    ? NNHAL_TENSOR_FLOAT32
                    : p->is_signed ? NNHAL_TENSOR_QUANT8_ASYMM_SIGNED
                                   : NNHAL_TENSOR_QUANT8_ASYMM;
    uint32_t nhwc[] = {(uint32_t)p->n, (uint32_t)p->oh, (uint32_t)p->ow, (uint32_t)p->co};
    uint32_t nchw[] = {nhwc[0], nhwc[3], nhwc[1], nhwc[2]};
    uint32_t operands[16], n = 3, out;

    add_tensors(b, p, operands);
    for (int i = 0; i < 4; i++)
        operands[n++] = builder_i32(b, 0, p->pad[i]);
    operands[n++] = builder_i32(b, 0, p->stride_w);
    operands[n++] = builder_i32(b, 0, p->stride_h);
    if (p->is_depthwise)
        operands[n++] = builder_i32(b, 0, p->multiplier);
    operands[n++] = builder_i32(b, 0, NNHAL_FUSED_NONE);
    operands[n++] = builder_bool(b, 0, p->is_nchw);
    operands[n++] = builder_i32(b, 0, p->dilation_w);
    operands[n++] = builder_i32(b, 0, p->dilation_h);
    out = builder_output(b, 0, type, 4, p->is_nchw ? nchw : nhwc, p->is_float ? 0 : p->scale_out,
                         p->is_float ? 0 : p->zero_out);
    builder_operation(b, 0, p->is_depthwise ? NNHAL_OP_DEPTHWISE_CONV_2D : NNHAL_OP_CONV_2D, n,
                      operands, 1, &out);
}

static void run_with(const struct problem *p, const char *isa, unsigned n_threads, void *out)
{
    size_t element = p->is_float ? 4 : 1;
    struct builder_run run;
    struct builder b;
    void *prepared;
    uint32_t status;

    setenv("NNHAL_CPU_ISA", isa, 1);
    builder_init(&b, n_threads);
    build(&b, p);
    prepared = builder_prepare(&b);
    builder_run_init(&run, &b);
    builder_run_input(&run, 0, &input, (size_t)(p->n * p->h * p->w * p->ci) * element);
    if (!p->is_constant) {
        builder_run_input(&run, 1, &filter, (size_t)MAX * element);
        builder_run_input(&run, 2, &bias, sizeof(bias));
    }
    builder_run_output(&run, 0, out, sizeof(output[0]));
    status = b.driver->execute(prepared, &run.execution);
    ck_assert_msg(status == NNHAL_NONE, "execute: %u (%s)", status, b.why);
    b.driver->release(prepared);
    builder_done(&b);
}

static void try_problems(bool is_depthwise, bool is_float, uint32_t seed, int n_rounds)
{
    static const char *const sets[] = {"c", "avx2", "avx512", "vnni"};

    for (int i = 0; i < n_rounds;) {
        struct problem p = {.is_depthwise = is_depthwise, .is_float = is_float};
        size_t n_bytes;

        if (!choose(&p, &seed))
            continue;
        fill(&p, &seed);
        n_bytes = (size_t)(p.n * p.oh * p.ow * p.co) * (is_float ? 4 : 1);
        if (i % 2)
            setenv("NNHAL_CPU_EXACT", "float", 1);
        else
            unsetenv("NNHAL_CPU_EXACT");
        for (size_t k = 0; k < NN_N_ELEMENTS(sets); k++) {
            run_with(&p, sets[k], 1, &output[0]);
            run_with(&p, sets[k], 2 + (unsigned)k % 2, &output[1]);
            check_all(&p);
            ck_assert(memcmp(&output[0], &output[1], n_bytes) == 0);
            if (k == 0)
                memcpy(&output[2], &output[0], n_bytes);
            else if (!is_float || i % 2)
                ck_assert(memcmp(&output[0], &output[2], n_bytes) == 0);
        }
        i++;
    }
}

TEST(conv_float_is_close_to_double)
{
    try_problems(false, true, 1, 40);
}
TEST_END

TEST(conv_quantized_is_exact)
{
    try_problems(false, false, 2, 60);
}
TEST_END

TEST(depthwise_float_is_close_to_double)
{
    try_problems(true, true, 3, 40);
}
TEST_END

TEST(depthwise_quantized_is_exact)
{
    try_problems(true, false, 4, 60);
}
TEST_END

/* Large enough for several threads to have chunks: bits must not depend on who takes them. */
TEST(threads_do_not_change_bits)
{
    struct problem p = {.is_float = true,
                        .is_constant = true,
                        .n = 1,
                        .h = 26,
                        .w = 26,
                        .ci = 64,
                        .co = 64,
                        .fh = 3,
                        .fw = 3,
                        .multiplier = 1,
                        .pad = {1, 1, 1, 1},
                        .stride_w = 1,
                        .stride_h = 1,
                        .dilation_w = 1,
                        .dilation_h = 1,
                        .oh = 26,
                        .ow = 26};
    uint32_t seed = 5;

    fill(&p, &seed);
    for (int i = 0; i < 5; i++) {
        for (unsigned t = 0; t < 3; t++)
            run_with(&p, "avx512", t + 1, &output[t]);
        ck_assert(memcmp(&output[0], &output[1], 26 * 26 * 64 * 4) == 0);
        ck_assert(memcmp(&output[0], &output[2], 26 * 26 * 64 * 4) == 0);
    }
}
TEST_END

static void try_long(struct problem p, uint32_t seed)
{
    static const char *const sets[] = {"c", "avx2", "avx512", "vnni"};

    fill(&p, &seed);
    for (size_t k = 0; k < NN_N_ELEMENTS(sets); k++) {
        run_with(&p, sets[k], 1 + (unsigned)k % 2, &output[0]);
        check_all(&p);
    }
}

/* Sums that are made in parts: of rows of the filter, of taps of a row, of elements of a tap. */
TEST(long_sums_are_those_of_one_chain)
{
    static const struct problem problems[] = {
        {.h = 301, .w = 460, .ci = 1, .co = 3, .fh = 300, .fw = 460, .oh = 2, .ow = 1},
        {.h = 2, .w = 140000, .ci = 1, .co = 3, .fh = 2, .fw = 70000, .oh = 1, .ow = 2},
        {.h = 1, .w = 2, .ci = 140001, .co = 35, .fh = 1, .fw = 1, .oh = 1, .ow = 2},
        {.h = 1, .w = 14, .ci = 140001, .co = 3, .fh = 1, .fw = 1, .oh = 1, .ow = 14},
    };

    unsetenv("NNHAL_CPU_EXACT");
    for (uint32_t i = 0; i < 6 * NN_N_ELEMENTS(problems); i++) {
        struct problem p = problems[i / 6];

        p.is_long = true;
        p.n = p.stride_h = p.stride_w = p.dilation_h = p.multiplier = 1;
        p.dilation_w = p.fw == 70000 ? 2 : 1;
        p.is_constant = i % 2 == 0;
        p.is_float = i % 6 < 2;
        p.is_signed = i % 6 >= 4;
        p.scale_in = 0.02f;
        p.scale_filter = 0.05f;
        p.scale_out = 2000.0f;
        p.zero_in = p.is_signed ? -3 : 130;
        p.zero_filter = p.is_signed ? 0 : 120;
        p.zero_out = p.is_signed ? 0 : 128;
        try_long(p, i + 1);
    }
}
TEST_END

CHECK_MAIN("conv", conv_float_is_close_to_double, conv_quantized_is_exact,
           depthwise_float_is_close_to_double, depthwise_quantized_is_exact,
           threads_do_not_change_bits, long_sums_are_those_of_one_chain)
