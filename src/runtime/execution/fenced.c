/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/fenced.h"

#include "base/error.h"
#include "base/sys.h"
#include "base/wait-limit.h"
#include "runtime/execution/reply.h"
#include "runtime/execution/suspect.h"

#include <errno.h>

/* For the result of what a fence has told the end of: a process that is busy has not missed its deadline
 * by that. */
#define ANSWER_NS UINT64_C(1000000000)

static bool has_pointers(const struct nn_rt_argument *arguments, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (arguments[i].kind == NN_ARGUMENT_POINTER)
            return true;
    return false;
}

bool nn_rt_fenced_is_in_memories(const ANeuralNetworksExecution *execution)
{
    return !has_pointers(execution->arguments.inputs, execution->arguments.n_inputs) &&
           !has_pointers(execution->arguments.outputs, execution->arguments.n_outputs);
}

/* It may be computed later: what it writes to is not used for anything else. */
static void leave_fenced(ANeuralNetworksExecution *execution)
{
    nn_rt_reply_mark_outputs(execution, false);
    execution->binding.is_left = true;
}

static int call_execute_fenced(ANeuralNetworksExecution *execution,
                               const struct nn_hal_execute_fenced_args *args, struct nn_why *why,
                               struct nn_rt_fenced *ret_fenced)
{
    const struct nn_rt_prepared *prepared = execution->binding.prepared;
    struct nn_hal_execute_fenced_reply reply = {.sync_fence = -1};
    struct nn_arena arena;
    uint32_t status;
    int r;

    if (!nn_rt_session_is_alive(prepared->session))
        return ANEURALNETWORKS_DEAD_OBJECT;
    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(
        prepared->session, nn_hal_execute_fenced(prepared->session->hal, args, &reply, &arena));
    r = nn_fail_status(why, status, prepared->device->name, reply.message);
    nn_arena_done(&arena);
    if (r == ANEURALNETWORKS_DEAD_OBJECT)
        nn_rt_suspect_note(execution, prepared, r);
    if (r == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT)
        leave_fenced(execution); /* the process may have been handed it */
    if (r)
        return r;
    *ret_fenced = (struct nn_rt_fenced){reply.callback, reply.sync_fence};
    return 0;
}

static int launch_bound(ANeuralNetworksExecution *execution,
                        const struct nn_rt_fenced_request *request, struct nn_why *why,
                        struct nn_rt_fenced *ret_fenced)
{
    struct nn_hal_execute_fenced_args args = {
        .measure = execution->measure,
        .n_wait_for = request->n_fences,
        .wait_for = request->fences,
        .deadline_ns = request->deadline_ns,
        .loop_timeout_ns = execution->loop_timeout_ns,
        .timeout_after_fence_ns = request->duration_ns ? request->duration_ns : NNHAL_NO_TIME,
        .execution = execution->binding.execution,
    };
    int r = nn_rt_execution_check_inputs(execution, why);

    if (r)
        return r;
    if (!args.execution) {
        args.prepared_model = execution->binding.prepared->id;
        args.request = execution->binding.request;
        args.n_hints = execution->attributes.n;
        args.hints = execution->attributes.hints;
    }
    return call_execute_fenced(execution, &args, why, ret_fenced);
}

int nn_rt_fenced_launch(ANeuralNetworksExecution *execution,
                        const struct nn_rt_fenced_request *request, struct nn_why *why,
                        struct nn_rt_fenced *ret_fenced)
{
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared = NULL;
    uint64_t limit_ns;
    int r;

    if (nn_rt_compilation_is_split(execution->compilation) ||
        !nn_rt_fenced_is_in_memories(execution))
        return NN_RT_FENCED_E_UNSUITED;
    prepared = nn_rt_compilation_get_prepared(execution->compilation);
    execution->device = prepared->device;
    r = nn_rt_suspect_check(execution, prepared->device, why);
    if (r)
        return r;
    limit_ns = nn_wait_limit_narrow(request->deadline_ns);
    r = nn_rt_execution_bind(execution, prepared, why);
    if (!r)
        r = launch_bound(execution, request, why, ret_fenced);
    nn_wait_limit_restore(limit_ns);
    if (r)
        return r == ANEURALNETWORKS_DEAD_OBJECT ? NN_RT_FENCED_E_UNSUITED : r;
    /* The next computation of a chain of fences is launched before this one has ended: from now on
     * its inputs count as initialized. */
    nn_rt_reply_accept_launch(execution);
    return 0;
}

/* is_well: its fence has told of a success, so that it is not what its device died of. */
static void note_suspect(const ANeuralNetworksExecution *execution, bool is_well, int result)
{
    if (!is_well || result != ANEURALNETWORKS_DEAD_OBJECT)
        nn_rt_suspect_note(execution, execution->binding.prepared, result);
}

