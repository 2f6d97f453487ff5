/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of 8 bits with vectors, for one filter per channel.
 *
 * The data of a block of channels under a group of taps is interleaved, so that one instruction
 * multiplies and adds all taps of the group (vector-i32.h). Interleaving works within 128 bits, and
 * so does packing the results: sums, bias and scales live in the order between the two
 * (lane_channel()).
 *
 * Each position has a pointer for each tap; taps beyond the edge point at a row of zero points,
 * those that fill up a group have weights of 0. Where a block is a multiple of the channels and
 * the stride is 1, the next positions follow in memory under every tap: one vector serves all of
 * them.
 *
 * Zero points are treated as in gemm-simd.h; where packed weights keep one, the sum of the bytes
 * comes from a second multiplication. For constant filters and uint8 data in [N,H,W,C] alone. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/requantize.h"
#include "drivers/cpu/kernels/conv/conv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = NN_LANES_I32,
    GROUP = NN_SIMD_GROUP,      /* taps */
    VECTORS = GROUP,            /* of sums of a block */
    CHANNELS = VECTORS * LANES, /* of a block */
    MAX_TAPS = 128,
    HEAD_BYTES = 64, /* of the weights: zero points */
    CONSTANT_BYTES = CHANNELS * NN_REQUANTIZE_BYTES,
};

struct depthwise_simd_params {
    struct nn_conv_shape shape;
    int32_t low, high;
};

/* ---- the packed form ---- */

static size_t count_groups(const uint32_t *filter)
{
    return ((size_t)filter[1] * filter[2] + GROUP - 1) / GROUP;
}

static size_t count_blocks(size_t n_channels)
{
    return (n_channels + CHANNELS - 1) / CHANNELS;
}

/* Of a block: the constants of its channels, then its weights. */
static size_t block_bytes(size_t n_groups)
{
    return CONSTANT_BYTES + n_groups * GROUP * CHANNELS * sizeof(nn_simd_weight);
}

/* The channel of a block that lane i of vector v holds. */
static size_t lane_channel(size_t v, size_t i)
{
    return i / 4 * 4 * VECTORS + v * 4 + i % 4;
}

/* How many positions one vector covers. */
static size_t count_positions(size_t n_channels)
{
    return n_channels && CHANNELS % n_channels == 0 ? CHANNELS / n_channels : 1;
}

/* What there is to pack. */
struct depthwise_source {
    const uint8_t *weights; /* [taps][channels] */
    const int32_t *bias;
    const struct nn_multiplier *multipliers;
    size_t n_taps, n_channels;
    bool is_signed;
    int32_t weight_zero, input_zero, output_zero;
    int32_t shift; /* taken from each weight so that it fits a signed byte */
};

static int32_t weight_at(const struct depthwise_source *source, size_t tap, size_t channel)
{
    uint8_t code = source->weights[tap * source->n_channels + channel];

    return source->is_signed ? (int8_t)code : code;
}

static int32_t find_shift(const struct depthwise_source *source)
{
    for (size_t t = 0; sizeof(nn_simd_weight) == 1 && t < source->n_taps; t++)
        for (size_t c = 0; c < source->n_channels; c++) {
            int32_t w = weight_at(source, t, c) - source->weight_zero;

            if (w < INT8_MIN || w > INT8_MAX)
                return source->is_signed ? 0 : 128;
        }
    return source->weight_zero;
}

