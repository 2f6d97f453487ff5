/* SPDX-License-Identifier: Apache-2.0 */
/* plane-layout.h - how the pixels of a hardware buffer lie in its bytes
 *
 * A layout is a struct nnhal_hardware_buffer with its planes: made here for a
 * new buffer, or come from another process and judged here against the
 * descriptor that it speaks of, before anything believes it. What is judged is
 * memory safety: every row of every plane of every layer lies in the file. Two
 * planes may overlap; that spoils nothing but the picture.
 *
 * With a modifier other than 0 the order of the pixels is the business of
 * its maker: only the size is checked, and no CPU reads it.
 * Pure functions; any thread. */
#ifndef NN_SHM_PLANE_LAYOUT_H
#define NN_SHM_PLANE_LAYOUT_H

#include <nnhal/types.h>

#include <stdbool.h>

enum {
    NN_PLANE_LAYOUT_E_INVALID = 1, /* contradicts itself, or the descriptor */
    NN_PLANE_LAYOUT_E_UNSUPPORTED =
        2, /* well-formed, but not a format or usage that is made here */
};

/* A layout that owns its planes. Not to be moved: buffer.planes points into it. */
struct nn_plane_layout {
    struct nnhal_hardware_buffer buffer;
    struct nnhal_buffer_plane planes[NNHAL_MAX_PLANES];
};

/* nn_plane_layout_init() - for a new buffer: format, width, height, layers and usage of
 * like decide the rest. Rows are tight if only CPU, sensors and GPU data are
 * among the usages, else they begin at multiples of 64 bytes.
 * Returns: 0, NN_PLANE_LAYOUT_E_INVALID, NN_PLANE_LAYOUT_E_UNSUPPORTED. */
int nn_plane_layout_init(const struct nnhal_hardware_buffer *like,
                         struct nn_plane_layout *ret_layout);

/* nn_plane_layout_copy() - of a buffer with at most NNHAL_MAX_PLANES planes. */
void nn_plane_layout_copy(const struct nnhal_hardware_buffer *buffer,
                          struct nn_plane_layout *ret_layout);

/* nn_plane_layout_check() - whether buffer may be what a descriptor of file_size bytes
 * holds. Returns: 0, NN_PLANE_LAYOUT_E_INVALID. */
int nn_plane_layout_check(const struct nnhal_hardware_buffer *buffer, uint64_t file_size);

/* nn_plane_layout_is_linear() - rows of pixels, which a CPU can read. */
bool nn_plane_layout_is_linear(const struct nnhal_hardware_buffer *buffer);

/* nn_plane_layout_find_packed() - where the pixels lie one after the other, with nothing in
 * between, as a tensor's elements do. buffer is judged, or made here.
 * Returns: false if there is something in between, or no CPU reads it. */
bool nn_plane_layout_find_packed(const struct nnhal_hardware_buffer *buffer, uint64_t *ret_offset,
                                 uint64_t *ret_bytes);

/* nn_plane_layout_find_dense() - how many bytes the pixels have without what lies between rows and
 * between planes: one row after the other, in the order in which they lie there, so that a buffer
 * with gaps gives the bytes that it would have without. buffer is judged, or made here.
 * Returns: false if there are gaps within rows, rows of two planes take turns, or no CPU reads it. */
bool nn_plane_layout_find_dense(const struct nnhal_hardware_buffer *buffer, uint64_t *ret_bytes);

/* nn_plane_layout_gather() - copies these bytes, which there must be, out of a buffer that lies at
 * pixels. nn_plane_layout_spread() - and back; what lies between rows stays as it is. */
void nn_plane_layout_gather(const struct nnhal_hardware_buffer *buffer, const void *pixels,
                            void *dense);
void nn_plane_layout_spread(const struct nnhal_hardware_buffer *buffer, const void *dense,
                            void *pixels);

#endif
