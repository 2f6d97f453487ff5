/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - what every step of a call into the host needs
 *
 * A call is made by a session's method, by a burst for each request, or by a job
 * for a fenced execution. It lives on the stack of the thread that serves it.
 * Steps return an enum nnhal_error_status; a step that refuses leaves its
 * sentence in the call, and the edge that made the call passes it on. */
#ifndef NN_HOST_CALL_H
#define NN_HOST_CALL_H

#include "base/log.h"
#include "base/permits.h"
#include "host/quota.h"

#include <stdbool.h>
#include <stdint.h>

struct nn_arena;
struct nn_hal;
struct nn_host_session;

struct nn_call {
    struct nn_host_session *session; /* of the client; outlives the call */
    struct nn_arena *arena;          /* of the reply, and of what lives as long as the call */
    const char *message;             /* in arena; NULL: no sentence */
    struct nn_permit permit;         /* of the thread; nothing where users share no CPUs */
};

/* nn_call_begin() - enters the session of hal, which is the host's, and makes a call of it.
 * Where users share the CPUs the thread may wait for its turn, until deadline_ns (NNHAL_NO_TIME:
 * none) at most; later waits of the call know that deadline, too.
 * Returns: false, and nothing to end, if the session is being cancelled. */
bool nn_call_begin(struct nn_hal *hal, struct nn_arena *arena, uint64_t deadline_ns,
                   struct nn_call *call);

/* nn_call_set_priority() - what the call computes has another priority than MEDIUM. */
void nn_call_set_priority(struct nn_call *call, uint32_t priority);

/* nn_call_end() - leaves the session. Returns: the sentence, which lives in the arena. */
const char *nn_call_end(struct nn_call *call);

/* nn_call_work() - the thread of a call that had no nn_call_begin() begins to compute, and
 * may wait for its turn; nn_call_rest() - it is done. */
void nn_call_work(struct nn_call *call, uint32_t priority, uint64_t deadline_ns,
                  const uint32_t *is_cancelled);
void nn_call_rest(struct nn_call *call);

/* nn_call_fail() - leaves a sentence and returns status. The sentence is missing
 * if the arena is full. That a limit was reached is told in the journal as well. */
uint32_t nn_call_fail(struct nn_call *call, uint32_t status, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* nn_call_fail_no_memory() - the answer when this process is short of memory.
 * Returns: RESOURCE_EXHAUSTED_TRANSIENT. */
uint32_t nn_call_fail_no_memory(struct nn_call *call);

/* nn_call_charge() - charges the session's account. what names the things in
 * the sentence. Returns: NNHAL_NONE, or RESOURCE_EXHAUSTED_TRANSIENT. */
uint32_t nn_call_charge(struct nn_call *call, enum nn_quota_slot slot, uint64_t n, const char *what,
                        struct nn_quota_charge *charge);

/* nn_call_charge_memory() - charges n_bytes that are taken next and belong to no other slot.
 * Returns: NNHAL_NONE, or RESOURCE_EXHAUSTED_TRANSIENT. */
uint32_t nn_call_charge_memory(struct nn_call *call, uint64_t n_bytes,
                               struct nn_quota_charge *charge);

/* nn_call_tell() - a line in the service's journal, "client P of user U: " and the text; nothing where
 * the client is this process. */
void nn_call_tell(const struct nn_call *call, enum nn_log_level level, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* nn_call_check_driver() - what a driver's callback returned, as the call's own
 * status: its explanation becomes the sentence, and a status that callback may
 * not return is a fault of the driver. */
uint32_t nn_call_check_driver(struct nn_call *call, uint32_t status, const char *callback);

/* nn_call_driver_fault() - the driver broke its contract: logs the sentence.
 * Returns: GENERAL_FAILURE. */
uint32_t nn_call_driver_fault(struct nn_call *call, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

#endif
