/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_case_try_row(): a row lowered and run between guards. */
#include "cpu/kernel-core.h"

#include "model/types.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void make_lower_operand(const struct kernel_operand *operand, bool has_value,
                               struct nn_lower_operand *ret)
{
    *ret = (struct nn_lower_operand){.type = operand->type,
                                     .is_omitted = operand->is_omitted,
                                     .n_dims = operand->n_dims,
                                     .scale = operand->scale,
                                     .zero_point = operand->zero_point,
                                     .channel_dim = operand->channel_dim,
                                     .n_channel_scales = operand->n_channel_scales,
                                     .channel_scales = operand->channel_scales,
                                     .value = has_value ? operand->data : NULL,
                                     .size = operand->size};
    memcpy(ret->dims, operand->dims, sizeof(operand->dims));
}

/* A row with all that it gets. */
struct trial {
    struct kernel_case *c;
    const struct nn_kernel *row;
    struct nn_lower_operand operands[2 * KERNEL_CASE_MAX];
    struct nn_lower_private private;
    struct nn_lower lower;
    struct nn_tensor tensors[2 * KERNEL_CASE_MAX];
    struct nn_stop stop;
    struct nn_run run;
    struct nn_kernel_args args;
    struct guard params, scratch, worker_scratch;
    size_t worker_bytes;
    int r;
};

/* Between the scratch of one worker and that of the next. */
enum { WORKER_GAP = 64, WORKER_PATTERN = 0x5a };

static bool is_near(const struct guard *guard, uintptr_t address)
{
    uintptr_t begin = (uintptr_t)guard->pages, page = 4096;

    return guard->pages && address >= begin - page && address < begin + guard->pages_bytes + page;
}

/* Says what lies where the row has touched what it must not, or has written. */
static int blame(struct trial *trial, const char *deed, const struct guard *guard,
                 uintptr_t address, const char *name, uint32_t number)
{
    ptrdiff_t at = (ptrdiff_t)(address - (uintptr_t)guard->data);
    const char *where = at < 0 ? "before" : at < (ptrdiff_t)guard->size ? "in" : "behind";
    ptrdiff_t distance = at < 0                        ? -at
                         : at < (ptrdiff_t)guard->size ? at
                                                       : at - (ptrdiff_t)guard->size + 1;

    return kernel_core_broken(trial->c, "%s byte %td %s %s %u of %zu bytes", deed, distance, where,
                              name, number, guard->size);
}

