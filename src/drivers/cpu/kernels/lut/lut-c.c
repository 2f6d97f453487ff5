/* SPDX-License-Identifier: Apache-2.0 */
/* LOOKUP (internal-op.h), plain C: bytes through a table of 256. A table that only
 * flips bits, as between int8 and uint8, is an exclusive or, which has no loads. */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/lut.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "compiler/internal-op.h"

enum { DATA = 0, TABLE = 1 };

struct lut_params {
    uint32_t is_flip;
    uint32_t flip;
};

static int lower_lookup(struct nn_lower *lower)
{
    const uint8_t *table = lower->inputs[TABLE].value;
    struct lut_params *params = lower->params;

    if (!table)
        return 0;
    params->flip = table[0];
    params->is_flip = 1;
    for (uint32_t byte = 0; byte < 256; byte++)
        if (table[byte] != (byte ^ params->flip))
            params->is_flip = 0;
    return 0;
}

static void flip_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct lut_params *params = args->params;
    const uint8_t *in = (const uint8_t *)args->inputs[DATA].data + row->in0;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    uint8_t flip = (uint8_t)params->flip;
    size_t n = row->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] ^ flip;
}

static void table_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    nn_lut_codes_row(args->inputs[TABLE].data, args, row);
}

static int nn_lookup_q8(const struct nn_kernel_args *args)
{
    const struct lut_params *params = args->params;

    if (params->is_flip)
        nn_rows_run(args, 1, flip_row);
    else
        nn_rows_run(args, NN_LUT_COST, table_row);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {.name = NN_VARIANT_NAME("lookup_q8"),
     .isa = NN_VARIANT_ISA,
     .operation = NN_INTERNAL_OP_LUT,
     .in0 = NN_T_U8 | NN_T_S8,
     .params_bytes = sizeof(struct lut_params),
     .in_place = 1 << DATA,
     .is_elementwise = 1,
     .lower = lower_lookup,
     .run = nn_lookup_q8},
};

NN_VARIANT_FAMILY(lut, kernels);
