/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/gemm/gemm-simd.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/variant.h"

#include <string.h>

/* A tile's sums, two vectors of weights and one of data stay in the 32 or 16 registers. */
enum {
    MAX_TILE_ROWS = NN_GEMM_SIMD_ROWS,
    LANES = NN_LANES_I32,
    PANEL = NN_GEMM_SIMD_COLUMNS,
    GROUP = NN_SIMD_GROUP,
};

/* ---- tiles ---- */

/* memcpy() of less than a panel's columns without a call: of two halves, which may overlap. */
NN_INLINE void short_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n >= 16) {
        __m128i end = _mm_loadu_si128((const void *)(from + n - 16));

        _mm_storeu_si128((void *)to, _mm_loadu_si128((const void *)from));
        _mm_storeu_si128((void *)(to + n - 16), end);
    } else if (n >= 8) {
        __m128i end = _mm_loadl_epi64((const void *)(from + n - 8));

        _mm_storel_epi64((void *)to, _mm_loadl_epi64((const void *)from));
        _mm_storel_epi64((void *)(to + n - 8), end);
    } else {
        memcpy(to, from, n);
    }
}

/* Rows of codes, step bytes apart. */
struct codes_place {
    uint8_t *to;
    size_t step;
};

/* Row i of the 4 / n_vectors in a vector: both constant where this is called. */
NN_INLINE void row_store(uint8_t *to, nn_vector_i32 codes, const size_t i, const size_t n_vectors)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    __m256i half = (i * n_vectors) / 2 ? _mm512_extracti64x4_epi64((__m512i)codes, 1)
                                       : _mm512_castsi512_si256((__m512i)codes);

    if (n_vectors == 2)
        _mm256_storeu_si256((void *)to, half);
    else
        _mm_storeu_si128((void *)to,
                         i % 2 ? _mm256_extracti128_si256(half, 1) : _mm256_castsi256_si128(half));
#else
    __m128i half = (i * n_vectors) / 2 ? _mm256_extracti128_si256((__m256i)codes, 1)
                                       : _mm256_castsi256_si128((__m256i)codes);

    if (n_vectors == 2)
        _mm_storeu_si128((void *)to, half);
    else
        _mm_storel_epi64((void *)to, i % 2 ? _mm_unpackhi_epi64(half, half) : half);
#endif
}

/* A panel: its columns begin at column. */
struct panel {
    const uint8_t *weights;
    size_t column;
};

/* A segment of the rows of a tile, and its weights. */
struct segment {
    const nn_gemm_simd_data *rows;
    size_t stride, n_elements;
    const uint8_t *weights;
};

/* What is constant where a tile is run. */
struct tile_size {
    size_t n_rows, n_vectors, weight_bytes;
};

/* The weights of a vector of columns, of weight_bytes each. */
NN_INLINE nn_vector_i32 load_weights(const uint8_t *from, const size_t weight_bytes)
{
#ifndef NN_VARIANT_VNNI
    if (weight_bytes == 1)
#if NN_VARIANT_VECTOR_BYTES == 64
        return (nn_vector_i32)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)from));
#else
        return (nn_vector_i32)_mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)from));
#endif
#endif
    return nn_load_i32(from);
}

/* The products of one segment. Returns: the weights of the next one. */
NN_INLINE const uint8_t *segment_add(nn_vector_i32 sums[MAX_TILE_ROWS][2],
                                     const struct segment *segment, const struct tile_size size)
{
    const nn_gemm_simd_data *rows = segment->rows;
    const uint8_t *weights = segment->weights;

    for (size_t at = 0; at < segment->n_elements; at += GROUP, rows += GROUP) {
        nn_vector_i32 w[2];

#pragma GCC unroll 2
        for (size_t j = 0; j < size.n_vectors; j++, weights += LANES * GROUP * size.weight_bytes)
            w[j] = load_weights(weights, size.weight_bytes);
#pragma GCC unroll 12
        for (size_t i = 0; i < size.n_rows; i++) {
            nn_vector_i32 data;
            int32_t word;

            memcpy(&word, rows + i * segment->stride, sizeof(word));
            data = nn_splat_i32(word);
#pragma GCC unroll 2
            for (size_t j = 0; j < size.n_vectors; j++)
                sums[i][j] = nn_multiply_add(sums[i][j], data, w[j]);
        }
    }
    return weights;
}

