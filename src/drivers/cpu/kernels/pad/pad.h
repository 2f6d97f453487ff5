/* SPDX-License-Identifier: Apache-2.0 */
/* pad.h - a tensor with a margin around it
 *
 * The margin holds one value (PAD, PAD_V2, and the border that
 * SPACE_TO_BATCH_ND puts around an image) or a reflection of the tensor
 * (MIRROR_PAD). The first is written row by row of the last dimension, by all
 * threads. The second goes through the output once, from the outermost dimension
 * inwards: a mirrored slab is copied from the output itself, where it already
 * has its inner margins. */
#ifndef NN_CPU_PAD_PAD_H
#define NN_CPU_PAD_PAD_H

#include <nnhal/types.h>

#include <stddef.h>
#include <stdint.h>

struct nn_kernel_args;
struct nn_pace;

struct nn_pad {
    size_t rank;
    size_t element_bytes;
    size_t dims[NNHAL_MAX_RANK];   /* of the input */
    size_t before[NNHAL_MAX_RANK]; /* elements of margin in front, and behind */
    size_t after[NNHAL_MAX_RANK];
    size_t steps[NNHAL_MAX_RANK]; /* set by nn_pad_finish(): bytes of one slab of the output */
    struct nn_pace *pace;         /* of nn_pad_mirror(): what is left when it ends is not written */
};

/* nn_pad_finish() - computes the steps, and merges neighboring dimensions that have no margin. */
void nn_pad_finish(struct nn_pad *pad);

/* nn_pad_value() - the margin holds value, element_bytes (as before nn_pad_finish()) long. */
void nn_pad_value(const struct nn_kernel_args *args, const struct nn_pad *pad, const void *value,
                  size_t value_bytes, const void *in, void *out);

/* nn_pad_mirror() - the margin holds the reflection. edge 0: the outermost
 * element is repeated (SYMMETRIC); 1: it is not (REFLECT). A margin is at most
 * as wide as the tensor, less edge. */
void nn_pad_mirror(const struct nn_pad *pad, size_t edge, const void *in, void *out);

/* nn_fill() - n copies of a value of value_bytes. */
void nn_fill(void *out, size_t n, const void *value, size_t value_bytes);

#endif
