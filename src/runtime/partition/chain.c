/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/chain.h"

#include "base/error.h"
#include "base/fence.h"
#include "hal/proxy.h"
#include "runtime/execution/fallback.h"
#include "runtime/execution/outcome.h"
#include "runtime/execution/reply.h"
#include "runtime/partition/exchange.h"

#include <fcntl.h>
#include <stdlib.h>

/* A part that is computed. */
struct link {
    uint32_t number; /* of the part */
    ANeuralNetworksExecution *execution;
    struct nn_rt_session *session; /* NULL: it was not launched */
    struct nn_rt_fenced fenced;    /* its fence is ours */
    int result;                    /* of the launch */
    struct nn_why why;
};

struct nn_rt_chain {
    ANeuralNetworksExecution *whole;
    const struct nn_rt_plan *plan;
    struct nn_arena memory; /* of arrays */
    struct nn_rt_exchange exchange;
    uint32_t n_links;
    struct link *links; /* in their order */
};

/* -- what is suited ------------------------------------------------------------------------ */

static bool reads_from(const struct nn_rt_plan *plan, const struct nn_rt_plan_part *part,
                       uint32_t maker)
{
    for (uint32_t i = 0; i < part->n_inputs; i++)
        if (part->sources[i].is_value && plan->values[part->sources[i].index].maker == maker)
            return true;
    return false;
}

/* Parts that make nothing are not computed. */
static bool is_line(const struct nn_rt_plan *plan)
{
    uint32_t before = NN_RT_PLAN_NONE;

    for (uint32_t i = 0; i < plan->n_parts; i++) {
        const struct nn_rt_plan_part *part = &plan->parts[plan->order[i]];

        if (!part->compilation)
            continue;
        if (before != NN_RT_PLAN_NONE && !reads_from(plan, part, before))
            return false;
        before = plan->order[i];
    }
    return true;
}

/* Steps look after empty tensors and after branches (step.h). */
static bool is_plain(const struct nn_rt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        const struct nn_rt_plan_part *part = &plan->parts[i];

        if (part->is_control)
            return false;
        for (uint32_t j = 0; j < part->n_outputs; j++)
            if (nn_rt_value_is_empty(&plan->known[part->output_operands[j]]))
                return false;
    }
    return !plan->is_open && plan->n_parts > 1;
}

static bool is_suited(const ANeuralNetworksExecution *execution,
                      const struct nn_rt_fenced_request *request)
{
    const struct nn_rt_plan *plan;

    if (!nn_rt_compilation_is_split(execution->compilation) ||
        nn_rt_compilation_is_control(execution->compilation) ||
        request->deadline_ns != NNHAL_NO_TIME || request->duration_ns)
        return false;                    /* limits are for compilations with one device */
    plan = execution->compilation->plan; /* of one that is split it does not change */
    return is_plain(plan) && is_line(plan) && nn_rt_fenced_is_in_memories(execution) &&
           !nn_rt_fallback_is_possible(execution, ANEURALNETWORKS_OP_FAILED);
}

static bool is_embedded(const struct link *link)
{
    return link->execution->compilation->device->way == NNHAL_WAY_EMBEDDED;
}

/* Whether the part can be launched, and the wait of those after it be ended: a service that is stopped is
 * left, and its fence stays as it is (leave_after()). */
static bool is_link_suited(const struct nn_rt_chain *chain, uint32_t i)
{
    ANeuralNetworksExecution *execution = chain->links[i].execution;
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared =
        nn_rt_compilation_get_prepared(execution->compilation);
    bool is_service = prepared->device->way == NNHAL_WAY_SERVICE;

    for (uint32_t j = i + 1; is_service && j < chain->n_links; j++)
        if (is_embedded(&chain->links[j]))
            return false;
    return nn_rt_session_is_alive(prepared->session) &&
           /* NNHAL_PARTITION=only: of parts alone. */
           !nn_rt_fallback_is_possible(execution, ANEURALNETWORKS_OP_FAILED);
}

