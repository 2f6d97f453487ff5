/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of 8 bits from groups of rows, interleaved so that one instruction does the taps of a
 * column of the filter.
 *
 * Rows 2j and 2j + 1 of the image are widened together to a pair, zero point taken away: a lane holds
 * an element of both, in 16 bits. With a stride of 1 two output rows are computed from the same
 * groups, the second with a filter that is shifted by a row (taps a, b, c; zeros fill up):
 *
 *     output row 2j       pair j: a b   pair j + 1: c 0
 *     output row 2j + 1   pair j: 0 a   pair j + 1: b c
 *
 * With a stride of 2 an output row begins at an even row of the image, and is computed alone.
 *
 * With VNNI and signed weights without zero point a group is a quad, four rows of bytes: half as many
 * instructions and half as much to read (a b c 0, and 0 a b c). What the data's zero point adds lies
 * in the bias.
 *
 * A block is one vector of channels. Four neighboring positions of it are computed together, eight of a
 * row alone: weights are loaded once for them, data once for both rows.
 *
 * A pair is widened once and lies in a ring of each worker's scratch while output rows need it; quads
 * overlap, and are made for each item.
 *
 * For constant filters and uint8 data in [N,H,W,C], strides of 1 and 2, without vertical dilation, for
 * as many channels as a vector has; depthwise-simd.c takes the rest, with VNNI short rows that would be
 * pairs, too. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/requantize.h"
#include "drivers/cpu/kernels/conv/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = NN_LANES_I32, /* channels of a block */
    MAX_ROWS = 2,         /* output rows at once */
    MAX_SUMS = 8,         /* vectors of them */
    MAX_GROUPS = 8,       /* that an output row reads */
    PAIR = 2,             /* rows of a group */
    QUAD = 4,
    MAX_TAPS = 32, /* in a row of the filter */
#ifdef NN_VARIANT_VNNI
    HAS_QUADS = 1,
    MIN_W = 16, /* positions of a row, with pairs: depthwise-simd.c is faster in shorter ones */
#else
    HAS_QUADS = 0,
    MIN_W = 1,
#endif
    CONSTANT_BYTES = LANES * NN_REQUANTIZE_BYTES,
    VECTOR_BYTES = NN_VARIANT_VECTOR_BYTES,
    ELEMENT_BYTES = 4, /* of all rows of a group */
};

struct depthwise_s16_params {
    struct nn_conv_shape shape;
    int32_t low, high;
    uint32_t group; /* PAIR or QUAD */
};

/* ---- the packed form: blocks of constants, then weights [groups][taps][rows][LANES][group] ---- */

struct filter_cut {
    size_t group, n_groups, n_taps;
    size_t n_rows; /* output rows at once, each with weights of its own */
    size_t n_blocks;
};

static struct filter_cut cut_filter(const struct nn_conv_shape *shape, const uint32_t *filter,
                                    size_t group)
{
    size_t n_rows = shape->stride_h == 1 ? MAX_ROWS : 1;

    return (struct filter_cut){.group = group,
                               .n_groups = ((size_t)filter[1] + n_rows - 1 + group - 1) / group,
                               .n_taps = filter[2],
                               .n_rows = n_rows,
                               .n_blocks = ((size_t)filter[3] + LANES - 1) / LANES};
}

/* The first channel of block b. The last block overlaps the one before. */
static size_t block_channel(size_t n_channels, size_t b)
{
    return nn_min_size(b * LANES, n_channels - LANES);
}

static size_t block_bytes(const struct filter_cut *cut)
{
    return CONSTANT_BYTES + cut->n_groups * cut->n_taps * cut->n_rows * LANES * ELEMENT_BYTES;
}

static bool can_pack(const struct nn_conv_shape *shape, const uint32_t *filter)
{
    return shape->depth_multiplier == 1 && shape->dilation_h == 1 && filter[3] >= LANES &&
           (shape->stride_h == 1 || shape->stride_h == 2) && filter[1] < 2 * MAX_GROUPS &&
           filter[2] <= MAX_TAPS;
}

static bool find_weights_bytes(const struct depthwise_s16_params *params, const uint32_t *filter,
                               size_t *ret_bytes)
{
    struct filter_cut cut = cut_filter(&params->shape, filter, params->group);

    return nn_mul_size(cut.n_blocks, block_bytes(&cut), ret_bytes);
}