/* Takes what a packed zero point adds to each row. */
NN_INLINE void corrections_take(nn_vector_i32 sums[MAX_TILE_ROWS][2], const int32_t *corrections,
                                const size_t n_rows, const size_t n_vectors)
{
#ifdef NN_VARIANT_VNNI
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] -= nn_splat_i32(corrections[i]);
#else
    (void)sums, (void)corrections, (void)n_rows, (void)n_vectors;
#endif
}

/* The same where a spare column has it. */
NN_INLINE void spare_column_take(nn_vector_i32 sums[MAX_TILE_ROWS][2], size_t n_columns,
                                 const size_t n_rows, const size_t n_vectors)
{
#ifdef NN_VARIANT_VNNI
    const __m512i lane = _mm512_set1_epi32((int32_t)(n_columns % LANES));

#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++) {
        __m512i more = _mm512_permutexvar_epi32(lane, (__m512i)sums[i][n_vectors - 1]);

#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] -= (nn_vector_i32)more;
    }
#else
    (void)sums, (void)n_columns, (void)n_rows, (void)n_vectors;
#endif
}

/* The codes of a tile's rows near a border between two codes again. */
static void NN_COLD rows_again(const struct nn_requantize *r, const nn_vector_i32 (*sums)[2],
                               size_t column, const struct codes_place *place, size_t n_rows,
                               size_t n_vectors)
{
    const struct nn_requantize again = nn_requantize_to_again(r);

    for (size_t k = 0; k < n_rows * n_vectors; k++) {
        size_t i = k >> (n_vectors - 1), j = k & (n_vectors - 1);

        nn_requantize_again(&again, &sums[i][j], column + j * LANES,
                            place->to + i * place->step + j * LANES, LANES, 0);
    }
}

/* The codes of a tile to their place; has_low as in nn_requantize_units(). */
NN_INLINE void codes_store(const struct nn_requantize *r, size_t column,
                           nn_vector_i32 sums[MAX_TILE_ROWS][2], const struct codes_place *place,
                           const size_t n_rows, const size_t n_vectors, const bool has_low)
{
    const size_t together = 4 / n_vectors; /* rows */
    nn_vector_i32 codes[MAX_TILE_ROWS / 2], kept[MAX_TILE_ROWS][2], least = {0};

#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            kept[i][j] = sums[i][j];
    NN_REQUANTIZE_KEEP(kept);
    /* All codes first: what is stored could be the constants, as far as compilers know. */
#pragma GCC unroll 6
    for (size_t i = 0; i < n_rows; i += together) {
        nn_vector_i32 four[4], least_here;
        size_t columns[4];

#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++) {
            four[k] = sums[nn_min_size(i + k / n_vectors, n_rows - 1)][k % n_vectors];
            columns[k] = column + k % n_vectors * LANES;
        }
        codes[i / together] = nn_requantize_four(r, four, columns, &least_here, has_low);
        least = i == 0 ? least_here : nn_requantize_lesser(least, least_here);
    }
    nn_requantize_clamp(r, codes, (n_rows + together - 1) / together);
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
        row_store(place->to + i * place->step, codes[i / together], i % together, n_vectors);
    if (nn_requantize_is_near(least))
        rows_again(r, kept, column, place, n_rows, n_vectors);
}

/* The codes of a tile. Rows of the last columns, which may be shorter, are made beside their place. */
NN_INLINE void tile_store(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                          size_t column, nn_vector_i32 sums[MAX_TILE_ROWS][2], const size_t n_rows,
                          const size_t n_vectors)
{
    const struct nn_requantize *r = &gemm->requantize;
    size_t n_left = gemm->n_columns - column;
    bool is_short = n_left < n_vectors * LANES;
    uint8_t rows[MAX_TILE_ROWS * PANEL], *out = tile->out + column;
    struct codes_place place = {is_short ? rows : out, is_short ? PANEL : gemm->n_columns};

    if (r->has_low)
        codes_store(r, column, sums, &place, n_rows, n_vectors, true);
    else
        codes_store(r, column, sums, &place, n_rows, n_vectors, false);
    for (size_t i = 0; is_short && i < n_rows; i++)
        short_copy(out + i * gemm->n_columns, rows + i * PANEL, n_left);
}