/* Vector v, lane i of a block, which is channel c. Returns: false if its multiplier is too large. */
static bool lane_pack(const struct depthwise_source *source, uint8_t *block, size_t v, size_t i,
                      size_t c)
{
    struct nn_requantize r = nn_requantize_at(block, CHANNELS);
    nn_simd_weight *weights = (void *)(block + CONSTANT_BYTES);
    int32_t zero = source->weight_zero - source->shift;
    /* The taps that fill up the last group have input zero points, but no weight. */
    int64_t sum = -(int64_t)(-source->n_taps % GROUP) * zero;

    for (size_t t = 0; t < source->n_taps; t++) {
        int32_t w = weight_at(source, t, c) - source->shift;

        weights[(t / GROUP * VECTORS + v) * LANES * GROUP + i * GROUP + t % GROUP] =
            (nn_simd_weight)w;
        sum += w - zero;
    }
    if (!nn_requantize_fits(source->multipliers[c]))
        return false;
    if (sizeof(nn_simd_weight) != 1)
        sum = 0; /* data loses its zero point when it is widened */
    nn_requantize_set(&r, v * LANES + i, (int32_t)(source->bias[c] - source->input_zero * sum),
                      source->multipliers[c], source->output_zero);
    return true;
}

static bool pack_all(const struct depthwise_source *source, uint8_t *to, size_t n_groups)
{
    int32_t zero = source->weight_zero - source->shift;
    /* A block of fewer channels repeats them for the positions that follow. */
    size_t n_repeated = count_positions(source->n_channels) > 1 ? CHANNELS : source->n_channels;

    memcpy(to, &zero, sizeof(zero));
    for (size_t b = 0; b < count_blocks(source->n_channels); b++)
        for (size_t v = 0; v < VECTORS; v++)
            for (size_t i = 0; i < LANES; i++) {
                size_t c = b * CHANNELS + lane_channel(v, i);

                if (c < n_repeated &&
                    !lane_pack(source, to + HEAD_BYTES + b * block_bytes(n_groups), v, i,
                               c % source->n_channels))
                    return false;
            }
    return true;
}

/* ---- lowering ---- */

static bool find_weights_bytes(const uint32_t *filter, size_t *ret_bytes)
{
    return nn_mul_size(count_blocks(filter[3]), block_bytes(count_groups(filter)), ret_bytes) &&
           nn_add_size(*ret_bytes, HEAD_BYTES, ret_bytes);
}

/* The row of zero points. */
static size_t edge_bytes(size_t n_channels)
{
    return (n_channels + 2 * CHANNELS - 1) / CHANNELS * CHANNELS;
}

static int lower_weights(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    size_t n_channels = filter->dims[3], n_bytes;
    struct nn_multiplier *multipliers = calloc(n_channels, sizeof(*multipliers));
    struct depthwise_source source = {.weights = filter->value,
                                      .bias = lower->inputs[NN_CONV_BIAS].value,
                                      .multipliers = multipliers,
                                      .n_taps = (size_t)filter->dims[1] * filter->dims[2],
                                      .n_channels = n_channels,
                                      .is_signed = filter->type != NNHAL_TENSOR_QUANT8_ASYMM,
                                      .weight_zero = filter->zero_point,
                                      .input_zero = lower->inputs[NN_CONV_INPUT].zero_point,
                                      .output_zero = lower->outputs[0].zero_point};
    uint8_t *block = NULL;
    int r = -ENOMEM;

    if (multipliers && find_weights_bytes(filter->dims, &n_bytes)) {
        nn_conv_multipliers(lower, multipliers, n_channels);
        source.shift = find_shift(&source);
        block = nn_lower_weights(lower, n_bytes);
    }
    if (block)
        r = pack_all(&source, block, count_groups(filter->dims)) ? 0 : NN_KERNEL_E_PASS;
    free(multipliers);
    return r;
}

static int lower_depthwise(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct depthwise_simd_params *params = lower->params;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (params->shape.is_nchw || params->shape.depth_multiplier != 1 || !filter->value ||
        !lower->inputs[NN_CONV_BIAS].value ||
        (uint64_t)filter->dims[1] * filter->dims[2] > MAX_TAPS)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(params->shape.activation, false, output->scale, output->zero_point,
                          &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    lower->scratch_bytes = edge_bytes(filter->dims[3]);
    return lower_weights(lower);
}

/* ---- running ---- */

struct depthwise_simd_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct nn_conv_sizes in, out;
    size_t filter_h, filter_w, n_groups;
    const uint8_t *input, *edge;
    uint8_t *output;
    const uint8_t *weights; /* the first block */
    int32_t weight_zero, input_zero, low, high;
};

