/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - one model of vectors through the NNAPI, and what became of it
 *
 * Every model is built anew, compiled, executed and compared, through public
 * functions only. Not for several threads. */
#ifndef NN_TOOLS_NNT_RUN_H
#define NN_TOOLS_NNT_RUN_H

#include "file.h"

#include <android/NeuralNetworks.h>

/* How an execution is started. */
enum nnt_path {
    NNT_SYNC = 0,  /* compute */
    NNT_ASYNC = 1, /* startCompute and an event */
    NNT_CACHED,    /* compute, compiled from the cache */
    NNT_DOMAIN,    /* compute, arguments in memories of the device */
    NNT_BURST,     /* burstCompute, twice */
    NNT_BLOB,      /* compute, constants and arguments in BLOB buffers */
    NNT_FD_OFFSET, /* compute, constants and arguments at odd offsets of files */
    NNT_PATH_N,
};

/* nnt_path_name() - "sync", "async", "cached", "domain", "burst", "blob", "fd-offset". */
const char *nnt_path_name(enum nnt_path path);

/* nnt_path_has() - whether a model can be run so; the file says. */
bool nnt_path_has(enum nnt_path path, const struct nnt_model *model);

struct nnt_run {
    enum nnt_path path;
    const ANeuralNetworksDevice *device; /* NULL: the runtime chooses */
    uint64_t loop_timeout_ns;            /* for each WHILE; 0: the runtime's own */
    int result;                          /* of the last call that was made */
    bool is_built;                       /* every call before compilation succeeded */
    unsigned n_from_cache;               /* models that the path "cached" did not compile */
    char what[400];                      /* after a failure: what differed, or which call failed */
};

/* nnt_run_model() - Returns: true if the model did what it must. */
bool nnt_run_model(struct nnt_run *run, const struct nnt_model *model);

#endif
