/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/run.h"

#include "base/arith.h"
#include "base/error.h"
#include "drivers/cpu/executor/epilogue.h"
#include "model/infer.h"
#include "model/types.h"

#include <string.h>

/* ---- one plan ---- */

static int reserve_arena(struct nn_run *run, const struct nn_plan_header *header,
                         uint64_t *ret_scratch, uint64_t *ret_workers, uint64_t *ret_stride)
{
    struct nn_workspace *workspace = run->workspace;
    uint64_t workers, total;

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
    total = total / NN_PLAN_ALIGNMENT * NN_PLAN_ALIGNMENT;
    workspace->arena = aligned_alloc(NN_PLAN_ALIGNMENT, total);
    workspace->arena_bytes = workspace->arena ? total : 0;
    return workspace->arena ? 0 : nn_error_origin(-ENOMEM);
}

static int reserve_tensors(struct nn_workspace *workspace, uint32_t n)
{
    struct nn_tensor *tensors;

    if (n <= workspace->n_tensors)
        return 0;
    tensors = reallocarray(workspace->tensors, n, sizeof(*tensors));
    if (!tensors)
        return nn_error_origin(-ENOMEM);
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
        r = nn_slot_shape(slot, graph->values[writes[i].value].type, value->n_dims,
                          dims + value->first_dim);
        if (!r)
            r = nn_slot_reserve(slot, graph->values[writes[i].value].type);
        if (r)
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
        nn_refuse(&run->why, "%s: an operand is not where the plan says", kernel->name);
        return NN_EXEC_E_REFUSED;
    }
    return 0;
}

/* Everything that a step is called with, and the steps behind it that it is fused with. */
static int prepare_step(struct nn_run *run, const struct nn_plan_step *step,
                        struct nn_kernel_args *args, struct nn_epilogue_step *epilogue)
{
    int r = nn_run_stopped(run);

    if (!r)
        r = fill_args(run, step, nn_kernel_at(step->kernel), args);
    for (uint32_t i = 0; !r && i < args->n_epilogue; i++) {
        epilogue[i] = (struct nn_epilogue_step){nn_kernel_at(step[i + 1].kernel), *args};
        epilogue[i].args.n_epilogue = 0;
        r = fill_args(run, &step[i + 1], epilogue[i].kernel, &epilogue[i].args);
    }
    run->step = step;
    args->epilogue = epilogue;
    return r;
}

/* What a kernel's result means for the run. */
static int step_result(struct nn_run *run, const struct nn_kernel *kernel, int r)
{
    if (r == NN_KERNEL_E_CANCELLED) {
        r = nn_run_stopped(run);
        return r ? r : NN_EXEC_E_CANCELLED;
    }
    if (r > 0)
        nn_why_prefix(&run->why, "%s: ", kernel->name);
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
    struct nn_kernel_args args = {.run = run};
    struct nn_epilogue_step epilogue[NN_EPILOGUE_MAX];
    uint64_t scratch, workers;
    int r = reserve_arena(run, header, &scratch, &workers, &args.worker_scratch_stride);

    if (!r)
        r = reserve_tensors(run->workspace, header->refs.n);
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
        r = prepare_step(run, &steps[i], &args, epilogue);
        if (!r)
            r = step_result(run, kernel, nn_epilogue_run_head(kernel, &args));
    }
    return r;
}

/* ---- a graph ---- */

int nn_run_graph(struct nn_run *run, uint32_t graph, struct nn_frame *frame)
{
    uint32_t node = 0;
    enum nn_plan_end end = NN_PLAN_CUT;
    int r;

    while (end != NN_PLAN_DONE) {
        struct nn_program_plan *plan;

        r = nn_program_get_plan(run->program, graph, node, frame, &run->why, &plan);
        if (r)
            return r < 0 ? nn_error_trace(r) : NN_EXEC_E_REFUSED;
        run->graph = graph;
        run->frame = frame;
        run->plan = &plan->plan;
        r = run_plan(run);
        end = nn_plan_header(&plan->plan)->end;
        node = nn_plan_header(&plan->plan)->end_node;
        nn_program_put_plan(run->program, plan);
        if (!r && end == NN_PLAN_CONTROL)
            r = nn_run_control(run, graph, node++, frame);
        if (r)
            return r;
        if (node >= run->program->graphs[graph].graph.n_nodes)
            end = NN_PLAN_DONE;
    }
    return 0;
}

/* ---- an execution ---- */

