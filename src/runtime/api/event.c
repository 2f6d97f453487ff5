/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "runtime/execution/event.h"

_public_ int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution *execution,
                                                   ANeuralNetworksEvent **event)
{
    struct nn_why why = {0};

    if (event)
        *event = NULL;
    if (!execution || !event)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object, nn_rt_event_start(execution, NULL, &why, event),
                      &why);
}

_public_ int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution *execution, const ANeuralNetworksEvent *const *dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent **event)
{
    const struct nn_rt_event_dependencies all = {num_dependencies, dependencies, duration};
    struct nn_why why = {0};

    if (event)
        *event = NULL;
    if (!execution || !event || (!dependencies && num_dependencies) ||
        nn_api_has_null((const void *const *)dependencies, num_dependencies))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object, nn_rt_event_start(execution, &all, &why, event),
                      &why);
}

_public_ int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event)
{
    struct nn_why why = {0};

    if (!event)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &event->object, nn_rt_event_wait(event, &why), &why);
}

_public_ void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event)
{
    nn_rt_event_free(event);
}

_public_ int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd,
                                                        ANeuralNetworksEvent **event)
{
    struct nn_why why = {0};

    if (!event)
        return nn_api_null(__func__);
    *event = NULL;
    return nn_api_end(__func__, NULL, nn_rt_event_from_fence(sync_fence_fd, &why, event), &why);
}

_public_ int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event,
                                                 int *sync_fence_fd)
{
    struct nn_why why = {0};

    if (sync_fence_fd)
        *sync_fence_fd = -1;
    if (!event || !sync_fence_fd)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &event->object, nn_rt_event_get_fence(event, &why, sync_fence_fd),
                      &why);
}
