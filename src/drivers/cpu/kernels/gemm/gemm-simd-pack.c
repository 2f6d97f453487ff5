/* SPDX-License-Identifier: Apache-2.0 */
/* gemm-simd-pack.c - the packed form of gemm-simd.h: made, and found in a block */
#include "base/arith.h"
#include "drivers/cpu/kernels/gemm/gemm-simd.h"
#include "drivers/cpu/kernels/gemm/transpose.h"

#include <string.h>

enum {
    LANES = NN_LANES_I32,
    PANEL = NN_GEMM_SIMD_COLUMNS,
    GROUP = NN_SIMD_GROUP,
    BLOCK = NN_TRANSPOSE_WORDS * GROUP, /* elements that are packed at once */
};

/* A packed block begins with the zero point of its weights, in a cache line of its own. */
enum { HEAD_BYTES = 64 };

static size_t whole_groups(size_t n_elements)
{
    return (n_elements + GROUP - 1) / GROUP * GROUP;
}

bool nn_gemm_simd_bytes(size_t n_columns, size_t n_segments, size_t n_elements, size_t weight_bytes,
                        size_t *ret_bytes)
{
    size_t n, column;

    return nn_align_up(n_columns, LANES, &n) && nn_align_up(n_elements, GROUP, &column) &&
           nn_mul_size(column, n_segments, &column) && nn_mul_size(column, weight_bytes, &column) &&
           nn_add_size(column, NN_REQUANTIZE_BYTES, &column) && nn_mul_size(n, column, &n) &&
           nn_add_size(n, HEAD_BYTES, ret_bytes);
}

static int32_t weight_at(const struct nn_gemm_simd_source *source, size_t i)
{
    return source->is_signed ? (int8_t)source->weights[i] : source->weights[i];
}

/* What is taken from each weight: all of the zero point, or as much as lets it fit. */
static int32_t find_shift(const struct nn_gemm_simd_source *source, struct nn_pace *pace)
{
    size_t n_weights = source->n_columns * source->n_segments * source->n_elements;
    uint8_t flip = source->is_signed ? 0x80 : 0, least = 0xff, largest = 0;
    int32_t offset = source->weight_zero + flip;

    if (sizeof(nn_simd_weight) != 1)
        return source->weight_zero;
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n_weights, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++) {
            uint8_t code = source->weights[i] ^ flip;

            least = code < least ? code : least;
            largest = code > largest ? code : largest;
        }
    if (least - offset < INT8_MIN || largest - offset > INT8_MAX)
        return source->is_signed ? 0 : 128;
    return source->weight_zero;
}

/* Where a column's weights lie in a panel. */
struct column {
    uint8_t *weights;
    size_t step;         /* bytes from one group to the next */
    size_t weight_bytes; /* of a weight */
};

static struct column column_at(const struct nn_gemm_simd_source *source, uint8_t *panels, size_t k,
                               size_t n)
{
    size_t bytes = nn_gemm_simd_weight_bytes(source->is_signed, source->weight_zero);
    size_t first = n / PANEL * PANEL;
    size_t width = nn_min_size(nn_gemm_simd_whole_columns(source->n_columns) - first, PANEL);

    return (struct column){panels + (first * k + (n - first) * GROUP) * bytes,
                           width * GROUP * bytes, bytes};
}

/* Eight groups of a column, as they are packed. */
static __m256i load_block(const uint8_t *from, bool is_signed, int32_t shift)
{
    const void *at = from;

    if (sizeof(nn_simd_weight) == 1)
        return _mm256_sub_epi8(_mm256_loadu_si256(at), _mm256_set1_epi8((int8_t)shift));
    return _mm256_sub_epi16(is_signed ? _mm256_cvtepi8_epi16(_mm_loadu_si128(at))
                                      : _mm256_cvtepu8_epi16(_mm_loadu_si128(at)),
                            _mm256_set1_epi16((int16_t)shift));
}

static void weight_store(const struct column *to, size_t i, int32_t w)
{
    uint8_t *at = to->weights + i / GROUP * to->step + i % GROUP * to->weight_bytes;
    nn_simd_weight wide = (nn_simd_weight)w;

    if (to->weight_bytes == 1)
        *at = (uint8_t)w;
    else
        memcpy(at, &wide, sizeof(wide));
}

/* Packs what a segment of column n has from element first on. What pads it equals its zero point: it
 * counts for nothing. */
