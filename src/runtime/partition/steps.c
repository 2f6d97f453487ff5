/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/steps.h"

#include "base/error.h"
#include "base/log.h"

#include <string.h>

struct nn_rt_steps {
    const struct nn_rt_plan *plan;
    struct nn_arena memory; /* of arrays */
    struct nn_rt_exchange exchange;
    struct nn_rt_step *steps; /* per part, in the plan's order */
    uint32_t n_errands;
    struct nn_rt_errand **errands; /* of those that are computed together */
    bool needs_whole;
    bool lacks_room;   /* the last computation ended for that: what was made is there */
    bool is_evacuated; /* the last computation lost what lay in a device */
};

/* -- making and ending ------------------------------------------------------------- */

static struct nn_rt_steps *steps_free(struct nn_rt_steps *steps)
{
    if (!steps)
        return NULL;
    /* Before the places: a part's arguments refer to them. */
    for (uint32_t i = 0; steps->steps && i < steps->plan->n_parts; i++)
        nn_rt_step_done(&steps->steps[i]);
    nn_rt_exchange_clear(&steps->exchange);
    nn_arena_done(&steps->memory);
    free(steps);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_rt_steps, steps_free)

static int make_steps(struct nn_rt_steps *steps, struct nn_why *why)
{
    const struct nn_rt_plan *plan = steps->plan;
    int r = 0;

    steps->steps = nn_arena_new_n(&steps->memory, struct nn_rt_step, plan->n_parts);
    steps->errands = nn_arena_new_n(&steps->memory, struct nn_rt_errand *, plan->n_parts);
    if (!steps->steps || !steps->errands)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < plan->n_parts; i++)
        r = nn_rt_step_init(&steps->steps[i], &steps->exchange, plan->order[i], why);
    return r;
}

/* A part's arguments refer to places: none may while those change. */
static void steps_let_go(struct nn_rt_steps *steps)
{
    for (uint32_t i = 0; i < steps->plan->n_parts; i++)
        nn_rt_step_rest(&steps->steps[i]);
}

static void steps_rest(struct nn_rt_steps *steps)
{
    steps->lacks_room = steps->is_evacuated = false;
    steps_let_go(steps);
    nn_rt_exchange_clear(&steps->exchange);
}

static int steps_new(ANeuralNetworksExecution *whole, struct nn_why *why,
                     struct nn_rt_steps **ret_steps)
{
    _cleanup_(steps_freep) struct nn_rt_steps *steps = calloc(1, sizeof(*steps));
    int r;

    if (!steps)
        return nn_error_origin(-ENOMEM);
    nn_arena_init(&steps->memory, 0);
    steps->plan = whole->compilation->plan;
    r = nn_rt_exchange_init(&steps->exchange, whole, &steps->memory);
    if (!r)
        r = make_steps(steps, why);
    if (!r)
        r = nn_rt_execution_make_parts(whole, steps->plan->n_parts);
    if (r)
        return r;
    whole->free_steps = steps_free;
    whole->rest_steps = steps_rest;
    *ret_steps = steal_ptr(&steps);
    return 0;
}

/* -- computing --------------------------------------------------------------------- */

static int steps_place(struct nn_rt_steps *steps)
{
    int r;

    for (uint32_t i = 0; i < steps->plan->n_parts; i++)
        steps->steps[i].is_made = false;
    if (steps->is_evacuated)
        steps_rest(steps);
    nn_rt_exchange_settle(&steps->exchange);
    r = nn_rt_exchange_begin(&steps->exchange);
    if (r || nn_rt_exchange_fits(&steps->exchange))
        return r;
    steps_let_go(steps);
    return nn_rt_exchange_place(&steps->exchange);
}

/* Until its part is computed an output is as the application declared it. */
static void reset_shapes(ANeuralNetworksExecution *execution)
{
    for (uint32_t i = 0; i < execution->arguments.n_outputs; i++) {
        execution->shapes[i].is_sufficient = true;
        execution->shapes[i].n_dims = execution->arguments.outputs[i].n_dims;
        memcpy(execution->shapes[i].dims, execution->arguments.outputs[i].dims,
               sizeof(execution->shapes[i].dims));
    }
}

/* Whether values of the batch may still be written to by a process that was given up. Outputs of the
 * whole are: that marks the whole. */
static bool find_haunted(const struct nn_rt_steps *steps, const struct nn_rt_step *batch,
                         uint32_t n)
{
    bool is_haunted = false;

    for (uint32_t i = 0; i < n; i++)
        is_haunted |= nn_rt_step_is_haunted(&batch[i], &steps->exchange);
    return is_haunted;
}

/* The process of a part that was given up may wake up and write while others read what was computed in
 * its place: all of the batch is computed once more, in memory that it does not have. */
static int repeat_haunted(struct nn_rt_steps *steps, struct nn_rt_step *batch, uint32_t n,
                          struct nn_why *why)
{
    bool is_haunted = true;

