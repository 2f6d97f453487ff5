/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/gemm/gemm-f32-simd.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/gemm/transpose.h"

#include <math.h>
#include <string.h>

enum {
    MAX_TILE_ROWS = NN_GEMM_F32_SIMD_ROWS,
    /* With one vector of columns: as many sums as products that are on their way. */
    NARROW_ROWS = 12,
    BROAD_ROWS = 4, /* with three vectors, where there are 16 registers */
    WIDE = 4,       /* panels that a single row meets at once */
    LANES = NN_LANES_F32,
    PANEL = 2 * LANES, /* columns */
    MAX_VECTORS = NN_VARIANT_VECTOR_BYTES == 32 ? 3 : 2,
};

/* How many vectors of columns the panel has that begins at column: two, or what is left if that is
 * no more than MAX_VECTORS. A last one alone would load data as often as it multiplies. */
static size_t panel_vectors(size_t n_columns, size_t column)
{
    size_t n_left = (n_columns - column + LANES - 1) / LANES;

    return n_left <= MAX_VECTORS ? n_left : 2;
}

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
                              size_t n, size_t width, struct nn_pace *pace)
{
    size_t k = 0;

    if (source->k_step != 1 || n % NN_TRANSPOSE_WORDS != 0)
        return 0;
    for (; k + NN_TRANSPOSE_WORDS <= source->n_k && !nn_pace_ends(pace, n); k += NN_TRANSPOSE_WORDS)
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

    nn_pace_copy(&pace, block, source->bias, source->n_columns * sizeof(*block));
    for (size_t first = 0, width; first < source->n_columns; first += width) {
        size_t n = nn_min_size(source->n_columns - first,
                               width = panel_vectors(source->n_columns, first) * LANES);
        const float *from = source->weights + first * source->n_step;
        float *to = block + columns + first * source->n_k;

        for (size_t k = panel_transpose(source, from, to, n, width, &pace); k < source->n_k; k++) {
            if (nn_pace_ends(&pace, n))
                return;
            for (size_t c = 0; c < n; c++)
                to[k * width + c] = from[c * source->n_step + k * source->k_step];
        }
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
NN_INLINE const float *segment_add(nn_vector_f32 sums[NARROW_ROWS][MAX_VECTORS],
                                   const struct segment_f32 *segment, const size_t n_rows,
                                   const size_t n_vectors)
{
    const float *rows = segment->rows, *weights = segment->weights;

    for (size_t at = 0; at < segment->n_elements; at++, rows++) {
        nn_vector_f32 w[MAX_VECTORS];

#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++, weights += LANES)
            w[j] = nn_load_f32(weights);
#pragma GCC unroll 12
        for (size_t i = 0; i < n_rows; i++) {
            nn_vector_f32 data = nn_splat_f32(rows[i * segment->stride]);

#pragma GCC unroll 3
            for (size_t j = 0; j < n_vectors; j++)
                sums[i][j] = nn_madd_f32(data, w[j], sums[i][j]);
        }
    }
    return weights;
}

/* What is added to the result at out. */
static const float *other_at(const struct nn_gemm_f32_simd *gemm, const float *out)
{
    return gemm->sum.other + (out - gemm->sum.out);
}

NN_INLINE nn_vector_f32 sum_clamp(const struct nn_gemm_f32_simd *gemm, nn_vector_f32 a,
                                  nn_vector_f32 b)
{
    return nn_clamp_vector_f32(a + b, gemm->sum.low, gemm->sum.high);
}

/* Adds other, which lies as the tile's results do, to them; the last vector has n_last lanes. */
NN_INLINE void other_add(const struct nn_gemm_f32_simd *gemm, const float *other, size_t n_last,
                         nn_vector_f32 sums[NARROW_ROWS][MAX_VECTORS], const size_t n_rows,
                         const size_t n_vectors)
{
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++, other += gemm->n_columns)
#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++) {
            bool is_whole = j + 1 < n_vectors || n_last == LANES;

            sums[i][j] = sum_clamp(gemm, sums[i][j],
                                   is_whole ? nn_load_f32(other + j * LANES)
                                            : nn_load_few_f32(other + j * LANES, n_last));
        }
}