/* n_rows and n_vectors are constants where this is called, so that sums are registers. */
NN_INLINE void tile_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                        const struct panel *panel, const int32_t *corrections,
                        const struct tile_size size)
{
    const struct nn_gemm_segments *segments = &gemm->segments;
    const uint8_t *weights = panel->weights;
    nn_vector_i32 sums[MAX_TILE_ROWS][2];

#pragma GCC unroll 12
    for (size_t i = 0; i < size.n_rows; i++)
#pragma GCC unroll 2
        for (size_t j = 0; j < size.n_vectors; j++)
            sums[i][j] = nn_load_i32(gemm->requantize.bias + panel->column + j * LANES);
    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++)
            weights = segment_add(
                sums,
                &(struct segment){tile->rows + y * segments->row_step + x * segments->tap_step,
                                  tile->stride, segments->n_elements, weights},
                size);
    if (gemm->weight_zero && nn_gemm_simd_has_spare(gemm->n_columns))
        spare_column_take(sums, gemm->n_columns, size.n_rows, size.n_vectors);
    else if (gemm->weight_zero)
        corrections_take(sums, corrections, size.n_rows, size.n_vectors);
    tile_store(gemm, tile, panel->column, sums, size.n_rows, size.n_vectors);
}

typedef void (*tile_fn)(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                        const struct panel *panel, const int32_t *corrections);

#define TILE(n, vectors, bytes) NN_VARIANT_SYMBOL(tile_##n##x##vectors##x##bytes)
#define TILE_OF(n, vectors, bytes)                                                                 \
    static void TILE(n, vectors, bytes)(const struct nn_gemm_simd *gemm,                           \
                                        const struct nn_gemm_simd_tile *tile,                      \
                                        const struct panel *panel, const int32_t *corrections)     \
    {                                                                                              \
        tile_run(gemm, tile, panel, corrections, (struct tile_size){n, vectors, bytes});           \
    }
#define TILES(n)                                                                                   \
    TILE_OF(n, 1, 1)                                                                               \
    TILE_OF(n, 2, 1)                                                                               \
    WIDE_TILES(n)
#ifdef NN_VARIANT_VNNI
#define WIDE_TILES(n)
#define ROW(n)                                                                                     \
    {                                                                                              \
        {                                                                                          \
            TILE(n, 1, 1), TILE(n, 2, 1)                                                           \
        }                                                                                          \
    }
#else
#define WIDE_TILES(n)                                                                              \
    TILE_OF(n, 1, 2)                                                                               \
    TILE_OF(n, 2, 2)
#define ROW(n)                                                                                     \
    {                                                                                              \
        {TILE(n, 1, 1), TILE(n, 2, 1)},                                                            \
        {                                                                                          \
            TILE(n, 1, 2), TILE(n, 2, 2)                                                           \
        }                                                                                          \
    }
#endif
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

/* [rows][bytes of a weight][vectors] */
static const tile_fn tiles[MAX_TILE_ROWS][sizeof(nn_simd_weight)][2] = {
    ROW(1), ROW(2), ROW(3), ROW(4),  ROW(5),  ROW(6),
#if NN_VARIANT_VECTOR_BYTES == 64
    ROW(7), ROW(8), ROW(9), ROW(10), ROW(11), ROW(12),
#endif
};

/* ---- blocks ---- */

#ifdef NN_VARIANT_VNNI
enum { SUMMED = 4 }; /* rows at once */

/* The sum of the lanes of each of four vectors. */
static __m128i lanes_sum(const __m512i sums[SUMMED])
{
    __m512i low = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[0], sums[1]),
                                   _mm512_unpackhi_epi32(sums[0], sums[1]));
    __m512i high = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[2], sums[3]),
                                    _mm512_unpackhi_epi32(sums[2], sums[3]));
    __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(low, high),
                                   _mm512_unpackhi_epi64(low, high));
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));

    return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* The sums of four rows whose segments have at most 16 bytes: one vector holds a segment of each. */
static __m128i narrow_sums(const struct nn_gemm_segments *segments, const uint8_t *rows[SUMMED])
{
    const __mmask16 mask = (__mmask16)(0xffffu >> (16 - segments->n_elements));
    const __m512i ones = _mm512_set1_epi8(1), firsts = _mm512_setr4_epi32(0, 4, 8, 12);
    __m512i sum = _mm512_setzero_si512();

    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++) {
            size_t at = y * segments->row_step + x * segments->tap_step;
            __m512i data = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(mask, rows[0] + at));

            data = _mm512_inserti32x4(data, _mm_maskz_loadu_epi8(mask, rows[1] + at), 1);
            data = _mm512_inserti32x4(data, _mm_maskz_loadu_epi8(mask, rows[2] + at), 2);
            data = _mm512_inserti32x4(data, _mm_maskz_loadu_epi8(mask, rows[3] + at), 3);
            sum = _mm512_dpbusd_epi32(sum, data, ones);
        }
    sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_BADC));
    sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_CDAB));
    return _mm512_castsi512_si128(_mm512_permutexvar_epi32(firsts, sum));
}

