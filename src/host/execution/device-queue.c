/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/device-queue.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/caching/reoptimize.h"
#include "host/execution/fence-watcher.h"
#include "host/execution/overdue.h"
#include "host/execution/run.h"
#include "host/execution/stalling.h"
#include "host/execution/turn.h"
#include "host/services.h"

/* What the driver has of an execution, and what is kept for its end. */
struct nn_device_run {
    struct nn_device_run *next, *previous; /* of the host's queue, under its lock */
    struct nn_overdue_call overdue;        /* likewise */
    struct nn_fenced *fenced;
    struct nnhal_fenced request;
    struct nnhal_execution execution;
    struct nn_admission admission;
    struct nn_arena arena;         /* of the outputs and the list of fences */
    struct nn_quota_charge charge; /* what the driver is believed to take */
    struct nn_permit permit;       /* of the driver's threads */
    struct nn_turn turn;
};

struct nn_device_run *nn_device_run_free(struct nn_device_run *run)
{
    if (!run)
        return NULL;
    nn_quota_release(&run->charge);
    nn_arena_done(&run->arena);
    free(run);
    return NULL;
}

/* -- what suits ---------------------------------------------------------------- */

/* Whether the host has to make a pool coherent right before and after the execution. */
static bool needs_access(const struct nn_binding *binding)
{
    for (uint32_t i = 0; i < binding->n_pools; i++) {
        const struct nn_memory *memory = binding->pools[i].memory;

        if (memory && !memory->driver_memory && nn_region_is_device_memory(memory->region))
            return true;
    }
    return false;
}

bool nn_device_queue_suits(const struct nn_fenced *fenced)
{
    const struct nn_binding *binding = &fenced->execution->binding;
    bool counts_from_fences = fenced->n_waits > 0 &&
                              fenced->timeout_after_fence_ns != NNHAL_NO_TIME;

    return fenced->session->host->driver.execute_fenced && binding->n_uses == 0 &&
           binding->n_pictures == 0 && !counts_from_fences && !needs_access(binding) &&
           !nn_binding_may_stall(binding);
}

/* -- the queue ------------------------------------------------------------------ */

static void queue_add(struct nn_device_queue *queue, struct nn_device_run *run)
{
    pthread_mutex_lock(&queue->lock);
    run->request.id = ++queue->last_id;
    run->previous = queue->last;
    if (queue->last)
        queue->last->next = run;
    else
        queue->first = run;
    queue->last = run;
    nn_overdue_begin(&run->overdue, "execute_fenced", &run->fenced->session->is_cancelled,
                     run->execution.deadline_ns);
    pthread_mutex_unlock(&queue->lock);
}

/* Under the lock. */
static void queue_unlink(struct nn_device_queue *queue, struct nn_device_run *run)
{
    if (run->next)
        run->next->previous = run->previous;
    else
        queue->last = run->previous;
    if (run->previous)
        run->previous->next = run->next;
    else
        queue->first = run->next;
    nn_overdue_end(&run->overdue);
}

/* Takes it out: who gets it ends it. Devices mostly end the oldest one. Returns: NULL if it is
 * not there (any more). */
static struct nn_device_run *queue_take(struct nn_device_queue *queue, uint64_t id)
{
    struct nn_device_run *run;

    pthread_mutex_lock(&queue->lock);
    run = queue->first;
    while (run && run->request.id != id)
        run = run->next;
    if (run)
        queue_unlink(queue, run);
    pthread_mutex_unlock(&queue->lock);
    return run;
}

/* -- cancelling -------------------------------------------------------------------- */

static void run_cancel(struct nn_fenced *fenced)
{
    nn_services_clear();
    fenced->session->host->driver.cancel_fenced(
        fenced->execution->binding.prepared->driver_prepared, fenced->device_run->request.id);
}

/* -- ending ------------------------------------------------------------------------ */

/* What the driver's result is worth. The run was taken out of the queue. */
static uint32_t run_judge(struct nn_call *call, struct nn_device_run *run, uint32_t status)
{
    status = nn_run_judge(call, &run->admission, run->execution.outputs,
                          nn_call_check_driver(call, status, "execute_fenced"));
    if (status == NNHAL_NONE)
        nn_reoptimize_count(run->fenced->execution->binding.prepared);
    return status;
}

/* Gives up what the driver was to use; the last use of run. */
static void run_finish(struct nn_device_run *run, const struct nn_fenced_end *end)
{
    nn_permit_end(&run->permit);
    nn_quota_release(&run->charge);
    nn_fence_watcher_finish(run->fenced, end);
}

/* services->end_fenced(). */
static void device_end(void *ctx, uint64_t id, uint32_t status)
{
    struct nn_host *host = ctx;
    struct nn_device_run *run = queue_take(&host->device_queue, id);
    struct nn_fenced_end end;
    struct nn_arena arena;
    struct nn_call call = {.arena = &arena};

    if (!run) {
        nn_log("host", NN_LOG_WARNING,
               "driver %s is defective: it ends fenced execution %llu, which it does not have",
               host->driver.name, (unsigned long long)id);
        return;
    }
    call.session = run->fenced->session;
    nn_arena_init(&arena, 0);
    end.timing = nn_run_time(&run->execution, nn_sys_now_ns() - run->fenced->launched_ns);
    /* It counts from the last fence, and when that was is the driver's to know. */
    if (run->fenced->n_waits && run->execution.timing.time_in_driver_ns == NNHAL_NO_TIME)
        end.timing.time_in_driver_ns = NNHAL_NO_TIME;
    end.status = run_judge(&call, run, status);
    end.text = call.message;
    nn_services_clear();
    run_finish(run, &end);
    nn_arena_done(&arena);
}

