/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/keep.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "drivers/cpu/blob.h"
#include "model/types.h"

#include <string.h>

#define MAGIC UINT64_C(0x317065656b6e6e) /* "nnkeep1" */

struct header {
    uint64_t magic;
    uint64_t plan; /* offset of the plan's block */
    uint64_t plan_bytes;
    uint64_t weights_bytes;
    uint32_t n_values;
    uint32_t n_nodes;
    uint32_t n_inputs;
    uint32_t n_outputs;
};

/* An input or output of the graph. */
struct argument {
    uint32_t value;
    uint32_t type;
    uint32_t n_dims;
    int32_t zero_point;
    float scale;
    uint32_t dims[NNHAL_MAX_RANK];
};

/* ---- which programs can be kept ---- */

/* Operations that do without some of their inputs. A plan is for one choice of
 * them; those that the application may omit must be inputs that cannot be. */
static bool may_be_omitted(uint32_t operation, uint32_t input)
{
    switch (operation) {
    case NNHAL_OP_LSTM:
    case NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM:
        return input != 0 && input != 18 && input != 19;
    case NNHAL_OP_SVDF:
        return input != 0 && input != 4;
    case NNHAL_OP_LSH_PROJECTION:
        return input == 2;
    case NNHAL_OP_BIDIRECTIONAL_SEQUENCE_LSTM:
    case NNHAL_OP_BIDIRECTIONAL_SEQUENCE_RNN:
    case NNHAL_OP_QUANTIZED_LSTM:
        return input != 0;
    default:
        return false;
    }
}

static bool depends_on_omission(const struct nn_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct nn_node *node = &graph->nodes[i];

        for (uint32_t j = 0; !node->is_dead && j < node->n_inputs; j++)
            if (graph->values[node->inputs[j]].kind == NN_VALUE_INPUT &&
                may_be_omitted(node->operation, j))
                return true;
    }
    return false;
}

/* The plan is the whole graph, whatever the values of the inputs are. */
static bool is_whole(const struct nn_plan *plan)
{
    const struct nn_plan_header *header = nn_plan_header(plan);
    const struct nn_plan_condition *conditions = nn_plan_at(plan, &header->conditions);
    const struct nn_plan_write *writes = nn_plan_at(plan, &header->writes);

    if (header->first_node != 0 || header->end != NN_PLAN_DONE)
        return false;
    for (uint32_t i = 0; i < header->conditions.n; i++)
        if (conditions[i].n_bytes || conditions[i].is_omitted)
            return false;
    for (uint32_t i = 0; i < header->writes.n; i++)
        if (writes[i].is_late)
            return false;
    return true;
}

/* ---- constants in pools become weights ---- */

static int take_pool(struct nn_program *program, struct nn_blob *weights,
                     struct nn_plan_value *value)
{
    const struct nnhal_mapped_pool *pool = &program->pools[value->index];
    size_t offset;
    int r = nn_blob_append(weights, pool->data + value->offset, value->size, NN_PLAN_ALIGNMENT,
                           &offset);

    if (r)
        return nn_error_trace(r);
    value->space = NN_SPACE_WEIGHTS;
    value->index = 0;
    value->offset = offset;
    return 0;
}

static bool uses_pools(const struct nn_plan_header *header, const struct nn_plan_value *values)
{
    for (uint32_t i = 0; i < header->values.n; i++)
        if (values[i].space == NN_SPACE_POOL)
            return true;
    return false;
}

static int take_pools(struct nn_program *program, struct nn_plan *plan)
{
    struct nn_plan_header *header = (struct nn_plan_header *)(void *)plan->block;
    struct nn_plan_value *values = (struct nn_plan_value *)(void *)(plan->block +
                                                                    header->values.offset);
    struct nn_blob weights = {0};
    size_t offset;
    int r;

    if (!uses_pools(header, values))
        return 0;
    r = nn_blob_append(&weights, plan->weights, plan->weights_bytes, NN_PLAN_ALIGNMENT, &offset);
    for (uint32_t i = 0; r == 0 && i < header->values.n; i++)
        if (values[i].space == NN_SPACE_POOL)
            r = take_pool(program, &weights, &values[i]);
    if (r == 0) {
        free(plan->weights);
        r = nn_blob_take(&weights, &plan->weights, &plan->weights_bytes);
    }
    nn_blob_done(&weights);
    if (r)
        return nn_error_trace(r);
    header->weights_bytes = plan->weights_bytes;
    nn_plan_seal(plan);
    return 0;
}

