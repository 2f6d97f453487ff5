/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/common/lut.h"

#include "drivers/cpu/kernels/common/quant8.h"

#include <errno.h>

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
