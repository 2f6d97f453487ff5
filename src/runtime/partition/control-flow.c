/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/control-flow.h"

#include "base/arith.h"
#include "base/error.h"
#include "base/sys.h"
#include "runtime/copy-count.h"
#include "runtime/partition/branches.h"
#include "shm/region.h"

#include <string.h>

/* By the operands of the operation. */
enum { IF_THEN, IF_ELSE };
enum { WHILE_CONDITION, WHILE_BODY };

static struct nn_rt_branches *branches_free(struct nn_rt_branches *branches)
{
    if (!branches)
        return NULL;
    nn_rt_branches_done(branches);
    free(branches);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_rt_branches, branches_free)

static int branches_new(ANeuralNetworksExecution *execution)
{
    _cleanup_(branches_freep) struct nn_rt_branches *branches = calloc(1, sizeof(*branches));
    int r;

    if (!branches)
        return nn_error_origin(-ENOMEM);
    r = nn_rt_branches_init(branches, execution);
    if (r)
        return r;
    execution->branches = steal_ptr(&branches);
    execution->free_branches = branches_free;
    execution->rest_branches = nn_rt_branches_rest;
    return 0;
}

/* -- the end of a loop --------------------------------------------------------------- */

/* The shape of output i of the operation, which is output of the whole. */
static int set_shape(const struct nn_rt_branches *branches, uint32_t output,
                     const struct nn_rt_value *known, struct nn_why *why)
{
    /* The reference computes it. */
    if (nn_rt_argument_is_opaque(&branches->whole->arguments.outputs[output]))
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                       "output %u, a picture, cannot be that of a loop that devices share", output);
    if (!nn_rt_branches_fit_output(branches, output, known, &branches->whole->shapes[output]))
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                       "output %u of the loop ends with dimensions that contradict the model's",
                       output);
    return 0;
}

static int set_shapes(const struct nn_rt_branches *branches, enum nn_rt_row row, struct nn_why *why)
{
    bool is_short = false;
    int r = 0;

    for (uint32_t i = 0; !r && i < branches->operation->n_outputs; i++) {
        uint32_t output = nn_rt_branches_find_output(branches, i);
        const struct nn_rt_value *known;

        if (output == NN_RT_PLAN_NONE)
            continue;
        nn_rt_branches_state(branches, row, i, &known);
        r = set_shape(branches, output, known, why);
        is_short |= !r && !branches->whole->shapes[output].is_sufficient;
    }
    if (r || !is_short)
        return r;
    return nn_fail(why, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
                   "an output of the loop has less room than it needs");
}

static int write_memory(const struct nn_rt_argument *from, const struct nn_rt_argument *to,
                        struct nn_why *why)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    int r = nn_rt_memory_map(to->memory, why, &region), end;

    if (r)
        return r;
    if (!nn_region_is_writable(region) ||
        !nn_range_fits(to->offset, from->length, nn_region_size(region)))
        return nn_fail(why, ANEURALNETWORKS_UNMAPPABLE,
                       "the memory of an output cannot be written");
    r = nn_region_begin_access(region, true);
    if (r)
        return nn_error_trace(r);
    r = nn_rt_memory_read(from->memory, from->offset,
                          (uint8_t *)nn_region_data(region) + to->offset, from->length, why);
    end = nn_region_end_access(region, true);
    return r ? r : nn_error_trace(end);
}

/* A loop that ran no body may end where it began: in a memory of the application. */
static int copy_value(const struct nn_rt_argument *from, const struct nn_rt_argument *to,
                      struct nn_why *why)
{
    bool is_there = to->kind == NN_ARGUMENT_MEMORY && to->memory == from->memory &&
                    to->offset == from->offset;

    if (!from->length || to->kind == NN_ARGUMENT_OMITTED || is_there)
        return 0;
    nn_rt_copy_count_add(from->length);
    if (to->kind == NN_ARGUMENT_MEMORY)
        return write_memory(from, to, why);
    return nn_rt_memory_read(from->memory, from->offset, to->pointer, from->length, why);
}

