/* SPDX-License-Identifier: Apache-2.0 */
/* try.h - a model of a file in a variant, on one thread or several, and how it is counted */
#ifndef NN_TOOLS_NNT_TRY_H
#define NN_TOOLS_NNT_TRY_H

#include "run.h"
#include "variant.h"

enum nnt_outcome {
    NNT_PASSED = 0,
    NNT_FAILED,      /* run->what says why */
    NNT_SKIPPED,     /* the model has no such path or variant */
    NNT_UNSUPPORTED, /* the device that was named had said that it cannot do it */
    NNT_OUTCOME_N,
};

/* nnt_try_model() - a model that was just read from its file, in a variant, on n_threads at a time
 * (0: this one alone). */
enum nnt_outcome nnt_try_model(struct nnt_run *run, enum nnt_variant variant, unsigned n_threads,
                               struct nnt_file *file, struct nnt_model *model);

#endif
