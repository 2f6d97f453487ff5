/* SPDX-License-Identifier: Apache-2.0 */
/* LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT, plain C: any byte but 0 is true, results are 0 or 1. */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/vector.h"

/* Without a branch: both operands are read, so that it vectorizes. */
NN_INLINE void and_loop(const struct nn_kernel_args *args, const struct nn_row *row, size_t step0,
                        size_t step1)
{
    const uint8_t *a = (const uint8_t *)args->inputs[0].data + row->in0;
    const uint8_t *b = (const uint8_t *)args->inputs[1].data + row->in1;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    size_t n = row->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = (a[i * step0] != 0) & (b[i * step1] != 0);
}

NN_INLINE void or_loop(const struct nn_kernel_args *args, const struct nn_row *row, size_t step0,
                       size_t step1)
{
    const uint8_t *a = (const uint8_t *)args->inputs[0].data + row->in0;
    const uint8_t *b = (const uint8_t *)args->inputs[1].data + row->in1;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    size_t n = row->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = (a[i * step0] | b[i * step1]) != 0;
}

static void and_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(and_loop, args, row);
}

static void or_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(or_loop, args, row);
}

static void not_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const uint8_t *in = (const uint8_t *)args->inputs[0].data + row->in0;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    size_t n = row->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] == 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("logical_and_b8__c", LOGICAL_AND), .in0 = NN_T_B8, .in_place = 3,
     .walk = nn_broadcast_run, .row = and_row, .element_cost = 8},
    {NN_ROW("logical_or_b8__c", LOGICAL_OR), .in0 = NN_T_B8, .in_place = 3,
     .walk = nn_broadcast_run, .row = or_row, .element_cost = 8},
    {NN_ROW("logical_not_b8__c", LOGICAL_NOT), .in0 = NN_T_B8, .in_place = 1, .walk = nn_rows_run,
     .row = not_row, .element_cost = 4},
};

NN_KERNEL_FAMILY(logical, kernels);
