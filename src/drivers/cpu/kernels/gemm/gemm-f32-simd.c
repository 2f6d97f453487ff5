/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/gemm/gemm-f32-simd.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/gemm/transpose.h"

#include <string.h>

enum {
    MAX_TILE_ROWS = NN_GEMM_F32_SIMD_ROWS,
    /* With one vector of columns: as many sums as products that are on their way. */
    NARROW_ROWS = 12,
    WIDE = 4, /* panels that a single row meets at once */
    LANES = NN_LANES_F32,
    PANEL = 2 * LANES, /* columns */
};

/* ---- packing ---- */

static size_t whole_columns(size_t n_columns)
{
    return (n_columns + LANES - 1) / LANES * LANES;
}

bool nn_gemm_f32_simd_bytes(size_t n_columns, size_t k, size_t *ret_bytes)
{
    size_t n, column;

    return nn_align_up(n_columns, LANES, &n) && nn_add_size(k, 1, &column) &&
           nn_mul_size(column, sizeof(float), &column) && nn_mul_size(n, column, ret_bytes);
}

/* n columns of a panel, one behind the other in the model: as many as are whole words with vectors.
 * Returns: how many k are packed. */
static size_t panel_transpose(const struct nn_gemm_f32_source *source, const float *from, float *to,
                              size_t n, size_t width)
{
    size_t k = 0;

    if (source->k_step != 1 || n % NN_TRANSPOSE_WORDS != 0)
        return 0;
    for (; k + NN_TRANSPOSE_WORDS <= source->n_k; k += NN_TRANSPOSE_WORDS)
        for (size_t c = 0; c < n; c += NN_TRANSPOSE_WORDS) {
            __m256i rows[NN_TRANSPOSE_WORDS];

            for (size_t i = 0; i < NN_TRANSPOSE_WORDS; i++)
                rows[i] = _mm256_loadu_si256(
                    (const __m256i *)(const void *)(from + (c + i) * source->n_step + k));
            nn_transpose_words(rows);
            for (size_t i = 0; i < NN_TRANSPOSE_WORDS; i++)
                _mm256_storeu_si256((__m256i *)(void *)(to + (k + i) * width + c), rows[i]);
        }
    return k;
}

void nn_gemm_f32_simd_pack(float *block, const struct nn_gemm_f32_source *source,
                           struct nn_stop *stop)
{
    size_t columns = whole_columns(source->n_columns);
    struct nn_pace pace = nn_pace(stop);

    memcpy(block, source->bias, source->n_columns * sizeof(*block));
    for (size_t first = 0; first < source->n_columns; first += PANEL) {
        size_t width = nn_min_size(columns - first, PANEL);
        size_t n = nn_min_size(source->n_columns - first, PANEL);
        const float *from = source->weights + first * source->n_step;
        float *to = block + columns + first * source->n_k;

        if (nn_pace_ends(&pace, 1 + n * source->n_k))
            return;
        for (size_t k = panel_transpose(source, from, to, n, width); k < source->n_k; k++)
            for (size_t c = 0; c < n; c++)
                to[k * width + c] = from[c * source->n_step + k * source->k_step];
    }
}

struct nn_gemm_f32_simd nn_gemm_f32_simd_use(const float *block, size_t n_columns)
{
    return (struct nn_gemm_f32_simd){
        .bias = block, .panels = block + whole_columns(n_columns), .n_columns = n_columns};
}

/* ---- tiles ---- */

/* A panel: its columns begin at column. */
struct panel_f32 {
    const float *weights;
    size_t column;
};

/* A segment of the rows of a tile, and its weights. */
struct segment_f32 {
    const float *rows;
    size_t stride, n_elements;
    const float *weights;
};

/* The products of one segment. Returns: the weights of the next one. */
NN_INLINE const float *segment_add(nn_vector_f32 sums[NARROW_ROWS][2],
                                   const struct segment_f32 *segment, const size_t n_rows,
                                   const size_t n_vectors)
{
    const float *rows = segment->rows, *weights = segment->weights;

    for (size_t at = 0; at < segment->n_elements; at++, rows++) {
        nn_vector_f32 w[2];

#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++, weights += LANES)
            w[j] = nn_load_f32(weights);
#pragma GCC unroll 12
        for (size_t i = 0; i < n_rows; i++) {
            nn_vector_f32 data = nn_splat_f32(rows[i * segment->stride]);

#pragma GCC unroll 2
            for (size_t j = 0; j < n_vectors; j++)
                sums[i][j] = nn_madd_f32(data, w[j], sums[i][j]);
        }
    }
    return weights;
}

