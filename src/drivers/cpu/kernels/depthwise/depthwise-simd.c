/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of 8 bits with vectors, for one filter per channel.
 *
 * The data of a block of channels under a group of taps is interleaved, so that one instruction
 * multiplies and adds all taps of the group (vector-i32.h). Interleaving works within 128 bits, and
 * so does packing the results: sums, bias and scales live in the order between the two
 * (lane_channel()).
 *
 * The input is staged with zero points around it (conv/image.h): no tap is outside, and vectors may
 * read beyond the last one. With stride 1 the results of a row follow each other as the data under
 * each tap does: blocks are cut from the whole row, and the constants of its channels are repeated
 * until they begin anew with a block. With other strides blocks are cut from a position, or from
 * several positions whose channels fill one together.
 *
 * Zero points are treated as in gemm-simd.h; where packed weights keep one, the sum of the bytes
 * comes from a second multiplication. For constant filters and uint8 data in [N,H,W,C] alone. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/requantize.h"
#include "drivers/cpu/kernels/conv/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = NN_LANES_I32,
    GROUP = NN_SIMD_GROUP,      /* taps */
    VECTORS = GROUP,            /* of sums of a block */
    CHANNELS = VECTORS * LANES, /* of a block */
    MAX_TAPS = 128,
    MAX_BLOCKS_A_ROW = 16, /* whose constants differ, where blocks are cut from a row */
    HEAD_BYTES = 64,       /* of the weights: zero points */
    CONSTANT_BYTES = CHANNELS * NN_REQUANTIZE_BYTES,
#ifdef NN_VARIANT_VNNI
    CAN_GATHER = 1,
#else
    CAN_GATHER = 0,
#endif
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

