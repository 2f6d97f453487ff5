/* SPDX-License-Identifier: Apache-2.0 */
/* mutate-vectors.c - spoilt conformance vectors through the API and through the HAL
 *
 *     mutate-vectors [--seed N] [--every N] [--verbose]
 *
 * takes every N-th model of $NNHAL_SHARED/vectors (default ../shared), or of
 * those that tests/oracle makes, spoils it in each way of mutate.c, and
 * - builds, compiles and runs it through the API: building ends with success
 *   or BAD_DATA, the rest with one of the codes that an application can expect;
 * - asks a session of the CPU driver what it supports, and to prepare it: both
 *   answer INVALID_ARGUMENT exactly if the API refused to build it.
 * What can never be legal must be refused. */
#include "conf/mutator.h"

#include "nnt/hal-model.h"
#include "nnt/run.h"

#include "base/arena.h"
#include "drivers/cpu/cpu.h"
#include "hal/hal.h"
#include "host/host.h"

#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_TIMEOUT_NS UINT64_C(20000000)

struct mutation_run {
    uint64_t seed;
    unsigned long every;
    bool is_verbose;
    struct nn_hal *hal;
    unsigned long n_mutants;
    unsigned long n_legal;
    unsigned long n_wrong;
};

static bool complain(struct mutation_run *run, const struct nnt_model *model,
                     const struct mutator *mutator, const char *sentence, const char *detail)
{
    printf("%s, %s: %s (%s)\n", model->name, mutator->name, sentence, detail);
    run->n_wrong++;
    return false;
}

/* is_expected() - what compiling and running a legal but strange model may end with. */
static bool is_expected(int result)
{
    switch (result) {
    case ANEURALNETWORKS_NO_ERROR:
    case ANEURALNETWORKS_BAD_DATA:
    case ANEURALNETWORKS_OP_FAILED:
    case ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE:
    case ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT:
    case ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT:
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT:
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT:
        return true;
    default:
        return false;
    }
}

/* ask_api() - Returns: false after a complaint; *ret_is_legal: whether it could be built. */
static bool ask_api(struct mutation_run *run, const struct nnt_model *model,
                    const struct mutator *mutator, bool *ret_is_legal)
{
    struct nnt_run nnt = {.path = NNT_SYNC, .loop_timeout_ns = LOOP_TIMEOUT_NS};

    nnt_run_model(&nnt, model);
    *ret_is_legal = nnt.is_built;
    if (!nnt.is_built && nnt.result != ANEURALNETWORKS_BAD_DATA)
        return complain(run, model, mutator, "not refused with BAD_DATA", nnt.what);
    if (!is_expected(nnt.result))
        return complain(run, model, mutator, "an unexpected end", nnt.what);
    return true;
}

/* is_other_order() - the API sorts operations, the HAL wants them sorted. */
static bool is_other_order(bool is_legal, const char *message)
{
    return is_legal && message && strstr(message, "is read before it is written");
}