/* ---- lowering ---- */

struct groups_source {
    const struct nn_lower_operand *filter;
    const int32_t *bias;
    const struct nn_multiplier *multipliers;
    int32_t input_zero, output_zero;
    struct nn_stop *stop;
};

/* The weight of channel c in row y, column x of the filter, 0 outside of it. */
static int16_t weight_at(const struct nn_lower_operand *filter, int64_t y, size_t x, size_t c)
{
    const uint8_t *codes = filter->value;
    size_t at = ((size_t)y * filter->dims[2] + x) * filter->dims[3] + c;
    bool is_signed = filter->type != NNHAL_TENSOR_QUANT8_ASYMM;

    if (y < 0 || y >= filter->dims[1])
        return 0;
    return (int16_t)((is_signed ? (int8_t)codes[at] : codes[at]) - filter->zero_point);
}

/* The weights of channel c that meet a group, whose first row is row y of the filter. Returns: their
 * sum. */
static int32_t group_pack(const struct nn_lower_operand *filter, size_t group, int64_t y, size_t x,
                          size_t c, uint8_t *to)
{
    int32_t sum = 0;

    for (size_t k = 0; k < group; k++) {
        int16_t w = weight_at(filter, y + (int64_t)k, x, c);

        if (group == QUAD)
            to[k] = (uint8_t)w;
        else
            memcpy(to + k * sizeof(w), &w, sizeof(w));
        sum += w;
    }
    return sum;
}

/* Lane i of a block, which is channel c. */
static void lane_pack(const struct groups_source *source, const struct filter_cut *cut,
                      uint8_t *block, size_t i, size_t c)
{
    struct nn_requantize r = nn_requantize_at(block, LANES);
    uint8_t *to = block + CONSTANT_BYTES + i * ELEMENT_BYTES;
    int32_t sum = 0;

    for (size_t g = 0; g < cut->n_groups; g++)
        for (size_t x = 0; x < cut->n_taps; x++)
            for (size_t row = 0; row < cut->n_rows; row++, to += LANES * ELEMENT_BYTES)
                sum += group_pack(source->filter, cut->group,
                                  (int64_t)(cut->group * g) - (int64_t)row, x, c, to);
    /* Each output row's weights are all there once. Pairs have lost the data's zero point. */
    sum = cut->group == QUAD ? sum / (int32_t)cut->n_rows : 0;
    nn_requantize_set(
        &r, i, (int32_t)((uint32_t)source->bias[c] - (uint32_t)source->input_zero * (uint32_t)sum),
        source->multipliers[c], source->output_zero);
}

/* Returns: false if a multiplier is too large. */
static bool pack_all(const struct groups_source *source, const struct filter_cut *cut, uint8_t *to)
{
    size_t n_channels = source->filter->dims[3];
    struct nn_pace pace = nn_pace(source->stop);

    for (size_t c = 0; c < n_channels && !nn_pace_ends(&pace, 2); c++)
        if (!nn_requantize_fits(source->multipliers[c]))
            return false;
    for (size_t b = 0; b < cut->n_blocks && !nn_pace_ends(&pace, block_bytes(cut)); b++) {
        uint8_t *block = to + b * block_bytes(cut);

        for (size_t i = 0; i < LANES; i++)
            lane_pack(source, cut, block, i, block_channel(n_channels, b) + i);
    }
    return true;
}

static int lower_weights(struct nn_lower *lower, const struct depthwise_s16_params *params)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    struct nn_multiplier *multipliers = calloc(filter->dims[3], sizeof(*multipliers));
    struct groups_source source = {filter,
                                   lower->inputs[NN_CONV_BIAS].value,
                                   multipliers,
                                   lower->inputs[NN_CONV_INPUT].zero_point,
                                   lower->outputs[0].zero_point,
                                   lower->stop};
    struct filter_cut cut = cut_filter(&params->shape, filter->dims, params->group);
    uint8_t *block = NULL;
    size_t n_bytes;
    int r = -ENOMEM;

    if (multipliers && find_weights_bytes(params, filter->dims, &n_bytes)) {
        nn_conv_multipliers(lower, multipliers, filter->dims[3]);
        block = nn_lower_weights(lower, n_bytes);
    }
    if (block)
        r = pack_all(&source, &cut, block) ? 0 : NN_KERNEL_E_PASS;
    free(multipliers);
    return r;
}