static size_t greatest_divisor(size_t a, size_t b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

/* How blocks are cut. */
struct block_cut {
    size_t n_blocks; /* whose constants differ */
    size_t together; /* positions that one block holds; 0: it is cut from the row */
};

static struct block_cut find_cut(size_t n_channels, int32_t stride_w)
{
    size_t n_row = n_channels ? n_channels / greatest_divisor(n_channels, CHANNELS) : 1;

    if (stride_w == 1 && n_row <= MAX_BLOCKS_A_ROW)
        return (struct block_cut){n_row, 0};
    if (CAN_GATHER && (n_channels == CHANNELS / 2 || n_channels == CHANNELS / 4))
        return (struct block_cut){1, CHANNELS / n_channels};
    return (struct block_cut){count_blocks(n_channels), 1};
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

/* What there is to pack. */
struct depthwise_source {
    const uint8_t *weights; /* [taps][channels] */
    const int32_t *bias;
    const struct nn_multiplier *multipliers;
    size_t n_taps, n_channels;
    bool is_signed;
    int32_t weight_zero, input_zero, output_zero;
    int32_t shift; /* taken from each weight so that it fits a signed byte */
    struct nn_stop *stop;
};

static int32_t weight_at(const struct depthwise_source *source, size_t tap, size_t channel)
{
    uint8_t code = source->weights[tap * source->n_channels + channel];

    return source->is_signed ? (int8_t)code : code;
}

static int32_t find_shift(const struct depthwise_source *source)
{
    struct nn_pace pace = nn_pace(source->stop);

    for (size_t t = 0; sizeof(nn_simd_weight) == 1 && t < source->n_taps; t++)
        for (struct nn_pace_part part = {0};
             nn_pace_next_part(&pace, source->n_channels, 1, &part);)
            for (size_t c = part.begin; c < part.end; c++) {
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
    int64_t sum = 0;

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

static bool pack_all(const struct depthwise_source *source, const struct block_cut *cut,
                     uint8_t *to, size_t n_groups)
{
    int32_t zero = source->weight_zero - source->shift;
    /* Blocks that hold parts of several positions repeat the channels. */
    size_t n_packed = cut->together == 1 ? source->n_channels : cut->n_blocks * CHANNELS;
    struct nn_pace pace = nn_pace(source->stop);
    size_t cost = CHANNELS * (10 + 2 * source->n_taps);

    memcpy(to, &zero, sizeof(zero));
    for (size_t b = 0; b < cut->n_blocks && !nn_pace_ends(&pace, cost); b++) {
        uint8_t *block = to + HEAD_BYTES + b * block_bytes(n_groups);
        struct nn_requantize r = nn_requantize_at(block, CHANNELS);

        for (size_t v = 0; v < VECTORS; v++)
            for (size_t i = 0; i < LANES; i++) {
                size_t c = b * CHANNELS + lane_channel(v, i);

                if (c >= n_packed)
                    nn_requantize_pad(&r, v * LANES + i);
                else if (!lane_pack(source, block, v, i, c % source->n_channels))
                    return false;
            }
    }
    return true;
}

/* ---- lowering ---- */

static bool find_weights_bytes(const struct nn_conv_shape *shape, const uint32_t *filter,
                               size_t *ret_bytes)
{
    return nn_mul_size(find_cut(filter[3], shape->stride_w).n_blocks,
                       block_bytes(count_groups(filter)), ret_bytes) &&
           nn_add_size(*ret_bytes, HEAD_BYTES, ret_bytes);
}

static const struct nn_conv_element element = {.bytes = 1, .group = 1, .is_copied = true};

static int lower_weights(struct nn_lower *lower, const struct nn_conv_shape *shape)
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
                                      .output_zero = lower->outputs[0].zero_point,
                                      .stop = lower->stop};
    struct block_cut cut = find_cut(n_channels, shape->stride_w);
    uint8_t *block = NULL;
    int r = -ENOMEM;

    if (multipliers && find_weights_bytes(shape, filter->dims, &n_bytes)) {
        nn_conv_multipliers(lower, multipliers, n_channels);
        source.shift = find_shift(&source);
        block = nn_lower_weights(lower, n_bytes);
    }
    if (block)
        r = pack_all(&source, &cut, block, count_groups(filter->dims)) ? 0 : NN_KERNEL_E_PASS;
    free(multipliers);
    return r;
}

static int lower_depthwise(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct depthwise_simd_params *params = lower->params;
    struct nn_conv_image image;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!nn_conv_has_image(&params->shape) || params->shape.depth_multiplier != 1 ||
        !filter->value || !lower->inputs[NN_CONV_BIAS].value || nn_lower_count(output) == 0 ||
        nn_lower_count(filter) == 0 || nn_conv_row_is_long(lower) ||
        (uint64_t)filter->dims[1] * filter->dims[2] > MAX_TAPS)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(params->shape.activation, false, output->scale, output->zero_point,
                          &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    if (!nn_conv_find_image(&params->shape, lower->inputs[NN_CONV_INPUT].dims, filter->dims,
                            output->dims, element, &image))
        return -ENOMEM;
    return lower_weights(lower, &params->shape);
}

/* ---- running ---- */

struct depthwise_simd_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct nn_conv_image image;
    struct nn_conv_sizes out;
    struct block_cut cut;
    size_t n_groups, offsets[MAX_TAPS]; /* of taps; those that fill up a group have no weight */
    uint32_t last_ones;                 /* 1 for each tap of the last group */
    const uint8_t *weights;             /* the first block */
    uint8_t *output;
    int32_t weight_zero, input_zero, low, high;
};

#if NN_VARIANT_VECTOR_BYTES == 64
#define LOAD_MASK(n) ((n) >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n)) - 1)
#endif

#ifdef NN_VARIANT_VNNI
/* CHANNELS bytes under a tap: of one position, or of 2 or 4 that are step bytes apart. */
NN_INLINE __m512i load_positions(const uint8_t *from, size_t step, const size_t together)
{
    const __m128i *at[4] = {(const void *)from, (const void *)(from + step),
                            (const void *)(from + 2 * step), (const void *)(from + 3 * step)};
    __m256i low, high;

    if (together == 2)
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)at[0])),
                                  _mm256_loadu_si256((const void *)at[1]), 1);
    if (together != 4)
        return _mm512_loadu_si512(from);
    low = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(at[0])),
                                  _mm_loadu_si128(at[1]), 1);
    high = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(at[2])),
                                   _mm_loadu_si128(at[3]), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
#endif

/* The data of a group of taps: for each lane the taps of its channel, one after the other. together
 * is constant where this is called. */
