/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/burst.h"

#include "base/error.h"

/* Opens the channel, or those of the parts. */
static int burst_open(ANeuralNetworksBurst *burst, struct nn_why *why)
{
    const struct nn_rt_plan *plan = burst->compilation->plan;
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared = NULL;
    int r = 0;

    if (nn_rt_compilation_is_control(burst->compilation))
        return 0; /* its branches have implicit ones */
    if (!nn_rt_compilation_is_split(burst->compilation)) {
        prepared = nn_rt_compilation_get_prepared(burst->compilation);
        nn_rt_burst_get_channel(burst, prepared);
        return 0;
    }
    burst->parts = calloc(plan->n_parts, sizeof(*burst->parts));
    if (!burst->parts)
        return nn_error_origin(-ENOMEM);
    burst->n_parts = plan->n_parts;
    for (uint32_t i = 0; !r && i < plan->n_parts; i++)
        if (plan->parts[i].compilation)
            r = nn_rt_burst_new(plan->parts[i].compilation, why, &burst->parts[i]);
    return r;
}

int nn_rt_burst_new(ANeuralNetworksCompilation *compilation, struct nn_why *why,
                    ANeuralNetworksBurst **ret_burst)
{
    _cleanup_(nn_rt_burst_unrefp) ANeuralNetworksBurst *burst = NULL;
    int r = nn_rt_compilation_check_finished(compilation, why);

    if (r)
        return r;
    if (nn_rt_object_is_foreign(&compilation->object))
        return nn_fail_forked(why, "the compilation");
    burst = calloc(1, sizeof(*burst));
    if (!burst)
        return nn_error_origin(-ENOMEM);
    nn_rt_object_init(&burst->object);
    burst->compilation = nn_rt_compilation_ref(compilation);
    r = burst_open(burst, why);
    if (r)
        return r;
    *ret_burst = steal_ptr(&burst);
    return 0;
}

ANeuralNetworksBurst *nn_rt_burst_unref(ANeuralNetworksBurst *burst)
{
    if (!burst || !nn_rt_object_unref(&burst->object))
        return NULL;
    for (uint32_t i = 0; i < burst->n_parts; i++)
        nn_rt_burst_unref(burst->parts[i]);
    free(burst->parts);
    nn_rt_channel_free(burst->channel);
    nn_rt_prepared_unref(burst->prepared);
    nn_rt_compilation_unref(burst->compilation);
    nn_rt_object_done(&burst->object);
    free(burst);
    return NULL;
}

ANeuralNetworksBurst *nn_rt_burst_get_part(const ANeuralNetworksBurst *burst, uint32_t part)
{
    return burst->parts[part];
}

struct nn_rt_channel *nn_rt_burst_get_channel(ANeuralNetworksBurst *burst,
                                              struct nn_rt_prepared *prepared)
{
    const struct nn_rt_channel_params params = {
        .session = prepared->session,
        .prepared_model = prepared->id,
        .io = &burst->compilation->finished->io,
        .may_spin = burst->compilation->preference != NNHAL_LOW_POWER,
    };

    if (burst->prepared == prepared)
        return burst->channel;
    nn_rt_channel_free(burst->channel);
    nn_rt_prepared_unref(burst->prepared);
    burst->prepared = nn_rt_prepared_ref(prepared);
    burst->channel = nn_rt_channel_open(&params);
    return burst->channel;
}

int nn_rt_burst_acquire(ANeuralNetworksBurst *burst, const ANeuralNetworksExecution *execution,
                        struct nn_why *why)
{
    uint32_t is_idle = 0;

    if (nn_rt_object_is_foreign(&burst->object))
        return nn_fail_forked(why, "the burst");
    if (execution->compilation != burst->compilation)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "the execution and the burst are of different compilations");
    /* Acquire: pairs with the release in nn_rt_burst_release(). */
    if (!__atomic_compare_exchange_n(&burst->is_busy, &is_idle, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                       "another execution is being computed on this burst");
    nn_rt_object_ref(&burst->object);
    return 0;
}

void nn_rt_burst_release(ANeuralNetworksBurst *burst)
{
    __atomic_store_n(&burst->is_busy, 0, __ATOMIC_RELEASE);
    nn_rt_burst_unref(burst);
}
