/* SPDX-License-Identifier: Apache-2.0 */
/* bench-cache.h - what a compilation cache saves
 *
 * The same model is compiled without a cache, compiled and kept, and prepared
 * from the cache, each time in a process of its own, as applications start;
 * then again and again in that process. Beside it the same bytes are read and
 * checked with SHA-256, which every load needs. Times are of creating and
 * finishing the compilation; the device is open by then. Each is measured many
 * times, in turn, and the lower quartile is told: what other programs take of the
 * machine is in the upper ones. */
#ifndef NN_TOOLS_NNHAL_BENCH_CACHE_H
#define NN_TOOLS_NNHAL_BENCH_CACHE_H

#include "session.h"

/* ns */
struct cache_times {
    uint64_t compile_first_ns, compile_ns; /* without a cache: first in a process, and again */
    uint64_t keep_ns;                      /* compiled and kept */
    uint64_t from_cache_first_ns, from_cache_ns;
    uint64_t read_ns;  /* of the entry's bytes, with SHA-256 */
    uint64_t n_bytes;  /* of the entry; 0: the model was not kept, and what follows is 0 */
    char why_not[256]; /* it was not kept, or did not come from the cache; "" */
};

/* bench_cache() - in a folder of its own under $TMPDIR. Before the library is used otherwise:
 * processes are forked. Returns: TOOL_OK, or a status with the complaint printed. */
int bench_cache(const struct session_options *options, struct cache_times *ret_times);

#endif
