/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - whether a block is a plan that can be run
 *
 * Three things are judged. The block's own form: every index and offset stays
 * inside. Each step: its operands have types and shapes that the operation
 * takes, and its outputs are what inference makes of its inputs, by the same
 * functions that judged the model. And what steps write: the arena, and slots
 * that are announced. A kernel that keeps sizes of its own in its parameters
 * checks them against the shapes. */
#include "drivers/cpu/executor/plan.h"

#include "base/arith.h"
#include "compiler/internal-op.h"
#include "drivers/cpu/executor/epilogue.h"
#include "drivers/cpu/lowering/row.h"
#include "model/infer.h"
#include "model/ops.h"
#include "model/types.h"

#include <stdlib.h>
#include <string.h>

/* More than any kernel asks for: a tensor has less than 2^32 bytes. */
#define MAX_SCRATCH_BYTES (UINT64_C(1) << 36)

/* One step as the model layer and as kernels see it: room for the operands of any. */
struct step_view {
    struct nnhal_operand *operands;
    struct nn_infer_operand *infer;
    uint32_t *indices;
    struct nn_tensor *tensors;
    struct nn_lower_operand *lower;
};

struct verifier {
    const struct nn_plan *plan;
    const struct nn_plan_header *header;
    const struct nn_plan_world *world;
    const struct nn_plan_value *values;
    const struct nn_plan_step *steps;
    const struct nn_plan_write *writes;
    const struct nn_plan_condition *conditions;
    const uint32_t *refs;
    const uint32_t *dims;
    struct step_view view;
};

static bool array_fits(const struct verifier *v, const struct nn_plan_array *array,
                       size_t element_bytes)
{
    return array->reserved == 0 && array->offset % 16 == 0 &&
           nn_range_fits(array->offset, array->n * (uint64_t)element_bytes, v->header->n_bytes);
}

static bool header_fits(struct verifier *v, uint64_t n_bytes)
{
    const struct nn_plan_header *header = v->header;

    if (n_bytes < sizeof(*header) || header->magic != NN_PLAN_MAGIC || header->n_bytes != n_bytes ||
        header->table != nn_plan_table_id() || (header->isa & ~v->world->isa) ||
        header->end >= NN_PLAN_END_N || header->first_node > header->end_node ||
        header->scratch_bytes > MAX_SCRATCH_BYTES ||
        header->worker_scratch_bytes > MAX_SCRATCH_BYTES || header->end_node > v->world->n_nodes ||
        header->weights_bytes != v->plan->weights_bytes ||
        (header->end != NN_PLAN_DONE && header->end_node == v->world->n_nodes))
        return false;
    if (!array_fits(v, &header->values, sizeof(*v->values)) ||
        !array_fits(v, &header->steps, sizeof(*v->steps)) ||
        !array_fits(v, &header->refs, sizeof(*v->refs)) ||
        !array_fits(v, &header->dims, sizeof(*v->dims)) ||
        !array_fits(v, &header->writes, sizeof(*v->writes)) ||
        !array_fits(v, &header->conditions, sizeof(*v->conditions)))
        return false;
    v->values = nn_plan_at(v->plan, &header->values);
    v->steps = nn_plan_at(v->plan, &header->steps);
    v->refs = nn_plan_at(v->plan, &header->refs);
    v->dims = nn_plan_at(v->plan, &header->dims);
    v->writes = nn_plan_at(v->plan, &header->writes);
    v->conditions = nn_plan_at(v->plan, &header->conditions);
    return true;
}

static bool value_place_fits(const struct verifier *v, const struct nn_plan_value *value)
{
    switch (value->space) {
    case NN_SPACE_NONE:
        return value->size == 0;
    case NN_SPACE_ARENA:
        return nn_range_fits(value->offset, value->size, v->header->arena_bytes);
    case NN_SPACE_SLOT: /* the slot's size is checked when it is looked up */
        return value->index < v->world->n_values;
    case NN_SPACE_POOL:
        return value->index < v->world->n_pools &&
               nn_range_fits(value->offset, value->size, v->world->pool_bytes[value->index]);
    case NN_SPACE_WEIGHTS:
        return nn_range_fits(value->offset, value->size, v->header->weights_bytes);
    default:
        return false;
    }
}

static bool value_fits(const struct verifier *v, const struct nn_plan_value *value)
{
    uint32_t element = nn_type_bytes(value->type);
    uint64_t count, bytes;

    if (value->n_dims > NNHAL_MAX_RANK || !value_place_fits(v, value) ||
        !nn_range_fits(value->first_dim, value->n_dims, v->header->dims.n))
        return false;
    if (value->space == NN_SPACE_NONE)
        return true;
    if (element && value->offset % element)
        return false;
    return nn_dims_product(value->n_dims, v->dims + value->first_dim, &count) &&
           nn_mul_u64(count, element, &bytes) && bytes == value->size;
}

