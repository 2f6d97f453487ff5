/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/run.h"

#include "base/arith.h"
#include "base/block.h"
#include "base/error.h"
#include "drivers/cpu/executor/epilogue.h"
#include "drivers/cpu/executor/report.h"
#include "model/types.h"

#include <string.h>

/* ---- one plan ---- */

/* The arena, the scratch of a step and that of each worker are one block, in this order. It
 * only grows, and its old contents are not kept: nothing in it lives from plan to plan. */
static int reserve_arena(struct nn_run *run, const struct nn_plan_header *header,
                         uint64_t *ret_scratch, uint64_t *ret_workers, uint64_t *ret_stride)
{
    struct nn_workspace *workspace = run->workspace;
    const struct nn_meter *meter = run->program->meter;
    uint64_t workers, total;
    int r;

    if (!nn_align_up(header->arena_bytes, NN_PLAN_ALIGNMENT, ret_scratch) ||
        !nn_add_u64(*ret_scratch, header->scratch_bytes, &workers) ||
        !nn_align_up(workers, NN_PLAN_ALIGNMENT, ret_workers) ||
        !nn_align_up(header->worker_scratch_bytes, NN_PLAN_ALIGNMENT, ret_stride) ||
        !nn_mul_u64(*ret_stride, nn_team_size(run->team), &total) ||
        !nn_add_u64(total, *ret_workers, &total) || !nn_add_u64(total, NN_PLAN_ALIGNMENT, &total))
        return nn_error_origin(-ENOMEM);
    if (total <= workspace->arena_bytes)
        return 0;
    free(workspace->arena);
    nn_meter_uncharge(meter, workspace->arena_bytes);
    workspace->arena = NULL;
    workspace->arena_bytes = 0;
    total = total / NN_PLAN_ALIGNMENT * NN_PLAN_ALIGNMENT;
    r = nn_meter_charge(meter, total);
    if (r < 0)
        return nn_error_trace(r);
    workspace->arena = nn_block_new(total);
    if (!workspace->arena) {
        nn_meter_uncharge(meter, total);
        return nn_error_origin(-ENOMEM);
    }
    nn_block_touch(workspace->arena, total);
    workspace->arena_bytes = total;
    return 0;
}

static int reserve_tensors(struct nn_run *run, uint32_t n)
{
    struct nn_workspace *workspace = run->workspace;
    struct nn_tensor *tensors;
    uint64_t n_more;
    int r;

    if (n <= workspace->n_tensors)
        return 0;
    n_more = (n - workspace->n_tensors) * sizeof(*tensors);
    r = nn_meter_charge(run->program->meter, n_more);
    if (r < 0)
        return nn_error_trace(r);
    tensors = reallocarray(workspace->tensors, n, sizeof(*tensors));
    if (!tensors) {
        nn_meter_uncharge(run->program->meter, n_more);
        return nn_error_origin(-ENOMEM);
    }
    workspace->tensors = tensors;
    workspace->n_tensors = n;
    return 0;
}

/* Gives memory to the slots that the plan writes. */
static int open_writes(struct nn_run *run)
{
    const struct nn_plan_header *header = nn_plan_header(run->plan);
    const struct nn_graph *graph = &run->program->graphs[run->graph].graph;
    const struct nn_plan_write *writes = nn_plan_at(run->plan, &header->writes);
    const struct nn_plan_value *values = nn_plan_at(run->plan, &header->values);
    const uint32_t *dims = nn_plan_at(run->plan, &header->dims);

    for (uint32_t i = 0; i < header->writes.n; i++) {
        const struct nn_plan_value *value = &values[writes[i].plan_value];
        struct nn_slot *slot = &run->frame->slots[writes[i].value];
        int r;

        if (writes[i].is_late)
            continue;
        if ((r = nn_slot_shape(slot, graph->values[writes[i].value].type, value->n_dims,
                               dims + value->first_dim)) ||
            (r = nn_slot_reserve(slot, graph->values[writes[i].value].type)))
            return nn_error_trace(r);
        slot->scale = value->scale;
        slot->zero_point = value->zero_point;
    }
    return 0;
}