NN_INLINE void interleave(const struct depthwise_simd_job *job, const uint8_t *data,
                          const size_t *offsets, const size_t together, nn_vector_i32 to[VECTORS])
{
#if defined(NN_VARIANT_VNNI)
    size_t step = (size_t)job->shape->stride_w * job->image.c;
    __m512i a = load_positions(data + offsets[0], step, together);
    __m512i b = load_positions(data + offsets[1], step, together);
    __m512i c = load_positions(data + offsets[2], step, together);
    __m512i d = load_positions(data + offsets[3], step, together);
    __m512i ab = _mm512_unpacklo_epi8(a, b), cd = _mm512_unpacklo_epi8(c, d);
    __m512i ab_high = _mm512_unpackhi_epi8(a, b), cd_high = _mm512_unpackhi_epi8(c, d);

    to[0] = (nn_vector_i32)_mm512_unpacklo_epi16(ab, cd);
    to[1] = (nn_vector_i32)_mm512_unpackhi_epi16(ab, cd);
    to[2] = (nn_vector_i32)_mm512_unpacklo_epi16(ab_high, cd_high);
    to[3] = (nn_vector_i32)_mm512_unpackhi_epi16(ab_high, cd_high);
#elif NN_VARIANT_VECTOR_BYTES == 64
    __m512i zero = _mm512_set1_epi16((int16_t)job->input_zero);
    __m512i a = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(data + offsets[0])));
    __m512i b = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(data + offsets[1])));

    a = _mm512_sub_epi16(a, zero);
    b = _mm512_sub_epi16(b, zero);
    to[0] = (nn_vector_i32)_mm512_unpacklo_epi16(a, b);
    to[1] = (nn_vector_i32)_mm512_unpackhi_epi16(a, b);
#else
    __m256i zero = _mm256_set1_epi16((int16_t)job->input_zero);
    __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(data + offsets[0])));
    __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(data + offsets[1])));

    a = _mm256_sub_epi16(a, zero);
    b = _mm256_sub_epi16(b, zero);
    to[0] = (nn_vector_i32)_mm256_unpacklo_epi16(a, b);
    to[1] = (nn_vector_i32)_mm256_unpackhi_epi16(a, b);
#endif
}

/* n codes of a block. */
NN_INLINE void store_block(uint8_t *out, nn_vector_i32 codes, size_t n)
{
#if defined(NN_VARIANT_VNNI)
    _mm512_mask_storeu_epi8(out, LOAD_MASK(n), (__m512i)codes);
#elif NN_VARIANT_VECTOR_BYTES == 64
    _mm256_mask_storeu_epi8(out, (__mmask32)LOAD_MASK(n), _mm512_castsi512_si256((__m512i)codes));
#else
    memcpy(out, &codes, n < CHANNELS ? n : CHANNELS);
#endif
}

/* The codes of a block, back in the order of channels, from the first byte on. */
NN_INLINE nn_vector_i32 pack_block(const nn_vector_i32 units[VECTORS])
{
    nn_vector_i32 words[VECTORS / 2], bytes;

#pragma GCC unroll 2
    for (size_t v = 0; v < VECTORS; v += 2)
        words[v / 2] = nn_requantize_words(units[v], units[v + 1]);
    bytes = nn_requantize_pack(words[0], words[VECTORS / 2 - 1]);
#if defined(NN_VARIANT_VNNI)
    return bytes;
#elif NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_i32)_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6),
                                                   (__m512i)bytes);
#else
    return (nn_vector_i32)_mm256_permute4x64_epi64((__m256i)bytes, 0x88);
#endif
}

/* Its codes near a border between two codes again. */
static nn_vector_i32 NN_COLD block_again(const struct nn_requantize *r,
                                         const nn_vector_i32 sums[VECTORS], nn_vector_i32 codes)
{
    const struct nn_requantize again = nn_requantize_to_again(r);
    uint8_t bytes[sizeof(codes)];

    memcpy(bytes, &codes, sizeof(codes));
    for (size_t v = 0; v < VECTORS; v++)
        nn_requantize_again(&again, &sums[v], v * LANES, bytes + 4 * v, 4, 4 * VECTORS);
    return nn_load_i32(bytes);
}

/* Its codes from its sums; has_low as in nn_requantize_units(). */
NN_INLINE nn_vector_i32 block_codes(const struct nn_requantize *r, nn_vector_i32 sums[VECTORS],
                                    const bool has_low)
{
    nn_vector_i32 units[VECTORS], kept[VECTORS], codes, least;

#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++)
        kept[v] = sums[v];
    NN_REQUANTIZE_KEEP(kept);
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++)
        units[v] = nn_requantize_units(r, sums[v], v * LANES, has_low);
    least = nn_requantize_lesser(nn_requantize_least(units[0], units[1]),
                                 nn_requantize_least(units[VECTORS - 2], units[VECTORS - 1]));
    codes = pack_block(units);
    nn_requantize_clamp(r, &codes, 1);
    return nn_requantize_is_near(least) ? block_again(r, kept, codes) : codes;
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

