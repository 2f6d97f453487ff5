/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/builder.h"

#include "base/error.h"
#include "model/types.h"
#include "runtime/extension.h"
#include "runtime/operand-type.h"

#include <string.h>

int nn_rt_builder_new(ANeuralNetworksModel **ret_model)
{
    ANeuralNetworksModel *model = calloc(1, sizeof(*model));

    if (!model)
        return nn_error_origin(-ENOMEM);
    nn_rt_object_init(&model->object);
    nn_arena_init(&model->arena, 0);
    *ret_model = model;
    return 0;
}

static void value_clear(struct nn_rt_builder_value *value)
{
    free(value->bytes);
    nn_rt_memory_unref(value->memory);
    nn_rt_model_unref(value->model);
    *value = (struct nn_rt_builder_value){0};
}

/* A finished model has copies of what it needs; weights are large. */
static void drop_parts(ANeuralNetworksModel *model)
{
    for (uint32_t i = 0; i < model->n_operands; i++)
        value_clear(&model->values[i]);
    free(model->operands);
    free(model->values);
    free(model->operations);
    free(model->inputs);
    free(model->outputs);
    model->n_operands = 0;
    model->operands = NULL;
    model->values = NULL;
    model->operations = NULL;
    model->inputs = NULL;
    model->outputs = NULL;
    nn_arena_done(&model->arena);
}

ANeuralNetworksModel *nn_rt_builder_free(ANeuralNetworksModel *model)
{
    if (!model)
        return NULL;
    drop_parts(model);
    nn_rt_model_unref(model->finished);
    nn_rt_object_done(&model->object);
    free(model);
    return NULL;
}

int nn_rt_builder_check_open(const ANeuralNetworksModel *model, struct nn_why *why)
{
    if (model->state == NN_BUILDER_OPEN)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                   model->state == NN_BUILDER_FINISHED
                       ? "the model is finished: it cannot be changed any more"
                       : "the model was refused by finish(): it can only be freed");
}

static int check_index(const ANeuralNetworksModel *model, int64_t index, struct nn_why *why)
{
    if (index >= 0 && index < model->n_operands)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no operand %lld: %u have been added",
                   (long long)index, model->n_operands);
}

/* -- operands --------------------------------------------------------------- */

/* Values are allocated second: n_operands_allocated counts what both arrays have room for. */
static int reserve_operand(ANeuralNetworksModel *model)
{
    uint32_t n = model->n_operands_allocated ? model->n_operands_allocated * 2 : 32;
    struct nnhal_operand *operands;
    struct nn_rt_builder_value *values;

    if (model->n_operands < model->n_operands_allocated)
        return 0;
    operands = realloc(model->operands, n * sizeof(*operands));
    if (!operands)
        return nn_error_origin(-ENOMEM);
    model->operands = operands;
    values = realloc(model->values, n * sizeof(*values));
    if (!values)
        return nn_error_origin(-ENOMEM);
    model->values = values;
    model->n_operands_allocated = n;
    return 0;
}

/* Scales of per-channel operands are set by a call of their own, later: the
 * rest of the type is validated as if it were symmetric. */
static int check_operand(const struct nnhal_operand *operand, struct nn_why *why)
{
    static const float one = 1;
    struct nnhal_operand judged = *operand;
    uint32_t dimension = 1;

    if (judged.type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        judged.n_dimensions = 1;
        judged.dimensions = &dimension;
        judged.extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
        judged.channel_quant = (struct nnhal_channel_quant){0, 1, &one};
    }
    return nn_fail_refused(nn_operand_validate(&judged, why));
}

/* Whether what is known of the dimensions fits 32 bits: unknown ones count as 1. */
static bool fits_known(const struct nnhal_operand *operand)
{
    uint32_t known[NNHAL_MAX_RANK];
    uint64_t n_bytes;

    for (uint32_t i = 0; i < operand->n_dimensions; i++)
        known[i] = operand->dimensions[i] ? operand->dimensions[i] : 1;
    return nn_rt_extension_bytes(operand->type, operand->n_dimensions, known, &n_bytes);
}