/* Adds n bytes of each of four rows, from byte at on. */
NN_INLINE void bytes_add(__m512i sums[SUMMED], const uint8_t *rows[SUMMED], size_t at, size_t n)
{
    const __mmask64 mask = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
    const __m512i ones = _mm512_set1_epi8(1);

#pragma GCC unroll 4
    for (size_t k = 0; k < SUMMED; k++)
        sums[k] = _mm512_dpbusd_epi32(sums[k], _mm512_maskz_loadu_epi8(mask, rows[k] + at), ones);
}

/* The sums of four rows: side by side, so that they stay in registers and none waits for itself. */
static __m128i wide_sums(const struct nn_gemm_segments *segments, const uint8_t *rows[SUMMED])
{
    __m512i sums[SUMMED];

#pragma GCC unroll 4
    for (size_t k = 0; k < SUMMED; k++)
        sums[k] = _mm512_setzero_si512();
    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++) {
            size_t at = y * segments->row_step + x * segments->tap_step, i = 0;

            for (; segments->n_elements - i > 64; i += 64)
                bytes_add(sums, rows, at + i, 64);
            bytes_add(sums, rows, at + i, segments->n_elements - i);
        }
    return lanes_sum(sums);
}

/* What a packed zero point adds to the sums of a tile's rows. */
static void find_corrections(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                             int32_t corrections[MAX_TILE_ROWS])
{
    const struct nn_gemm_segments *segments = &gemm->segments;

    for (size_t i = 0; i < tile->n_rows; i += SUMMED) {
        const uint8_t *rows[SUMMED];
        __m128i sums;

        for (size_t k = 0; k < SUMMED; k++)
            rows[k] = tile->rows + nn_min_size(i + k, tile->n_rows - 1) * tile->stride;
        sums = segments->n_elements <= 16 ? narrow_sums(segments, rows) : wide_sums(segments, rows);
        _mm_storeu_si128((void *)(corrections + i),
                         _mm_mullo_epi32(sums, _mm_set1_epi32(gemm->weight_zero)));
    }
}
#endif

/* ---- one row ---- */

/* Panels that one row meets at once: two sums alone would wait for each other. */
enum { N_WIDE = 4 };

/* Their codes near a border between two codes again. */
static void NN_COLD wide_again(const struct nn_requantize *r, const nn_vector_i32 sums[2 * N_WIDE],
                               size_t column, uint8_t *row)
{
    const struct nn_requantize again = nn_requantize_to_again(r);

    for (size_t j = 0; j < 2 * N_WIDE; j++)
        nn_requantize_again(&again, &sums[j], column + j * LANES, row + j * LANES, LANES, 0);
}

/* Their codes. */
NN_INLINE void wide_store(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                          size_t column, nn_vector_i32 sums[2 * N_WIDE], const bool has_low)
{
    nn_vector_i32 codes[N_WIDE / 2], kept[2 * N_WIDE], least[N_WIDE / 2];
    uint8_t row[sizeof(codes)];

#pragma GCC unroll 8
    for (size_t j = 0; j < 2 * N_WIDE; j++)
        kept[j] = sums[j];
    NN_REQUANTIZE_KEEP(kept);
#pragma GCC unroll 2
    for (size_t j = 0; j < 2 * N_WIDE; j += 4) {
        size_t at = column + j * LANES;

        codes[j / 4] = nn_requantize_four(
            &gemm->requantize, sums + j, (size_t[]){at, at + LANES, at + 2 * LANES, at + 3 * LANES},
            &least[j / 4], has_low);
    }
    nn_requantize_clamp(&gemm->requantize, codes, N_WIDE / 2);
    memcpy(row, codes, sizeof(row));
    if (nn_requantize_is_near(nn_requantize_lesser(least[0], least[1])))
        wide_again(&gemm->requantize, kept, column, row);
    memcpy(tile->out + column, row, nn_min_size(gemm->n_columns - column, sizeof(row)));
}

