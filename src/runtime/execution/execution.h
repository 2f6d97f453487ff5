/* SPDX-License-Identifier: Apache-2.0 */
/* execution.h - arguments, the state of a computation, and its results
 *
 *                 begin, all set                   end
 *     PREPARATION ---------------> COMPUTATION ---------> COMPLETED
 *                                       ^                    |
 *                                       +--------------------+ begin, reusable
 *
 * A begin with something missing ends at once in COMPLETED (BAD_DATA).
 *
 * nn_rt_execution_begin() and nn_rt_execution_complete() alone change the state, by one
 * exchange and one store; between them the computation belongs to one thread, which needs no
 * lock for the arguments, the binding and the results. Setters work in
 * PREPARATION only. Results can be asked for when COMPLETED.
 * References: the application's, and one per event of a computation in flight. */
#ifndef NN_RUNTIME_EXECUTION_EXECUTION_H
#define NN_RUNTIME_EXECUTION_EXECUTION_H

#include "runtime/compilation/compilation.h"
#include "runtime/diagnostic.h"
#include "runtime/execution/binding.h"

enum nn_rt_execution_state {
    NN_EXECUTION_PREPARATION,
    NN_EXECUTION_COMPUTATION,
    NN_EXECUTION_COMPLETED,
};

struct nn_rt_branches;
struct nn_rt_steps;

/* What is known of an output after a computation. */
struct nn_rt_execution_shape {
    bool is_sufficient;
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
};

struct ANeuralNetworksExecution {
    struct nn_rt_object object;
    ANeuralNetworksCompilation *compilation;
    /* Whose inputs tell which request it is before its own are made, or where they lie in a device
     * (suspect.h); borrowed; NULL: its own do. */
    const ANeuralNetworksExecution *known_by;
    enum nn_rt_execution_state state; /* atomic */
    int result;                       /* ResultCode of the last computation; atomic */
    bool is_reusable;
    bool has_padding;
    bool has_arguments; /* one was set: padding cannot change any more */
    bool measure;
    bool is_continued; /* the last computation lacked room for outputs, and they alone have changed:
                        * what it has made beside them is not made again (partition/) */
    bool is_haunted; /* a process that was given up in the last computation may write to outputs */
    uint64_t timeout_ns;      /* 0: none */
    uint64_t loop_timeout_ns; /* NNHAL_NO_TIME: the default */
    struct nn_rt_attributes attributes;
    struct nn_rt_pace pace; /* of compute(), if it is reusable */
    struct nn_rt_arguments arguments;
    struct nn_rt_binding binding;
    struct nn_rt_steps *steps; /* of a compilation that is split; NULL: none yet */
    struct nn_rt_steps *(*free_steps)(struct nn_rt_steps *steps);
    void (*rest_steps)(struct nn_rt_steps *steps);
    struct nn_rt_branches *branches; /* of a compilation that has some; NULL: none yet */
    struct nn_rt_branches *(*free_branches)(struct nn_rt_branches *branches);
    void (*rest_branches)(struct nn_rt_branches *branches);
    uint32_t n_parts;              /* of a compilation that is split, once it has computed */
    struct nnhal_part_info *parts; /* who computed them, but for size */
    struct nn_arena arena;         /* of replies */
    struct nn_rt_execution_shape *shapes;
    ANeuralNetworksDiagnosticExecutionMode mode; /* of the last computation */
    uint64_t begin_ns;                           /* of it; 0: no listener */
    ANeuralNetworksDevice *device;               /* that was asked last; NULL: none since begin */
    struct nn_why failure;      /* of the compilation's device, where another one computed */
    char *inner_failure;        /* the same of a part or a branch of it, the last one; NULL: none */
    struct nnhal_timing timing; /* of the last computation that was measured */
    uint64_t took_ns;           /* the same on this side */
    struct nnhal_timing timing_fenced; /* from the end of the dependencies */
};

/* nn_rt_execution_new() - Returns: 0, BAD_STATE, DEAD_OBJECT, -ENOMEM. */
int nn_rt_execution_new(ANeuralNetworksCompilation *compilation, struct nn_why *why,
                        ANeuralNetworksExecution **ret_execution);
ANeuralNetworksExecution *nn_rt_execution_ref(ANeuralNetworksExecution *execution);
ANeuralNetworksExecution *nn_rt_execution_unref(ANeuralNetworksExecution *execution);

/* -- setters; Returns: as NeuralNetworks.h says, or -ENOMEM ------------------- */

/* Which argument a setter is about. */
struct nn_rt_argument_selector {
    bool is_input;
    int32_t index;
    const ANeuralNetworksOperandType *type;
};

int nn_rt_execution_set_pointer(ANeuralNetworksExecution *execution,
                                const struct nn_rt_argument_selector *selector, void *pointer,
                                uint64_t length, struct nn_why *why);
int nn_rt_execution_set_memory(ANeuralNetworksExecution *execution,
                               const struct nn_rt_argument_selector *selector,
                               ANeuralNetworksMemory *memory, uint64_t offset, uint64_t length,
                               struct nn_why *why);
