/* SPDX-License-Identifier: Apache-2.0 */
/* slice.h - which elements of a dimension a strided slice takes
 *
 * Inference and kernel of STRIDED_SLICE compute the same ranges; this is the
 * one place that knows the rule. */
#ifndef NN_MODEL_SLICE_H
#define NN_MODEL_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/* One dimension of a strided slice, as the operation states it. */
struct nn_slice {
    int32_t begin;
    int32_t end;
    int32_t stride;
    bool ignores_begin; /* its bit of begin_mask */
    bool ignores_end;
};

/* nn_slice_range() - elements begin, begin + stride, ... of a dimension of
 * dim elements, dim below 2^31. Indexes below 0 count from the end, and those
 * beyond an end are moved to it.
 * Returns: false if the stride is 0; else *ret_n elements from *ret_begin, all
 * of which are in the dimension. */
static inline bool nn_slice_range(const struct nn_slice *slice, uint32_t dim, int32_t *ret_begin,
                                  uint32_t *ret_n)
{
    const int64_t stride = slice->stride, n = dim;
    const int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? n : n - 1;
    int64_t begin = slice->begin, end = slice->end, distance;

    if (stride == 0)
        return false;
    begin = begin >= n ? highest : begin < -n ? lowest : begin < 0 ? begin + n : begin;
    end = end >= n ? highest : end < -n ? lowest : end < 0 ? end + n : end;
    if (slice->ignores_begin)
        begin = stride > 0 ? 0 : n - 1;
    if (slice->ignores_end)
        end = stride > 0 ? n : -1;

    distance = stride > 0 ? end - begin : begin - end;
    *ret_begin = (int32_t)begin;
    *ret_n = distance > 0 ? (uint32_t)((distance - 1) / (stride > 0 ? stride : -stride) + 1) : 0;
    return true;
}

#endif