/* Weights of a byte fit quads. */
static bool can_quad(const struct nn_lower_operand *filter)
{
    return HAS_QUADS && filter->type != NNHAL_TENSOR_QUANT8_ASYMM && filter->zero_point == 0;
}

static int lower_depthwise(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct depthwise_s16_params *params = lower->params;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    params->group = can_quad(filter) ? QUAD : PAIR;
    if (!nn_conv_has_image(&params->shape) || !can_pack(&params->shape, filter->dims) ||
        !filter->value || !lower->inputs[NN_CONV_BIAS].value || nn_lower_count(output) == 0 ||
        (params->group == PAIR && output->dims[2] < MIN_W) || nn_lower_count(filter) == 0 ||
        nn_conv_row_is_long(lower))
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(params->shape.activation, false, output->scale, output->zero_point,
                          &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    return lower_weights(lower, params);
}

/* ---- the image ---- */

static const struct nn_conv_element element = {.bytes = 1, .group = 1, .is_copied = true};

/* Scratch: a row of zero points for all; for each worker groups of rows, pairs as a ring, and an output
 * row that is not wanted. */
struct depthwise_s16_layout {
    struct nn_conv_image image;
    size_t group; /* bytes of a group, with what vectors read beyond it */
    struct nn_kernel_scratch scratch;
};

static bool find_layout(const struct nn_kernel_step *step, struct depthwise_s16_layout *ret)
{
    const struct depthwise_s16_params *params = step->params;
    const uint32_t *in = step->inputs[0].dims, *filter = step->inputs[1].dims;
    const uint32_t *out = step->outputs[0].dims;
    struct filter_cut cut = cut_filter(&params->shape, filter, params->group);
    size_t spare;

    return nn_conv_find_image(&params->shape, in, filter, out, element, &ret->image) &&
           nn_mul_size(ret->image.w, ret->image.c, &ret->group) &&
           nn_mul_size(ret->group, ELEMENT_BYTES, &ret->group) &&
           nn_add_size(ret->group, VECTOR_BYTES, &ret->group) &&
           nn_align_up(ret->group, 64, &ret->group) && nn_mul_size(out[2], out[3], &spare) &&
           nn_mul_size(ret->group, cut.n_groups, &ret->scratch.worker_bytes) &&
           nn_add_size(ret->scratch.worker_bytes, spare, &ret->scratch.worker_bytes) &&
           nn_mul_size(in[2], in[3], &ret->scratch.bytes);
}

/* n elements of two rows, minus the zero point, beside each other. */
static void rows_widen(int16_t *to, const uint8_t *a, const uint8_t *b, int32_t zero, size_t n)
{
    __m256i zeros = _mm256_set1_epi16((int16_t)zero);
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        __m128i bytes_a = _mm_loadu_si128((const void *)(a + i));
        __m128i bytes_b = _mm_loadu_si128((const void *)(b + i));
        __m128i low = _mm_unpacklo_epi8(bytes_a, bytes_b);
        __m128i high = _mm_unpackhi_epi8(bytes_a, bytes_b);

        _mm256_storeu_si256((void *)(to + 2 * i),
                            _mm256_sub_epi16(_mm256_cvtepu8_epi16(low), zeros));
        _mm256_storeu_si256((void *)(to + 2 * i + 16),
                            _mm256_sub_epi16(_mm256_cvtepu8_epi16(high), zeros));
    }
    for (; i + 8 <= n; i += 8) {
        __m128i bytes = _mm_unpacklo_epi8(_mm_loadl_epi64((const void *)(a + i)),
                                          _mm_loadl_epi64((const void *)(b + i)));

        _mm256_storeu_si256((void *)(to + 2 * i),
                            _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes), zeros));
    }
    for (; i < n; i++) {
        to[2 * i] = (int16_t)(a[i] - zero);
        to[2 * i + 1] = (int16_t)(b[i] - zero);
    }
}