/* n_rows and n_vectors are constants where this is called, so that sums are registers. */
NN_INLINE void tile_run(const struct nn_gemm_f32_simd *gemm, const struct nn_gemm_f32_tile *tile,
                        const struct panel_f32 *panel, const size_t n_rows, const size_t n_vectors)
{
    const struct nn_gemm_segments *segments = &gemm->segments;
    const float *weights = panel->weights, *bias = gemm->bias + panel->column;
    /* What is stored could be the bounds, as far as compilers know. */
    const float low = gemm->low, high = gemm->high;
    const size_t n_columns = gemm->n_columns;
    size_t n_last = nn_min_size(n_columns - panel->column - (n_vectors - 1) * LANES, LANES);
    nn_vector_f32 sums[NARROW_ROWS][2];
    float *out = tile->out + panel->column;

#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] = nn_load_f32(bias + j * LANES);
    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++)
            weights = segment_add(
                sums,
                &(struct segment_f32){tile->rows + y * segments->row_step + x * segments->tap_step,
                                      tile->stride, segments->n_elements, weights},
                n_rows, n_vectors);
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++, out += n_columns) {
#pragma GCC unroll 2
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] = nn_clamp_vector_f32(sums[i][j], low, high);
        if (n_vectors > 1)
            nn_store_f32(out, sums[i][0]);
        if (n_last == LANES)
            nn_store_f32(out + (n_vectors - 1) * LANES, sums[i][n_vectors - 1]);
        else
            nn_store_few_f32(out + (n_vectors - 1) * LANES, sums[i][n_vectors - 1], n_last);
    }
}

typedef void (*tile_f32_fn)(const struct nn_gemm_f32_simd *gemm,
                            const struct nn_gemm_f32_tile *tile, const struct panel_f32 *panel);

#define TILE(n, vectors) NN_VARIANT_SYMBOL(tile_f32_##n##x##vectors)
#define TILE_OF(n, vectors)                                                                        \
    static void TILE(n, vectors)(const struct nn_gemm_f32_simd *gemm,                              \
                                 const struct nn_gemm_f32_tile *tile,                              \
                                 const struct panel_f32 *panel)                                    \
    {                                                                                              \
        tile_run(gemm, tile, panel, n, vectors);                                                   \
    }
TILE_OF(1, 1)
TILE_OF(2, 1)
TILE_OF(3, 1)
TILE_OF(4, 1)
TILE_OF(5, 1)
TILE_OF(6, 1)
TILE_OF(7, 1)
TILE_OF(8, 1)
TILE_OF(9, 1)
TILE_OF(10, 1)
TILE_OF(11, 1)
TILE_OF(12, 1)
TILE_OF(1, 2)
TILE_OF(2, 2)
TILE_OF(3, 2)
TILE_OF(4, 2)
TILE_OF(5, 2)
TILE_OF(6, 2)
#if NN_VARIANT_VECTOR_BYTES == 64
TILE_OF(7, 2)
TILE_OF(8, 2)
TILE_OF(9, 2)
TILE_OF(10, 2)
TILE_OF(11, 2)
TILE_OF(12, 2)
#endif

static const tile_f32_fn narrow_f32[NARROW_ROWS] = {
    TILE(1, 1), TILE(2, 1), TILE(3, 1), TILE(4, 1),  TILE(5, 1),  TILE(6, 1),
    TILE(7, 1), TILE(8, 1), TILE(9, 1), TILE(10, 1), TILE(11, 1), TILE(12, 1),
};
static const tile_f32_fn tiles_f32[MAX_TILE_ROWS] = {
    TILE(1, 2), TILE(2, 2), TILE(3, 2), TILE(4, 2),  TILE(5, 2),  TILE(6, 2),
#if NN_VARIANT_VECTOR_BYTES == 64
    TILE(7, 2), TILE(8, 2), TILE(9, 2), TILE(10, 2), TILE(11, 2), TILE(12, 2),
#endif
};

