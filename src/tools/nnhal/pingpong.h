/* SPDX-License-Identifier: Apache-2.0 */
/* pingpong.h - how fast two processes can say a word to each other at all
 *
 * What a burst is measured against: a child of this process answers each number
 * that it finds in shared memory, and nothing else happens. */
#ifndef NN_TOOLS_NNHAL_PINGPONG_H
#define NN_TOOLS_NNHAL_PINGPONG_H

#include <stdint.h>

enum pingpong_kind {
    PINGPONG_SPIN,  /* both sides look again and again */
    PINGPONG_FUTEX, /* both sides sleep, and are woken for each word */
};

/* pingpong_run() - n round trips after a tenth more that do not count; the time of
 * each, in nanoseconds, in the order in which they were made. cpu and peer_cpu:
 * where the two are to run; -1: anywhere. The calling thread's affinity is
 * changed. Returns: 0, -1 with errno. */
int pingpong_run(enum pingpong_kind kind, int cpu, int peer_cpu, uint32_t n, uint64_t *ret_ns);

#endif
