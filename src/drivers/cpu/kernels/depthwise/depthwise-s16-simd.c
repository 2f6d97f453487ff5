/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of 8 bits from pairs of rows, with vectors that multiply and add 16 bits.
 *
 * Rows 2j and 2j + 1 of the image are widened together, zero point taken away: a lane holds an
 * element of both. One instruction then does two taps of a column of the filter. With a stride of 1
 * two output rows are computed from the same pairs, the second with a filter that is shifted by a
 * row (taps a, b, c; zeros fill up):
 *
 *     output row 2j       pair j: a b   pair j + 1: c 0
 *     output row 2j + 1   pair j: 0 a   pair j + 1: b c
 *
 * With a stride of 2 an output row begins at an even row of the image: two positions of it are
 * computed, with the same weights. Either way a cell is one of two vectors of sums, and data or
 * weights are loaded once for both. A pair is widened once and lies in a ring of each worker's
 * scratch while output rows need it: 3x3 filters take 12 multiplications for 2 x LANES results.
 *
 * Where rows are cut into blocks (stride_w 1), the constants of channels that do not fill whole
 * blocks are repeated until they begin anew with one.
 *
 * For constant filters and uint8 data in [N,H,W,C], strides of 1 and 2, without vertical
 * dilation; depthwise-simd.c takes the rest, and all with VNNI. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/requantize.h"
#include "drivers/cpu/kernels/conv/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = NN_LANES_I32,
    CELLS = 2,
    CHANNELS = 2 * LANES, /* of a block */
    MAX_PAIRS = 8,        /* that an output row reads */
    MAX_TAPS = 32,        /* in a row of the filter */
    MAX_BLOCKS_A_ROW = 16,
    CHUNK = 8, /* blocks whose weights stay in the nearest cache */
    CONSTANT_BYTES = CHANNELS * NN_REQUANTIZE_BYTES,
    VECTOR_BYTES = NN_VARIANT_VECTOR_BYTES,
};

struct depthwise_s16_params {
    struct nn_conv_shape shape;
    int32_t low, high;
};

/* ---- the packed form: blocks of constants, then weights [pairs][taps][cells][CHANNELS][2] ---- */

struct filter_cut {
    size_t n_pairs, n_taps;
    size_t n_variants; /* of the weights: one for each cell, or one for both */
    size_t n_blocks;   /* whose constants differ */
    bool is_row;       /* blocks are cut from a row, else from a position */
};

