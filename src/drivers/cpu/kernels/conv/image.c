/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/conv/image.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <string.h>

enum { ITEMS = 16 }; /* blocks times shares: several for each of a few threads */

/* ---- geometry ---- */

/* What n positions reach: stride * (n - 1) + dilation * (taps - 1) + 1. */
static bool find_reach(uint32_t n, int32_t stride, uint32_t taps, int32_t dilation, size_t *ret)
{
    size_t windows, filter;

    return nn_mul_size(n - 1, (size_t)stride, &windows) &&
           nn_mul_size(taps - 1, (size_t)dilation, &filter) && nn_add_size(windows, filter, ret) &&
           nn_add_size(*ret, 1, ret);
}

static bool find_bytes(struct nn_conv_image *image, size_t element_bytes)
{
    return nn_mul_size(image->n, image->h, &image->bytes) &&
           nn_mul_size(image->bytes, image->w, &image->bytes) &&
           nn_mul_size(image->bytes, image->c, &image->bytes) &&
           nn_mul_size(image->bytes, element_bytes, &image->bytes) &&
           nn_add_size(image->bytes, NN_CONV_SLACK, &image->bytes);
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
                   image.w == in[2];
    if (!image.is_staged) {
        image.h = in[1];
        image.w = in[2];
    }
    image.segments.row_step = (size_t)shape->dilation_h * image.w * image.c;
    if (!find_bytes(&image, element.bytes))
        return false;
    image.bytes = image.is_staged ? image.bytes : 0;
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

/* What lies behind the last row, too, is not left to chance: the weights that it meets count for
 * nothing, but the sum of anything tells checkers of memory nothing either. */
static void slack_fill(const struct nn_conv_stage *stage)
{
    memset(stage->staged + stage->image->bytes - NN_CONV_SLACK, stage->fill, NN_CONV_SLACK);
}

void nn_conv_stage_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_conv_stage *stage = ctx;
    const struct nn_conv_image *image = stage->image;
    size_t n_inside = nn_min_size(stage->in.w, image->w > image->left ? image->w - image->left : 0);
    size_t n_row = image->w * image->c, left = nn_min_size(image->left, image->w) * image->c;
    size_t inside = n_inside * image->c;

    (void)worker;
    if (end == image->n * image->h)
        slack_fill(stage);
    for (size_t row = begin; row < end; row++) {
        uint8_t *to = stage->staged + row * n_row * stage->bytes;
        size_t y = row % image->h;
        const uint8_t *from;

        if (y < image->top || y - image->top >= stage->in.h) {
            memset(to, stage->fill, n_row * stage->bytes);
            continue;
        }
        from = stage->input + (row / image->h * stage->in.h + y - image->top) * stage->in.w *
                                  image->c * stage->input_bytes;
        memset(to, stage->fill, left * stage->bytes);
        to += left * stage->bytes;
        if (stage->copy)
            stage->copy(to, from, stage->zero, inside);
        else
            memcpy(to, from, inside * stage->bytes);
        memset(to + inside * stage->bytes, stage->fill, (n_row - left - inside) * stage->bytes);
    }
}

const float *nn_conv_image_f32(const struct nn_kernel_args *args, const struct nn_conv_image *image)
{
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    struct nn_conv_stage stage = {.image = image,
                                  .in = nn_conv_sizes(input->dims, false),
                                  .input = input->data,
                                  .staged = args->scratch,
                                  .input_bytes = sizeof(float),
                                  .bytes = sizeof(float)};

    if (!image->is_staged)
        return input->data;
    nn_parallel_for(args, image->n * image->h, 1 + image->w * image->c / 2, nn_conv_stage_rows,
                    &stage);
    return (const float *)(const void *)args->scratch;
}

/* ---- cutting ---- */

/* Blocks of at most NN_CONV_BLOCK positions, and several of them where there are enough to share.
 * Each block reads all weights: one is enough where columns can be shared. */
