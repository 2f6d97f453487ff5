/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h - a descriptor that tells of the end of something, well or not
 *
 * A fence is one end of a socket pair with a byte on its way to the other end,
 * which is the signaller's. poll() on the fence, or on any duplicate of it:
 *
 *     nothing   the signaller has done nothing yet
 *     POLLIN    it took the byte and wrote one: all went well
 *     POLLERR   it closed its end with the byte still in it: it failed, or died
 *
 * so that the death of a signaller is an error by itself, which an eventfd
 * cannot say. The sync_file descriptors of the kernel obey the same rules and
 * are accepted wherever a fence is waited for.
 * Threads: any; a fence is only ever polled, never read. */
#ifndef NN_BASE_FENCE_H
#define NN_BASE_FENCE_H

#include <stdint.h>

enum {
    NN_FENCE_E_ACTIVE = 1,  /* not signalled yet */
    NN_FENCE_E_ERROR = 2,   /* signalled, but the work failed */
    NN_FENCE_E_INVALID = 3, /* not a descriptor that can be waited for */
};

/* nn_fence_new() - an active fence and the end that signals it; both are the
 * caller's. Returns: 0, -errno. */
int nn_fence_new(int *ret_signaller, int *ret_fence);

/* nn_fence_signal() - the work went well. Consumes signaller. To say that it
 * failed close signaller instead. Does not block. */
void nn_fence_signal(int signaller);

/* nn_fence_check() - how a fence stands now. Borrows fence.
 * Returns: 0 (signalled), NN_FENCE_E_ACTIVE, NN_FENCE_E_ERROR, NN_FENCE_E_INVALID. */
int nn_fence_check(int fence);

/* nn_fence_wait() - waits until a fence is signalled or deadline_ns
 * (CLOCK_MONOTONIC, UINT64_MAX: none). Borrows fence.
 * Returns: as nn_fence_check(); NN_FENCE_E_ACTIVE after the deadline. */
int nn_fence_wait(int fence, uint64_t deadline_ns);

#endif
