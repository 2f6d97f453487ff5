/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/conv/image.h"

#include "cpu/builder.h"
#include "support/check-main.h"

#include <string.h>

enum { MOST_POSITIONS = 4000, MOST_COLUMNS = 600, ROUNDS = 2000, IMAGE_BYTES = 1 << 15 };

/* A random convolution. */
struct problem {
    struct nn_conv_shape shape;
    struct nn_conv_image image;
    struct nn_conv_sizes out;
    uint32_t in[4];
    struct nn_conv_columns columns;
};

static int32_t choose(uint32_t *seed, int32_t low, int32_t high)
{
    return builder_random_int(seed, low, high);
}

/* n positions reach so far. */
static uint32_t reach(uint32_t n, int32_t stride, uint32_t taps, int32_t dilation)
{
    return (n - 1) * (uint32_t)stride + (taps - 1) * (uint32_t)dilation + 1;
}

static struct problem make_problem(uint32_t *seed)
{
    bool is_point = choose(seed, 0, 2) == 0;
    uint32_t out[4] = {(uint32_t)choose(seed, 1, 3), (uint32_t)choose(seed, 1, 30),
                       (uint32_t)choose(seed, 1, choose(seed, 0, 5) ? 20 : 40), 1};
    uint32_t filter[4] = {1, is_point ? 1 : (uint32_t)choose(seed, 1, 4),
                          is_point ? 1 : (uint32_t)choose(seed, 1, 4),
                          (uint32_t)choose(seed, 1, 3)};
    struct problem p = {.shape = {.stride_h = is_point ? 1 : choose(seed, 1, 4),
                                  .stride_w = is_point ? 1 : choose(seed, 1, 3),
                                  .dilation_h = choose(seed, 1, 2),
                                  .dilation_w = choose(seed, 1, 2),
                                  .pad_top = is_point ? 0 : choose(seed, 0, 2),
                                  .pad_left = is_point ? 0 : choose(seed, 0, 2)},
                        .out = {out[0], out[1], out[2], 1},
                        .columns = {.n = (size_t)choose(seed, 1, MOST_COLUMNS),
                                    .panel = choose(seed, 0, 1) ? 16 : 32,
                                    .weight_bytes = choose(seed, 0, 1) ? 1000 : 1000000,
                                    .tile = choose(seed, 0, 1) ? 6 : 12,
                                    .has_epilogue = choose(seed, 0, 1)}};
    int32_t h = (int32_t)reach(out[1], p.shape.stride_h, filter[1], p.shape.dilation_h);
    int32_t w = (int32_t)reach(out[2], p.shape.stride_w, filter[2], p.shape.dilation_w);

    h -= p.shape.pad_top + (is_point ? 0 : choose(seed, 0, 1));
    w -= p.shape.pad_left + (is_point ? 0 : choose(seed, 0, 1));
    p.in[0] = out[0];
    p.in[1] = h > 0 ? (uint32_t)h : 1;
    p.in[2] = w > 0 ? (uint32_t)w : 1;
    p.in[3] = filter[3];
    ck_assert(nn_conv_find_image(&p.shape, p.in, filter, out, (struct nn_conv_element){1, 1, false},
                                 &p.image));
    return p;
}

static uint8_t n_times[MOST_POSITIONS * MOST_COLUMNS];

/* The window of this position, in elements from the first row of the block on. */
static size_t window_of(const struct problem *p, const struct nn_conv_block *block, size_t position)
{
    size_t x = position % p->out.w, row = position / p->out.w;
    size_t y = row / p->out.h * p->image.h + row % p->out.h * (size_t)p->shape.stride_h;

    if (p->image.is_run)
        return position * p->image.c;
    return ((y - block->first_row) * p->image.w + x * (size_t)p->shape.stride_w) * p->image.c;
}

static void check_block(const struct problem *p, const struct nn_conv_cut *cut,
                        const struct nn_conv_block *block)
{
    size_t position = block->first, n_wrong = 0;

    ck_assert_uint_le(block->n_tiles, NN_CONV_TILES);
    ck_assert_uint_le(block->end - block->first, NN_CONV_BLOCK);
    ck_assert(!p->columns.has_epilogue || cut->n_shares == 1 || cut->run * cut->n_runs == 1);
    for (size_t t = 0; t < block->n_tiles; t++) {
        ck_assert_uint_eq(block->tiles[t].position, position);
        ck_assert_uint_le(block->tiles[t].n_rows, p->columns.tile);
        for (size_t i = 0; i < block->tiles[t].n_rows; i++, position++) {
            n_wrong += block->tiles[t].element + i * cut->stride != window_of(p, block, position);
            for (size_t c = block->first_column; c < block->end_column; c++)
                n_times[position * MOST_COLUMNS + c]++;
        }
    }
    ck_assert_uint_eq(n_wrong, 0);
    ck_assert_uint_eq(position, block->end);
}

