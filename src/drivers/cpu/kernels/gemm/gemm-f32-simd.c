/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/gemm/gemm-f32-simd.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/gemm/halves.h"
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
    SHARED = MAX_VECTORS, /* the strips of two vectors the second of which rows share */
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
                                   const size_t n_vectors, const bool is_shared)
{
    const float *rows = segment->rows, *weights = segment->weights;
    const size_t last = n_vectors - 1;

    for (size_t at = 0; at < segment->n_elements; at++, rows++, weights += n_vectors * LANES) {
        nn_vector_f32 w[MAX_VECTORS], before;

#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++)
            w[j] = is_shared && j == last ? nn_halves_twice(weights + j * LANES)
                                          : nn_load_f32(weights + j * LANES);
#pragma GCC unroll 12
        for (size_t i = 0; i < n_rows; i++) {
            nn_vector_f32 data = nn_splat_f32(rows[i * segment->stride]);

#pragma GCC unroll 3
            for (size_t j = 0; j < n_vectors - is_shared; j++)
                sums[i][j] = nn_madd_f32(data, w[j], sums[i][j]);
            if (is_shared && i % 2 == 1)
                sums[i - 1][last] = nn_madd_f32(nn_halves_of(before, data), w[last],
                                                sums[i - 1][last]);
            else if (is_shared && i + 1 == n_rows)
                sums[i][last] = nn_madd_f32(data, w[last], sums[i][last]);
            before = data;
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

/* Whether vector j of row i is one of its own, or the first of two rows that share it. */
NN_INLINE bool is_sum(size_t i, size_t j, const size_t n_vectors, const bool is_shared)
{
    return !is_shared || j + 1 < n_vectors || i % 2 == 0;
}

/* The last vector of a row, n_last lanes, or of the row and the one step behind it, if there is one. */
NN_INLINE nn_vector_f32 last_load(const float *from, size_t step, size_t n_last,
                                  const bool is_shared, const bool has_next)
{
    if (is_shared)
        return nn_halves_load(from, has_next ? from + step : from, n_last);
    return n_last == LANES ? nn_load_f32(from) : nn_load_few_f32(from, n_last);
}

NN_INLINE void last_store(float *to, nn_vector_f32 v, size_t step, size_t n_last,
                          const bool is_shared, const bool has_next)
{
    if (is_shared)
        nn_halves_store(to, has_next ? to + step : NULL, v, n_last);
    else if (n_last == LANES)
        nn_store_f32(to, v);
    else
        nn_store_few_f32(to, v, n_last);
}

/* Adds other, which lies as the tile's results do, to them; the last vector has n_last lanes. */
NN_INLINE void other_add(const struct nn_gemm_f32_simd *gemm, const float *other, size_t n_last,
                         nn_vector_f32 sums[NARROW_ROWS][MAX_VECTORS], const size_t n_rows,
                         const size_t n_vectors, const bool is_shared)
{
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++, other += gemm->n_columns)
#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++) {
            const float *from = other + j * LANES;

            if (is_sum(i, j, n_vectors, is_shared))
                sums[i][j] = sum_clamp(gemm, sums[i][j],
                                       j + 1 < n_vectors ? nn_load_f32(from)
                                                         : last_load(from, gemm->n_columns, n_last,
                                                                     is_shared, i + 1 < n_rows));
        }
}

/* n_rows, n_vectors and is_shared are constants where this is called, so that sums are registers. Where
 * the last vector is shared, those of rows 2 i and 2 i + 1 are the halves of one (halves.h). */
NN_INLINE void tile_run(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                        const float *rows, size_t stride, float *out, const size_t n_rows,
                        const size_t n_vectors, const bool is_shared)
{
    const struct nn_gemm_segments *segments = &gemm->segments;
    const float *weights = panel->weights, *bias = gemm->bias + panel->column;
    const size_t last = n_vectors - 1;
    size_t n_last = nn_min_size(gemm->n_columns - panel->column - last * LANES, LANES);
    nn_vector_f32 sums[NARROW_ROWS][MAX_VECTORS];

#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++)
            sums[i][j] = is_shared && j == last ? nn_halves_twice(bias + j * LANES)
                                                : nn_load_f32(bias + j * LANES);
    for (size_t y = 0; y < segments->n_rows; y++)
        for (size_t x = 0; x < segments->n_taps; x++)
            weights = segment_add(
                sums,
                &(struct segment_f32){rows + y * segments->row_step + x * segments->tap_step,
                                      stride, segments->n_elements, weights},
                n_rows, n_vectors, is_shared);
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++)
#pragma GCC unroll 3
        for (size_t j = 0; j < n_vectors; j++)
            if (is_sum(i, j, n_vectors, is_shared))
                sums[i][j] = nn_clamp_vector_f32(sums[i][j], gemm->low, gemm->high);
    if (gemm->sum.other)
        other_add(gemm, other_at(gemm, out), n_last, sums, n_rows, n_vectors, is_shared);
#pragma GCC unroll 12
    for (size_t i = 0; i < n_rows; i++, out += gemm->n_columns) {
#pragma GCC unroll 2
        for (size_t j = 0; j < last; j++)
            nn_store_f32(out + j * LANES, sums[i][j]);
        if (is_sum(i, last, n_vectors, is_shared))
            last_store(out + last * LANES, sums[i][last], gemm->n_columns, n_last, is_shared,
                       i + 1 < n_rows);
    }
}