/* ---- making ---- */

static int put_arguments(struct nn_blob *blob, const struct nn_graph *graph, uint32_t n,
                         const uint32_t *indexes)
{
    size_t offset;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        const struct nn_value *value = &graph->values[indexes[i]];
        struct argument argument = {.value = indexes[i],
                                    .type = value->type,
                                    .n_dims = value->n_dims,
                                    .zero_point = value->zero_point,
                                    .scale = value->scale};

        memcpy(argument.dims, value->dims, sizeof(argument.dims));
        r = nn_blob_append(blob, &argument, sizeof(argument), 4, &offset);
    }
    return nn_error_trace(r);
}

static int put_all(struct nn_blob *blob, const struct nn_graph *graph, const struct nn_plan *plan)
{
    struct header header = {.magic = MAGIC,
                            .plan_bytes = nn_plan_header(plan)->n_bytes,
                            .weights_bytes = plan->weights_bytes,
                            .n_values = graph->n_values,
                            .n_nodes = graph->n_nodes,
                            .n_inputs = graph->n_inputs,
                            .n_outputs = graph->n_outputs};
    size_t offset;
    int r = nn_blob_append(blob, &header, sizeof(header), NN_PLAN_ALIGNMENT, &offset);

    for (uint32_t i = 0; r == 0 && i < graph->n_values; i++)
        r = nn_blob_append(blob, &graph->values[i].type, sizeof(uint32_t), 4, &offset);
    if (r == 0)
        r = put_arguments(blob, graph, graph->n_inputs, graph->inputs);
    if (r == 0)
        r = put_arguments(blob, graph, graph->n_outputs, graph->outputs);
    if (r == 0)
        r = nn_blob_append(blob, plan->block, header.plan_bytes, NN_PLAN_ALIGNMENT, &offset);
    if (r)
        return nn_error_trace(r);
    header.plan = offset;
    memcpy(blob->bytes, &header, sizeof(header));
    return 0;
}

int nn_keep_make(struct nn_program *program, struct nn_kept *ret_kept)
{
    struct nn_program_plan *first = program->graphs[0].plans;
    struct nn_blob blob = {0};
    int r;

    if (program->n_graphs != 1 || !first || !is_whole(&first->plan) ||
        depends_on_omission(&program->graphs[0].graph))
        return NN_KEEP_E_UNFIT;
    r = take_pools(program, &first->plan);
    if (r == 0)
        r = put_all(&blob, &program->graphs[0].graph, &first->plan);
    if (r == 0)
        r = nn_blob_take(&blob, &ret_kept->model, &ret_kept->model_bytes);
    nn_blob_done(&blob);
    if (r)
        return nn_error_trace(r);
    ret_kept->weights = first->plan.weights;
    ret_kept->weights_bytes = first->plan.weights_bytes;
    return 0;
}

/* ---- opening ---- */

/* What comes before the plan has exactly the place that the numbers need. */
static bool header_fits(const struct header *header, const struct nn_kept *kept)
{
    uint64_t n_arguments = (uint64_t)header->n_inputs + header->n_outputs;
    size_t plan;

    return header->magic == MAGIC && header->n_values <= NNHAL_MAX_OPERANDS * UINT64_C(4) &&
           n_arguments <= UINT64_C(2) * NNHAL_MAX_OPERANDS &&
           nn_align_up(sizeof(*header) + header->n_values * sizeof(uint32_t) +
                           n_arguments * sizeof(struct argument),
                       NN_PLAN_ALIGNMENT, &plan) &&
           header->plan == plan && header->weights_bytes == kept->weights_bytes &&
           nn_range_fits(header->plan, header->plan_bytes, kept->model_bytes) &&
           header->plan + header->plan_bytes == kept->model_bytes;
}

