/* SPDX-License-Identifier: Apache-2.0 */
/* bench-peak.h - what one CPU of this machine can do at best, measured
 *
 * Multiplications and additions in registers, with the widest vectors that the CPU has and the
 * compiler knows, and reading a block that fits no cache. */
#ifndef NN_TOOLS_NNHAL_BENCH_PEAK_H
#define NN_TOOLS_NNHAL_BENCH_PEAK_H

/* Of one thread; operations: a multiplication and an addition are two. 0: no memory to measure. */
struct bench_peak {
    double float_gops, int8_gops; /* 10^9 a second */
    double read_gbs;              /* 10^9 bytes a second */
};

/* bench_measure_peak() - takes a tenth of a second. */
struct bench_peak bench_measure_peak(void);

#endif
