/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wait-limit.h"

#include "base/sys.h"

#define NS_PER_S   UINT64_C(1000000000)
#define FAR_AWAY_S (UINT64_C(1) << 33)

static _Thread_local uint64_t wait_limit_ns = NN_WAIT_UNLIMITED;

uint64_t nn_wait_limit_get(void)
{
    return wait_limit_ns;
}

uint64_t nn_wait_limit_narrow(uint64_t limit_ns)
{
    uint64_t before = wait_limit_ns;

    if (limit_ns < before)
        wait_limit_ns = limit_ns;
    return before;
}

void nn_wait_limit_restore(uint64_t limit_ns)
{
    wait_limit_ns = limit_ns;
}

uint64_t nn_wait_end(uint64_t deadline_ns)
{
    uint64_t now_ns;

    if (deadline_ns >= NN_WAIT_UNLIMITED - NN_WAIT_GRACE_NS)
        return NN_WAIT_UNLIMITED;
    now_ns = nn_sys_now_ns();
    return (now_ns > deadline_ns ? now_ns : deadline_ns) + NN_WAIT_GRACE_NS;
}

struct timespec nn_wait_limit_timespec(uint64_t limit_ns)
{
    uint64_t seconds = limit_ns / NS_PER_S;

    return (struct timespec){
        .tv_sec = (time_t)(seconds < FAR_AWAY_S ? seconds : FAR_AWAY_S),
        .tv_nsec = (long)(limit_ns % NS_PER_S),
    };
}