#if NN_VARIANT_VECTOR_BYTES == 64
#define LOAD_MASK(n) ((n) >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n)) - 1)
#endif

/* The data of a group of taps: for each lane the taps of its channel, one after the other. Reads
 * n bytes, at most CHANNELS, at offset behind each of taps. */
NN_INLINE void interleave(const struct depthwise_simd_job *job, const uint8_t *const *taps,
                          size_t offset, size_t n, nn_vector_i32 to[VECTORS])
{
#if defined(NN_VARIANT_VNNI)
    __mmask64 mask = LOAD_MASK(n);
    __m512i a = _mm512_maskz_loadu_epi8(mask, taps[0] + offset);
    __m512i b = _mm512_maskz_loadu_epi8(mask, taps[1] + offset);
    __m512i c = _mm512_maskz_loadu_epi8(mask, taps[2] + offset);
    __m512i d = _mm512_maskz_loadu_epi8(mask, taps[3] + offset);
    __m512i ab = _mm512_unpacklo_epi8(a, b), cd = _mm512_unpacklo_epi8(c, d);
    __m512i ab_high = _mm512_unpackhi_epi8(a, b), cd_high = _mm512_unpackhi_epi8(c, d);

    to[0] = (nn_vector_i32)_mm512_unpacklo_epi16(ab, cd);
    to[1] = (nn_vector_i32)_mm512_unpackhi_epi16(ab, cd);
    to[2] = (nn_vector_i32)_mm512_unpacklo_epi16(ab_high, cd_high);
    to[3] = (nn_vector_i32)_mm512_unpackhi_epi16(ab_high, cd_high);
#elif NN_VARIANT_VECTOR_BYTES == 64
    __mmask32 mask = (__mmask32)LOAD_MASK(n);
    __m512i zero = _mm512_set1_epi16((int16_t)job->input_zero);
    __m512i a = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, taps[0] + offset));
    __m512i b = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, taps[1] + offset));

    a = _mm512_sub_epi16(a, zero);
    b = _mm512_sub_epi16(b, zero);
    to[0] = (nn_vector_i32)_mm512_unpacklo_epi16(a, b);
    to[1] = (nn_vector_i32)_mm512_unpackhi_epi16(a, b);
#else
    __m256i zero = _mm256_set1_epi16((int16_t)job->input_zero), a, b;
    __m128i bytes[GROUP] = {_mm_setzero_si128(), _mm_setzero_si128()};

    memcpy(&bytes[0], taps[0] + offset, n < CHANNELS ? n : CHANNELS);
    memcpy(&bytes[1], taps[1] + offset, n < CHANNELS ? n : CHANNELS);
    a = _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes[0]), zero);
    b = _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes[1]), zero);
    to[0] = (nn_vector_i32)_mm256_unpacklo_epi16(a, b);
    to[1] = (nn_vector_i32)_mm256_unpackhi_epi16(a, b);
#endif
}

/* n codes of a block, back in the order of channels. */
NN_INLINE void store_block(uint8_t *out, const nn_vector_i32 codes[VECTORS], size_t n)
{
#if defined(NN_VARIANT_VNNI)
    _mm512_mask_storeu_epi8(
        out, LOAD_MASK(n),
        _mm512_packus_epi16(_mm512_packs_epi32((__m512i)codes[0], (__m512i)codes[1]),
                            _mm512_packs_epi32((__m512i)codes[2], (__m512i)codes[3])));
#elif NN_VARIANT_VECTOR_BYTES == 64
    _mm256_mask_storeu_epi8(
        out, (__mmask32)LOAD_MASK(n),
        _mm512_cvtepi16_epi8(_mm512_packs_epi32((__m512i)codes[0], (__m512i)codes[1])));
#else
    __m256i words = _mm256_packs_epi32((__m256i)codes[0], (__m256i)codes[1]);
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words),
                                     _mm256_extracti128_si256(words, 1));

    memcpy(out, &bytes, n < CHANNELS ? n : CHANNELS);
