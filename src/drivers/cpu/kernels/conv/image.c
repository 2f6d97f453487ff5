/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/conv/image.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <string.h>

enum {
    ITEMS = 16,          /* blocks times shares: several for each of a few threads */
    UNIT = 24,           /* positions, for which it is worth to read */
    MANY_BYTES = 128000, /* of weights */
};

/* ---- geometry ---- */

/* What n positions reach: stride * (n - 1) + dilation * (taps - 1) + 1. */
static bool find_reach(uint32_t n, int32_t stride, uint32_t taps, int32_t dilation, size_t *ret)
{
    size_t windows, filter;

    return nn_mul_size(n - 1, (size_t)stride, &windows) &&
           nn_mul_size(taps - 1, (size_t)dilation, &filter) && nn_add_size(windows, filter, ret) &&
           nn_add_size(*ret, 1, ret);
}

/* Whether all of the image, with its batches, would fit a size. */
static bool image_fits(const struct nn_conv_image *image, size_t element_bytes)
{
    size_t n_bytes;

    return nn_mul_size(image->n, image->h, &n_bytes) && nn_mul_size(n_bytes, image->w, &n_bytes) &&
           nn_mul_size(n_bytes, image->c, &n_bytes) &&
           nn_mul_size(n_bytes, element_bytes, &n_bytes) &&
           nn_add_size(n_bytes, NN_CONV_SLACK, &n_bytes);
}

bool nn_conv_find_image(const struct nn_conv_shape *shape, const uint32_t *in,
                        const uint32_t *filter, const uint32_t *out, struct nn_conv_element element,
                        struct nn_conv_image *ret)
{
    bool is_dense = shape->dilation_w == 1;
    struct nn_conv_image image = {
        .n = out[0], .c = in[3], .top = (size_t)shape->pad_top, .left = (size_t)shape->pad_left};
    size_t run;

    if (!find_reach(out[1], shape->stride_h, filter[1], shape->dilation_h, &image.h) ||
        !find_reach(out[2], shape->stride_w, filter[2], shape->dilation_w, &image.w) ||
        !nn_mul_size(filter[2], in[3], &run))
        return false;
    image.segments = (struct nn_gemm_segments){.n_rows = filter[1],
                                               .n_taps = is_dense ? 1 : filter[2],
                                               .n_elements = is_dense ? run : in[3],
                                               .tap_step = (size_t)shape->dilation_w * in[3]};
    image.is_staged = element.is_copied || image.top || image.left || image.h > in[1] ||
                      image.w > in[2] || image.segments.n_elements % element.group != 0;
    image.is_run = filter[1] == 1 && filter[2] == 1 && shape->stride_h == 1 &&
                   shape->stride_w == 1 && !image.top && !image.left && image.h == in[1] &&
                   image.w == in[2] && (element.is_copied || !image.is_staged);
    if (!image.is_staged) {
        image.h = in[1];
        image.w = in[2];
    }
    image.segments.row_step = (size_t)shape->dilation_h * image.w * image.c;
    if (!image_fits(&image, element.bytes))
        return false;
    *ret = image;
    return true;
}

bool nn_conv_has_dims(const struct nn_kernel_step *step, const struct nn_conv_shape *shape)
{
    const uint32_t *in = step->inputs[0].dims, *filter = step->inputs[1].dims;

    return step->n_inputs >= 7 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 &&
           nn_conv_is_dense(shape, in) && (shape->depth_multiplier || in[3] == filter[3]) &&
           step->outputs[0].dims[3] == nn_conv_columns(shape, filter) &&
           in[0] == step->outputs[0].dims[0] && nn_tensor_count(&step->inputs[1]) > 0 &&
           nn_tensor_count(&step->outputs[0]) > 0;
}

/* ---- staging ---- */