/* One row and WIDE panels of two vectors: two sums alone would wait for each other, and one panel
 * after the other would be read for too short a time to be fetched ahead. */
static void wide_run(const struct nn_gemm_f32_simd *gemm, const struct nn_gemm_f32_tile *tile,
                     const struct panel_f32 *panel)
{
    const struct nn_gemm_segments *segments = &gemm->segments;
    size_t k = segments->n_rows * segments->n_taps * segments->n_elements, column = panel->column;
    const float *weights = panel->weights;
    nn_vector_f32 sums[2 * WIDE];

#pragma GCC unroll 8
    for (size_t j = 0; j < 2 * WIDE; j++)
        sums[j] = nn_load_f32(gemm->bias + column + j * LANES);
    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++) {
            const float *row = tile->rows + y * segments->row_step + x * segments->tap_step;

            for (size_t i = 0; i < segments->n_elements; i++, weights += PANEL) {
                nn_vector_f32 data = nn_splat_f32(row[i]);

#pragma GCC unroll 8
                for (size_t j = 0; j < 2 * WIDE; j++)
                    sums[j] = nn_madd_f32(
                        data, nn_load_f32(weights + j / 2 * PANEL * k + j % 2 * LANES), sums[j]);
            }
        }
#pragma GCC unroll 8
    for (size_t j = 0; j < 2 * WIDE; j++)
        nn_store_f32(tile->out + column + j * LANES,
                     nn_clamp_vector_f32(sums[j], gemm->low, gemm->high));
}

/* Whether the rows of b and their results follow those of a. */
static bool tiles_follow(const struct nn_gemm_f32_tile *a, const struct nn_gemm_f32_tile *b,
                         size_t n_columns)
{
    return b->rows == a->rows + a->n_rows * a->stride && b->out == a->out + a->n_rows * n_columns;
}

/* A panel of one vector: two tiles together where they follow each other. */
static void narrow_run(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                       const struct nn_gemm_f32_tile *tiles, size_t n_tiles)
{
    for (size_t i = 0; i < n_tiles; i++) {
        struct nn_gemm_f32_tile tile = tiles[i];

        if (i + 1 < n_tiles && tile.n_rows + tiles[i + 1].n_rows <= NARROW_ROWS &&
            tiles_follow(&tile, &tiles[i + 1], gemm->n_columns))
            tile.n_rows += tiles[++i].n_rows;
        narrow_f32[tile.n_rows - 1](gemm, &tile, panel);
    }
}

static void panel_run(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                      const struct nn_gemm_f32_tile *tiles, size_t n_tiles)
{
    if (gemm->n_columns - panel->column <= LANES) {
        narrow_run(gemm, panel, tiles, n_tiles);
        return;
    }
    for (size_t i = 0; i < n_tiles; i++)
        tiles_f32[tiles[i].n_rows - 1](gemm, &tiles[i], panel);
}

void nn_gemm_f32_simd_run(const struct nn_gemm_f32_simd *gemm, const struct nn_gemm_f32_tile *tiles,
                          size_t n_tiles, size_t first, size_t end, struct nn_stop *stop)
{
    const struct nn_gemm_segments *segments = &gemm->segments;
    size_t k = segments->n_rows * segments->n_taps * segments->n_elements;
    size_t cost = 1 + n_tiles * MAX_TILE_ROWS * k * PANEL / 16;
    struct nn_pace pace = nn_pace(stop);

    for (size_t n = first, n_done; n < end && !nn_pace_ends(&pace, cost); n += n_done) {
        struct panel_f32 panel = {gemm->panels + n * k, n};
        bool is_wide = n_tiles == 1 && tiles->n_rows == 1 && end - n >= WIDE * PANEL;

        n_done = is_wide ? WIDE * PANEL : PANEL;
        if (is_wide)
            wide_run(gemm, tiles, &panel);
        else
            panel_run(gemm, &panel, tiles, n_tiles);
    }
}
