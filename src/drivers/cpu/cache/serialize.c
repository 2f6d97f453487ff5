/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/cache/serialize.h"

#include "drivers/cpu/lowering/compile.h"
#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "compiler/blob.h"
#include "drivers/cpu/cache/model-codec.h"
#include "model/ops.h"
#include "model/types.h"

#include <string.h>

#define MAGIC UINT64_C(0x327065656b6e6e) /* "nnkeep2" */

struct header {
    uint64_t magic;
    uint64_t plan; /* offset of the plan's block */
    uint64_t plan_bytes;
    uint64_t model_bytes;   /* of an open program's model, behind the header; 0: closed */
    uint64_t weights_bytes; /* of the plan */
    uint64_t pool;          /* open: offset of the constants in the data cache */
    uint64_t pool_bytes;
    uint32_t passes; /* open: enum nn_pass_set, by which graphs are made */
    uint32_t reserved;
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

/* ---- which programs are closed ---- */

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
    case NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM):
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

/* The plan is the whole graph, for any values of the inputs. */
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

/* A closed program is executed without its model, so that its pools are gone then. */
static int take_pools(struct nn_program *program, struct nn_plan *plan)
{
    struct nn_plan_header *header = (struct nn_plan_header *)(void *)plan->block;
    struct nn_plan_value *values = (struct nn_plan_value *)(void *)(plan->block +
                                                                    header->values.offset);
    struct nn_blob weights = {.meter = plan->meter};
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
        nn_meter_uncharge(plan->meter, plan->weights_charged);
        plan->weights_charged = 0;
        plan->weights = NULL;
        r = nn_blob_take(&weights, &plan->weights, &plan->weights_bytes, &plan->weights_charged);
    }
    nn_blob_done(&weights);
    if (r)
        return nn_error_trace(r);
    header->weights_bytes = plan->weights_bytes;
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

static int blocks_finish(struct nn_blob *blob, const struct header *header,
                         struct nn_kept *ret_kept)
{
    memcpy(blob->bytes, header, sizeof(*header));
    return nn_error_trace(
        nn_blob_take(blob, &ret_kept->model, &ret_kept->model_bytes, &ret_kept->charged));
}

/* Of the graph only what an execution looks at: types of values, and the arguments. */
static int put_closed(struct nn_program *program, struct nn_blob *blob, struct nn_kept *ret_kept)
{
    const struct nn_graph *graph = &program->graphs[0].graph;
    struct nn_plan *plan = &program->graphs[0].plans->plan;
    struct header header = {.magic = MAGIC,
                            .n_values = graph->n_values,
                            .n_nodes = graph->n_nodes,
                            .n_inputs = graph->n_inputs,
                            .n_outputs = graph->n_outputs};
    size_t offset;
    int r = take_pools(program, plan);

    if (r == 0)
        r = nn_blob_append(blob, &header, sizeof(header), NN_PLAN_ALIGNMENT, &offset);
    for (uint32_t i = 0; r == 0 && i < graph->n_values; i++)
        r = nn_blob_append(blob, &graph->values[i].type, sizeof(uint32_t), 4, &offset);
    if (r == 0)
        r = put_arguments(blob, graph, graph->n_inputs, graph->inputs);
    if (r == 0)
        r = put_arguments(blob, graph, graph->n_outputs, graph->outputs);
    if (r == 0)
        r = nn_blob_append(blob, plan->block, nn_plan_header(plan)->n_bytes, NN_PLAN_ALIGNMENT,
                           &offset);
    if (r)
        return nn_error_trace(r);
    header.plan = offset;
    header.plan_bytes = nn_plan_header(plan)->n_bytes;
    header.weights_bytes = plan->weights_bytes;
    ret_kept->weights = plan->weights;
    ret_kept->weights_bytes = plan->weights_bytes;
    ret_kept->own_weights = NULL;
    return blocks_finish(blob, &header, ret_kept);
}

/* The plan as it is when the kept constants are its only pool. */
static int put_moved_plan(struct nn_blob *blob, const struct nn_plan *plan,
                          const struct nn_constant_ranges *ranges, struct header *header)
{
    uint64_t n_bytes = nn_plan_header(plan)->n_bytes;
    struct nn_plan moved = {0};
    struct nn_plan_value *values;
    size_t offset;
    int r = nn_blob_append(blob, plan->block, n_bytes, NN_PLAN_ALIGNMENT, &offset);

    if (r)
        return nn_error_trace(r);
    moved.block = blob->bytes + offset;
    values = (struct nn_plan_value *)(void *)(moved.block + nn_plan_header(plan)->values.offset);
    for (uint32_t i = 0; i < nn_plan_header(plan)->values.n; i++) {
        if (values[i].space != NN_SPACE_POOL)
            continue;
        if (!nn_constant_ranges_find(ranges, values[i].index, values[i].offset, values[i].size,
                                     &values[i].offset))
            return NN_SERIALIZE_E_UNFIT;
        values[i].index = 0;
    }
    header->plan = offset;
    header->plan_bytes = n_bytes;
    header->weights_bytes = plan->weights_bytes;
    return 0;
}

