/* SPDX-License-Identifier: Apache-2.0 */
/* countdown.h - the n-th of something, on any thread */
#ifndef NN_TESTS_COUNTDOWN_H
#define NN_TESTS_COUNTDOWN_H

#include <stdbool.h>

/* 0: off; n > 0: the n-th from now; -1: it has been. */
typedef _Atomic long countdown_t;

/* countdown_hits() - Returns: whether this is the n-th. */
static inline bool countdown_hits(countdown_t *countdown)
{
    long left = *countdown;

    while (left > 0)
        if (__atomic_compare_exchange_n((long *)countdown, &left, left > 1 ? left - 1 : -1, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return left == 1;
    return false;
}

/* countdown_stop() - Returns: how many were missing; 0 if the n-th has been. */
static inline long countdown_stop(countdown_t *countdown)
{
    long left = __atomic_exchange_n((long *)countdown, 0, __ATOMIC_SEQ_CST);

    return left > 0 ? left : 0;
}

#endif
