/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/exec.h"

#include "base/error.h"
#include "drivers/cpu/executor/control.h"
#include "model/infer.h"
#include "model/types.h"

#include <stddef.h>
#include <string.h>

/* A slot borrows the application's memory. What is misaligned for its type is copied: kernels
 * load elements, not bytes. */
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
        nn_refuse(run->why, "an input is smaller than its shape needs");
        return NN_EXEC_E_REFUSED;
    }
    r = nn_run_declared(run, value, slot);
    if (r)
        return r;
    if ((uintptr_t)input->data % (element ? element : 1)) {
        r = nn_slot_copy_in(slot, input->data, run->stop);
        return r ? nn_error_trace(r) : nn_stop_outcome(run->stop);
    }
    slot->data = (void *)(uintptr_t)input->data;
    return 0;
}

/* Outputs are bound before anything runs, so that the last step writes to where they are
 * wanted; one without memory gets a buffer of the frame, and only its shape is told. */
static int bind_arguments(struct nn_run *run, struct nn_frame *frame,
                          struct nnhal_execution *execution)
{
    const struct nn_graph *graph = &run->program->graphs[0].graph;

    if (execution->n_inputs != graph->n_inputs || execution->n_outputs != graph->n_outputs) {
        nn_refuse(run->why, "the number of arguments is not the model's");
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

/* The shape is told also when the memory is too small: the caller asks again with more. */
static int give_output(struct nn_run *run, const struct nn_slot *slot, struct nnhal_output *output)
{
    struct nn_pace pace = nn_pace(run->stop);
    uint32_t n, dims[NNHAL_MAX_RANK];

    if (!slot->is_known || !nn_dims_merge(output->n_dimensions, output->dimensions, slot->n_dims,
                                          slot->dims, &n, dims)) {
        nn_refuse(run->why, "an output's shape contradicts the one that was asked for");
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
        nn_pace_copy(&pace, output->data, slot->data, slot->size);
    return nn_stop_outcome(run->stop);
}

/* One output that does not fit does not keep the shapes of the others from being told. */
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
    struct nn_stop stop = {
        .deadline_ns = execution->deadline_ns,
        .is_cancelled = execution->is_cancelled,
        .turn = execution->size > offsetof(struct nnhal_execution, turn) ? execution->turn : NULL};
    struct nn_run run = {.program = program,
                         .team = program->team,
                         .stop = &stop,
                         .loop_timeout_ns = execution->loop_timeout_ns,
                         .is_alone = execution->may_stall != 0,
                         .why = why};
    int r = nn_program_get_seat(program, &run.seat);

    if (r)
        return nn_error_trace(r);
    run.workspace = &run.seat->workspace;
    if (execution->size > offsetof(struct nnhal_execution, report_ctx)) {
        run.report_step = execution->report_step;
        run.report_ctx = execution->report_ctx;
    }
    r = bind_arguments(&run, &run.seat->frame, execution);
    if (!r)
        r = nn_run_graph(&run, 0, &run.seat->frame);
    if (!r)
        r = give_outputs(&run, &run.seat->frame, execution);
    nn_program_put_seat(program, run.seat);
    return r;
}
