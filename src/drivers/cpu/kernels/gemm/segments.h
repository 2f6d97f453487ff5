/* SPDX-License-Identifier: Apache-2.0 */
/* segments.h - where the elements of a window lie
 *
 * A row of a matrix product is a window of an image: n_rows times n_taps segments of n_elements
 * elements each, in this order, at the same distances for every window. A 1x1 filter has one. */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_SEGMENTS_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    NN_GEMM_LONG = 1 << 17, /* a sum of more products is made in parts, with looks between them */
    NN_GEMM_PART = 1024,    /* products of a part, at most */
    NN_GEMM_TILES = 1 << 19 /* products of each column of the tiles between two looks, about */
};

struct nn_gemm_segments {
    size_t n_rows, n_taps, n_elements;
    size_t row_step, tap_step; /* elements */
};

/* A part of a window: some of its rows, some taps of a row or some elements of a tap; zero before the
 * first. */
struct nn_gemm_part {
    struct nn_gemm_segments segments;
    size_t first;   /* elements of the window before it */
    size_t element; /* where it begins, from the window's beginning */
};

/* nn_gemm_segments_count() - the elements of a window. */
static inline size_t nn_gemm_segments_count(const struct nn_gemm_segments *segments)
{
    return segments->n_rows * segments->n_taps * segments->n_elements;
}

/* nn_gemm_next_part() - the part behind part. Returns: false at the end. */
static inline bool nn_gemm_next_part(const struct nn_gemm_segments *all, struct nn_gemm_part *part)
{
    size_t tap = all->n_elements, row = all->n_taps * tap, y, x, i;

    part->first += nn_gemm_segments_count(&part->segments);
    if (part->first >= all->n_rows * row)
        return false;
    y = part->first / row;
    x = part->first % row / tap;
    i = part->first % tap;
    part->element = y * all->row_step + x * all->tap_step + i;
    part->segments = *all;
    if (row <= NN_GEMM_PART) {
        part->segments.n_rows = NN_GEMM_PART / row < all->n_rows - y ? NN_GEMM_PART / row
                                                                     : all->n_rows - y;
        return true;
    }
    part->segments.n_rows = 1;
    if (tap <= NN_GEMM_PART) {
        part->segments.n_taps = NN_GEMM_PART / tap < all->n_taps - x ? NN_GEMM_PART / tap
                                                                     : all->n_taps - x;
        return true;
    }
    part->segments.n_taps = 1;
    part->segments.n_elements = NN_GEMM_PART < tap - i ? NN_GEMM_PART : tap - i;
    return true;
}

#endif
