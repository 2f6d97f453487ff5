/* SPDX-License-Identifier: Apache-2.0 */
/* wave.h - errands that need nothing of each other, done side by side
 *
 * The calling thread does the first one and offers the others to the runtime's jobs; what no thread
 * has begun when it is done with that, it does itself. So a wave ends even where all threads of the
 * pool wait for waves of their own, and without a pool. An errand is done by one thread, once, and all
 * are done when the call returns. Any thread. */
#ifndef NN_RUNTIME_PARTITION_WAVE_H
#define NN_RUNTIME_PARTITION_WAVE_H

#include <stdint.h>

/* Embedded in what it is about. */
struct nn_rt_errand {
    void (*run)(struct nn_rt_errand *errand);
};

/* nn_rt_wave_run() - blocks until all are done. Short of memory they are done one after the other. */
void nn_rt_wave_run(struct nn_rt_errand *const *errands, uint32_t n_errands);

#endif