#endif
}

/* What weights with a zero point add: that times the sums of the bytes. */
NN_INLINE nn_vector_i32 find_correction(nn_vector_i32 totals, int32_t zero)
{
#ifdef NN_VARIANT_VNNI
    return (nn_vector_i32)_mm512_mullo_epi32((__m512i)totals, _mm512_set1_epi32(zero));
#else
    return totals * zero;
#endif
}

/* A block of n channels of one position, or of several. has_zero is constant where
 * this is called. */
NN_INLINE void cell_run(const struct depthwise_simd_job *job, const uint8_t *const *taps, size_t b,
                        size_t n, uint8_t *out, const bool has_zero)
{
    const uint8_t *block = job->weights + b * block_bytes(job->n_groups);
    const nn_simd_weight *weights = (const void *)(block + CONSTANT_BYTES);
    struct nn_requantize r = nn_requantize_use(block, CHANNELS, job->low, job->high);
    const nn_vector_i32 ones = nn_splat_i32(0x01010101);
    nn_vector_i32 sums[VECTORS], totals[VECTORS], codes[VECTORS];

#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        sums[v] = nn_load_i32(r.bias + v * LANES);
        totals[v] = (nn_vector_i32){0};
    }
    for (size_t g = 0; g < job->n_groups; g++, weights += VECTORS * LANES * GROUP) {
        nn_vector_i32 data[VECTORS];

        interleave(job, taps + g * GROUP, b * CHANNELS, n, data);
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) {
            sums[v] = nn_multiply_add(sums[v], data[v], nn_load_i32(weights + v * LANES * GROUP));
            if (has_zero)
                totals[v] = nn_multiply_add(totals[v], data[v], ones);
        }
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        if (has_zero)
            sums[v] -= find_correction(totals[v], job->weight_zero);
        codes[v] = nn_requantize(&r, sums[v], v * LANES);
    }
    store_block(out + b * CHANNELS, codes, n);
}

/* All channels of n positions, whose bytes follow each other under every tap. */
static void cells_run(const struct depthwise_simd_job *job, const uint8_t *const *taps, size_t n,
                      uint8_t *out)
{
    size_t n_bytes = n * job->out.c;

    for (size_t b = 0; b < count_blocks(n_bytes); b++) {
        size_t n_left = n_bytes - b * CHANNELS;

        if (job->weight_zero)
            cell_run(job, taps, b, n_left, out, true);
        else if (n_left >= CHANNELS)
            cell_run(job, taps, b, CHANNELS, out, false);
        else
            cell_run(job, taps, b, n_left, out, false);
    }
}

/* Pointers for one position. */
static void find_taps(const struct depthwise_simd_job *job, size_t row, size_t x,
                      const uint8_t **taps)
{
    const struct nn_conv_shape *shape = job->shape;
    int64_t y = (int64_t)(row % job->out.h) * shape->stride_h - shape->pad_top;
    int64_t left = (int64_t)x * shape->stride_w - shape->pad_left;
    size_t image = row / job->out.h * job->in.h, t = 0;

    for (size_t ty = 0; ty < job->filter_h; ty++, y += shape->dilation_h) {
        for (size_t tx = 0; tx < job->filter_w; tx++, t++) {
            int64_t tap_x = left + (int64_t)tx * shape->dilation_w;

            taps[t] = job->edge;
            if (y >= 0 && y < (int64_t)job->in.h && tap_x >= 0 && tap_x < (int64_t)job->in.w)
                taps[t] = job->input +
                          ((image + (size_t)y) * job->in.w + (size_t)tap_x) * job->in.c;
        }
    }
    while (t < job->n_groups * GROUP)
        taps[t++] = job->edge;
}