static size_t greatest_divisor(size_t a, size_t b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

static struct filter_cut cut_filter(const struct nn_conv_shape *shape, const uint32_t *filter)
{
    size_t n_row = filter[3] ? filter[3] / greatest_divisor(filter[3], CHANNELS) : 1;
    struct filter_cut cut = {.n_pairs = ((size_t)filter[1] + (shape->stride_h == 1) + 1) / 2,
                             .n_taps = filter[2],
                             .n_variants = shape->stride_h == 1 ? CELLS : 1,
                             .n_blocks = (filter[3] + CHANNELS - 1) / CHANNELS};

    cut.is_row = shape->stride_w == 1 && shape->stride_h == 1 && filter[3] % CHANNELS != 0 &&
                 n_row <= MAX_BLOCKS_A_ROW;
    if (cut.is_row)
        cut.n_blocks = n_row;
    return cut;
}

/* The first channel of block b. The last block of a position overlaps the one before. */
static size_t block_channel(const struct filter_cut *cut, size_t n_channels, size_t b)
{
    size_t first = b * CHANNELS;

    if (cut->is_row)
        return first % n_channels;
    return n_channels < CHANNELS ? first : nn_min_size(first, n_channels - CHANNELS);
}

static size_t block_bytes(const struct filter_cut *cut)
{
    return CONSTANT_BYTES +
           cut->n_pairs * cut->n_taps * cut->n_variants * CHANNELS * 2 * sizeof(int16_t);
}

static bool can_pack(const struct nn_conv_shape *shape, const uint32_t *filter)
{
    return shape->depth_multiplier == 1 && shape->dilation_h == 1 &&
           (shape->stride_h == 1 || shape->stride_h == 2) && filter[1] < 2 * MAX_PAIRS &&
           filter[2] <= MAX_TAPS;
}

static bool find_weights_bytes(const struct nn_conv_shape *shape, const uint32_t *filter,
                               size_t *ret_bytes)
{
    struct filter_cut cut = cut_filter(shape, filter);

    return nn_mul_size(cut.n_blocks, block_bytes(&cut), ret_bytes);
}

/* ---- lowering ---- */

struct pairs_source {
    const struct nn_lower_operand *filter;
    const int32_t *bias;
    const struct nn_multiplier *multipliers;
    int32_t output_zero;
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

/* Lane i of a block, which is channel c. */
static void lane_pack(const struct pairs_source *source, const struct filter_cut *cut,
                      uint8_t *block, size_t i, size_t c)
{
    struct nn_requantize r = nn_requantize_at(block, CHANNELS);
    int16_t *to = (int16_t *)(void *)(block + CONSTANT_BYTES) + 2 * i;

    for (size_t pair = 0; pair < cut->n_pairs; pair++)
        for (size_t x = 0; x < cut->n_taps; x++)
            for (size_t cell = 0; cell < cut->n_variants; cell++, to += 2 * CHANNELS) {
                int64_t y = (int64_t)(2 * pair) - (int64_t)cell;

                to[0] = weight_at(source->filter, y, x, c);
                to[1] = weight_at(source->filter, y + 1, x, c);
            }
    nn_requantize_set(&r, i, source->bias[c], source->multipliers[c], source->output_zero);
}

/* Returns: false if a multiplier is too large. */
static bool pack_all(const struct pairs_source *source, const struct filter_cut *cut, uint8_t *to)
{
    size_t n_channels = source->filter->dims[3];

    for (size_t c = 0; c < n_channels; c++)
        if (!nn_requantize_fits(source->multipliers[c]))
            return false;
    for (size_t b = 0; b < cut->n_blocks; b++) {
        uint8_t *block = to + b * block_bytes(cut);
        struct nn_requantize r = nn_requantize_at(block, CHANNELS);

        for (size_t i = 0; i < CHANNELS; i++) {
            size_t c = block_channel(cut, n_channels, b) + i;

            if (c < n_channels || cut->is_row)
                lane_pack(source, cut, block, i, c % n_channels);
            else
                nn_requantize_pad(&r, i);
        }
    }
    return true;
}

static int lower_weights(struct nn_lower *lower, const struct nn_conv_shape *shape)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    struct nn_multiplier *multipliers = calloc(filter->dims[3], sizeof(*multipliers));
    struct pairs_source source = {filter, lower->inputs[NN_CONV_BIAS].value, multipliers,
                                  lower->outputs[0].zero_point};
    struct filter_cut cut = cut_filter(shape, filter->dims);
    uint8_t *block = NULL;
    size_t n_bytes;
    int r = -ENOMEM;

    if (multipliers && find_weights_bytes(shape, filter->dims, &n_bytes)) {
        nn_conv_multipliers(lower, multipliers, filter->dims[3]);
        block = nn_lower_weights(lower, n_bytes);
    }
    if (block)
        r = pack_all(&source, &cut, block) ? 0 : NN_KERNEL_E_PASS;
    free(multipliers);
    return r;
}

static int lower_depthwise(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct depthwise_s16_params *params = lower->params;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!nn_conv_has_image(&params->shape) || !can_pack(&params->shape, filter->dims) ||
        !filter->value || !lower->inputs[NN_CONV_BIAS].value || nn_lower_count(output) == 0 ||
        nn_lower_count(filter) == 0)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(params->shape.activation, false, output->scale, output->zero_point,
                          &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    return lower_weights(lower, &params->shape);
}

/* ---- the image ---- */

static const struct nn_conv_element element = {.bytes = 1, .group = 1, .is_copied = true};

/* Scratch: a row of zero points for all; for each worker a ring of pairs of rows, and an output row
 * that is not wanted. */
struct depthwise_s16_layout {
    struct nn_conv_image image;
    size_t row;  /* elements of a row of the image */
    size_t pair; /* bytes of a pair, with what vectors read beyond it */
    size_t spare;
    struct nn_kernel_scratch scratch;
};

static bool find_layout(const struct nn_kernel_step *step, struct depthwise_s16_layout *ret)
{
    const struct depthwise_s16_params *params = step->params;
    const uint32_t *in = step->inputs[0].dims, *filter = step->inputs[1].dims;
    const uint32_t *out = step->outputs[0].dims;
    struct filter_cut cut = cut_filter(&params->shape, filter);

    return nn_conv_find_image(&params->shape, in, filter, out, element, &ret->image) &&
           nn_mul_size(ret->image.w, ret->image.c, &ret->row) &&
           nn_mul_size(ret->row, 2 * sizeof(int16_t), &ret->pair) &&
           nn_add_size(ret->pair, (size_t)2 * VECTOR_BYTES, &ret->pair) &&
           nn_align_up(ret->pair, 64, &ret->pair) && nn_mul_size(out[2], out[3], &ret->spare) &&
           nn_add_size(ret->spare, VECTOR_BYTES, &ret->spare) &&
           nn_mul_size(ret->pair, cut.n_pairs, &ret->scratch.worker_bytes) &&
           nn_add_size(ret->scratch.worker_bytes, ret->spare, &ret->scratch.worker_bytes) &&
           nn_mul_size(in[2], in[3], &ret->scratch.bytes);
}

/* n elements of two rows, minus the zero point, beside each other. */
static void rows_widen(int16_t *to, const uint8_t *a, const uint8_t *b, int32_t zero, size_t n)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        __m128i bytes_a = _mm_loadu_si128((const void *)(a + i));
        __m128i bytes_b = _mm_loadu_si128((const void *)(b + i));
        __m128i low = _mm_unpacklo_epi8(bytes_a, bytes_b);
        __m128i high = _mm_unpackhi_epi8(bytes_a, bytes_b);
        __m256i zeros = _mm256_set1_epi16((int16_t)zero);

        _mm256_storeu_si256((void *)(to + 2 * i),
                            _mm256_sub_epi16(_mm256_cvtepu8_epi16(low), zeros));
        _mm256_storeu_si256((void *)(to + 2 * i + 16),
                            _mm256_sub_epi16(_mm256_cvtepu8_epi16(high), zeros));
    }
    for (; i < n; i++) {
        to[2 * i] = (int16_t)(a[i] - zero);
        to[2 * i + 1] = (int16_t)(b[i] - zero);
    }
}

