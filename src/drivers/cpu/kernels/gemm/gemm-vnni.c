/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/gemm/gemm-vnni.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/variant.h"

#include <string.h>

/* A tile is at most 12 rows of 2 vectors: 24 sums, 2 vectors of weights and one of a row's bytes
 * stay in the 32 registers. */
enum { MAX_TILE_ROWS = 12, LANES = 16, K_STEP = 4 };

/* ---- packing ---- */

/* A block begins with the weights' zero point, in a cache line of its own. */
enum { HEAD_BYTES = 64 };

static size_t whole_columns(size_t n_columns)
{
    return (n_columns + LANES - 1) / LANES * LANES;
}

bool nn_gemm_vnni_bytes(size_t n_columns, size_t k, size_t *ret_bytes)
{
    size_t n, column;

    return nn_align_up(n_columns, LANES, &n) && nn_align_up(k, K_STEP, &column) &&
           nn_add_size(column, NN_REQUANTIZE_BYTES, &column) && nn_mul_size(n, column, &n) &&
           nn_add_size(n, HEAD_BYTES, ret_bytes);
}

/* Whether all weights fit a signed byte without their zero point. */
static bool fits_signed(const struct nn_gemm_vnni_source *source)
{
    for (size_t i = 0; i < source->n_columns * source->k; i++) {
        int32_t w = (source->is_signed ? (int8_t)source->weights[i] : source->weights[i]) -
                    source->weight_zero;

        if (w < INT8_MIN || w > INT8_MAX)
            return false;
    }
    return true;
}

/* Where the weights of column n begin, and how far it is from 4 of them to the next 4. */
static int8_t *column_at(int8_t *panels, size_t n_columns, size_t k, size_t n, size_t *ret_step)
{
    size_t first = n / NN_GEMM_VNNI_COLUMNS * NN_GEMM_VNNI_COLUMNS;
    size_t width = whole_columns(n_columns) - first;

    width = width < NN_GEMM_VNNI_COLUMNS ? width : NN_GEMM_VNNI_COLUMNS;
    *ret_step = width * K_STEP;
    return panels + first * k + (n - first) * K_STEP;
}

/* Packs one column. Returns the bias with the constant parts of the zero points. */
static int32_t column_pack(const struct nn_gemm_vnni_source *source, int8_t *panels, size_t k,
                           size_t n, int32_t shift)
{
    const uint8_t *weights = source->weights + n * source->k;
    int32_t zero = source->weight_zero - shift;
    size_t step;
    int8_t *to = column_at(panels, source->n_columns, k, n, &step);
    uint32_t sum = 0;

    for (size_t i = 0; i < source->k; i++) {
        int32_t w = (source->is_signed ? (int8_t)weights[i] : weights[i]) - shift;

        to[i / K_STEP * step + i % K_STEP] = (int8_t)w;
        sum += (uint32_t)w;
    }
    return (int32_t)((uint32_t)source->bias[n] -
                     (uint32_t)source->input_zero * (sum - (uint32_t)source->k * (uint32_t)zero));
}

bool nn_gemm_vnni_pack(void *block, const struct nn_gemm_vnni_source *source)
{
    size_t k = (source->k + K_STEP - 1) / K_STEP * K_STEP;
    size_t columns = whole_columns(source->n_columns);
    struct nn_requantize r = nn_requantize_at((uint8_t *)block + HEAD_BYTES, columns);
    int8_t *panels = (int8_t *)block + HEAD_BYTES + columns * NN_REQUANTIZE_BYTES;
    /* What is taken from each weight so that it fits: all of the zero point, or 128. */
    int32_t shift = fits_signed(source) ? source->weight_zero : source->is_signed ? 0 : 128;
    int32_t zero = source->weight_zero - shift;

    memcpy(block, &zero, sizeof(zero));
    for (size_t n = 0; n < source->n_columns; n++) {
        if (!nn_requantize_fits(source->multipliers[n]))
            return false;
        nn_requantize_set(&r, n, column_pack(source, panels, k, n, shift), source->multipliers[n],
                          source->output_zero);
    }
    return true;
}

struct nn_gemm_vnni nn_gemm_vnni_use(const void *block, size_t n_columns, size_t k, int32_t low,
                                     int32_t high)
{
    size_t columns = whole_columns(n_columns);
    const uint8_t *bytes = block;
    struct nn_gemm_vnni gemm = {
        .requantize = nn_requantize_use(bytes + HEAD_BYTES, columns, low, high),
        .panels = (const int8_t *)bytes + HEAD_BYTES + columns * NN_REQUANTIZE_BYTES,
        .n_columns = n_columns,
        .k = (k + K_STEP - 1) / K_STEP * K_STEP};

    memcpy(&gemm.weight_zero, bytes, sizeof(gemm.weight_zero));
    return gemm;
}

/* ---- tiles ---- */

/* Where a tile reads and writes. */
struct tile {
    const uint8_t *rows;
    size_t stride;
    const int8_t *panel;
    const int32_t *corrections; /* one for each row */
    uint8_t *out;
    size_t out_stride;
    size_t column;
};

