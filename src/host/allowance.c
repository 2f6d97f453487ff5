/* SPDX-License-Identifier: Apache-2.0 */
/* allowance.c - how much memory users may have of this process */
#include "base/log.h"
#include "base/memory-limit.h"
#include "base/variable.h"
#include "host/session.h"

static uint64_t read_allowance(enum nn_variable variable, const char *name, uint64_t whole,
                               uint64_t standard)
{
    const char *text = nn_variable_get(variable);
    uint64_t n_bytes = standard;

    if (text && !nn_memory_parse(text, whole, &n_bytes))
        nn_log("host", NN_LOG_WARNING,
               "%s is none of a percentage, a number of bytes (K, M, G) and none: it is ignored",
               name);
    return n_bytes;
}

void nn_host_limit_memory(struct nn_host *host, bool is_shared)
{
    uint64_t whole, quarter;

    if (!is_shared && !nn_variable_get(NN_VARIABLE_USER_MEMORY) &&
        !nn_variable_get(NN_VARIABLE_SERVICE_MEMORY))
        return; /* a guest in an application reads no files that it does not need */
    whole = nn_memory_limit();
    quarter = whole / 4;
    nn_quota_limit_memory(&host->quota,
                          read_allowance(NN_VARIABLE_USER_MEMORY, "NNHAL_USER_MEMORY", whole,
                                         is_shared ? quarter : UINT64_MAX),
                          read_allowance(NN_VARIABLE_SERVICE_MEMORY, "NNHAL_SERVICE_MEMORY", whole,
                                         is_shared ? 3 * quarter : UINT64_MAX));
}

uint64_t nn_host_user_memory(const struct nn_host *host)
{
    return host->quota.user_memory_limit;
}

const struct nn_meter *nn_host_meter(struct nn_hal *hal)
{
    return &((struct nn_host_session *)hal)->meter;
}

void nn_host_explain_memory(struct nn_hal *hal, uint64_t n_bytes, char *text, size_t n_text)
{
    struct nn_quota_account *account = &((struct nn_host_session *)hal)->account;

    nn_quota_explain(account, nn_quota_look(account, n_bytes), n_bytes, text, n_text);
}