#ifdef NN_VARIANT_VNNI
/* n elements of four rows beside each other. */
static void rows_interleave(uint8_t *to, const uint8_t *const rows[QUAD], size_t n)
{
    /* So that unpacking within 128 bits gives elements in their order. */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);

    for (size_t i = 0; i < n; i += VECTOR_BYTES) {
        __mmask64 mask = n - i < VECTOR_BYTES ? (UINT64_C(1) << (n - i)) - 1 : ~UINT64_C(0);
        __m512i in[QUAD], out[QUAD], low[2], high[2];

#pragma GCC unroll 4
        for (size_t k = 0; k < QUAD; k++)
            in[k] = _mm512_permutexvar_epi32(order, _mm512_maskz_loadu_epi8(mask, rows[k] + i));
#pragma GCC unroll 2
        for (size_t k = 0; k < 2; k++) {
            low[k] = _mm512_unpacklo_epi8(in[2 * k], in[2 * k + 1]);
            high[k] = _mm512_unpackhi_epi8(in[2 * k], in[2 * k + 1]);
        }
        out[0] = _mm512_unpacklo_epi16(low[0], low[1]);
        out[1] = _mm512_unpackhi_epi16(low[0], low[1]);
        out[2] = _mm512_unpacklo_epi16(high[0], high[1]);
        out[3] = _mm512_unpackhi_epi16(high[0], high[1]);
#pragma GCC unroll 4
        for (size_t k = 0; k < QUAD; k++, mask >>= LANES)
            _mm512_mask_storeu_ps(to + (i + k * LANES) * ELEMENT_BYTES, (__mmask16)mask,
                                  _mm512_castsi512_ps(out[k]));
    }
}
#endif

struct depthwise_s16_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct depthwise_s16_layout layout;
    struct filter_cut cut;
    struct nn_conv_sizes in, out;
    size_t n_items; /* of a batch: output rows, two at once where the stride is 1 */
    /* Numbers of 32 bits between taps of a group, between positions of it, between blocks. */
    size_t tap_step, cell_step, block_step;
    size_t out_step; /* codes between positions */
    const uint8_t *input;
    int32_t input_zero;
    struct nn_requantize requantize; /* of block 0 */
};

/* Row y of the image, from its first element that is the input's on. */
static const uint8_t *image_row(const struct depthwise_s16_job *job, size_t n, size_t y)
{
    size_t top = job->layout.image.top;

    if (y < top || y - top >= job->in.h)
        return job->args->scratch;
    return job->input + (n * job->in.h + y - top) * job->in.w * job->in.c;
}

/* n elements of the rows of a group of batch n from row y of the image on. */
static void group_make(const struct depthwise_s16_job *job, uint8_t *to, size_t n, size_t y,
                       size_t n_elements)
{
    const uint8_t *rows[QUAD] = {NULL};

    for (size_t k = 0; k < job->cut.group; k++)
        rows[k] = image_row(job, n, y + k);
#ifdef NN_VARIANT_VNNI
    if (job->cut.group == QUAD) {
        rows_interleave(to, rows, n_elements);
        return;
    }
#endif
    rows_widen((void *)to, rows[0], rows[1], job->input_zero, n_elements);
}

/* A group and what lies beside it, to its place. */
static void group_fill(const struct depthwise_s16_job *job, uint8_t *to, size_t n, size_t y)
{
    const struct nn_conv_image *image = &job->layout.image;
    size_t left = nn_min_size(image->left, image->w), outside = left * image->c * ELEMENT_BYTES;
    size_t n_inside = nn_min_size(job->in.w, image->w - left) * image->c;
    size_t end = outside + n_inside * ELEMENT_BYTES;
    int zero = job->cut.group == QUAD ? job->input_zero : 0;

    memset(to, zero, outside);
    group_make(job, to + outside, n, y, n_inside);
    memset(to + end, zero, job->layout.group - end);
}

/* ---- running ---- */

/* Output rows that are computed together: the groups they are made from, an element of all rows in a
 * number, and where codes go. */
struct item_s16 {
    const int32_t *groups[MAX_GROUPS];
    uint8_t *out[MAX_ROWS];
};

/* Some positions of a block. */
struct cells_s16 {
    size_t from, to; /* the first one, in groups and in output rows */
    size_t column;   /* of the block's constants, in numbers from those of block 0 */
};