/* Where the value is now; NULL while it is nowhere: a late output, or an omitted one. */
static uint8_t *value_address(const struct nn_run *run, const struct nn_plan_value *value)
{
    const struct nn_slot *slot;

    switch (value->space) {
    case NN_SPACE_ARENA:
        return run->workspace->arena + value->offset;
    case NN_SPACE_POOL:
        return (uint8_t *)(uintptr_t)run->program->pools[value->index].data + value->offset;
    case NN_SPACE_WEIGHTS:
        return run->plan->weights + value->offset;
    case NN_SPACE_SLOT:
        slot = &run->frame->slots[value->index];
        if (!slot->data || !nn_range_fits(value->offset, value->size, slot->size))
            return NULL;
        return (uint8_t *)slot->data + value->offset;
    default:
        return NULL;
    }
}

/* Addresses are found once per plan: slots keep their memory until it ends, but for late
 * outputs, whose tensors nn_output_resize() completes. */
static void look_up(struct nn_run *run)
{
    const struct nn_plan_header *header = nn_plan_header(run->plan);
    const struct nn_plan_value *values = nn_plan_at(run->plan, &header->values);
    const uint32_t *refs = nn_plan_at(run->plan, &header->refs);
    const uint32_t *dims = nn_plan_at(run->plan, &header->dims);

    for (uint32_t i = 0; i < header->refs.n; i++) {
        const struct nn_plan_value *value = &values[refs[i]];

        run->workspace->tensors[i] = (struct nn_tensor){.data = value_address(run, value),
                                                        .size = value->size,
                                                        .type = value->type,
                                                        .n_dims = value->n_dims,
                                                        .dims = dims + value->first_dim,
                                                        .scale = value->scale,
                                                        .zero_point = value->zero_point};
    }
}

/* A slot that is smaller than the plan believes has no address: a plan that was made for
 * other slots. */
static bool has_memory(const struct nn_tensor *tensors, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!tensors[i].data && tensors[i].size)
            return false;
    return true;
}

/* What the kernel of one step is called with. */
static int fill_args(struct nn_run *run, const struct nn_plan_step *step,
                     const struct nn_kernel *kernel, struct nn_kernel_args *args)
{
    args->params = run->plan->block + step->params;
    args->weights = step->weights_bytes ? run->plan->weights + step->weights : NULL;
    args->n_inputs = step->n_inputs;
    args->n_outputs = step->n_outputs;
    args->inputs = run->workspace->tensors + step->first_ref;
    args->outputs = run->workspace->tensors + step->first_ref + step->n_inputs;
    if (!has_memory(args->inputs, args->n_inputs) ||
        (!kernel->is_dynamic && !has_memory(args->outputs, args->n_outputs))) {
        nn_refuse(run->why, "%s: an operand is not where the plan says", kernel->name);
        return NN_EXEC_E_REFUSED;
    }
    return 0;
}

/* Everything that a step is called with, and the steps behind it that it is fused with. */
static int prepare_step(struct nn_run *run, const struct nn_plan_step *step,
                        const struct nn_kernel *kernel, struct nn_kernel_args *args,
                        struct nn_epilogue_step *epilogue)
{
    int r = nn_stop_look(run->stop);

    if (!r)
        r = fill_args(run, step, kernel, args);
    for (uint32_t i = 0; !r && i < args->n_epilogue; i++) {
        epilogue[i] = (struct nn_epilogue_step){nn_kernel_at(step[i + 1].kernel), *args};
        epilogue[i].args.n_epilogue = 0;
        r = fill_args(run, &step[i + 1], epilogue[i].kernel, &epilogue[i].args);
    }
    run->step = step;
    args->epilogue = epilogue;
    return r;
}

