/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - from a model to steps
 *
 * The model was validated by the host: indexes are in range, operations stand
 * in an order in which they can be executed, constants have the size that
 * their type and dimensions say. What is left to decide is whether this device
 * can do it. */
#include "sample.h"

#include <string.h>

/* Where a constant's bytes are; NULL for what is no constant. */
static const unsigned char *constant_bytes(const struct nnhal_driver_model *model,
                                           const struct nnhal_operand *operand)
{
    if (operand->lifetime == NNHAL_CONSTANT_COPY)
        return model->model->operand_values.data + operand->location.offset;
    if (operand->lifetime == NNHAL_CONSTANT_REFERENCE)
        return model->pools[operand->location.pool_index].data + operand->location.offset;
    return NULL;
}

static bool accepts_tensor(const struct sample_device *device, const struct nnhal_operand *operand)
{
    return operand->type == NNHAL_TENSOR_FLOAT32 && device->config.accepts_float32 &&
           operand->lifetime != NNHAL_NO_VALUE && operand->n_dimensions <= 4;
}

/* The activation decides a branch: it is copied once, here. */
static bool read_activation(const struct nnhal_driver_model *model,
                            const struct nnhal_operand *operand, uint32_t *ret_activation)
{
    const unsigned char *bytes = constant_bytes(model, operand);

    if (!bytes)
        return false;
    memcpy(ret_activation, bytes, sizeof(*ret_activation));
    return *ret_activation <= NNHAL_FUSED_RELU6;
}

bool accepts_operation(const struct config *config, uint32_t type)
{
    switch (type) {
    case NNHAL_OP_ADD:
        return config->accepts_add;
    case NNHAL_OP_MUL:
        return config->accepts_mul;
    case NNHAL_OP_RELU:
        return config->accepts_relu;
    case STEP_FROM_FIXED:
        return config->accepts_from_fixed;
    default:
        return false;
    }
}

static const char *refuse_own(const struct sample_device *device, const struct nnhal_model *model,
                              const struct nnhal_operation *operation)
{
    uint32_t bits;

    if (!accepts_operation(&device->config, STEP_FROM_FIXED))
        return "the device has no such operation, or its configuration leaves it out";
    if (!extension_read_operation(model, operation, &bits))
        return "it takes an input of the model with its fraction bits, and makes floats of it";
    return NULL;
}

const char *plan_refuses(const struct sample_device *device, const struct nnhal_driver_model *model,
                         const struct nnhal_operation *operation)
{
    const struct nnhal_operand *operands = model->model->main.operands;
    uint32_t n_tensors = operation->type == NNHAL_OP_RELU ? 1 : 2, activation;
    bool has_tensors;

    if (extension_has_operation(model->model, operation->type))
        return refuse_own(device, model->model, operation);
    if (!accepts_operation(&device->config, operation->type))
        return "the device has no such operation, or its configuration leaves it out";
    has_tensors = accepts_tensor(device, &operands[operation->outputs[0]]);
    for (uint32_t i = 0; i < n_tensors; i++)
        has_tensors = has_tensors && accepts_tensor(device, &operands[operation->inputs[i]]);
    if (!has_tensors)
        return "it takes float tensors of rank 4 at most, and none that is omitted";
    if (operation->type != NNHAL_OP_RELU &&
        !read_activation(model, &operands[operation->inputs[2]], &activation))
        return "the activation must be a constant, and one of the four that there are";
    return NULL;
}

static void fill_value(struct value *value, const struct nnhal_operand *operand,
                       const struct nnhal_driver_model *model, const unsigned char *operand_values)
{
    value->lifetime = operand->lifetime;
    if (operand->type != NNHAL_TENSOR_FLOAT32)
        return; /* an activation, which is in its step, or an input of FROM_FIXED */
    value->n_dimensions = operand->n_dimensions;
    if (operand->n_dimensions)
        memcpy(value->dimensions, operand->dimensions, operand->n_dimensions * sizeof(uint32_t));
    if (operand->lifetime == NNHAL_CONSTANT_COPY)
        value->constant = (const float *)(const void *)(operand_values + operand->location.offset);
    else
        value->constant = (const float *)(const void *)constant_bytes(model, operand);
}