static void row_stage(const struct nn_conv_stage *stage, uint8_t *to, size_t row)
{
    const struct nn_conv_image *image = stage->image;
    size_t n_inside = nn_min_size(stage->in.w, image->w > image->left ? image->w - image->left : 0);
    size_t n_row = image->w * image->c, left = nn_min_size(image->left, image->w) * image->c;
    size_t inside = n_inside * image->c, y = row % image->h;
    const uint8_t *from;

    if (y < image->top || y - image->top >= stage->in.h) {
        memset(to, stage->fill, n_row * stage->bytes);
        return;
    }
    from = stage->input + (row / image->h * stage->in.h + y - image->top) * stage->in.w * image->c *
                              stage->input_bytes;
    memset(to, stage->fill, left * stage->bytes);
    to += left * stage->bytes;
    if (stage->copy)
        stage->copy(to, from, stage->zero, inside);
    else
        memcpy(to, from, inside * stage->bytes);
    memset(to + inside * stage->bytes, stage->fill, (n_row - left - inside) * stage->bytes);
}

bool nn_conv_window_bytes(const struct nn_conv_image *image, const struct nn_conv_shape *shape,
                          size_t out_h, size_t n_runs, size_t element_bytes, size_t *ret_bytes)
{
    size_t n_others = (out_h - nn_min_size(n_runs, out_h)) * (size_t)shape->stride_h;

    return nn_mul_size(image->h - n_others, image->w, ret_bytes) &&
           nn_mul_size(*ret_bytes, image->c, ret_bytes) &&
           nn_mul_size(*ret_bytes, element_bytes, ret_bytes) &&
           nn_add_size(*ret_bytes, NN_CONV_SLACK, ret_bytes);
}

void nn_conv_window_move(struct nn_conv_window *window, const struct nn_conv_stage *stage,
                         size_t first, size_t end)
{
    size_t row_bytes = stage->image->w * stage->image->c * stage->bytes, n_kept = 0;

    if (first >= window->first && first < window->end)
        n_kept = window->end - first;
    if (n_kept > 0 && first > window->first)
        memmove(window->rows, window->rows + (first - window->first) * row_bytes,
                n_kept * row_bytes);
    for (size_t row = first + n_kept; row < end; row++)
        row_stage(stage, window->rows + (row - first) * row_bytes, row);
    window->first = first;
    window->end = first + n_kept > end ? first + n_kept : end;
    /* What lies behind the last row, too, is not left to chance: the weights that it meets count
     * for nothing, but the sum of anything tells checkers of memory nothing either. */
    memset(window->rows + (window->end - first) * row_bytes, stage->fill, NN_CONV_SLACK);
}

/* ---- cutting ---- */

size_t nn_conv_runs_a_block(size_t out_w, size_t tile)
{
    size_t n = nn_min_size(NN_CONV_BLOCK / out_w, NN_CONV_TILES / ((out_w + tile - 1) / tile));

    return n ? n : 1;
}

/* Positions of a unit of a run that is the whole image. Each block reads all weights: many of them
 * are worth more positions. */
static size_t unit_size(const struct nn_conv_columns *columns, size_t n)
{
    size_t size = columns->weight_bytes > MANY_BYTES ? nn_min_size((n + 3) / 4, UNIT)
                                                     : columns->tile;

    return size < columns->tile ? columns->tile : size;
}

/* A thread that computes some columns of all positions writes what others read next: columns are
 * shared where there are few positions. A share has two panels at least: what each costs beside its
 * products is then a small part. */
static size_t count_shares(const struct nn_conv_cut *cut, const struct nn_conv_columns *columns)
{
    size_t n_blocks = cut->n_units / cut->units_an_image * cut->blocks_an_image;
    size_t n_panels = (columns->n + columns->panel - 1) / columns->panel;
    size_t n_positions = cut->run * cut->n_runs;

    if (n_positions > 1 && (columns->has_epilogue || n_positions >= ITEMS * cut->tile))
        return 1;
    return nn_min_size((ITEMS + n_blocks - 1) / n_blocks, (n_panels + 1) / 2);
}

