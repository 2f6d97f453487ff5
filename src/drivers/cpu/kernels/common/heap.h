/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a heap of numbers whose largest is keys[0], and sorting by one
 *
 * No memory, and n log n steps for any numbers: they are the application's. A pace may end them
 * early: the numbers are the same then, in some order. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_HEAP_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_HEAP_H

#include "base/stop.h"

#include <stddef.h>
#include <stdint.h>

/* nn_heap_sink() - brings the number at i, which may be too small, to its place. */
static inline void nn_heap_sink(uint64_t *keys, size_t n, size_t i)
{
    uint64_t key = keys[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && keys[child + 1] > keys[child])
            child++;
        if (keys[child] <= key)
            break;
        keys[i] = keys[child];
    }
    keys[i] = key;
}

/* nn_heap_make() - of numbers in any order. */
static inline void nn_heap_make(uint64_t *keys, size_t n, struct nn_pace *pace)
{
    for (size_t i = n / 2; i-- > 0 && !nn_pace_ends(pace, 20);)
        nn_heap_sink(keys, n, i);
}

/* nn_heap_sort() - a heap becomes a list, the smallest first. */
static inline void nn_heap_sort(uint64_t *keys, size_t n, struct nn_pace *pace)
{
    for (size_t left = n; left > 1 && !nn_pace_ends(pace, 50); left--) {
        uint64_t largest = keys[0];

        keys[0] = keys[left - 1];
        keys[left - 1] = largest;
        nn_heap_sink(keys, left - 1, 0);
    }
}

#endif
