/* SPDX-License-Identifier: Apache-2.0 */
#include "host/services.h"

#include "base/arith.h"
#include "base/cpus.h"
#include "base/log.h"
#include "host/execution/refusals.h"
#include "host/quota.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 64, /* a cache line, and the widest vector register */
};

static _Thread_local char explanation[256];
static _Thread_local struct nn_refusals *collected;

static void service_log(void *ctx, uint32_t level, const char *text)
{
    if (text)
        nn_log("driver", level > NNHAL_LOG_DEBUG ? NN_LOG_DEBUG : (enum nn_log_level)level, "%s",
               text);
}

static void service_explain(void *ctx, const char *text)
{
    size_t n = text ? strnlen(text, sizeof(explanation) - 1) : 0;

    /* memmove: a driver may hand back what it got from its own buffer. */
    memmove(explanation, text ? text : "", n);
    explanation[n] = '\0';
}

static void service_refuse(void *ctx, uint32_t operation, const char *text)
{
    if (collected)
        nn_refusals_add(collected, operation, text);
}

static void *service_allocate(void *ctx, size_t n_bytes)
{
    size_t n_rounded;

    if (!nn_align_up(n_bytes ? n_bytes : 1, ALIGNMENT, &n_rounded))
        return NULL;
    return aligned_alloc(ALIGNMENT, n_rounded);
}

static void service_release(void *ctx, void *block)
{
    free(block);
}

/* The account is the charge of a prepared model (execution/prepared.h). */
static uint32_t service_charge(void *ctx, void *account, uint64_t n_bytes)
{
    struct nn_quota_charge *charge = account;
    int r = charge ? nn_quota_extend(charge, n_bytes) : 0;

    if (r == 0)
        return NNHAL_NONE;
    nn_quota_explain(charge->account, r, n_bytes, explanation, sizeof(explanation));
    return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
}

static void service_uncharge(void *ctx, void *account, uint64_t n_bytes)
{
    if (account)
        nn_quota_reduce(account, n_bytes);
}

void nn_services_init(struct nnhal_driver_services *services)
{
    *services = (struct nnhal_driver_services){
        .size = sizeof(*services),
        .log = service_log,
        .explain = service_explain,
        .allocate = service_allocate,
        .release = service_release,
        .n_cpus = nn_cpus_allowed(),
        .charge = service_charge,
        .uncharge = service_uncharge,
        .refuse = service_refuse,
    };
}

void nn_services_clear(void)
{
    explanation[0] = '\0';
}

const char *nn_services_explanation(void)
{
    return explanation[0] ? explanation : NULL;
}

void nn_services_collect(struct nn_refusals *refusals)
{
    collected = refusals;
}