/* The first n codes of block b. has_zero, together and, where it is CHANNELS, n are constant where
 * this is called. */
NN_INLINE void block_run(const struct depthwise_simd_job *job, const uint8_t *data, size_t b,
                         size_t n, uint8_t *out, const bool has_zero, const size_t together)
{
    const uint8_t *block = job->weights + b * block_bytes(job->n_groups);
    const nn_simd_weight *weights = (const void *)(block + CONSTANT_BYTES);
    struct nn_requantize r = nn_requantize_use(block, CHANNELS, job->low, job->high);
    nn_vector_i32 sums[VECTORS], totals[VECTORS];

#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        sums[v] = nn_load_i32(r.bias + v * LANES);
        totals[v] = (nn_vector_i32){0};
    }
    for (size_t g = 0; g < job->n_groups; g++, weights += VECTORS * LANES * GROUP) {
        uint32_t ones = g + 1 < job->n_groups ? 0x01010101 : job->last_ones;
        nn_vector_i32 group[VECTORS];

        interleave(job, data, job->offsets + g * GROUP, together, group);
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) {
            sums[v] = nn_multiply_add(sums[v], group[v], nn_load_i32(weights + v * LANES * GROUP));
            if (has_zero)
                totals[v] = nn_multiply_add(totals[v], group[v], nn_splat_i32((int32_t)ones));
        }
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS && has_zero; v++)
        sums[v] -= find_correction(totals[v], job->weight_zero);
    store_block(out, r.has_low ? block_codes(&r, sums, true) : block_codes(&r, sums, false), n);
}

/* n_bytes of a row, or of one position, whose first data is at data. */
NN_INLINE void blocks_run(const struct depthwise_simd_job *job, const uint8_t *data, size_t n_bytes,
                          uint8_t *out, const bool has_zero)
{
    size_t b = 0;

    for (size_t at = 0; at < n_bytes; at += CHANNELS) {
        if (n_bytes - at >= CHANNELS)
            block_run(job, data + at, b, CHANNELS, out + at, has_zero, 1);
        else
            block_run(job, data + at, b, n_bytes - at, out + at, has_zero, 1);
        b = b + 1 < job->cut.n_blocks ? b + 1 : 0;
    }
}

/* Positions of a row one by one. */
NN_INLINE void cells_run(const struct depthwise_simd_job *job, const uint8_t *data, uint8_t *out,
                         const bool has_zero)
{
    size_t step = (size_t)job->shape->stride_w * job->image.c, n_channels = job->out.c;

    for (size_t x = 0; x < job->out.w; x++)
        blocks_run(job, data + x * step, n_channels, out + x * n_channels, has_zero);
}

/* Positions of a row that fill a block together. */
NN_INLINE void positions_run(const struct depthwise_simd_job *job, const uint8_t *data,
                             uint8_t *out, const bool has_zero, const size_t together)
{
    size_t step = (size_t)job->shape->stride_w * job->image.c, n_channels = job->out.c;

    if (job->out.w < together) {
        cells_run(job, data, out, has_zero);
        return;
    }
    for (size_t x = 0; x < job->out.w; x += together) {
        /* The last ones overlap those before: the same codes again. */
        x = nn_min_size(x, job->out.w - together);
        block_run(job, data + x * step, 0, CHANNELS, out + x * n_channels, has_zero, together);
    }
}

NN_INLINE void row_run(const struct depthwise_simd_job *job, size_t row, const bool has_zero)
{
    const struct nn_conv_image *image = &job->image;
    size_t y = row / job->out.h * image->h + row % job->out.h * (size_t)job->shape->stride_h;
    const uint8_t *data = job->args->scratch + y * image->w * image->c;
    uint8_t *out = job->output + row * job->out.w * job->out.c;

    switch (job->cut.together) {
    case 0:
        blocks_run(job, data, job->out.w * job->out.c, out, has_zero);
        break;
    case 1:
        cells_run(job, data, out, has_zero);
        break;
    case 2:
        positions_run(job, data, out, has_zero, 2);
        break;
    default:
        positions_run(job, data, out, has_zero, 4);
        break;
    }
}

static void plain_row_run(const struct depthwise_simd_job *job, size_t row)
{
    row_run(job, row, false);
}

