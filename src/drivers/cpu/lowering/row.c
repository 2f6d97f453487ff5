/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/row.h"

#include "drivers/cpu/executor/plan.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "model/types.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ZEROED_BYTES = 1 << 20 }; /* between two looks */

/* ---- what kernels call ---- */

/* The piece lies in the plan's weights from the beginning: packing is the only copy. Pages that
 * are touched for the first time take milliseconds for some MiB. */
void *nn_lower_weights(struct nn_lower *lower, size_t n_bytes)
{
    struct nn_lower_private *private = lower->private;
    struct nn_blob *blob = private->blob;
    size_t at;

    if (nn_blob_reserve(blob, n_bytes, NN_PLAN_ALIGNMENT) ||
        nn_blob_extend(blob, 0, NN_PLAN_ALIGNMENT, &private->weights))
        return NULL;
    for (size_t done = 0, n; done < n_bytes; done += n) {
        n = n_bytes - done < ZEROED_BYTES ? n_bytes - done : ZEROED_BYTES;
        if (nn_stop_look(lower->stop) || nn_blob_extend(blob, n, 1, &at))
            return NULL;
    }
    private->weights_bytes = n_bytes;
    return blob->bytes + private->weights;
}

int nn_lower_refuse(struct nn_lower *lower, const char *format, ...)
{
    char text[NN_WHY_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    nn_refuse(lower->private->why, "%s", text);
    return NN_KERNEL_E_REFUSED;
}

bool nn_lower_is_omitted(const struct nn_lower *lower, uint32_t input)
{
    return input >= lower->n_inputs || lower->inputs[input].is_omitted;
}

/* The size tells the types apart: what is of another one than the caller reads gives NULL. */
static const void *lower_scalar(const struct nn_lower *lower, uint32_t input, uint32_t n_bytes)
{
    if (nn_lower_is_omitted(lower, input) || lower->inputs[input].size != n_bytes)
        return NULL;
    return lower->inputs[input].value;
}

int32_t nn_lower_i32(const struct nn_lower *lower, uint32_t input, int32_t fallback)
{
    const void *bytes = lower_scalar(lower, input, sizeof(int32_t));
    int32_t number;

    if (!bytes)
        return fallback;
    memcpy(&number, bytes, sizeof(number));
    return number;
}

bool nn_lower_bool(const struct nn_lower *lower, uint32_t input, bool fallback)
{
    const uint8_t *bytes = lower_scalar(lower, input, 1);

    return bytes ? *bytes != 0 : fallback;
}

float nn_lower_f32(const struct nn_lower *lower, uint32_t input, float fallback)
{
    const void *bytes = lower_scalar(lower, input, sizeof(float));
    uint16_t half;
    float number;

    if (bytes) {
        memcpy(&number, bytes, sizeof(number));
        return number;
    }
    bytes = lower_scalar(lower, input, sizeof(half));
    if (!bytes)
        return fallback;
    memcpy(&half, bytes, sizeof(half));
    return nn_f16_to_f32(half);
}

size_t nn_lower_count(const struct nn_lower_operand *operand)
{
    uint64_t count = 0;

    nn_dims_product(operand->n_dims, operand->dims, &count);
    return (size_t)count;
}

/* ---- what the core asks ---- */

static void make_tensor(const struct nn_lower_operand *operand, struct nn_tensor *tensor)
{
    *tensor = (struct nn_tensor){.size = operand->is_omitted ? 0 : operand->size,
                                 .type = operand->type,
                                 .n_dims = operand->n_dims,
                                 .dims = operand->dims,
                                 .scale = operand->scale,
                                 .zero_point = operand->zero_point};
}

bool nn_row_find_scratch(const struct nn_kernel *row, const struct nn_lower *lower,
                         struct nn_tensor *tensors, struct nn_kernel_scratch *ret)
{
    struct nn_kernel_step step = {.params = lower->params,
                                  .n_inputs = lower->n_inputs,
                                  .n_outputs = lower->n_outputs,
                                  .inputs = tensors,
                                  .outputs = tensors + lower->n_inputs};

    *ret = (struct nn_kernel_scratch){0};
    if (!row->find_scratch)
        return true;
    for (uint32_t i = 0; i < lower->n_inputs; i++)
        make_tensor(&lower->inputs[i], &tensors[i]);
    for (uint32_t i = 0; i < lower->n_outputs; i++)
        make_tensor(&lower->outputs[i], &tensors[lower->n_inputs + i]);
    return row->find_scratch(&step, ret);
}

/* How uint8 data rounds is not seen from the operands: either way is right. */
bool nn_row_makes(const struct nn_kernel *row, struct nn_lower *lower, const void *params)
{
    _Alignas(16) uint8_t made[NN_KERNEL_MAX_PARAMS_BYTES];
    struct nn_stop stop = {.deadline_ns = NNHAL_NO_TIME};
    bool is_same = row->params_bytes == 0;

    lower->stop = &stop;
    lower->params = made;
    for (lower->as_int8 = 0; !is_same && lower->as_int8 < 2; lower->as_int8++) {
        struct nn_why why = {0};
        struct nn_blob blob = {.bytes = NULL};
        struct nn_lower_private private = {.blob = &blob, .why = &why};

        memset(made, 0, sizeof(made));
        lower->private = &private;
        is_same = (!row->lower || row->lower(lower) == 0) &&
                  memcmp(made, params, row->params_bytes) == 0;
        nn_blob_done(&blob);
    }
    return is_same;
}
