/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/gemm/gemm-simd.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/variant.h"

#include <string.h>

/* A tile's sums, two vectors of weights and one of data stay in the 32 or 16 registers. */
enum {
    MAX_TILE_ROWS = NN_VARIANT_VECTOR_BYTES == 64 ? 12 : 6,
    LANES = NN_LANES_I32,
    PANEL = 2 * LANES, /* columns */
    GROUP = NN_SIMD_GROUP,
    WORD = 4, /* bytes of a group of data */
};

/* ---- packing ---- */

/* What a packed block begins with, in a cache line of its own. */
struct packed_head {
    int32_t weight_zero, input_zero;
};

enum { HEAD_BYTES = 64 };

static size_t whole_columns(size_t n_columns)
{
    return (n_columns + LANES - 1) / LANES * LANES;
}

bool nn_gemm_simd_bytes(size_t n_columns, size_t k, size_t *ret_bytes)
{
    size_t n, column;

    return nn_align_up(n_columns, LANES, &n) && nn_align_up(k, GROUP, &column) &&
           nn_mul_size(column, sizeof(nn_simd_weight), &column) &&
           nn_add_size(column, NN_REQUANTIZE_BYTES, &column) && nn_mul_size(n, column, &n) &&
           nn_add_size(n, HEAD_BYTES, ret_bytes);
}

static int32_t weight_at(const struct nn_gemm_simd_source *source, size_t i)
{
    return source->is_signed ? (int8_t)source->weights[i] : source->weights[i];
}

/* What is taken from each weight: all of the zero point, or as much as lets it fit. */
static int32_t find_shift(const struct nn_gemm_simd_source *source)
{
    for (size_t i = 0; sizeof(nn_simd_weight) == 1 && i < source->n_columns * source->k; i++) {
        int32_t w = weight_at(source, i) - source->weight_zero;

        if (w < INT8_MIN || w > INT8_MAX)
            return source->is_signed ? 0 : 128;
    }
    return source->weight_zero;
}

/* Where the weights of column n begin, and how far it is from one group to the next. */
static nn_simd_weight *column_at(nn_simd_weight *panels, size_t n_columns, size_t k, size_t n,
                                 size_t *ret_step)
{
    size_t first = n / PANEL * PANEL, width = nn_min_size(whole_columns(n_columns) - first, PANEL);

    *ret_step = width * GROUP;
    return panels + first * k + (n - first) * GROUP;
}

/* Packs one column. Returns the bias with what is constant of the zero points. */
static int32_t column_pack(const struct nn_gemm_simd_source *source, nn_simd_weight *panels,
                           size_t k, size_t n, int32_t shift)
{
    uint32_t zero = (uint32_t)(source->weight_zero - shift), sum = 0;
    size_t step;
    nn_simd_weight *to = column_at(panels, source->n_columns, k, n, &step);

    for (size_t i = 0; i < source->k; i++) {
        int32_t w = weight_at(source, n * source->k + i) - shift;

        to[i / GROUP * step + i % GROUP] = (nn_simd_weight)w;
        sum += (uint32_t)w;
    }
    if (sizeof(nn_simd_weight) != 1)
        return source->bias[n]; /* rows lose their zero point when they are widened */
    return (int32_t)((uint32_t)source->bias[n] -
                     (uint32_t)source->input_zero * (sum - (uint32_t)source->k * zero));
}

bool nn_gemm_simd_pack(void *block, const struct nn_gemm_simd_source *source)
{
    size_t k = (source->k + GROUP - 1) / GROUP * GROUP, columns = whole_columns(source->n_columns);
    struct nn_requantize r = nn_requantize_at((uint8_t *)block + HEAD_BYTES, columns);
    uint8_t *panels = (uint8_t *)block + HEAD_BYTES + columns * NN_REQUANTIZE_BYTES;
    int32_t shift = find_shift(source);
    struct packed_head head = {source->weight_zero - shift, source->input_zero};

    memcpy(block, &head, sizeof(head));
    for (size_t n = 0; n < source->n_columns; n++) {
        if (!nn_requantize_fits(source->multipliers[n]))
            return false;
        nn_requantize_set(&r, n, column_pack(source, (void *)panels, k, n, shift),
                          source->multipliers[n], source->output_zero);
    }
    return true;
}