static void zero_row_run(const struct depthwise_simd_job *job, size_t row)
{
    row_run(job, row, true);
}

static void depthwise_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_simd_job *job = ctx;
    size_t row_elements = job->out.w * job->out.c;

    for (size_t row = begin; row < end; row++) {
        if (job->weight_zero)
            zero_row_run(job, row);
        else
            plain_row_run(job, row);
        nn_epilogue_run(job->args, row * row_elements, (row + 1) * row_elements);
    }
}

/* Where the taps of a position are, from its first one. */
static void find_offsets(struct depthwise_simd_job *job, size_t filter_h, size_t filter_w)
{
    const struct nn_conv_image *image = &job->image;
    size_t n_last = filter_h * filter_w - (job->n_groups - 1) * GROUP;

    for (size_t y = 0, t = 0; y < filter_h; y++)
        for (size_t x = 0; x < filter_w; x++, t++)
            job->offsets[t] = (y * (size_t)job->shape->dilation_h * image->w +
                               x * (size_t)job->shape->dilation_w) *
                              image->c;
    job->last_ones = 0x01010101u >> 8 * (4 - nn_min_size(n_last, 4));
}

static int nn_depthwise_conv_2d_u8(const struct nn_kernel_args *args)
{
    const struct depthwise_simd_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct depthwise_simd_job job = {.args = args,
                                     .shape = &params->shape,
                                     .out = nn_conv_sizes(args->outputs[0].dims, false),
                                     .cut = find_cut(filter[3], params->shape.stride_w),
                                     .n_groups = count_groups(filter),
                                     .output = args->outputs[0].data,
                                     .weights = args->weights + HEAD_BYTES,
                                     .input_zero = (uint8_t)input->zero_point,
                                     .low = params->low,
                                     .high = params->high};
    struct nn_conv_stage stage = {.image = &job.image,
                                  .in = nn_conv_sizes(input->dims, false),
                                  .input = input->data,
                                  .staged = args->scratch,
                                  .input_bytes = 1,
                                  .bytes = 1,
                                  .fill = (uint8_t)input->zero_point};

    if (!nn_conv_find_image(&params->shape, input->dims, filter, args->outputs[0].dims, element,
                            &job.image))
        return -ENOMEM;
    memcpy(&job.weight_zero, args->weights, sizeof(job.weight_zero));
    find_offsets(&job, filter[1], filter[2]);
    nn_parallel_for(args, job.image.n * job.image.h, 1 + job.image.w * job.image.c / 4,
                    nn_conv_stage_rows, &stage);
    /* A group of taps takes about 0.1 ns for a channel, its result as much again. */
    nn_parallel_for(args, job.out.n * job.out.h,
                    1 + job.out.w * job.out.c * (1 + job.n_groups) / 10, depthwise_rows, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_depthwise(const struct nn_kernel_step *step)
{
    const struct depthwise_simd_params *params = step->params;
    const uint32_t *in = step->inputs[0].dims, *filter = step->inputs[1].dims;
    struct nn_conv_image image;
    size_t needed;

    return step->n_inputs >= 8 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 &&
           nn_conv_has_image(&params->shape) && (uint64_t)filter[1] * filter[2] <= MAX_TAPS &&
           in[3] == filter[3] && step->outputs[0].dims[3] == filter[3] &&
           in[0] == step->outputs[0].dims[0] && nn_tensor_count(&step->inputs[1]) > 0 &&
           nn_tensor_count(&step->outputs[0]) > 0 &&
           nn_conv_find_image(&params->shape, in, filter, step->outputs[0].dims, element, &image) &&
           find_weights_bytes(&params->shape, filter, &needed) && needed <= step->weights_bytes;
}

static bool find_depthwise_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct depthwise_simd_params *params = step->params;
    struct nn_conv_image image;

    if (!nn_conv_find_image(&params->shape, step->inputs[0].dims, step->inputs[1].dims,
                            step->outputs[0].dims, element, &image))
        return false;
    ret->bytes = image.bytes;
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("depthwise_conv_2d_u8", DEPTHWISE_CONV_2D), .in0 = NN_T_U8,
     .params_bytes = sizeof(struct depthwise_simd_params), .runs_epilogue = 1,
     .lower = lower_depthwise, .run = nn_depthwise_conv_2d_u8, .check = check_depthwise,
     .find_scratch = find_depthwise_scratch},
};
NN_VARIANT_FAMILY(depthwise_simd, kernels);