struct nn_conv_blocks nn_conv_cut(const struct nn_conv_image *image,
                                  const struct nn_conv_shape *shape,
                                  const struct nn_conv_sizes *out, size_t tile, bool by_columns)
{
    size_t n = out->n * out->h * out->w, size = by_columns ? n : (n + 3) / 4;
    struct nn_conv_blocks blocks = {.run = image->is_run ? n : out->w,
                                    .runs_a_block = 1,
                                    .stride = (size_t)shape->stride_w * image->c,
                                    .tile = tile};

    size = size < tile ? tile : nn_min_size(size, NN_CONV_BLOCK);
    blocks.n_runs = n / blocks.run;
    blocks.parts = (blocks.run + size - 1) / size;
    if (blocks.parts == 1)
        blocks.runs_a_block = nn_min_size(size / blocks.run,
                                          NN_CONV_TILES / ((blocks.run + tile - 1) / tile));
    blocks.n = (blocks.n_runs + blocks.runs_a_block - 1) / blocks.runs_a_block * blocks.parts;
    return blocks;
}

bool nn_conv_by_columns(size_t n_columns, size_t panel, bool has_epilogue)
{
    return !has_epilogue && n_columns >= ITEMS * panel / 2;
}

/* A share has two panels at least: what each costs beside its products is then a small part. */
struct nn_conv_shares nn_conv_share(const struct nn_conv_blocks *blocks, size_t n_columns,
                                    size_t panel, bool has_epilogue)
{
    size_t n_panels = (n_columns + panel - 1) / panel, n = (ITEMS + blocks->n - 1) / blocks->n;

    if (has_epilogue && blocks->run * blocks->n_runs > 1)
        n = 1;
    n = nn_min_size(n, (n_panels + 1) / 2);
    return (struct nn_conv_shares){n, n_columns, panel};
}

size_t nn_conv_share_begin(const struct nn_conv_shares *shares, size_t share)
{
    size_t n_panels = (shares->n_columns + shares->panel - 1) / shares->panel;

    return nn_min_size(share * n_panels / shares->n * shares->panel, shares->n_columns);
}

/* Where the first window of a run begins. */
static size_t run_element(const struct nn_conv_blocks *blocks, const struct nn_conv_image *image,
                          const struct nn_conv_shape *shape, size_t run)
{
    size_t out_h = image->is_run ? blocks->n_runs : blocks->n_runs / image->n;

    return (run / out_h * image->h + run % out_h * (size_t)shape->stride_h) * image->w * image->c;
}

/* n positions into tiles of equal height: 49 of them are 10, 10, 10, 10 and 9, not four times 12
 * and one. */
static void cut_tiles(const struct nn_conv_blocks *blocks, size_t element, size_t position,
                      size_t n, struct nn_conv_block *block)
{
    size_t n_tiles = (n + blocks->tile - 1) / blocks->tile;

    for (size_t i = 0; i < n_tiles; i++) {
        size_t height = (n + n_tiles - 1 - i) / n_tiles;

        block->tiles[block->n_tiles++] = (struct nn_conv_tile){element, position, height};
        element += height * blocks->stride;
        position += height;
    }
}

void nn_conv_block(const struct nn_conv_blocks *blocks, const struct nn_conv_image *image,
                   const struct nn_conv_shape *shape, size_t b, struct nn_conv_block *ret)
{
    size_t run = b / blocks->parts * blocks->runs_a_block;
    size_t stop = nn_min_size(run + blocks->runs_a_block, blocks->n_runs);
    size_t first = blocks->run * (b % blocks->parts) / blocks->parts;
    size_t end = blocks->run * (b % blocks->parts + 1) / blocks->parts;

    ret->n_tiles = 0;
    ret->first = run * blocks->run + first;
    ret->end = (stop - 1) * blocks->run + end;
    for (; run < stop; run++)
        cut_tiles(blocks, run_element(blocks, image, shape, run) + first * blocks->stride,
                  run * blocks->run + first, end - first, ret);
}
