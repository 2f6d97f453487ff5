/* SPDX-License-Identifier: Apache-2.0 */
/* arith.h - arithmetic on sizes, which says when it does not fit
 *
 * Shapes, strides and byte sizes are computed through these only. Each returns
 * true and sets *ret on success; on overflow it returns false and *ret is
 * unchanged. */
#ifndef NN_BASE_ARITH_H
#define NN_BASE_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool nn_add_size(size_t a, size_t b, size_t *ret)
{
    size_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *ret = sum;
    return true;
}

static inline bool nn_mul_size(size_t a, size_t b, size_t *ret)
{
    size_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *ret = product;
    return true;
}

static inline bool nn_add_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    uint64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *ret = sum;
    return true;
}

static inline bool nn_mul_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    uint64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *ret = product;
    return true;
}

/* nn_align_up() - the next multiple of alignment, a power of two. */
static inline bool nn_align_up(size_t n, size_t alignment, size_t *ret)
{
    size_t sum;

    if (!nn_add_size(n, alignment - 1, &sum))
        return false;
    *ret = sum & ~(alignment - 1);
    return true;
}

/* nn_range_fits() - whether [offset, offset + length) lies in [0, size). */
static inline bool nn_range_fits(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

#endif