/* All of them are looked up, whether a step has them or not. */
static bool refs_fit(const struct verifier *v)
{
    for (uint32_t i = 0; i < v->header->refs.n; i++)
        if (v->refs[i] >= v->header->values.n)
            return false;
    return true;
}

static bool is_written_slot(const struct verifier *v, uint32_t slot)
{
    for (uint32_t i = 0; i < v->header->writes.n; i++)
        if (v->writes[i].value == slot)
            return true;
    return false;
}

static bool writes_fit(const struct verifier *v)
{
    for (uint32_t i = 0; i < v->header->writes.n; i++) {
        const struct nn_plan_write *write = &v->writes[i];
        const struct nn_plan_value *value;

        if (write->plan_value >= v->header->values.n)
            return false;
        value = &v->values[write->plan_value];
        if (value->space != NN_SPACE_SLOT || value->index != write->value || value->offset != 0)
            return false;
    }
    return true;
}

static bool conditions_fit(const struct verifier *v)
{
    for (uint32_t i = 0; i < v->header->conditions.n; i++) {
        const struct nn_plan_condition *condition = &v->conditions[i];

        if (condition->value >= v->world->n_values || condition->n_dims > NNHAL_MAX_RANK ||
            !nn_range_fits(condition->first_dim, condition->n_dims, v->header->dims.n) ||
            !nn_range_fits(condition->bytes, condition->n_bytes, v->header->n_bytes))
            return false;
    }
    return true;
}

/* ---- steps ---- */

static void as_tensor(const struct verifier *v, uint32_t ref, struct nn_tensor *tensor)
{
    const struct nn_plan_value *value = &v->values[ref];

    *tensor = (struct nn_tensor){.size = value->size,
                                 .type = value->type,
                                 .n_dims = value->n_dims,
                                 .dims = v->dims + value->first_dim,
                                 .scale = value->scale,
                                 .zero_point = value->zero_point};
}

static bool scratch_suffices(const struct verifier *v, const struct nn_kernel *kernel,
                             const struct nn_kernel_step *step)
{
    struct nn_kernel_scratch scratch = {0};

    if (!kernel->find_scratch)
        return true;
    return kernel->find_scratch(step, &scratch) && scratch.bytes <= v->header->scratch_bytes &&
           scratch.worker_bytes <= v->header->worker_scratch_bytes;
}

/* The bytes of a value that decided something: a small constant, or what a
 * condition says. */
static const void *known_bytes(const struct verifier *v, const struct nn_plan_value *value)
{
    if (value->space == NN_SPACE_WEIGHTS)
        return v->plan->weights + value->offset;
    for (uint32_t i = 0; value->space == NN_SPACE_SLOT && i < v->header->conditions.n; i++)
        if (v->conditions[i].value == value->index && v->conditions[i].n_bytes == value->size &&
            value->offset == 0 && value->size)
            return v->plan->block + v->conditions[i].bytes;
    return NULL;
}

static void fill_lower(const struct verifier *v, uint32_t ref, bool is_input,
                       struct nn_lower_operand *operand)
{
    const struct nn_plan_value *value = &v->values[ref];

    *operand = (struct nn_lower_operand){.type = value->type,
                                         .is_omitted = value->space == NN_SPACE_NONE,
                                         .n_dims = value->n_dims,
                                         .scale = value->scale,
                                         .zero_point = value->zero_point,
                                         .value = is_input ? known_bytes(v, value) : NULL,
                                         .size = value->size};
    if (value->n_dims)
        memcpy(operand->dims, v->dims + value->first_dim, value->n_dims * sizeof(uint32_t));
}

/* What needs no weights to be packed is made again: nothing in it is left to judge. */
static bool params_repeat(const struct verifier *v, const struct nn_plan_step *step,
                          const struct nn_kernel *kernel)
{
    struct nn_lower_operand *operands = v->view.lower;
    uint32_t n_in = step->n_inputs;
    struct nn_lower lower = {.operation = kernel->operation,
                             .n_inputs = n_in,
                             .n_outputs = step->n_outputs,
                             .inputs = operands,
                             .outputs = operands + n_in};

    for (uint32_t i = 0; i < n_in + step->n_outputs; i++)
        fill_lower(v, v->refs[step->first_ref + i], i < n_in, &operands[i]);
    return nn_row_makes(kernel, &lower, v->plan->block + step->params);
}