/* n_rows and n_vectors are constants where this is called, so that sums are registers. */
NN_INLINE void tile_run(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                        const float *rows, size_t stride, float *out, const size_t n_rows,
                        const size_t n_vectors)
{
    const struct nn_gemm_segments *segments = &gemm->segments;
    const float *weights = panel->weights, *bias = gemm->bias + panel->column;
    size_t n_last = nn_min_size(gemm->n_columns - panel->column - (n_vectors - 1) * LANES, LANES);
    nn_vector_f32 sums[NARROW_ROWS][MAX_VECTORS];

#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] = nn_load_f32(bias + j * LANES);
    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++)
            weights = segment_add(
                sums,
                &(struct segment_f32){rows + y * segments->row_step + x * segments->tap_step,
                                      stride, segments->n_elements, weights},
                n_rows, n_vectors);
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] = nn_clamp_vector_f32(sums[i][j], gemm->low, gemm->high);
    if (gemm->sum.other)
        other_add(gemm, other_at(gemm, out), n_last, sums, n_rows, n_vectors);
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++, out += gemm->n_columns) {
#pragma GCC unroll 2
        for (size_t j = 0; j + 1 < n_vectors; j++)
            nn_store_f32(out + j * LANES, sums[i][j]);
        if (n_last == LANES)
            nn_store_f32(out + (n_vectors - 1) * LANES, sums[i][n_vectors - 1]);
        else
            nn_store_few_f32(out + (n_vectors - 1) * LANES, sums[i][n_vectors - 1], n_last);
    }
}

/* All rows of a strip, n_rows of them at once. What is stored could be *gemm, as far as compilers
 * know: they see a copy. */
NN_INLINE void strip_run(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                         const struct nn_gemm_f32_tile *strip, const size_t n_rows,
                         const size_t n_vectors)
{
    const struct nn_gemm_f32_simd local = *gemm;
    const struct panel_f32 at = *panel;
    const float *rows = strip->rows;
    size_t stride = strip->stride, n_left = strip->n_rows;
    float *out = strip->out + panel->column;

    for (; n_left > 0; n_left -= n_rows) {
        tile_run(&local, &at, rows, stride, out, n_rows, n_vectors);
        rows += n_rows * stride;
        out += n_rows * local.n_columns;
    }
}

typedef void (*strip_f32_fn)(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                             const struct nn_gemm_f32_tile *strip);

#define STRIP(n, vectors) NN_VARIANT_SYMBOL(strip_f32_##n##x##vectors)
#define STRIP_OF(n, vectors)                                                                       \
    static void STRIP(n, vectors)(const struct nn_gemm_f32_simd *gemm,                             \
                                  const struct panel_f32 *panel,                                   \
                                  const struct nn_gemm_f32_tile *strip)                            \
    {                                                                                              \
        strip_run(gemm, panel, strip, n, vectors);                                                 \
    }
STRIP_OF(1, 1)
STRIP_OF(2, 1)
STRIP_OF(3, 1)
STRIP_OF(4, 1)
STRIP_OF(5, 1)
STRIP_OF(6, 1)
STRIP_OF(7, 1)
STRIP_OF(8, 1)
STRIP_OF(9, 1)
STRIP_OF(10, 1)
STRIP_OF(11, 1)
STRIP_OF(12, 1)
STRIP_OF(1, 2)
STRIP_OF(2, 2)
STRIP_OF(3, 2)
STRIP_OF(4, 2)
STRIP_OF(5, 2)
STRIP_OF(6, 2)
#if NN_VARIANT_VECTOR_BYTES == 64
STRIP_OF(7, 2)
STRIP_OF(8, 2)
STRIP_OF(9, 2)
STRIP_OF(10, 2)
STRIP_OF(11, 2)
STRIP_OF(12, 2)
#else
STRIP_OF(1, 3)
STRIP_OF(2, 3)
STRIP_OF(3, 3)
STRIP_OF(4, 3)
#endif

