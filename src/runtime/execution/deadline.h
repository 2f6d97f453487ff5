/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h - from the API's durations to the HAL's deadlines */
#ifndef NN_RUNTIME_EXECUTION_DEADLINE_H
#define NN_RUNTIME_EXECUTION_DEADLINE_H

#include "base/sys.h"

#include <nnhal/types.h>

/* nn_deadline_after() - CLOCK_MONOTONIC; NNHAL_NO_TIME for 0 and for what is
 * too far to count. */
static inline uint64_t nn_deadline_after(uint64_t duration_ns)
{
    uint64_t deadline_ns;

    if (!duration_ns || __builtin_add_overflow(nn_sys_now_ns(), duration_ns, &deadline_ns))
        return NNHAL_NO_TIME;
    return deadline_ns;
}

#endif
