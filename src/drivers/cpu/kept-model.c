/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kept-model.h"

#include "base/arith.h"
#include "base/error.h"
#include "drivers/cpu/graph.h"
#include "model/types.h"
#include "model/validate.h"

#include <string.h>

struct head {
    uint64_t n_value_bytes;
    uint32_t n_referenced;
    uint32_t is_relaxed;
};

struct graph_head {
    uint32_t n_operands;
    uint32_t n_operations;
    uint32_t n_inputs;
    uint32_t n_outputs;
};

struct kept_operand {
    uint64_t offset;
    uint64_t length;
    uint32_t type;
    uint32_t lifetime;
    uint32_t n_dims;
    uint32_t n_scales;
    uint32_t channel_dim;
    int32_t zero_point;
    float scale;
    uint32_t extra_params;
};

struct kept_operation {
    uint32_t type;
    uint32_t n_inputs;
    uint32_t n_outputs;
};

static const struct nnhal_subgraph *graph_at(const struct nnhal_model *model, uint32_t i)
{
    return i ? &model->referenced[i - 1] : &model->main;
}

/* ---- large constants ---- */

static bool is_large(const struct nnhal_operand *operand)
{
    return operand->lifetime == NNHAL_CONSTANT_REFERENCE &&
           operand->location.length > NN_GRAPH_PRIVATE_BYTES;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct nn_kept_range *a = left, *b = right;

    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Makes one of those that overlap. */
static void merge(struct nn_kept_ranges *ranges)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ranges->n; i++) {
        const struct nn_kept_range *next = &ranges->ranges[i];
        struct nn_kept_range *last = n ? &ranges->ranges[n - 1] : NULL;

        if (!last || last->pool != next->pool || next->offset >= last->offset + last->size)
            ranges->ranges[n++] = *next;
        else if (next->offset + next->size > last->offset + last->size)
            last->size = next->offset + next->size - last->offset;
    }
    ranges->n = n;
}

static int find_ranges(const struct nnhal_model *model, struct nn_arena *arena,
                       struct nn_kept_ranges *ranges)
{
    size_t n_operands = 0;

    for (uint32_t g = 0; g <= model->n_referenced; g++)
        n_operands += graph_at(model, g)->n_operands;
    *ranges = (struct nn_kept_ranges){
        .ranges = nn_arena_new_n(arena, struct nn_kept_range, n_operands)};
    if (!ranges->ranges)
        return nn_error_origin(-ENOMEM);
    for (uint32_t g = 0; g <= model->n_referenced; g++) {
        const struct nnhal_subgraph *graph = graph_at(model, g);

        for (uint32_t i = 0; i < graph->n_operands; i++) {
            const struct nnhal_data_location *at = &graph->operands[i].location;

            if (is_large(&graph->operands[i]))
                ranges->ranges[ranges->n++] = (struct nn_kept_range){
                    .pool = at->pool_index, .offset = at->offset, .size = at->length};
        }
    }
    if (ranges->n)
        qsort(ranges->ranges, ranges->n, sizeof(*ranges->ranges), compare_ranges);
    merge(ranges);
    return 0;
}

/* An address keeps its distance to a multiple of 64: constants are aligned as they were. */
static int copy_ranges(const struct nnhal_driver_model *model, const struct nn_kept_ranges *ranges,
                       struct nn_blob *constants, uint64_t *ret_pool)
{
    size_t start, at;
    int r = nn_blob_extend(constants, 0, NN_BLOB_ALIGNMENT, &start);

    for (uint32_t i = 0; !r && i < ranges->n; i++) {
        struct nn_kept_range *range = &ranges->ranges[i];
        const uint8_t *data = model->pools[range->pool].data + range->offset;
        size_t slack = (uintptr_t)data % NN_BLOB_ALIGNMENT;

        r = nn_blob_extend(constants, range->size + slack, NN_BLOB_ALIGNMENT, &at);
        if (r)
            break;
        memcpy(constants->bytes + at + slack, data, range->size);
        range->to = at + slack - start;
    }
    *ret_pool = start;
    return nn_error_trace(r);
}

