/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/assembly.h"

#include "base/arith.h"
#include "base/error.h"
#include "model/copy.h"
#include "model/defaults.h"
#include "model/ops.h"

#include <string.h>

/* The widest element is 4 bytes; kernels read large constants by whole cache lines. */
#define SMALL_ALIGNMENT 4
#define POOL_ALIGNMENT  64
#define NO_WRITER       UINT32_MAX

/* -- order -------------------------------------------------------------------- */

/* Operations and what they wait for. The users of an operand are a slice of
 * users: [first_user[i], first_user[i + 1]). */
struct operation_order {
    const ANeuralNetworksModel *model;
    struct nn_why *why;
    uint32_t *writer;     /* per operand: the operation, or NO_WRITER */
    uint32_t *first_user; /* per operand, and one more */
    uint32_t *users;      /* operations, an entry per reading */
    uint32_t *n_missing;  /* per operation: readings of what is not written yet */
    uint32_t *sorted;     /* operations whose turn it is; at the end all of them */
    uint32_t n_sorted;
};

static int find_writers(struct operation_order *order)
{
    const ANeuralNetworksModel *model = order->model;

    for (uint32_t i = 0; i < model->n_operands; i++)
        order->writer[i] = NO_WRITER;
    for (uint32_t i = 0; i < model->n_operations; i++)
        for (uint32_t j = 0; j < model->operations[i].n_outputs; j++) {
            uint32_t output = model->operations[i].outputs[j];
            uint32_t lifetime = model->operands[output].lifetime;

            if (lifetime != NNHAL_TEMPORARY_VARIABLE && lifetime != NNHAL_SUBGRAPH_OUTPUT)
                return nn_fail(order->why, ANEURALNETWORKS_BAD_DATA,
                               "operation %u (%s) writes operand %u, which is an input or a "
                               "constant",
                               i, nn_op_name(model->operations[i].type), output);
            if (order->writer[output] != NO_WRITER)
                return nn_fail(order->why, ANEURALNETWORKS_BAD_DATA,
                               "operand %u is written by operations %u and %u", output,
                               order->writer[output], i);
            order->writer[output] = i;
        }
    return 0;
}

static bool is_written_later(const struct operation_order *order, uint32_t operand)
{
    uint32_t lifetime = order->model->operands[operand].lifetime;

    return lifetime == NNHAL_TEMPORARY_VARIABLE || lifetime == NNHAL_SUBGRAPH_OUTPUT;
}

static int find_users(struct operation_order *order)
{
    const ANeuralNetworksModel *model = order->model;

    for (uint32_t i = 0; i < model->n_operations; i++)
        for (uint32_t j = 0; j < model->operations[i].n_inputs; j++) {
            uint32_t input = model->operations[i].inputs[j];

            if (!is_written_later(order, input))
                continue;
            if (order->writer[input] == NO_WRITER)
                return nn_fail(order->why, ANEURALNETWORKS_BAD_DATA,
                               "operation %u (%s) reads operand %u, which nothing writes", i,
                               nn_op_name(model->operations[i].type), input);
            order->first_user[input + 1]++;
            order->n_missing[i]++;
        }
    for (uint32_t i = 0; i < model->n_operands; i++)
        order->first_user[i + 1] += order->first_user[i];
    return 0;
}

static void list_users(struct operation_order *order, uint32_t *next)
{
    const ANeuralNetworksModel *model = order->model;

    memcpy(next, order->first_user, model->n_operands * sizeof(*next));
    for (uint32_t i = 0; i < model->n_operations; i++)
        for (uint32_t j = 0; j < model->operations[i].n_inputs; j++)
            if (is_written_later(order, model->operations[i].inputs[j]))
                order->users[next[model->operations[i].inputs[j]]++] = i;
}

static void mark_written(struct operation_order *order, uint32_t operand)
{
    for (uint32_t i = order->first_user[operand]; i < order->first_user[operand + 1]; i++)
        if (--order->n_missing[order->users[i]] == 0)
            order->sorted[order->n_sorted++] = order->users[i];
}

/* Kahn's algorithm: each operation enters the list when its last input has been written, so that a
 * circle shows as operations that never enter. */
static int sort_by_dependency(struct operation_order *order)
{
    const ANeuralNetworksModel *model = order->model;

    for (uint32_t i = 0; i < model->n_operations; i++)
        if (order->n_missing[i] == 0)
            order->sorted[order->n_sorted++] = i;
    for (uint32_t i = 0; i < order->n_sorted; i++) {
        const struct nnhal_operation *operation = &model->operations[order->sorted[i]];

        for (uint32_t j = 0; j < operation->n_outputs; j++)
            mark_written(order, operation->outputs[j]);
    }
    if (order->n_sorted < model->n_operations)
        return nn_fail(order->why, ANEURALNETWORKS_BAD_DATA,
                       "operations depend on each other in a circle");
    return 0;
}