/* One row and N_WIDE panels of two vectors. */
NN_INLINE void wide_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                        const struct panel *panel, int32_t correction, const size_t weight_bytes)
{
    const struct nn_gemm_segments *segments = &gemm->segments;
    size_t k = segments->n_rows * segments->n_taps * segments->n_elements, column = panel->column;
    const uint8_t *weights = panel->weights;
    nn_vector_i32 sums[2 * N_WIDE];

#pragma GCC unroll 8
    for (size_t j = 0; j < 2 * N_WIDE; j++)
        sums[j] = nn_load_i32(gemm->requantize.bias + column + j * LANES);
    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++) {
            const nn_gemm_simd_data *data = tile->rows + y * segments->row_step +
                                            x * segments->tap_step;

            for (size_t at = 0; at < segments->n_elements;
                 at += GROUP, weights += PANEL * GROUP * weight_bytes) {
                int32_t word;

                memcpy(&word, data + at, sizeof(word));
#pragma GCC unroll 8
                for (size_t j = 0; j < 2 * N_WIDE; j++)
                    sums[j] = nn_multiply_add(
                        sums[j], nn_splat_i32(word),
                        load_weights(weights +
                                         (j / 2 * PANEL * k + j % 2 * LANES * GROUP) * weight_bytes,
                                     weight_bytes));
            }
        }
#pragma GCC unroll 8
    for (size_t j = 0; j < 2 * N_WIDE; j++)
        sums[j] -= correction;
    if (gemm->requantize.has_low)
        wide_store(gemm, tile, column, sums, true);
    else
        wide_store(gemm, tile, column, sums, false);
}

static void narrow_wide_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                            const struct panel *panel, int32_t correction)
{
    wide_run(gemm, tile, panel, correction, 1);
}

static void broad_wide_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                           const struct panel *panel, int32_t correction)
{
    wide_run(gemm, tile, panel, correction, sizeof(nn_simd_weight));
}

/* How many columns a wide run takes from column on; 0: too few are left. */
static size_t wide_columns(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *some,
                           size_t n_tiles, size_t column, size_t end)
{
    size_t stop = column + N_WIDE * PANEL;
    bool is_whole = stop <= end ||
                    (end == gemm->n_columns && stop == nn_gemm_simd_whole_columns(end));

    return n_tiles == 1 && some->n_rows == 1 && is_whole ? N_WIDE * PANEL : 0;
}

static void panel_run(const struct nn_gemm_simd *gemm, const struct panel *panel,
                      const struct nn_gemm_simd_tile *some, size_t n_tiles,
                      int32_t (*corrections)[MAX_TILE_ROWS])
{
    bool is_wide = gemm->n_columns - panel->column > LANES;

    for (size_t i = 0; i < n_tiles; i++)
        tiles[some[i].n_rows - 1][gemm->weight_bytes - 1][is_wide](gemm, &some[i], panel,
                                                                   corrections[i]);
}

/* ---- long sums ---- */

/* Adds a part of the window to the sums of a tile's rows; what a packed zero point adds to them, too. */
NN_INLINE void part_add(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                        const uint8_t *weights, nn_vector_i32 sums[MAX_TILE_ROWS][2],
                        int32_t *corrections, const struct tile_size size)
{
    const struct nn_gemm_segments *segments = &gemm->segments;

    for (size_t i = 0; i < tile->n_rows; i++) {
        const nn_gemm_simd_data *row = tile->rows + i * tile->stride;
        const uint8_t *at = weights;
        nn_vector_i32 own[MAX_TILE_ROWS][2];

        memcpy(own, sums[i], sizeof(sums[i]));
        for (size_t y = 0; y < segments->n_rows; y++)
            for (size_t x = 0; x < segments->n_taps; x++)
                at = segment_add(
                    own,
                    &(struct segment){row + y * segments->row_step + x * segments->tap_step, 0,
                                      segments->n_elements, at},
                    size);
        memcpy(sums[i], own, sizeof(sums[i]));
    }
#ifdef NN_VARIANT_VNNI
    if (gemm->weight_zero) {
        int32_t more[MAX_TILE_ROWS];

        find_corrections(gemm, tile, more);
        for (size_t i = 0; i < tile->n_rows; i++)
            corrections[i] = (int32_t)((uint32_t)corrections[i] + (uint32_t)more[i]);
    }
#else
    (void)corrections;
#endif
}

