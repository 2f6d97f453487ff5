/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - the windows of a CONV_2D where they lie, and how its positions are cut into tiles
 *
 * Windows are read in place: a row of the filter is one run of elements, at the same distance from
 * the next row for every position. The image is the input itself where no window leaves it and no
 * vector reads beyond its end; else it is staged in scratch, with zero points around it.
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
    bool is_run;       /* windows are single cells that follow each other, as the input's do */
    bool is_staged;    /* it is not the input itself */
    size_t bytes;      /* of the staged image with slack, if it is staged */
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
    uint8_t *staged;
    size_t input_bytes, bytes; /* of an element, there and here */
    uint8_t fill, zero; /* each byte outside of the input; the zero point that copy() takes */
    void (*copy)(void *to, const void *from, uint8_t zero, size_t n); /* NULL: as they are */
};

/* nn_conv_stage_rows() - for nn_parallel_for(): rows of the image, those of all batches numbered
 * through. ctx is a struct nn_conv_stage. */
void nn_conv_stage_rows(void *ctx, size_t begin, size_t end, unsigned worker);

/* nn_conv_image_f32() - an image of floats: the input itself, or staged in the step's scratch. */
const float *nn_conv_image_f32(const struct nn_kernel_args *args,
                               const struct nn_conv_image *image);

/* How output positions are cut: runs of positions whose windows are equally far apart, and blocks
 * that are parts of a run, or several runs. */
struct nn_conv_blocks {
    size_t run, n_runs; /* positions of a run, and how many there are */
    size_t parts, runs_a_block;
    size_t n;      /* blocks */
    size_t stride; /* elements between windows of a run */
    size_t tile;   /* positions of a tile, at most */
};

struct nn_conv_blocks nn_conv_cut(const struct nn_conv_image *image,
                                  const struct nn_conv_shape *shape,
                                  const struct nn_conv_sizes *out, size_t tile, bool by_columns);

/* nn_conv_by_columns() - whether panels of columns are enough for threads to share, and may be:
 * epilogues take whole blocks. */
bool nn_conv_by_columns(size_t n_columns, size_t panel, bool has_epilogue);

/* The columns of a block are computed in shares, so that there is something for each thread where
 * there are few blocks. */
struct nn_conv_shares {
    size_t n; /* of each block */
    size_t n_columns, panel;
};

/* nn_conv_share() - how blocks are shared, of n_columns in panels of some columns. With an
 * epilogue, which takes ranges of elements, only a single position is shared. */
struct nn_conv_shares nn_conv_share(const struct nn_conv_blocks *blocks, size_t n_columns,
                                    size_t panel, bool has_epilogue);

/* nn_conv_share_begin() - the first column of a share; of share n: the columns' number. */
size_t nn_conv_share_begin(const struct nn_conv_shares *shares, size_t share);

/* The windows of n_rows positions: the first begins at this element of the image. */
struct nn_conv_tile {
    size_t element, position, n_rows;
};

/* Block b: its tiles, at most NN_CONV_TILES, and positions [first, end) of the output. */
struct nn_conv_block {
    struct nn_conv_tile tiles[NN_CONV_TILES];
    size_t n_tiles, first, end;
};

void nn_conv_block(const struct nn_conv_blocks *blocks, const struct nn_conv_image *image,
                   const struct nn_conv_shape *shape, size_t b, struct nn_conv_block *ret);

#endif