/* An order that is right already is kept, so that a model which a client
 * wrote in order is executed as it was written. */
static bool is_in_order(const struct operation_order *order)
{
    const ANeuralNetworksModel *model = order->model;

    for (uint32_t i = 0; i < model->n_operations; i++)
        for (uint32_t j = 0; j < model->operations[i].n_inputs; j++) {
            uint32_t input = model->operations[i].inputs[j];

            if (is_written_later(order, input) && order->writer[input] >= i)
                return false;
        }
    return true;
}

static int operations_sort(const ANeuralNetworksModel *model, struct nn_arena *scratch,
                           struct nn_why *why, uint32_t *sorted)
{
    struct operation_order order = {.model = model, .why = why, .sorted = sorted};
    size_t n_readings = 0;
    uint32_t *next;
    int r;

    for (uint32_t i = 0; i < model->n_operations; i++)
        n_readings += model->operations[i].n_inputs;
    order.writer = nn_arena_new_n(scratch, uint32_t, model->n_operands);
    order.first_user = nn_arena_new_n(scratch, uint32_t, (size_t)model->n_operands + 1);
    order.users = nn_arena_new_n(scratch, uint32_t, n_readings);
    order.n_missing = nn_arena_new_n(scratch, uint32_t, model->n_operations);
    next = nn_arena_new_n(scratch, uint32_t, model->n_operands);
    if (!order.writer || !order.first_user || !order.users || !order.n_missing || !next)
        return nn_error_origin(-ENOMEM);
    r = find_writers(&order);
    if (!r)
        r = find_users(&order);
    if (r)
        return r;
    if (is_in_order(&order)) {
        for (uint32_t i = 0; i < model->n_operations; i++)
            sorted[i] = i;
        return 0;
    }
    list_users(&order, next);
    return sort_by_dependency(&order);
}

/* -- constants ------------------------------------------------------------------- */

/* The places of constants: small ones one after the other in operand_values, large ones in a pool
 * of ours, the application's memories and models in lists. */
struct constant_layout {
    const ANeuralNetworksModel *model;
    struct nn_rt_model *finished;
    struct nn_why *why;
    struct nnhal_operand *operands;
    uint8_t *values;
    uint64_t n_value_bytes;
    uint64_t n_pool_bytes;
    uint32_t n_large;
};

/* Small values travel with the model in a packet; large ones lie in a pool, which a device maps
 * and several devices share. */
static bool is_large(const struct nn_rt_builder_value *value)
{
    return value->n_bytes > ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES;
}

static int area_append(uint64_t *size, uint64_t n_bytes, size_t alignment, uint64_t *ret_offset)
{
    uint64_t offset;

    if (!nn_align_up(*size, alignment, &offset) || !nn_add_u64(offset, n_bytes, size))
        return nn_error_origin(-ENOMEM);
    *ret_offset = offset;
    return 0;
}

/* Says where each copied constant goes; both areas' sizes are known then. */
static int place_copied(struct constant_layout *layout)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < layout->model->n_operands; i++) {
        const struct nn_rt_builder_value *value = &layout->model->values[i];
        struct nnhal_data_location *location = &layout->operands[i].location;

        if (!value->bytes)
            continue;
        location->length = value->n_bytes;
        if (is_large(value)) {
            layout->operands[i].lifetime = NNHAL_CONSTANT_REFERENCE;
            layout->n_large++;
            r = area_append(&layout->n_pool_bytes, value->n_bytes, POOL_ALIGNMENT,
                            &location->offset);
        } else {
            r = area_append(&layout->n_value_bytes, value->n_bytes, SMALL_ALIGNMENT,
                            &location->offset);
        }
    }
    if (!r && layout->n_value_bytes > NNHAL_MAX_OPERAND_VALUES_BYTES)
        r = nn_fail(layout->why, ANEURALNETWORKS_BAD_DATA,
                    "small constants need more than %d bytes together",
                    NNHAL_MAX_OPERAND_VALUES_BYTES);
    return r;
}

