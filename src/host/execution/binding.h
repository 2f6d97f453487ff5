/* SPDX-License-Identifier: Apache-2.0 */
/* binding.h - a request, judged and turned into pointers
 *
 * What a driver is given for an execution: for each argument where its bytes
 * are and what is known of its shape. A binding is made once per reusable
 * execution, or once per call otherwise, and may be run any number of times, on
 * several threads at once: it is not changed by running.
 *
 *     request --(find memories, validate, check protection)--> binding
 *     binding --(driver->execute)--> outputs --(check for lies)--> shapes
 *
 * Arguments are used in place: no byte of them is copied, but for padded pictures. For those in
 * buffers of allocate() what cannot change is judged when they are bound (the
 * token, the role, the agreed dimensions, one writer), the rest when they are run.
 * Running takes nothing from the system once the caller's arena has a chunk, but for padded
 * pictures. */
#ifndef NN_HOST_EXECUTION_BINDING_H
#define NN_HOST_EXECUTION_BINDING_H

#include "host/memory/buffer.h"

/* A pool of the request: one of the two, with a reference. */
struct nn_binding_pool {
    struct nn_memory *memory;
    struct nn_buffer *buffer;
    bool is_read;
    bool is_written;
};

/* An argument that lies in a buffer; its place and size come with each run (admission.h). */
struct nn_binding_use {
    uint32_t pool;
    uint32_t argument;
    bool is_output;
};

/* An argument that is a padded picture: the driver gets a copy (picture.h). */
struct nn_binding_picture {
    const struct nn_memory *memory; /* the pool's */
    uint32_t argument;
    bool is_output;
};

struct nn_binding {
    struct nn_prepared *prepared;
    uint32_t n_pools;
    struct nn_binding_pool *pools;
    struct nnhal_input *inputs;   /* as many as the prepared model's io says */
    struct nnhal_output *outputs; /* as on entry; each run works on a copy */
    uint32_t n_uses;
    struct nn_binding_use *uses;
    uint32_t n_pictures;
    struct nn_binding_picture *pictures;
    bool is_specified; /* the shape of every output is known */
    uint32_t n_hints;
    const struct nnhal_hint *hints;
};

/* What is bound, borrowed. */
struct nn_binding_source {
    const struct nnhal_request *request;
    struct nn_memory *const *memories; /* of each pool that has one; NULL: found by their ids */
    unsigned flags;                    /* NN_REQUEST_FENCED */
    uint32_t n_hints;
    const struct nnhal_hint *hints;
};

/* nn_binding_init() - judges a request and binds it. Takes over the reference to
 * prepared, also on failure. What is allocated lives in store, the sentence in the
 * call's arena (they may be one). binding is to be done also on failure.
 * Returns: NNHAL_NONE, or the status with the call's message set. */
uint32_t nn_binding_init(struct nn_call *call, struct nn_binding *binding,
                         struct nn_prepared *prepared, const struct nn_binding_source *source,
                         struct nn_arena *store);

/* nn_binding_done() - drops the references; a zero binding is no error. */
void nn_binding_done(struct nn_binding *binding);

/* What may differ from run to run. */
struct nn_binding_run {
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns; /* NNHAL_NO_TIME: the default */
    bool measure;
    const uint32_t *is_cancelled;
    /* Who executes; NULL: the driver's execute(). */
    uint32_t (*execute)(void *ctx, struct nnhal_execution *execution);
    void *ctx;
};

/* What came of a run. */
struct nn_binding_result {
    uint32_t n_shapes;
    const struct nnhal_output_shape *shapes;
    struct nnhal_timing timing;
};

/* nn_binding_run() - executes on the calling thread. result is zero, timing
 * absent, unless the status is NNHAL_NONE or OUTPUT_INSUFFICIENT_SIZE.
 * Returns: the status, with *message set on failure. */
uint32_t nn_binding_run(struct nn_call *call, const struct nn_binding *binding,
                        const struct nn_binding_run *run, struct nn_binding_result *result);

#endif