struct depthwise_s16_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct depthwise_s16_layout layout;
    struct filter_cut cut;
    struct nn_conv_sizes in, out;
    size_t n_items;              /* of a batch: output rows, two at once where the stride is 1 */
    size_t tap_step, block_step; /* numbers of 32 bits between taps of a pair, between blocks */
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

/* Pair j of batch n into its place in the ring. */
static void pair_widen(const struct depthwise_s16_job *job, uint8_t *ring, size_t n, size_t j)
{
    const struct nn_conv_image *image = &job->layout.image;
    size_t left = nn_min_size(image->left, image->w);
    size_t n_inside = nn_min_size(job->in.w, image->w - left) * image->c;
    int16_t *to = (void *)(ring + j % job->cut.n_pairs * job->layout.pair);
    int16_t *inside = to + 2 * left * image->c;

    memset(to, 0, 2 * left * image->c * sizeof(*to));
    rows_widen(inside, image_row(job, n, 2 * j), image_row(job, n, 2 * j + 1), job->input_zero,
               n_inside);
    memset(inside + 2 * n_inside, 0,
           job->layout.pair - (2 * left * image->c + 2 * n_inside) * sizeof(*to));
}

/* ---- running ---- */

/* The cells of an item: pairs of rows, an element of both in a number, and where codes go. */
struct cells_s16 {
    const int32_t *pairs[MAX_PAIRS];
    uint8_t *out[CELLS];
};

/* What is constant where blocks are run, or the job's. */
struct filter_size {
    size_t n_pairs, n_taps, n_variants;
};

/* The codes of a block of both cells, whose data begins at elements from[]. */
NN_INLINE nn_vector_i32 block_run(const struct depthwise_s16_job *job,
                                  const int32_t *const pairs[MAX_PAIRS], const size_t from[CELLS],
                                  size_t index, const struct filter_size size)
{
    const struct nn_requantize *r = &job->requantize;
    size_t column = index * job->block_step, tap_step = job->tap_step;
    const int32_t *weights = r->bias + column + CONSTANT_BYTES / sizeof(int32_t);
    nn_vector_i32 sums[CELLS][2];

#pragma GCC unroll 2
    for (size_t v = 0; v < 2; v++)
        sums[0][v] = sums[1][v] = nn_load_i32(r->bias + column + v * LANES);
#pragma GCC unroll 3
    for (size_t pair = 0; pair < size.n_pairs; pair++)
#pragma GCC unroll 5
        for (size_t x = 0; x < size.n_taps; x++, weights += size.n_variants * CHANNELS)
#pragma GCC unroll 2
            for (size_t cell = 0; cell < CELLS; cell++) {
                const int32_t *data = pairs[pair] + from[cell] + x * tap_step;
                const int32_t *w = weights + (size.n_variants == 1 ? 0 : cell * CHANNELS);

#pragma GCC unroll 2
                for (size_t v = 0; v < 2; v++)
                    sums[cell][v] = nn_multiply_add(sums[cell][v], nn_load_i32(data + v * LANES),
                                                    nn_load_i32(w + v * LANES));
            }
    return nn_requantize_four(r, sums[0], sums[1],
                              (size_t[]){column, column + LANES, column, column + LANES});
}

