/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/fence-line.h"

#include "base/error.h"
#include "base/fence.h"
#include "hal/proxy.h"
#include "runtime/execution/fallback.h"
#include "runtime/execution/outcome.h"
#include "runtime/execution/reply.h"
#include "runtime/execution/suspect.h"
#include "runtime/partition/exchange.h"
#include "runtime/partition/record.h"

/* A part that was launched, or is to be. */
struct line_part {
    uint32_t number;
    ANeuralNetworksExecution *execution; /* NULL: all is collected */
    struct nn_rt_fenced fenced;          /* its fence is the link's */
    struct nn_rt_link *link;
    struct nn_rt_link own; /* of all but the last */
    enum nn_rt_fenced_end end;
};

struct nn_rt_fence_line {
    ANeuralNetworksExecution *whole;
    const struct nn_rt_plan *plan;
    struct nn_arena memory; /* of arrays */
    struct nn_rt_exchange exchange;
    uint32_t n_parts;
    uint32_t n_launched;
    struct line_part *parts; /* in their order */
};

/* -- what is suited ------------------------------------------------------------------------ */

static bool makes_output(const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++)
        if (part->targets[i].output != NN_RT_PLAN_NONE)
            return true;
    return false;
}

/* Steps look after empty tensors and after branches (step.h). */
static bool is_plain(const struct nn_rt_plan *plan, const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++)
        if (nn_rt_value_is_empty(&plan->known[part->output_operands[i]]))
            return false;
    return part->compilation && !part->is_control;
}

/* With a wave for each part there is one that it needs in the wave before. */
static bool is_line(const struct nn_rt_plan *plan)
{
    if (plan->is_open || plan->n_parts < 2 || plan->n_waves != plan->n_parts)
        return false;
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        const struct nn_rt_plan_part *part = &plan->parts[plan->order[i]];

        if (!is_plain(plan, part) || (i + 1 < plan->n_parts && makes_output(part)))
            return false;
    }
    return true;
}

static bool is_suited(const ANeuralNetworksExecution *execution,
                      const struct nn_rt_fenced_request *request)
{
    return nn_rt_compilation_is_split(execution->compilation) &&
           !nn_rt_compilation_is_control(execution->compilation) &&
           request->deadline_ns == NNHAL_NO_TIME && !request->duration_ns &&
           is_line(execution->compilation->plan) && nn_rt_fenced_is_in_memories(execution) &&
           !nn_rt_fallback_is_possible(execution, ANEURALNETWORKS_OP_FAILED);
}

static bool is_part_suited(const struct line_part *part)
{
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared =
        nn_rt_compilation_get_prepared(part->execution->compilation);

    return nn_rt_session_is_alive(prepared->session) &&
           !nn_rt_fallback_is_possible(part->execution, ANEURALNETWORKS_OP_FAILED);
}

/* -- making and ending ---------------------------------------------------------------------- */

/* Before the places: a part's arguments refer to them. */
static void line_clear(struct nn_rt_fence_line *line)
{
    for (uint32_t i = 0; i < line->n_parts; i++) {
        nn_rt_execution_unref(line->parts[i].execution);
        line->parts[i].execution = NULL;
    }
    nn_rt_exchange_clear(&line->exchange);
}

struct nn_rt_fence_line *nn_rt_fence_line_free(struct nn_rt_fence_line *line)
{
    if (!line)
        return NULL;
    line_clear(line);
    for (uint32_t i = 0; i < line->n_parts; i++) {
        closep(&line->parts[i].own.fence_fd);
        nn_rt_session_unref(line->parts[i].own.session);
    }
    nn_arena_done(&line->memory);
    free(line);
    return NULL;
}

