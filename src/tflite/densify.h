/* SPDX-License-Identifier: Apache-2.0 */
/* densify.h - the elements of a sparse constant, at their places
 *
 * A sparse tensor is stored level by level, in an order of its own. A level is a dimension of the
 * tensor, or the inside of a block: a dimension that is cut into blocks has two levels, the number
 * of the block and the place within it. A dense level has all its indices; a sparse one lists those
 * that are there, a segment of the list for each place of the level before. Values follow each other as the last
 * level is walked through; what is not listed is 0. */
#ifndef NN_TFLITE_DENSIFY_H
#define NN_TFLITE_DENSIFY_H

#include "tflite/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TFL_MAX_LEVELS = 2 * TFL_MAX_RANK };

struct tfl_level {
    uint32_t dimension; /* of the tensor */
    uint32_t stride;    /* what its index counts in that dimension: the block's size, or 1 */
    uint32_t size;      /* of a dense level; not 0 */
    bool is_sparse;
    uint32_t n_segments, n_indices; /* of a sparse one */
    const int32_t *segments, *indices;
};

struct tfl_sparse {
    uint32_t n_levels;
    struct tfl_level levels[TFL_MAX_LEVELS];
    size_t element_bytes;
    const uint8_t *values;
    size_t n_values;
};

/* tfl_densify() - to has room for all elements of the tensor's shape, and is zero. Returns: false if a
 * place lies outside of the shape, or a list or the values are too short. */
bool tfl_densify(const struct tfl_sparse *sparse, uint32_t n_dimensions, const uint32_t *dimensions,
                 uint8_t *to);

#ifdef __cplusplus
}
#endif

#endif