/* The weights of the first plan and the model's large constants go to the data cache, in this
 * order. */
static int put_open(struct nn_program *program, const struct nnhal_driver_model *model,
                    struct nn_arena *arena, struct nn_blob *blob, struct nn_blob *data,
                    struct nn_kept *ret_kept)
{
    const struct nn_program_plan *first = program->graphs[0].plans;
    struct header header = {.magic = MAGIC, .passes = program->passes};
    struct nn_constant_ranges ranges;
    size_t offset;
    int r = nn_blob_append(blob, &header, sizeof(header), NN_PLAN_ALIGNMENT, &offset);

    if (r == 0 && first)
        r = nn_blob_append(data, first->plan.weights, first->plan.weights_bytes, NN_PLAN_ALIGNMENT,
                           &offset);
    if (r == 0)
        r = nn_model_codec_encode(model, arena, blob, data, &header.pool, &ranges);
    if (r)
        return r;
    header.model_bytes = blob->size - sizeof(header);
    header.pool_bytes = data->size - header.pool;
    if (first)
        r = put_moved_plan(blob, &first->plan, &ranges, &header);
    if (r == 0)
        r = nn_blob_take(data, &ret_kept->own_weights, &ret_kept->weights_bytes,
                         &ret_kept->charged);
    if (r)
        return r;
    ret_kept->weights = ret_kept->own_weights;
    return blocks_finish(blob, &header, ret_kept);
}

static bool is_closed(const struct nn_program *program)
{
    const struct nn_program_plan *first = program->graphs[0].plans;

    return program->n_graphs == 1 && first && is_whole(&first->plan) &&
           !depends_on_omission(&program->graphs[0].graph);
}

int nn_serialize(struct nn_program *program, const struct nnhal_driver_model *model, bool is_final,
                 struct nn_kept *ret_kept)
{
    struct nn_blob blob = {.meter = program->meter}, data = {.meter = program->meter};
    struct nn_arena arena;
    int r;

    nn_arena_init(&arena, 0);
    arena.meter = program->meter;
    r = is_final && is_closed(program) ? put_closed(program, &blob, ret_kept)
                                       : put_open(program, model, &arena, &blob, &data, ret_kept);
    nn_blob_done(&blob);
    nn_blob_done(&data);
    nn_arena_done(&arena);
    return r < 0 ? nn_error_trace(r) : r ? NN_SERIALIZE_E_UNFIT : 0;
}

/* ---- opening ---- */

/* Where the plan of a closed program has to be, whose numbers are in bounds. */
static bool find_closed_plan(const struct header *header, size_t *ret_plan)
{
    uint64_t n_arguments = (uint64_t)header->n_inputs + header->n_outputs;

    return header->n_values <= NNHAL_MAX_OPERANDS * UINT64_C(4) &&
           n_arguments <= UINT64_C(2) * NNHAL_MAX_OPERANDS && header->pool_bytes == 0 &&
           nn_align_up(sizeof(*header) + header->n_values * sizeof(uint32_t) +
                           n_arguments * sizeof(struct argument),
                       NN_PLAN_ALIGNMENT, ret_plan);
}

static bool find_open_plan(const struct header *header, size_t *ret_plan)
{
    uint64_t end;

    return nn_add_u64(sizeof(*header), header->model_bytes, &end) &&
           nn_align_up(end, NN_PLAN_ALIGNMENT, ret_plan);
}

/* What comes before the plan has exactly the place that the numbers need, and the plan
 * is the rest; an open program without one ends with its model. */
static bool model_fits(const struct header *header, uint64_t n_bytes)
{
    size_t plan;

    if (header->model_bytes && !header->plan_bytes)
        return header->model_bytes == n_bytes - sizeof(*header) && header->weights_bytes == 0;
    return (header->model_bytes ? find_open_plan(header, &plan)
                                : find_closed_plan(header, &plan)) &&
           header->plan == plan && nn_range_fits(plan, header->plan_bytes, n_bytes) &&
           plan + header->plan_bytes == n_bytes;
}

static bool data_fits(const struct header *header, uint64_t n_bytes)
{
    if (!header->model_bytes)
        return header->weights_bytes == n_bytes;
    return header->pool % NN_PLAN_ALIGNMENT == 0 && header->weights_bytes <= header->pool &&
           nn_range_fits(header->pool, header->pool_bytes, n_bytes);
}