/* A tile and a panel, row by row and a part of the window after the other. */
NN_INLINE void long_tile_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tile,
                             const struct panel *panel, struct nn_pace *pace,
                             const struct tile_size size)
{
    nn_vector_i32 sums[MAX_TILE_ROWS][2];
    int32_t corrections[MAX_TILE_ROWS] = {0};
    struct nn_gemm_part part = {0};

    for (size_t i = 0; i < tile->n_rows; i++)
        memcpy(sums[i], gemm->requantize.bias + panel->column,
               size.n_vectors * LANES * sizeof(int32_t));
    while (nn_gemm_next_part(&gemm->segments, &part)) {
        struct nn_gemm_simd now = *gemm;
        struct nn_gemm_simd_tile from = *tile;

        if (nn_pace_ends(pace, 1 + tile->n_rows * NN_GEMM_PART))
            return;
        now.segments = part.segments;
        from.rows += part.element;
        part_add(&now, &from,
                 panel->weights + part.first * size.n_vectors * LANES * size.weight_bytes, sums,
                 corrections, size);
    }
    for (size_t i = 0; i < tile->n_rows; i++) {
        struct nn_gemm_simd_tile row = {tile->rows, 0, 1, tile->out + i * gemm->n_columns};

        corrections_take(sums + i, corrections + i, 1, size.n_vectors);
        tile_store(gemm, &row, panel->column, sums + i, 1, size.n_vectors);
    }
}

static void long_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *some,
                     size_t n_tiles, size_t first, size_t end, struct nn_stop *stop)
{
    size_t k = nn_gemm_segments_count(&gemm->segments);
    struct nn_pace pace = nn_pace(stop);

    for (size_t n = first; n < end; n += PANEL)
        for (size_t i = 0; i < n_tiles && !nn_pace_ends(&pace, 1); i++) {
            const struct panel panel = {gemm->panels + n * k * gemm->weight_bytes, n};
            bool is_wide = gemm->n_columns - n > LANES;

            if (gemm->weight_bytes == 1 && is_wide)
                long_tile_run(gemm, &some[i], &panel, &pace, (struct tile_size){1, 2, 1});
            else if (gemm->weight_bytes == 1)
                long_tile_run(gemm, &some[i], &panel, &pace, (struct tile_size){1, 1, 1});
#ifndef NN_VARIANT_VNNI
            else if (is_wide)
                long_tile_run(gemm, &some[i], &panel, &pace, (struct tile_size){1, 2, 2});
            else
                long_tile_run(gemm, &some[i], &panel, &pace, (struct tile_size){1, 1, 2});
#endif
        }
}

void nn_gemm_simd_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *some,
                      size_t n_tiles, size_t first, size_t end, struct nn_stop *stop)
{
    size_t k = nn_gemm_segments_count(&gemm->segments), n_done;
    size_t n_most = nn_min_size(n_tiles, NN_GEMM_TILES / (k + 1) + 1);
    size_t cost = 1 + n_most * MAX_TILE_ROWS * k * PANEL / 64;
    int32_t corrections[NN_GEMM_SIMD_TILES][MAX_TILE_ROWS] = {0};
    struct nn_pace pace = nn_pace(stop);

    if (k > NN_GEMM_LONG) {
        long_run(gemm, some, n_tiles, first, end, stop);
        return;
    }
#ifdef NN_VARIANT_VNNI
    for (size_t i = 0; gemm->weight_zero && !nn_gemm_simd_has_spare(gemm->n_columns) && i < n_tiles;
         i++)
        find_corrections(gemm, &some[i], corrections[i]);
#endif
    for (size_t n = first; n < end && !nn_pace_ends(&pace, cost); n += n_done) {
        struct panel panel = {gemm->panels + n * k * gemm->weight_bytes, n};

        n_done = wide_columns(gemm, some, n_tiles, n, end);
        if (n_done) {
            (gemm->weight_bytes == 1 ? narrow_wide_run : broad_wide_run)(gemm, some, &panel,
                                                                         corrections[0][0]);
        } else {
            panel_run(gemm, &panel, some, n_most, corrections);
            n_done = PANEL;
        }
        for (size_t i = n_most; i < n_tiles && !nn_pace_ends(&pace, cost); i += n_most)
            panel_run(gemm, &panel, some + i, nn_min_size(n_tiles - i, n_most), corrections + i);
    }
}