static int make_areas(struct constant_layout *layout)
{
    struct nn_rt_model_part *part = &layout->finished->part;
    int r;

    layout->values = nn_arena_alloc(&layout->finished->arena, layout->n_value_bytes);
    part->pools = nn_arena_new_n(&layout->finished->arena, ANeuralNetworksMemory *,
                                 (size_t)layout->model->n_operands + 1);
    part->children = nn_arena_new_n(&layout->finished->arena, struct nn_rt_model *,
                                    layout->model->n_operands);
    if (!layout->values || !part->pools || !part->children)
        return nn_error_origin(-ENOMEM);
    part->values = (struct nnhal_bytes){layout->n_value_bytes, layout->values};
    if (!layout->n_large)
        return 0;
    r = nn_rt_memory_new_pool("nnhal-constants", layout->n_pool_bytes, &part->pools[0]);
    if (!r)
        part->n_pools = 1;
    return r;
}

static void copy_values(struct constant_layout *layout)
{
    for (uint32_t i = 0; i < layout->model->n_operands; i++) {
        const struct nn_rt_builder_value *value = &layout->model->values[i];
        uint8_t *area = layout->values;

        if (!value->bytes)
            continue;
        if (is_large(value))
            area = nn_rt_memory_data(layout->finished->part.pools[0]);
        memcpy(area + layout->operands[i].location.offset, value->bytes, value->n_bytes);
    }
}

static uint32_t pool_of(struct nn_rt_model_part *part, ANeuralNetworksMemory *memory)
{
    uint32_t i = part->n_pools;

    /* A client that maps a file once refers to it again and again: last first. */
    while (i > 0)
        if (part->pools[--i] == memory)
            return i;
    part->pools[part->n_pools] = nn_rt_memory_ref(memory);
    return part->n_pools++;
}

static uint32_t child_of(struct nn_rt_model_part *part, struct nn_rt_model *model)
{
    for (uint32_t i = 0; i < part->n_children; i++)
        if (part->children[i] == model)
            return i;
    part->children[part->n_children] = nn_rt_model_ref(model);
    return part->n_children++;
}

static int values_refer(struct constant_layout *layout)
{
    struct nn_rt_model_part *part = &layout->finished->part;

    for (uint32_t i = 0; i < layout->model->n_operands; i++) {
        const struct nn_rt_builder_value *value = &layout->model->values[i];
        struct nnhal_data_location *location = &layout->operands[i].location;

        if (value->memory)
            *location = (struct nnhal_data_location){
                .pool_index = pool_of(part, value->memory),
                .offset = value->offset,
                .length = value->n_bytes,
            };
        if (value->model)
            location->offset = child_of(part, value->model);
        if (part->n_pools > NNHAL_MAX_POOLS || part->n_children > NNHAL_MAX_SUBGRAPHS)
            return nn_fail(layout->why, ANEURALNETWORKS_BAD_DATA,
                           "more than %d memories or %d models as values", NNHAL_MAX_POOLS,
                           NNHAL_MAX_SUBGRAPHS);
    }
    return 0;
}

static int copy_operands(struct constant_layout *layout)
{
    const ANeuralNetworksModel *model = layout->model;
    struct nn_arena *arena = &layout->finished->arena;

    layout->operands = nn_arena_new_n(arena, struct nnhal_operand, model->n_operands);
    if (!layout->operands)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < model->n_operands; i++) {
        int r = nn_operand_copy(&layout->operands[i], &model->operands[i], arena);

        if (r)
            return r;
    }
    return 0;
}

static int lay_out_constants(struct constant_layout *layout)
{
    int r;

    r = copy_operands(layout);
    if (!r)
        r = place_copied(layout);
    if (!r)
        r = make_areas(layout);
    if (r)
        return r;
    copy_values(layout);
    return values_refer(layout);
}

/* -- all together ------------------------------------------------------------------ */

static const void *value_of(const void *ctx, uint32_t operand)
{
    const ANeuralNetworksModel *model = ctx;

    return model->values[operand].bytes;
}

/* An optional input that only repeats its default would keep older devices, whose signature lacks
 * it, from taking the operation. */
static uint32_t count_inputs(const ANeuralNetworksModel *model,
                             const struct nnhal_operation *operation)
{
    struct nn_operation_facts facts = {0};

    if (nn_operation_validate(model->operands, model->n_operands, operation, &facts, NULL) != 0 ||
        !facts.signature)
        return operation->n_inputs;
    return nn_operation_count_without_defaults(operation, facts.signature, value_of, model);
}