/* As many groups of LANES codes as the vector has, each to its place. */
NN_INLINE void store_groups(uint8_t *const to[4], nn_vector_i32 codes)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    _mm_storeu_si128((void *)to[0], _mm512_castsi512_si128((__m512i)codes));
    _mm_storeu_si128((void *)to[1], _mm512_extracti32x4_epi32((__m512i)codes, 1));
    _mm_storeu_si128((void *)to[2], _mm512_extracti32x4_epi32((__m512i)codes, 2));
    _mm_storeu_si128((void *)to[3], _mm512_extracti32x4_epi32((__m512i)codes, 3));
#else
    __m128i low = _mm256_castsi256_si128((__m256i)codes);
    __m128i high = _mm256_extracti128_si256((__m256i)codes, 1);

    _mm_storel_epi64((void *)to[0], low);
    _mm_storel_epi64((void *)to[1], _mm_unpackhi_epi64(low, low));
    _mm_storel_epi64((void *)to[2], high);
    _mm_storel_epi64((void *)to[3], _mm_unpackhi_epi64(high, high));
#endif
}

/* Adds a tap of a group, of n positions, to their sums, those of a row one behind the other. */
NN_INLINE void tap_add(nn_vector_i32 sums[MAX_SUMS], const int32_t *data, size_t cell_step,
                       const int32_t *weights, const size_t n_rows, const size_t n,
                       const size_t group)
{
    nn_vector_i32 w[MAX_ROWS];

#pragma GCC unroll 2
    for (size_t row = 0; row < n_rows; row++)
        w[row] = nn_load_i32(weights + row * LANES);
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++, data += cell_step) {
        nn_vector_i32 v = nn_load_i32(data);

#pragma GCC unroll 2
        for (size_t row = 0; row < n_rows; row++)
            sums[row * n + i] = group == QUAD ? nn_multiply_add(sums[row * n + i], v, w[row])
                                              : nn_multiply_add_16(sums[row * n + i], v, w[row]);
    }
}

/* Where the codes of a sum go. */
NN_INLINE uint8_t *sum_place(const struct depthwise_s16_job *job, const struct item_s16 *item,
                             const struct cells_s16 *at, size_t sum, size_t n)
{
    return item->out[sum / n] + at->to + sum % n * job->out_step;
}

/* Those near a border between two codes again. */
static void NN_COLD codes_again(const struct depthwise_s16_job *job, const struct item_s16 *item,
                                const struct cells_s16 *at, const nn_vector_i32 sums[MAX_SUMS],
                                size_t n_rows, size_t n)
{
    const struct nn_requantize again = nn_requantize_to_again(&job->requantize);

    for (size_t i = 0; i < n * n_rows; i++)
        nn_requantize_again(&again, &sums[i], at->column, sum_place(job, item, at, i, n), LANES, 0);
}

/* The codes of sums to their places. Where sums are no multiple of four, the first ones are taken
 * again. has_low as in nn_requantize_units(). */
NN_INLINE void codes_store(const struct depthwise_s16_job *job, const struct item_s16 *item,
                           const struct cells_s16 *at, nn_vector_i32 sums[MAX_SUMS],
                           const size_t n_rows, const size_t n, const bool has_low)
{
    const struct nn_requantize *r = &job->requantize;
    const size_t n_sums = n * n_rows, c = at->column;
    nn_vector_i32 codes[MAX_SUMS / 4], kept[MAX_SUMS], least = {0};

#pragma GCC unroll 8
    for (size_t i = 0; i < n_sums; i++)
        kept[i] = sums[i];
    NN_REQUANTIZE_KEEP(kept);
    /* All codes first: what is stored could be the constants, as far as compilers know. */
#pragma GCC unroll 2
    for (size_t i = 0; i < n_sums; i += 4) {
        nn_vector_i32 four[4], least_here;

#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
            four[j] = sums[(i + j) % n_sums];
        codes[i / 4] = nn_requantize_four(r, four, (size_t[]){c, c, c, c}, &least_here, has_low);
        least = i == 0 ? least_here : nn_requantize_lesser(least, least_here);
    }
    nn_requantize_clamp(r, codes, (n_sums + 3) / 4);
#pragma GCC unroll 2
    for (size_t i = 0; i < n_sums; i += 4) {
        uint8_t *to[4];

#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
            to[j] = sum_place(job, item, at, (i + j) % n_sums, n);
        store_groups(to, codes[i / 4]);
    }
    if (nn_requantize_is_near(least))
        codes_again(job, item, at, kept, n_rows, n);
}

