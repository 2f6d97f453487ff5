/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/chain.h"

#include "base/error.h"
#include "base/fence.h"
#include "runtime/execution/fallback.h"
#include "runtime/execution/outcome.h"
#include "runtime/execution/reply.h"
#include "runtime/partition/exchange.h"

#include <fcntl.h>
#include <unistd.h>

/* A part. */
struct link {
    ANeuralNetworksExecution *execution; /* NULL: nothing reads what it makes */
    struct nn_rt_session *session;       /* NULL: it was not launched */
    struct nn_rt_fenced fenced;          /* its fence is ours */
    bool is_read;                        /* by a part that was launched after it */
    int result;                          /* of the launch */
    struct nn_why why;
};

struct nn_rt_chain {
    ANeuralNetworksExecution *whole;
    const struct nn_rt_plan *plan;
    struct nn_arena memory; /* of arrays */
    struct nn_rt_exchange exchange;
    struct link *links; /* per part */
    uint32_t last;      /* of them in the plan's order */
};

/* What a part waits for. */
struct waits {
    uint32_t n;
    int32_t fences[NNHAL_MAX_FENCES];
    bool has_failed; /* one of them was not launched */
};

/* -- what is suited ------------------------------------------------------------------------ */

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
        nn_rt_compilation_is_control(execution->compilation))
        return false;
    plan = execution->compilation->plan; /* of one that is split it does not change */
    return is_plain(plan) && request->n_fences + plan->n_parts <= NNHAL_MAX_FENCES &&
           nn_rt_fenced_is_in_memories(execution) &&
           !nn_rt_fallback_is_possible(execution, ANEURALNETWORKS_OP_FAILED);
}

/* -- making and ending ---------------------------------------------------------------------- */

struct nn_rt_chain *nn_rt_chain_free(struct nn_rt_chain *chain)
{
    if (!chain)
        return NULL;
    /* Before the places: a part's arguments refer to them. */
    for (uint32_t i = 0; chain->links && i < chain->plan->n_parts; i++) {
        struct link *link = &chain->links[i];

        closep(&link->fenced.fence_fd);
        nn_rt_execution_unref(link->execution);
        nn_rt_session_unref(link->session);
    }
    nn_rt_exchange_clear(&chain->exchange);
    nn_arena_done(&chain->memory);
    free(chain);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_rt_chain, nn_rt_chain_free)

static int make_link(struct nn_rt_chain *chain, uint32_t i, struct nn_why *why)
{
    const struct nn_rt_plan_part *part = &chain->plan->parts[i];
    struct link *link = &chain->links[i];
    int r = 0;

    if (!part->compilation)
        return 0;
    r = nn_rt_execution_new(part->compilation, why, &link->execution);
    if (r)
        return r;
    link->execution->loop_timeout_ns = chain->whole->loop_timeout_ns;
    /* NNHAL_PARTITION=only: of parts alone. */
    if (nn_rt_fallback_is_possible(link->execution, ANEURALNETWORKS_OP_FAILED))
        return NN_RT_FENCED_E_UNSUITED;
    return nn_rt_exchange_set_arguments(&chain->exchange, part, link->execution);
}

static int make_links(struct nn_rt_chain *chain, struct nn_why *why)
{
    uint32_t n_parts = chain->plan->n_parts;
    int r = 0;

    chain->links = nn_arena_new_n(&chain->memory, struct link, n_parts);
    if (!chain->links)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n_parts; i++)
        chain->links[i].fenced.fence_fd = -1;
    r = nn_rt_exchange_begin(&chain->exchange);
    if (!r)
        r = nn_rt_exchange_place(&chain->exchange);
    for (uint32_t i = 0; !r && i < n_parts; i++)
        r = make_link(chain, i, why);
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
    for (uint32_t i = 0; i < chain->plan->n_parts; i++)
        if (chain->links[chain->plan->order[i]].execution)
            chain->last = chain->plan->order[i];
    *ret_chain = steal_ptr(&chain);
    return 0;
}

/* -- launching ------------------------------------------------------------------------------ */

static void wait_for_link(struct waits *waits, struct link *link)
{
    waits->has_failed |= link->result != 0;
    if (link->result || link->fenced.fence_fd < 0)
        return;
    for (uint32_t i = 0; i < waits->n; i++)
        if (waits->fences[i] == link->fenced.fence_fd)
            return;
    waits->fences[waits->n++] = link->fenced.fence_fd;
}

