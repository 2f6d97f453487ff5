/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/cache/model-codec.h"

#include "base/arith.h"
#include "base/error.h"
#include "codec/codec.h"
#include "codec/types.h"
#include "compiler/graph.h"
#include "compiler/own-extension.h"
#include "model/validate.h"

#include <string.h>

/* A cache is read by the build that wrote it: all fields of all versions are there. */
#define ALL_MINORS UINT32_MAX

static const struct nnhal_subgraph *graph_at(const struct nnhal_model *model, uint32_t i)
{
    return i ? &model->referenced[i - 1] : &model->main;
}

/* ---- large constants ---- */

static bool is_large(uint32_t lifetime, const struct nnhal_data_location *location)
{
    return lifetime == NNHAL_CONSTANT_REFERENCE && location->length > NN_GRAPH_PRIVATE_BYTES;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct nn_constant_range *a = left, *b = right;

    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Makes one of those that overlap. */
static void ranges_merge(struct nn_constant_ranges *ranges)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ranges->n; i++) {
        const struct nn_constant_range *next = &ranges->ranges[i];
        struct nn_constant_range *last = n ? &ranges->ranges[n - 1] : NULL;

        if (!last || last->pool != next->pool || next->offset >= last->offset + last->size)
            ranges->ranges[n++] = *next;
        else if (next->offset + next->size > last->offset + last->size)
            last->size = next->offset + next->size - last->offset;
    }
    ranges->n = n;
}

static int find_ranges(const struct nnhal_model *model, struct nn_arena *arena,
                       struct nn_constant_ranges *ranges)
{
    size_t n_operands = 0;

    for (uint32_t g = 0; g <= model->n_referenced; g++)
        n_operands += graph_at(model, g)->n_operands;
    *ranges = (struct nn_constant_ranges){
        .ranges = nn_arena_new_n(arena, struct nn_constant_range, n_operands)};
    if (!ranges->ranges)
        return nn_error_origin(-ENOMEM);
    for (uint32_t g = 0; g <= model->n_referenced; g++) {
        const struct nnhal_subgraph *graph = graph_at(model, g);

        for (uint32_t i = 0; i < graph->n_operands; i++) {
            const struct nnhal_data_location *at = &graph->operands[i].location;

            if (is_large(graph->operands[i].lifetime, at))
                ranges->ranges[ranges->n++] = (struct nn_constant_range){
                    .pool = at->pool_index, .offset = at->offset, .size = at->length};
        }
    }
    if (ranges->n)
        qsort(ranges->ranges, ranges->n, sizeof(*ranges->ranges), compare_ranges);
    ranges_merge(ranges);
    return 0;
}

