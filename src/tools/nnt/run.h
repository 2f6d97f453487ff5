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

/* -- the steps of nnt_run_model(), for what does other things in between --
 *
 * Those that return an int return a result code, and have noted the sentence in run->what. */

/* nnt_attempt_init() - model and run live as long as the attempt; the run gets ready for another model. */
void nnt_attempt_init(struct nnt_attempt *attempt, struct nnt_run *run,
                      const struct nnt_model *model);

/* nnt_attempt_build() - the model, for nnt_compile_in(). */
int nnt_attempt_build(struct nnt_attempt *attempt);

/* nnt_attempt_compile() - builds and compiles. */
int nnt_attempt_compile(struct nnt_attempt *attempt);

/* nnt_attempt_execute() - executes what was compiled; again only after nnt_attempt_forget(). */
int nnt_attempt_execute(struct nnt_attempt *attempt);

/* nnt_attempt_execute_with() - the same once more, with the data of a model that differs in nothing
 * else, and lives as long as the attempt. */
int nnt_attempt_execute_with(struct nnt_attempt *attempt, const struct nnt_model *model);

/* nnt_attempt_check() - Returns: whether the outputs are right; notes the first that is not. */
bool nnt_attempt_check(struct nnt_attempt *attempt);

/* nnt_attempt_has_dimensions() - the same of the dimensions of one, which are known also where it was too small. */
bool nnt_attempt_has_dimensions(struct nnt_attempt *attempt, uint32_t i);

/* nnt_attempt_is_unsupported() - whether the device that was named says that it cannot do the model. */
bool nnt_attempt_is_unsupported(struct nnt_attempt *attempt);

/* nnt_attempt_forget() - frees what belongs to the execution; the compilation stays. */
void nnt_attempt_forget(struct nnt_attempt *attempt);

void nnt_attempt_done(struct nnt_attempt *attempt);

#endif
