/* SPDX-License-Identifier: Apache-2.0 */
/* How the branches of an IF or WHILE that devices share are compiled. */
#include "drivers/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the model, its condition and its body, each once. */
TEST(the_plan_of_a_branch_is_traced_once)
{
    char folder[] = "/tmp/nnhal-control-XXXXXX", path[64], line[256];
    uint32_t n_plans = 0;
    struct control_stand stand;
    FILE *file;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/printed", folder);
    setenv("NNHAL_TRACE", "plan", 1);
    ck_assert_ptr_nonnull(freopen(path, "w", stderr));
    control_stand_init(&stand, control_loop, CONTROL_SHARED, 2);
    control_stand_done(&stand);
    fflush(stderr);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file))
        n_plans += strstr(line, "after merging") != NULL;
    fclose(file);
    unlink(path);
    rmdir(folder);
    ck_assert_uint_eq(n_plans, 3);
}
TEST_END

/* -- settings of the model -------------------------------------------------------------------- */

/* Devices that prepare relaxed models alone. As in Android the flag of the model that is compiled counts,
 * not those of the models that it refers to. */
static void compute_relaxed(control_maker make)
{
    struct control_trial trial = control_usual;
    struct split_models models;
    ANeuralNetworksCompilation *compilation;
    struct builder b;

    builder_init(&b, 1);
    make(&b);
    b.model.relax_computation_float32_to_float16 = 1;
    split_rules("*:relaxed=1;" CONTROL_SHARED);
    split_models_init(&models, &b, false);
    compilation = split_compile(models.graphs[0], 2);
    control_run(&b, compilation, &trial);
    OK(trial.result);
    ANeuralNetworksCompilation_free(compilation);
    split_models_done(&models);
    builder_done(&b);
}

TEST(branches_of_a_relaxed_model_are_relaxed)
{
    compute_relaxed(control_if);
    compute_relaxed(control_loop);
    compute_relaxed(control_nested);
}
TEST_END

CHECK_MAIN("control failures", the_plan_of_a_branch_is_traced_once,
           branches_of_a_relaxed_model_are_relaxed)
