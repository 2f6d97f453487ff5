/* SPDX-License-Identifier: Apache-2.0 */
/* What the core does for kernels, as little as is needed. */
#include "cpu/kernel-core.h"

#include "base/arith.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "model/types.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int kernel_core_broken(struct kernel_case *c, const char *format, ...)
{
    va_list args;

    if (!c->is_broken) {
        va_start(args, format);
        vsnprintf(c->why, sizeof(c->why), format, args);
        va_end(args);
    }
    c->is_broken = true;
    return KERNEL_CASE_E_BROKEN;
}

void kernel_core_allocate(const struct kernel_case *c, struct kernel_operand *operand)
{
    uint32_t element_bytes = nn_type_bytes(operand->type);
    uint64_t n;
    bool fits = nn_dims_product(operand->n_dims, operand->dims, &n);

    assert(fits);
    (void)fits;
    guard_done(&operand->guard);
    guard_init(&operand->guard, n * element_bytes, element_bytes, c->way.gap);
    operand->data = operand->guard.data;
    operand->size = operand->guard.size;
}

/* ---- lowering ---- */

void *nn_lower_weights(struct nn_lower *lower, uint64_t n_bytes)
{
    struct nn_lower_private *private = lower->private;

    if (private->weights.pages || n_bytes == 0) {
        kernel_core_broken(private->c, "asks for weights twice, or for none");
        return NULL;
    }
    guard_init(&private->weights, n_bytes, 64, 0);
    return memset(private->weights.data, 0, n_bytes);
}

int nn_lower_refuse(struct nn_lower *lower, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(lower->private->c->why, sizeof(lower->private->c->why), format, args);
    va_end(args);
    return NN_KERNEL_E_REFUSED;
}

bool nn_lower_is_omitted(const struct nn_lower *lower, uint32_t input)
{
    return input >= lower->n_inputs || lower->inputs[input].is_omitted;
}

int32_t nn_lower_i32(const struct nn_lower *lower, uint32_t input, int32_t fallback)
{
    if (!nn_lower_is_omitted(lower, input))
        memcpy(&fallback, lower->inputs[input].value, sizeof(fallback));
    return fallback;
}

bool nn_lower_bool(const struct nn_lower *lower, uint32_t input, bool fallback)
{
    if (!nn_lower_is_omitted(lower, input))
        fallback = *(const uint8_t *)lower->inputs[input].value != 0;
    return fallback;
}

float nn_lower_f32(const struct nn_lower *lower, uint32_t input, float fallback)
{
    uint16_t half;

    if (nn_lower_is_omitted(lower, input))
        return fallback;
    if (lower->inputs[input].type == NNHAL_FLOAT16) {
        memcpy(&half, lower->inputs[input].value, sizeof(half));
        return nn_f16_to_f32(half);
    }
    memcpy(&fallback, lower->inputs[input].value, sizeof(fallback));
    return fallback;
}

static size_t count_of(uint32_t n_dims, const uint32_t *dims)
{
    uint64_t n = 0;
    bool fits = nn_dims_product(n_dims, dims, &n);

    assert(fits);
    (void)fits;
    return n;
}

size_t nn_lower_count(const struct nn_lower_operand *operand)
{
    return count_of(operand->n_dims, operand->dims);
}

size_t nn_tensor_count(const struct nn_tensor *tensor)
{
    return count_of(tensor->n_dims, tensor->dims);
}

/* ---- running ---- */

/* Ranges from the last to the first: nothing may depend on their order. */
void nn_parallel_for(const struct nn_kernel_args *args, size_t n_items, size_t item_cost,
                     nn_range_fn fn, void *ctx)
{
    size_t n_ranges = kernel_way_ranges(&args->run->c->way);
    size_t step = n_items / n_ranges + (n_items % n_ranges != 0);

    if (item_cost == 0)
        kernel_core_broken(args->run->c, "says that items of a loop cost nothing");
    for (size_t i = n_ranges; i-- > 0;) {
        size_t begin = i * step, end = begin + step < n_items ? begin + step : n_items;

        if (begin < end)
            fn(ctx, begin, end, (unsigned)i);
    }
}

/* There is no epilogue, but it is looked at where one would run. */
void nn_epilogue_run(const struct nn_kernel_args *args, size_t begin, size_t end)
{
    struct nn_run *run = args->run;

    if (!run->is_after)
        return;
    if (begin > end || end > kernel_case_count(&run->c->outputs[0])) {
        kernel_core_broken(run->c, "runs the epilogue beyond output 0");
        return;
    }
    for (size_t i = begin; i < end; i++) {
        if (run->is_after[i])
            kernel_core_broken(run->c, "runs the epilogue of element %zu twice", i);
        run->is_after[i] = 1;
    }
}

bool nn_epilogue_take_sum_f32(struct nn_kernel_args *args, struct nn_sum_f32 *ret)
{
    return false;
}

void nn_epilogue_run_all(const struct nn_kernel_args *args)
{
    nn_epilogue_run(args, 0, nn_tensor_count(&args->outputs[0]));
}

bool nn_kernel_stopped(const struct nn_kernel_args *args)
{
    return nn_stop_look(args->stop) != 0;
}

int nn_kernel_refuse(const struct nn_kernel_args *args, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(args->run->c->why, sizeof(args->run->c->why), format, list);
    va_end(list);
    return NN_KERNEL_E_REFUSED;
}

int nn_output_resize(const struct nn_kernel_args *args, uint32_t output, uint32_t n_dims,
                     const uint32_t *dims)
{
    struct kernel_operand *operand = &args->run->c->outputs[output];

    operand->n_dims = n_dims;
    memcpy(operand->dims, dims, n_dims * sizeof(dims[0]));
    kernel_core_allocate(args->run->c, operand);
    args->outputs[output] = (struct nn_tensor){.data = operand->data,
                                               .size = operand->size,
                                               .type = operand->type,
                                               .n_dims = n_dims,
                                               .dims = operand->dims,
                                               .scale = operand->scale,
                                               .zero_point = operand->zero_point};
    return 0;
}
