/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/epilogue.h"

/* Elements of a range: some of them of every operand fit the nearest cache. */
enum { RANGE = 2048 };

/* What one element costs in a step that nobody has measured, in nanoseconds. */
enum { ELEMENT_COST = 1 };

static void run_part(const struct nn_kernel *kernel, const struct nn_kernel_args *from,
                     size_t begin, size_t end)
{
    struct nn_kernel_args args = *from;

    args.is_part = true;
    args.part_begin = begin;
    args.part_end = end;
    kernel->run(&args); /* elementwise: it cannot fail */
}

void nn_epilogue_run(const struct nn_kernel_args *args, size_t begin, size_t end)
{
    for (uint32_t i = 0; i < args->n_epilogue; i++)
        run_part(args->tail[i].kernel, &args->tail[i].args, begin, end);
}

struct chain {
    const struct nn_kernel *head; /* NULL: the tail only */
    const struct nn_kernel_args *args;
    size_t n;
};

static void run_ranges(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct chain *chain = ctx;

    for (size_t i = begin; i < end; i++) {
        size_t first = i * RANGE, last = chain->n - first < RANGE ? chain->n : first + RANGE;

        if (chain->head)
            run_part(chain->head, chain->args, first, last);
        nn_epilogue_run(chain->args, first, last);
    }
}

static void run_chain(const struct nn_kernel *head, const struct nn_kernel_args *args)
{
    struct chain chain = {head, args, nn_tensor_count(&args->outputs[0])};

    nn_parallel_for(args, (chain.n + RANGE - 1) / RANGE,
                    RANGE * ELEMENT_COST * (1 + args->n_epilogue), run_ranges, &chain);
}

void nn_epilogue_run_all(const struct nn_kernel_args *args)
{
    if (args->n_epilogue)
        run_chain(NULL, args);
}

int nn_epilogue_run_head(const struct nn_kernel *head, const struct nn_kernel_args *args)
{
    if (args->n_epilogue == 0 || head->runs_epilogue)
        return head->run(args);
    run_chain(head, args);
    return 0;
}