    for (uint32_t i = 0; is_haunted && i < NN_RT_PLACE_ATTEMPTS; i++) {
        int r = nn_rt_exchange_move(&steps->exchange);

        for (uint32_t j = 0; !r && j < n; j++) {
            r = nn_rt_step_repeat(&batch[j], &steps->exchange);
            if (r > 0)
                *why = batch[j].why;
        }
        is_haunted = find_haunted(steps, batch, n);
        if (r)
            return r;
    }
    return !is_haunted ? 0
                       : nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                                 "the process of a device ends in each attempt of a part");
}

/* All of a batch, but for what it has made already. Returns: as nn_rt_step_begin(), with how many have
 * begun. */
static int begin_batch(struct nn_rt_steps *steps, struct nn_rt_step *batch, uint32_t n,
                       const struct nn_rt_steps_calls *calls, struct nn_why *why,
                       uint32_t *ret_begun)
{
    int r = 0;

    steps->n_errands = 0;
    for (*ret_begun = 0; !r && *ret_begun < n; (*ret_begun)++) {
        struct nn_rt_step *step = &batch[*ret_begun];

        if (step->is_made)
            continue;
        r = nn_rt_step_begin(step, &steps->exchange, calls, why);
        steps->needs_whole |= step->needs_whole_model;
        if (step->execution)
            steps->errands[steps->n_errands++] = &step->errand;
    }
    return r;
}

/* Those that have run. Returns: the first failure, with its sentence. */
static int finish_batch(struct nn_rt_steps *steps, struct nn_rt_step *batch, uint32_t n,
                        struct nn_why *why)
{
    int r = 0;

    for (uint32_t i = 0; i < n; i++) {
        bool has_run = batch[i].execution && !batch[i].is_made;
        int own = has_run ? nn_rt_step_finish(&batch[i], &steps->exchange) : 0;

        if (own && !r)
            *why = batch[i].why;
        r = r ? r : own;
    }
    return r;
}

/* Between their beginnings and their ends other threads compute, which touch nothing but their step. */
static int compute_batch(struct nn_rt_steps *steps, struct nn_rt_step *batch, uint32_t n,
                         const struct nn_rt_steps_calls *calls, struct nn_why *why)
{
    uint32_t n_begun;
    bool is_haunted;
    int r = begin_batch(steps, batch, n, calls, why, &n_begun);

    if (!r) {
        nn_rt_wave_run(steps->errands, steps->n_errands);
        r = finish_batch(steps, batch, n, why);
    }
    is_haunted = find_haunted(steps, batch,
                              n_begun); /* also of what failed: it may be computed elsewhere */
    if (!r && is_haunted)
        r = repeat_haunted(steps, batch, n, why);
    for (uint32_t i = 0; i < n_begun; i++)
        nn_rt_step_tell(&batch[i], &steps->exchange);
    return r;
}

/* In the plan's order. */
static int compute_batches(struct nn_rt_steps *steps, const struct nn_rt_steps_calls *calls,
                           struct nn_why *why)
{
    int r = 0;

    steps->needs_whole = false;
    for (uint32_t i = 0, first = 0; !r && i < steps->plan->n_batches; i++) {
        r = compute_batch(steps, &steps->steps[first], steps->plan->batches[i], calls, why);
        first += steps->plan->batches[i];
    }
    return r;
}

/* All of it once more, with every value in shared memory: the next process may end, too. */
static int compute_evacuated(struct nn_rt_steps *steps, ANeuralNetworksExecution *execution,
                             const struct nn_rt_steps_calls *calls, struct nn_why *why)
{
    int r;

    nn_log("execution", NN_LOG_INFO, "%s; all parts are computed again, in shared memory",
           why->text);
    execution->device = execution->compilation->device;
    nn_rt_execution_clear_inner_failure(execution);
    for (uint32_t i = 0; i < steps->plan->n_parts; i++)
        nn_rt_step_renew(&steps->steps[i]);
    steps_let_go(steps);
    r = nn_rt_exchange_evacuate(&steps->exchange);
    if (r)
        return r;
    steps->is_evacuated = true;
    reset_shapes(execution);
    return compute_batches(steps, calls, why);
}

int nn_rt_steps_compute(ANeuralNetworksExecution *execution, const struct nn_rt_steps_calls *calls,
                        struct nn_why *why)
{
    struct nn_rt_steps *steps;
    int r = 0;

    if (!execution->steps)
        r = steps_new(execution, why, &execution->steps);
    if (r)
        return r;
    steps = execution->steps;
    if (!execution->is_continued || !steps->lacks_room) {
        reset_shapes(execution);
        r = steps_place(steps);
    }
    if (!r)
        r = compute_batches(steps, calls, why);
    if (nn_result_blames_device(r) && nn_rt_exchange_has_lost(&steps->exchange))
        r = compute_evacuated(steps, execution, calls, why);
    steps->lacks_room = r == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
    return r;
}

bool nn_rt_steps_need_whole(const struct nn_rt_steps *steps)
{
    return steps && steps->needs_whole;
}
