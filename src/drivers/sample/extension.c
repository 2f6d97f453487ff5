/* SPDX-License-Identifier: Apache-2.0 */
/* extension.c - an operand type and an operation of the vendor's own
 *
 * The extension com.example.sample has tensors of 16-bit fixed-point numbers (type 0) and the
 * operation FROM_FIXED (0), which makes floats of them. An operand's extension data is a uint32_t:
 * how many bits are behind the point, 8 if there is none. A model gives the extension a prefix of
 * its own, which is looked up by name. */
#include "sample.h"

#include <string.h>

enum {
    FIXED_TENSOR = 0, /* operand type */
    FROM_FIXED = 0,   /* operation */
    DEFAULT_FRACTION_BITS = 8,
    MAX_FRACTION_BITS = 15,
};

static const struct nnhal_extension_operand_type operand_types[] = {
    {.type = FIXED_TENSOR, .is_tensor = 1, .byte_size = sizeof(int16_t)},
};

const struct nnhal_extension sample_extension = {
    .name = "com.example.sample",
    .n_operand_types = 1,
    .operand_types = operand_types,
};

/* Whether a type or operation of the model is this one of ours. */
static bool is_own(const struct nnhal_model *model, uint32_t type, uint32_t code)
{
    for (uint32_t i = 0; i < model->n_extension_prefixes; i++)
        if (strcmp(model->extension_prefixes[i].name, sample_extension.name) == 0)
            return type == (model->extension_prefixes[i].prefix << 16 | code);
    return false;
}

bool extension_has_operation(const struct nnhal_model *model, uint32_t type)
{
    return is_own(model, type, FROM_FIXED);
}

/* The data belongs to the model: it is copied before it is judged. */
static bool read_fraction_bits(const struct nnhal_operand *operand, uint32_t *ret_bits)
{
    *ret_bits = DEFAULT_FRACTION_BITS;
    if (operand->extra_params != NNHAL_EXTRA_EXTENSION)
        return true;
    if (operand->extension_data.size != sizeof(*ret_bits))
        return false;
    memcpy(ret_bits, operand->extension_data.data, sizeof(*ret_bits));
    return *ret_bits <= MAX_FRACTION_BITS;
}

bool extension_read_operation(const struct nnhal_model *model,
                              const struct nnhal_operation *operation, uint32_t *ret_bits)
{
    const struct nnhal_operand *input, *output;

    if (operation->n_inputs != 1 || operation->n_outputs != 1)
        return false; /* only its owner knows what an operation takes: the host has not looked */
    input = &model->main.operands[operation->inputs[0]];
    output = &model->main.operands[operation->outputs[0]];
    return is_own(model, input->type, FIXED_TENSOR) && input->lifetime == NNHAL_SUBGRAPH_INPUT &&
           output->type == NNHAL_TENSOR_FLOAT32 && read_fraction_bits(input, ret_bits);
}
