/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/argument.h"

#include "model/infer.h"
#include "model/types.h"
#include "runtime/memory/domain.h"
#include "runtime/operand-type.h"

#include <string.h>

static int argument_check_type(const struct nn_rt_argument_rules *rules, struct nn_why *why)
{
    const ANeuralNetworksOperandType *type = rules->type;
    const struct nnhal_operand *operand = rules->operand;
    /* As Android does, of the type the dimensions alone count: the rest is the model's. */
    int r = nn_rt_operand_type_check_rank(type, why);

    if (r)
        return r;
    if (type->dimensionCount && nn_type_is_scalar(operand->type))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "a %s has no dimensions",
                       nn_type_name(operand->type));
    if (operand->n_dimensions && type->dimensionCount != operand->n_dimensions)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "rank %u, but the model says %u",
                       type->dimensionCount, operand->n_dimensions);
    for (uint32_t i = 0; i < operand->n_dimensions; i++)
        if (operand->dimensions[i] && type->dimensions[i] != operand->dimensions[i])
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                           "dimension %u is %u, but the model says %u", i, type->dimensions[i],
                           operand->dimensions[i]);
    return 0;
}

static int argument_set_dims(struct nn_rt_argument *argument,
                             const struct nn_rt_argument_rules *rules, struct nn_why *why)
{
    const ANeuralNetworksOperandType *type = rules->type;
    const uint32_t *dims = type ? type->dimensions : rules->operand->dimensions;
    int r = type ? argument_check_type(rules, why) : 0;

    if (r)
        return r;
    argument->has_type = type != NULL;
    argument->n_dims = type ? type->dimensionCount : rules->operand->n_dimensions;
    if (argument->n_dims)
        memcpy(argument->dims, dims, argument->n_dims * sizeof(*dims));
    return 0;
}

bool nn_rt_argument_is_specified(const struct nn_rt_argument *argument,
                                 const struct nnhal_operand *operand)
{
    return argument->kind == NN_ARGUMENT_OMITTED ||
           nn_dims_known(operand->type, argument->n_dims, argument->dims);
}

static int argument_set_length(struct nn_rt_argument *argument,
                               const struct nn_rt_argument_rules *rules, uint64_t length,
                               struct nn_why *why)
{
    uint64_t needed;

    if (length > UINT32_MAX)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%llu bytes: at most 4 GiB are possible",
                       (unsigned long long)length);
    if (!nn_io_bytes(rules->operand, argument->n_dims, argument->dims, &needed))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the operand needs more than 4 GiB");
    if (!nn_rt_argument_is_specified(argument, rules->operand)) {
        if (rules->is_input)
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                           "a dimension is not known: give a type that says it");
        /* An output of unknown size has all the room there is; the device tells what it used. */
        needed = 0;
    }
    argument->length = needed ? needed : length;
    if (needed && (length < needed || (length > needed && !rules->has_padding)))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%llu bytes, but the operand needs %llu",
                       (unsigned long long)length, (unsigned long long)needed);
    argument->padding = length - argument->length;
    return 0;
}

static int set_range(struct nn_rt_argument *argument, const struct nn_rt_argument_rules *rules,
                     const ANeuralNetworksMemory *memory, uint64_t length, struct nn_why *why)
{
    int r = nn_rt_memory_check_range(memory, argument->offset, length, why);

    return r ? r : argument_set_length(argument, rules, length, why);
}

/* A memory made from a descriptor. The argument gets the dims that the descriptor has; what is open
 * in both is decided by the device. */
static int set_opaque(struct nn_rt_argument *argument, const struct nn_rt_argument_rules *rules,
                      const ANeuralNetworksMemory *memory, uint64_t length, struct nn_why *why)
{
    const struct nn_rt_roles *roles = &memory->domain->roles;
    uint32_t n, dims[NNHAL_MAX_RANK];
    uint64_t n_bytes;

    if (argument->offset || length)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a memory made from a descriptor is used as a whole: offset and length "
                       "must be 0");
    if (!nn_dims_merge(argument->n_dims, argument->dims, roles->n_dims, roles->dims, &n, dims))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "the dimensions contradict those of the memory");
    argument->n_dims = n;
    memcpy(argument->dims, dims, n * sizeof(*dims));
    if (!nn_io_bytes(rules->operand, n, dims, &n_bytes))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the operand needs more than 4 GiB");
    if (n && nn_dims_known(rules->operand->type, n, dims))
        argument->has_type = true;
    /* Open until the device has computed: any length is right. */
    argument->length = n_bytes ? n_bytes : UINT32_MAX;
    return 0;
}

/* An image is used as a whole. Only the device knows its length, and compares. */
static int set_image(const struct nn_rt_argument *argument,
                     const struct nn_rt_argument_rules *rules, const ANeuralNetworksMemory *memory,
                     uint64_t length, struct nn_why *why)
{
    if (rules->is_input && !nn_rt_argument_is_specified(argument, rules->operand))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a dimension is not known: give a type that says it");
    return nn_rt_memory_check_range(memory, argument->offset, length, why);
}

int nn_rt_argument_set_pointer(struct nn_rt_argument *argument,
                               const struct nn_rt_argument_rules *rules, void *pointer,
                               uint64_t length, struct nn_why *why)
{
    struct nn_rt_argument new = {.kind = pointer ? NN_ARGUMENT_POINTER : NN_ARGUMENT_OMITTED};
    int r;

    r = argument_set_dims(&new, rules, why);
    if (r)
        return r;
    if (pointer && !length)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "a buffer of 0 bytes; NULL says that the argument is omitted");
    if (pointer) {
        new.pointer = pointer;
        r = argument_set_length(&new, rules, length, why);
    }
    if (!r)
        *argument = new;
    return r;
}

int nn_rt_argument_set_memory(struct nn_rt_argument *argument,
                              const struct nn_rt_argument_rules *rules,
                              ANeuralNetworksMemory *memory, uint64_t offset, uint64_t length,
                              struct nn_why *why)
{
    struct nn_rt_argument new = {.kind = NN_ARGUMENT_MEMORY, .offset = offset};
    int r;

    r = argument_set_dims(&new, rules, why);
    if (!r && memory->domain)
        r = set_opaque(&new, rules, memory, length, why);
    else if (!r && nn_rt_memory_is_opaque(memory))
        r = set_image(&new, rules, memory, length, why);
    else if (!r)
        r = set_range(&new, rules, memory, length, why);
    if (r)
        return r;
    new.memory = nn_rt_memory_ref(memory);
    *argument = new;
    return 0;
}

bool nn_rt_argument_is_opaque(const struct nn_rt_argument *argument)
{
    return argument->memory && nn_rt_memory_is_opaque(argument->memory);
}

void nn_rt_argument_done(struct nn_rt_argument *argument)
{
    nn_rt_memory_unref(argument->memory);
    *argument = (struct nn_rt_argument){0};
}