static bool ask_hal(struct mutation_run *run, struct nnt_file *file, const struct nnt_model *model,
                    const struct mutator *mutator, bool is_legal)
{
    struct nn_hal_get_supported_operations_args ask = {0};
    struct nn_hal_get_supported_operations_reply answer = {0};
    struct nn_hal_prepare_model_args prepare = {.preference = NNHAL_FAST_SINGLE_ANSWER,
                                                .priority = NNHAL_PRIORITY_MEDIUM,
                                                .deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_prepare_model_reply prepared = {0};
    uint32_t asked, status;
    struct nn_arena arena;
    bool is_right = true;

    if (!nnt_hal_model_make(file, model, &ask.model))
        return complain(run, model, mutator, "memory is short", "");
    prepare.model = ask.model;
    nn_arena_init(&arena, 0);
    asked = nn_hal_get_supported_operations(run->hal, &ask, &answer, &arena);
    status = nn_hal_prepare_model(run->hal, &prepare, &prepared, &arena);
    if ((asked == NNHAL_NONE) != is_legal && !is_other_order(is_legal, answer.message))
        is_right = complain(run, model, mutator, "API and HAL disagree",
                            answer.message ? answer.message : "the HAL took it");
    else if (asked != NNHAL_NONE && asked != NNHAL_INVALID_ARGUMENT)
        is_right = complain(run, model, mutator, "not refused with INVALID_ARGUMENT",
                            answer.message ? answer.message : "");
    else if (asked == NNHAL_NONE && status == NNHAL_INVALID_ARGUMENT)
        is_right = complain(run, model, mutator, "supported operations are known, prepare refuses",
                            prepared.message ? prepared.message : "");
    if (status == NNHAL_NONE) {
        struct nn_hal_free_prepared_model_args release = {prepared.prepared_model};
        struct nn_hal_free_prepared_model_reply released;

        nn_hal_free_prepared_model(run->hal, &release, &released, &arena);
    }
    nn_arena_done(&arena);
    return is_right;
}

static void judge(struct mutation_run *run, struct nnt_file *file, const struct nnt_model *model,
                  const struct mutator *mutator, enum mutator_outcome outcome)
{
    bool is_legal;

    run->n_mutants++;
    if (run->is_verbose) {
        printf("%s, %s\n", model->name, mutator->name);
        fflush(stdout);
    }
    if (!ask_api(run, model, mutator, &is_legal))
        return;
    run->n_legal += is_legal;
    if (is_legal && outcome == MUTATOR_NEVER_LEGAL)
        complain(run, model, mutator, "taken, and can never be legal", "");
    ask_hal(run, file, model, mutator, is_legal);
}

/* mutate_file() - reads the file once per mutator: a spoilt model is read afresh. */
static bool mutate_file(struct mutation_run *run, const char *path, unsigned long *i_model)
{
    unsigned long first = *i_model;

    for (unsigned s = 0; s < n_mutators; s++) {
        struct nnt_file file;
        struct nnt_model model;
        bool is_open = nnt_file_open(&file, path);
        int r = is_open ? 1 : -1;

        *i_model = first;
        while (is_open && (r = nnt_file_next(&file, &model)) > 0) {
            enum mutator_outcome outcome;

            if ((*i_model)++ % run->every != 0)
                continue;
            mutator_seed(run->seed + *i_model * n_mutators + s);
            outcome = mutators[s].mutate(&file, &model);
            if (outcome != MUTATOR_NO_PLACE)
                judge(run, &file, &model, &mutators[s], outcome);
        }
        if (r < 0)
            printf("%s: %s\n", path, file.error);
        nnt_file_close(&file);
        if (r < 0)
            return false;
    }
    return true;
}

static bool mutate_all(struct mutation_run *run, const glob_t *files)
{
    unsigned long i_model = 0;

    for (size_t i = 0; i < files->gl_pathc; i++)
        if (!mutate_file(run, files->gl_pathv[i], &i_model))
            return false;
    printf("seed %llu: %lu mutants, %lu of them legal, %lu wrong\n", (unsigned long long)run->seed,
           run->n_mutants, run->n_legal, run->n_wrong);
    return run->n_wrong == 0;
}

static bool parse(struct mutation_run *run, int argc, char **argv)
{
    static const struct option known[] = {
        {"seed", required_argument, NULL, 's'},
        {"every", required_argument, NULL, 'e'},
        {"verbose", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 's')
            run->seed = strtoull(optarg, NULL, 10);
        else if (option == 'e')
            run->every = strtoul(optarg, NULL, 10);
        else if (option == 'v')
            run->is_verbose = true;
        else
            return false;
    }
    return run->every > 0 && optind == argc;
}

/* Those of $NNHAL_SHARED, else those that tests/oracle has made in the build folder: there are fewer, of
 * which more are taken. */
static bool find_vectors(struct mutation_run *run, glob_t *ret_files)
{
    const char *shared = getenv("NNHAL_SHARED"), *root = getenv("NNHAL_SOURCE_ROOT");
    const char *build = getenv("NNHAL_BUILD_ROOT");
    char pattern[4096];

    if (shared)
        snprintf(pattern, sizeof(pattern), "%s/vectors/*.nnt", shared);
    else
        snprintf(pattern, sizeof(pattern), "%s/../shared/vectors/*.nnt", root ? root : ".");
    if (glob(pattern, 0, NULL, ret_files) == 0)
        return true;
    globfree(ret_files);
    printf("SKIPPED: no %s, so the models that tests/oracle makes alone\n", pattern);
    run->every = (run->every + 9) / 10;
    snprintf(pattern, sizeof(pattern), "%s/conformance.nnt", build ? build : "build");
    return glob(pattern, 0, NULL, ret_files) == 0;
}

int main(int argc, char **argv)
{
    struct mutation_run run = {.seed = 1, .every = 1};
    struct nn_host *host = NULL;
    struct nn_host_why why = {0};
    glob_t files;
    bool is_right;

    if (!parse(&run, argc, argv))
        return 2;
    if (!find_vectors(&run, &files)) {
        printf("no vectors: none were spoilt (set NNHAL_SHARED, or NNHAL_BUILD_ROOT)\n");
        return 1;
    }
    setenv("NNHAL_MODE", "embedded", 1);
    if (nn_host_open_builtin(nn_cpu_driver_main, NULL, &why, &host) != 0 ||
        nn_host_open_session(host, NULL, &run.hal) != 0) {
        printf("no session of the CPU driver: %s\n", why.text);
        return 1;
    }
    is_right = mutate_all(&run, &files);
    nn_hal_close(run.hal);
    nn_host_unref(host);
    globfree(&files);
    return is_right ? 0 : 1;
}