NN_INLINE void store_codes(uint8_t *out, __m512i codes, size_t n)
{
    __m128i bytes = _mm512_cvtepi32_epi8(codes);

    if (n >= LANES)
        _mm_storeu_si128((__m128i *)(void *)out, bytes);
    else
        _mm_mask_storeu_epi8(out, (__mmask16)((1u << n) - 1), bytes);
}

/* n_rows and n_vectors are constants where this is called, so that sums are registers. */
NN_INLINE void tile_run(const struct nn_gemm_vnni *gemm, const struct tile *tile,
                        const size_t n_rows, const size_t n_vectors)
{
    const uint8_t *rows = tile->rows;
    const int8_t *panel = tile->panel;
    size_t stride = tile->stride, k = gemm->k, n_left = gemm->n_columns - tile->column;
    __m512i sums[MAX_TILE_ROWS][2];

#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] = _mm512_loadu_si512(gemm->requantize.bias + tile->column + j * LANES);
    for (size_t at = 0; at < k; at += K_STEP, rows += K_STEP, panel += n_vectors * 64) {
        __m512i weights[2];

#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            weights[j] = _mm512_loadu_si512(panel + j * 64);
#pragma GCC unroll 12
        for (size_t i = 0; i < n_rows; i++) {
            int32_t four;
            __m512i bytes;

            memcpy(&four, rows + i * stride, sizeof(four));
            bytes = _mm512_set1_epi32(four);
#pragma GCC unroll 2
            for (size_t j = 0; j < n_vectors; j++)
                sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], bytes, weights[j]);
        }
    }
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++) {
        __m512i correction = _mm512_set1_epi32(tile->corrections[i]);

#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            store_codes(tile->out + i * tile->out_stride + j * LANES,
                        nn_requantize(&gemm->requantize, _mm512_sub_epi32(sums[i][j], correction),
                                      tile->column + j * LANES),
                        n_left > j * LANES ? n_left - j * LANES : 0);
    }
}

typedef void (*tile_fn)(const struct nn_gemm_vnni *gemm, const struct tile *tile);

#define TILE(n, width) NN_VARIANT_SYMBOL(tile_##n##x##width)
#define TILES(n)                                                                                   \
    static void TILE(n, 16)(const struct nn_gemm_vnni *gemm, const struct tile *tile)              \
    {                                                                                              \
        tile_run(gemm, tile, n, 1);                                                                \
    }                                                                                              \
    static void TILE(n, 32)(const struct nn_gemm_vnni *gemm, const struct tile *tile)              \
    {                                                                                              \
        tile_run(gemm, tile, n, 2);                                                                \
    }
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
TILES(7)
TILES(8)
TILES(9)
TILES(10)
TILES(11)
TILES(12)

static const tile_fn tiles[MAX_TILE_ROWS][2] = {
    {TILE(1, 16), TILE(1, 32)},   {TILE(2, 16), TILE(2, 32)},   {TILE(3, 16), TILE(3, 32)},
    {TILE(4, 16), TILE(4, 32)},   {TILE(5, 16), TILE(5, 32)},   {TILE(6, 16), TILE(6, 32)},
    {TILE(7, 16), TILE(7, 32)},   {TILE(8, 16), TILE(8, 32)},   {TILE(9, 16), TILE(9, 32)},
    {TILE(10, 16), TILE(10, 32)}, {TILE(11, 16), TILE(11, 32)}, {TILE(12, 16), TILE(12, 32)},
};

/* ---- blocks ---- */

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

static void panel_run(const struct nn_gemm_vnni *gemm, struct tile *tile, size_t n_rows)
{
    size_t n_vectors = gemm->n_columns - tile->column > LANES ? 2 : 1;
    /* Tiles of equal height: 49 rows are 10, 10, 10, 10 and 9, not four times 12 and one. */
    size_t n_tiles = (n_rows + MAX_TILE_ROWS - 1) / MAX_TILE_ROWS;

    for (size_t i = 0; i < n_tiles; i++) {
        size_t height = (n_rows + n_tiles - 1 - i) / n_tiles;

        tiles[height - 1][n_vectors - 1](gemm, tile);
        tile->rows += height * tile->stride;
        tile->out += height * tile->out_stride;
        tile->corrections += height;
    }
}

void nn_gemm_vnni_run(const struct nn_gemm_vnni *gemm, const uint8_t *rows, size_t stride,
                      size_t n_rows, uint8_t *out, size_t out_stride)
{
    int32_t corrections[NN_GEMM_VNNI_MAX_ROWS] = {0};

    for (size_t i = 0; gemm->weight_zero && i < n_rows; i++)
        corrections[i] = (int32_t)((uint32_t)gemm->weight_zero *
                                   (uint32_t)row_sum(rows + i * stride, gemm->k));
    for (size_t n = 0; n < gemm->n_columns; n += NN_GEMM_VNNI_COLUMNS) {
        struct tile tile = {.rows = rows,
                            .stride = stride,
                            .panel = gemm->panels + n * gemm->k,
                            .corrections = corrections,
                            .out = out + n,
                            .out_stride = out_stride,
                            .column = n};

        panel_run(gemm, &tile, n_rows);
    }
}