static int make_part(struct nn_rt_fence_line *line, uint32_t number, struct nn_why *why)
{
    const struct nn_rt_plan_part *planned = &line->plan->parts[number];
    struct line_part *part = &line->parts[line->n_parts];
    int r = nn_rt_execution_new(planned->compilation, why, &part->execution);

    if (r)
        return r;
    part->number = number;
    part->link = &part->own;
    part->own = (struct nn_rt_link){.fence_fd = -1, .deadline_ns = NNHAL_NO_TIME};
    if (line->n_parts) {
        part->own.inner = &line->parts[line->n_parts - 1].own;
        part->execution->known_by = line->whole; /* its own inputs are made later */
    }
    line->n_parts++;
    part->execution->loop_timeout_ns = line->whole->loop_timeout_ns;
    part->execution->measure = true; /* for the plan's record */
    r = nn_rt_exchange_set_arguments(&line->exchange, planned, part->execution);
    if (!r && !is_part_suited(part))
        r = NN_RT_FENCED_E_UNSUITED;
    return r;
}

static int make_parts(struct nn_rt_fence_line *line, struct nn_why *why)
{
    const struct nn_rt_plan *plan = line->plan;
    int r;

    line->parts = nn_arena_new_n(&line->memory, struct line_part, plan->n_parts);
    if (!line->parts)
        return nn_error_origin(-ENOMEM);
    r = nn_rt_exchange_begin(&line->exchange);
    if (!r)
        r = nn_rt_exchange_place(&line->exchange);
    for (uint32_t i = 0; !r && i < plan->n_parts; i++)
        r = make_part(line, plan->order[i], why);
    return r;
}

static int line_new(ANeuralNetworksExecution *whole, struct nn_why *why,
                    struct nn_rt_fence_line **ret_line)
{
    _cleanup_(nn_rt_fence_line_freep) struct nn_rt_fence_line *line = calloc(1, sizeof(*line));
    int r;

    if (!line)
        return nn_error_origin(-ENOMEM);
    nn_arena_init(&line->memory, 0);
    line->whole = whole;
    line->plan = whole->compilation->plan;
    r = nn_rt_exchange_init(&line->exchange, whole, &line->memory);
    if (!r)
        r = make_parts(line, why);
    if (!r)
        r = nn_rt_execution_make_parts(whole, line->plan->n_parts);
    if (r)
        return r;
    *ret_line = steal_ptr(&line);
    return 0;
}

/* -- launching ------------------------------------------------------------------------------ */

/* Before any is launched: those before one that is refused would be computed for nothing. Counts as a
 * failure of its device. */
static int check_part(struct line_part *part, struct nn_why *why)
{
    ANeuralNetworksDevice *device = part->execution->compilation->device;
    int r = nn_rt_suspect_check(part->execution, device, why);
    struct nn_why dropped = {0};

    if (r && !nn_rt_execution_begin(part->execution, ANNDIAG_EXECUTION_MODE_UNKNOWN, &dropped)) {
        part->execution->device = device;
        nn_rt_execution_end(part->execution, r);
    }
    return r;
}

static int check_parts(struct nn_rt_fence_line *line, struct nn_why *why)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < line->n_parts; i++)
        r = check_part(&line->parts[i], why);
    return r;
}

/* After that of the part before, which is link's inner one. */
static int launch_part(struct line_part *part, const struct nn_rt_fenced_request *request,
                       struct nn_why *why)
{
    const struct nn_rt_link *inner = part->link->inner;
    struct nn_rt_fenced_request own = *request;
    int r = nn_rt_execution_begin(part->execution, ANNDIAG_EXECUTION_MODE_UNKNOWN, why);

    if (r)
        return r;
    if (inner) {
        own.n_fences = 1;
        own.fences = &inner->fence_fd;
    }
    r = nn_rt_fenced_launch(part->execution, &own, why, &part->fenced);
    if (r == NN_RT_FENCED_E_UNSUITED || r == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT) {
        /* Its device has died, or has enough that waits: a job needs no place for each part. */
        nn_rt_execution_complete(part->execution, ANEURALNETWORKS_DEAD_OBJECT);
        return NN_RT_FENCED_E_UNSUITED;
    }
    if (r) {
        nn_rt_execution_end(part->execution, r);
        return r;
    }
    part->link->fence_fd = part->fenced.fence_fd;
    part->link->session = nn_rt_session_ref(part->execution->binding.prepared->session);
    return 0;
}

