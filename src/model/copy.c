/* SPDX-License-Identifier: Apache-2.0 */
#include "model/copy.h"

#include "base/error.h"

#include <stdbool.h>
#include <string.h>

/* dup_array() - replaces *array, which points to the original's elements, by a copy of them.
 * Returns: false if memory is exhausted. */
static bool dup_array(struct nn_arena *arena, const void *array, size_t n, size_t element_bytes)
{
    const void **pointer = (const void **)array;
    void *copy;

    if (n == 0) {
        *pointer = NULL;
        return true;
    }
    copy = nn_arena_alloc_array(arena, n, element_bytes);
    if (!copy)
        return false;
    memcpy(copy, *pointer, n * element_bytes);
    *pointer = copy;
    return true;
}

#define DUP(arena, pointer, n) dup_array((arena), &(pointer), (n), sizeof(*(pointer)))

static bool copy_operand(struct nnhal_operand *operand, struct nn_arena *arena)
{
    return DUP(arena, operand->dimensions, operand->n_dimensions) &&
           DUP(arena, operand->channel_quant.scales, operand->channel_quant.n_scales) &&
           DUP(arena, operand->extension_data.data, operand->extension_data.size);
}

static bool copy_operation(struct nnhal_operation *operation, struct nn_arena *arena)
{
    return DUP(arena, operation->inputs, operation->n_inputs) &&
           DUP(arena, operation->outputs, operation->n_outputs);
}

/* copy_subgraph() - the arrays are copied first, then patched in place. */
static bool copy_subgraph(struct nnhal_subgraph *subgraph, struct nn_arena *arena)
{
    if (!DUP(arena, subgraph->operands, subgraph->n_operands) ||
        !DUP(arena, subgraph->operations, subgraph->n_operations) ||
        !DUP(arena, subgraph->input_indexes, subgraph->n_input_indexes) ||
        !DUP(arena, subgraph->output_indexes, subgraph->n_output_indexes))
        return false;
    for (uint32_t i = 0; i < subgraph->n_operands; i++)
        if (!copy_operand((struct nnhal_operand *)&subgraph->operands[i], arena))
            return false;
    for (uint32_t i = 0; i < subgraph->n_operations; i++)
        if (!copy_operation((struct nnhal_operation *)&subgraph->operations[i], arena))
            return false;
    return true;
}

static bool copy_prefixes(struct nnhal_model *model, struct nn_arena *arena)
{
    struct nnhal_extension_prefix *prefixes;

    if (!DUP(arena, model->extension_prefixes, model->n_extension_prefixes))
        return false;
    prefixes = (struct nnhal_extension_prefix *)model->extension_prefixes;
    for (uint32_t i = 0; i < model->n_extension_prefixes; i++) {
        prefixes[i].name = nn_arena_dup(arena, prefixes[i].name, strlen(prefixes[i].name) + 1);
        if (!prefixes[i].name)
            return false;
    }
    return true;
}

static bool copy_model(struct nnhal_model *model, struct nn_arena *arena)
{
    if (!copy_subgraph(&model->main, arena) ||
        !DUP(arena, model->referenced, model->n_referenced) ||
        !DUP(arena, model->pools, model->n_pools) ||
        !DUP(arena, model->operand_values.data, model->operand_values.size) ||
        !copy_prefixes(model, arena))
        return false;
    for (uint32_t i = 0; i < model->n_referenced; i++)
        if (!copy_subgraph((struct nnhal_subgraph *)&model->referenced[i], arena))
            return false;
    return true;
}

/* The struct is copied whole, then each pointer in it is replaced. */
int nn_model_copy(struct nnhal_model *ret, const struct nnhal_model *model, struct nn_arena *arena)
{
    struct nnhal_model copy = *model;

    if (!copy_model(&copy, arena))
        return nn_error_origin(-ENOMEM);
    *ret = copy;
    return 0;
}

int nn_operand_copy(struct nnhal_operand *ret, const struct nnhal_operand *operand,
                    struct nn_arena *arena)
{
    struct nnhal_operand copy = *operand;

    if (!copy_operand(&copy, arena))
        return nn_error_origin(-ENOMEM);
    *ret = copy;
    return 0;
}