void nn_device_queue_init(struct nn_host *host)
{
    pthread_mutex_init(&host->device_queue.lock, NULL);
    host->services.ctx = host;
    host->services.end_fenced = device_end;
}

void nn_device_queue_done(struct nn_host *host)
{
    pthread_mutex_destroy(&host->device_queue.lock);
}

/* -- launching ----------------------------------------------------------------------- */

/* The same as the execution's waits, as the driver reads them. */
static int32_t *list_fences(struct nn_device_run *run)
{
    const struct nn_fenced *fenced = run->fenced;
    int32_t *fences = nn_arena_new_n(&run->arena, int32_t, fenced->n_waits);

    for (uint32_t i = 0; fences && i < fenced->n_waits; i++)
        fences[i] = fenced->waits[i].fd;
    return fences;
}

static struct nnhal_output *copy_outputs(struct nn_device_run *run)
{
    const struct nn_admission *admission = &run->admission;

    return nn_arena_dup(&run->arena, admission->outputs,
                        admission->binding->prepared->io.n_outputs * sizeof(struct nnhal_output));
}

/* The driver's threads compute for the user whose call this is. */
static void offer_turn(struct nn_device_run *run)
{
    struct nn_fenced *fenced = run->fenced;
    struct nn_host *host = fenced->session->host;

    run->permit.deadline_ns = run->execution.deadline_ns;
    run->permit.is_cancelled = &fenced->is_cancelled;
    nn_permit_open(&run->permit, host->permits, fenced->session->uid,
                   (enum nn_jobs_priority)fenced->execution->binding.prepared->priority);
    run->execution.turn = nn_turn_offer(&host->driver, &run->permit, &run->turn);
}

/* Where it has a time limit beside its deadline, that counts from the launch: no fence is active. */
static uint64_t due_of(const struct nn_fenced *fenced)
{
    uint64_t left_ns = NNHAL_NO_TIME - fenced->launched_ns;
    uint64_t due_ns = fenced->timeout_after_fence_ns < left_ns
                          ? fenced->launched_ns + fenced->timeout_after_fence_ns
                          : NNHAL_NO_TIME;

    return due_ns < fenced->deadline_ns ? due_ns : fenced->deadline_ns;
}

static uint32_t run_fill(struct nn_call *call, struct nn_device_run *run)
{
    struct nn_fenced *fenced = run->fenced;
    const struct nn_prepared *prepared = fenced->execution->binding.prepared;
    const struct nn_binding_run how = {.deadline_ns = due_of(fenced),
                                       .loop_timeout_ns = fenced->loop_timeout_ns,
                                       .measure = fenced->measure,
                                       .is_cancelled = &fenced->is_cancelled};
    uint32_t status = nn_admission_begin(call, &run->admission, &fenced->execution->binding);
    struct nnhal_output *outputs;

    if (status == NNHAL_NONE && prepared->run_bytes)
        status = nn_call_charge_memory(call, prepared->run_bytes, &run->charge);
    if (status != NNHAL_NONE)
        return status;
    outputs = copy_outputs(run);
    run->request = (struct nnhal_fenced){.size = sizeof(run->request),
                                         .execution = &run->execution,
                                         .fences = list_fences(run),
                                         .n_fences = fenced->n_waits};
    if ((!outputs && prepared->io.n_outputs) || (!run->request.fences && fenced->n_waits))
        return nn_call_fail_no_memory(call);
    run->execution = nn_run_describe(&run->admission, &how, outputs);
    offer_turn(run);
    return NNHAL_NONE;
}

static struct nn_device_run *run_new(struct nn_fenced *fenced)
{
    struct nn_device_run *run = calloc(1, sizeof(*run));

    if (!run)
        return NULL;
    run->fenced = fenced;
    nn_arena_init(&run->arena, 0);
    run->arena.meter = &fenced->session->meter;
    return run;
}

/* The driver's part. Returns: whether it has taken the run; it may have ended it, too. */
static bool run_submit(struct nn_call *call, struct nn_device_run *run, uint32_t *ret_status)
{
    struct nn_host *host = call->session->host;
    void *driver_prepared = run->fenced->execution->binding.prepared->driver_prepared;
    uint64_t id = run->request.id;

    nn_services_clear();
    *ret_status = host->driver.execute_fenced(driver_prepared, &run->request);
    if (*ret_status == NNHAL_NONE)
        return true;
    if (!queue_take(&host->device_queue, id)) {
        nn_log("host", NN_LOG_WARNING,
               "driver %s is defective: it refuses fenced execution %llu, which it has ended",
               host->driver.name, (unsigned long long)id);
        return true;
    }
    *ret_status = nn_call_check_driver(call, *ret_status, "execute_fenced");
    return false;
}

uint32_t nn_device_queue_launch(struct nn_call *call, struct nn_fenced *fenced)
{
    struct nn_host *host = call->session->host;
    struct nn_device_run *run = fenced->device_run = run_new(fenced);
    struct nn_fenced_end end = {.timing = {NNHAL_NO_TIME, NNHAL_NO_TIME}};

    end.status = run ? run_fill(call, run) : nn_call_fail_no_memory(call);
    if (end.status != NNHAL_NONE)
        return end.status;
    nn_fenced_hold(fenced);
    fenced->cancel = run_cancel;
    fenced->due_ns = run->execution.deadline_ns;
    queue_add(&host->device_queue, run);
    if (!nn_fence_watcher_admit(fenced->watcher, fenced)) {
        queue_take(&host->device_queue, run->request.id);
        end.status = nn_call_fail(call, NNHAL_GENERAL_FAILURE, "the session was closed");
    } else if (run_submit(call, run, &end.status)) {
        return NNHAL_NONE;
    }
    run_finish(run, &end);
    return end.status;
}
