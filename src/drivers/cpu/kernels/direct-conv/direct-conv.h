/* SPDX-License-Identifier: Apache-2.0 */
/* direct-conv.h - which taps of a filter meet which cells, forwards and transposed
 *
 * GROUPED_CONV_2D and TRANSPOSE_CONV_2D compute each output pixel from the taps
 * that meet the image: along one axis these are an arithmetic sequence of taps
 * and one of cells. A convolution's cells go up with its taps by the dilation; a
 * transposed one's taps go up by the stride while cells go down by one. */
#ifndef NN_CPU_KERNELS_DIRECT_CONV_H
#define NN_CPU_KERNELS_DIRECT_CONV_H

#include "drivers/cpu/kernels/common/window.h"

/* The t-th of n pairs is tap + t * tap_step and cell + t * cell_step. */
struct nn_taps {
    size_t n;
    size_t tap, tap_step;
    int64_t cell, cell_step;
};

/* A pixel's in both directions, and which image of the batch it is in. */
struct nn_pixel_taps {
    struct nn_taps ys, xs;
    size_t image;
};

/* nn_direct_taps() - of a convolution's output position at, along one axis. */
static inline struct nn_taps nn_direct_taps(const struct nn_window *window, size_t at)
{
    int64_t begin, end;
    int64_t first = nn_window_clip(window, at, &begin, &end);

    return (struct nn_taps){.n = end > begin ? (size_t)(end - begin) : 0,
                            .tap = (size_t)begin,
                            .tap_step = 1,
                            .cell = first + begin * window->dilation,
                            .cell_step = window->dilation};
}

/* nn_transpose_taps() - of a transposed convolution's: at + head = tap + cell * stride. */
static inline struct nn_taps nn_transpose_taps(const struct nn_window *window, size_t at)
{
    int64_t place = (int64_t)at + window->head, stride = window->stride;
    int64_t tap = place % stride, cell = place / stride;
    int64_t last_cell = (int64_t)window->input - 1, filter = window->filter;
    int64_t n;

    if (cell > last_cell) {
        tap += (cell - last_cell) * stride;
        cell = last_cell;
    }
    n = tap < filter ? (filter - tap + stride - 1) / stride : 0;
    return (struct nn_taps){.n = (size_t)(n < cell + 1 ? n : cell + 1),
                            .tap = (size_t)tap,
                            .tap_step = (size_t)stride,
                            .cell = cell,
                            .cell_step = -1};
}

/* nn_direct_out_at() - where the element for a pixel and channel of the result lies; a row is one of
 * those of all images. */
static inline size_t nn_direct_out_at(const struct nn_window_2d *window, size_t row, size_t x,
                                      size_t channel)
{
    size_t y = row % window->out_height, image = row / window->out_height;

    if (window->is_nchw)
        return ((image * window->out_depth + channel) * window->out_height + y) *
                   window->out_width +
               x;
    return (row * window->out_width + x) * window->out_depth + channel;
}

#endif
