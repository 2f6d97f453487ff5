/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/passes.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "drivers/cpu/lowering/fold.h"

/* One graph of a program, for passes that run kernels. */
struct fold_target {
    struct nn_program *program;
    uint32_t index;
};

static int pass_fold(void *ctx, struct nn_graph *graph)
{
    const struct fold_target *target = ctx;

    return nn_error_trace(nn_fold_constants(target->program, target->index));
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

int nn_cpu_passes_run(struct nn_program *program, uint32_t graph, enum nn_pass_set set)
{
    struct fold_target target = {.program = program, .index = graph};

    return nn_error_trace(
        nn_passes_run(&program->graphs[graph].graph, passes, NN_N_ELEMENTS(passes), set, &target));
}