static int copy_outputs(const struct nn_rt_branches *branches, enum nn_rt_row row,
                        struct nn_why *why)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < branches->operation->n_outputs; i++) {
        uint32_t output = nn_rt_branches_find_output(branches, i);
        const struct nn_rt_value *known;
        struct nn_rt_argument from;

        if (output == NN_RT_PLAN_NONE)
            continue;
        from = nn_rt_branches_state(branches, row, i, &known);
        r = copy_value(&from, &branches->whole->arguments.outputs[output], why);
    }
    return r;
}

/* -- running ----------------------------------------------------------------------- */

static int read_given_condition(const struct nn_rt_branches *branches, struct nn_why *why,
                                bool *ret_is_true)
{
    const struct nn_rt_argument given = nn_rt_branches_find_given(branches,
                                                                  branches->operation->inputs[0]);
    uint8_t byte = 0;
    int r = 0;

    if (given.kind == NN_ARGUMENT_OMITTED)
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED, "the condition of IF has no value");
    if (given.kind == NN_ARGUMENT_POINTER)
        byte = *(const uint8_t *)given.pointer;
    else
        r = nn_rt_memory_read(given.memory, given.offset, &byte, sizeof(byte), why);
    *ret_is_true = byte != 0;
    return r;
}

static int run_if(struct nn_rt_branches *branches, const struct nn_rt_steps_calls *calls,
                  struct nn_why *why)
{
    int r = branches->whole->is_continued ? 0
                                          : read_given_condition(branches, why, &branches->is_true);

    if (r)
        return r;
    return nn_rt_branches_call(branches, branches->is_true ? IF_THEN : IF_ELSE, NN_RT_ROW_START,
                               calls, why);
}

static uint64_t loop_limit(const ANeuralNetworksExecution *execution)
{
    return execution->loop_timeout_ns == NNHAL_NO_TIME ? NNHAL_DEFAULT_LOOP_TIMEOUT_NS
                                                       : execution->loop_timeout_ns;
}

/* Between two rounds. */
static int check_time(const struct nn_rt_branches *branches, uint64_t begin_ns,
                      uint64_t deadline_ns, struct nn_why *why)
{
    uint64_t now_ns = nn_sys_now_ns();

    if (now_ns - begin_ns > loop_limit(branches->whole))
        return nn_fail(why, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
                       "a WHILE ran longer than the loop timeout");
    if (now_ns >= deadline_ns)
        return nn_fail(why, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
                       "the deadline passed between two rounds of a WHILE");
    return 0;
}

/* Returns: 0 with the row that the loop ends with; others. */
static int run_rounds(struct nn_rt_branches *branches, const struct nn_rt_steps_calls *calls,
                      uint64_t deadline_ns, struct nn_why *why, enum nn_rt_row *ret_row)
{
    uint64_t begin_ns = nn_sys_now_ns();
    enum nn_rt_row row = NN_RT_ROW_START;

    for (;;) {
        int r = nn_rt_branches_call(branches, WHILE_CONDITION, row, calls, why);

        *ret_row = row;
        if (r || !nn_rt_branches_condition(branches))
            return r;
        r = check_time(branches, begin_ns, deadline_ns, why);
        if (!r)
            r = nn_rt_branches_call(branches, WHILE_BODY, row, calls, why);
        if (r)
            return r;
        row = nn_rt_branches_next(row);
    }
}

static int run_while(struct nn_rt_branches *branches, const struct nn_rt_steps_calls *calls,
                     uint64_t deadline_ns, struct nn_why *why)
{
    int r = 0;

    if (!branches->lacks_room)
        r = run_rounds(branches, calls, deadline_ns, why, &branches->last);
    if (!r)
        r = set_shapes(branches, branches->last, why);
    branches->lacks_room = r == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
    return r ? r : copy_outputs(branches, branches->last, why);
}

int nn_rt_control_flow_compute(ANeuralNetworksExecution *execution,
                               const struct nn_rt_steps_calls *calls, uint64_t deadline_ns,
                               struct nn_why *why)
{
    int r = nn_rt_execution_check_inputs(execution, why);

    if (!r && !execution->branches)
        r = branches_new(execution);
    if (!r && !(execution->is_continued && execution->branches->lacks_room))
        r = nn_rt_branches_begin(execution->branches);
    if (r)
        return r;
    return execution->branches->is_loop ? run_while(execution->branches, calls, deadline_ns, why)
                                        : run_if(execution->branches, calls, why);
}
