/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/common/lut.h"

#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/quant8.h"

int nn_lut_lower(struct nn_lower *lower, int32_t (*function)(const void *ctx, int32_t code),
                 const void *ctx)
{
    uint32_t flip = nn_quant_flip(lower->inputs[0].type);
    uint8_t *table = nn_lower_weights(lower, 256);

    if (!table)
        return -ENOMEM;
    for (uint32_t byte = 0; byte < 256; byte++)
        table[byte] = (uint8_t)function(ctx, nn_quant_code((uint8_t)byte, flip));
    return 0;
}

void nn_lut_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const uint8_t *table = args->weights;
    const uint8_t *in = (const uint8_t *)args->inputs[0].data + row->in0;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    size_t n = row->n;

    for (size_t i = 0; i < n; i++)
        out[i] = table[in[i]];
}
