/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - one model of vectors through the NNAPI, and what became of it
 *
 * Every model is built anew, compiled, executed and compared, through public
 * functions only. Several threads may run one model, each with a run of its own. */
#ifndef NN_TOOLS_NNT_RUN_H
#define NN_TOOLS_NNT_RUN_H

#include "attempt.h"

/* nnt_run_model() - Returns: true if the model did what it must. */
bool nnt_run_model(struct nnt_run *run, const struct nnt_model *model);

#endif
