/* SPDX-License-Identifier: Apache-2.0 */
/* strided.h - one loop nest that moves elements
 *
 * Transposing, slicing, reversing, tiling, shuffling and the conversions
 * between space, depth and batch are all the same thing: the output is written
 * from its first element to its last by nested loops, and each loop says how
 * far the input's position goes per round. So there is one place that is fast:
 * loops of one round are dropped, neighbors that together are one longer loop
 * are merged, contiguous ends become memcpy, and what remains is walked in
 * blocks that stay in the cache.
 *
 * The description is plain data without pointers and is the parameter block of
 * these kernels. nn_strided_fits() shows that it stays inside two tensors. */
#ifndef NN_CPU_SHAPE_STRIDED_H
#define NN_CPU_SHAPE_STRIDED_H

#include <nnhal/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nn_pace;

#define NN_STRIDED_MAX_LOOPS (2 * NNHAL_MAX_RANK)

/* Loops from the outermost to the innermost; steps are in elements. */
struct nn_strided {
    uint32_t n_loops;
    uint32_t element_bytes;
    int64_t in_first; /* the input's element that the first output element is */
    uint32_t n[NN_STRIDED_MAX_LOOPS];
    int64_t in_steps[NN_STRIDED_MAX_LOOPS]; /* negative: backwards; 0: again */
};

/* nn_strided_init() - a copy of one element. */
void nn_strided_init(struct nn_strided *strided, uint32_t element_bytes);

/* nn_strided_add() - adds a loop inside those that are there, or joins it to the last one. */
void nn_strided_add(struct nn_strided *strided, uint32_t n, int64_t in_step);

/* nn_strided_fits() - whether the loops are well formed, fill exactly
 * out_bytes, and stay inside in_bytes. */
bool nn_strided_fits(const struct nn_strided *strided, uint64_t in_bytes, uint64_t out_bytes);

/* nn_strided_rounds() - rounds of the outermost loop, for splitting the work. */
size_t nn_strided_rounds(const struct nn_strided *strided);

/* nn_strided_copy() - runs rounds [begin, end) of the outermost loop. in and
 * out are the tensors' beginnings and do not overlap. If the pace ends, some is left out. */
void nn_strided_copy(const struct nn_strided *strided, size_t begin, size_t end, const void *in,
                     void *out, struct nn_pace *pace);

#endif
