/* SPDX-License-Identifier: Apache-2.0 */
#include "variant.h"

#define TYPE_QUANT8_ASYMM        5
#define TYPE_QUANT8_ASYMM_SIGNED 14

/* leave_open() - the rank of an output stays, its dimensions go. */
static int leave_open(struct nnt_file *file, struct nnt_operand *operand)
{
    if (operand->lifetime != NNT_OUTPUT || operand->rank == 0)
        return 1;
    operand->declared = nnt_file_alloc(file, operand->rank, sizeof(uint32_t));
    return operand->declared ? 1 : -1;
}

/* forget_shape() - a tensor's rank is left open, where that is allowed: constants have theirs,
 * channel scales and extensions' types need theirs. */
static int forget_shape(struct nnt_operand *operand)
{
    bool is_open = operand->lifetime == NNT_INPUT || operand->lifetime == NNT_OUTPUT ||
                   operand->lifetime == NNT_TEMPORARY;

    if (is_open && operand->n_scales == 0 && operand->type <= UINT16_MAX)
        operand->declared_rank = 0;
    return 1;
}

/* turn_signed() - the same real values, 128 lower as codes. */
static int turn_signed(struct nnt_file *file, struct nnt_operand *operand)
{
    uint8_t *data;

    if (operand->type != TYPE_QUANT8_ASYMM)
        return 1;
    operand->type = TYPE_QUANT8_ASYMM_SIGNED;
    operand->zero_point -= 128;
    if (operand->n_bytes == 0)
        return 1;
    data = nnt_file_alloc(file, operand->n_bytes, 1);
    if (!data)
        return -1;
    for (uint32_t i = 0; i < operand->n_bytes; i++)
        data[i] = operand->data[i] ^ 0x80;
    operand->data = data;
    return 1;
}

static int apply_to_operand(enum nnt_variant variant, struct nnt_file *file,
                            struct nnt_operand *operand)
{
    switch (variant) {
    case NNT_DYNAMIC_OUTPUT:
        return leave_open(file, operand);
    case NNT_SIGNED:
        return turn_signed(file, operand);
    case NNT_OPEN_SHAPES:
        return forget_shape(operand);
    default:
        return 1;
    }
}

/* has_variant() - what is wrong by its shapes must keep them, like what cannot be open. */
static bool has_variant(enum nnt_variant variant, const struct nnt_model *model)
{
    switch (variant) {
    case NNT_DYNAMIC_OUTPUT:
        return !(model->flags & NNT_NO_DYNAMIC_OUTPUT);
    case NNT_SIGNED:
        return model->flags & NNT_QUANT_COUPLING;
    case NNT_OPEN_SHAPES:
        return !(model->flags & (NNT_NO_DYNAMIC_OUTPUT | NNT_EXPECT_FAILURE));
    default:
        return true;
    }
}

int nnt_variant_apply(enum nnt_variant variant, struct nnt_file *file, struct nnt_model *model)
{
    int r = 1;

    if (!has_variant(variant, model))
        return 0;
    for (uint32_t i = 0; i < model->n_subgraphs; i++) {
        struct nnt_subgraph *subgraph = &model->subgraphs[i];

        for (uint32_t k = 0; r == 1 && k < subgraph->n_operands; k++)
            r = apply_to_operand(variant, file, &subgraph->operands[k]);
    }
    return r;
}
