/* SPDX-License-Identifier: Apache-2.0 */
/* geometry.h - padding, windows, axes and broadcasting
 *
 * The arithmetic that operations share, on plain numbers, so that inference
 * and kernels cannot disagree. Everything is computed in 64 bits. */
#ifndef NN_MODEL_GEOMETRY_H
#define NN_MODEL_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NN_PADDING_SAME = 1,
    NN_PADDING_VALID = 2,
};

/* One axis of a sliding window. */
struct nn_window {
    uint32_t input;
    uint32_t filter;
    int32_t stride;
    int32_t dilation;
    int32_t head; /* cells of padding before and after */
    int32_t tail;
};

/* nn_window_set_implicit() - head and tail for a padding code: 1 is SAME, any other VALID.
 * Returns: false if stride, dilation or filter are not above 0 or padding does not fit. */
bool nn_window_set_implicit(struct nn_window *window, int32_t padding_code);

/* nn_window_output() - number of positions.
 * Returns: NULL with *ret_output above 0, or what is wrong: "the stride is not above 0". */
const char *nn_window_output(const struct nn_window *window, uint32_t *ret_output);

/* nn_transpose_window_output() - output size of a transposed convolution with
 * explicit padding. Returns: NULL, or what is wrong. */
const char *nn_transpose_window_output(const struct nn_window *window, uint32_t *ret_output);

/* nn_transpose_window_set_implicit() - head and tail for a padding code and a
 * wanted output size; tail may be negative. Returns: false as above. */
bool nn_transpose_window_set_implicit(struct nn_window *window, int32_t padding_code,
                                      int32_t wanted_output);

/* nn_axis_resolve() - makes an axis of [-rank, rank) non-negative. Returns: false outside. */
bool nn_axis_resolve(int32_t axis, uint32_t rank, uint32_t *ret);

/* nn_broadcast_dims() - the common shape of two; ret has room for the larger rank.
 * A dimension 1 stretches, also to 0. Returns: false if they do not agree. */
bool nn_broadcast_dims(uint32_t n_a, const uint32_t *a, uint32_t n_b, const uint32_t *b,
                       uint32_t *ret_n, uint32_t *ret);

#endif