bool nn_kept_ranges_find(const struct nn_kept_ranges *ranges, uint32_t pool, uint64_t offset,
                         uint64_t size, uint64_t *ret_to)
{
    uint32_t low = 0, high = ranges->n;

    /* The last range that begins at or before the offset. */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct nn_kept_range *range = &ranges->ranges[middle];

        if (range->pool < pool || (range->pool == pool && range->offset <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || ranges->ranges[low - 1].pool != pool ||
        !nn_range_fits(offset - ranges->ranges[low - 1].offset, size, ranges->ranges[low - 1].size))
        return false;
    *ret_to = ranges->ranges[low - 1].to + offset - ranges->ranges[low - 1].offset;
    return true;
}

/* ---- making ---- */

struct maker {
    const struct nnhal_driver_model *model;
    const struct nn_kept_ranges *ranges;
    struct nn_blob values; /* of constants that are copied */
    struct nn_blob graphs;
};

static int put(struct nn_blob *blob, const void *bytes, size_t n_bytes)
{
    size_t at;

    return nn_error_trace(nn_blob_append(blob, bytes, n_bytes, 1, &at));
}

static int put_indexes(struct nn_blob *blob, const uint32_t *indexes, uint32_t n)
{
    return put(blob, indexes, n * sizeof(*indexes));
}

/* Finds the constant's new place. */
static int put_constant(struct maker *maker, const struct nnhal_operand *operand,
                        struct kept_operand *kept)
{
    const struct nnhal_data_location *from = &operand->location;
    const uint8_t *bytes = maker->model->model->operand_values.data + from->offset;
    size_t at;
    int r;

    if (is_large(operand))
        return nn_kept_ranges_find(maker->ranges, from->pool_index, from->offset, from->length,
                                   &kept->offset)
                   ? 0
                   : NN_KEPT_MODEL_E_UNFIT;
    if (operand->lifetime == NNHAL_CONSTANT_REFERENCE)
        bytes = maker->model->pools[from->pool_index].data + from->offset;
    r = nn_blob_append(&maker->values, bytes, from->length, 16, &at);
    kept->lifetime = NNHAL_CONSTANT_COPY;
    kept->offset = at;
    return nn_error_trace(r);
}

static int put_operand(struct maker *maker, const struct nnhal_operand *operand)
{
    struct kept_operand kept = {.offset = operand->location.offset,
                                .length = operand->location.length,
                                .type = operand->type,
                                .lifetime = operand->lifetime,
                                .n_dims = operand->n_dimensions,
                                .zero_point = operand->zero_point,
                                .scale = operand->scale,
                                .extra_params = operand->extra_params};
    int r = 0;

    if (nn_type_is_extension(operand->type) || operand->extra_params == NNHAL_EXTRA_EXTENSION)
        return NN_KEPT_MODEL_E_UNFIT;
    if (operand->extra_params == NNHAL_EXTRA_CHANNEL_QUANT) {
        kept.n_scales = operand->channel_quant.n_scales;
        kept.channel_dim = operand->channel_quant.channel_dim;
    }
    if (operand->lifetime == NNHAL_CONSTANT_COPY || operand->lifetime == NNHAL_CONSTANT_REFERENCE)
        r = put_constant(maker, operand, &kept);
    if (!r)
        r = put(&maker->graphs, &kept, sizeof(kept));
    if (!r)
        r = put_indexes(&maker->graphs, operand->dimensions, kept.n_dims);
    if (!r)
        r = put(&maker->graphs, operand->channel_quant.scales, kept.n_scales * sizeof(float));
    return r;
}

static int put_operation(struct maker *maker, const struct nnhal_operation *operation)
{
    const struct kept_operation kept = {.type = operation->type,
                                        .n_inputs = operation->n_inputs,
                                        .n_outputs = operation->n_outputs};
    int r = put(&maker->graphs, &kept, sizeof(kept));

    if (!r)
        r = put_indexes(&maker->graphs, operation->inputs, kept.n_inputs);
    if (!r)
        r = put_indexes(&maker->graphs, operation->outputs, kept.n_outputs);
    return nn_error_trace(r);
}

static int put_graph(struct maker *maker, const struct nnhal_subgraph *graph)
{
    const struct graph_head head = {.n_operands = graph->n_operands,
                                    .n_operations = graph->n_operations,
                                    .n_inputs = graph->n_input_indexes,
                                    .n_outputs = graph->n_output_indexes};
    int r = put(&maker->graphs, &head, sizeof(head));

    for (uint32_t i = 0; !r && i < head.n_operands; i++)
        r = put_operand(maker, &graph->operands[i]);
    for (uint32_t i = 0; !r && i < head.n_operations; i++)
        r = put_operation(maker, &graph->operations[i]);
    if (!r)
        r = put_indexes(&maker->graphs, graph->input_indexes, head.n_inputs);
    if (!r)
        r = put_indexes(&maker->graphs, graph->output_indexes, head.n_outputs);
    return r;
}

static int put_all(struct maker *maker, struct nn_blob *bytes)
{
    const struct nnhal_model *model = maker->model->model;
    struct head head = {.n_referenced = model->n_referenced,
                        .is_relaxed = model->relax_computation_float32_to_float16 != 0};
    int r = 0;

    for (uint32_t g = 0; !r && g <= head.n_referenced; g++)
        r = put_graph(maker, graph_at(model, g));
    head.n_value_bytes = maker->values.size;
    if (!r)
        r = put(bytes, &head, sizeof(head));
    if (!r)
        r = put(bytes, maker->values.bytes, maker->values.size);
    if (!r)
        r = put(bytes, maker->graphs.bytes, maker->graphs.size);
    return r;
}

int nn_kept_model_make(const struct nnhal_driver_model *model, struct nn_arena *arena,
                       struct nn_blob *bytes, struct nn_blob *constants, uint64_t *ret_pool,
                       struct nn_kept_ranges *ret_ranges)
{
    struct maker maker = {.model = model, .ranges = ret_ranges};
    int r = find_ranges(model->model, arena, ret_ranges);

    if (!r)
        r = copy_ranges(model, ret_ranges, constants, ret_pool);
    if (!r)
        r = put_all(&maker, bytes);
    nn_blob_done(&maker.values);
    nn_blob_done(&maker.graphs);
    return r;
}

/* ---- opening ---- */

struct reader {
    const uint8_t *bytes;
    uint64_t n_left;
    struct nn_arena *arena;
};

static bool take(struct reader *reader, void *to, uint64_t n_bytes)
{
    if (n_bytes > reader->n_left)
        return false;
    if (n_bytes)
        memcpy(to, reader->bytes, n_bytes);
    reader->bytes += n_bytes;
    reader->n_left -= n_bytes;
    return true;
}

/* A copy of n elements of four bytes. Returns: 0, NN_KEPT_MODEL_E_INVALID, -ENOMEM. */
static int take_words(struct reader *reader, uint32_t n, const void *ret)
{
    const void **words = (const void **)ret;
    void *copy;

    if (n > reader->n_left / sizeof(uint32_t))
        return NN_KEPT_MODEL_E_INVALID;
    copy = nn_arena_new_n(reader->arena, uint32_t, n);
    if (!copy)
        return nn_error_origin(-ENOMEM);
    take(reader, copy, n * sizeof(uint32_t));
    *words = copy;
    return 0;
}

static int take_operand(struct reader *reader, struct nnhal_operand *operand)
{
    struct kept_operand kept;
    int r;

    if (!take(reader, &kept, sizeof(kept)) || kept.extra_params == NNHAL_EXTRA_EXTENSION)
        return NN_KEPT_MODEL_E_INVALID;
    *operand = (struct nnhal_operand){
        .type = kept.type,
        .lifetime = kept.lifetime,
        .scale = kept.scale,
        .zero_point = kept.zero_point,
        .extra_params = kept.extra_params,
        .n_dimensions = kept.n_dims,
        .location = {.offset = kept.offset, .length = kept.length},
        .channel_quant = {.n_scales = kept.n_scales, .channel_dim = kept.channel_dim}};
    r = take_words(reader, kept.n_dims, &operand->dimensions);
    if (!r)
        r = take_words(reader, kept.n_scales, &operand->channel_quant.scales);
    return r;
}

static int take_operation(struct reader *reader, struct nnhal_operation *operation)
{
    struct kept_operation kept;
    int r;

    if (!take(reader, &kept, sizeof(kept)))
        return NN_KEPT_MODEL_E_INVALID;
    *operation = (struct nnhal_operation){
        .type = kept.type, .n_inputs = kept.n_inputs, .n_outputs = kept.n_outputs};
    r = take_words(reader, kept.n_inputs, &operation->inputs);
    if (!r)
        r = take_words(reader, kept.n_outputs, &operation->outputs);
    return r;
}

static int take_graph(struct reader *reader, struct nnhal_subgraph *graph)
{
    struct nnhal_operand *operands;
    struct nnhal_operation *operations;
    struct graph_head head;
    int r = 0;

    if (!take(reader, &head, sizeof(head)) ||
        head.n_operands > reader->n_left / sizeof(struct kept_operand) ||
        head.n_operations > reader->n_left / sizeof(struct kept_operation))
        return NN_KEPT_MODEL_E_INVALID;
    operands = nn_arena_new_n(reader->arena, struct nnhal_operand, head.n_operands);
    operations = nn_arena_new_n(reader->arena, struct nnhal_operation, head.n_operations);
    if (!operands || !operations)
        return nn_error_origin(-ENOMEM);
    *graph = (struct nnhal_subgraph){.n_operands = head.n_operands,
                                     .n_operations = head.n_operations,
                                     .n_input_indexes = head.n_inputs,
                                     .n_output_indexes = head.n_outputs,
                                     .operands = operands,
                                     .operations = operations};
    for (uint32_t i = 0; !r && i < head.n_operands; i++)
        r = take_operand(reader, &operands[i]);
    for (uint32_t i = 0; !r && i < head.n_operations; i++)
        r = take_operation(reader, &operations[i]);
    if (!r)
        r = take_words(reader, head.n_inputs, &graph->input_indexes);
    if (!r)
        r = take_words(reader, head.n_outputs, &graph->output_indexes);
    return r;
}

static int take_values(struct reader *reader, uint64_t n_bytes, struct nnhal_bytes *values)
{
    uint8_t *copy;

    if (n_bytes > reader->n_left)
        return NN_KEPT_MODEL_E_INVALID;
    copy = nn_arena_dup(reader->arena, reader->bytes, n_bytes);
    if (!copy)
        return nn_error_origin(-ENOMEM);
    take(reader, copy, n_bytes);
    *values = (struct nnhal_bytes){.size = n_bytes, .data = copy};
    return 0;
}

static int take_model(struct reader *reader, struct nnhal_model *model)
{
    struct nnhal_subgraph *referenced;
    struct head head;
    int r;

    if (!take(reader, &head, sizeof(head)) ||
        head.n_referenced > reader->n_left / sizeof(struct graph_head))
        return NN_KEPT_MODEL_E_INVALID;
    referenced = nn_arena_new_n(reader->arena, struct nnhal_subgraph, head.n_referenced);
    if (!referenced)
        return nn_error_origin(-ENOMEM);
    *model = (struct nnhal_model){.n_referenced = head.n_referenced,
                                  .referenced = referenced,
                                  .relax_computation_float32_to_float16 = head.is_relaxed};
    r = take_values(reader, head.n_value_bytes, &model->operand_values);
    if (!r)
        r = take_graph(reader, &model->main);
    for (uint32_t g = 0; !r && g < head.n_referenced; g++)
        r = take_graph(reader, &referenced[g]);
    return !r && reader->n_left ? NN_KEPT_MODEL_E_INVALID : r;
}

int nn_kept_model_open(const uint8_t *bytes, uint64_t n_bytes, const uint8_t *constants,
                       uint64_t n_constants, struct nn_arena *arena,
                       struct nnhal_driver_model *ret_model)
{
    static const uint64_t pool_id = 1;
    const struct nnhal_mapped_pool pool = {.data = constants, .size = n_constants};
    struct nnhal_model *model = nn_arena_new(arena, struct nnhal_model);
    struct reader reader = {.bytes = bytes, .n_left = n_bytes, .arena = arena};
    struct nn_model_facts facts;
    struct nn_why why = {0};
    int r;

    if (!model)
        return nn_error_origin(-ENOMEM);
    r = take_model(&reader, model);
    if (r)
        return r;
    model->n_pools = n_constants != 0;
    model->pools = &pool_id;
    r = nn_model_validate(model, &n_constants, arena, &facts, &why);
    if (r < 0)
        return nn_error_trace(r);
    if (r || facts.has_tolerated || facts.has_extensions)
        return NN_KEPT_MODEL_E_INVALID;
    *ret_model = (struct nnhal_driver_model){
        .model = model,
        .n_pools = model->n_pools,
        .pools = nn_arena_dup(arena, &pool, sizeof(pool)),
    };
    return ret_model->pools ? 0 : nn_error_origin(-ENOMEM);
}
