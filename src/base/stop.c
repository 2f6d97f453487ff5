/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include "base/sys.h"

#include <nnhal/driver.h>

void (*nn_stop_observer)(void);

/* Two threads may find two reasons; either is true, and the first one stays. */
static int keep_outcome(struct nn_stop *stop, uint32_t outcome)
{
    uint32_t expected = 0;

    if (!__atomic_compare_exchange_n(&stop->outcome, &expected, outcome, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return (int)expected;
    return (int)outcome;
}

int nn_stop_look(struct nn_stop *stop)
{
    if (nn_stop_observer)
        nn_stop_observer();
    if (!stop)
        return 0;
    if (nn_stop_outcome(stop))
        return nn_stop_outcome(stop);
    if (stop->turn && __atomic_load_n(stop->turn->is_wanted, __ATOMIC_RELAXED))
        stop->turn->give_way(stop->turn->host);
    if (stop->is_cancelled && __atomic_load_n(stop->is_cancelled, __ATOMIC_RELAXED))
        return keep_outcome(stop, NN_STOP_E_CANCELLED);
    if (stop->deadline_ns != UINT64_MAX && nn_sys_now_ns() >= stop->deadline_ns)
        return keep_outcome(stop, NN_STOP_E_DEADLINE);
    return 0;
}