/* -- making and ending ---------------------------------------------------------------------- */

struct nn_rt_chain *nn_rt_chain_free(struct nn_rt_chain *chain)
{
    if (!chain)
        return NULL;
    /* Before the places: a part's arguments refer to them. */
    for (uint32_t i = 0; i < chain->n_links; i++) {
        closep(&chain->links[i].fenced.fence_fd);
        nn_rt_execution_unref(chain->links[i].execution);
        nn_rt_session_unref(chain->links[i].session);
    }
    nn_rt_exchange_clear(&chain->exchange);
    nn_arena_done(&chain->memory);
    free(chain);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_rt_chain, nn_rt_chain_free)

static int make_link(struct nn_rt_chain *chain, uint32_t number, struct nn_why *why)
{
    const struct nn_rt_plan_part *part = &chain->plan->parts[number];
    struct link *link;
    int r;

    if (!part->compilation)
        return 0;
    link = &chain->links[chain->n_links];
    link->number = number;
    link->fenced.fence_fd = -1;
    r = nn_rt_execution_new(part->compilation, why, &link->execution);
    if (r)
        return r;
    chain->n_links++;
    link->execution->loop_timeout_ns = chain->whole->loop_timeout_ns;
    return nn_rt_exchange_set_arguments(&chain->exchange, part, link->execution);
}

static int make_links(struct nn_rt_chain *chain, struct nn_why *why)
{
    const struct nn_rt_plan *plan = chain->plan;
    int r;

    chain->links = nn_arena_new_n(&chain->memory, struct link, plan->n_parts);
    if (!chain->links)
        return nn_error_origin(-ENOMEM);
    r = nn_rt_exchange_begin(&chain->exchange);
    if (!r)
        r = nn_rt_exchange_place(&chain->exchange);
    for (uint32_t i = 0; !r && i < plan->n_parts; i++)
        r = make_link(chain, plan->order[i], why);
    return r;
}

static int chain_new(ANeuralNetworksExecution *whole, struct nn_why *why,
                     struct nn_rt_chain **ret_chain)
{
    _cleanup_(nn_rt_chain_freep) struct nn_rt_chain *chain = calloc(1, sizeof(*chain));
    int r;

    if (!chain)
        return nn_error_origin(-ENOMEM);
    nn_arena_init(&chain->memory, 0);
    chain->whole = whole;
    chain->plan = whole->compilation->plan;
    r = nn_rt_exchange_init(&chain->exchange, whole, &chain->memory);
    if (!r)
        r = make_links(chain, why);
    if (!r)
        r = nn_rt_execution_make_parts(whole, chain->plan->n_parts);
    if (r)
        return r;
    *ret_chain = steal_ptr(&chain);
    return 0;
}

/* -- launching ------------------------------------------------------------------------------ */

static int launch_link(struct link *link, const struct link *before,
                       const struct nn_rt_fenced_request *request)
{
    struct nn_rt_fenced_request own = *request;
    int r = nn_rt_execution_begin(link->execution, ANNDIAG_EXECUTION_MODE_UNKNOWN, &link->why);

    if (before) {
        own.n_fences = before->fenced.fence_fd >= 0;
        own.fences = &before->fenced.fence_fd;
    }
    if (r)
        return r;
    r = nn_rt_fenced_launch(link->execution, &own, &link->why, &link->fenced);
    if (!r)
        link->session = nn_rt_session_ref(link->execution->binding.prepared->session);
    return r;
}

/* Up to the first that cannot be launched. Returns: 0; what that was, if it is the first of all. */
static int launch_links(struct nn_rt_chain *chain, const struct nn_rt_fenced_request *request)
{
    for (uint32_t i = 0; i < chain->n_links; i++) {
        struct link *link = &chain->links[i];

        link->result = launch_link(link, i ? link - 1 : NULL, request);
        if (link->result == NN_RT_FENCED_E_UNSUITED && i)
            link->result = nn_fail(&link->why, ANEURALNETWORKS_DEAD_OBJECT, "%s has died",
                                   link->execution->compilation->device->name);
        if (link->result)
            return i ? 0 : link->result;
    }
    return 0;
}