NN_INLINE void store_codes(uint8_t *a, uint8_t *b, nn_vector_i32 codes)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    _mm256_storeu_si256((void *)a, _mm512_castsi512_si256((__m512i)codes));
    _mm256_storeu_si256((void *)b, _mm512_extracti64x4_epi64((__m512i)codes, 1));
#else
    _mm_storeu_si128((void *)a, _mm256_castsi256_si128((__m256i)codes));
    _mm_storeu_si128((void *)b, _mm256_extracti128_si256((__m256i)codes, 1));
#endif
}

/* Fewer codes than a block has. */
NN_INLINE void store_few(uint8_t *a, uint8_t *b, nn_vector_i32 codes, size_t n)
{
    uint8_t few[CELLS * CHANNELS];

    memcpy(few, &codes, sizeof(few));
    memcpy(a, few, n);
    memcpy(b, few + CHANNELS, n);
}

/* Two rows, cut into blocks. */
NN_INLINE void rows_run(const struct depthwise_s16_job *job, const struct cells_s16 *cells,
                        const struct filter_size size)
{
    const struct cells_s16 at = *cells;
    size_t n = job->out.w * job->out.c, n_blocks = job->cut.n_blocks, b = 0, i = 0;

    for (; i + CHANNELS <= n; i += CHANNELS, b = b + 1 < n_blocks ? b + 1 : 0)
        store_codes(at.out[0] + i, at.out[1] + i,
                    block_run(job, at.pairs, (size_t[]){i, i}, b, size));
    if (i < n)
        store_few(at.out[0] + i, at.out[1] + i, block_run(job, at.pairs, (size_t[]){i, i}, b, size),
                  n - i);
}

/* The blocks [first, end) of position x, and of the next where both cells are in a row. */
NN_INLINE void position_run(const struct depthwise_s16_job *job, const struct cells_s16 *cells,
                            size_t x, size_t first, size_t end, const struct filter_size size)
{
    size_t n_channels = job->out.c, step = (size_t)job->shape->stride_w * n_channels;
    size_t next = size.n_variants == 1 ? nn_min_size(x + 1, job->out.w - 1) : x;
    size_t last = n_channels < CHANNELS ? 0 : n_channels - CHANNELS;
    uint8_t *a = cells->out[0] + x * n_channels, *b = cells->out[1] + next * n_channels;

    for (size_t i = first; i < end; i++) {
        size_t c = nn_min_size(i * CHANNELS, last);
        nn_vector_i32 codes = block_run(job, cells->pairs,
                                        (size_t[]){x * step + c, next * step + c}, i, size);

        if (n_channels < CHANNELS)
            store_few(a, b, codes, n_channels);
        else
            store_codes(a + c, b + c, codes);
    }
}

/* Position by position, or two of them at once, a chunk of blocks after the other. */
NN_INLINE void positions_run(const struct depthwise_s16_job *job, const struct cells_s16 *cells,
                             const struct filter_size size)
{
    const struct cells_s16 at = *cells;
    size_t n_blocks = job->cut.n_blocks, out_w = job->out.w;

    for (size_t first = 0; first < n_blocks; first += CHUNK)
        for (size_t x = 0; x < out_w; x += size.n_variants == 1 ? CELLS : 1)
            position_run(job, &at, x, first, nn_min_size(first + CHUNK, n_blocks), size);
}

typedef void (*cells_fn)(const struct depthwise_s16_job *job, const struct cells_s16 *cells);

#define CELLS_OF(name, run, ...)                                                                   \
    static void NN_VARIANT_SYMBOL(name)(const struct depthwise_s16_job *job,                       \
                                        const struct cells_s16 *cells)                             \
    {                                                                                              \
        run(job, cells, (struct filter_size){__VA_ARGS__});                                        \
    }
CELLS_OF(rows_3x3_s16, rows_run, 2, 3, CELLS)
CELLS_OF(rows_5x5_s16, rows_run, 3, 5, CELLS)
CELLS_OF(rows_any_s16, rows_run, job->cut.n_pairs, job->cut.n_taps, CELLS)
CELLS_OF(row_pairs_3x3_s16, positions_run, 2, 3, CELLS)
CELLS_OF(row_pairs_5x5_s16, positions_run, 3, 5, CELLS)
CELLS_OF(row_pairs_any_s16, positions_run, job->cut.n_pairs, job->cut.n_taps, CELLS)
CELLS_OF(positions_3x3_s16, positions_run, 2, 3, 1)
CELLS_OF(positions_5x5_s16, positions_run, 3, 5, 1)
CELLS_OF(positions_any_s16, positions_run, job->cut.n_pairs, job->cut.n_taps, 1)