struct nn_conv_cut nn_conv_cut(const struct nn_conv_image *image, const struct nn_conv_shape *shape,
                               const struct nn_conv_sizes *out,
                               const struct nn_conv_columns *columns)
{
    size_t n = out->n * out->h * out->w, size;
    struct nn_conv_cut cut = {.run = image->is_run ? n : out->w,
                              .n_columns = columns->n,
                              .panel = columns->panel,
                              .stride = (size_t)shape->stride_w * image->c,
                              .tile = columns->tile};

    cut.n_runs = n / cut.run;
    size = image->is_run ? unit_size(columns, n) : NN_CONV_BLOCK;
    cut.parts = (cut.run + size - 1) / size;
    cut.n_units = cut.n_runs * cut.parts;
    cut.units_a_block = image->is_run ? NN_CONV_BLOCK / size : 1;
    if (!image->is_run && cut.parts == 1)
        cut.units_a_block = nn_conv_runs_a_block(cut.run, cut.tile);
    cut.units_an_image = image->is_run ? cut.n_units : out->h * cut.parts;
    cut.blocks_an_image = (cut.units_an_image + cut.units_a_block - 1) / cut.units_a_block;
    cut.n_shares = count_shares(&cut, columns);
    cut.n_items = cut.n_units;
    if (cut.n_shares > 1)
        cut.n_items = cut.n_units / cut.units_an_image * cut.blocks_an_image * cut.n_shares;
    return cut;
}

/* n positions into tiles of equal height: 49 of them are 10, 10, 10, 10 and 9, not four times 12
 * and one. */
static void cut_tiles(const struct nn_conv_cut *cut, size_t element, size_t position, size_t n,
                      struct nn_conv_block *block)
{
    size_t n_tiles = (n + cut->tile - 1) / cut->tile;

    for (size_t i = 0; i < n_tiles; i++) {
        size_t height = (n + n_tiles - 1 - i) / n_tiles;

        block->tiles[block->n_tiles++] = (struct nn_conv_tile){element, position, height};
        element += height * cut->stride;
        position += height;
    }
}

/* n units from unit first on: parts of one run, or whole runs of one image. */
static void find_block(const struct nn_conv_cut *cut, const struct nn_conv_image *image,
                       const struct nn_conv_shape *shape, size_t first, size_t n,
                       struct nn_conv_block *block)
{
    size_t run = first / cut->parts, part = first % cut->parts;
    size_t stop = (first + n - 1) / cut->parts, last = (first + n - 1) % cut->parts;
    size_t begin = cut->run * part / cut->parts, end = cut->run * (last + 1) / cut->parts;
    size_t row_elements = image->w * image->c, row_step = (size_t)shape->stride_h * row_elements;

    *block = (struct nn_conv_block){.first = run * cut->run + begin,
                                    .end = stop * cut->run + end,
                                    .unit = first,
                                    .n_units = n,
                                    .is_new = true};
    block->first_row = first / cut->units_an_image * image->h +
                       first % cut->units_an_image / cut->parts * (size_t)shape->stride_h;
    block->end_row = block->first_row + (stop - run) * (size_t)shape->stride_h + 1 +
                     (image->segments.n_rows - 1) * (size_t)shape->dilation_h;
    for (size_t i = run; i <= stop; i++)
        cut_tiles(cut, (i - run) * row_step + begin * cut->stride, i * cut->run + begin,
                  end - begin, block);
}

/* The first unit of an item that is a share of a block. */
static size_t block_unit(const struct nn_conv_cut *cut, size_t item)
{
    size_t b = item / cut->n_shares;

    return b / cut->blocks_an_image * cut->units_an_image +
           b % cut->blocks_an_image * cut->units_a_block;
}

/* A block does not reach into the next image. */
size_t nn_conv_next(const struct nn_conv_cut *cut, const struct nn_conv_image *image,
                    const struct nn_conv_shape *shape, size_t item, size_t end,
                    struct nn_conv_block *block)
{
    size_t n_panels = (cut->n_columns + cut->panel - 1) / cut->panel, share = item % cut->n_shares;
    bool is_shared = cut->n_shares > 1;
    size_t unit = is_shared ? block_unit(cut, item) : item;
    size_t n = nn_min_size(cut->units_an_image - unit % cut->units_an_image, cut->units_a_block);

    if (!is_shared)
        n = nn_min_size(n, end - item);
    block->is_new = false;
    if (block->n_units != n || block->unit != unit)
        find_block(cut, image, shape, unit, n, block);
    block->first_column = share * n_panels / cut->n_shares * cut->panel;
    block->end_column = nn_min_size((share + 1) * n_panels / cut->n_shares * cut->panel,
                                    cut->n_columns);
    return is_shared ? item + 1 : item + n;
}