static void segment_pack(const struct nn_gemm_simd_source *source, size_t n, size_t segment,
                         size_t first, struct column to, int32_t shift, struct nn_pace *pace)
{
    size_t length = whole_groups(source->n_elements);
    size_t from = n * source->n_step + segment * source->n_elements * source->k_step;

    for (struct nn_pace_part part = {.end = first}; nn_pace_next_part(pace, length, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++) {
            int32_t w = source->weight_zero;

            if (i < source->n_elements)
                w = weight_at(source, from + i * source->k_step);
            weight_store(&to, i, w - shift);
        }
}

/* A group of eight columns, of weights as wide as they are multiplied. */
static void words_store(const struct column *to, size_t group, __m256i words)
{
    void *at = to->weights + group * to->step;

    if (to->weight_bytes == sizeof(nn_simd_weight))
        _mm256_storeu_si256(at, words);
    else
        _mm_storeu_si128(
            at, _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

/* Eight columns, where the weights of each follow each other in the model: groups are words.
 * Returns: the first element that is not packed. */
static size_t segments_transpose(const struct nn_gemm_simd_source *source, size_t n, size_t segment,
                                 struct column to, int32_t shift, struct nn_pace *pace)
{
    const uint8_t *from = source->weights + n * source->n_step + segment * source->n_elements;
    size_t i = 0;

    for (; i + BLOCK <= source->n_elements && !nn_pace_ends(pace, BLOCK);
         i += BLOCK, to.weights += NN_TRANSPOSE_WORDS * to.step) {
        __m256i rows[NN_TRANSPOSE_WORDS];

        for (size_t c = 0; c < NN_TRANSPOSE_WORDS; c++)
            rows[c] = load_block(from + c * source->n_step + i, source->is_signed, shift);
        nn_transpose_words(rows);
        for (size_t j = 0; j < NN_TRANSPOSE_WORDS; j++)
            words_store(&to, j, rows[j]);
    }
    return i;
}

/* Packs n_together columns from column n on: one, or eight whose weights follow each other. */
static void columns_pack(const struct nn_gemm_simd_source *source, uint8_t *panels, size_t n,
                         size_t n_together, int32_t shift, struct nn_pace *pace)
{
    size_t length = whole_groups(source->n_elements), k = source->n_segments * length;
    struct column to = column_at(source, panels, k, n);

    for (size_t segment = 0; segment < source->n_segments; segment++) {
        size_t first = n_together > 1 ? segments_transpose(source, n, segment, to, shift, pace) : 0;

        if (nn_pace_ends(pace, n_together))
            return;
        for (size_t c = 0; c < n_together; c++)
            segment_pack(
                source, n + c, segment, first,
                (struct column){to.weights + c * GROUP * to.weight_bytes, to.step, to.weight_bytes},
                shift, pace);
        to.weights += length / GROUP * to.step;
    }
}

static void spare_column_pack(const struct nn_gemm_simd_source *source, uint8_t *panels,
                              int32_t zero, struct nn_pace *pace)
{
    size_t k = source->n_segments * whole_groups(source->n_elements);
    const struct column to = column_at(source, panels, k, source->n_columns);

    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, k, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            weight_store(&to, i, zero);
}

/* The bias of column n with what is constant of the zero points; without VNNI data has lost its
 * own. */
static int32_t column_bias(const struct nn_gemm_simd_source *source, size_t n, struct nn_pace *pace)
{
    const uint8_t *from = source->weights + n * source->n_step;
    uint32_t sum = 0;

    if (sizeof(nn_simd_weight) != 1)
        return source->bias[n];
    for (struct nn_pace_part part = {0};
         nn_pace_next_part(pace, source->n_segments * source->n_elements, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++, from += source->k_step)
            sum += (uint32_t)((source->is_signed ? (int8_t)*from : *from) - source->weight_zero);
    return (int32_t)((uint32_t)source->bias[n] - (uint32_t)source->input_zero * sum);
}

bool nn_gemm_simd_pack(void *block, const struct nn_gemm_simd_source *source)
{
    size_t columns = nn_gemm_simd_whole_columns(source->n_columns);
    struct nn_requantize r = nn_requantize_at((uint8_t *)block + HEAD_BYTES, columns);
    uint8_t *panels = (uint8_t *)block + HEAD_BYTES + columns * NN_REQUANTIZE_BYTES;
    struct nn_pace pace = nn_pace(source->stop);
    int32_t shift = find_shift(source, &pace), zero = source->weight_zero - shift;
    bool is_row = source->k_step == 1;
    size_t n_together;

    r.rounds_once = source->rounds_once;
    memcpy(block, &zero, sizeof(zero));
    for (size_t n = 0; n < source->n_columns; n++) {
        if (!nn_requantize_fits(source->multipliers[n]))
            return false;
        if (nn_pace_ends(&pace, 10))
            return true;
        nn_requantize_set(&r, n, column_bias(source, n, &pace), source->multipliers[n],
                          source->output_zero);
    }
    for (size_t n = source->n_columns; n < columns; n++)
        nn_requantize_pad(&r, n);
    for (size_t n = 0; n < source->n_columns; n += n_together) {
        n_together = is_row && n + NN_TRANSPOSE_WORDS <= source->n_columns ? NN_TRANSPOSE_WORDS : 1;
        if (nn_pace_ends(&pace, 10))
            return true;
        columns_pack(source, panels, n, n_together, shift, &pace);
    }
    if (zero && nn_gemm_simd_has_spare(source->n_columns))
        spare_column_pack(source, panels, zero, &pace);
    return true;
}

struct nn_gemm_simd nn_gemm_simd_use(const void *block, size_t n_columns,
                                     const struct nn_gemm_segments *segments, size_t weight_bytes,
                                     int32_t low, int32_t high)
{
    const uint8_t *constants = (const uint8_t *)block + HEAD_BYTES;
    size_t columns = nn_gemm_simd_whole_columns(n_columns);
    struct nn_gemm_simd gemm = {.requantize = nn_requantize_use(constants, columns, low, high),
                                .panels = constants + columns * NN_REQUANTIZE_BYTES,
                                .n_columns = n_columns,
                                .weight_bytes = weight_bytes,
                                .segments = *segments};

    gemm.segments.n_elements = whole_groups(segments->n_elements);
    memcpy(&gemm.weight_zero, block, sizeof(gemm.weight_zero));
    return gemm;
}
