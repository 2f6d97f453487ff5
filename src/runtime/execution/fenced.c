/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/fenced.h"

#include "base/error.h"
#include "base/fence.h"
#include "runtime/execution/reply.h"

#include <errno.h>

static bool has_pointers(const struct nn_rt_argument *arguments, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (arguments[i].kind == NN_ARGUMENT_POINTER)
            return true;
    return false;
}

static bool is_suited(const ANeuralNetworksExecution *execution,
                      const struct nn_rt_event_dependencies *dependencies)
{
    if (dependencies->n_events > NNHAL_MAX_FENCES ||
        has_pointers(execution->arguments.inputs, execution->arguments.n_inputs) ||
        has_pointers(execution->arguments.outputs, execution->arguments.n_outputs))
        return false;
    for (uint32_t i = 0; i < dependencies->n_events; i++)
        if (dependencies->events[i]->fence_fd < 0)
            return false;
    return true;
}

static int fenced_call(ANeuralNetworksEvent *event, const struct nn_hal_execute_fenced_args *args,
                       struct nn_why *why)
{
    struct nn_rt_prepared *prepared = event->execution->binding.prepared;
    struct nn_hal_execute_fenced_reply reply = {.sync_fence = -1};
    struct nn_arena arena;
    uint32_t status;
    int r;

    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(
        prepared->session, nn_hal_execute_fenced(prepared->session->hal, args, &reply, &arena));
    r = nn_fail_status(why, status, prepared->device->name, reply.message);
    nn_arena_done(&arena);
    if (r)
        return r == ANEURALNETWORKS_DEAD_OBJECT ? NN_RT_FENCED_E_UNSUITED : r;
    event->callback = reply.callback;
    event->fence_fd = reply.sync_fence;
    return 0;
}

int nn_rt_fenced_launch(ANeuralNetworksEvent *event,
                        const struct nn_rt_event_dependencies *dependencies, struct nn_why *why)
{
    ANeuralNetworksExecution *execution = event->execution;
    struct nn_hal_execute_fenced_args args = {
        .measure = execution->measure,
        .n_wait_for = dependencies->n_events,
        .deadline_ns = event->deadline_ns,
        .loop_timeout_ns = execution->loop_timeout_ns,
        .timeout_after_fence_ns = event->duration_ns ? event->duration_ns : NNHAL_NO_TIME,
    };
    int32_t fences[NNHAL_MAX_FENCES];
    int r;

    if (!is_suited(execution, dependencies))
        return NN_RT_FENCED_E_UNSUITED;
    r = nn_rt_execution_bind(execution, why);
    if (r)
        return r == ANEURALNETWORKS_DEAD_OBJECT ? NN_RT_FENCED_E_UNSUITED : r;
    r = nn_rt_execution_check_inputs(execution, why);
    if (r)
        return r;
    for (uint32_t i = 0; i < dependencies->n_events; i++)
        fences[i] = dependencies->events[i]->fence_fd;
    args.wait_for = fences;
    args.execution = execution->binding.execution;
    if (!args.execution) {
        args.prepared_model = execution->binding.prepared->id;
        args.request = execution->binding.request;
    }
    r = fenced_call(event, &args, why);
    /* What comes after this in a chain of fences is launched before this has ended. */
    if (!r)
        nn_rt_reply_accept_launch(execution);
    return r;
}

static void free_callback(struct nn_rt_session *session, uint64_t callback, struct nn_arena *arena)
{
    const struct nn_hal_free_fenced_callback_args args = {.callback = callback};
    struct nn_hal_free_fenced_callback_reply reply = {0};

    nn_hal_free_fenced_callback(session->hal, &args, &reply, arena);
}

int nn_rt_fenced_collect(ANeuralNetworksEvent *event, struct nn_why *why)
{
    struct nn_rt_prepared *prepared = event->execution->binding.prepared;
    const struct nn_hal_get_fenced_info_args args = {.callback = event->callback};
    struct nn_hal_get_fenced_info_reply info = {0};
    bool is_well = event->fence_fd < 0 || nn_fence_wait(event->fence_fd, NNHAL_NO_TIME) == 0;
    struct nn_arena arena;
    uint32_t status;
    int r;

    if (!nn_rt_session_is_alive(prepared->session)) {
        nn_rt_reply_mark_outputs(event->execution, false);
        return nn_fail_status(why, NNHAL_DEAD_OBJECT, prepared->device->name, NULL);
    }
    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(
        prepared->session, nn_hal_get_fenced_info(prepared->session->hal, &args, &info, &arena));
    if (status == NNHAL_NONE)
        status = info.status == NNHAL_NONE && !is_well ? NNHAL_GENERAL_FAILURE : info.status;
    r = nn_fail_status(why, status, prepared->device->name, info.message);
    if (!r)
        nn_rt_reply_accept_fenced(event->execution, &info);
    else
        nn_rt_reply_mark_outputs(event->execution, false);
    free_callback(prepared->session, event->callback, &arena);
    nn_arena_done(&arena);
    return r;
}
