/* SPDX-License-Identifier: Apache-2.0 */
/* fenced.c - the methods of fenced executions: what is judged before they begin */
#include "base/error.h"
#include "base/fence.h"
#include "base/sys.h"
#include "host/execution/device-queue.h"
#include "host/execution/fence-watcher.h"
#include "host/methods.h"

#include <fcntl.h>
#include <sys/stat.h>

static void fenced_destroy(struct nn_object *object)
{
    struct nn_fenced *fenced = (struct nn_fenced *)object;

    for (uint32_t i = 0; i < fenced->n_waits; i++)
        closep(&fenced->waits[i].fd);
    closep(&fenced->signaller);
    nn_device_run_free(fenced->device_run);
    nn_execution_unref(fenced->execution);
    nn_quota_release(&fenced->fences_charge);
    nn_quota_release(&fenced->charge);
    free(fenced);
}

/* -- fences that are waited for --------------------------------------------------- */

/* Fences are sockets, pipes, or anonymous files such as a sync_file: things that
 * can be asked at any time. The file of a file system may keep poll() waiting
 * for as long as its owner likes. */
static bool is_pollable(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 &&
           (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode) || (st.st_mode & S_IFMT) == 0);
}

/* One that has signalled is not kept. */
static uint32_t add_wait(struct nn_call *call, struct nn_fenced *fenced, uint32_t i, int fd)
{
    struct nn_fenced_wait *wait = &fenced->waits[fenced->n_waits];
    int r = is_pollable(fd) ? nn_fence_check(fd) : NN_FENCE_E_INVALID;

    if (r == NN_FENCE_E_INVALID)
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "fence %u to wait for is no fence: it must be a descriptor that an earlier "
            "fenced execution gave, or a sync_file",
            i);
    if (r == 0)
        return NNHAL_NONE;
    wait->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (wait->fd < 0)
        return nn_call_fail_no_memory(call);
    wait->fenced = fenced;
    fenced->n_waits++;
    return NNHAL_NONE;
}

static uint32_t add_waits(struct nn_call *call, struct nn_fenced *fenced,
                          const struct nn_hal_execute_fenced_args *args)
{
    uint32_t status = NNHAL_NONE;

    for (uint32_t i = 0; i < args->n_wait_for && status == NNHAL_NONE; i++)
        status = add_wait(call, fenced, i, args->wait_for[i]);
    return status;
}

/* -- what is executed ---------------------------------------------------------------- */

static uint32_t find_execution(struct nn_call *call, const struct nn_hal_execute_fenced_args *args,
                               struct nn_fenced *fenced)
{
    const struct nn_binding_source source = {.request = &args->request,
                                             .flags = NN_REQUEST_FENCED,
                                             .n_hints = args->n_hints,
                                             .hints = args->hints};
    uint32_t status;

    if (args->execution == 0) {
        fenced->measure = args->measure != 0;
        fenced->loop_timeout_ns = args->loop_timeout_ns;
        return nn_execution_new(call, args->prepared_model, &source, &fenced->execution);
    }
    status = nn_execution_get(call, args->execution, &fenced->execution);
    if (status != NNHAL_NONE)
        return status;
    fenced->measure = fenced->execution->measure;
    fenced->loop_timeout_ns = fenced->execution->loop_timeout_ns;
    if (!fenced->execution->binding.is_specified)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "a fenced execution needs every output's dimensions: state them in the "
                            "request, or execute synchronously");
    return NNHAL_NONE;
}

static uint32_t check_args(struct nn_call *call, const struct nn_hal_execute_fenced_args *args)
{
    if (args->n_wait_for > NNHAL_MAX_FENCES || (args->n_wait_for && !args->wait_for))
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%u fences to wait for, at most %d are allowed", args->n_wait_for,
                            NNHAL_MAX_FENCES);
    return nn_execution_check_form(call, args->execution, args->prepared_model, &args->request,
                                   args->measure);
}

static uint32_t check_deadline(struct nn_call *call, struct nn_fenced *fenced)
{
    fenced->launched_ns = nn_sys_now_ns();
    if (fenced->launched_ns < fenced->deadline_ns)
        return NNHAL_NONE;
    return nn_call_fail(call, NNHAL_MISSED_DEADLINE_PERSISTENT,
                        "the deadline had passed before the execution began: allow more time");
}

static uint32_t fenced_charge(struct nn_call *call, const struct nn_hal_execute_fenced_args *args,
                              struct nn_fenced *fenced)
{
    uint32_t status = nn_call_charge(call, NN_QUOTA_FENCED, 1, "fenced executions",
                                     &fenced->charge);

