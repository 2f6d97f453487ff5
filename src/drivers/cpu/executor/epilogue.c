/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/epilogue.h"

#include "drivers/cpu/kernels/common/fused-activation.h"

#include <string.h>

/* Elements of a range: some of them of every operand fit the nearest cache. */
enum { RANGE = 2048 };

/* What a step costs at least, in sixteenths of a nanosecond for an element. */
enum { LEAST_COST = 4 };

static struct nn_kernel_args part_of(const struct nn_kernel_args *args, size_t begin, size_t end)
{
    struct nn_kernel_args part = *args;

    part.is_part = true;
    part.part_begin = begin;
    part.part_end = end;
    return part;
}

/* Elementwise kernels cannot fail: their results are not looked at. */
void nn_epilogue_run(const struct nn_kernel_args *args, size_t begin, size_t end)
{
    for (uint32_t i = 0; i < args->n_epilogue; i++) {
        const struct nn_kernel_args part = part_of(&args->epilogue[i].args, begin, end);

        nn_kernel_run(args->epilogue[i].kernel, &part);
    }
}

static bool same_dims(const struct nn_tensor *a, const struct nn_tensor *b)
{
    return a->n_dims == b->n_dims && memcmp(a->dims, b->dims, a->n_dims * sizeof(*a->dims)) == 0;
}

/* The rows of ADD for floats have bounds for parameters. */
bool nn_epilogue_take_sum_f32(struct nn_kernel_args *args, struct nn_sum_f32 *ret)
{
    const struct nn_epilogue_step *step = args->epilogue;
    const struct nn_tensor *out = &args->outputs[0], *in, *other;
    const struct nn_bounds_f32 *bounds;

    if (args->n_epilogue == 0 || step->kernel->operation != NNHAL_OP_ADD ||
        out->type != NNHAL_TENSOR_FLOAT32)
        return false;
    in = step->args.inputs;
    bounds = step->args.params;
    other = in[0].data == out->data ? &in[1] : &in[0];
    if (!same_dims(other, out))
        return false;
    *ret = (struct nn_sum_f32){other->data, step->args.outputs[0].data, bounds->low, bounds->high};
    args->epilogue++;
    args->n_epilogue--;
    return true;
}

struct chain {
    const struct nn_kernel *head; /* NULL: the epilogue only */
    const struct nn_kernel_args *args;
    size_t n;
};

static void chain_run_ranges(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct chain *chain = ctx;

    for (size_t i = begin; i < end; i++) {
        size_t first = i * RANGE, last = chain->n - first < RANGE ? chain->n : first + RANGE;

        if (chain->head) {
            const struct nn_kernel_args part = part_of(chain->args, first, last);

            nn_kernel_run(chain->head, &part);
        }
        nn_epilogue_run(chain->args, first, last);
    }
}

static struct chain chain_of(const struct nn_kernel *head, const struct nn_kernel_args *args)
{
    return (struct chain){head, args, nn_tensor_count(&args->outputs[0])};
}

static size_t n_ranges(const struct chain *chain)
{
    return (chain->n + RANGE - 1) / RANGE;
}

static size_t element_cost(const struct nn_kernel *kernel)
{
    return kernel->element_cost > LEAST_COST ? kernel->element_cost : LEAST_COST;
}

/* In nanoseconds. */
static size_t range_cost(const struct chain *chain)
{
    size_t cost = chain->head ? element_cost(chain->head) : 0;

    for (uint32_t i = 0; i < chain->args->n_epilogue; i++)
        cost += element_cost(chain->args->epilogue[i].kernel);
    return RANGE / 16 * cost;
}

void nn_epilogue_run_all(const struct nn_kernel_args *args)
{
    struct chain chain = chain_of(NULL, args);

    if (args->n_epilogue)
        nn_parallel_for(args, n_ranges(&chain), range_cost(&chain), chain_run_ranges, &chain);
}

void nn_epilogue_run_head(const struct nn_kernel *head, const struct nn_kernel_args *args)
{
    struct chain chain = chain_of(head, args);

    nn_parallel_for(args, n_ranges(&chain), range_cost(&chain), chain_run_ranges, &chain);
}