/* How an operand type came to be one: by Android, or by the extension of a device. */
static int check_origin(const struct nnhal_operand *operand, struct nn_why *why)
{
    const struct nnhal_extension_operand_type *type = NULL;
    int r = 0;

    if (nn_type_is_base(operand->type))
        return 0;
    if (!nn_type_is_extension(operand->type))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%u is no operand type", operand->type);
    r = nn_rt_extension_find_type(operand->type, why, &type);
    if (r)
        return r;
    /* Without a rank nothing would tell it from a scalar. */
    if (!type->is_tensor != !operand->n_dimensions)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "operand type %#x is a %s", operand->type,
                       type->is_tensor ? "tensor: it needs a rank"
                                       : "scalar: it has no dimensions");
    return 0;
}

static int operand_check_type(const ANeuralNetworksOperandType *type, struct nn_why *why)
{
    struct nnhal_operand operand = {
        .type = (uint32_t)type->type,
        .scale = type->scale,
        .zero_point = type->zeroPoint,
        .n_dimensions = type->dimensionCount,
        .dimensions = type->dimensions,
    };
    int r;

    r = nn_rt_operand_type_check_rank(type, why);
    if (r)
        return r;
    r = check_origin(&operand, why);
    if (r)
        return r;
    if (!fits_known(&operand))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the operand needs more than 4 GiB");
    return check_operand(&operand, why);
}

int nn_rt_builder_add_operand(ANeuralNetworksModel *model, const ANeuralNetworksOperandType *type,
                              struct nn_why *why)
{
    const uint32_t *dims = NULL;
    int r;

    r = nn_rt_builder_check_open(model, why);
    if (r)
        return r;
    if (model->n_operands >= NNHAL_MAX_OPERANDS)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "more than %d operands", NNHAL_MAX_OPERANDS);
    r = operand_check_type(type, why);
    if (r)
        return r;
    r = reserve_operand(model);
    if (r)
        return r;
    if (type->dimensionCount) {
        dims = nn_arena_dup(&model->arena, type->dimensions, type->dimensionCount * sizeof(*dims));
        if (!dims)
            return nn_error_origin(-ENOMEM);
    }
    model->operands[model->n_operands] = (struct nnhal_operand){
        .type = (uint32_t)type->type,
        .lifetime = NNHAL_TEMPORARY_VARIABLE,
        .scale = type->scale,
        .zero_point = type->zeroPoint,
        .n_dimensions = type->dimensionCount,
        .dimensions = dims,
    };
    model->values[model->n_operands++] = (struct nn_rt_builder_value){0};
    return 0;
}

static int check_params(const struct nnhal_operand *operand,
                        const ANeuralNetworksSymmPerChannelQuantParams *params, struct nn_why *why)
{
    if (operand->type != NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "the operand is a %s; only TENSOR_QUANT8_SYMM_PER_CHANNEL has scales per "
                       "channel",
                       nn_type_name(operand->type));
    if (!params->scales != !params->scaleCount)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%u scales, but the pointer to them %s",
                       params->scaleCount, params->scales ? "is not NULL" : "is NULL");
    if (params->scaleCount > NNHAL_MAX_CHANNELS)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%u scales: at most %d are possible",
                       params->scaleCount, NNHAL_MAX_CHANNELS);
    return 0;
}

int nn_rt_builder_set_channel_quant(ANeuralNetworksModel *model, int32_t index,
                                    const ANeuralNetworksSymmPerChannelQuantParams *params,
                                    struct nn_why *why)
{
    struct nnhal_operand operand;
    const float *scales;
    int r;

    r = nn_rt_builder_check_open(model, why);
    if (!r)
        r = check_index(model, index, why);
    if (!r)
        r = check_params(&model->operands[index], params, why);
    if (r)
        return r;
    operand = model->operands[index];
    operand.extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
    operand.channel_quant = (struct nnhal_channel_quant){params->channelDim, params->scaleCount,
                                                         params->scales};
    r = nn_fail_refused(nn_operand_validate(&operand, why));
    if (r)
        return r;
    scales = nn_arena_dup(&model->arena, params->scales, params->scaleCount * sizeof(*scales));
    if (!scales)
        return nn_error_origin(-ENOMEM);
    operand.channel_quant.scales = scales;
    model->operands[index] = operand;
    return 0;
}