static void fill_values(struct plan *plan, const struct nnhal_driver_model *model)
{
    const struct nnhal_subgraph *graph = &model->model->main;

    for (uint32_t i = 0; i < plan->n_values; i++)
        fill_value(&plan->values[i], &graph->operands[i], model, plan->operand_values);
    for (uint32_t i = 0; i < graph->n_input_indexes; i++)
        plan->values[graph->input_indexes[i]].io_index = i;
    for (uint32_t i = 0; i < graph->n_output_indexes; i++)
        plan->values[graph->output_indexes[i]].io_index = i;
}

static void fill_own_step(struct sample_step *step, const struct nnhal_operation *operation,
                          const struct nnhal_model *model)
{
    *step = (struct sample_step){
        .operation = STEP_FROM_FIXED,
        .inputs = {operation->inputs[0], operation->inputs[0]},
        .output = operation->outputs[0],
    };
    extension_read_operation(model, operation, &step->fraction_bits);
}

static void fill_step(struct sample_step *step, const struct nnhal_operation *operation,
                      const struct nnhal_driver_model *model)
{
    const struct nnhal_operand *operands = model->model->main.operands;
    bool is_binary = operation->type != NNHAL_OP_RELU;

    *step = (struct sample_step){
        .operation = operation->type,
        .activation = NNHAL_FUSED_RELU,
        .inputs = {operation->inputs[0], operation->inputs[is_binary ? 1 : 0]},
        .output = operation->outputs[0],
    };
    /* A pool's bytes may have changed since plan_refuses() looked. */
    if (is_binary && !read_activation(model, &operands[operation->inputs[2]], &step->activation))
        step->activation = NNHAL_FUSED_NONE;
}

static void *allocate_zeroed(const struct nnhal_driver_services *services, size_t n_bytes)
{
    void *block = services->allocate(services->ctx, n_bytes);

    if (block)
        memset(block, 0, n_bytes);
    return block;
}

/* The host's limits on models keep these products small. */
struct plan *plan_new(struct sample_device *device, uint32_t n_values, uint32_t n_steps,
                      uint64_t n_bytes)
{
    const struct nnhal_driver_services *services = device->services;
    struct plan *plan = allocate_zeroed(services, sizeof(*plan));

    if (!plan)
        return NULL;
    plan->device = device;
    plan->n_values = n_values;
    plan->n_steps = n_steps;
    plan->values = allocate_zeroed(services, n_values * sizeof(struct value));
    plan->steps = allocate_zeroed(services, n_steps * sizeof(struct sample_step));
    plan->operand_values = allocate_zeroed(services, n_bytes);
    if (plan->values && plan->steps && plan->operand_values)
        return plan;
    plan_free(plan);
    return NULL;
}

uint32_t plan_make(struct sample_device *device, const struct nnhal_driver_model *model,
                   struct plan **ret_plan)
{
    const struct nnhal_subgraph *graph = &model->model->main;
    const struct nnhal_bytes *bytes = &model->model->operand_values;
    struct plan *plan;

    for (uint32_t i = 0; i < graph->n_operations; i++) {
        const char *refusal = plan_refuses(device, model, &graph->operations[i]);

        if (refusal)
            return explain(device, NNHAL_INVALID_ARGUMENT, refusal);
    }
    plan = plan_new(device, graph->n_operands, graph->n_operations, bytes->size);
    if (!plan)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    if (bytes->size)
        memcpy(plan->operand_values, bytes->data, bytes->size);
    fill_values(plan, model);
    for (uint32_t i = 0; i < graph->n_operations; i++)
        if (extension_has_operation(model->model, graph->operations[i].type))
            fill_own_step(&plan->steps[i], &graph->operations[i], model->model);
        else
            fill_step(&plan->steps[i], &graph->operations[i], model);
    *ret_plan = plan;
    return NNHAL_NONE;
}

void plan_free(struct plan *plan)
{
    const struct nnhal_driver_services *services = plan->device->services;

    services->release(services->ctx, plan->values);
    services->release(services->ctx, plan->steps);
    services->release(services->ctx, plan->operand_values);
    services->release(services->ctx, plan->kept_model);
    services->release(services->ctx, plan->kept_data);
    services->release(services->ctx, plan);
}