static bool params_pass(const struct verifier *v, const struct nn_plan_step *step,
                        const struct nn_kernel *kernel)
{
    struct nn_tensor *tensors = v->view.tensors;
    struct nn_kernel_step view = {.params = v->plan->block + step->params,
                                  .weights_bytes = step->weights_bytes,
                                  .n_inputs = step->n_inputs,
                                  .n_outputs = step->n_outputs,
                                  .inputs = tensors,
                                  .outputs = tensors + step->n_inputs};

    for (uint32_t i = 0; i < step->n_inputs + step->n_outputs; i++)
        as_tensor(v, v->refs[step->first_ref + i], &tensors[i]);
    return (kernel->check ? kernel->check(&view) : params_repeat(v, step, kernel)) &&
           scratch_suffices(v, kernel, &view);
}

/* Only the dimension that channels lie along is needed here, and how many there are. */
static struct nnhal_channel_quant
channels_of(const struct nn_kernel *kernel, const struct nn_plan_value *value, const uint32_t *dims)
{
    uint32_t dim = kernel->operation == NNHAL_OP_DEPTHWISE_CONV_2D ? 3 : 0;

    return (struct nnhal_channel_quant){.channel_dim = dim,
                                        .n_scales = dim < value->n_dims ? dims[dim] : 0};
}

static void fill_operand(const struct verifier *v, const struct nn_plan_step *step,
                         const struct nn_kernel *kernel, uint32_t i, const struct step_view *m)
{
    const struct nn_plan_value *value = &v->values[v->refs[step->first_ref + i]];
    struct nnhal_operand *operand = &m->operands[i];
    struct nn_infer_operand *infer = &m->infer[i];
    bool is_input = i < step->n_inputs;

    m->indices[i] = i;
    *operand = (struct nnhal_operand){.type = value->type,
                                      .scale = value->scale,
                                      .zero_point = value->zero_point,
                                      .n_dimensions = value->n_dims,
                                      .dimensions = v->dims + value->first_dim};
    if (value->type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        operand->extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
        operand->channel_quant = channels_of(kernel, value, operand->dimensions);
    }
    *infer = (struct nn_infer_operand){
        .type = value->type,
        .n_dims = is_input ? value->n_dims : 0,
        .scale = value->scale,
        .zero_point = value->zero_point,
        .channel_quant = operand->extra_params ? &operand->channel_quant : NULL,
        .value = is_input ? known_bytes(v, value) : NULL,
        .is_omitted = value->space == NN_SPACE_NONE,
        .is_known = is_input};
    if (is_input && value->n_dims)
        memcpy(infer->dims, operand->dimensions, value->n_dims * sizeof(uint32_t));
}

static bool output_agrees(const struct nn_infer_operand *infer, const struct nnhal_operand *operand)
{
    return infer->n_dims == operand->n_dimensions && infer->scale == operand->scale &&
           infer->zero_point == operand->zero_point &&
           (infer->n_dims == 0 ||
            memcmp(infer->dims, operand->dimensions, infer->n_dims * sizeof(uint32_t)) == 0);
}

static bool model_agrees(const struct nn_plan_step *step, const struct nn_kernel *kernel,
                         const struct step_view *m)
{
    uint32_t n_in = step->n_inputs, n_out = step->n_outputs;
    struct nnhal_operation operation = {.type = kernel->operation,
                                        .n_inputs = n_in,
                                        .inputs = m->indices,
                                        .n_outputs = n_out,
                                        .outputs = m->indices + n_in};
    struct nn_infer infer = {.op = nn_op_find(kernel->operation),
                             .is_lite = true, /* a plan does not tell; its model was judged */
                             .n_inputs = n_in,
                             .n_outputs = n_out,
                             .inputs = m->infer,
                             .outputs = m->infer + n_in};

    if (infer.op ? nn_operation_validate_inside(m->operands, n_in + n_out, &operation, NULL) ||
                       nn_infer(&infer)
                 : nn_internal_op_infer(&infer))
        return false;
    for (uint32_t i = 0; i < n_out; i++)
        if (m->infer[n_in + i].is_omitted == false &&
            !output_agrees(&m->infer[n_in + i], &m->operands[n_in + i]))
            return false;
    return true;
}

/* Whether the kernel takes these types, and the operation these operands. */
static bool operation_agrees(const struct verifier *v, const struct nn_plan_step *step,
                             const struct nn_kernel *kernel)
{
    uint32_t n = step->n_inputs + step->n_outputs, row = step->kernel;
    const struct step_view *m = &v->view;

    for (uint32_t i = 0; i < n; i++)
        m->indices[i] = v->values[v->refs[step->first_ref + i]].type;
    if (nn_kernel_find(row, kernel->operation, v->header->isa, step->n_inputs, step->n_outputs,
                       m->indices) != row)
        return false;
    for (uint32_t i = 0; i < n; i++)
        fill_operand(v, step, kernel, i, m);
    return model_agrees(step, kernel, m);
}

