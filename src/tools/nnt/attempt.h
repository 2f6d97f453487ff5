/* SPDX-License-Identifier: Apache-2.0 */
/* attempt.h - one model on its way through the NNAPI, and what became of it
 *
 * What the steps of all paths share. An attempt is for one thread. */
#ifndef NN_TOOLS_NNT_ATTEMPT_H
#define NN_TOOLS_NNT_ATTEMPT_H

#include "build.h"
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
    NNT_FENCED,    /* startComputeWithDependencies, twice, the second after the first's fence */
    NNT_GUARDED,   /* compute, arguments in a file with gaps that must stay as they are */
    NNT_PATH_N,
};

#define NNT_MAX_SPLIT 16

/* What is asked for, and how it ended. */
struct nnt_run {
    enum nnt_path path;
    const ANeuralNetworksDevice *device; /* NULL: the runtime chooses */
    uint32_t n_split;                    /* all of these together; 0: not so */
    const ANeuralNetworksDevice *split[NNT_MAX_SPLIT];
    const ANeuralNetworksDevice *against; /* whose results are expected; NULL: the vectors' */
    bool is_exact;                        /* floats are compared with those to the bit, too */
    uint64_t timeout_ns;                  /* for compiling, and for executing; 0: none */
    uint64_t loop_timeout_ns;             /* for each WHILE; 0: the runtime's own */
    unsigned n_reuses;     /* executions of each model, by one reusable one; 0: one */
    int result;            /* of the last call that was made */
    bool is_built;         /* every call before compilation succeeded */
    bool is_unsupported;   /* it failed, and the device had said that it would */
    bool is_different;     /* one of the devices failed, or gave other results */
    bool is_overwritten;   /* by the path "guarded": more than outputs was written to */
    unsigned n_from_cache; /* models that the path "cached" did not compile */
    unsigned n_in_parts;   /* models that several devices computed */
    char what[1024];       /* after a failure: what differed, or which call failed */
};

/* What one model needs while it runs. */
struct nnt_attempt {
    struct nnt_run *run;
    const struct nnt_model *model;
    const struct nnt_subgraph *main;
    struct nnt_built built;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    uint8_t **outputs; /* one buffer per output, each of at least one byte */
    void *path_state;  /* the path's */
};

/* nnt_report() - notes what went wrong, a sentence. Returns: false. */
bool nnt_report(struct nnt_run *run, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* nnt_check_call() - notes what a call returned, with a sentence if it failed. subject is the
 * number of the argument, operand or operation that it was about. Returns: result. */
int nnt_check_call(struct nnt_attempt *attempt, const char *call, uint32_t subject, int result);

/* nnt_is_shortage() - a deadline, or no memory: says nothing of a model or a device. */
bool nnt_is_shortage(int result);

/* nnt_find_device() - Returns: the device of that name, NULL if there is none. */
const ANeuralNetworksDevice *nnt_find_device(const char *wanted);

/* nnt_create_compilation() - attempt->compilation, not finished, for the run's device. */
int nnt_create_compilation(struct nnt_attempt *attempt);

/* nnt_create_execution() - of attempt->compilation, with the run's timeouts. */
int nnt_create_execution(struct nnt_attempt *attempt, ANeuralNetworksExecution **ret_execution);

/* nnt_full_type() - of an operand as it is expected, with all dimensions. */
ANeuralNetworksOperandType nnt_full_type(const struct nnt_operand *operand);

/* nnt_input_type() - the full type of an input that the model leaves open.
 * Returns: false if the model says all, and no type is to be given. */
bool nnt_input_type(const struct nnt_operand *operand, ANeuralNetworksOperandType *ret_type);

#endif
