/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/gemm/gemm.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/kernels/common/vector-f32.h"

#include <math.h>
#include <string.h>

/* Sums of more products than this could leave int32: |a|, |b| <= 255. */
enum { MAX_K_OF_EXACT_SUM = 32768 };

/* The bias of whole panels, the weights, and what the last vectors read behind them. */
bool nn_gemm_bytes_f32(size_t n_cols, size_t k, size_t *ret_bytes)
{
    size_t n, columns;

    return nn_align_up(n_cols, NN_GEMM_COLS_F32, &columns) && nn_mul_size(n_cols, k, &n) &&
           nn_add_size(n, columns, &n) && nn_add_size(n, NN_GEMM_COLS_F32, &n) &&
           nn_mul_size(n, sizeof(float), ret_bytes);
}

/* The columns of the panel in which column n is. */
static size_t panel_width(size_t n_cols, size_t n)
{
    return nn_min_size(n_cols - n / NN_GEMM_COLS_F32 * NN_GEMM_COLS_F32, NN_GEMM_COLS_F32);
}

/* What is computed with the last columns and not written out. */
static void clear_rest(float *block, size_t n_cols, size_t k)
{
    size_t columns = nn_gemm_columns(n_cols, NN_GEMM_COLS_F32);

    memset(block + n_cols, 0, (columns - n_cols) * sizeof(float));
    memset(block + columns + n_cols * k, 0, NN_GEMM_COLS_F32 * sizeof(float));
}

static void pack_float(float *block, const struct nn_gemm_weights *from, struct nn_stop *stop)
{
    size_t columns = nn_gemm_columns(from->n_cols, NN_GEMM_COLS_F32), k = from->k;
    bool is_half = from->type == NNHAL_TENSOR_FLOAT16;
    const uint16_t *halves = from->weights;
    const float *floats = from->weights;
    float *panels = block + columns;
    struct nn_pace pace = nn_pace(stop);

    clear_rest(block, from->n_cols, k);
    for (size_t n = 0; n < from->n_cols && !nn_pace_ends(&pace, 5); n++) {
        size_t step = panel_width(from->n_cols, n), place = n % NN_GEMM_COLS_F32;
        float *panel = panels + (n - place) * k + place;

        block[n] = is_half ? nn_f16_to_f32(((const uint16_t *)from->bias)[n])
                           : ((const float *)from->bias)[n];
        for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, k, 4, &part);)
            for (size_t i = part.begin; i < part.end; i++)
                panel[i * step] = is_half ? nn_f16_to_f32(halves[n * k + i]) : floats[n * k + i];
    }
}

void nn_gemm_use_f32(struct nn_gemm_f32 *gemm, const float *block)
{
    gemm->bias = block;
    gemm->panels = block + nn_gemm_columns(gemm->n_cols, NN_GEMM_COLS_F32);
}

/* Rows and where their results go, from column on. */
struct rows_f32 {
    const float *const *rows;
    float *const *out;
    size_t column;
};

/* n_rows rows and one or two vectors of columns: the sums stay in registers. n_rows and n_vectors
 * are constant where this is called, and step, from one k to the next, too, where the panel is whole;
 * width is how many columns are written. */