static bool same_shape(const struct verifier *v, const struct nn_plan_value *a,
                       const struct nn_plan_value *b)
{
    return a->n_dims == b->n_dims &&
           (a->n_dims == 0 || memcmp(v->dims + a->first_dim, v->dims + b->first_dim,
                                     a->n_dims * sizeof(*v->dims)) == 0);
}

/* A joined step is elementwise, and walks over its output as the step before does. */
static bool join_fits(const struct verifier *v, const struct nn_plan_step *step,
                      const struct nn_kernel *kernel)
{
    uint32_t index = (uint32_t)(step - v->steps), n = 0;
    const struct nn_plan_step *before = step - 1;

    if (!step->is_fused)
        return true;
    while (n < index && v->steps[index - n].is_fused)
        n++;
    return index > 0 && n <= NN_EPILOGUE_MAX && kernel->is_elementwise && step->n_outputs == 1 &&
           nn_epilogue_takes(nn_kernel_at(before->kernel)) && before->n_outputs == 1 &&
           same_shape(v, &v->values[v->refs[before->first_ref + before->n_inputs]],
                      &v->values[v->refs[step->first_ref + step->n_inputs]]);
}

static bool step_fits(const struct verifier *v, const struct nn_plan_step *step)
{
    const struct nn_kernel *kernel = nn_kernel_at(step->kernel);
    uint64_t n = (uint64_t)step->n_inputs + step->n_outputs;

    if (!kernel || (kernel->isa & ~v->header->isa) || step->params % 16 ||
        step->node < v->header->first_node || step->node >= v->header->end_node ||
        !nn_range_fits(step->params, kernel->params_bytes, v->header->n_bytes) ||
        step->weights % NN_PLAN_ALIGNMENT || step->weights_bytes < kernel->weights_bytes ||
        !nn_range_fits(step->weights, step->weights_bytes, v->header->weights_bytes) ||
        !nn_range_fits(step->first_ref, n, v->header->refs.n))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t ref = v->refs[step->first_ref + i];

        if (i >= step->n_inputs && v->values[ref].space != NN_SPACE_ARENA &&
            (v->values[ref].space != NN_SPACE_SLOT || !is_written_slot(v, v->values[ref].index)))
            return false;
    }
    return join_fits(v, step, kernel) && operation_agrees(v, step, kernel) &&
           params_pass(v, step, kernel);
}

/* No arena is larger than all that lies in it side by side. */
static bool arena_fits(const struct verifier *v)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < v->header->values.n; i++)
        if (v->values[i].space == NN_SPACE_ARENA)
            sum += v->values[i].size + NN_PLAN_ALIGNMENT;
    return v->header->arena_bytes <= sum;
}

/* For the step with the most operands. Returns: false if memory is short. */
static bool make_view(struct verifier *v)
{
    uint64_t n_most = 1;

    for (uint32_t i = 0; i < v->header->steps.n; i++) {
        uint64_t n = (uint64_t)v->steps[i].n_inputs + v->steps[i].n_outputs;

        if (n <= v->header->refs.n && n > n_most)
            n_most = n;
    }
    v->view = (struct step_view){.operands = calloc(n_most, sizeof(*v->view.operands)),
                                 .infer = calloc(n_most, sizeof(*v->view.infer)),
                                 .indices = calloc(n_most, sizeof(*v->view.indices)),
                                 .tensors = calloc(n_most, sizeof(*v->view.tensors)),
                                 .lower = calloc(n_most, sizeof(*v->view.lower))};
    return v->view.operands && v->view.infer && v->view.indices && v->view.tensors && v->view.lower;
}

static bool steps_fit(struct verifier *v)
{
    bool fit = make_view(v);

    for (uint32_t i = 0; fit && i < v->header->steps.n; i++)
        fit = step_fits(v, &v->steps[i]);
    free(v->view.operands);
    free(v->view.infer);
    free(v->view.indices);
    free(v->view.tensors);
    free(v->view.lower);
    return fit;
}

int nn_plan_verify(const struct nn_plan *plan, uint64_t n_bytes, const struct nn_plan_world *world)
{
    struct verifier v = {.plan = plan, .header = nn_plan_header(plan), .world = world};

    if (!header_fits(&v, n_bytes))
        return NN_PLAN_E_INVALID;
    for (uint32_t i = 0; i < v.header->values.n; i++)
        if (!value_fits(&v, &v.values[i]))
            return NN_PLAN_E_INVALID;
    if (!arena_fits(&v) || !refs_fit(&v) || !writes_fit(&v) || !conditions_fit(&v))
        return NN_PLAN_E_INVALID;
    return steps_fit(&v) ? 0 : NN_PLAN_E_INVALID;
}
