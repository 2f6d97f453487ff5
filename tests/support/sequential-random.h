/* SPDX-License-Identifier: Apache-2.0 */
/* sequential-random.h - random numbers that are 1, 2, 3, ...
 *
 * For programs whose runs must be alike: what is recorded names buffers by the
 * tokens that they get when it is said again. Linked with sequential_random_args. */
#ifndef NN_TESTS_SUPPORT_SEQUENTIAL_RANDOM_H
#define NN_TESTS_SUPPORT_SEQUENTIAL_RANDOM_H

#include <stddef.h>

/* sequential_random_reset() - the next one is 1. One thread at a time. */
void sequential_random_reset(void);

#endif