/* All rows of a strip, n_rows of them at once. What is stored could be *gemm, as far as compilers
 * know: they see a copy. */
NN_INLINE void strip_run(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                         const struct nn_gemm_f32_tile *strip, const size_t n_rows,
                         const size_t n_vectors, const bool is_shared)
{
    const struct nn_gemm_f32_simd local = *gemm;
    const struct panel_f32 at = *panel;
    const float *rows = strip->rows;
    size_t stride = strip->stride, n_left = strip->n_rows;
    float *out = strip->out + panel->column;

    for (; n_left > 0; n_left -= n_rows) {
        tile_run(&local, &at, rows, stride, out, n_rows, n_vectors, is_shared);
        rows += n_rows * stride;
        out += n_rows * local.n_columns;
    }
}

typedef void (*strip_f32_fn)(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel,
                             const struct nn_gemm_f32_tile *strip);

/* kind: how many vectors, or 2s: two, the second of which is shared. */
#define STRIP(n, kind) NN_VARIANT_SYMBOL(strip_f32_##n##x##kind)
#define STRIP_OF(n, kind, vectors, is_shared)                                                      \
    static void STRIP(n, kind)(const struct nn_gemm_f32_simd *gemm, const struct panel_f32 *panel, \
                               const struct nn_gemm_f32_tile *strip)                               \
    {                                                                                              \
        strip_run(gemm, panel, strip, n, vectors, is_shared);                                      \
    }
#define STRIPS_1_TO_4(kind, vectors, is_shared)                                                    \
    STRIP_OF(1, kind, vectors, is_shared)                                                          \
    STRIP_OF(2, kind, vectors, is_shared)                                                          \
    STRIP_OF(3, kind, vectors, is_shared)                                                          \
    STRIP_OF(4, kind, vectors, is_shared)
#define STRIPS_5_TO_6(kind, vectors, is_shared)                                                    \
    STRIP_OF(5, kind, vectors, is_shared)                                                          \
    STRIP_OF(6, kind, vectors, is_shared)
#define STRIPS_7_TO_12(kind, vectors, is_shared)                                                   \
    STRIP_OF(7, kind, vectors, is_shared)                                                          \
    STRIP_OF(8, kind, vectors, is_shared)                                                          \
    STRIP_OF(9, kind, vectors, is_shared)                                                          \
    STRIP_OF(10, kind, vectors, is_shared)                                                         \
    STRIP_OF(11, kind, vectors, is_shared)                                                         \
    STRIP_OF(12, kind, vectors, is_shared)
STRIPS_1_TO_4(1, 1, false)
STRIPS_5_TO_6(1, 1, false)
STRIPS_7_TO_12(1, 1, false)
STRIPS_1_TO_4(2, 2, false)
STRIPS_5_TO_6(2, 2, false)
STRIPS_1_TO_4(2s, 2, true)
STRIPS_5_TO_6(2s, 2, true)
#if NN_VARIANT_VECTOR_BYTES == 64
STRIPS_7_TO_12(2, 2, false)
STRIPS_7_TO_12(2s, 2, true)
#else
STRIPS_1_TO_4(3, 3, false)
#endif

#define STRIPS_TO_4(kind) STRIP(1, kind), STRIP(2, kind), STRIP(3, kind), STRIP(4, kind)
#define STRIPS_TO_6(kind) STRIPS_TO_4(kind), STRIP(5, kind), STRIP(6, kind)
#define STRIPS_TO_12(kind)                                                                         \
    STRIPS_TO_6(kind), STRIP(7, kind), STRIP(8, kind), STRIP(9, kind), STRIP(10, kind),            \
        STRIP(11, kind), STRIP(12, kind)

/* [vectors - 1, or SHARED][rows - 1] */
static const strip_f32_fn strips_f32[][NARROW_ROWS] = {
    {STRIPS_TO_12(1)},
#if NN_VARIANT_VECTOR_BYTES == 64
    {STRIPS_TO_12(2)},
    {STRIPS_TO_12(2s)},
#else
    {STRIPS_TO_6(2)},
    {STRIPS_TO_4(3)},
    {STRIPS_TO_6(2s)},
#endif
};

/* Rows that sums in registers are left for. */
static const size_t most_rows[] = {NARROW_ROWS, MAX_TILE_ROWS,
#if NN_VARIANT_VECTOR_BYTES == 32
                                   BROAD_ROWS,
#endif
                                   MAX_TILE_ROWS};

/* The strips of a panel. */
static size_t panel_kind(size_t n_columns, size_t column)
{
    size_t n_vectors = panel_vectors(n_columns, column);

    if (n_vectors == 2 && n_columns - column <= LANES + LANES / 2)
        return SHARED;
    return n_vectors - 1;
}

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
    size_t kind = panel_kind(gemm->n_columns, panel->column);
    size_t most = most_rows[kind], n_tiles = (strip->n_rows + most - 1) / most;
    size_t height = strip->n_rows / n_tiles, n_high = strip->n_rows % n_tiles;
    struct nn_gemm_f32_tile high = *strip, low = *strip;

    high.n_rows = n_high * (height + 1);
    low.n_rows -= high.n_rows;
    low.rows += high.n_rows * strip->stride;
    low.out += high.n_rows * gemm->n_columns;
    if (n_high)
        strips_f32[kind][height](gemm, panel, &high);
    strips_f32[kind][height - 1](gemm, panel, &low);
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