static int take_arguments(struct nn_graph *graph, const uint8_t *at, uint32_t n,
                          enum nn_value_kind kind, uint32_t **ret_indexes)
{
    uint32_t *indexes = nn_arena_new_n(&graph->arena, uint32_t, n);
    struct argument argument;

    if (!indexes)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n; i++) {
        struct nn_value *value;

        memcpy(&argument, at + i * sizeof(argument), sizeof(argument));
        if (argument.value >= graph->n_values || argument.n_dims > NNHAL_MAX_RANK ||
            argument.type != graph->values[argument.value].type)
            return NN_KEEP_E_INVALID;
        value = &graph->values[argument.value];
        value->kind = kind;
        value->index = i;
        value->n_dims = argument.n_dims;
        value->zero_point = argument.zero_point;
        value->scale = argument.scale;
        memcpy(value->dims, argument.dims, sizeof(value->dims));
        indexes[i] = argument.value;
    }
    *ret_indexes = indexes;
    return 0;
}

static int take_graph(struct nn_graph *graph, const struct header *header, const uint8_t *model)
{
    const uint8_t *at = model + sizeof(*header);
    int r;

    nn_arena_init(&graph->arena, 0);
    graph->n_values = header->n_values;
    graph->n_nodes = header->n_nodes;
    graph->n_inputs = header->n_inputs;
    graph->n_outputs = header->n_outputs;
    graph->values = nn_arena_new_n(&graph->arena, struct nn_value, graph->n_values);
    if (!graph->values)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_values; i++, at += sizeof(uint32_t)) {
        memcpy(&graph->values[i].type, at, sizeof(uint32_t));
        graph->values[i].pool = NN_POOL_NONE;
    }
    r = take_arguments(graph, at, header->n_inputs, NN_VALUE_INPUT, &graph->inputs);
    if (r == 0)
        r = take_arguments(graph, at + header->n_inputs * sizeof(struct argument),
                           header->n_outputs, NN_VALUE_OUTPUT, &graph->outputs);
    return r;
}

static int take_plan(struct nn_program *program, const struct header *header,
                     const struct nn_kept *kept)
{
    const struct nn_plan_world world = {.n_values = program->graphs[0].graph.n_values,
                                        .n_nodes = program->graphs[0].graph.n_nodes,
                                        .isa = program->isa};
    struct nn_program_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return nn_error_origin(-ENOMEM);
    plan->n_refs = 1;
    plan->plan = (struct nn_plan){.block = kept->model + header->plan,
                                  .weights = (uint8_t *)(uintptr_t)kept->weights,
                                  .weights_bytes = kept->weights_bytes,
                                  .is_borrowed = true};
    program->graphs[0].plans = plan;
    return nn_plan_verify(&plan->plan, header->plan_bytes, &world) == 0 && is_whole(&plan->plan)
               ? 0
               : NN_KEEP_E_INVALID;
}

int nn_keep_open(const struct nn_kept *kept, struct nn_team *team, uint32_t isa,
                 struct nn_program **ret_program)
{
    _cleanup_(nn_program_freep) struct nn_program *program = NULL;
    struct header header;
    int r;

    if (kept->model_bytes < sizeof(header))
        return NN_KEEP_E_INVALID;
    memcpy(&header, kept->model, sizeof(header));
    if (!header_fits(&header, kept))
        return NN_KEEP_E_INVALID;
    r = nn_program_new_kept(team, isa, &program);
    if (r == 0)
        r = take_graph(&program->graphs[0].graph, &header, kept->model);
    if (r == 0)
        r = take_plan(program, &header, kept);
    if (r)
        return r;
    *ret_program = steal_ptr(&program);
    return 0;
}