static bool header_fits(const struct header *header, const struct nn_kept *kept)
{
    return header->magic == MAGIC && header->passes <= NN_PASSES_ALL &&
           model_fits(header, kept->model_bytes) && data_fits(header, kept->weights_bytes);
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
            return NN_SERIALIZE_E_INVALID;
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

static int take_graph(struct nn_graph *graph, const struct header *header, const uint8_t *model,
                      const struct nn_meter *meter)
{
    const uint8_t *at = model + sizeof(*header);
    int r;

    nn_arena_init(&graph->arena, 0);
    graph->arena.meter = meter;
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
                                        .n_pools = program->n_pools,
                                        .pool_bytes = &header->pool_bytes,
                                        .isa = program->isa};
    struct nn_program_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return nn_error_origin(-ENOMEM);
    plan->n_refs = 1;
    plan->plan = (struct nn_plan){.block = kept->model + header->plan,
                                  .weights = (uint8_t *)(uintptr_t)kept->weights,
                                  .weights_bytes = header->weights_bytes,
                                  .is_borrowed = true};
    program->graphs[0].plans = plan;
    return nn_plan_verify(&plan->plan, header->plan_bytes, &world) ? NN_SERIALIZE_E_INVALID : 0;
}

static int open_closed(const struct nn_kept *kept, const struct header *header,
                       const struct nn_compile_options *options, struct nn_program **ret_program)
{
    _cleanup_(nn_program_freep) struct nn_program *program = NULL;
    int r = nn_program_new_kept(options->team, options->isa, &program);

    if (r == 0) {
        program->meter = options->meter;
        r = take_graph(&program->graphs[0].graph, header, kept->model, options->meter);
    }
    if (r == 0)
        r = take_plan(program, header, kept);
    if (r == 0 && !is_whole(&program->graphs[0].plans->plan))
        r = NN_SERIALIZE_E_INVALID;
    if (r)
        return r;
    *ret_program = steal_ptr(&program);
    return 0;
}

/* Whether what the plan ends with is there. */
static bool plan_continues(const struct nn_graph *graph, const struct nn_plan *plan)
{
    const struct nn_plan_header *header = nn_plan_header(plan);
    uint32_t operation;

    if (header->end == NN_PLAN_DONE)
        return true;
    if (header->end == NN_PLAN_CUT)
        return header->end_node > header->first_node;
    operation = graph->nodes[header->end_node].operation;
    return operation == NNHAL_OP_IF || operation == NNHAL_OP_WHILE;
}

static int open_model(const struct nn_kept *kept, const struct header *header,
                      struct nn_arena *arena, struct nnhal_driver_model *ret_model)
{
    return nn_model_codec_decode(kept->model + sizeof(*header), header->model_bytes,
                                 kept->weights + header->pool, header->pool_bytes, arena,
                                 ret_model);
}

static int open_open(const struct nn_kept *kept, const struct header *header,
                     const struct nn_compile_options *options, struct nn_arena *arena,
                     struct nn_program **ret_program)
{
    struct nn_compile_options kept_options = *options;
    _cleanup_(nn_program_freep) struct nn_program *program = NULL;
    struct nnhal_driver_model model;
    int r = open_model(kept, header, arena, &model);

    kept_options.passes = header->passes;
    if (r == 0)
        r = nn_compile_graphs(&model, &kept_options, NULL, &program);
    if (r == NN_PROGRAM_E_STOPPED)
        return NN_SERIALIZE_E_STOPPED;
    if (r == 0 && header->plan_bytes)
        r = take_plan(program, header, kept);
    if (r == 0 && header->plan_bytes &&
        !plan_continues(&program->graphs[0].graph, &program->graphs[0].plans->plan))
        r = NN_SERIALIZE_E_INVALID;
    if (r)
        return r < 0 ? nn_error_trace(r) : NN_SERIALIZE_E_INVALID;
    *ret_program = steal_ptr(&program);
    return 0;
}

int nn_deserialize(const struct nn_kept *kept, const struct nn_compile_options *options,
                   struct nn_program **ret_program)
{
    struct nn_arena arena;
    struct header header;
    int r;

    if (kept->model_bytes < sizeof(header))
        return NN_SERIALIZE_E_INVALID;
    memcpy(&header, kept->model, sizeof(header));
    if (!header_fits(&header, kept))
        return NN_SERIALIZE_E_INVALID;
    if (!header.model_bytes)
        return open_closed(kept, &header, options, ret_program);
    nn_arena_init(&arena, 0);
    arena.meter = options->meter;
    r = open_open(kept, &header, options, &arena, ret_program);
    nn_arena_done(&arena);
    return r;
}

int nn_deserialize_model(const struct nn_kept *kept, struct nn_arena *arena,
                         struct nnhal_driver_model *ret_model)
{
    struct header header;
    int r;

    memcpy(&header, kept->model, sizeof(header));
    if (!header.model_bytes)
        return NN_SERIALIZE_E_UNFIT;
    r = open_model(kept, &header, arena, ret_model);
    return r < 0 ? nn_error_trace(r) : r ? NN_SERIALIZE_E_UNFIT : 0;
}