/* [vectors][rows] */
static const strip_f32_fn strips_f32[MAX_VECTORS][NARROW_ROWS] = {
    {STRIP(1, 1), STRIP(2, 1), STRIP(3, 1), STRIP(4, 1), STRIP(5, 1), STRIP(6, 1), STRIP(7, 1),
     STRIP(8, 1), STRIP(9, 1), STRIP(10, 1), STRIP(11, 1), STRIP(12, 1)},
#if NN_VARIANT_VECTOR_BYTES == 64
    {STRIP(1, 2), STRIP(2, 2), STRIP(3, 2), STRIP(4, 2), STRIP(5, 2), STRIP(6, 2), STRIP(7, 2),
     STRIP(8, 2), STRIP(9, 2), STRIP(10, 2), STRIP(11, 2), STRIP(12, 2)},
#else
    {STRIP(1, 2), STRIP(2, 2), STRIP(3, 2), STRIP(4, 2), STRIP(5, 2), STRIP(6, 2)},
    {STRIP(1, 3), STRIP(2, 3), STRIP(3, 3), STRIP(4, 3)},
#endif
};

/* Rows that sums in registers are left for. */
static const size_t most_rows[] = {NARROW_ROWS, MAX_TILE_ROWS, BROAD_ROWS};

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
    for (size_t j = 0; j < 2 * WIDE; j++) {
        float *out = tile->out + column + j * LANES;
        nn_vector_f32 v = nn_clamp_vector_f32(sums[j], gemm->low, gemm->high);

        if (gemm->sum.other)
            v = sum_clamp(gemm, v, nn_load_f32(other_at(gemm, out)));
        nn_store_f32(out, v);
    }
}

/* Whether the rows of b and their results follow those of a. */
static bool tiles_follow(const struct nn_gemm_f32_tile *a, const struct nn_gemm_f32_tile *b,
                         size_t n_columns)
{
    return b->rows == a->rows + a->n_rows * a->stride && b->out == a->out + a->n_rows * n_columns;
}

/* Tiles that follow each other are one strip, which is cut anew into heights that differ by one at most:
 * those that are higher, then the others. */
static void strip_cut(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                      const struct nn_gemm_f32_tile *strip)
{
    size_t n_vectors = panel_vectors(gemm->n_columns, panel->column);
    size_t most = most_rows[n_vectors - 1], n_tiles = (strip->n_rows + most - 1) / most;
    size_t height = strip->n_rows / n_tiles, n_high = strip->n_rows % n_tiles;
    struct nn_gemm_f32_tile high = *strip, low = *strip;

    high.n_rows = n_high * (height + 1);
    low.n_rows -= high.n_rows;
    low.rows += high.n_rows * strip->stride;
    low.out += high.n_rows * gemm->n_columns;
    if (n_high)
        strips_f32[n_vectors - 1][height](gemm, panel, &high);
    strips_f32[n_vectors - 1][height - 1](gemm, panel, &low);
}

static void panel_run(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                      const struct nn_gemm_f32_tile *tiles, size_t n_tiles)
{
    for (size_t i = 0; i < n_tiles;) {
        struct nn_gemm_f32_tile strip = tiles[i++];

        for (; i < n_tiles && tiles_follow(&strip, &tiles[i], gemm->n_columns); i++)
            strip.n_rows += tiles[i].n_rows;
        strip_cut(gemm, panel, &strip);
    }
}

/* ---- long sums ---- */

/* One row and a panel whose first column is 0. */
static void row_run(const struct nn_gemm_f32_simd *gemm, const float *weights, const float *row,
                    float *out)
{
    size_t n_vectors = (gemm->n_columns + LANES - 1) / LANES;

    strips_f32[n_vectors - 1][0](gemm, &(struct panel_f32){weights, 0},
                                 &(struct nn_gemm_f32_tile){row, 0, 1, out});
}

