/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - the segment as one block */
#include "drivers/cpu/lowering/segment.h"

#include "base/error.h"

#include <string.h>

/* The sections, each a blob of its own until their sizes are known. */
struct emitter {
    struct nn_segment *segment;
    struct nn_plan_header header;
    struct nn_blob values, steps, refs, dims, writes, conditions, block;
};

static int section_append(struct nn_blob *section, const void *element, size_t n_bytes)
{
    size_t at;

    return nn_blob_append(section, element, n_bytes, 1, &at);
}

/* Dimensions of all values in one array, so that a value has a fixed size. */
static int add_dims(struct emitter *emitter, const uint32_t *dims, uint32_t n, uint32_t *ret_first)
{
    *ret_first = (uint32_t)(emitter->dims.size / sizeof(*dims));
    return section_append(&emitter->dims, dims, n * sizeof(*dims));
}

/* ---- values ---- */

/* A constant that the graph copied goes with the plan, one in a pool stays there. */
static int place_constant(struct emitter *emitter, uint32_t index, struct nn_plan_value *out)
{
    const struct nn_value *value = &emitter->segment->graph->values[index];
    size_t at;
    int r;

    if (value->pool != NN_POOL_NONE) {
        out->space = NN_SPACE_POOL;
        out->index = value->pool;
        out->offset = value->offset;
        return 0;
    }
    out->space = NN_SPACE_WEIGHTS;
    r = nn_blob_append(&emitter->segment->weights, value->data, value->size, 16, &at);
    out->offset = at;
    return nn_error_trace(r);
}

static int place_value(struct emitter *emitter, uint32_t index, struct nn_plan_value *out)
{
    struct nn_segment *segment = emitter->segment;
    uint64_t delta;
    uint32_t root = nn_segment_root(segment, index, &delta);
    int r = 0;

    if (segment->values[index].is_omitted) {
        out->space = NN_SPACE_NONE;
        return 0;
    }
    if (segment->graph->values[root].kind == NN_VALUE_CONSTANT) {
        r = place_constant(emitter, root, out);
    } else if (!segment->values[root].is_local) {
        out->space = NN_SPACE_SLOT;
        out->index = root;
    } else if (segment->values[root].slot != NN_NOWHERE) {
        out->space = NN_SPACE_SLOT;
        out->index = segment->values[root].slot;
    } else {
        out->space = NN_SPACE_ARENA;
        out->offset = segment->values[root].offset;
    }
    out->offset += delta;
    return nn_error_trace(r);
}

/* Once per value: plan_value is its place + 1. */
static int plan_value(struct emitter *emitter, uint32_t index, uint32_t *ret)
{
    struct nn_segment_value *state = &emitter->segment->values[index];
    struct nn_plan_value value = {.type = emitter->segment->graph->values[index].type,
                                  .n_dims = state->n_dims,
                                  .size = state->is_omitted ? 0 : state->size,
                                  .zero_point = state->zero_point,
                                  .scale = state->scale};
    int r;

    if (!state->plan_value) {
        if ((r = place_value(emitter, index, &value)) ||
            (r = add_dims(emitter, state->dims, state->n_dims, &value.first_dim)) ||
            (r = section_append(&emitter->values, &value, sizeof(value))))
            return nn_error_trace(r);
        state->plan_value = (uint32_t)(emitter->values.size / sizeof(value));
    }
    *ret = state->plan_value - 1;
    return 0;
}

/* ---- sections ---- */

static int add_refs(struct emitter *emitter, const uint32_t *indices, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t ref;
        int r = plan_value(emitter, indices[i], &ref);

        if (!r)
            r = section_append(&emitter->refs, &ref, sizeof(ref));
        if (r)
            return nn_error_trace(r);
    }
    return 0;
}

/* Scratch is one block for all steps, as large as the most that one of them needs. */
static int add_step(struct emitter *emitter, const struct nn_segment_step *from)
{
    const struct nn_node *node = &emitter->segment->graph->nodes[from->node];
    struct nn_plan_step step = {.kernel = from->kernel,
                                .node = from->node,
                                .first_ref = (uint32_t)(emitter->refs.size / sizeof(uint32_t)),
                                .n_inputs = node->n_inputs,
                                .n_outputs = node->n_outputs,
                                .is_fused = from->is_fused,
                                .weights = from->weights,
                                .weights_bytes = from->weights_bytes};
    size_t at;
    int r;

    emitter->header.isa |= from->row->isa;
    if (from->scratch.bytes > emitter->header.scratch_bytes)
        emitter->header.scratch_bytes = from->scratch.bytes;
    if (from->scratch.worker_bytes > emitter->header.worker_scratch_bytes)
        emitter->header.worker_scratch_bytes = from->scratch.worker_bytes;
    r = nn_blob_append(&emitter->block, from->params, from->row->params_bytes, 16, &at);
    step.params = at;
    if (!r)
        r = add_refs(emitter, node->inputs, node->n_inputs);
    if (!r)
        r = add_refs(emitter, node->outputs, node->n_outputs);
    if (!r)
        r = section_append(&emitter->steps, &step, sizeof(step));
    return nn_error_trace(r);
}

