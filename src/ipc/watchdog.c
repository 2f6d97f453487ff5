/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/watchdog.h"

enum nn_watchdog_verdict nn_watchdog_look(struct nn_watchdog *watchdog, uint64_t now_ns)
{
    if (now_ns < watchdog->next_ns)
        return NN_WATCHDOG_WAIT;
    if (watchdog->n_unanswered >= NN_WATCHDOG_MAX_PINGS)
        return NN_WATCHDOG_GIVE_UP;
    watchdog->n_unanswered++;
    watchdog->next_ns = now_ns + NN_WATCHDOG_PERIOD_NS;
    return NN_WATCHDOG_PING;
}

void nn_watchdog_note_answer(struct nn_watchdog *watchdog)
{
    watchdog->n_unanswered = 0;
}