int nn_rt_execution_set_padding(ANeuralNetworksExecution *execution, bool enable,
                                struct nn_why *why);
int nn_rt_execution_set_reusable(ANeuralNetworksExecution *execution, bool enable,
                                 struct nn_why *why);
int nn_rt_execution_set_measure(ANeuralNetworksExecution *execution, bool enable,
                                struct nn_why *why);
int nn_rt_execution_set_timeout(ANeuralNetworksExecution *execution, uint64_t duration_ns,
                                struct nn_why *why);
int nn_rt_execution_add_attribute(ANeuralNetworksExecution *execution,
                                  const struct nn_rt_attribute *attribute, struct nn_why *why);
int nn_rt_execution_set_loop_timeout(ANeuralNetworksExecution *execution, uint64_t duration_ns,
                                     struct nn_why *why);

/* -- computing; see also computation.h ------------------------------------------ */

/* nn_rt_execution_begin() - Returns: 0: the caller owns the computation and ends it
 * with nn_rt_execution_end() (outcome.h); BAD_STATE; BAD_DATA (completed by that); DEAD_OBJECT. */
int nn_rt_execution_begin(ANeuralNetworksExecution *execution,
                          ANeuralNetworksDiagnosticExecutionMode mode, struct nn_why *why);

/* nn_rt_execution_get_device() - what computed last. Returns: 0, BAD_STATE. */
int nn_rt_execution_get_device(ANeuralNetworksExecution *execution, struct nn_why *why,
                               ANeuralNetworksDevice **ret_device);

/* nn_rt_execution_get_part() - all of it but size. Returns: 0, BAD_STATE, BAD_DATA. */
int nn_rt_execution_get_part(ANeuralNetworksExecution *execution, uint32_t part, struct nn_why *why,
                             struct nnhal_part_info *ret_info);

/* nn_rt_execution_make_parts() - room for n_parts in parts, as many each time. Returns: 0, -ENOMEM. */
int nn_rt_execution_make_parts(ANeuralNetworksExecution *execution, uint32_t n_parts);

/* nn_rt_execution_find_failure() - why another device than the planned one computed it, or something of
 * it; "": none did. Borrowed until the next computation. */
const char *nn_rt_execution_find_failure(const ANeuralNetworksExecution *execution);

/* nn_rt_execution_clear_inner_failure() - what was told of parts and branches does not count any more. */
void nn_rt_execution_clear_inner_failure(ANeuralNetworksExecution *execution);

/* nn_rt_execution_tell_inner() - who computed a part or a branch of it, if that was not the device
 * that was planned for that, and why. */
void nn_rt_execution_tell_inner(ANeuralNetworksExecution *execution,
                                const ANeuralNetworksExecution *inner);

/* nn_rt_execution_options() - how the application wants it computed, without a channel. */
struct nn_rt_compute_options nn_rt_execution_options(const ANeuralNetworksExecution *execution,
                                                     uint64_t deadline_ns);

/* nn_rt_execution_bind() - binds the arguments to prepared, unless they are. Between begin and
 * end. Returns: as nn_rt_binding_bind(). */
int nn_rt_execution_bind(ANeuralNetworksExecution *execution, struct nn_rt_prepared *prepared,
                         struct nn_why *why);

/* nn_rt_execution_check_inputs() - whether memories made from a descriptor hold what the
 * inputs need. Returns: 0, OP_FAILED. */
int nn_rt_execution_check_inputs(const ANeuralNetworksExecution *execution, struct nn_why *why);

/* nn_rt_execution_rest() - gives back what it keeps for the next computation: its binding and the
 * memory of parts and branches, also of those within. Between begin and end, or of an execution that
 * is not computed. */
void nn_rt_execution_rest(ANeuralNetworksExecution *execution);

/* nn_rt_execution_complete() - the last step of nn_rt_execution_end(). */
void nn_rt_execution_complete(ANeuralNetworksExecution *execution, int result);

/* nn_rt_execution_check_fenced() - what startComputeWithDependencies asks beyond
 * begin: a duration only with one listed device, outputs fully specified.
 * Returns: 0, BAD_DATA. */
int nn_rt_execution_check_fenced(const ANeuralNetworksExecution *execution, uint64_t duration_ns,
                                 struct nn_why *why);

/* -- results; Returns: as NeuralNetworks.h says ------------------------------------- */

int nn_rt_execution_get_rank(ANeuralNetworksExecution *execution, int32_t index, struct nn_why *why,
                             uint32_t *ret_rank);
int nn_rt_execution_get_dims(ANeuralNetworksExecution *execution, int32_t index, struct nn_why *why,
                             uint32_t *ret_dimensions);
int nn_rt_execution_get_duration(ANeuralNetworksExecution *execution, int32_t code,
                                 struct nn_why *why, uint64_t *ret_duration_ns);

NN_DEFINE_CLEANUP(ANeuralNetworksExecution, nn_rt_execution_unref)

#endif