static int bind_input(struct nn_run *run, const struct nn_value *value, struct nn_slot *slot,
                      const struct nnhal_input *input)
{
    uint32_t element = nn_type_bytes(value->type);
    int r;

    slot->scale = value->scale;
    slot->zero_point = value->zero_point;
    if (input->is_omitted) {
        slot->is_omitted = true;
        return 0;
    }
    r = nn_slot_shape(slot, value->type, input->n_dimensions, input->dimensions);
    if (r)
        return nn_error_trace(r);
    if (slot->size > input->size || (slot->size && !input->data)) {
        nn_refuse(&run->why, "an input is smaller than its shape needs");
        return NN_EXEC_E_REFUSED;
    }
    r = nn_run_declared(run, value, slot);
    if (r)
        return r;
    if ((uintptr_t)input->data % (element ? element : 1))
        return nn_error_trace(nn_slot_copy_in(slot, input->data));
    slot->data = (void *)(uintptr_t)input->data;
    return 0;
}

static int bind_arguments(struct nn_run *run, struct nn_frame *frame,
                          struct nnhal_execution *execution)
{
    const struct nn_graph *graph = &run->program->graphs[0].graph;

    if (execution->n_inputs != graph->n_inputs || execution->n_outputs != graph->n_outputs) {
        nn_refuse(&run->why, "the number of arguments is not the model's");
        return NN_EXEC_E_REFUSED;
    }
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        int r = bind_input(run, &graph->values[graph->inputs[i]], &frame->slots[graph->inputs[i]],
                           &execution->inputs[i]);

        if (r)
            return r;
    }
    for (uint32_t i = 0; i < graph->n_outputs; i++) {
        struct nn_slot *slot = &frame->slots[graph->outputs[i]];

        execution->outputs[i].is_insufficient = 0;
        if (!execution->outputs[i].is_omitted && execution->outputs[i].data) {
            slot->bound = execution->outputs[i].data;
            slot->bound_bytes = execution->outputs[i].capacity;
        }
    }
    return 0;
}

static int give_output(struct nn_run *run, const struct nn_slot *slot, struct nnhal_output *output)
{
    uint32_t n, dims[NNHAL_MAX_RANK];

    if (!slot->is_known || !nn_dims_merge(output->n_dimensions, output->dimensions, slot->n_dims,
                                          slot->dims, &n, dims)) {
        nn_refuse(&run->why, "an output's shape contradicts the one that was asked for");
        return NN_EXEC_E_REFUSED;
    }
    output->n_dimensions = slot->n_dims;
    memcpy(output->dimensions, slot->dims, sizeof(output->dimensions));
    if (output->is_omitted)
        return 0;
    if (slot->size > output->capacity || (slot->size && !output->data)) {
        output->is_insufficient = 1;
        return NN_EXEC_E_INSUFFICIENT;
    }
    if (slot->size && slot->data != output->data)
        memcpy(output->data, slot->data, slot->size);
    return 0;
}

static int give_outputs(struct nn_run *run, const struct nn_frame *frame,
                        struct nnhal_execution *execution)
{
    const struct nn_graph *graph = &run->program->graphs[0].graph;
    int result = 0;

    for (uint32_t i = 0; i < graph->n_outputs; i++) {
        int r = give_output(run, &frame->slots[graph->outputs[i]], &execution->outputs[i]);

        if (r && r != NN_EXEC_E_INSUFFICIENT)
            return r;
        if (r)
            result = r;
    }
    return result;
}

int nn_exec(struct nn_program *program, struct nnhal_execution *execution, struct nn_why *why)
{
    struct nn_run run = {.program = program,
                         .team = program->team,
                         .deadline_ns = execution->deadline_ns,
                         .loop_timeout_ns = execution->loop_timeout_ns,
                         .is_cancelled = execution->is_cancelled,
                         .is_alone = execution->may_stall != 0};
    struct nn_program_frame *frame;
    int r = nn_program_get_workspace(program, &run.workspace);

    if (r)
        return nn_error_trace(r);
    r = nn_program_get_frame(program, 0, &frame);
    if (r) {
        nn_program_put_workspace(program, run.workspace);
        return nn_error_trace(r);
    }
    r = bind_arguments(&run, &frame->frame, execution);
    nn_team_enter(run.team);
    if (!r)
        r = nn_run_graph(&run, 0, &frame->frame);
    nn_team_leave(run.team);
    if (!r)
        r = give_outputs(&run, &frame->frame, execution);
    nn_program_put_frame(program, 0, frame);
    nn_program_put_workspace(program, run.workspace);
    *why = run.why;
    return r;
}