static int blame_address(struct trial *trial, const char *half, const void *touched)
{
    const struct kernel_case *c = trial->c;
    uintptr_t address = (uintptr_t)touched;
    const struct {
        const struct guard *guard;
        const char *name;
    } blocks[] = {{&trial->params, "the parameters"},
                  {&trial->private.weights, "the weights"},
                  {&trial->scratch, "the scratch"},
                  {&trial->worker_scratch, "the workers' scratch"}};

    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (is_near(&c->inputs[i].guard, address))
            return blame(trial, "touches", &c->inputs[i].guard, address, "input", i);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (is_near(&c->outputs[i].guard, address))
            return blame(trial, "touches", &c->outputs[i].guard, address, "output", i);
    for (uint32_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (is_near(blocks[i].guard, address))
            return blame(trial, "touches", blocks[i].guard, address, blocks[i].name, 0);
    return kernel_core_broken(trial->c, "touches memory that is not its own in %s", half);
}

/* Calls one half of the row. */
static int call(struct trial *trial, const char *half, void (*fn)(void *trial))
{
    uint32_t control = guard_float_control();
    const void *touched;

    if (!guard_call(fn, trial, &touched))
        return blame_address(trial, half, touched);
    if (guard_float_control() != control) {
        guard_set_float_control(control);
        return kernel_core_broken(trial->c, "changes the floating-point control word in %s", half);
    }
    return trial->c->is_broken ? KERNEL_CASE_E_BROKEN : trial->r;
}

static void call_lower(void *ctx)
{
    struct trial *trial = ctx;

    trial->r = trial->row->lower ? trial->row->lower(&trial->lower) : 0;
}

static int lower_row(struct trial *trial)
{
    struct kernel_case *c = trial->c;
    const struct nn_kernel *row = trial->row;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        make_lower_operand(&c->inputs[i],
                           c->inputs[i].n_dims == 0 || c->inputs[i].is_constant ||
                               (row->needs_value >> (i % 64) & 1),
                           &trial->operands[i]);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        make_lower_operand(&c->outputs[i], false, &trial->operands[c->n_inputs + i]);
    if (row->params_bytes > NN_KERNEL_MAX_PARAMS_BYTES)
        return kernel_core_broken(c, "has parameters of %u bytes", row->params_bytes);
    guard_init(&trial->params, row->params_bytes, 16, 0);
    memset(trial->params.data, 0, row->params_bytes);
    trial->private.c = c;
    trial->lower = (struct nn_lower){.operation = c->operation,
                                     .n_inputs = c->n_inputs,
                                     .n_outputs = c->n_outputs,
                                     .as_int8 = c->as_int8,
                                     .inputs = trial->operands,
                                     .outputs = trial->operands + c->n_inputs,
                                     .params = trial->params.data,
                                     .stop = &trial->stop,
                                     .private = &trial->private};
    return call(trial, "lower()", call_lower);
}

static void make_tensor(const struct kernel_operand *operand, struct nn_tensor *ret)
{
    *ret = (struct nn_tensor){.data = operand->is_omitted ? NULL : operand->data,
                              .size = operand->size,
                              .type = operand->type,
                              .n_dims = operand->n_dims,
                              .dims = operand->dims,
                              .scale = operand->scale,
                              .zero_point = operand->zero_point};
}

/* Output 0 in the memory of an input, where both the way and the row have it so. */
static void take_place(struct trial *trial)
{
    struct kernel_case *c = trial->c;
    uint32_t i = c->way.in_place - 1;

    if (c->way.in_place == 0 || i >= c->n_inputs || !(trial->row->in_place >> i & 1) ||
        c->inputs[i].is_omitted || c->inputs[i].size != c->outputs[0].size)
        return;
    if (c->inputs[i].size)
        memcpy(c->outputs[0].data, c->inputs[i].data, c->inputs[i].size);
    trial->tensors[i].data = c->outputs[0].data;
}

static int make_tensors(struct trial *trial)
{
    struct kernel_case *c = trial->c;

    for (uint32_t i = 0; i < c->n_outputs; i++)
        kernel_core_allocate(c, &c->outputs[i]);
    for (uint32_t i = 0; i < c->n_inputs; i++)
        make_tensor(&c->inputs[i], &trial->tensors[i]);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        make_tensor(&c->outputs[i], &trial->tensors[c->n_inputs + i]);
    take_place(trial);
    return 0;
}

static int make_scratch(struct trial *trial)
{
    struct kernel_case *c = trial->c;
    struct nn_kernel_step step = {.params = trial->params.data,
                                  .weights_bytes = trial->private.weights.size,
                                  .n_inputs = c->n_inputs,
                                  .n_outputs = c->n_outputs,
                                  .inputs = trial->args.inputs,
                                  .outputs = trial->args.outputs};
    struct nn_kernel_scratch scratch = {0};

    if (trial->row->check && !trial->row->check(&step))
        return kernel_core_broken(c, "does not take its own parameters");
    if (trial->private.weights.size < trial->row->weights_bytes)
        return kernel_core_broken(c, "has fewer weights than its row says");
    if (trial->row->find_scratch && !trial->row->find_scratch(&step, &scratch))
        return kernel_core_broken(c, "needs more scratch than there is memory");
    trial->worker_bytes = scratch.worker_bytes;
    trial->args.worker_scratch_stride = (scratch.worker_bytes + WORKER_GAP + 63) / 64 * 64;
    guard_init(&trial->scratch, scratch.bytes, 64, 0);
    guard_init(&trial->worker_scratch,
               (KERNEL_CASE_WORKERS - 1) * trial->args.worker_scratch_stride + scratch.worker_bytes,
               64, 0);
    memset(trial->worker_scratch.data, WORKER_PATTERN, trial->worker_scratch.size);
    trial->args.scratch = trial->scratch.data;
    trial->args.worker_scratch = trial->worker_scratch.data;
    return 0;
}

/* Output 0 in several parts. */
static void run_parts(struct trial *trial)
{
    size_t n = kernel_case_count(&trial->c->outputs[0]), n_parts = trial->c->way.n_parts;
    size_t step = n / n_parts + 1;

    for (size_t begin = 0; begin < n; begin += step) {
        struct nn_kernel_args part = trial->args;

        part.is_part = true;
        part.part_begin = begin;
        part.part_end = n - begin < step ? n : begin + step;
        trial->r = nn_kernel_run(trial->row, &part);
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void bench(struct trial *trial)
{
    uint64_t begin = now_ns(), end = begin, best = UINT64_MAX;

    while (end - begin < trial->c->way.bench_ns) {
        uint64_t before = end;

        nn_kernel_run(trial->row, &trial->args);
        end = now_ns();
        best = end - before < best ? end - before : best;
    }
    trial->c->best_ns = best;
}

static void call_run(void *ctx)
{
    struct trial *trial = ctx;

    if (trial->c->way.n_parts > 1 && trial->row->is_elementwise)
        run_parts(trial);
    else
        trial->r = nn_kernel_run(trial->row, &trial->args);
    if (trial->r == 0 && trial->c->way.bench_ns)
        bench(trial);
}

static void lock_inputs(const struct trial *trial, bool are_locked)
{
    for (uint32_t i = 0; i < trial->c->n_inputs; i++)
        guard_lock(&trial->c->inputs[i].guard, are_locked);
    guard_lock(&trial->params, are_locked);
    guard_lock(&trial->private.weights, are_locked);
}

static int look_at_guards(struct trial *trial)
{
    const struct kernel_case *c = trial->c;
    size_t stride = trial->args.worker_scratch_stride;
    ptrdiff_t at;

    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (!guard_is_whole(&c->outputs[i].guard, &at))
            return blame(trial, "writes", &c->outputs[i].guard,
                         (uintptr_t)c->outputs[i].data + (uintptr_t)at, "output", i);
    if (!guard_is_whole(&trial->scratch, &at))
        return blame(trial, "writes", &trial->scratch,
                     (uintptr_t)trial->scratch.data + (uintptr_t)at, "the scratch", 0);
    for (size_t i = 0; i < (KERNEL_CASE_WORKERS - 1) * stride; i++)
        if (i % stride >= trial->worker_bytes && trial->worker_scratch.data[i] != WORKER_PATTERN)
            return kernel_core_broken(trial->c, "writes behind the scratch of worker %zu",
                                      i / stride);
    return 0;
}

static int look_at_epilogue(struct trial *trial)
{
    for (size_t i = 0; i < kernel_case_count(&trial->c->outputs[0]); i++)
        if (!trial->run.is_after[i])
            return kernel_core_broken(trial->c, "leaves out the epilogue of element %zu", i);
    return 0;
}

static int run_row(struct trial *trial)
{
    struct kernel_case *c = trial->c;
    int r;

    make_tensors(trial);
    trial->run = (struct nn_run){.c = c};
    trial->args = (struct nn_kernel_args){.params = trial->params.data,
                                          .weights = trial->private.weights.data,
                                          .n_inputs = c->n_inputs,
                                          .n_outputs = c->n_outputs,
                                          .inputs = trial->tensors,
                                          .outputs = trial->tensors + c->n_inputs,
                                          .stop = &trial->stop,
                                          .run = &trial->run};
    r = make_scratch(trial);
    if (r)
        return r;
    if (trial->row->runs_epilogue && c->way.has_epilogue) {
        trial->args.n_epilogue = 1; /* whose steps are read by nn_epilogue_run() alone */
        trial->run.is_after = calloc(kernel_case_count(&c->outputs[0]) + 1, 1);
    }
    lock_inputs(trial, true);
    r = call(trial, "run()", call_run);
    lock_inputs(trial, false);
    if (r == 0)
        r = look_at_guards(trial);
    if (r == 0 && trial->run.is_after && !nn_stop_outcome(&trial->stop))
        r = look_at_epilogue(trial);
    free(trial->run.is_after);
    return r == 0 && nn_stop_outcome(&trial->stop) ? NN_KERNEL_E_CANCELLED : r;
}

static bool all_empty(const struct kernel_case *c)
{
    uint64_t n;

    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (!nn_dims_product(c->outputs[i].n_dims, c->outputs[i].dims, &n) || n)
            return false;
    return true;
}

int kernel_case_try_row(struct kernel_case *c, const struct nn_kernel *row)
{
    struct trial *trial;
    int r;

    if (all_empty(c) && !row->is_dynamic) {
        for (uint32_t i = 0; i < c->n_outputs; i++)
            kernel_core_allocate(c, &c->outputs[i]);
        return 0;
    }
    trial = calloc(1, sizeof(*trial));
    trial->c = c;
    trial->row = row;
    trial->stop.deadline_ns = c->is_stopped ? 0 : UINT64_MAX;
    r = lower_row(trial);
    if (r == 0)
        r = run_row(trial);
    guard_done(&trial->private.weights);
    guard_done(&trial->params);
    guard_done(&trial->scratch);
    guard_done(&trial->worker_scratch);
    free(trial);
    return r;
}
