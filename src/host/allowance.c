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

/* A guest in an application reads no files that it does not need. */
static bool has_bounds(bool is_shared)
{
    return is_shared || nn_variable_get(NN_VARIABLE_USER_MEMORY) ||
           nn_variable_get(NN_VARIABLE_SERVICE_MEMORY);
}

uint64_t nn_host_whole_memory(bool is_shared)
{
    return has_bounds(is_shared) ? nn_memory_limit() : 0;
}

void nn_host_limit_memory(struct nn_host *host, bool is_shared, uint64_t whole_bytes)
{
    uint64_t quarter = whole_bytes / 4;

    if (!has_bounds(is_shared))
        return;
    nn_quota_limit_memory(&host->quota,
                          read_allowance(NN_VARIABLE_USER_MEMORY, "NNHAL_USER_MEMORY", whole_bytes,
                                         is_shared ? quarter : UINT64_MAX),
                          read_allowance(NN_VARIABLE_SERVICE_MEMORY, "NNHAL_SERVICE_MEMORY",
                                         whole_bytes, is_shared ? 3 * quarter : UINT64_MAX));
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