/* Computes n positions of a block, in n_rows rows: both constant where this is called. */
NN_INLINE void cells_run(const struct depthwise_s16_job *job, const struct item_s16 *item,
                         const struct cells_s16 *at, const size_t n_rows, const size_t n,
                         const size_t group)
{
    const struct nn_requantize *r = &job->requantize;
    const size_t n_sums = n * n_rows, n_taps = job->cut.n_taps;
    const int32_t *weights = r->bias + at->column + CONSTANT_BYTES / sizeof(int32_t);
    nn_vector_i32 sums[MAX_SUMS];

#pragma GCC unroll 8
    for (size_t i = 0; i < n_sums; i++)
        sums[i] = nn_load_i32(r->bias + at->column);
    for (size_t g = 0; g < job->cut.n_groups; g++) {
        const int32_t *data = item->groups[g] + at->from;

        for (size_t x = 0; x < n_taps; x++, data += job->tap_step, weights += n_rows * LANES)
            tap_add(sums, data, job->cell_step, weights, n_rows, n, group);
    }
    if (r->has_low)
        codes_store(job, item, at, sums, n_rows, n, true);
    else
        codes_store(job, item, at, sums, n_rows, n, false);
}

/* A block of an item. A last position alone is computed with the one before: the same codes again. */
NN_INLINE void block_run(const struct depthwise_s16_job *job, const struct item_s16 *item,
                         const struct cells_s16 *block, const size_t n_rows, const size_t group)
{
    struct cells_s16 at = *block;

    for (size_t left = job->out.w, n = 0; left > 0; left -= n) {
        n = n_rows == 1 && left >= MAX_SUMS ? MAX_SUMS : nn_min_size(left, MAX_SUMS / MAX_ROWS);
        if (n == 1 && job->out.w > 1) {
            at.from -= job->cell_step;
            at.to -= job->out_step;
        }
        if (n == MAX_SUMS && n_rows == 1)
            cells_run(job, item, &at, n_rows, MAX_SUMS, group);
        else if (n == 4)
            cells_run(job, item, &at, n_rows, 4, group);
        else if (n == 3)
            cells_run(job, item, &at, n_rows, 3, group);
        else
            cells_run(job, item, &at, n_rows, 2, group);
        at.from += n * job->cell_step;
        at.to += n * job->out_step;
    }
}

NN_INLINE void item_run(const struct depthwise_s16_job *job, const struct item_s16 *item,
                        const size_t n_rows, const size_t group)
{
    for (size_t b = 0; b < job->cut.n_blocks; b++) {
        size_t c = block_channel(job->out.c, b);

        block_run(job, item, &(struct cells_s16){c, c, b * job->block_step}, n_rows, group);
    }
}

static void pairs_run(const struct depthwise_s16_job *job, const struct item_s16 *item)
{
    if (job->cut.n_rows == 1)
        item_run(job, item, 1, PAIR);
    else
        item_run(job, item, MAX_ROWS, PAIR);
}

#ifdef NN_VARIANT_VNNI
static void quads_run(const struct depthwise_s16_job *job, const struct item_s16 *item)
{
    if (job->cut.n_rows == 1)
        item_run(job, item, 1, QUAD);
    else
        item_run(job, item, MAX_ROWS, QUAD);
}
#endif

/* The groups of item j of batch n. Pairs that the item before has widened are in the ring. */
static void groups_fill(const struct depthwise_s16_job *job, uint8_t *ring, size_t n, size_t j,
                        bool is_first, struct item_s16 *item)
{
    size_t n_groups = job->cut.n_groups,
           n_made = is_first || job->cut.group == QUAD ? 0 : n_groups - 1;

    for (size_t g = 0; g < n_groups; g++) {
        size_t place = job->cut.group == QUAD ? g : (j + g) % n_groups;
        uint8_t *to = ring + place * job->layout.group;

        if (g >= n_made)
            group_fill(job, to, n, 2 * j + g * job->cut.group);
        item->groups[g] = (void *)to;
    }
}

