/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - memory between two pages without access, and calls that end when they touch one
 *
 * A block lies at the end of its pages, or a gap before it, or at their beginning. What is touched
 * beyond the pages faults; what is written between a block and the end of its pages shows in the
 * pattern there. Failures of the system end the program. One thread. */
#ifndef NN_TESTS_CPU_GUARD_H
#define NN_TESTS_CPU_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_AT_BEGIN SIZE_MAX /* a gap: as large as it can be */

struct guard {
    uint8_t *data;
    size_t size;
    uint8_t *pages; /* what may be touched, with a page before and behind; NULL: no block */
    size_t pages_bytes;
};

/* guard_init() - a block of size bytes that begins at a multiple of alignment, a power of two of
 * at most a page, with at least gap bytes behind it. Its bytes are those of the pattern. */
void guard_init(struct guard *guard, size_t size, size_t alignment, size_t gap);

/* guard_done() - also of a block of zeros, as which it leaves it. */
void guard_done(struct guard *guard);

/* guard_is_whole() - whether the pages beside the block are as they were.
 * Returns: false with *ret_at, where, counted from the block's beginning. */
bool guard_is_whole(const struct guard *guard, ptrdiff_t *ret_at);

/* guard_lock() - the block must not be written, or it may be again. */
void guard_lock(const struct guard *guard, bool is_locked);

/* guard_call() - calls fn, and ends it where it touches what it may not; what it holds then is
 * lost. Not inside of fn.
 * Returns: true, or false with *ret_address, the address that was touched. */
bool guard_call(void (*fn)(void *ctx), void *ctx, const void **ret_address);

/* guard_float_control() - how this thread rounds and whether subnormal numbers count, as the CPU's
 * control word says it; without the flags that arithmetic raises. 0 where it is not known. */
uint32_t guard_float_control(void);
void guard_set_float_control(uint32_t control);

#endif
