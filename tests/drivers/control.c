/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t one[] = {1}, row[] = {CONTROL_N}, open_row[] = {0};

const struct control_trial control_usual = {
    .in = {0.5f, -1, 2, -3}, .is_true = 1, .n_out = CONTROL_MAX};

/* -- graphs ---------------------------------------------------------------------------- */

/* [row, count, ...] -> count < CONTROL_ROUNDS */
static uint32_t add_condition(struct builder *b, const uint32_t *dims, bool has_flag)
{
    static const float limit = CONTROL_ROUNDS;
    uint32_t graph = builder_add_graph(b), inputs[2], out;

    split_row(b, graph, NNHAL_SUBGRAPH_INPUT, dims);
    inputs[0] = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, one);
    if (has_flag)
        builder_input(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &limit, 4, 0);
    out = builder_output(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    builder_operation(b, graph, NNHAL_OP_LESS, 2, inputs, 1, &out);
    return graph;
}

/* The second output of a body is the second input and step more. */
static void add_count(struct builder *b, uint32_t graph, float step)
{
    uint32_t inputs[3], out;

    inputs[0] = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, one);
    inputs[1] = builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &step, 4, 0);
    inputs[2] = builder_i32(b, graph, 0);
    out = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, one);
    builder_operation(b, graph, NNHAL_OP_ADD, 3, inputs, 1, &out);
}

/* [row, count] -> [tanh(row) + row, count + step] */
static uint32_t add_body(struct builder *b, float step)
{
    uint32_t graph = builder_add_graph(b), inputs[3], out;
    uint32_t in = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, row);

    inputs[0] = builder_temporary(b, graph, NNHAL_TENSOR_FLOAT32, 1, row, 0, 0);
    inputs[1] = in;
    inputs[2] = builder_i32(b, graph, 0);
    out = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, row);
    builder_operation(b, graph, NNHAL_OP_TANH, 1, &in, 1, inputs);
    builder_operation(b, graph, NNHAL_OP_ADD, 3, inputs, 1, &out);
    add_count(b, graph, step);
    return graph;
}

/* [row, count] -> [row twice, count + 1] */
static uint32_t add_growing_body(struct builder *b)
{
    uint32_t graph = builder_add_graph(b), inputs[3], out;

    inputs[0] = inputs[1] = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, open_row);
    inputs[2] = builder_i32(b, graph, 0);
    out = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, open_row);
    builder_operation(b, graph, NNHAL_OP_CONCATENATION, 3, inputs, 1, &out);
    add_count(b, graph, 1);
    return graph;
}

static uint32_t add_branch(struct builder *b, uint32_t operation)
{
    uint32_t graph = builder_add_graph(b);
    uint32_t in = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, row);
    uint32_t out = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, row);

    builder_operation(b, graph, operation, 1, &in, 1, &out);
    return graph;
}

static void add_if(struct builder *b, uint32_t graph, uint32_t condition, uint32_t in, uint32_t out)
{
    const uint32_t inputs[] = {condition, builder_subgraph(b, graph, add_branch(b, NNHAL_OP_TANH)),
                               builder_subgraph(b, graph, add_branch(b, NNHAL_OP_ABS)), in};

    builder_operation(b, graph, NNHAL_OP_IF, 4, inputs, 1, &out);
}

void control_if(struct builder *b)
{
    uint32_t in = split_row(b, 0, NNHAL_SUBGRAPH_INPUT, row);
    uint32_t out = split_row(b, 0, NNHAL_SUBGRAPH_OUTPUT, row);

    add_if(b, 0, builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0), in, out);
}

static void make_while(struct builder *b, uint32_t condition, uint32_t body, const uint32_t *dims)
{
    const uint32_t inputs[] = {builder_subgraph(b, 0, condition), builder_subgraph(b, 0, body),
                               split_row(b, 0, NNHAL_SUBGRAPH_INPUT, dims),
                               split_row(b, 0, NNHAL_SUBGRAPH_INPUT, one)};
    const uint32_t outputs[] = {split_row(b, 0, NNHAL_SUBGRAPH_OUTPUT, dims),
                                builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_WHILE, 4, inputs, 2, outputs);
}

void control_loop(struct builder *b)
{
    make_while(b, add_condition(b, row, false), add_body(b, 1), row);
}

void control_endless_loop(struct builder *b)
{
    make_while(b, add_condition(b, row, false), add_body(b, 0), row);
}

void control_growing_loop(struct builder *b)
{
    make_while(b, add_condition(b, open_row, false), add_growing_body(b), open_row);
}