int nn_rt_builder_set_extension_data(ANeuralNetworksModel *model, int32_t index, const void *data,
                                     size_t n_bytes, struct nn_why *why)
{
    struct nnhal_operand *operand;
    const uint8_t *copy;
    int r = nn_rt_builder_check_open(model, why);

    if (!r)
        r = check_index(model, index, why);
    if (r)
        return r;
    operand = &model->operands[index];
    if (!nn_type_is_extension(operand->type))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the operand is a %s, of no extension",
                       nn_type_name(operand->type));
    if (!data != !n_bytes || n_bytes > NNHAL_MAX_EXTENSION_DATA_BYTES)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "%zu bytes: extension data has 1 to %d; NULL and 0 take it away", n_bytes,
                       NNHAL_MAX_EXTENSION_DATA_BYTES);
    copy = nn_arena_dup(&model->arena, data, n_bytes);
    if (!copy)
        return nn_error_origin(-ENOMEM);
    operand->extra_params = data ? NNHAL_EXTRA_EXTENSION : NNHAL_EXTRA_NONE;
    operand->extension_data = (struct nnhal_bytes){n_bytes, data ? copy : NULL};
    return 0;
}

/* -- values ------------------------------------------------------------------- */

/* What nn_operand_validate_constant() cannot judge, it accepts. */
static int check_constant(const struct nnhal_operand *operand, uint64_t n_bytes, struct nn_why *why)
{
    uint64_t n_needed;

    if (!nn_type_is_extension(operand->type))
        return nn_fail_refused(nn_operand_validate_constant(operand, n_bytes, why));
    if (nn_dims_known(operand->type, operand->n_dimensions, operand->dimensions) &&
        nn_rt_extension_bytes(operand->type, operand->n_dimensions, operand->dimensions,
                              &n_needed) &&
        n_needed == n_bytes)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                   "%llu bytes are not what the type and dimensions of the constant need",
                   (unsigned long long)n_bytes);
}

/* An operand can become a constant unless it is an input or an output. */
static int check_settable(const ANeuralNetworksModel *model, int32_t index, struct nn_why *why)
{
    int r = nn_rt_builder_check_open(model, why);

    if (!r)
        r = check_index(model, index, why);
    if (!r && (model->operands[index].lifetime == NNHAL_SUBGRAPH_INPUT ||
               model->operands[index].lifetime == NNHAL_SUBGRAPH_OUTPUT))
        r = nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                    "operand %d is an input or output of the model: it cannot have a value", index);
    return r;
}

/* Takes value, which replaces what was there. */
static void set_value(ANeuralNetworksModel *model, int32_t index, uint32_t lifetime,
                      struct nn_rt_builder_value value)
{
    value_clear(&model->values[index]);
    model->values[index] = value;
    model->operands[index].lifetime = lifetime;
}

int nn_rt_builder_set_value(ANeuralNetworksModel *model, int32_t index, const void *bytes,
                            size_t n_bytes, struct nn_why *why)
{
    struct nn_rt_builder_value value = {.n_bytes = n_bytes};
    int r;

    r = check_settable(model, index, why);
    if (r)
        return r;
    if (!bytes) {
        set_value(model, index, NNHAL_NO_VALUE, value);
        return 0;
    }
    r = check_constant(&model->operands[index], n_bytes, why);
    if (r)
        return r;
    if (!n_bytes)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a value of 0 bytes; NULL says that there is "
                       "none");
    /* Large values are copied, too, although NNAPI lets a runtime refer to them: an application that
     * frees them early would otherwise fail in a computation, far from its bug. */
    value.bytes = malloc(n_bytes);
    if (!value.bytes)
        return nn_error_origin(-ENOMEM);
    memcpy(value.bytes, bytes, n_bytes);
    set_value(model, index, NNHAL_CONSTANT_COPY, value);
    return 0;
}

int nn_rt_builder_set_value_from_memory(ANeuralNetworksModel *model, int32_t index,
                                        ANeuralNetworksMemory *memory, uint64_t offset,
                                        uint64_t n_bytes, struct nn_why *why)
{
    struct nn_rt_builder_value value = {.n_bytes = n_bytes, .offset = offset};
    int r;

    r = check_settable(model, index, why);
    if (!r && nn_rt_memory_is_opaque(memory))
        r = nn_fail(
            why, ANEURALNETWORKS_BAD_DATA,
            "a hardware buffer that is no BLOB holds arguments of executions, no constants");
    if (!r)
        r = check_constant(&model->operands[index], n_bytes, why);
    if (!r)
        r = nn_rt_memory_check_range(memory, offset, n_bytes, why);
    if (r)
        return r;
    value.memory = nn_rt_memory_ref(memory);
    set_value(model, index, NNHAL_CONSTANT_REFERENCE, value);
    return 0;
}

