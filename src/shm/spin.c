/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/spin.h"

#include "base/cpus.h"
#include "base/sys.h"
#include "base/variable.h"
#include "shm/ring.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define NS_PER_US UINT64_C(1000)
#define MAX_US    UINT64_C(1000000)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t n_cpus;
static uint64_t forced_ns; /* NN_SPIN_UNLIMITED: nothing is forced */

static uint32_t n_spinners; /* of this process; atomic */

static void spin_load_limits(void)
{
    const char *text = nn_variable_get(NN_VARIABLE_BURST_SPIN_US);
    unsigned long long us;
    char *end;

    n_cpus = nn_cpus_allowed();
    forced_ns = NN_SPIN_UNLIMITED;
    if (!text || *text < '0' || *text > '9')
        return;
    errno = 0;
    us = strtoull(text, &end, 10);
    if (*end == '\0' && errno == 0)
        forced_ns = (us < MAX_US ? us : MAX_US) * NS_PER_US;
}

void nn_spin_preload(void)
{
    pthread_once(&once, spin_load_limits);
}

void nn_spin_init(struct nn_spin *spin, uint64_t wish_ns, uint32_t n_threads)
{
    nn_spin_preload();
    *spin = (struct nn_spin){
        .bound_ns = wish_ns < NN_SPIN_BOUND_NS ? wish_ns : NN_SPIN_BOUND_NS,
        .n_threads = n_threads ? n_threads : 1,
    };
    if (forced_ns != NN_SPIN_UNLIMITED && wish_ns != 0) {
        spin->bound_ns = forced_ns;
        spin->is_forced = true;
    }
}

/* To another CPU, from which the scheduler may move it again. */
static void thread_move(void)
{
    cpu_set_t allowed, others;
    int cpu = sched_getcpu();

    if (cpu < 0 || sched_getaffinity(0, sizeof(allowed), &allowed) < 0 || CPU_COUNT(&allowed) < 2)
        return;
    others = allowed;
    CPU_CLR(cpu, &others);
    if (sched_setaffinity(0, sizeof(others), &others) == 0)
        sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* Whether this wait should spin; if so it is counted until stop(). */
static bool spin_begin(struct nn_spin *spin)
{
    uint32_t n_others;

    if (spin->bound_ns == 0)
        return false;
    if (!spin->is_forced && spin->n_pause > 0) {
        spin->n_pause--;
        return false;
    }
    /* Counted before it is compared: two threads that looked first could both take the last
     * CPU. */
    n_others = __atomic_fetch_add(&n_spinners, 1, __ATOMIC_RELAXED);
    if (spin->is_forced || n_cpus > (uint64_t)spin->n_threads + n_others) {
        if (spin->may_move && spin->n_vain >= NN_SPIN_PATIENCE)
            thread_move();
        return true;
    }
    __atomic_sub_fetch(&n_spinners, 1, __ATOMIC_RELAXED);
    return false;
}

/* Where spinning did not help lately it only costs CPU time, which the peer may need; it is tried
 * again, as the peer may have become faster, or have a CPU of its own now. */
static void spin_end(struct nn_spin *spin, bool is_there)
{
    uint32_t pause = NN_SPIN_PAUSE;

    __atomic_sub_fetch(&n_spinners, 1, __ATOMIC_RELAXED);
    if (is_there) {
        spin->n_vain = 0;
        return;
    }
    spin->n_vain++;
    if (spin->n_vain < NN_SPIN_PATIENCE)
        return;
    for (uint32_t i = NN_SPIN_PATIENCE; i < spin->n_vain && pause < NN_SPIN_MAX_PAUSE; i++)
        pause *= 2;
    spin->n_pause = pause - 1;
}

/* The clock is read only where a wait comes to sleeping. */
static int wait_awhile(const struct nn_spin *spin, struct nn_ring *ring, uint32_t n_elements,
                       uint64_t deadline_ns)
{
    if (spin->sleep_ns) {
        uint64_t end_ns = nn_sys_now_ns() + spin->sleep_ns;

        if (end_ns < deadline_ns)
            deadline_ns = end_ns;
    }
    return nn_ring_wait_to_read(ring, n_elements, deadline_ns);
}

int nn_spin_wait_to_read(struct nn_spin *spin, struct nn_ring *ring, uint32_t n_elements,
                         uint64_t deadline_ns)
{
    bool is_there;

    if (!spin_begin(spin))
        return wait_awhile(spin, ring, n_elements, deadline_ns);
    spin->n_spun++;
    is_there = nn_ring_spin_to_read(ring, n_elements, spin->bound_ns, deadline_ns);
    spin_end(spin, is_there);
    if (!is_there)
        return wait_awhile(spin, ring, n_elements, deadline_ns);
    return nn_ring_wait_to_read(ring, n_elements, deadline_ns);
}
