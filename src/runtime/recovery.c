/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/recovery.h"

#include <string.h>

static void count_death(struct nn_rt_recovery *recovery, uint64_t now_ns)
{
    uint32_t n = 0;

    memmove(recovery->deaths_ns + 1, recovery->deaths_ns,
            sizeof(recovery->deaths_ns) - sizeof(recovery->deaths_ns[0]));
    recovery->deaths_ns[0] = now_ns;
    if (recovery->n_deaths < NN_RT_RECOVERY_DEATHS)
        recovery->n_deaths++;
    while (n < recovery->n_deaths && now_ns - recovery->deaths_ns[n] <= NN_RT_RECOVERY_WITHIN_NS)
        n++;
    recovery->n_deaths = n;
}

void nn_rt_recovery_note_death(struct nn_rt_recovery *recovery, uint64_t now_ns)
{
    if (!recovery->gone_ns)
        recovery->gone_ns = now_ns;
    count_death(recovery, now_ns);
    if (recovery->pause_ns)
        recovery->pause_ns *= 2;
    else if (recovery->n_deaths == NN_RT_RECOVERY_DEATHS)
        recovery->pause_ns = NN_RT_RECOVERY_FIRST_PAUSE_NS;
    if (recovery->pause_ns > NN_RT_RECOVERY_LONG_PAUSE_NS)
        recovery->pause_ns = NN_RT_RECOVERY_LONG_PAUSE_NS;
    if (recovery->pause_ns)
        recovery->probe_ns = now_ns + recovery->pause_ns;
}

void nn_rt_recovery_note_return(struct nn_rt_recovery *recovery)
{
    recovery->gone_ns = 0;
}

void nn_rt_recovery_note_success(struct nn_rt_recovery *recovery)
{
    if (!recovery->pause_ns)
        return;
    recovery->n_deaths = 0;
    recovery->pause_ns = 0;
    recovery->probe_ns = 0;
}

bool nn_rt_recovery_is_quarantined(const struct nn_rt_recovery *recovery)
{
    return recovery->pause_ns != 0;
}

uint64_t nn_rt_recovery_next_attempt(const struct nn_rt_recovery *recovery)
{
    return recovery->probe_ns;
}

uint64_t nn_rt_recovery_end_of_patience(const struct nn_rt_recovery *recovery, uint64_t now_ns)
{
    if (recovery->pause_ns)
        return now_ns + NN_RT_RECOVERY_PROBE_PATIENCE_NS;
    return (recovery->gone_ns ? recovery->gone_ns : now_ns) + NN_RT_RECOVERY_PATIENCE_NS;
}