/* [how cells are cut][3x3, 5x5, any] */
static const cells_fn cells_fns[3][3] = {
    {NN_VARIANT_SYMBOL(rows_3x3_s16), NN_VARIANT_SYMBOL(rows_5x5_s16),
     NN_VARIANT_SYMBOL(rows_any_s16)},
    {NN_VARIANT_SYMBOL(row_pairs_3x3_s16), NN_VARIANT_SYMBOL(row_pairs_5x5_s16),
     NN_VARIANT_SYMBOL(row_pairs_any_s16)},
    {NN_VARIANT_SYMBOL(positions_3x3_s16), NN_VARIANT_SYMBOL(positions_5x5_s16),
     NN_VARIANT_SYMBOL(positions_any_s16)},
};

static cells_fn find_cells_fn(const struct filter_cut *cut)
{
    size_t kind = cut->is_row ? 0 : cut->n_variants == CELLS ? 1 : 2;

    if (cut->n_pairs == 2 && cut->n_taps == 3)
        return cells_fns[kind][0];
    return cells_fns[kind][cut->n_pairs == 3 && cut->n_taps == 5 ? 1 : 2];
}

/* An item is an output row, or two. Pairs that the item before has widened are in the ring. */
static void depthwise_items(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_s16_job *job = ctx;
    size_t n_pairs = job->cut.n_pairs, row_elements = job->out.w * job->out.c;
    size_t n_rows = job->cut.n_variants;
    uint8_t *ring = nn_worker_scratch(job->args, worker), *output = job->args->outputs[0].data;
    uint8_t *spare = ring + n_pairs * job->layout.pair;
    cells_fn run = find_cells_fn(&job->cut);

    for (size_t item = begin; item < end; item++) {
        size_t n = item / job->n_items, j = item % job->n_items;
        size_t row = n * job->out.h + j * n_rows,
               stop = nn_min_size(n_rows, job->out.h - j * n_rows);
        uint8_t *out = output + row * row_elements;
        struct cells_s16 cells = {.out = {out, out + (n_rows - 1) * row_elements}};

        if (stop < n_rows)
            cells.out[1] = spare;
        for (size_t pair = item == begin || j == 0 ? 0 : n_pairs - 1; pair < n_pairs; pair++)
            pair_widen(job, ring, n, j + pair);
        for (size_t pair = 0; pair < n_pairs; pair++)
            cells.pairs[pair] = (void *)(ring + (j + pair) % n_pairs * job->layout.pair);
        run(job, &cells);
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
        .cut = cut_filter(&params->shape, filter),
        .in = nn_conv_sizes(input->dims, false),
        .out = nn_conv_sizes(args->outputs[0].dims, false),
        .input = input->data,
        .input_zero = (uint8_t)input->zero_point,
        .requantize = nn_requantize_use(args->weights, CHANNELS, params->low, params->high)};
    struct nn_kernel_step step = {
        .params = params, .inputs = args->inputs, .outputs = args->outputs};
    size_t row_elements = job.out.w * job.out.c;

    if (!find_layout(&step, &job.layout))
        return -ENOMEM;
    memset(args->scratch, job.input_zero, job.in.w * job.in.c);
    job.tap_step = (size_t)params->shape.dilation_w * job.in.c;
    job.block_step = block_bytes(&job.cut) / sizeof(int32_t);
    job.n_items = (job.out.h + job.cut.n_variants - 1) / job.cut.n_variants;
    /* 8 multiplications a nanosecond; a code takes as long as 4. */
    nn_parallel_for(args, job.out.n * job.n_items,
                    1 + row_elements * job.cut.n_variants * (job.cut.n_pairs * job.cut.n_taps + 4) /
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

    return step->n_inputs >= 8 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 &&
           nn_conv_has_image(shape) && can_pack(shape, filter) && in[3] == filter[3] &&
           step->outputs[0].dims[3] == filter[3] && in[0] == step->outputs[0].dims[0] &&
           nn_tensor_count(&step->inputs[1]) > 0 && nn_tensor_count(&step->outputs[0]) > 0 &&
           find_layout(step, &layout) && find_weights_bytes(shape, filter, &needed) &&
           needed <= step->weights_bytes;
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
