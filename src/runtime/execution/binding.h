/* SPDX-License-Identifier: Apache-2.0 */
/* binding.h - an execution's arguments as a device has them
 *
 * Binding turns arguments into a request on a prepared model: memories are
 * imported into its session, and what was given by pointer gets a place in one
 * pool of shared memory, the argument pool, inputs first. Arguments in memories
 * are used where they are. A reusable execution keeps its binding: the request
 * was validated once, and each computation costs the copies and one call.
 * One thread at a time. */
#ifndef NN_RUNTIME_EXECUTION_BINDING_H
#define NN_RUNTIME_EXECUTION_BINDING_H

#include "runtime/attribute.h"
#include "runtime/execution/argument.h"
#include "runtime/execution/channel.h"
#include "runtime/compilation/prepared.h"
#include "runtime/memory/argument-pool.h"

/* What the application has set. */
struct nn_rt_arguments {
    uint32_t n_inputs;
    uint32_t n_outputs;
    struct nn_rt_argument *inputs; /* offset of those by pointer is set by binding */
    struct nn_rt_argument *outputs;
};

struct nn_rt_binding {
    struct nn_arena arena;           /* of request */
    struct nn_rt_prepared *prepared; /* NULL: not bound */
    struct nnhal_request request;
    struct nn_rt_argument_pools *pools;   /* where argument_pool comes from and goes to */
    ANeuralNetworksMemory *argument_pool; /* NULL: no argument by pointer */
    uint64_t copied_bytes;                /* of memories, by the device for each computation */
    bool is_left;                         /* a computation was left: it may go on */
    uint64_t execution;                   /* 0: not a reusable one */
    struct nn_burst_packet *packet;       /* the request as a burst sends it; NULL: not packed */
    uint64_t unfit_burst;                 /* the burst that has no place for the request */
};

/* How a computation is to be made. */
struct nn_rt_compute_options {
    bool measure;
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns;
    const struct nn_rt_attributes *attributes;
    struct nn_rt_channel *channel; /* to the prepared model that is bound; NULL: a call */
};

/* nn_rt_binding_bind() - from no binding to one. prepared is referenced.
 * Returns: 0; UNMAPPABLE, DEAD_OBJECT and other answers of the device; -ENOMEM;
 * nothing is bound then. */
int nn_rt_binding_bind(struct nn_rt_binding *binding, struct nn_rt_arguments *arguments,
                       struct nn_rt_prepared *prepared, struct nn_why *why);

/* nn_rt_binding_set_reusable() - lets the device validate the request once for all computations. */
int nn_rt_binding_set_reusable(struct nn_rt_binding *binding,
                               const struct nn_rt_compute_options *options, struct nn_why *why);

/* nn_rt_binding_execute() - copies inputs in and lets the device compute, through the burst if
 * that has a place for the request; blocks. The reply lives in arena.
 * Returns: the device's enum nnhal_error_status. */
uint32_t nn_rt_binding_execute(struct nn_rt_binding *binding,
                               const struct nn_rt_arguments *arguments,
                               const struct nn_rt_compute_options *options, struct nn_arena *arena,
                               struct nn_hal_execute_synchronously_reply *reply);

/* nn_rt_binding_copy_out() - n_bytes of an output by pointer, from the argument pool. */
void nn_rt_binding_copy_out(const struct nn_rt_binding *binding,
                            const struct nn_rt_argument *output, uint64_t n_bytes);

/* nn_rt_binding_count_copies() - a computation has ended well: what the device has copied counts. */
void nn_rt_binding_count_copies(const struct nn_rt_binding *binding);

/* nn_rt_binding_unbind() - back to no binding; the argument pool stays for the next, unless a
 * device may still write to it. */
void nn_rt_binding_unbind(struct nn_rt_binding *binding);

/* nn_rt_binding_done() - gives the argument pool back too. */
void nn_rt_binding_done(struct nn_rt_binding *binding);

#endif
