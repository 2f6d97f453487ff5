/* SPDX-License-Identifier: Apache-2.0 */
/* fail-alloc.h - the n-th allocation fails
 *
 * For programs that link with fail_alloc_args: malloc, calloc, realloc,
 * aligned_alloc, strdup, strndup, asprintf and vasprintf of all that is linked statically are counted while a fault is
 * armed, on every thread. A loop makes the 1st, 2nd, 3rd ... fail until a run
 * ends with none left:
 *
 *     for (long n = 1; ; n++) {
 *         fail_alloc_arm(n);
 *         ... what must not break; no assertions of Check, they allocate too ...
 *         if (fail_alloc_disarm())
 *             break;
 *     } */
#ifndef NN_TESTS_FAIL_ALLOC_H
#define NN_TESTS_FAIL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

void fail_alloc_arm(long n);

/* Returns: how many allocations were missing to the fault; 0: it happened. */
long fail_alloc_disarm(void);

/* fail_alloc_largest() - the largest block that was asked for since the last call. */
size_t fail_alloc_largest(void);

#endif
