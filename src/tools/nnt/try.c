/* SPDX-License-Identifier: Apache-2.0 */
#include "try.h"

#include "extension.h"
#include "path.h"

#include <pthread.h>
#include <stdlib.h>

/* One of the threads that run a model at a time. */
struct nnt_runner {
    struct nnt_run run;
    const struct nnt_model *model;
    bool is_right;
    pthread_t thread;
};

static void *runner_run(void *argument)
{
    struct nnt_runner *runner = argument;

    runner->is_right = nnt_run_model(&runner->run, runner->model);
    return NULL;
}

/* Each thread builds, compiles and executes for itself; run gets what the first that failed says, or the
 * first of all. Returns: whether all did what the model must. */
static bool run_on_threads(struct nnt_run *run, const struct nnt_model *model, unsigned n_threads)
{
    struct nnt_runner *runners = calloc(n_threads, sizeof(*runners));
    const struct nnt_runner *failed = NULL;
    unsigned n = 0;

    while (runners && n < n_threads) {
        runners[n] = (struct nnt_runner){.run = *run, .model = model};
        if (pthread_create(&runners[n].thread, NULL, runner_run, &runners[n]) != 0)
            break;
        n++;
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(runners[i].thread, NULL);
        if (!failed && !runners[i].is_right)
            failed = &runners[i];
    }
    if (n)
        *run = failed ? failed->run : runners[0].run;
    if (!failed && n < n_threads) {
        run->is_unsupported = false;
        nnt_report(run, "thread %u cannot be started", n);
    }
    free(runners);
    return n == n_threads && !failed;
}

enum nnt_outcome nnt_try_model(struct nnt_run *run, enum nnt_variant variant, unsigned n_threads,
                               struct nnt_file *file, struct nnt_model *model)
{
    int r = nnt_path_has(run->path, model) ? nnt_variant_apply(variant, file, model) : 0;
    bool is_right;

    if (r == 0)
        return NNT_SKIPPED;
    if (r < 0 || nnt_extension_name(model) != ANEURALNETWORKS_NO_ERROR) {
        nnt_report(run, "memory is short");
        return NNT_FAILED;
    }
    is_right = n_threads ? run_on_threads(run, model, n_threads) : nnt_run_model(run, model);
    return is_right ? NNT_PASSED : run->is_unsupported ? NNT_UNSUPPORTED : NNT_FAILED;
}