int nn_rt_chain_launch(ANeuralNetworksExecution *execution,
                       const struct nn_rt_fenced_request *request, struct nn_why *why,
                       struct nn_rt_chain **ret_chain)
{
    _cleanup_(nn_rt_chain_freep) struct nn_rt_chain *chain = NULL;
    int r = is_suited(execution, request) ? chain_new(execution, why, &chain)
                                          : NN_RT_FENCED_E_UNSUITED;

    for (uint32_t i = 0; !r && i < chain->n_links; i++)
        if (!is_link_suited(chain, i))
            r = NN_RT_FENCED_E_UNSUITED;
    if (r)
        return r;
    r = launch_links(chain, request);
    if (r) {
        *why = chain->links[0].why;
        nn_rt_execution_complete(chain->links[0].execution, r);
        return r;
    }
    execution->device = execution->compilation->device;
    nn_rt_reply_accept_launch(execution);
    *ret_chain = steal_ptr(&chain);
    return 0;
}

int nn_rt_chain_dup_fence(const struct nn_rt_chain *chain)
{
    int fence = chain->links[chain->n_links - 1].fenced.fence_fd;

    return fence < 0 ? -1 : fcntl(fence, F_DUPFD_CLOEXEC, 3);
}

/* -- the end -------------------------------------------------------------------------------- */

/* Those after a part that was given up, and whose fence does not end: they would be computed when its
 * process wakes up. What waits for them in other services ends with the connections. */
static void leave_after(const struct nn_rt_chain *chain, uint32_t i)
{
    while (++i < chain->n_links) {
        struct nn_rt_session *session = chain->links[i].session;

        if (session && session->is_wire && nn_rt_session_is_alive(session))
            nn_hal_proxy_leave(session->hal, "it waits for a service that was left");
    }
}

void nn_rt_chain_wait(const struct nn_rt_chain *chain)
{
    for (uint32_t i = 0; i < chain->n_links; i++) {
        const struct link *link = &chain->links[i];

        if (!link->session || link->fenced.fence_fd < 0)
            continue;
        nn_rt_fenced_wait(link->session, link->fenced.fence_fd, NNHAL_NO_TIME);
        if (nn_fence_check(link->fenced.fence_fd) == NN_FENCE_E_ACTIVE) {
            leave_after(chain, i);
            return;
        }
    }
}

static void tell_part(const struct nn_rt_chain *chain, uint32_t number)
{
    ANeuralNetworksDevice *device = chain->plan->devices[chain->plan->parts[number].device].device;

    chain->whole->parts[number] = (struct nnhal_part_info){
        .n_parts = chain->plan->n_parts, .device = device, .planned = device, .why = ""};
}

/* What a part came to that was launched, or that its device refused. */
static int collect_link(struct link *link)
{
    int r = link->session
                ? nn_rt_fenced_collect(link->execution, &link->fenced, NNHAL_NO_TIME, &link->why)
                : link->result;

    nn_rt_execution_end(link->execution, r);
    return r;
}

/* After a part that failed: that is no failure of its own device. */
static void drop_link(struct link *link)
{
    if (link->session)
        nn_rt_fenced_drop(link->execution, &link->fenced);
    nn_rt_execution_complete(link->execution, ANEURALNETWORKS_OP_FAILED);
}

int nn_rt_chain_collect(struct nn_rt_chain *chain, struct nn_why *why)
{
    int first = 0;

    for (uint32_t i = 0; i < chain->plan->n_parts; i++)
        tell_part(chain, i);
    for (uint32_t i = 0; i < chain->n_links; i++) {
        struct link *link = &chain->links[i];

        if (first) {
            drop_link(link);
            continue;
        }
        first = collect_link(link);
        if (first)
            *why = link->why;
    }
    if (first)
        nn_rt_reply_mark_outputs(chain->whole, false);
    return first;
}