static void row_run(const struct depthwise_simd_job *job, size_t row)
{
    const uint8_t *taps[MAX_TAPS];
    size_t first, end, n = 0;
    size_t together = job->shape->stride_w == 1 ? count_positions(job->out.c) : 1;
    uint8_t *out = job->output + row * job->out.w * job->out.c;

    nn_conv_inside(job->shape, job->filter_w, job->in.w, job->out.w, &first, &end);
    for (size_t x = 0; x < job->out.w; x += n, out += n * job->out.c) {
        /* Inside, the taps follow from those of the position before. */
        if (x > first && x < end) {
            for (size_t t = 0; t < job->n_groups * GROUP; t++)
                if (taps[t] != job->edge)
                    taps[t] += n * (size_t)job->shape->stride_w * job->in.c;
        } else {
            find_taps(job, row, x, taps);
        }
        n = x >= first && x + together <= end ? together : 1;
        cells_run(job, taps, n, out);
    }
}

static void depthwise_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_simd_job *job = ctx;
    size_t row_elements = job->out.w * job->out.c;

    for (size_t row = begin; row < end; row++) {
        row_run(job, row);
        nn_epilogue_run(job->args, row * row_elements, (row + 1) * row_elements);
    }
}

static int nn_depthwise_conv_2d_u8(const struct nn_kernel_args *args)
{
    const struct depthwise_simd_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct depthwise_simd_job job = {.args = args,
                                     .shape = &params->shape,
                                     .in = nn_conv_sizes(input->dims, false),
                                     .out = nn_conv_sizes(args->outputs[0].dims, false),
                                     .filter_h = filter[1],
                                     .filter_w = filter[2],
                                     .n_groups = count_groups(filter),
                                     .input = input->data,
                                     .edge = args->scratch,
                                     .output = args->outputs[0].data,
                                     .weights = args->weights + HEAD_BYTES,
                                     .low = params->low,
                                     .high = params->high};

    memcpy(&job.weight_zero, args->weights, sizeof(job.weight_zero));
    job.input_zero = (uint8_t)input->zero_point;
    memset(args->scratch, (uint8_t)input->zero_point, edge_bytes(filter[3]));
    /* A group of taps takes about 0.1 ns for a channel, its result as much again. */
    nn_parallel_for(args, job.out.n * job.out.h,
                    1 + job.out.w * job.out.c * (1 + job.n_groups) / 10, depthwise_rows, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_depthwise(const struct nn_kernel_step *step)
{
    const struct depthwise_simd_params *params = step->params;
    const struct nn_conv_shape *shape = &params->shape;
    size_t needed;

    return step->n_inputs >= 8 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 && shape->stride_h > 0 &&
           shape->stride_w > 0 && shape->dilation_h > 0 && shape->dilation_w > 0 &&
           shape->is_nchw == 0 &&
           (uint64_t)step->inputs[1].dims[1] * step->inputs[1].dims[2] <= MAX_TAPS &&
           step->inputs[0].dims[3] == step->inputs[1].dims[3] &&
           step->outputs[0].dims[3] == step->inputs[1].dims[3] &&
           step->inputs[0].dims[0] == step->outputs[0].dims[0] &&
           find_weights_bytes(step->inputs[1].dims, &needed) && needed <= step->weights_bytes;
}

static bool find_depthwise_scratch(const struct nn_kernel_step *step, size_t *ret_scratch_bytes,
                                   size_t *ret_worker_scratch_bytes)
{
    *ret_scratch_bytes = edge_bytes(step->inputs[NN_CONV_FILTER].dims[3]);
    *ret_worker_scratch_bytes = 0;
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("depthwise_conv_2d_u8", DEPTHWISE_CONV_2D), .in0 = NN_T_U8,
     .params_bytes = sizeof(struct depthwise_simd_params), .runs_epilogue = 1,
     .lower = lower_depthwise, .run = nn_depthwise_conv_2d_u8, .check = check_depthwise,
     .find_scratch = find_depthwise_scratch},
};
NN_VARIANT_FAMILY(depthwise_simd, kernels);