static int copy_operations(const ANeuralNetworksModel *model, struct nn_rt_model *finished)
{
    struct nnhal_operation *operations = nn_arena_new_n(&finished->arena, struct nnhal_operation,
                                                        model->n_operations);

    if (!operations)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < model->n_operations; i++) {
        const struct nnhal_operation *from = &model->operations[finished->original[i]];

        operations[i] = *from;
        operations[i].n_inputs = count_inputs(model, from);
        operations[i].inputs = nn_arena_dup(&finished->arena, from->inputs,
                                            operations[i].n_inputs * sizeof(uint32_t));
        operations[i].outputs = nn_arena_dup(&finished->arena, from->outputs,
                                             from->n_outputs * sizeof(uint32_t));
        if (!operations[i].inputs || !operations[i].outputs)
            return nn_error_origin(-ENOMEM);
    }
    finished->part.graph.n_operations = model->n_operations;
    finished->part.graph.operations = operations;
    return 0;
}

/* omit_unread_constants() - a constant that nothing reads any more becomes an omitted INT32, so that its
 * type asks for no level. */
static int omit_unread_constants(const ANeuralNetworksModel *model, struct nn_rt_model *finished,
                                 struct nnhal_operand *operands)
{
    const struct nnhal_subgraph *graph = &finished->part.graph;
    bool *is_read = nn_arena_new_n(&finished->arena, bool, model->n_operands);

    if (!is_read)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_operations; i++)
        for (uint32_t j = 0; j < graph->operations[i].n_inputs; j++)
            is_read[graph->operations[i].inputs[j]] = true;
    for (uint32_t i = 0; i < model->n_operations; i++)
        for (uint32_t j = 0; j < model->operations[i].n_inputs; j++) {
            uint32_t input = model->operations[i].inputs[j];

            if (!is_read[input])
                operands[input] = (struct nnhal_operand){.type = NNHAL_INT32,
                                                         .lifetime = NNHAL_NO_VALUE};
        }
    return 0;
}

static int copy_lists(const ANeuralNetworksModel *model, struct nn_rt_model *finished)
{
    struct nnhal_subgraph *graph = &finished->part.graph;

    graph->n_input_indexes = model->n_inputs;
    graph->n_output_indexes = model->n_outputs;
    graph->input_indexes = nn_arena_dup(&finished->arena, model->inputs,
                                        model->n_inputs * sizeof(uint32_t));
    graph->output_indexes = nn_arena_dup(&finished->arena, model->outputs,
                                         model->n_outputs * sizeof(uint32_t));
    return graph->input_indexes && graph->output_indexes ? 0 : nn_error_origin(-ENOMEM);
}

static int sort_model(const ANeuralNetworksModel *model, struct nn_rt_model *finished,
                      struct nn_why *why)
{
    struct nn_arena scratch;
    int r;

    finished->original = nn_arena_new_n(&finished->arena, uint32_t, model->n_operations);
    if (!finished->original)
        return nn_error_origin(-ENOMEM);
    nn_arena_init(&scratch, 0);
    r = operations_sort(model, &scratch, why, finished->original);
    nn_arena_done(&scratch);
    return r;
}

static int model_assemble(const ANeuralNetworksModel *model, struct nn_why *why,
                          struct nn_rt_model **ret_finished)
{
    _cleanup_(nn_rt_model_unrefp) struct nn_rt_model *finished = NULL;
    struct constant_layout layout = {.model = model, .why = why};
    int r;

    if (!model->has_arguments)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "the model's inputs and outputs have not been identified");
    if (!model->n_operations)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the model has no operations");
    r = nn_rt_model_new(&finished);
    if (r)
        return r;
    layout.finished = finished;
    finished->model.relax_computation_float32_to_float16 = model->is_relaxed;
    r = sort_model(model, finished, why);
    if (!r)
        r = lay_out_constants(&layout);
    if (!r)
        r = copy_operations(model, finished);
    if (!r)
        r = omit_unread_constants(model, finished, layout.operands);
    if (!r)
        r = copy_lists(model, finished);
    if (r)
        return r;
    finished->part.graph.n_operands = model->n_operands;
    finished->part.graph.operands = layout.operands;
    r = nn_rt_model_link(finished, why);
    if (r)
        return r;
    *ret_finished = steal_ptr(&finished);
    return 0;
}

int nn_rt_builder_finish(ANeuralNetworksModel *model, struct nn_why *why)
{
    struct nn_rt_model *finished = NULL;
    int r = nn_rt_builder_check_open(model, why);

    if (r)
        return r;
    r = model_assemble(model, why, &finished);
    if (!r)
        nn_rt_builder_set_finished(model, finished);
    else if (r == ANEURALNETWORKS_BAD_DATA)
        model->state = NN_BUILDER_INVALID;
    return r;
}
