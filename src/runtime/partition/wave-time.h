/* SPDX-License-Identifier: Apache-2.0 */
/* wave-time.h - what parts are expected to take that need nothing of each other
 *
 * Where two parts of a wave at least take as long as waking a thread, threads compute the wave side by side
 * (wave.h). It takes no less than its longest part then, and parts for one place take their sum: a
 * place is what computes one thing at a time. Each accelerator and GPU is a place of its own. All other
 * devices share the CPU's cores, which one of them can fill alone: they are one place together.
 * Parts of other waves, and of waves that one thread computes, follow each other. Pure functions. */
#ifndef NN_RUNTIME_PARTITION_WAVE_TIME_H
#define NN_RUNTIME_PARTITION_WAVE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* What waking a thread costs, about. */
#define NN_RT_WAKE_NS UINT64_C(50000)

enum {
    NN_RT_PLACE_CORES = 0,
    NN_RT_PLACE_ANY = UINT32_MAX, /* several, and not told which: beside it nothing is computed */
};

struct nn_rt_timed_part {
    uint32_t wave;
    uint32_t place; /* NN_RT_PLACE_CORES, _ANY, or any other number */
    uint64_t compute_ns;
    uint64_t launch_ns;
    uint64_t move_ns;
};

/* nn_rt_wave_is_shared() - whether threads compute a wave of these parts side by side. */
bool nn_rt_wave_is_shared(uint32_t n_parts, const struct nn_rt_timed_part *parts);

/* nn_rt_waves_time() - from the beginning to the end. parts: sorted by waves. */
uint64_t nn_rt_waves_time(uint32_t n_parts, const struct nn_rt_timed_part *parts);

#endif