NN_INLINE void tile_f32(const struct nn_gemm_f32 *gemm, const struct rows_f32 *at, size_t width,
                        const size_t n_rows, const size_t n_vectors, const size_t step)
{
    size_t column = at->column;
    const float *const *rows = at->rows;
    float *const *out = at->out;
    const float *panel = gemm->panels + column * gemm->k;
    const float *row[NN_GEMM_ROWS_F32];
    nn_vector_f32 sum[NN_GEMM_ROWS_F32][2];

#pragma GCC unroll 8
    for (size_t r = 0; r < n_rows; r++) {
        row[r] = rows[r];
#pragma GCC unroll 2
        for (size_t v = 0; v < n_vectors; v++)
            sum[r][v] = nn_load_f32(gemm->bias + column + v * NN_LANES_F32);
    }
    for (size_t i = 0; i < gemm->k; i++, panel += step) {
        nn_vector_f32 weights[2];

#pragma GCC unroll 2
        for (size_t v = 0; v < n_vectors; v++)
            weights[v] = nn_load_f32(panel + v * NN_LANES_F32);
#pragma GCC unroll 8
        for (size_t r = 0; r < n_rows; r++) {
            nn_vector_f32 x = nn_splat_f32(row[r][i]);

#pragma GCC unroll 2
            for (size_t v = 0; v < n_vectors; v++)
                sum[r][v] = nn_madd_f32(x, weights[v], sum[r][v]);
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < n_rows; r++) {
        float few[NN_GEMM_COLS_F32], *to = out[r] + column;

        if (width < n_vectors * NN_LANES_F32)
            to = few;
#pragma GCC unroll 2
        for (size_t v = 0; v < n_vectors; v++)
            nn_store_f32(to + v * NN_LANES_F32,
                         nn_clamp_vector_f32(sum[r][v], gemm->low, gemm->high));
        if (to == few)
            memcpy(out[r] + column, few, width * sizeof(float));
    }
}

typedef void (*tile_f32_fn)(const struct nn_gemm_f32 *gemm, const struct rows_f32 *at,
                            size_t width);

#define TILE_F32(n)          NN_VARIANT_SYMBOL(tile_f32_##n)
#define LAST_F32(n, vectors) NN_VARIANT_SYMBOL(last_f32_##n##x##vectors)
#define DEFINE_TILE_F32(name, n, vectors, step)                                                    \
    static void name(const struct nn_gemm_f32 *gemm, const struct rows_f32 *at, size_t width)      \
    {                                                                                              \
        tile_f32(gemm, at, width, n, vectors, step);                                               \
    }
#define TILES_F32(n)                                                                               \
    DEFINE_TILE_F32(TILE_F32(n), n, 2, NN_GEMM_COLS_F32)                                           \
    DEFINE_TILE_F32(LAST_F32(n, 1), n, 1, width)                                                   \
    DEFINE_TILE_F32(LAST_F32(n, 2), n, 2, width)
TILES_F32(1)
TILES_F32(2)
TILES_F32(3)
TILES_F32(4)
TILES_F32(5)
TILES_F32(6)
#if NN_VARIANT_VECTOR_BYTES == 64
TILES_F32(7)
TILES_F32(8)
#endif

/* [rows], of a whole panel; [rows][vectors], of one with fewer columns. */
static const tile_f32_fn tiles_f32[NN_GEMM_ROWS_F32] = {
    TILE_F32(1), TILE_F32(2), TILE_F32(3), TILE_F32(4), TILE_F32(5), TILE_F32(6),
#if NN_VARIANT_VECTOR_BYTES == 64
    TILE_F32(7), TILE_F32(8),
#endif
};
static const tile_f32_fn lasts_f32[NN_GEMM_ROWS_F32][2] = {
    {LAST_F32(1, 1), LAST_F32(1, 2)}, {LAST_F32(2, 1), LAST_F32(2, 2)},
    {LAST_F32(3, 1), LAST_F32(3, 2)}, {LAST_F32(4, 1), LAST_F32(4, 2)},
    {LAST_F32(5, 1), LAST_F32(5, 2)}, {LAST_F32(6, 1), LAST_F32(6, 2)},
#if NN_VARIANT_VECTOR_BYTES == 64
    {LAST_F32(7, 1), LAST_F32(7, 2)}, {LAST_F32(8, 1), LAST_F32(8, 2)},
#endif
};

/* A tile of at->rows, and the panel at at->column, of width columns. */
static void panel_run_f32(const struct nn_gemm_f32 *gemm, size_t n_rows, const struct rows_f32 *at,
                          size_t width)
{
    if (width == NN_GEMM_COLS_F32)
        tiles_f32[n_rows - 1](gemm, at, width);
    else
        lasts_f32[n_rows - 1][width > NN_LANES_F32](gemm, at, width);
}

/* One row and the panel at gemm->panels, with this bias. */
static void row_run_f32(const struct nn_gemm_f32 *gemm, const float *bias, const float *row,
                        float *out, size_t width)
{
    struct nn_gemm_f32 of = *gemm;

    of.bias = bias;
    panel_run_f32(&of, 1, &(struct rows_f32){&row, &out, 0}, width);
}

/* Panels that one row meets at once: two sums alone would wait for each other. */
enum { N_WIDE = 4 };

/* One row and N_WIDE whole panels from column on. */
static void wide_f32(const struct nn_gemm_f32 *gemm, const float *row, float *out, size_t column)
{
    const float *panel = gemm->panels + column * gemm->k;
    size_t panel_step = NN_GEMM_COLS_F32 * gemm->k;
    nn_vector_f32 sum[N_WIDE][2];

#pragma GCC unroll 4
    for (size_t p = 0; p < N_WIDE; p++)
#pragma GCC unroll 2
        for (size_t v = 0; v < 2; v++)
            sum[p][v] = nn_load_f32(gemm->bias + column + (2 * p + v) * NN_LANES_F32);
    for (size_t i = 0; i < gemm->k; i++, panel += NN_GEMM_COLS_F32) {
        nn_vector_f32 x = nn_splat_f32(row[i]);

#pragma GCC unroll 4
        for (size_t p = 0; p < N_WIDE; p++)
#pragma GCC unroll 2
            for (size_t v = 0; v < 2; v++)
                sum[p][v] = nn_madd_f32(x, nn_load_f32(panel + p * panel_step + v * NN_LANES_F32),
                                        sum[p][v]);
    }
#pragma GCC unroll 4
    for (size_t p = 0; p < N_WIDE; p++)
#pragma GCC unroll 2
        for (size_t v = 0; v < 2; v++)
            nn_store_f32(out + column + (2 * p + v) * NN_LANES_F32,
                         nn_clamp_vector_f32(sum[p][v], gemm->low, gemm->high));
}

/* One panel, a part of k after the other: what a part gives is the bias of the next, so that each sum
 * is the same chain as in one go. At the end there is nothing left to multiply. */
static void long_panel_f32(const struct nn_gemm_f32 *gemm, size_t n_rows, const struct rows_f32 *at,
                           size_t width, struct nn_pace *pace)
{
    struct nn_gemm_f32 now = {.low = -INFINITY, .high = INFINITY};
    float sums[NN_GEMM_ROWS_F32][NN_GEMM_COLS_F32];

    for (size_t r = 0; r < n_rows; r++)
        memcpy(sums[r], gemm->bias + at->column, sizeof(sums[r]));
    for (size_t first = 0; first < gemm->k; first += now.k) {
        now.k = nn_min_size(gemm->k - first, NN_GEMM_PART);
        now.panels = gemm->panels + at->column * gemm->k + first * width;
        if (nn_pace_ends(pace, 1 + n_rows * now.k))
            return;
        for (size_t r = 0; r < n_rows; r++)
            row_run_f32(&now, sums[r], at->rows[r] + first, sums[r], width);
    }
    now = *gemm;
    now.k = 0;
    for (size_t r = 0; r < n_rows; r++)
        row_run_f32(&now, sums[r], at->rows[r], at->out[r] + at->column, width);
}

static void long_f32(const struct nn_gemm_f32 *gemm, size_t n_rows, const float *const *rows,
                     float *const *out, size_t first_col, size_t end_col)
{
    struct nn_pace pace = nn_pace(gemm->stop);

    for (size_t n = first_col; n < end_col && !nn_pace_ends(&pace, 1); n += NN_GEMM_COLS_F32)
        long_panel_f32(gemm, n_rows, &(struct rows_f32){rows, out, n},
                       nn_min_size(end_col - n, NN_GEMM_COLS_F32), &pace);
}

void nn_gemm_run_f32(const struct nn_gemm_f32 *gemm, size_t n_rows, const float *const *rows,
                     float *const *out, size_t first_col, size_t end_col)
{
    if (gemm->k > NN_GEMM_LONG) {
        long_f32(gemm, n_rows, rows, out, first_col, end_col);
        return;
    }
    for (; n_rows == 1 && end_col - first_col >= N_WIDE * NN_GEMM_COLS_F32;
         first_col += N_WIDE * NN_GEMM_COLS_F32)
        wide_f32(gemm, rows[0], out[0], first_col);
    for (size_t n = first_col; n < end_col; n += NN_GEMM_COLS_F32)
        panel_run_f32(gemm, n_rows, &(struct rows_f32){rows, out, n},
                      nn_min_size(end_col - n, NN_GEMM_COLS_F32));
}

bool nn_gemm_bytes_q8(size_t n_cols, size_t k, size_t *ret_bytes)
{
    size_t n, row;

    return nn_align_up(n_cols, NN_GEMM_COLS_Q8, &n) && nn_mul_size(n, sizeof(int32_t), &n) &&
           nn_align_up(k, NN_GEMM_PAD_Q8, &row) && nn_mul_size(row, sizeof(int16_t), &row) &&
           nn_mul_size(n_cols, row, &row) && nn_add_size(n, row, ret_bytes);
}

static void widen_part(int16_t *out, const void *in, bool is_signed, int32_t zero_point,
                       const struct nn_pace_part *part)
{
    const int8_t *s8 = in;
    const uint8_t *u8 = in;
    int16_t zero = (int16_t)zero_point;

    if (is_signed) {
        for (size_t i = part->begin; i < part->end; i++)
            out[i] = (int16_t)(s8[i] - zero);
    } else {
        for (size_t i = part->begin; i < part->end; i++)
            out[i] = (int16_t)(u8[i] - zero);
    }
}

void nn_gemm_widen_q8(int16_t *out, const void *in, bool is_signed, int32_t zero_point, size_t n,
                      struct nn_pace *pace)
{
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        widen_part(out, in, is_signed, zero_point, &part);
}

/* Zero points are taken away once here, not in each product; padding adds products of 0. */
static void pack_q8(uint8_t *block, const struct nn_gemm_weights *from, struct nn_stop *stop)
{
    size_t columns = nn_gemm_columns(from->n_cols, NN_GEMM_COLS_Q8);
    size_t stride = nn_gemm_k_q8(from->k), n_rest = columns - from->n_cols;
    struct nn_pace pace = nn_pace(stop);
    bool is_signed = from->type != NNHAL_TENSOR_QUANT8_ASYMM;
    int16_t *rows = (int16_t *)(void *)(block + columns * sizeof(int32_t));

    memset(block + from->n_cols * sizeof(int32_t), 0, n_rest * sizeof(int32_t));
    nn_pace_copy(&pace, block, from->bias, from->n_cols * sizeof(int32_t));
    for (size_t n = 0; n < from->n_cols && !nn_pace_ends(&pace, 10); n++) {
        nn_gemm_widen_q8(rows + n * stride, (const uint8_t *)from->weights + n * from->k, is_signed,
                         from->zero_point, from->k, &pace);
        memset(rows + n * stride + from->k, 0, (stride - from->k) * sizeof(*rows));
    }
}

void nn_gemm_pack(void *block, const struct nn_gemm_weights *from, struct nn_stop *stop)
{
    if (from->type == NNHAL_TENSOR_FLOAT32 || from->type == NNHAL_TENSOR_FLOAT16)
        pack_float(block, from, stop);
    else
        pack_q8(block, from, stop);
}

void nn_gemm_use_q8(struct nn_gemm_q8 *gemm, const uint8_t *block)
{
    size_t columns = nn_gemm_columns(gemm->n_cols, NN_GEMM_COLS_Q8);

    gemm->bias = (const int32_t *)(const void *)block;
    gemm->weights = (const int16_t *)(const void *)(block + columns * sizeof(int32_t));
}

/* Two rows, four columns, of which the last may be the same. Compilers turn each sum into one
 * instruction for a vector of products; k is a whole number of vectors. */
static void tile_q8(size_t k, const int16_t *restrict a0, const int16_t *restrict a1,
                    const int16_t *const b[NN_GEMM_COLS_Q8], int32_t *restrict out)
{
    const int16_t *restrict b0 = b[0], *restrict b1 = b[1], *restrict b2 = b[2],
                            *restrict b3 = b[3];
    int32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;

    for (size_t i = 0; i < k; i++) {
        s00 += a0[i] * b0[i];
        s01 += a0[i] * b1[i];
        s02 += a0[i] * b2[i];
        s03 += a0[i] * b3[i];
        s10 += a1[i] * b0[i];
        s11 += a1[i] * b1[i];
        s12 += a1[i] * b2[i];
        s13 += a1[i] * b3[i];
    }
    out[0] = s00;
    out[1] = s01;
    out[2] = s02;
    out[3] = s03;
    out[4] = s10;
    out[5] = s11;
    out[6] = s12;
    out[7] = s13;
}

/* The same for any k: blocks whose sums fit, added with wrap-around as the
 * reference's accumulators do. */
static void long_tile_q8(size_t k, const int16_t *a0, const int16_t *a1,
                         const int16_t *const b[NN_GEMM_COLS_Q8], int32_t *out,
                         struct nn_stop *stop)
{
    uint32_t total[NN_GEMM_ROWS_Q8 * NN_GEMM_COLS_Q8] = {0};

    for (size_t i = 0; i < k && (i == 0 || !nn_stop_look(stop)); i += MAX_K_OF_EXACT_SUM) {
        size_t n = k - i < MAX_K_OF_EXACT_SUM ? k - i : MAX_K_OF_EXACT_SUM;

        tile_q8(n, a0 + i, a1 + i, (const int16_t *[]){b[0] + i, b[1] + i, b[2] + i, b[3] + i},
                out);
        for (size_t j = 0; j < NN_N_ELEMENTS(total); j++)
            total[j] += (uint32_t)out[j];
    }
    memcpy(out, total, sizeof(total));
}

static uint8_t requantize_sum(const struct nn_gemm_q8 *gemm, int32_t acc, size_t column)
{
    int32_t sum = (int32_t)((uint32_t)acc + (uint32_t)gemm->bias[column]);
    struct nn_multiplier m = gemm->multipliers[column * gemm->multiplier_step];
    int32_t scaled = gemm->rounds_once ? nn_multiplier_apply_once(sum, m)
                                       : nn_multiplier_apply(sum, m);

    scaled = (int32_t)((uint32_t)scaled + (uint32_t)gemm->out_zero_point);
    return (uint8_t)nn_clamp_i32(scaled, gemm->low, gemm->high);
}

void nn_gemm_run_q8(const struct nn_gemm_q8 *gemm, size_t n_rows, const int16_t *const *rows,
                    uint8_t *const *out, size_t first_col, size_t end_col)
{
    const int16_t *second = rows[n_rows > 1 ? 1 : 0];
    size_t stride = nn_gemm_k_q8(gemm->k);

    for (size_t n = first_col; n < end_col; n += NN_GEMM_COLS_Q8) {
        int32_t acc[NN_GEMM_ROWS_Q8 * NN_GEMM_COLS_Q8];
        size_t width = end_col - n < NN_GEMM_COLS_Q8 ? end_col - n : NN_GEMM_COLS_Q8;
        const int16_t *columns[NN_GEMM_COLS_Q8];

        for (size_t c = 0; c < NN_GEMM_COLS_Q8; c++)
            columns[c] = gemm->weights + (n + nn_min_size(c, width - 1)) * stride;
        long_tile_q8(stride, rows[0], second, columns, acc, gemm->stop);
        for (size_t r = 0; r < n_rows; r++)
            for (size_t c = 0; c < width; c++)
                out[r][n + c] = requantize_sum(gemm, acc[r * NN_GEMM_COLS_Q8 + c], n + c);
    }
}
