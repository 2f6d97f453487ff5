/* SPDX-License-Identifier: Apache-2.0 */
#include "model/operands.h"

#include <nnhal/types.h>

#include <stdbool.h>

/* The explicit form has four paddings in place of the padding code, so that all
 * that follows stands three inputs later. */
static struct nn_window_operands pool_operands(uint32_t n)
{
    if (n >= 10)
        return (struct nn_window_operands){.paddings = 1,
                                           .strides = 5,
                                           .filter_size = 7,
                                           .activation = 9,
                                           .layout = n > 10 ? 10 : 0};
    return (struct nn_window_operands){.padding_code = 1,
                                       .strides = 2,
                                       .filter_size = 4,
                                       .activation = 6,
                                       .layout = n > 7 ? 7 : 0};
}

/* CONV_2D, and with one more input before the activation DEPTHWISE_CONV_2D and
 * GROUPED_CONV_2D. */
static struct nn_window_operands conv_operands(uint32_t n, bool is_implicit, bool has_groups)
{
    uint32_t more = has_groups ? 1 : 0;
    uint32_t base = is_implicit ? 7 + more : 10 + more; /* inputs without tails */
    struct nn_window_operands operands = {.filter = 1, .activation = base - 1};

    if (is_implicit) {
        operands.padding_code = 3;
        operands.strides = 4;
        operands.groups = has_groups ? 6 : 0;
    } else {
        operands.paddings = 3;
        operands.strides = 7;
        operands.groups = has_groups ? 9 : 0;
    }
    if (n > base)
        operands.layout = base;
    if (n > base + 1)
        operands.dilations = base + 1;
    return operands;
}

static struct nn_window_operands transpose_operands(uint32_t n)
{
    if (n >= 11)
        return (struct nn_window_operands){
            .filter = 1, .paddings = 3, .strides = 7, .activation = 9, .layout = 10};
    return (struct nn_window_operands){.filter = 1,
                                       .output_shape = 3,
                                       .padding_code = 4,
                                       .strides = 5,
                                       .activation = 7,
                                       .layout = 8};
}

uint32_t nn_window_form_input(uint32_t operation)
{
    switch (operation) {
    case NNHAL_OP_CONV_2D:
        return 7;
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        return 8;
    default:
        return 0;
    }
}

struct nn_window_operands nn_window_operands(uint32_t operation, uint32_t n, uint32_t form_type)
{
    bool is_implicit = n == nn_window_form_input(operation) || form_type == NNHAL_BOOL;

    switch (operation) {
    case NNHAL_OP_CONV_2D:
        return conv_operands(n, is_implicit, false);
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        return conv_operands(n, is_implicit, true);
    case NNHAL_OP_GROUPED_CONV_2D:
        return conv_operands(n, n <= 9, true);
    case NNHAL_OP_TRANSPOSE_CONV_2D:
        return transpose_operands(n);
    default:
        return pool_operands(n);
    }
}