static void find_waits(struct nn_rt_chain *chain, uint32_t number,
                       const struct nn_rt_fenced_request *request, struct waits *waits)
{
    const struct nn_rt_plan_part *part = &chain->plan->parts[number];
    bool is_first = true;

    for (uint32_t i = 0; i < part->n_inputs; i++) {
        struct link *maker;

        if (!part->sources[i].is_value)
            continue;
        maker = &chain->links[chain->plan->values[part->sources[i].index].maker];
        maker->is_read = true;
        is_first = false;
        wait_for_link(waits, maker);
    }
    for (uint32_t i = 0; is_first && i < request->n_fences; i++)
        waits->fences[waits->n++] = request->fences[i];
    for (uint32_t i = 0; number == chain->last && i < chain->plan->n_parts; i++)
        if (i != number && chain->links[i].execution && !chain->links[i].is_read)
            wait_for_link(waits, &chain->links[i]);
}

static int launch_link(struct nn_rt_chain *chain, uint32_t number,
                       const struct nn_rt_fenced_request *request)
{
    struct link *link = &chain->links[number];
    struct waits waits = {0};
    struct nn_rt_fenced_request own = *request;
    int r = nn_rt_execution_begin(link->execution, ANNDIAG_EXECUTION_MODE_UNKNOWN, &link->why);

    find_waits(chain, number, request, &waits);
    if (!r && waits.has_failed)
        r = nn_fail(&link->why, ANEURALNETWORKS_OP_FAILED,
                    "a part of the model that it depends on failed");
    own.n_fences = waits.n;
    own.fences = waits.fences;
    if (!r)
        r = nn_rt_fenced_launch(link->execution, &own, &link->why, &link->fenced);
    if (r == NN_RT_FENCED_E_UNSUITED)
        r = nn_fail(&link->why, ANEURALNETWORKS_DEAD_OBJECT, "%s has died",
                    chain->plan->devices[chain->plan->parts[number].device].name);
    if (!r)
        link->session = nn_rt_session_ref(link->execution->binding.prepared->session);
    return r;
}

int nn_rt_chain_launch(ANeuralNetworksExecution *execution,
                       const struct nn_rt_fenced_request *request, struct nn_why *why,
                       struct nn_rt_chain **ret_chain)
{
    _cleanup_(nn_rt_chain_freep) struct nn_rt_chain *chain = NULL;
    int r = is_suited(execution, request) ? chain_new(execution, why, &chain)
                                          : NN_RT_FENCED_E_UNSUITED;

    if (r)
        return r;
    execution->device = execution->compilation->device;
    for (uint32_t i = 0; i < chain->plan->n_parts; i++) {
        struct link *link = &chain->links[chain->plan->order[i]];

        if (link->execution)
            link->result = launch_link(chain, chain->plan->order[i], request);
    }
    nn_rt_reply_accept_launch(execution);
    *ret_chain = steal_ptr(&chain);
    return 0;
}

int nn_rt_chain_dup_fence(const struct nn_rt_chain *chain)
{
    const struct link *last = &chain->links[chain->last];
    int signaller, fence;

    if (!last->result)
        return last->fenced.fence_fd < 0 ? -1 : fcntl(last->fenced.fence_fd, F_DUPFD_CLOEXEC, 3);
    if (nn_fence_new(&signaller, &fence))
        return -1;
    close(signaller);
    return fence;
}

/* -- the end -------------------------------------------------------------------------------- */

void nn_rt_chain_wait(const struct nn_rt_chain *chain, uint64_t deadline_ns)
{
    for (uint32_t i = 0; i < chain->plan->n_parts; i++) {
        const struct link *link = &chain->links[chain->plan->order[i]];

        if (link->session && link->fenced.fence_fd >= 0)
            nn_rt_fenced_wait(link->session, link->fenced.fence_fd, deadline_ns);
    }
}

static void tell_link(const struct nn_rt_chain *chain, uint32_t number)
{
    ANeuralNetworksDevice *device = chain->plan->devices[chain->plan->parts[number].device].device;

    chain->whole->parts[number] = (struct nnhal_part_info){
        .n_parts = chain->plan->n_parts, .device = device, .planned = device, .why = ""};
}

/* Makers first, so that the first failure is none of a dependency. */
int nn_rt_chain_collect(struct nn_rt_chain *chain, uint64_t deadline_ns, struct nn_why *why)
{
    int first = 0;

    for (uint32_t i = 0; i < chain->plan->n_parts; i++) {
        uint32_t number = chain->plan->order[i];
        struct link *link = &chain->links[number];
        int r = link->result;

        tell_link(chain, number);
        if (!link->execution)
            continue;
        if (!r)
            r = nn_rt_fenced_collect(link->execution, &link->fenced, deadline_ns, &link->why);
        nn_rt_execution_end(link->execution, r);
        if (r && !first)
            *why = link->why;
        first = first ? first : r;
    }
    if (first)
        nn_rt_reply_mark_outputs(chain->whole, false);
    return first;
}
