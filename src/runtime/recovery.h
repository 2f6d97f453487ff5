/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - what follows from the deaths of a device's process
 *
 *                  +---------- opened ----------+
 *                  v                            |
 *     ALIVE --- death ---> GONE --- attempts ---+
 *       ^                    |
 *       |   the third death within a minute, or any death since
 *       |                    v
 *       +-- success -- QUARANTINED   no attempt before the pause is over
 *
 * Deaths are counted, with their times; attempts and calls are not. In
 * quarantine the device is probed: one pause after the death its process may be
 * started again, and lives as any other. A computation that succeeds lifts the
 * quarantine and forgives all deaths; another death doubles the pause.
 *
 * Times are CLOCK_MONOTONIC and the caller's, so that tests have their own.
 * Pure data: no locks, no waiting. */
#ifndef NN_RUNTIME_RECOVERY_H
#define NN_RUNTIME_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#define NN_RT_RECOVERY_DEATHS         3
#define NN_RT_RECOVERY_WITHIN_NS      UINT64_C(60000000000)
#define NN_RT_RECOVERY_FIRST_PAUSE_NS UINT64_C(500000000)
#define NN_RT_RECOVERY_LONG_PAUSE_NS  UINT64_C(60000000000)

/* So long is a device that is gone waited for by those who have no deadline; who
 * calls later than that makes one attempt. */
#define NN_RT_RECOVERY_PATIENCE_NS UINT64_C(2000000000)

/* In quarantine a call waits no longer than this: the first pause, but no later one. A call does not
 * sleep while the process may long be back. */
#define NN_RT_RECOVERY_PROBE_PATIENCE_NS UINT64_C(750000000)

struct nn_rt_recovery {
    uint64_t deaths_ns[NN_RT_RECOVERY_DEATHS]; /* the last ones, the newest first */
    uint32_t n_deaths;                         /* of them, within the minute of the newest */
    uint64_t gone_ns;                          /* since when there is no process; 0: there is */
    uint64_t pause_ns;                         /* the quarantine's; 0: there is none */
    uint64_t probe_ns;                         /* the end of that pause */
};

/* nn_rt_recovery_note_death() - its process has died, or has not come up. */
void nn_rt_recovery_note_death(struct nn_rt_recovery *recovery, uint64_t now_ns);

/* nn_rt_recovery_note_return() - there is a process again. */
void nn_rt_recovery_note_return(struct nn_rt_recovery *recovery);

/* nn_rt_recovery_note_success() - a computation has succeeded. */
void nn_rt_recovery_note_success(struct nn_rt_recovery *recovery);

bool nn_rt_recovery_is_quarantined(const struct nn_rt_recovery *recovery);

/* nn_rt_recovery_next_attempt() - from when on the process may be started; not
 * later than now: now. */
uint64_t nn_rt_recovery_next_attempt(const struct nn_rt_recovery *recovery);

/* nn_rt_recovery_end_of_patience() - until when callers without a deadline wait: in quarantine
 * from now on, else from the death. */
uint64_t nn_rt_recovery_end_of_patience(const struct nn_rt_recovery *recovery, uint64_t now_ns);

#endif