/* What a kernel's result means for the run. Once a look has found a reason to stop, the step
 * may have left work out, even if it returned 0. */
static int step_result(struct nn_run *run, const struct nn_kernel *kernel, int r)
{
    if (nn_stop_outcome(run->stop))
        return nn_stop_outcome(run->stop);
    if (r == NN_KERNEL_E_CANCELLED)
        return NN_EXEC_E_CANCELLED;
    if (r > 0)
        nn_why_prefix(run->why, "%s: ", kernel->name);
    return r > 0 ? NN_EXEC_E_REFUSED : nn_error_trace(r);
}

static uint32_t count_fused(const struct nn_plan_step *steps, uint32_t n)
{
    uint32_t count = 0;

    while (count < n && count < NN_EPILOGUE_MAX && steps[count].is_fused)
        count++;
    return count;
}

static int run_plan(struct nn_run *run)
{
    const struct nn_plan_header *header = nn_plan_header(run->plan);
    const struct nn_plan_step *steps = nn_plan_at(run->plan, &header->steps);
    struct nn_kernel_args args = {.run = run, .stop = run->stop};
    struct nn_epilogue_step epilogue[NN_EPILOGUE_MAX];
    uint64_t scratch, workers, begin_ns;
    int r = reserve_arena(run, header, &scratch, &workers, &args.worker_scratch_stride);

    if (!r)
        r = reserve_tensors(run, header->refs.n);
    if (!r)
        r = open_writes(run);
    if (r)
        return nn_error_trace(r);
    args.scratch = run->workspace->arena + scratch;
    args.worker_scratch = run->workspace->arena + workers;
    look_up(run);
    for (uint32_t i = 0; !r && i < header->steps.n; i += 1 + args.n_epilogue) {
        const struct nn_kernel *kernel = nn_kernel_at(steps[i].kernel);

        args.n_epilogue = count_fused(steps + i + 1, header->steps.n - i - 1);
        r = prepare_step(run, &steps[i], kernel, &args, epilogue);
        if (r)
            break;
        begin_ns = nn_report_begin(run);
        /* A kernel is called from here, not through a helper: a backtrace is long enough. */
        if (args.n_epilogue && !kernel->runs_epilogue)
            nn_epilogue_run_head(kernel, &args);
        else if (kernel->walk)
            kernel->walk(&args, kernel->element_cost, kernel->row);
        else
            r = kernel->run(&args);
        nn_report_end(run, &args, begin_ns);
        r = step_result(run, kernel, r);
    }
    return r;
}

/* ---- plan by plan ---- */

int nn_run_plans(struct nn_run *run, uint32_t graph, struct nn_frame *frame, uint32_t *node)
{
    const struct nn_plan_caller caller = {
        .stop = run->stop, .why = run->why, .meter = run->program->meter};
    uint32_t n_nodes = run->program->graphs[graph].graph.n_nodes;
    enum nn_plan_end end;
    int r;

    do {
        bool is_seats = run->seat && frame == &run->seat->frame && *node == 0;
        const struct nn_plan_header *header;
        struct nn_program_plan *plan;

        r = is_seats ? nn_program_get_seat_plan(run->program, run->seat, &caller, &plan)
                     : nn_program_get_plan(run->program, graph, *node, frame, &caller, &plan);
        if (r == NN_PROGRAM_E_STOPPED)
            return nn_stop_outcome(run->stop);
        if (r)
            return r < 0 ? nn_error_trace(r) : NN_EXEC_E_REFUSED;
        header = nn_plan_header(&plan->plan);
        run->graph = graph;
        run->frame = frame;
        run->plan = &plan->plan;
        r = run_plan(run);
        end = header->end;
        *node = end == NN_PLAN_DONE ? n_nodes : header->end_node;
        if (!is_seats)
            nn_program_put_plan(run->program, plan);
    } while (!r && end == NN_PLAN_CUT && *node < n_nodes);
    return r;
}