    if (status != NNHAL_NONE)
        return status;
    return nn_call_charge(call, NN_QUOTA_FENCES, (uint64_t)args->n_wait_for + 1,
                          "fences of fenced executions", &fenced->fences_charge);
}

/* -- the methods ---------------------------------------------------------------------- */

static uint32_t fenced_begin(struct nn_call *call, struct nn_fenced *fenced)
{
    if (nn_device_queue_suits(fenced))
        return nn_device_queue_launch(call, fenced);
    nn_fenced_hold(fenced);
    nn_fence_watcher_launch(fenced->watcher, fenced);
    return NNHAL_NONE;
}

static uint32_t fenced_launch(struct nn_call *call, struct nn_fenced *fenced,
                              struct nn_hal_execute_fenced_reply *reply)
{
    _cleanup_(closep) int fence = -1;
    uint32_t status;

    if (nn_fence_new(&fenced->signaller, &fence) < 0 ||
        nn_fence_watcher_get(call->session->host, &fenced->watcher) < 0 ||
        nn_objects_add(&call->session->objects, &fenced->object) < 0)
        return nn_call_fail_no_memory(call);
    status = fenced_begin(call, fenced);
    if (status != NNHAL_NONE) {
        nn_objects_remove(&call->session->objects, fenced->object.id, NN_OBJECT_FENCED);
        return status;
    }
    reply->callback = fenced->object.id;
    reply->sync_fence = steal_fd(&fence);
    return NNHAL_NONE;
}

static struct nn_fenced *fenced_new(struct nn_host_session *session,
                                    const struct nn_hal_execute_fenced_args *args)
{
    struct nn_fenced *fenced = calloc(1, sizeof(*fenced) +
                                             args->n_wait_for * sizeof(fenced->waits[0]));

    if (!fenced)
        return NULL;
    nn_object_init(&fenced->object, NN_OBJECT_FENCED, fenced_destroy);
    fenced->session = session;
    fenced->signaller = -1;
    fenced->status = NNHAL_GENERAL_FAILURE;
    fenced->deadline_ns = args->deadline_ns;
    fenced->timeout_after_fence_ns = args->timeout_after_fence_ns;
    fenced->timing_launched = (struct nnhal_timing){NNHAL_NO_TIME, NNHAL_NO_TIME};
    fenced->timing_fenced = fenced->timing_launched;
    return fenced;
}

uint32_t nn_host_execute_fenced(struct nn_call *call, const struct nn_hal_execute_fenced_args *args,
                                struct nn_hal_execute_fenced_reply *reply)
{
    _cleanup_(nn_fenced_unrefp) struct nn_fenced *fenced = NULL;
    uint32_t status = check_args(call, args);

    if (status != NNHAL_NONE)
        return status;
    fenced = fenced_new(call->session, args);
    if (!fenced)
        return nn_call_fail_no_memory(call);
    status = fenced_charge(call, args, fenced);
    if (status == NNHAL_NONE)
        status = find_execution(call, args, fenced);
    if (status == NNHAL_NONE)
        status = add_waits(call, fenced, args);
    if (status == NNHAL_NONE)
        status = check_deadline(call, fenced);
    if (status != NNHAL_NONE)
        return status;
    return fenced_launch(call, fenced, reply);
}

uint32_t nn_host_get_fenced_info(struct nn_call *call,
                                 const struct nn_hal_get_fenced_info_args *args,
                                 struct nn_hal_get_fenced_info_reply *reply)
{
    struct nn_fenced *fenced = (struct nn_fenced *)nn_objects_get(&call->session->objects,
                                                                  args->callback, NN_OBJECT_FENCED);

    if (!fenced)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%llu is no fenced execution of this session, or was freed",
                            (unsigned long long)args->callback);
    nn_fence_watcher_lock(fenced->watcher);
    reply->status = fenced->status;
    reply->timing_launched = fenced->timing_launched;
    reply->timing_fenced = fenced->timing_fenced;
    if (fenced->text[0])
        nn_call_fail(call, fenced->status, "%s", fenced->text);
    nn_fence_watcher_unlock(fenced->watcher);
    nn_fenced_unref(fenced);
    return NNHAL_NONE;
}

uint32_t nn_host_free_fenced_callback(struct nn_call *call,
                                      const struct nn_hal_free_fenced_callback_args *args,
                                      struct nn_hal_free_fenced_callback_reply *reply)
{
    nn_objects_remove(&call->session->objects, args->callback, NN_OBJECT_FENCED);
    return NNHAL_NONE;
}
