/* SPDX-License-Identifier: Apache-2.0 */
/* PAD, PAD_V2, MIRROR_PAD, plain C. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/pad/pad.h"
#include "model/operands.h"

#include <string.h>

struct pad_params {
    uint32_t before[NNHAL_MAX_RANK], after[NNHAL_MAX_RANK];
    uint32_t edge;    /* MIRROR_PAD: 1 for REFLECT */
    uint8_t value[4]; /* one element */
};

static void read_paddings(const struct nn_lower *lower, struct pad_params *params)
{
    for (uint32_t d = 0; d < lower->inputs[0].n_dims; d++) {
        params->before[d] = (uint32_t)nn_lower_i32_at(lower, NN_PAD_PADDINGS, 2 * d);
        params->after[d] = (uint32_t)nn_lower_i32_at(lower, NN_PAD_PADDINGS, 2 * d + 1);
    }
}

/* Zero: of a float all bytes are 0, of a quantized type it is the zero point. */
static int lower_pad(struct nn_lower *lower)
{
    struct pad_params *params = lower->params;

    read_paddings(lower, params);
    if (nn_type_bytes(lower->inputs[0].type) == 1)
        params->value[0] = (uint8_t)lower->inputs[0].zero_point;
    return 0;
}

/* The value is a scalar of the input's kind; for 8 bits, the low byte of an INT32. */
static int lower_pad_v2(struct nn_lower *lower)
{
    const struct nn_lower_operand *value = &lower->inputs[NN_PAD_VALUE];
    struct pad_params *params = lower->params;

    read_paddings(lower, params);
    if (value->type == NNHAL_INT32)
        params->value[0] = (uint8_t)nn_lower_i32(lower, NN_PAD_VALUE, 0);
    else
        memcpy(params->value, value->value, nn_type_bytes(value->type));
    return 0;
}

static int lower_mirror_pad(struct nn_lower *lower)
{
    struct pad_params *params = lower->params;

    read_paddings(lower, params);
    params->edge = nn_lower_i32(lower, NN_PAD_MODE, 0) == 0;
    return 0;
}

static void make_pad(const struct nn_kernel_args *args, struct nn_pad *pad)
{
    const struct pad_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[0];

    pad->rank = input->n_dims;
    pad->element_bytes = nn_type_bytes(input->type);
    for (uint32_t d = 0; d < input->n_dims; d++) {
        pad->dims[d] = input->dims[d];
        pad->before[d] = params->before[d];
        pad->after[d] = params->after[d];
    }
    nn_pad_finish(pad);
}

static int nn_pad__c(const struct nn_kernel_args *args)
{
    const struct pad_params *params = args->params;
    struct nn_pad pad;

    make_pad(args, &pad);
    nn_pad_value(args, &pad, params->value, nn_type_bytes(args->inputs[0].type),
                 args->inputs[0].data, args->outputs[0].data);
    return 0;
}

static int nn_mirror_pad__c(const struct nn_kernel_args *args)
{
    const struct pad_params *params = args->params;
    struct nn_pace pace = nn_pace(args->stop);
    struct nn_pad pad;

    make_pad(args, &pad);
    pad.pace = &pace;
    nn_pad_mirror(&pad, params->edge, args->inputs[0].data, args->outputs[0].data);
    return 0;
}

static bool check_pad(const struct nn_kernel_step *step)
{
    const struct pad_params *p = step->params;

    if (step->n_inputs < 2 || step->n_outputs != 1 ||
        step->inputs[0].n_dims != step->outputs[0].n_dims ||
        step->inputs[0].type != step->outputs[0].type)
        return false;
    for (uint32_t d = 0; d < step->inputs[0].n_dims; d++)
        if ((uint64_t)p->before[d] + step->inputs[0].dims[d] + p->after[d] !=
            step->outputs[0].dims[d])
            return false;
    return true;
}

static bool check_mirror_pad(const struct nn_kernel_step *step)
{
    const struct pad_params *p = step->params;

    if (!check_pad(step) || p->edge > 1)
        return false;
    for (uint32_t d = 0; d < step->inputs[0].n_dims; d++)
        if ((uint64_t)p->before[d] + p->edge > step->inputs[0].dims[d] ||
            (uint64_t)p->after[d] + p->edge > step->inputs[0].dims[d])
            return false;
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("pad__c", PAD), .params_bytes = sizeof(struct pad_params),
     .needs_value = 1 << NN_PAD_PADDINGS, .lower = lower_pad, .run = nn_pad__c, .check = check_pad},
    {NN_ROW("pad_v2__c", PAD_V2), .params_bytes = sizeof(struct pad_params),
     .needs_value = 1 << NN_PAD_PADDINGS, .lower = lower_pad_v2, .run = nn_pad__c,
     .check = check_pad},
    {NN_ROW("mirror_pad__c", MIRROR_PAD), .params_bytes = sizeof(struct pad_params),
     .needs_value = 1 << NN_PAD_PADDINGS, .lower = lower_mirror_pad, .run = nn_mirror_pad__c,
     .check = check_mirror_pad},
};
NN_KERNEL_FAMILY(pad, kernels);
