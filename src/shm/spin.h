/* SPDX-License-Identifier: Apache-2.0 */
/* spin.h - when a wait for a queue looks again and again before it sleeps
 *
 * A sleeping reader costs its peer a system call and itself a wake-up; a
 * spinning one occupies a CPU that other threads could use. So a reader spins only
 *
 *     while a CPU is left for it: the CPUs that this process may use exceed the
 *     threads of the execution that is waited for, or about to come, and the
 *     threads of this process that spin already (so at most CPUs - 1 do), and
 *     while it pays: at most NN_SPIN_PATIENCE spins in a row were in vain. After that
 *     it is tried again once in NN_SPIN_PAUSE waits, and with each time that is in vain in
 *     twice as many, up to NN_SPIN_MAX_PAUSE.
 *
 * and then for the bound at most. The bound is 50 us, less if the owner wishes
 * less, and 0 for a model that was prepared for low power: its owner wishes 0.
 * NNHAL_BURST_SPIN_US replaces the bound and both conditions: every wait spins
 * that long, unless its owner wished 0.
 *
 * How long a wait without spinning takes says nothing: where both sides are on one CPU, because
 * others have the rest, the peer answers at once as soon as this thread sleeps, and never while
 * it spins. A thread that may (may_move) leaves its CPU before it tries again, as the scheduler
 * moves no thread that sleeps most of the time.
 *
 * A wait that finds its elements while it looks makes no system call. Client and
 * server of a burst each have one of these for the queue that they read.
 *
 * One thread at a time per struct nn_spin; the count of spinners is shared by
 * all of the process. */
#ifndef NN_SHM_SPIN_H
#define NN_SHM_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct nn_ring;

#define NN_SPIN_BOUND_NS  UINT64_C(50000)
#define NN_SPIN_UNLIMITED UINT64_MAX
#define NN_SPIN_PATIENCE  3
#define NN_SPIN_PAUSE     16
#define NN_SPIN_MAX_PAUSE 1024

struct nn_spin {
    uint64_t bound_ns;
    uint32_t n_threads; /* of an execution, at least 1 */
    uint32_t n_vain;    /* spins in a row that found nothing */
    uint32_t n_pause;   /* waits until the next spin */
    uint32_t n_spun;    /* waits that spun, ever */
    bool is_forced;     /* NNHAL_BURST_SPIN_US */
    bool may_move;      /* the owner's: the thread is ours, and may change its CPU */
    uint64_t sleep_ns;  /* the owner's: a sleep ends after it, as with a deadline; 0: not */
};

/* nn_spin_init() - wish_ns: at most so long, 0: never, NN_SPIN_UNLIMITED: as
 * long as the bound is. n_threads (0 counts as 1): of an execution, wherever
 * they run. */
void nn_spin_init(struct nn_spin *spin, uint64_t wish_ns, uint32_t n_threads);

/* nn_spin_preload() - learns how many CPUs this process may use, from files that
 * a sandbox takes away: to be called before it is closed. What is first asked
 * for later is learnt then. Any thread. */
void nn_spin_preload(void);

/* nn_spin_wait_to_read() - as nn_ring_wait_to_read(), spinning first if that is
 * right. The ring's own spin time should be 0, as made. */
int nn_spin_wait_to_read(struct nn_spin *spin, struct nn_ring *ring, uint32_t n_elements,
                         uint64_t deadline_ns);

#endif
