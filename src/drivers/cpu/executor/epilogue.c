/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/epilogue.h"

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