/* An address keeps its distance to a multiple of 64: constants are aligned as they were. */
static int copy_ranges(const struct nnhal_driver_model *model,
                       const struct nn_constant_ranges *ranges, struct nn_blob *constants,
                       uint64_t *ret_pool)
{
    size_t start, at;
    int r = nn_blob_extend(constants, 0, NN_BLOB_ALIGNMENT, &start);

    for (uint32_t i = 0; !r && i < ranges->n; i++) {
        struct nn_constant_range *range = &ranges->ranges[i];
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

bool nn_constant_ranges_find(const struct nn_constant_ranges *ranges, uint32_t pool,
                             uint64_t offset, uint64_t size, uint64_t *ret_to)
{
    uint32_t low = 0, high = ranges->n;

    /* The last range that begins at or before the offset. */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct nn_constant_range *range = &ranges->ranges[middle];

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

/* The model with its constants at their new places: large ones in one pool, small ones among the
 * values. Operands are copied, everything else is borrowed. */
struct relocation {
    const struct nnhal_driver_model *from;
    const struct nn_constant_ranges *ranges;
    struct nn_blob values;
    struct nn_arena *arena;
};

static int relocate_constant(struct relocation *relocation, struct nnhal_operand *operand)
{
    const struct nnhal_data_location from = operand->location;
    const uint8_t *bytes = relocation->from->model->operand_values.data + from.offset;
    size_t at;
    int r;

    operand->location = (struct nnhal_data_location){.length = from.length};
    if (is_large(operand->lifetime, &from))
        return nn_constant_ranges_find(relocation->ranges, from.pool_index, from.offset,
                                       from.length, &operand->location.offset)
                   ? 0
                   : NN_MODEL_CODEC_E_UNFIT;
    if (operand->lifetime == NNHAL_CONSTANT_REFERENCE)
        bytes = relocation->from->pools[from.pool_index].data + from.offset;
    r = nn_blob_append(&relocation->values, bytes, from.length, 16, &at);
    operand->lifetime = NNHAL_CONSTANT_COPY;
    operand->location.offset = at;
    return nn_error_trace(r);
}

static int relocate_graph(struct relocation *relocation, struct nnhal_subgraph *graph)
{
    struct nnhal_operand *operands = nn_arena_dup(relocation->arena, graph->operands,
                                                  graph->n_operands * sizeof(*operands));
    int r = 0;

    if (!operands)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < graph->n_operands; i++)
        if (operands[i].lifetime == NNHAL_CONSTANT_COPY ||
            operands[i].lifetime == NNHAL_CONSTANT_REFERENCE)
            r = relocate_constant(relocation, &operands[i]);
    graph->operands = operands;
    return r;
}

static int relocate_model(struct relocation *relocation, struct nnhal_model *model)
{
    struct nnhal_subgraph *referenced = nn_arena_dup(relocation->arena, model->referenced,
                                                     model->n_referenced * sizeof(*referenced));
    int r;

    if (!referenced)
        return nn_error_origin(-ENOMEM);
    r = relocate_graph(relocation, &model->main);
    for (uint32_t g = 0; !r && g < model->n_referenced; g++)
        r = relocate_graph(relocation, &referenced[g]);
    model->referenced = referenced;
    model->n_pools = 0; /* the one pool is known by its place */
    model->operand_values = (struct nnhal_bytes){.size = relocation->values.size,
                                                 .data = relocation->values.bytes};
    return r;
}

static int append_encoded(const struct nnhal_model *model, struct nn_blob *bytes)
{
    struct nn_codec_buffer buffer = {.bytes = NULL};
    int r = nn_codec_encode(&nn_codec_model, ALL_MINORS, model, &buffer);
    size_t at;

    if (r > 0)
        return NN_MODEL_CODEC_E_UNFIT;
    if (!r)
        r = nn_blob_append(bytes, buffer.bytes, buffer.n_bytes, 1, &at);
    nn_codec_buffer_done(&buffer);
    return nn_error_trace(r);
}

int nn_model_codec_encode(const struct nnhal_driver_model *model, struct nn_arena *arena,
                          struct nn_blob *bytes, struct nn_blob *constants, uint64_t *ret_pool,
                          struct nn_constant_ranges *ret_ranges)
{
    struct relocation relocation = {.from = model, .ranges = ret_ranges, .arena = arena};
    struct nnhal_model relocated = *model->model;
    int r = find_ranges(model->model, arena, ret_ranges);

    if (!r)
        r = copy_ranges(model, ret_ranges, constants, ret_pool);
    if (!r)
        r = relocate_model(&relocation, &relocated);
    if (!r)
        r = append_encoded(&relocated, bytes);
    nn_blob_done(&relocation.values);
    return r;
}

/* ---- opening ---- */

int nn_model_codec_decode(const uint8_t *bytes, uint64_t n_bytes, const uint8_t *constants,
                          uint64_t n_constants, struct nn_arena *arena,
                          struct nnhal_driver_model *ret_model)
{
    static const uint64_t pool_id = 1;
    const struct nnhal_mapped_pool pool = {.data = constants, .size = n_constants};
    struct nnhal_model *model = nn_arena_new(arena, struct nnhal_model);
    const struct nn_codec_message message = {.bytes = bytes, .n_bytes = n_bytes};
    struct nn_model_facts facts;
    struct nn_why why = {0};
    int r;

    if (!model)
        return nn_error_origin(-ENOMEM);
    r = nn_codec_decode(&nn_codec_model, ALL_MINORS, &message, arena, model);
    if (r)
        return r == NN_CODEC_E_MEMORY ? nn_error_origin(-ENOMEM) : NN_MODEL_CODEC_E_INVALID;
    model->n_pools = n_constants != 0;
    model->pools = &pool_id;
    r = nn_model_validate(model, &n_constants, arena, &facts, &why);
    if (r < 0)
        return nn_error_trace(r);
    if (r || facts.has_tolerated || !nn_own_types_fit(model))
        return NN_MODEL_CODEC_E_INVALID;
    *ret_model = (struct nnhal_driver_model){
        .model = model,
        .n_pools = model->n_pools,
        .pools = nn_arena_dup(arena, &pool, sizeof(pool)),
    };
    return ret_model->pools ? 0 : nn_error_origin(-ENOMEM);
}
