/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/model-values.h"

#include "base/error.h"

/* What cannot be read stays unknown: its device tells. */
static int read_constants(const struct nn_rt_model *finished, struct nn_arena *arena,
                          struct nn_rt_value *values)
{
    const struct nn_rt_model_part *part = &finished->part;

    for (uint32_t i = 0; i < part->graph.n_operands; i++) {
        const struct nnhal_operand *operand = &part->graph.operands[i];
        struct nn_why why = {0};
        void *bytes;

        if (operand->lifetime != NNHAL_CONSTANT_REFERENCE ||
            operand->location.length > NN_RT_VALUE_READ_BYTES || values[i].bytes)
            continue;
        bytes = nn_arena_alloc(arena, operand->location.length);
        if (!bytes)
            return nn_error_origin(-ENOMEM);
        if (nn_rt_memory_read(part->pools[operand->location.pool_index], operand->location.offset,
                              bytes, operand->location.length, &why) == 0)
            values[i].bytes = bytes;
    }
    return 0;
}

int nn_rt_model_values_new(const struct nn_rt_model *finished, struct nn_arena *arena,
                           struct nn_rt_value **ret_values)
{
    const struct nn_rt_model_part *part = &finished->part;
    const uint8_t **pools = nn_arena_new_n(arena, const uint8_t *, part->n_pools);
    struct nn_rt_value *values;
    struct nn_arena scratch;
    int r;

    if (!pools)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < part->n_pools; i++)
        pools[i] = nn_rt_memory_data(part->pools[i]);
    values = nn_rt_values_new(&finished->model, pools, arena);
    r = values ? read_constants(finished, arena, values) : nn_error_origin(-ENOMEM);
    nn_arena_init(&scratch, 0);
    for (uint32_t i = 0; !r && i < finished->model.main.n_operations; i++) {
        r = nn_rt_values_infer(values, &finished->model.main, i, &scratch);
        nn_arena_reset(&scratch);
    }
    nn_arena_done(&scratch);
    if (!r)
        *ret_values = values;
    return r;
}

int nn_rt_model_values_keep(const struct nn_rt_model *finished, struct nn_arena *arena,
                            struct nn_rt_value *values)
{
    const struct nn_rt_model_part *part = &finished->part;

    for (uint32_t i = 0; i < part->graph.n_operands; i++) {
        const struct nnhal_operand *operand = &part->graph.operands[i];

        if (operand->lifetime != NNHAL_CONSTANT_REFERENCE || !values[i].bytes ||
            nn_rt_memory_data(part->pools[operand->location.pool_index]))
            continue;
        values[i].bytes = nn_arena_dup(arena, values[i].bytes, operand->location.length);
        if (!values[i].bytes)
            return nn_error_origin(-ENOMEM);
    }
    return 0;
}
