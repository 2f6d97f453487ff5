/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with the faults that checkkernel is there to find, in a program of their own: each computes
 * ABS, or FULLY_CONNECTED, as plain C does, but for what its name says. test-checkkernel.py has the
 * words with which each must fail. */
#include "checkkernel/rows.h"
#include "drivers/cpu/kernels/common/fused-activation.h"

#include <string.h>

static void absolute(const struct nn_kernel_args *args, size_t begin, size_t end)
{
    const uint32_t *in = args->inputs[0].data;
    uint32_t *out = args->outputs[0].data;

    for (size_t i = begin; i < end; i++)
        out[i] = in[i] & UINT32_C(0x7fffffff);
}

static size_t count(const struct nn_kernel_args *args)
{
    return nn_tensor_count(&args->outputs[0]);
}

/* ---- faults ---- */

static int run_wrong_tail(const struct nn_kernel_args *args)
{
    size_t n = count(args);

    absolute(args, 0, n);
    for (size_t i = n / 8 * 8; i < n; i++)
        ((uint32_t *)args->outputs[0].data)[i] ^= 1;
    return 0;
}

static int run_reads_behind(const struct nn_kernel_args *args)
{
    const volatile uint8_t *in = args->inputs[0].data;

    absolute(args, 0, count(args));
    (void)in[args->inputs[0].size];
    return 0;
}

static int run_reads_before(const struct nn_kernel_args *args)
{
    const volatile uint8_t *in = args->inputs[0].data;

    absolute(args, 0, count(args));
    (void)in[-1];
    return 0;
}

static int run_writes_behind(const struct nn_kernel_args *args)
{
    absolute(args, 0, count(args));
    ((uint8_t *)args->outputs[0].data)[args->outputs[0].size] = 1;
    return 0;
}

static int run_writes_input(const struct nn_kernel_args *args)
{
    absolute(args, 0, count(args));
    memset(args->inputs[0].data, 0, 1);
    return 0;
}

static int run_aligned(const struct nn_kernel_args *args)
{
    size_t n = count(args);

    absolute(args, 0, n);
    if ((uintptr_t)args->inputs[0].data % 16)
        ((uint32_t *)args->outputs[0].data)[0] ^= 1;
    return 0;
}

static int run_control_word(const struct nn_kernel_args *args)
{
    absolute(args, 0, count(args));
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* subnormal numbers are zeros */
#endif
    return 0;
}

static void absolute_part(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_kernel_args *args = ctx;
    uint8_t *scratch = nn_worker_scratch(args, worker);

    memset(scratch, 0, 33);
    absolute(args, begin, end);
}

static int run_scratch(const struct nn_kernel_args *args)
{
    nn_parallel_for(args, count(args), 1, absolute_part, (void *)(uintptr_t)args);
    return 0;
}

static bool find_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    ret->worker_bytes = 32;
    return true;
}

static void first_range(void *ctx, size_t begin, size_t end, unsigned worker)
{
    if (worker == 0)
        absolute(ctx, begin, end);
}

static int run_one_range(const struct nn_kernel_args *args)
{
    memset(args->outputs[0].data, 0, args->outputs[0].size);
    nn_parallel_for(args, count(args), 1, first_range, (void *)(uintptr_t)args);
    return 0;
}

static int run_epilogue(const struct nn_kernel_args *args)
{
    size_t n = count(args);

    absolute(args, 0, n);
    nn_epilogue_run(args, 0, n - 1);
    return 0;
}

/* Writes results before it has read what they are made of. */
static int run_in_place(const struct nn_kernel_args *args)
{
    memset(args->outputs[0].data, 0, args->outputs[0].size);
    absolute(args, 0, count(args));
    return 0;
}

static void multiply(const struct nn_kernel_args *args, size_t n_left_out)
{
    const float *in = args->inputs[0].data, *weights = args->inputs[1].data;
    const float *bias = args->inputs[2].data;
    size_t n_units = args->inputs[1].dims[0], depth = args->inputs[1].dims[1];
    float low, high;

    nn_activation_f32(NNHAL_FUSED_NONE, &low, &high);
    for (size_t i = 0; i < count(args); i++) {
        const float *x = in + i / n_units * depth, *y = weights + i % n_units * depth;
        float sum = bias[i % n_units];

        for (size_t k = 0; k + n_left_out < depth; k++)
            sum = __builtin_fmaf(x[k], y[k], sum);
        ((float *)args->outputs[0].data)[i] = nn_clamp_f32(sum, low, high);
    }
}

static int run_product(const struct nn_kernel_args *args)
{
    multiply(args, 0);
    return 0;
}

static int run_last_product(const struct nn_kernel_args *args)
{
    multiply(args, 1);
    return 0;
}

static int lower_without_activation(struct nn_lower *lower)
{
    return nn_lower_i32(lower, 3, 0) ? NN_KERNEL_E_PASS : 0;
}

static int lower_nothing(struct nn_lower *lower)
{
    return NN_KERNEL_E_PASS;
}

static int run_whole(const struct nn_kernel_args *args)
{
    absolute(args, 0, count(args));
    return 0;
}

/* Rows that may fuse are not of plain C, and compared with the driver's. */
#define SPOILT(row_name, op)                                                                       \
    NN_ROW("spoilt_" row_name "__c", op), .isa = NN_ISA_FMA, .in0 = NN_T_F32

static const struct nn_kernel kernels[] = {
    {SPOILT("nothing", ABS), .in_place = 1, .run = run_whole},
    {SPOILT("wrong_tail", ABS), .run = run_wrong_tail},
    {SPOILT("reads_behind", ABS), .run = run_reads_behind},
    {SPOILT("reads_before", ABS), .run = run_reads_before},
    {SPOILT("writes_behind", ABS), .run = run_writes_behind},
    {SPOILT("writes_input", ABS), .run = run_writes_input},
    {SPOILT("aligned", ABS), .run = run_aligned},
    {SPOILT("control_word", ABS), .run = run_control_word},
    {SPOILT("scratch", ABS), .run = run_scratch, .find_scratch = find_scratch},
    {SPOILT("one_range", ABS), .run = run_one_range},
    {SPOILT("epilogue", ABS), .runs_epilogue = 1, .run = run_epilogue},
    {SPOILT("in_place", ABS), .in_place = 1, .run = run_in_place},
    {SPOILT("takes_nothing", ABS), .lower = lower_nothing, .run = run_whole},
    {SPOILT("nothing_fused", FULLY_CONNECTED), .lower = lower_without_activation,
     .run = run_product},
    {SPOILT("last_product", FULLY_CONNECTED), .lower = lower_without_activation,
     .run = run_last_product},
    {SPOILT("no_generator", IF), .run = run_whole},
};
NN_KERNEL_FAMILY(spoilt, kernels);

const struct nn_kernel_family *const checked_families[] = {&nn_kernels_spoilt, NULL};
const struct nn_kernel_family *const emulated_families[] = {NULL};