/* Items in ranges, as threads take them. */
static void run_items(const struct problem *p, const struct nn_conv_cut *cut, uint32_t *seed)
{
    for (size_t begin = 0; begin < cut->n_items;) {
        size_t end = begin + (size_t)choose(seed, 1, 20);
        struct nn_conv_block block;

        block.n_units = 0;
        end = end < cut->n_items ? end : cut->n_items;
        while (begin < end) {
            begin = nn_conv_next(cut, &p->image, &p->shape, begin, end, &block);
            check_block(p, cut, &block);
        }
        ck_assert_uint_eq(begin, end);
    }
}

TEST(every_column_of_every_position_is_computed_once)
{
    uint32_t seed = 3;

    for (int round = 0; round < ROUNDS; round++) {
        struct problem p = make_problem(&seed);
        size_t n_positions = p.out.n * p.out.h * p.out.w, n_wrong = 0;
        struct nn_conv_cut cut;

        if (n_positions > MOST_POSITIONS)
            continue;
        cut = nn_conv_cut(&p.image, &p.shape, &p.out, &p.columns);
        memset(n_times, 0, n_positions * MOST_COLUMNS);
        run_items(&p, &cut, &seed);
        for (size_t i = 0; i < n_positions; i++)
            for (size_t c = 0; c < MOST_COLUMNS; c++)
                n_wrong += n_times[i * MOST_COLUMNS + c] != (c < p.columns.n);
        ck_assert_uint_eq(n_wrong, 0);
    }
}
TEST_END

/* What lies in a row of the image. */
static uint8_t image_byte(const struct nn_conv_stage *stage, size_t row, size_t at)
{
    const struct nn_conv_image *image = stage->image;
    size_t y = row % image->h - image->top, x = at / image->c - image->left;

    if (y >= stage->in.h || x >= stage->in.w)
        return stage->fill;
    return stage
        ->input[((row / image->h * stage->in.h + y) * stage->in.w + x) * image->c + at % image->c];
}

static size_t count_wrong_bytes(const struct nn_conv_stage *stage,
                                const struct nn_conv_window *window, size_t end)
{
    size_t n_row = stage->image->w * stage->image->c, n_wrong = 0;

    for (size_t row = window->first; row < end; row++)
        for (size_t i = 0; i < n_row; i++)
            n_wrong += window->rows[(row - window->first) * n_row + i] != image_byte(stage, row, i);
    return n_wrong;
}

/* Within memory that is just large enough. */
static void move_about(const struct nn_conv_stage *stage, size_t n_most, size_t n_bytes,
                       uint32_t *seed)
{
    struct nn_conv_window window = {.rows = malloc(n_bytes)};
    size_t n_rows = stage->image->n * stage->image->h;

    ck_assert_ptr_nonnull(window.rows);
    for (int move = 0; move < 20; move++) {
        size_t first = (size_t)choose(seed, 0, (int32_t)n_rows - 1);
        size_t end = first + (size_t)choose(seed, 1, (int32_t)n_most);

        nn_conv_window_move(&window, stage, first, end < n_rows ? end : n_rows);
        ck_assert_uint_eq(count_wrong_bytes(stage, &window, end < n_rows ? end : n_rows), 0);
    }
    free(window.rows);
}

TEST(a_window_has_the_rows_of_the_image)
{
    static uint8_t input[IMAGE_BYTES];
    uint32_t seed = 4;

    for (size_t i = 0; i < IMAGE_BYTES; i++)
        input[i] = (uint8_t)(i * 7 % 251);
    for (int round = 0; round < 300; round++) {
        struct problem p = make_problem(&seed);
        struct nn_conv_stage stage = {.image = &p.image,
                                      .in = nn_conv_sizes(p.in, false),
                                      .input = input,
                                      .input_bytes = 1,
                                      .bytes = 1,
                                      .fill = 251};
        size_t n_runs = (size_t)choose(&seed, 1, 40), n_bytes;

        if (!p.image.is_staged || stage.in.n * stage.in.h * stage.in.w * stage.in.c > IMAGE_BYTES)
            continue;
        ck_assert(nn_conv_window_bytes(&p.image, &p.shape, p.out.h, n_runs, 1, &n_bytes));
        move_about(&stage, (n_bytes - NN_CONV_SLACK) / (p.image.w * p.image.c), n_bytes, &seed);
    }
}
TEST_END

CHECK_MAIN("conv-image", every_column_of_every_position_is_computed_once,
           a_window_has_the_rows_of_the_image)
