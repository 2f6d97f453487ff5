/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call.h"

#include "base/log.h"
#include "host/services.h"
#include "host/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool nn_call_begin(struct nn_hal *hal, struct nn_arena *arena, uint64_t deadline_ns,
                   struct nn_call *call)
{
    *call = (struct nn_call){.session = (struct nn_host_session *)hal, .arena = arena};
    if (!nn_host_session_enter(call->session))
        return false;
    nn_call_work(call, NNHAL_PRIORITY_MEDIUM, deadline_ns, &call->session->is_cancelled);
    return true;
}

void nn_call_set_priority(struct nn_call *call, uint32_t priority)
{
    nn_permit_set_priority(&call->permit, (enum nn_jobs_priority)priority);
}

const char *nn_call_end(struct nn_call *call)
{
    nn_call_rest(call);
    nn_host_session_leave(call->session);
    return call->message;
}

void nn_call_work(struct nn_call *call, uint32_t priority, uint64_t deadline_ns,
                  const uint32_t *is_cancelled)
{
    struct nn_host_session *session = call->session;

    if (!session->host->permits)
        return;
    call->permit = (struct nn_permit){.deadline_ns = deadline_ns, .is_cancelled = is_cancelled};
    nn_permit_begin(&call->permit, session->host->permits, session->uid,
                    (enum nn_jobs_priority)priority);
}

void nn_call_rest(struct nn_call *call)
{
    nn_permit_end(&call->permit);
}

uint32_t nn_call_fail(struct nn_call *call, uint32_t status, const char *format, ...)
{
    char text[NNHAL_MAX_SENTENCE_BYTES + 1];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    call->message = nn_arena_dup(call->arena, text, strlen(text) + 1);
    if (status == NNHAL_RESOURCE_EXHAUSTED_TRANSIENT ||
        status == NNHAL_RESOURCE_EXHAUSTED_PERSISTENT)
        nn_call_tell(call, NN_LOG_INFO, "a limit is reached: %s", text);
    return status;
}

void nn_call_tell(const struct nn_call *call, enum nn_log_level level, const char *format, ...)
{
    const struct nn_host_session *session = call->session;
    char text[NNHAL_MAX_SENTENCE_BYTES + 128];
    va_list arguments;

    if (!session->is_service)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    nn_journal_say(&session->host->journal, session->uid, level, "client %d of user %u: %s",
                   (int)session->pid, (unsigned)session->uid, text);
}

uint32_t nn_call_fail_no_memory(struct nn_call *call)
{
    return nn_call_fail(
        call, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
        "the driver's process is short of memory: free something or try again later");
}

static uint32_t fail_memory(struct nn_call *call, int outcome, uint64_t n_bytes)
{
    char text[NNHAL_MAX_SENTENCE_BYTES + 1];

    nn_quota_explain(&call->session->account, outcome, n_bytes, text, sizeof(text));
    return nn_call_fail(call, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT, "%s", text);
}

uint32_t nn_call_charge(struct nn_call *call, enum nn_quota_slot slot, uint64_t n, const char *what,
                        struct nn_quota_charge *charge)
{
    struct nn_quota_account *account = &call->session->account;
    int r = nn_quota_charge(account, slot, n, charge);

    if (r == NN_QUOTA_E_SESSION)
        return nn_call_fail(
            call, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
            "this connection may hold at most %llu %s: free some that are not needed",
            (unsigned long long)account->limits[slot], what);
    if (r == NN_QUOTA_E_UID)
        return nn_call_fail(
            call, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
            "all connections of this user may hold at most %llu %s: free some that are "
            "not needed, here or in another process",
            (unsigned long long)account->uid_limits[slot], what);
    return r ? fail_memory(call, r, nn_quota_cost(slot, n)) : NNHAL_NONE;
}

uint32_t nn_call_charge_memory(struct nn_call *call, uint64_t n_bytes,
                               struct nn_quota_charge *charge)
{
    int r = nn_quota_charge(&call->session->account, NN_QUOTA_BYTES, n_bytes, charge);

    return r ? fail_memory(call, r, n_bytes) : NNHAL_NONE;
}

uint32_t nn_call_check_driver(struct nn_call *call, uint32_t status, const char *callback)
{
    const char *name = call->session->host->driver.name, *explanation;

    if (status == NNHAL_NONE)
        return status;
    explanation = nn_services_explanation();
    /* Only execute() may say that an output does not fit, and its caller has looked for that.
     * DEAD_OBJECT and what follows it are for the connection to say. */
    if (status == NNHAL_OUTPUT_INSUFFICIENT_SIZE || status >= NNHAL_DEAD_OBJECT)
        return nn_call_driver_fault(call, "%s() returned %u, which is not one of its statuses",
                                    callback, status);
    if (explanation)
        return nn_call_fail(call, status, "driver %s: %s", name, explanation);
    if (status == NNHAL_MISSED_DEADLINE_TRANSIENT || status == NNHAL_MISSED_DEADLINE_PERSISTENT)
        return nn_call_fail(call, status, "driver %s: the deadline passed in %s(): allow more time",
                            name, callback);
    return nn_call_fail(call, status, "driver %s: %s() failed and does not say why", name,
                        callback);
}

uint32_t nn_call_driver_fault(struct nn_call *call, const char *format, ...)
{
    const char *name = call->session->host->driver.name;
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    /* What a client makes a driver do a thousand times is not to fill a service's log. */
    if (call->session->is_service)
        nn_call_tell(call, NN_LOG_WARNING, "driver %s is defective: %s", name, text);
    else
        nn_log("host", NN_LOG_WARNING, "driver %s is defective: %s", name, text);
    return nn_call_fail(call, NNHAL_GENERAL_FAILURE, "driver %s is defective: %s", name, text);
}