static int fail_fenced(ANeuralNetworksExecution *execution, uint32_t status, bool is_well,
                       struct nn_why *why)
{
    struct nn_rt_prepared *prepared = execution->binding.prepared;

    leave_fenced(execution);
    if (status == NNHAL_DEAD_OBJECT)
        note_suspect(execution, is_well, ANEURALNETWORKS_DEAD_OBJECT);
    return nn_fail_status(why, nn_rt_session_check_status(prepared->session, status),
                          prepared->device->name, NULL);
}

/* limit_ns: until when it is waited for; what comes later is left. */
static void free_callback(struct nn_rt_session *session, uint64_t callback, uint64_t limit_ns,
                          struct nn_arena *arena)
{
    const struct nn_hal_free_fenced_callback_args args = {.callback = callback};
    struct nn_hal_free_fenced_callback_reply reply = {0};
    uint64_t before_ns = nn_wait_limit_narrow(limit_ns);

    nn_hal_free_fenced_callback(session->hal, &args, &reply, arena);
    nn_wait_limit_restore(before_ns);
}

/* Returns: the status of the call; MISSED_DEADLINE_TRANSIENT: it was left. */
static uint32_t ask(const ANeuralNetworksExecution *execution, const struct nn_rt_fenced *fenced,
                    uint64_t deadline_ns, struct nn_hal_get_fenced_info_reply *ret_info,
                    struct nn_arena *arena)
{
    const struct nn_hal_get_fenced_info_args args = {.callback = fenced->callback};
    struct nn_rt_session *session = execution->binding.prepared->session;
    uint64_t answer_ns = nn_sys_now_ns() + ANSWER_NS;
    uint64_t limit_ns = nn_wait_limit_narrow(deadline_ns > answer_ns ? deadline_ns : answer_ns);
    uint32_t status = nn_rt_session_check_status(
        session, nn_hal_get_fenced_info(session->hal, &args, ret_info, arena));

    nn_wait_limit_restore(limit_ns);
    return status;
}

static int collect(ANeuralNetworksExecution *execution, const struct nn_rt_fenced *fenced,
                   bool is_well, uint64_t deadline_ns, struct nn_why *why)
{
    struct nn_rt_prepared *prepared = execution->binding.prepared;
    struct nn_hal_get_fenced_info_reply info = {0};
    struct nn_arena arena;
    uint32_t status;
    bool was_left;
    int r;

    nn_arena_init(&arena, 0);
    status = ask(execution, fenced, deadline_ns, &info, &arena);
    was_left = status == NNHAL_MISSED_DEADLINE_TRANSIENT;
    /* A fence tells that a computation has failed, the callback why. Failure counts where they
     * contradict each other. */
    if (status == NNHAL_NONE)
        status = info.status == NNHAL_NONE && !is_well ? NNHAL_GENERAL_FAILURE : info.status;
    r = nn_fail_status(why, status, prepared->device->name, info.message);
    note_suspect(execution, is_well, r);
    if (!r) {
        nn_rt_binding_count_copies(&execution->binding);
        nn_rt_reply_accept_fenced(execution, &info);
    } else {
        nn_rt_reply_mark_outputs(execution, false);
    }
    /* By no deadline, so that none is missed by it: a private process would be killed. Where the
     * process was left it is told, and not waited for. */
    free_callback(prepared->session, fenced->callback, was_left ? 0 : NN_WAIT_UNLIMITED, &arena);
    nn_arena_done(&arena);
    return r;
}

/* Its process keeps it until a fence before it tells, its deadline passes or the session ends; then
 * the result is not asked for any more. The process may be the one that does not answer. */
static int abandon(ANeuralNetworksExecution *execution, const struct nn_rt_fenced *fenced,
                   uint64_t deadline_ns, struct nn_why *why)
{
    struct nn_arena arena;

    leave_fenced(execution);
    nn_arena_init(&arena, 0);
    free_callback(execution->binding.prepared->session, fenced->callback, deadline_ns, &arena);
    nn_arena_done(&arena);
    return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                   "a computation before it was given up: its process does not answer, or its "
                   "deadline has passed");
}

int nn_rt_fenced_collect(ANeuralNetworksExecution *execution, const struct nn_rt_fenced *fenced,
                         enum nn_rt_fenced_end end, uint64_t deadline_ns, struct nn_why *why)
{
    const struct nn_rt_session *session = execution->binding.prepared->session;
    bool is_well = end == NN_RT_FENCED_WELL;

    if (end == NN_RT_FENCED_LATE)
        return fail_fenced(execution, NNHAL_MISSED_DEADLINE_TRANSIENT, is_well, why);
    if (end == NN_RT_FENCED_LEFT)
        return abandon(execution, fenced, deadline_ns, why);
    if (end == NN_RT_FENCED_DEAD || !nn_rt_session_is_alive(session))
        return fail_fenced(execution, NNHAL_DEAD_OBJECT, is_well, why);
    return collect(execution, fenced, is_well, deadline_ns, why);
}