/* Of a part that is no failure of its device: it has not begun, or computes for nothing. */
static void drop_part(struct line_part *part)
{
    struct nn_why why = {0};
    int r = nn_rt_fenced_collect(part->execution, &part->fenced, NN_RT_FENCED_LEFT, NNHAL_NO_TIME,
                                 &why);

    nn_rt_execution_complete(part->execution, r);
}

/* Devices may still write to values between parts. */
static void line_abandon(struct nn_rt_fence_line *line)
{
    nn_rt_exchange_expose(&line->exchange);
    for (uint32_t i = 0; i < line->n_launched; i++)
        drop_part(&line->parts[i]);
}

static int launch_parts(struct nn_rt_fence_line *line, const struct nn_rt_fenced_request *request,
                        struct nn_why *why)
{
    for (; line->n_launched < line->n_parts; line->n_launched++) {
        struct line_part *part = &line->parts[line->n_launched];
        int r = launch_part(part, request, why);

        if (!r && part->link->fence_fd < 0) { /* of a fence the others tell nothing */
            line->n_launched++;
            r = nn_fail(why, ANEURALNETWORKS_OP_FAILED, "%s: answered without a fence",
                        part->execution->compilation->device->name);
        }
        if (r)
            return r;
    }
    return 0;
}

int nn_rt_fence_line_launch(ANeuralNetworksExecution *execution,
                            const struct nn_rt_fenced_request *request, struct nn_rt_link *link,
                            struct nn_why *why, struct nn_rt_fence_line **ret_line)
{
    _cleanup_(nn_rt_fence_line_freep) struct nn_rt_fence_line *line = NULL;
    struct line_part *last;
    int r = is_suited(execution, request) ? line_new(execution, why, &line)
                                          : NN_RT_FENCED_E_UNSUITED;

    if (!r)
        r = check_parts(line, why);
    if (r)
        return r;
    last = &line->parts[line->n_parts - 1];
    last->link = link;
    link->inner = last->own.inner;
    line->parts[0].own.before = link->before; /* borrowed */
    r = launch_parts(line, request, why);
    if (r) {
        line_abandon(line);
        link->inner = NULL;
        return r;
    }
    execution->device = execution->compilation->device;
    nn_rt_reply_accept_launch(execution);
    *ret_line = steal_ptr(&line);
    return 0;
}

/* -- the end -------------------------------------------------------------------------------- */

static enum nn_rt_fenced_end look_at_part(const struct line_part *part)
{
    int r = nn_fence_check(part->link->fence_fd);

    if (r != NN_FENCE_E_ACTIVE)
        return r == 0 ? NN_RT_FENCED_WELL : NN_RT_FENCED_FAILED;
    return nn_rt_session_is_alive(part->link->session) ? NN_RT_FENCED_LEFT : NN_RT_FENCED_DEAD;
}

/* From the last on: an end is passed on from the first, so that what is seen of a part is seen of all
 * before it that it is due to. */
static void look_at_parts(struct nn_rt_fence_line *line)
{
    for (uint32_t i = line->n_parts; i-- > 0;)
        line->parts[i].end = look_at_part(&line->parts[i]);
}

/* How that has ended which a part waits for. */
static enum nn_rt_fenced_end look_before_part(const struct nn_rt_fence_line *line, uint32_t i)
{
    return i > 0 ? line->parts[i - 1].end : nn_rt_links_look(&line->parts[0].own.before);
}