/* Only slots: the arena is not seen from outside. */
static int add_writes(struct emitter *emitter)
{
    const struct nn_segment *segment = emitter->segment;

    for (uint32_t v = 0; v < segment->graph->n_values; v++) {
        struct nn_plan_write write = {.value = v, .is_late = segment->values[v].is_late};
        int r;

        if (!segment->values[v].is_slot)
            continue;
        if ((r = plan_value(emitter, v, &write.plan_value)) ||
            (r = section_append(&emitter->writes, &write, sizeof(write))))
            return nn_error_trace(r);
    }
    return 0;
}

static int add_conditions(struct emitter *emitter)
{
    const struct nn_segment *segment = emitter->segment;

    for (uint32_t i = 0; i < segment->n_conditions; i++) {
        const struct nn_segment_condition *from = &segment->conditions[i];
        const struct nn_segment_value *state = &segment->values[from->value];
        struct nn_plan_condition condition = {
            .value = from->value, .is_omitted = state->is_omitted, .n_dims = state->n_dims};
        size_t at = 0;
        int r = add_dims(emitter, state->dims, state->n_dims, &condition.first_dim);

        if (!r && from->bytes) {
            r = nn_blob_append(&emitter->block, from->bytes, state->size, 1, &at);
            condition.bytes = at;
            condition.n_bytes = state->size;
        }
        if (!r)
            r = section_append(&emitter->conditions, &condition, sizeof(condition));
        if (r)
            return nn_error_trace(r);
    }
    return 0;
}

static int add_array(struct emitter *emitter, const struct nn_blob *section, size_t element_bytes,
                     struct nn_plan_array *array)
{
    size_t at;
    int r = nn_blob_append(&emitter->block, section->bytes, section->size, 16, &at);

    array->offset = at;
    array->n = (uint32_t)(section->size / element_bytes);
    return nn_error_trace(r);
}

/* The header comes first and is filled last, when all offsets are known. */
static int plan_emit(struct emitter *emitter, struct nn_plan *plan)
{
    struct nn_segment *segment = emitter->segment;
    struct nn_plan_header *header = &emitter->header;
    size_t at;
    int r = nn_blob_extend(&emitter->block, sizeof(*header), 16, &at);

    for (uint32_t i = 0; !r && i < segment->n_steps; i++)
        if (!segment->steps[i].is_dropped)
            r = add_step(emitter, &segment->steps[i]);
    if (!r)
        r = add_writes(emitter);
    if (!r)
        r = add_conditions(emitter);
    if (!r)
        r = add_array(emitter, &emitter->values, sizeof(struct nn_plan_value), &header->values);
    if (!r)
        r = add_array(emitter, &emitter->steps, sizeof(struct nn_plan_step), &header->steps);
    if (!r)
        r = add_array(emitter, &emitter->refs, sizeof(uint32_t), &header->refs);
    if (!r)
        r = add_array(emitter, &emitter->dims, sizeof(uint32_t), &header->dims);
    if (!r)
        r = add_array(emitter, &emitter->writes, sizeof(struct nn_plan_write), &header->writes);
    if (!r)
        r = add_array(emitter, &emitter->conditions, sizeof(struct nn_plan_condition),
                      &header->conditions);
    if (!r)
        r = nn_blob_take(&segment->weights, &plan->weights, &plan->weights_bytes,
                         &plan->weights_charged);
    if (r)
        return nn_error_trace(r);
    header->magic = NN_PLAN_MAGIC;
    header->n_bytes = emitter->block.size;
    header->table = nn_plan_table_id();
    header->end = segment->end;
    header->first_node = segment->first_node;
    header->end_node = segment->end_node;
    header->arena_bytes = segment->arena_bytes;
    header->weights_bytes = plan->weights_bytes;
    memcpy(emitter->block.bytes, header, sizeof(*header));
    return nn_error_trace(
        nn_blob_take(&emitter->block, &plan->block, &header->n_bytes, &plan->block_charged));
}

int nn_segment_emit(struct nn_segment *segment, struct nn_plan *ret_plan)
{
    const struct nn_blob section = {.meter = segment->weights.meter};
    struct emitter emitter = {.segment = segment,
                              .values = section,
                              .steps = section,
                              .refs = section,
                              .dims = section,
                              .writes = section,
                              .conditions = section,
                              .block = section};
    struct nn_plan plan = {.meter = section.meter};
    int r = plan_emit(&emitter, &plan);

    nn_blob_done(&emitter.values);
    nn_blob_done(&emitter.steps);
    nn_blob_done(&emitter.refs);
    nn_blob_done(&emitter.dims);
    nn_blob_done(&emitter.writes);
    nn_blob_done(&emitter.conditions);
    nn_blob_done(&emitter.block);
    if (r) {
        nn_plan_done(&plan);
        return nn_error_trace(r);
    }
    *ret_plan = plan;
    return 0;
}
