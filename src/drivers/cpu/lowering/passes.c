/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/passes.h"

#include "base/cleanup.h"
#include "base/error.h"

/* One graph of a program, for passes that run kernels. */
struct fold_target {
    struct nn_program *program;
    uint32_t index;
    struct nn_fold_budget *budget;
};

static int pass_fold(void *ctx, struct nn_graph *graph)
{
    const struct fold_target *target = ctx;
    int r = nn_fold_constants(target->program, target->index, target->budget);

    return r < 0 ? nn_error_trace(r) : r ? NN_PASSES_E_STOPPED : 0;
}

/* Folding is repeated where a pass before it has made constants that can be computed: the tables of
 * LUT, and filters with their codes moved. */
static const struct nn_pass passes[] = {
    {.name = "fold", .set = NN_PASSES_QUICK, .run_with = pass_fold},
    {.name = "pad", .set = NN_PASSES_ALL, .run = nn_pass_pad},
    {.name = "activation", .set = NN_PASSES_ALL, .run = nn_pass_activation},
    {.name = "infer", .set = NN_PASSES_ALL, .run = nn_pass_infer},
    {.name = "nchw", .set = NN_PASSES_ALL, .run = nn_pass_nchw},
    {.name = "dead", .set = NN_PASSES_ALL, .run = nn_pass_dead},
    {.name = "lut", .set = NN_PASSES_ALL, .run = nn_pass_lut},
    {.name = "fold", .set = NN_PASSES_ALL, .run_with = pass_fold},
    {.name = "u8", .set = NN_PASSES_ALL, .run = nn_pass_u8},
    {.name = "fold", .set = NN_PASSES_ALL, .run_with = pass_fold},
    {.name = "dead", .set = NN_PASSES_QUICK, .run = nn_pass_dead},
    {.name = "fuse", .set = NN_PASSES_ALL, .run = nn_pass_fuse},
};

int nn_cpu_passes_run(struct nn_program *program, uint32_t graph, enum nn_pass_set set,
                      struct nn_fold_budget *budget)
{
    struct fold_target target = {.program = program, .index = graph, .budget = budget};
    const struct nn_pass_list list = {passes, NN_N_ELEMENTS(passes), budget->stop};

    return nn_passes_run(&program->graphs[graph].graph, &list, set, &target);
}