int nn_rt_builder_set_value_from_model(ANeuralNetworksModel *model, int32_t index,
                                       const ANeuralNetworksModel *value, struct nn_why *why)
{
    struct nn_rt_model *finished = NULL;
    int r;

    r = nn_rt_builder_check_open(model, why);
    if (!r)
        r = nn_rt_builder_get_finished(value, why, &finished);
    if (!r)
        r = check_settable(model, index, why);
    if (!r && model->operands[index].type != NNHAL_SUBGRAPH)
        r = nn_fail(why, ANEURALNETWORKS_BAD_DATA, "operand %d is a %s, not a MODEL", index,
                    nn_type_name(model->operands[index].type));
    if (r)
        return r;
    set_value(model, index, NNHAL_SUBGRAPH_VALUE,
              (struct nn_rt_builder_value){.model = nn_rt_model_ref(finished)});
    return 0;
}

/* -- operations ------------------------------------------------------------------ */

static int reserve_operation(ANeuralNetworksModel *model)
{
    uint32_t n = model->n_operations_allocated ? model->n_operations_allocated * 2 : 32;
    struct nnhal_operation *operations;

    if (model->n_operations < model->n_operations_allocated)
        return 0;
    operations = realloc(model->operations, n * sizeof(*operations));
    if (!operations)
        return nn_error_origin(-ENOMEM);
    model->operations = operations;
    model->n_operations_allocated = n;
    return 0;
}

/* The types of an IF or WHILE have been validated; here its operands have to name models, and agree
 * with them. */
static int check_control_flow(const ANeuralNetworksModel *model,
                              const struct nnhal_operation *operation, struct nn_why *why)
{
    uint32_t first = operation->type == NNHAL_OP_IF ? 1 : 0;
    const struct nnhal_subgraph *subgraphs[2];

    for (uint32_t i = 0; i < 2; i++) {
        uint32_t index = operation->inputs[first + i];

        if (!model->values[index].model)
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s: operand %u has no model yet",
                           nn_op_name(operation->type), index);
        subgraphs[i] = &model->values[index].model->model.main;
    }
    return nn_fail_refused(
        nn_control_flow_validate(model->operands, operation, subgraphs[0], subgraphs[1], why));
}

static int check_operation(const ANeuralNetworksModel *model,
                           const struct nnhal_operation *operation, struct nn_why *why)
{
    int r = 0;

    if (!operation->n_inputs || !operation->n_outputs)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "an operation without inputs or outputs");
    if (nn_type_is_extension(operation->type))
        r = nn_rt_extension_check_operation(operation->type, why);
    for (uint32_t i = 0; !r && i < operation->n_inputs; i++)
        r = check_index(model, operation->inputs[i], why);
    for (uint32_t i = 0; !r && i < operation->n_outputs; i++)
        r = check_index(model, operation->outputs[i], why);
    if (r)
        return r;
    r = nn_fail_refused(
        nn_operation_validate(model->operands, model->n_operands, operation, NULL, why));
    if (!r && (operation->type == NNHAL_OP_IF || operation->type == NNHAL_OP_WHILE))
        r = check_control_flow(model, operation, why);
    return r;
}

int nn_rt_builder_add_operation(ANeuralNetworksModel *model,
                                const struct nnhal_operation *operation, struct nn_why *why)
{
    struct nnhal_operation copy = *operation;
    int r;

    r = nn_rt_builder_check_open(model, why);
    if (r)
        return r;
    if (model->n_operations >= NNHAL_MAX_OPERATIONS)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "more than %d operations",
                       NNHAL_MAX_OPERATIONS);
    r = check_operation(model, operation, why);
    if (r)
        return r;
    r = reserve_operation(model);
    if (r)
        return r;
    copy.inputs = nn_arena_dup(&model->arena, operation->inputs,
                               operation->n_inputs * sizeof(*operation->inputs));
    copy.outputs = nn_arena_dup(&model->arena, operation->outputs,
                                operation->n_outputs * sizeof(*operation->outputs));
    if (!copy.inputs || !copy.outputs)
        return nn_error_origin(-ENOMEM);
    model->operations[model->n_operations++] = copy;
    return 0;
}

/* -- inputs and outputs --------------------------------------------------------------- */

