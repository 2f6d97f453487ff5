/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/mutator.h"

#include <math.h>
#include <string.h>

#define TYPE_TENSOR_INT32 4
#define TYPE_PER_CHANNEL  11
#define TYPE_MODEL        15
#define N_TYPES           16

static uint64_t state = 1;

void mutator_seed(uint64_t seed)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

static struct nnt_subgraph *any_subgraph(struct nnt_model *model)
{
    return &model->subgraphs[below(model->n_subgraphs)];
}

/* An operand that some operation uses, so that its type matters. */
static struct nnt_operand *any_operand(struct nnt_model *model)
{
    struct nnt_subgraph *subgraph = any_subgraph(model);
    const struct nnt_operation *operation = &subgraph->operations[below(subgraph->n_operations)];
    uint32_t i = below(operation->n_inputs + operation->n_outputs);

    return &subgraph
                ->operands[i < operation->n_inputs ? operation->inputs[i]
                                                   : operation->outputs[i - operation->n_inputs]];
}

static bool is_quantized(uint32_t type)
{
    return type == 5 || type == 7 || type == 12 || type == 13 || type == 14;
}

static bool is_scalar(uint32_t type)
{
    return type < 3 || type == 6 || type == 10 || type == TYPE_MODEL;
}

/* copy_list() - a list with room for one more, which may be changed. */
static uint32_t *copy_list(struct nnt_file *file, const uint32_t *list, uint32_t n)
{
    uint32_t *copy = nnt_file_alloc(file, (size_t)n + 1, sizeof(*copy));

    if (copy)
        memcpy(copy, list, n * sizeof(*copy));
    return copy;
}

/* -- operands -- */

static enum mutator_outcome spoil_type(struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_operand *operand = any_operand(model);
    uint32_t type = below(N_TYPES);

    /* References and channel scales belong to their types. */
    if (operand->type == TYPE_MODEL || operand->type == TYPE_PER_CHANNEL || type == TYPE_MODEL ||
        type == TYPE_PER_CHANNEL || type == operand->type)
        return MUTATOR_NO_PLACE;
    operand->type = type;
    operand->scale = is_quantized(type) ? 0.5f : 0.0f;
    operand->zero_point = 0;
    if (is_scalar(type))
        operand->rank = operand->declared_rank = 0;
    return MUTATOR_MAY_BE_LEGAL;
}

static enum mutator_outcome spoil_unknown_type(struct nnt_file *file, struct nnt_model *model)
{
    static const uint32_t types[] = {16, 9999, 10002, 65535, 0x7fff0000, UINT32_MAX};

    any_operand(model)->type = types[below(6)];
    return MUTATOR_NEVER_LEGAL;
}

static enum mutator_outcome spoil_rank(struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_operand *operand = any_operand(model);
    uint32_t *dimensions = nnt_file_alloc(file, operand->rank + 4u, sizeof(*dimensions));
    bool was_scalar = is_scalar(operand->type);

    if (!dimensions)
        return MUTATOR_NO_PLACE;
    memcpy(dimensions, operand->declared, operand->rank * sizeof(*dimensions));
    if (operand->rank > 0 && below(2)) {
        operand->rank--;
    } else {
        for (uint32_t more = below(4) + 1; more > 0; more--)
            dimensions[operand->rank++] = 1;
    }
    operand->declared = dimensions;
    operand->expected = dimensions;
    operand->declared_rank = operand->rank;
    return was_scalar ? MUTATOR_NEVER_LEGAL : MUTATOR_MAY_BE_LEGAL;
}

static enum mutator_outcome spoil_dimension(struct nnt_file *file, struct nnt_model *model)
{
    static const uint32_t numbers[] = {0, 1, 2, 3, 7, 65536, UINT32_MAX};
    struct nnt_operand *operand = any_operand(model);
    uint32_t *dimensions;

    if (operand->rank == 0)
        return MUTATOR_NO_PLACE;
    dimensions = copy_list(file, operand->declared, operand->rank);
    if (!dimensions)
        return MUTATOR_NO_PLACE;
    dimensions[below(operand->rank)] = numbers[below(7)];
    operand->declared = dimensions;
    return MUTATOR_MAY_BE_LEGAL;
}

static enum mutator_outcome spoil_scale(struct nnt_file *file, struct nnt_model *model)
{
    static const float of_quantized[] = {0.0f, -1.0f, NAN, INFINITY};
    static const float of_others[] = {1.0f, -1.0f, NAN, INFINITY};
    struct nnt_operand *operand = any_operand(model);

    if (is_quantized(operand->type))
        operand->scale = of_quantized[below(4)];
    else if (operand->type == TYPE_TENSOR_INT32)
        operand->scale = of_others[below(3) + 1];
    else
        operand->scale = of_others[below(4)];
    return MUTATOR_NEVER_LEGAL;
}

/* A scale that is legal by itself, where another one may be demanded. */
static enum mutator_outcome spoil_scale_lightly(struct nnt_file *file, struct nnt_model *model)
{
    static const float scales[] = {1e-30f, 0.001f, 3.0f, 1e30f};
    struct nnt_operand *operand = any_operand(model);