/* As its driver tells it: this side does not see when it begins. */
static void note_duration(const struct nn_rt_fence_line *line, const struct line_part *part)
{
    const struct nnhal_timing *timing = &part->execution->timing_fenced;
    uint64_t driver_ns = timing->time_in_driver_ns, device_ns = timing->time_on_device_ns;
    uint64_t total_ns = driver_ns != NNHAL_NO_TIME ? driver_ns : device_ns;

    if (total_ns != NNHAL_NO_TIME)
        nn_rt_record_note_duration(line->plan->record, part->number,
                                   &(struct nn_rt_duration){total_ns, driver_ns, device_ns});
}

/* Of one that has ended by itself, perhaps before it could begin. What was made stays where a process ends after that. */
static int collect_part(struct nn_rt_fence_line *line, uint32_t i, struct nn_why *why)
{
    struct line_part *part = &line->parts[i];
    int r = nn_rt_fenced_collect(part->execution, &part->fenced, part->end, NNHAL_NO_TIME, why);

    if (!r)
        note_duration(line, part);
    if (r == ANEURALNETWORKS_DEAD_OBJECT && part->end == NN_RT_FENCED_WELL && i + 1 < line->n_parts)
        r = 0;
    nn_rt_execution_end(part->execution, r);
    return r;
}

/* A fence may tell of a process's end before its session learns of it. */
static bool is_gone(const struct nn_rt_session *session)
{
    return !nn_rt_session_is_alive(session) ||
           (session->is_wire && !nn_hal_proxy_watch(session->hal));
}

/* The process of one that had not begun is gone: it has not died of that. */
static int fail_idle(struct line_part *part, struct nn_why *why)
{
    ANeuralNetworksDevice *device = part->execution->compilation->device;
    struct nn_why dropped = {0};
    int r = nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT, "%s has died before its part began",
                    device->name);

    nn_rt_fenced_collect(part->execution, &part->fenced, NN_RT_FENCED_LEFT, NNHAL_NO_TIME,
                         &dropped);
    nn_rt_execution_end(part->execution, r);
    return r;
}

/* Returns: what the part has failed with by itself; 0: it has not. */
static int end_part(struct nn_rt_fence_line *line, uint32_t i, struct nn_why *why)
{
    enum nn_rt_fenced_end end = line->parts[i].end, before = look_before_part(line, i);

    if (end == NN_RT_FENCED_WELL || (end != NN_RT_FENCED_LEFT && before == NN_RT_FENCED_WELL))
        return collect_part(line, i, why);
    if (end != NN_RT_FENCED_LEFT && before == NN_RT_FENCED_LEFT)
        return is_gone(line->parts[i].link->session) ? fail_idle(&line->parts[i], why)
                                                     : collect_part(line, i, why);
    drop_part(&line->parts[i]); /* it is still computed, or what it waits for has failed */
    return 0;
}

static void tell_parts(const struct nn_rt_fence_line *line)
{
    for (uint32_t i = 0; i < line->n_parts; i++) {
        uint32_t number = line->parts[i].number;
        ANeuralNetworksDevice *device =
            line->plan->devices[line->plan->parts[number].device].device;

        line->whole->parts[number] = (struct nnhal_part_info){
            .n_parts = line->plan->n_parts, .device = device, .planned = device, .why = ""};
    }
}

int nn_rt_fence_line_collect(struct nn_rt_fence_line *line, struct nn_why *why)
{
    bool is_well = true;
    int failed = 0;

    look_at_parts(line);
    for (uint32_t i = 0; i < line->n_parts; i++) {
        is_well &= line->parts[i].end == NN_RT_FENCED_WELL;
        if (failed)
            drop_part(&line->parts[i]);
        else
            failed = end_part(line, i, why);
    }
    if (!failed && !is_well)
        failed = nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                         "a computation that it depends on has failed, or was given up");
    if (failed) {
        nn_rt_exchange_expose(&line->exchange);
        nn_rt_reply_mark_outputs(line->whole, false);
    }
    tell_parts(line);
    line_clear(line);
    return failed;
}