/* An item is an output row, or two. */
static void depthwise_items(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_s16_job *job = ctx;
    size_t row_elements = job->out.w * job->out.c, n_rows = job->cut.n_rows;
    uint8_t *ring = nn_worker_scratch(job->args, worker), *output = job->args->outputs[0].data;
    uint8_t *spare = ring + job->cut.n_groups * job->layout.group;

    for (size_t item = begin; item < end; item++) {
        size_t n = item / job->n_items, j = item % job->n_items;
        size_t row = n * job->out.h + j * n_rows;
        size_t stop = nn_min_size(n_rows, job->out.h - j * n_rows);
        uint8_t *out = output + row * row_elements;
        struct item_s16 at = {.out = {out, stop < MAX_ROWS ? spare : out + row_elements}};

        groups_fill(job, ring, n, j, item == begin || j == 0, &at);
#ifdef NN_VARIANT_VNNI
        if (job->cut.group == QUAD)
            quads_run(job, &at);
        else
#endif
            pairs_run(job, &at);
        nn_epilogue_run(job->args, row * row_elements, (row + stop) * row_elements);
    }
}

static int nn_depthwise_conv_2d_s16(const struct nn_kernel_args *args)
{
    const struct depthwise_s16_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct depthwise_s16_job job = {
        .args = args,
        .shape = &params->shape,
        .cut = cut_filter(&params->shape, filter, params->group),
        .in = nn_conv_sizes(input->dims, false),
        .out = nn_conv_sizes(args->outputs[0].dims, false),
        .input = input->data,
        .input_zero = (uint8_t)input->zero_point,
        .requantize = nn_requantize_use(args->weights, LANES, params->low, params->high)};
    struct nn_kernel_step step = {
        .params = params, .inputs = args->inputs, .outputs = args->outputs};
    size_t row_elements = job.out.w * job.out.c;

    if (!find_layout(&step, &job.layout))
        return -ENOMEM;
    memset(args->scratch, job.input_zero, job.in.w * job.in.c);
    job.tap_step = (size_t)params->shape.dilation_w * job.in.c;
    job.block_step = block_bytes(&job.cut) / sizeof(int32_t);
    /* A row's only position stands for two. */
    job.cell_step = job.out.w > 1 ? (size_t)params->shape.stride_w * job.in.c : 0;
    job.out_step = job.out.w > 1 ? job.out.c : 0;
    job.n_items = (job.out.h + job.cut.n_rows - 1) / job.cut.n_rows;
    /* 8 multiplications a nanosecond; a code takes as long as 4. */
    nn_parallel_for(args, job.out.n * job.n_items,
                    1 + row_elements * job.cut.n_rows * (job.cut.n_groups * job.cut.n_taps + 4) /
                            (8 * LANES),
                    depthwise_items, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_depthwise(const struct nn_kernel_step *step)
{
    const struct depthwise_s16_params *params = step->params;
    const struct nn_conv_shape *shape = &params->shape;
    const uint32_t *in = step->inputs[0].dims, *filter = step->inputs[1].dims;
    struct depthwise_s16_layout layout;
    size_t needed;

    return (params->group == PAIR || (HAS_QUADS && params->group == QUAD)) && step->n_inputs >= 8 &&
           step->n_outputs == 1 && step->inputs[0].n_dims == 4 && step->inputs[1].n_dims == 4 &&
           step->outputs[0].n_dims == 4 && nn_conv_has_image(shape) && can_pack(shape, filter) &&
           in[3] == filter[3] && step->outputs[0].dims[3] == filter[3] &&
           in[0] == step->outputs[0].dims[0] && nn_tensor_count(&step->inputs[1]) > 0 &&
           nn_tensor_count(&step->outputs[0]) > 0 && find_layout(step, &layout) &&
           find_weights_bytes(params, filter, &needed) && needed <= step->weights_bytes;
}

static bool find_depthwise_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    struct depthwise_s16_layout layout = {0};

    if (!find_layout(step, &layout))
        return false;
    *ret = layout.scratch;
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("depthwise_conv_2d_s16", DEPTHWISE_CONV_2D), .in0 = NN_T_U8,
     .params_bytes = sizeof(struct depthwise_s16_params), .runs_epilogue = 1,
     .lower = lower_depthwise, .run = nn_depthwise_conv_2d_s16, .check = check_depthwise,
     .find_scratch = find_depthwise_scratch},
};
NN_VARIANT_FAMILY(depthwise_s16_simd, kernels);