struct nn_gemm_simd nn_gemm_simd_use(const void *block, size_t n_columns, size_t k, int32_t low,
                                     int32_t high)
{
    const uint8_t *constants = (const uint8_t *)block + HEAD_BYTES;
    size_t columns = whole_columns(n_columns);
    struct packed_head head;

    memcpy(&head, block, sizeof(head));
    return (struct nn_gemm_simd){
        .requantize = nn_requantize_use(constants, columns, low, high),
        .panels = (const void *)(constants + columns * NN_REQUANTIZE_BYTES),
        .n_columns = n_columns,
        .k = (k + GROUP - 1) / GROUP * GROUP,
        .weight_zero = head.weight_zero,
        .input_zero = head.input_zero};
}

/* ---- tiles ---- */

/* Where a tile reads and writes. */
struct tile {
    const uint8_t *rows; /* bytes, or numbers of 16 bits */
    size_t stride;       /* bytes */
    const nn_simd_weight *panel;
    const int32_t *corrections; /* one for each row */
    uint8_t *out;
    size_t out_stride;
    size_t column;
};

NN_INLINE void store_codes(uint8_t *out, nn_vector_i32 codes, size_t n)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    __m128i bytes = _mm512_cvtepi32_epi8((__m512i)codes);

    if (n >= LANES)
        _mm_storeu_si128((__m128i *)(void *)out, bytes);
    else
        _mm_mask_storeu_epi8(out, (__mmask16)((1u << n) - 1), bytes);
#else
    __m256i words = _mm256_packs_epi32((__m256i)codes, (__m256i)codes);
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(_mm256_permute4x64_epi64(words, 0x08)),
                                     _mm_setzero_si128());
    uint64_t all = (uint64_t)_mm_cvtsi128_si64(bytes);

    memcpy(out, &all, n < LANES ? n : LANES);
#endif
}

/* n_rows and n_vectors are constants where this is called, so that sums are registers. */
NN_INLINE void tile_run(const struct nn_gemm_simd *gemm, const struct tile *tile,
                        const size_t n_rows, const size_t n_vectors)
{
    const uint8_t *rows = tile->rows;
    const nn_simd_weight *panel = tile->panel;
    size_t stride = tile->stride, n_left = gemm->n_columns - tile->column;
    nn_vector_i32 sums[MAX_TILE_ROWS][2];

#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] = nn_load_i32(gemm->requantize.bias + tile->column + j * LANES);
    for (size_t at = 0; at < gemm->k;
         at += GROUP, rows += WORD, panel += n_vectors * LANES * GROUP) {
        nn_vector_i32 weights[2];

#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            weights[j] = nn_load_i32(panel + j * LANES * GROUP);
#pragma GCC unroll 12
        for (size_t i = 0; i < n_rows; i++) {
            nn_vector_i32 data;
            int32_t word;

            memcpy(&word, rows + i * stride, sizeof(word));
            data = nn_splat_i32(word);
#pragma GCC unroll 2
            for (size_t j = 0; j < n_vectors; j++)
                sums[i][j] = nn_multiply_add(sums[i][j], data, weights[j]);
        }
    }
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++) {
        nn_vector_i32 correction = nn_splat_i32(tile->corrections[i]);

#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            store_codes(
                tile->out + i * tile->out_stride + j * LANES,
                nn_requantize(&gemm->requantize, sums[i][j] - correction, tile->column + j * LANES),
                n_left > j * LANES ? n_left - j * LANES : 0);
    }
}

typedef void (*tile_fn)(const struct nn_gemm_simd *gemm, const struct tile *tile);

#define TILE(n, vectors) NN_VARIANT_SYMBOL(tile_##n##x##vectors)
#define TILES(n)                                                                                   \
    static void TILE(n, 1)(const struct nn_gemm_simd *gemm, const struct tile *tile)               \
    {                                                                                              \
        tile_run(gemm, tile, n, 1);                                                                \
    }                                                                                              \
    static void TILE(n, 2)(const struct nn_gemm_simd *gemm, const struct tile *tile)               \
    {                                                                                              \
        tile_run(gemm, tile, n, 2);                                                                \
    }
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
#if NN_VARIANT_VECTOR_BYTES == 64
TILES(7)
TILES(8)
TILES(9)
TILES(10)
TILES(11)
TILES(12)
#endif