/* Whether operand index can be an input or output: it is not a constant, and
 * seen[] does not have it yet. */
static int check_argument(const ANeuralNetworksModel *model, uint32_t index, uint8_t *seen,
                          struct nn_why *why)
{
    int r = check_index(model, index, why);
    uint32_t lifetime;

    if (r)
        return r;
    lifetime = model->operands[index].lifetime;
    if (lifetime != NNHAL_TEMPORARY_VARIABLE && lifetime != NNHAL_SUBGRAPH_INPUT &&
        lifetime != NNHAL_SUBGRAPH_OUTPUT)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "operand %u has a value: it cannot be an input or output", index);
    if (seen[index])
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "operand %u is listed twice among inputs and outputs", index);
    seen[index] = 1;
    return 0;
}

static int check_arguments(const ANeuralNetworksModel *model, uint32_t n_inputs,
                           const uint32_t *inputs, uint32_t n_outputs, const uint32_t *outputs,
                           struct nn_why *why)
{
    _cleanup_(freep) uint8_t *seen = NULL;
    int r = 0;

    if (!n_inputs || !n_outputs)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a model needs at least one input and one output");
    seen = calloc(1, model->n_operands + 1);
    if (!seen)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < n_inputs; i++)
        r = check_argument(model, inputs[i], seen, why);
    for (uint32_t i = 0; !r && i < n_outputs; i++)
        r = check_argument(model, outputs[i], seen, why);
    return r;
}

static void set_lifetimes(ANeuralNetworksModel *model, uint32_t input, uint32_t output)
{
    for (uint32_t i = 0; i < model->n_inputs; i++)
        model->operands[model->inputs[i]].lifetime = input;
    for (uint32_t i = 0; i < model->n_outputs; i++)
        model->operands[model->outputs[i]].lifetime = output;
}

static uint32_t *dup_indexes(const uint32_t *indexes, uint32_t n)
{
    uint32_t *copy = malloc(n * sizeof(*copy));

    if (copy)
        memcpy(copy, indexes, n * sizeof(*copy));
    return copy;
}

int nn_rt_builder_identify(ANeuralNetworksModel *model, uint32_t n_inputs, const uint32_t *inputs,
                           uint32_t n_outputs, const uint32_t *outputs, struct nn_why *why)
{
    _cleanup_(freep) uint32_t *new_inputs = NULL;
    _cleanup_(freep) uint32_t *new_outputs = NULL;
    int r;

    r = nn_rt_builder_check_open(model, why);
    if (!r)
        r = check_arguments(model, n_inputs, inputs, n_outputs, outputs, why);
    if (r)
        return r;
    new_inputs = dup_indexes(inputs, n_inputs);
    new_outputs = dup_indexes(outputs, n_outputs);
    if (!new_inputs || !new_outputs)
        return nn_error_origin(-ENOMEM);
    /* Android allows the call to be repeated: the last one counts. */
    set_lifetimes(model, NNHAL_TEMPORARY_VARIABLE, NNHAL_TEMPORARY_VARIABLE);
    free(model->inputs);
    free(model->outputs);
    model->inputs = steal_ptr(&new_inputs);
    model->outputs = steal_ptr(&new_outputs);
    model->n_inputs = n_inputs;
    model->n_outputs = n_outputs;
    model->has_arguments = true;
    set_lifetimes(model, NNHAL_SUBGRAPH_INPUT, NNHAL_SUBGRAPH_OUTPUT);
    return 0;
}

int nn_rt_builder_relax(ANeuralNetworksModel *model, bool is_relaxed, struct nn_why *why)
{
    int r = nn_rt_builder_check_open(model, why);

    if (!r)
        model->is_relaxed = is_relaxed;
    return r;
}

/* -- the end ------------------------------------------------------------------------------ */

void nn_rt_builder_set_finished(ANeuralNetworksModel *model, struct nn_rt_model *finished)
{
    model->finished = finished;
    model->state = NN_BUILDER_FINISHED;
    drop_parts(model);
}

int nn_rt_builder_get_finished(const ANeuralNetworksModel *model, struct nn_why *why,
                               struct nn_rt_model **ret_finished)
{
    if (model->state != NN_BUILDER_FINISHED)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                       model->state == NN_BUILDER_OPEN
                           ? "the model is not finished"
                           : "the model was refused by finish(): it can only be freed");
    *ret_finished = model->finished;
    return 0;
}