/* [row, count, flag] -> [tanh(row) or |row|, count + 1, not flag] */
static uint32_t add_choosing_body(struct builder *b)
{
    uint32_t graph = builder_add_graph(b), flag, out;
    uint32_t in = split_row(b, graph, NNHAL_SUBGRAPH_INPUT, row);
    uint32_t chosen = split_row(b, graph, NNHAL_SUBGRAPH_OUTPUT, row);

    add_count(b, graph, 1);
    flag = builder_input(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    out = builder_output(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    add_if(b, graph, flag, in, chosen);
    builder_operation(b, graph, NNHAL_OP_LOGICAL_NOT, 1, &flag, 1, &out);
    return graph;
}

void control_nested(struct builder *b)
{
    const uint32_t inputs[] = {builder_subgraph(b, 0, add_condition(b, row, true)),
                               builder_subgraph(b, 0, add_choosing_body(b)),
                               split_row(b, 0, NNHAL_SUBGRAPH_INPUT, row),
                               split_row(b, 0, NNHAL_SUBGRAPH_INPUT, one),
                               builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0)};
    const uint32_t outputs[] = {split_row(b, 0, NNHAL_SUBGRAPH_OUTPUT, row),
                                builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0),
                                builder_temporary(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_WHILE, 5, inputs, 3, outputs);
}

/* -- running it -------------------------------------------------------------------------- */

void control_set_rest(const struct builder *b, ANeuralNetworksExecution *execution,
                      const struct control_trial *trial)
{
    for (uint32_t i = 1; i < b->graphs[0].n_inputs; i++) {
        bool is_flag = b->graphs[0].operands[b->graphs[0].inputs[i]].type == NNHAL_TENSOR_BOOL8;
        const void *data = is_flag ? (const void *)&trial->is_true : &trial->count;

        OK(ANeuralNetworksExecution_setInput(execution, (int32_t)i, NULL, data, is_flag ? 1 : 4));
    }
}

void control_set_inputs(const struct builder *b, ANeuralNetworksExecution *execution,
                        const struct control_trial *trial)
{
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = row};

    OK(ANeuralNetworksExecution_setInput(execution, 0, &type, trial->in, sizeof(trial->in)));
    control_set_rest(b, execution, trial);
}

void control_run(const struct builder *b, ANeuralNetworksCompilation *compilation,
                 struct control_trial *trial)
{
    bool is_open = b->graphs[0].operands[b->graphs[0].outputs[0]].dimensions[0] == 0;
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    if (trial->loop_timeout_ns)
        OK(ANeuralNetworksExecution_setLoopTimeout(execution, trial->loop_timeout_ns));
    control_set_inputs(b, execution, trial);
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, trial->out,
                                          (is_open ? trial->n_out : CONTROL_N) * sizeof(float)));
    trial->result = ANeuralNetworksExecution_compute(execution);
    if (trial->result == ANEURALNETWORKS_NO_ERROR ||
        trial->result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
        ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &trial->n_dims0);
    ANeuralNetworksExecution_free(execution);
}

void control_stand_init(struct control_stand *stand, control_maker make, const char *rules,
                        uint32_t n_devices)
{
    *stand = (struct control_stand){.compilation = NULL};
    builder_init(&stand->b, 1);
    make(&stand->b);
    split_rules("%s", rules);
    split_models_init(&stand->models, &stand->b, false);
    if (n_devices) {
        stand->compilation = split_compile(stand->models.graphs[0], n_devices);
        return;
    }
    OK(ANeuralNetworksCompilation_create(stand->models.graphs[0], &stand->compilation));
    OK(ANeuralNetworksCompilation_finish(stand->compilation));
}

void control_stand_done(struct control_stand *stand)
{
    ANeuralNetworksCompilation_free(stand->compilation);
    split_models_done(&stand->models);
    builder_done(&stand->b);
}

void control_run_on(control_maker make, const char *rules, uint32_t n_devices,
                    struct control_trial *trial)
{
    struct control_stand stand;

    control_stand_init(&stand, make, rules, n_devices);
    control_run(&stand.b, stand.compilation, trial);
    control_stand_done(&stand);
}

void control_trace_plans(control_maker make, char *ret_text, size_t size)
{
    struct control_stand stand;

    split_trace_plans();
    control_stand_init(&stand, make, CONTROL_SHARED, 2);
    control_stand_done(&stand);
    split_take_plans(ret_text, size);
}

uint64_t control_count_computed(const char *device)
{
    struct nnhal_device_counts counts = {.size = sizeof(counts)};

    OK(nnhal_device_get_counts(find_device(device), &counts));
    return counts.n_computed;
}