static const tile_fn tiles[MAX_TILE_ROWS][2] = {
    {TILE(1, 1), TILE(1, 2)},   {TILE(2, 1), TILE(2, 2)},   {TILE(3, 1), TILE(3, 2)},
    {TILE(4, 1), TILE(4, 2)},   {TILE(5, 1), TILE(5, 2)},   {TILE(6, 1), TILE(6, 2)},
#if NN_VARIANT_VECTOR_BYTES == 64
    {TILE(7, 1), TILE(7, 2)},   {TILE(8, 1), TILE(8, 2)},   {TILE(9, 1), TILE(9, 2)},
    {TILE(10, 1), TILE(10, 2)}, {TILE(11, 1), TILE(11, 2)}, {TILE(12, 1), TILE(12, 2)},
#endif
};

/* ---- blocks ---- */

#ifdef NN_VARIANT_VNNI
static int32_t row_sum(const uint8_t *row, size_t k)
{
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum = _mm512_setzero_si512();
    size_t at = 0;

    for (; at + 64 <= k; at += 64)
        sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(row + at), ones);
    if (at < k)
        sum = _mm512_dpbusd_epi32(
            sum, _mm512_maskz_loadu_epi8((UINT64_C(1) << (k - at)) - 1, row + at), ones);
    return _mm512_reduce_add_epi32(sum);
}

/* Rows are read as they are; corrections are what weights with a zero point add. */
static void rows_prepare(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_block *block,
                         struct tile *tile, int32_t *corrections)
{
    for (size_t i = 0; gemm->weight_zero && i < block->n_rows; i++)
        corrections[i] = (int32_t)((uint32_t)gemm->weight_zero *
                                   (uint32_t)row_sum(block->rows + i * block->stride, gemm->k));
    tile->rows = block->rows;
    tile->stride = block->stride;
}

bool nn_gemm_simd_scratch(size_t k, size_t *ret_bytes)
{
    *ret_bytes = 0;
    return true;
}
#else
/* Rows lie a line further apart than they are long, so that they do not meet in the cache's sets. */
static size_t wide_stride(size_t k)
{
    return ((k + GROUP - 1) / GROUP * GROUP * sizeof(int16_t) + 127) / 64 * 64;
}

/* Rows are widened and lose their zero point. */
static void rows_prepare(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_block *block,
                         struct tile *tile, int32_t *corrections)
{
    size_t stride = wide_stride(gemm->k);
    int16_t zero = (int16_t)gemm->input_zero;

    for (size_t i = 0; i < block->n_rows; i++) {
        int16_t *restrict to = (int16_t *)(void *)((uint8_t *)block->scratch + i * stride);
        const uint8_t *restrict from = block->rows + i * block->stride;

        for (size_t at = 0; at < gemm->k; at++)
            to[at] = (int16_t)(from[at] - zero);
    }
    tile->rows = block->scratch;
    tile->stride = stride;
}

bool nn_gemm_simd_scratch(size_t k, size_t *ret_bytes)
{
    return k < SIZE_MAX / 4 - 128 && nn_mul_size(wide_stride(k), NN_GEMM_SIMD_MAX_ROWS, ret_bytes);
}
#endif

static void panel_run(const struct nn_gemm_simd *gemm, struct tile tile, size_t n_rows)
{
    size_t n_vectors = gemm->n_columns - tile.column > LANES ? 2 : 1;
    /* Tiles of equal height: 49 rows are 10, 10, 10, 10 and 9, not four times 12 and one. */
    size_t n_tiles = (n_rows + MAX_TILE_ROWS - 1) / MAX_TILE_ROWS;

    for (size_t i = 0; i < n_tiles; i++) {
        size_t height = (n_rows + n_tiles - 1 - i) / n_tiles;

        tiles[height - 1][n_vectors - 1](gemm, &tile);
        tile.rows += height * tile.stride;
        tile.out += height * tile.out_stride;
        tile.corrections += height;
    }
}

void nn_gemm_simd_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_block *block)
{
    int32_t corrections[NN_GEMM_SIMD_MAX_ROWS] = {0};
    struct tile tile = {.corrections = corrections, .out_stride = block->out_stride};

    rows_prepare(gemm, block, &tile, corrections);
    for (size_t n = 0; n < gemm->n_columns; n += PANEL) {
        tile.panel = gemm->panels + n * gemm->k;
        tile.out = block->out + n;
        tile.column = n;
        panel_run(gemm, tile, block->n_rows);
    }
}
