/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - the windows of a CONV_2D where they lie, and how its positions are cut into tiles
 *
 * Windows are read in place: a row of the filter is one run of elements, at the same distance from
 * the next row for every position. The image is the input itself where no window leaves it and no
 * vector reads beyond its end; else each worker stages the rows that it reads in its scratch, with zero
 * points around them, while they are in the nearest cache: no thread waits for another's rows, or
 * fetches them from its CPU.
 *
 * For data in [N,H,W,C]. Nothing here depends on the instruction set. */
#ifndef NN_DRIVERS_CPU_KERNELS_CONV_IMAGE_H
#define NN_DRIVERS_CPU_KERNELS_CONV_IMAGE_H

#include "drivers/cpu/kernels/conv/conv.h"
#include "drivers/cpu/kernels/gemm/segments.h"

enum {
    NN_CONV_BLOCK = 96, /* positions that share a panel of weights while it is in the cache */
    NN_CONV_TILES = 32, /* of a block, at most */
    NN_CONV_SLACK = 64, /* bytes that vectors may read behind the last element */
};

/* An element of the image. */
struct nn_conv_element {
    size_t bytes;
    size_t group;   /* how many a kernel reads at once: beyond a segment's end, too */
    bool is_copied; /* it is not the input's: every image is staged */
};

struct nn_conv_image {
    size_t n, h, w, c; /* of the image */
    size_t top, left;  /* where the input begins in it */
    bool is_run;       /* windows are single cells of the input, one behind the other */
    bool is_staged;    /* it is not the input itself */
    struct nn_gemm_segments segments;
};

/* nn_conv_find_image() - of a convolution whose filter and output are not empty.
 * Returns: false if it does not fit a size. */
bool nn_conv_find_image(const struct nn_conv_shape *shape, const uint32_t *in,
                        const uint32_t *filter, const uint32_t *out, struct nn_conv_element element,
                        struct nn_conv_image *ret);

/* nn_conv_has_image() - whether shape, which may come from a damaged cache, can have one. */
static inline bool nn_conv_has_image(const struct nn_conv_shape *shape)
{
    return shape->is_nchw == 0 && shape->pad_top >= 0 && shape->pad_left >= 0 &&
           shape->stride_h >= 1 && shape->stride_w >= 1 && shape->dilation_h >= 1 &&
           shape->dilation_w >= 1;
}

/* nn_conv_columns() - filters. DEPTHWISE_CONV_2D of one channel is a CONV_2D whose filter is
 * transposed: [1,fH,fW,columns]. */
static inline size_t nn_conv_columns(const struct nn_conv_shape *shape, const uint32_t *filter)
{
    return filter[shape->depth_multiplier ? 3 : 0];
}

/* nn_conv_is_dense() - whether each result comes from all channels: always with CONV_2D. */
static inline bool nn_conv_is_dense(const struct nn_conv_shape *shape, const uint32_t *in)
{
    return shape->depth_multiplier == 0 || in[3] == 1;
}

/* nn_conv_has_dims() - whether the step's tensors have the ranks and dimensions of a convolution of
 * this shape that is dense and not empty. */
bool nn_conv_has_dims(const struct nn_kernel_step *step, const struct nn_conv_shape *shape);

/* What staging takes. copy() brings n elements of the input to the image. */
struct nn_conv_stage {
    const struct nn_conv_image *image;
    struct nn_conv_sizes in;
    const uint8_t *input;
    size_t input_bytes, bytes; /* of an element, there and here */
    uint8_t fill, zero; /* each byte outside of the input; the zero point that copy() takes */
    void (*copy)(void *to, const void *from, uint8_t zero, size_t n); /* NULL: as they are */
};

/* Rows [first, end) of the image, those of all batches numbered through, as a worker has them in its
 * scratch. */
struct nn_conv_window {
    uint8_t *rows; /* and NN_CONV_SLACK bytes */
    size_t first, end;
};

/* nn_conv_window_bytes() - for the rows that n_runs rows of the output read, or all of its out_h.
 * Returns: false if it does not fit a size. */
bool nn_conv_window_bytes(const struct nn_conv_image *image, const struct nn_conv_shape *shape,
                          size_t out_h, size_t n_runs, size_t element_bytes, size_t *ret_bytes);

/* nn_conv_window_move() - to rows [first, end): what is there already is kept. A window that is new
 * has no rows. */
void nn_conv_window_move(struct nn_conv_window *window, const struct nn_conv_stage *stage,
                         size_t first, size_t end);

/* How the work is cut. A run is positions whose windows are equally far apart. A unit is the smallest
 * part that threads share: a part of a run. Units that follow each other are one block, as far as
 * a panel of weights serves them while it is in the cache. Where there are few blocks their columns
 * are computed in shares. An item, for nn_parallel_for(), is a unit, or a share of a block. */
struct nn_conv_cut {
    size_t run, n_runs;
    size_t parts; /* of a run */
    size_t n_units, units_an_image, units_a_block, blocks_an_image;
    size_t n_shares, n_columns, panel;
    size_t n_items;
    size_t stride; /* elements between windows of a run */
    size_t tile;   /* positions of a tile, at most */
};

/* What is computed: columns in panels, from so many bytes of weights, in tiles of some positions.
 * Epilogues take ranges of elements: with one only a single position is shared by columns. */
struct nn_conv_columns {
    size_t n, panel, weight_bytes, tile;
    bool has_epilogue;
};

struct nn_conv_cut nn_conv_cut(const struct nn_conv_image *image, const struct nn_conv_shape *shape,
                               const struct nn_conv_sizes *out,
                               const struct nn_conv_columns *columns);

/* nn_conv_runs_a_block() - rows of the output that a block has, at most: they are out_w long. */
size_t nn_conv_runs_a_block(size_t out_w, size_t tile);

/* The windows of n_rows positions: the first begins at this element of the block's rows. */
struct nn_conv_tile {
    size_t element, position, n_rows;
};

/* Units that are computed together, and columns. Zeroed before the first one. */
struct nn_conv_block {
    struct nn_conv_tile tiles[NN_CONV_TILES];
    size_t n_tiles, first, end; /* positions [first, end) */
    size_t first_row, end_row;  /* of the image, that they read */
    size_t unit, n_units;
    size_t first_column, end_column;
    bool is_new; /* other units than those of the block before */
};

/* nn_conv_next() - the block that begins with this item, and ends before item end.
 * Returns: the item behind it. */
size_t nn_conv_next(const struct nn_conv_cut *cut, const struct nn_conv_image *image,
                    const struct nn_conv_shape *shape, size_t item, size_t end,
                    struct nn_conv_block *block);

#endif