    if (!is_quantized(operand->type))
        return MUTATOR_NO_PLACE;
    operand->scale = scales[below(4)];
    return MUTATOR_MAY_BE_LEGAL;
}

static enum mutator_outcome spoil_zero_point(struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_operand *operand = any_operand(model);

    switch (operand->type) {
    case 5:
        operand->zero_point = below(2) ? -1 : 256;
        break;
    case 12:
        operand->zero_point = below(2) ? -1 : 65536;
        break;
    case 14:
        operand->zero_point = below(2) ? -129 : 128;
        break;
    default:
        operand->zero_point = below(2) ? -1 : 1;
        break;
    }
    return MUTATOR_NEVER_LEGAL;
}

/* -- operations -- */

/* One operand more or less on one side of an operation. */
static enum mutator_outcome spoil_count(struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_subgraph *subgraph = any_subgraph(model);
    struct nnt_operation *operation = &subgraph->operations[below(subgraph->n_operations)];
    bool is_output = below(2);
    const uint32_t **list = is_output ? &operation->outputs : &operation->inputs;
    uint32_t *n = is_output ? &operation->n_outputs : &operation->n_inputs;
    uint32_t *copy = copy_list(file, *list, *n);

    if (!copy)
        return MUTATOR_NO_PLACE;
    if (below(2) && *n > 0)
        (*n)--;
    else
        copy[(*n)++] = below(subgraph->n_operands);
    *list = copy;
    return MUTATOR_MAY_BE_LEGAL;
}

/* Another operand, or none that there is, in one place of an operation. */
static enum mutator_outcome spoil_place(struct nnt_file *file, struct nnt_model *model,
                                        bool is_in_range)
{
    static const uint32_t beyond[] = {0, 1, 1000000, INT32_MAX, UINT32_MAX};
    struct nnt_subgraph *subgraph = any_subgraph(model);
    struct nnt_operation *operation = &subgraph->operations[below(subgraph->n_operations)];
    bool is_output = below(2);
    const uint32_t **list = is_output ? &operation->outputs : &operation->inputs;
    uint32_t n = is_output ? operation->n_outputs : operation->n_inputs;
    uint32_t i = below(5), *copy = copy_list(file, *list, n);

    if (!copy || n == 0)
        return MUTATOR_NO_PLACE;
    copy[below(n)] = is_in_range ? below(subgraph->n_operands)
                                 : beyond[i] + (i < 2 ? subgraph->n_operands : 0);
    *list = copy;
    return is_in_range ? MUTATOR_MAY_BE_LEGAL : MUTATOR_NEVER_LEGAL;
}

static enum mutator_outcome spoil_index(struct nnt_file *file, struct nnt_model *model)
{
    return spoil_place(file, model, false);
}

static enum mutator_outcome spoil_other_operand(struct nnt_file *file, struct nnt_model *model)
{
    return spoil_place(file, model, true);
}

static enum mutator_outcome spoil_operation(struct nnt_file *file, struct nnt_model *model)
{
    struct nnt_subgraph *subgraph = any_subgraph(model);
    struct nnt_operation *operation = &subgraph->operations[below(subgraph->n_operations)];

    operation->type = below(4) ? below(106) : 106 + below(1000);
    return operation->type < 106 ? MUTATOR_MAY_BE_LEGAL : MUTATOR_NEVER_LEGAL;
}

/* -- values -- */

/* A number in a constant or an input: axes, paddings, strides, indices, conditions. Scalars get no
 * huge ones: a sampling ratio of two thousand million is legal, and never done. */
static enum mutator_outcome spoil_value(struct nnt_file *file, struct nnt_model *model)
{
    static const int32_t numbers[] = {INT32_MIN, -1000, -1, 0, 1, 2, 5, 100, 65536, INT32_MAX};
    struct nnt_operand *operand = any_operand(model);
    uint32_t n_numbers = is_scalar(operand->type) ? 8 : 10;
    uint8_t *data;

    if (operand->n_bytes < 4 || operand->lifetime == NNT_SUBGRAPH)
        return MUTATOR_NO_PLACE;
    data = nnt_file_alloc(file, operand->n_bytes, 1);
    if (!data)
        return MUTATOR_NO_PLACE;
    memcpy(data, operand->data, operand->n_bytes);
    memcpy(data + below(operand->n_bytes / 4) * 4, &numbers[below(n_numbers)], 4);
    operand->data = data;
    return MUTATOR_MAY_BE_LEGAL;
}

const struct mutator mutators[] = {
    {"type", spoil_type},
    {"unknown type", spoil_unknown_type},
    {"rank", spoil_rank},
    {"dimension", spoil_dimension},
    {"scale", spoil_scale},
    {"another scale", spoil_scale_lightly},
    {"zero point", spoil_zero_point},
    {"count", spoil_count},
    {"index", spoil_index},
    {"another operand", spoil_other_operand},
    {"operation", spoil_operation},
    {"value", spoil_value},
};
const unsigned n_mutators = sizeof(mutators) / sizeof(mutators[0]);
