/* SPDX-License-Identifier: Apache-2.0 */
#include "model/defaults.h"

#include "model/signature.h"

#include <string.h>

/* find_default() - what INT32 arguments at the operation's end are when they are left out.
 * Returns: false if the operation has no such end. */
static bool find_default(uint32_t type, int32_t *ret)
{
    switch (type) {
    case NNHAL_OP_CONV_2D:
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        *ret = 1; /* dilation */
        return true;
    case NNHAL_OP_L2_NORMALIZATION:
    case NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION:
    case NNHAL_OP_SOFTMAX:
        *ret = -1; /* axis */
        return true;
    case NNHAL_OP_AVERAGE_POOL_2D:
    case NNHAL_OP_BATCH_TO_SPACE_ND:
    case NNHAL_OP_DEPTH_TO_SPACE:
    case NNHAL_OP_L2_POOL_2D:
    case NNHAL_OP_MAX_POOL_2D:
    case NNHAL_OP_RESIZE_BILINEAR:
    case NNHAL_OP_RESIZE_NEAREST_NEIGHBOR:
    case NNHAL_OP_SPACE_TO_BATCH_ND:
    case NNHAL_OP_SPACE_TO_DEPTH:
        *ret = 0; /* booleans only */
        return true;
    default:
        return false;
    }
}

/* is_default() - of one argument, by its character in the pattern. */
static bool is_default(char c, const void *bytes, int32_t expected)
{
    int32_t value;

    if (!bytes)
        return false;
    if (c == 'b')
        return *(const uint8_t *)bytes == 0;
    memcpy(&value, bytes, sizeof(value));
    return c == 'i' && value == expected;
}

uint32_t nn_operation_count_without_defaults(
    const struct nnhal_operation *operation, const struct nn_signature *signature,
    const void *(*value)(const void *ctx, uint32_t operand), const void *ctx)
{
    uint32_t n = operation->n_inputs, start;
    int32_t expected;
    char c;

    if (!find_default(operation->type, &expected))
        return n;
    while ((start = nn_signature_last_tail(signature, n, &c)) < n) {
        for (uint32_t i = start; i < n; i++)
            if (!is_default(c, value(ctx, operation->inputs[i]), expected))
                return n;
        n = start;
    }
    return n;
}