/* A tile and a panel, a part of the window after the other: what a part gives is the bias of the next,
 * so that each sum is the same chain as in one go. At the end there is nothing left to multiply. */
static void long_tile_run(const struct nn_gemm_f32_simd *gemm, const struct nn_gemm_f32_tile *tile,
                          const struct panel_f32 *panel, struct nn_pace *pace)
{
    size_t n_columns = panel_vectors(gemm->n_columns, panel->column) * LANES;
    struct nn_gemm_f32_simd now = {.n_columns = n_columns, .low = -INFINITY, .high = INFINITY};
    float sums[MAX_TILE_ROWS][MAX_VECTORS * LANES];
    struct nn_gemm_part part = {0};

    for (size_t r = 0; r < tile->n_rows; r++)
        memcpy(sums[r], gemm->bias + panel->column, n_columns * sizeof(float));
    while (nn_gemm_next_part(&gemm->segments, &part)) {
        if (nn_pace_ends(pace, 1 + tile->n_rows * NN_GEMM_PART))
            return;
        now.segments = part.segments;
        for (size_t r = 0; r < tile->n_rows; r++) {
            now.bias = sums[r];
            row_run(&now, panel->weights + part.first * n_columns,
                    tile->rows + r * tile->stride + part.element, sums[r]);
        }
    }
    now = *gemm;
    now.segments.n_rows = 0;
    now.n_columns = nn_min_size(gemm->n_columns - panel->column, n_columns);
    for (size_t r = 0; r < tile->n_rows; r++) {
        now.bias = sums[r];
        row_run(&now, panel->weights, tile->rows, tile->out + r * gemm->n_columns + panel->column);
    }
}

static void long_run(const struct nn_gemm_f32_simd *gemm, const struct nn_gemm_f32_tile *tiles,
                     size_t n_tiles, size_t first, size_t end, struct nn_stop *stop)
{
    size_t k = nn_gemm_segments_count(&gemm->segments);
    struct nn_pace pace = nn_pace(stop);

    for (size_t n = first; n < end; n += panel_vectors(gemm->n_columns, n) * LANES)
        for (size_t i = 0; i < n_tiles && !nn_pace_ends(&pace, 1); i++)
            long_tile_run(gemm, &tiles[i], &(struct panel_f32){gemm->panels + n * k, n}, &pace);
}

void nn_gemm_f32_simd_run(const struct nn_gemm_f32_simd *gemm, const struct nn_gemm_f32_tile *tiles,
                          size_t n_tiles, size_t first, size_t end, struct nn_stop *stop)
{
    size_t k = nn_gemm_segments_count(&gemm->segments);
    size_t n_most = nn_min_size(n_tiles, NN_GEMM_TILES / (k + 1) + 1);
    size_t cost = 1 + n_most * MAX_TILE_ROWS * k * PANEL / 16;
    struct nn_pace pace = nn_pace(stop);

    if (k > NN_GEMM_LONG) {
        long_run(gemm, tiles, n_tiles, first, end, stop);
        return;
    }
    for (size_t n = first, n_done; n < end && !nn_pace_ends(&pace, cost); n += n_done) {
        struct panel_f32 panel = {gemm->panels + n * k, n};
        bool is_wide = n_tiles == 1 && tiles->n_rows == 1 && end - n >= WIDE * PANEL &&
                       panel_vectors(gemm->n_columns, n + (WIDE - 1) * PANEL) == 2;

        n_done = is_wide ? WIDE * PANEL : panel_vectors(gemm->n_columns, n) * LANES;
        if (is_wide)
            wide_run(gemm, tiles, &panel);
        else
            panel_run(gemm, &panel, tiles, n_most);
        for (size_t i = n_most; i < n_tiles && !nn_pace_ends(&pace, cost); i += n_most)
            panel_run(gemm, &panel, tiles + i, nn_min_size(n_tiles - i, n_most));
    }
}
