/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - the ways to bring one built model to its outputs
 *
 * A path is a row of functions: how the model becomes a compilation, where the
 * bytes of arguments lie, and how an execution is run. After every path the
 * outputs' bytes stand in attempt->outputs, to be compared. A path may
 * keep what it needs in attempt->path_state, which its release() frees. */
#ifndef NN_TOOLS_NNT_PATH_H
#define NN_TOOLS_NNT_PATH_H

#include "attempt.h"

#include <nnhal/ext.h>

/* Functions return an ANeuralNetworks result code, with the sentence said
 * (nnt_check_call) if it is none of success. */
struct nnt_path_steps {
    uint32_t needs;              /* flags of models without which they have no such path */
    enum nnt_memory_kind memory; /* of constants */
    bool states_outputs;         /* with all dimensions: none may be 0, which says "open" */
    /* From attempt->built to attempt->compilation, which is finished. */
    int (*compile)(struct nnt_attempt *attempt);
    /* Binds all arguments to attempt->execution. */
    int (*set_arguments)(struct nnt_attempt *attempt);
    /* Runs attempt->execution to its end. */
    int (*run)(struct nnt_attempt *attempt);
    /* Brings the outputs to attempt->outputs; NULL: they are there. */
    int (*fetch)(struct nnt_attempt *attempt);
    /* Frees attempt->path_state, after the execution and before the compilation; NULL: there is none. */
    void (*release)(struct nnt_attempt *attempt);
};

/* nnt_path_has() - whether a model can be run so; the file says. */
bool nnt_path_has(enum nnt_path path, const struct nnt_model *model);

/* nnt_path_steps() - never NULL, no member but fetch and release is. */
const struct nnt_path_steps *nnt_path_steps(enum nnt_path path);

/* nnt_compile_cached() - compile() of the path "cached" (cached.c). */
int nnt_compile_cached(struct nnt_attempt *attempt);

/* nnt_compile_in() - compiles with a cache in a folder, under a key of at most 32 bytes; what became of
 * the cache. Returns: an ANeuralNetworks result code. */
int nnt_compile_in(struct nnt_attempt *attempt, const char *folder, const char *key,
                   struct nnhal_cache_info *ret_info);

/* Steps of the path "domain" (domain.c). */
int nnt_domain_set_arguments(struct nnt_attempt *attempt);
int nnt_domain_fetch(struct nnt_attempt *attempt);
void nnt_domain_release(struct nnt_attempt *attempt);

/* Steps of the paths whose arguments lie in a memory of the row's kind (shared.c). */
int nnt_shared_set_arguments(struct nnt_attempt *attempt);
/* nnt_shared_bind() - the same of another execution, to the memory that is there. */
int nnt_shared_bind(struct nnt_attempt *attempt);
int nnt_shared_fetch(struct nnt_attempt *attempt);
void nnt_shared_release(struct nnt_attempt *attempt);
/* nnt_guarded_run() - computes; a failure if anything but outputs was written to. */
int nnt_guarded_run(struct nnt_attempt *attempt);

/* nnt_fenced_run() - run() of the path "fenced" (fenced.c). */
int nnt_fenced_run(struct nnt_attempt *attempt);

#endif
