/* SPDX-License-Identifier: Apache-2.0 */
/* hal.h - the HAL: what the runtime calls
 *
 * A struct nn_hal is one session with one device. Two things implement it: the
 * host, over a driver in the same process, and the proxy, over a connection to
 * a service. Whoever holds it cannot tell which, and every rule is checked by
 * the host in both cases.
 *
 * Every method has one form: (hal, args, reply, arena) -> enum
 * nnhal_error_status. args are borrowed for the call. What reply points to
 * lives in arena, as does reply->message, a sentence for people (NULL: none).
 * On a status other than NNHAL_NONE (and OUTPUT_INSUFFICIENT_SIZE where a
 * reply has shapes) the reply is all zero apart from message.
 * File descriptors in args stay the caller's: a callee that keeps one
 * duplicates it. File descriptors in a reply become the caller's.
 * Objects (memories, prepared models, executions, buffers, bursts) are u64 ids
 * of this session, never 0, never used twice. Freeing an unknown id is no
 * error. When the session closes everything in it goes.
 * Threads: every method may be called from any number of threads at a time.
 * A call does not return before its work is done; a session whose service died
 * answers NNHAL_DEAD_OBJECT to every call, at once. */
#ifndef NN_HAL_HAL_H
#define NN_HAL_HAL_H

#include <nnhal/types.h>

struct nn_arena;
struct nn_hal;

/* -- the device ---------------------------------------------------------- */

struct nn_hal_get_device_info_args {
    uint32_t reserved;
};

struct nn_hal_get_device_info_reply {
    const char *message;
    const char *name;
    const char *version;
    uint32_t type; /* enum nnhal_device_type */
    uint32_t n_model_cache_files;
    int64_t feature_level;
    uint32_t n_data_cache_files;
    uint32_t n_extensions;
    const struct nnhal_extension *extensions;
    struct nnhal_capabilities capabilities;
    int32_t pid; /* the process that the driver runs in */
};

/* -- memory -------------------------------------------------------------- */

/* A memory object: registered once, then used by id. size is 0 for a
 * hardware_buffer. width..stride describe hardware buffers only. */
struct nn_hal_import_memory_args {
    uint32_t kind; /* enum nnhal_memory_kind */
    uint32_t prot; /* PROT_READ | PROT_WRITE, mmap_fd only */
    uint64_t size;
    uint64_t offset; /* any, mmap_fd only */
    uint32_t format;
    uint32_t width;
    uint32_t height;
    uint32_t layers;
    uint64_t usage;
    uint32_t stride;
    int32_t fd;
};

struct nn_hal_import_memory_reply {
    const char *message;
    uint64_t memory;
};

struct nn_hal_free_memory_args {
    uint64_t memory;
};

struct nn_hal_free_memory_reply {
    const char *message;
};

/* -- models -------------------------------------------------------------- */

struct nn_hal_get_supported_operations_args {
    struct nnhal_model model;
};

struct nn_hal_get_supported_operations_reply {
    const char *message;
    uint32_t n_supported; /* operations of the main subgraph */
    uint32_t reserved;
    const uint8_t *supported;
};

struct nn_hal_prepare_model_args {
    struct nnhal_model model;
    uint32_t preference;  /* enum nnhal_preference */
    uint32_t priority;    /* enum nnhal_priority */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; NNHAL_NO_TIME: none */
    uint32_t n_model_cache;
    uint32_t n_data_cache;
    const int32_t *model_cache; /* fds, read and write */
    const int32_t *data_cache;
    uint8_t token[NNHAL_CACHE_TOKEN_BYTES]; /* all zero: no caching */
    uint32_t n_hints;
    uint32_t reserved;
    const struct nnhal_hint *hints;
};

struct nn_hal_prepare_model_reply {
    const char *message;
    uint64_t prepared_model;
};

struct nn_hal_prepare_model_from_cache_args {
    uint64_t deadline_ns;
    uint32_t n_model_cache;
    uint32_t n_data_cache;
    const int32_t *model_cache;
    const int32_t *data_cache;
    uint8_t token[NNHAL_CACHE_TOKEN_BYTES];
};

struct nn_hal_prepare_model_from_cache_reply {
    const char *message;
    uint64_t prepared_model;
};

struct nn_hal_free_prepared_model_args {
    uint64_t prepared_model;
};

struct nn_hal_free_prepared_model_reply {
    const char *message;
};

/* -- executions ---------------------------------------------------------- */

/* A reusable execution: the request is validated once, here. */
struct nn_hal_create_execution_args {
    uint64_t prepared_model;
    struct nnhal_request request;
    uint32_t measure;
    uint32_t n_hints;
    uint64_t loop_timeout_ns; /* per WHILE; NNHAL_NO_TIME: the default */
    const struct nnhal_hint *hints;
};

struct nn_hal_create_execution_reply {
    const char *message;
    uint64_t execution;
};

struct nn_hal_free_execution_args {
    uint64_t execution;
};

struct nn_hal_free_execution_reply {
    const char *message;
};

/* Either execution (then the rest of the request is empty), or prepared_model
 * and request. */
struct nn_hal_execute_synchronously_args {
    uint64_t prepared_model;
    uint64_t execution;
    struct nnhal_request request;
    uint32_t measure;
    uint32_t n_hints;
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns;
    const struct nnhal_hint *hints;
};

/* Shapes come with NNHAL_NONE and NNHAL_OUTPUT_INSUFFICIENT_SIZE: one entry
 * per output of the model. */
struct nn_hal_execute_synchronously_reply {
    const char *message;
    uint32_t n_output_shapes;
    uint32_t reserved;
    const struct nnhal_output_shape *output_shapes;
    struct nnhal_timing timing;
};

/* Returns at once; sync_fence (-1: already finished) tells of the end: POLLIN
 * well, POLLERR not. The outcome is asked with get_fenced_info. */
struct nn_hal_execute_fenced_args {
    uint64_t prepared_model;
    uint64_t execution;
    struct nnhal_request request;
    uint32_t measure;
    uint32_t n_wait_for;
    const int32_t *wait_for; /* fence fds */
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns;
    uint64_t timeout_after_fence_ns; /* from the moment that all have signalled */
    uint32_t n_hints;
    uint32_t reserved;
    const struct nnhal_hint *hints;
};

struct nn_hal_execute_fenced_reply {
    const char *message;
    uint64_t callback;
    int32_t sync_fence;
};

struct nn_hal_get_fenced_info_args {
    uint64_t callback;
};

struct nn_hal_get_fenced_info_reply {
    const char *message;
    uint32_t status; /* of the execution; GENERAL_FAILURE until it ended */
    uint32_t reserved;
    struct nnhal_timing timing_launched;
    struct nnhal_timing timing_fenced;
};

struct nn_hal_free_fenced_callback_args {
    uint64_t callback;
};

struct nn_hal_free_fenced_callback_reply {
    const char *message;
};

/* -- buffers (memory domains) -------------------------------------------- */

struct nn_hal_allocate_args {
    uint32_t n_dimensions;
    uint32_t n_prepared_models;
    const uint32_t *dimensions;
    const uint64_t *prepared_models;
    uint32_t n_input_roles;
    uint32_t n_output_roles;
    const struct nnhal_buffer_role *input_roles;
    const struct nnhal_buffer_role *output_roles;
};

struct nn_hal_allocate_reply {
    const char *message;
    uint64_t buffer;
    uint32_t token;
};

struct nn_hal_copy_to_args {
    uint64_t buffer;
    uint64_t memory;
};

struct nn_hal_copy_to_reply {
    const char *message;
};

struct nn_hal_copy_from_args {
    uint64_t buffer;
    uint64_t memory;
    uint32_t n_dimensions;
    uint32_t reserved;
    const uint32_t *dimensions;
};

struct nn_hal_copy_from_reply {
    const char *message;
};

struct nn_hal_free_buffer_args {
    uint64_t buffer;
};

struct nn_hal_free_buffer_reply {
    const char *message;
};

/* -- bursts -------------------------------------------------------------- */

/* The descriptor of a fast message queue (nnhal/fmq.h): one sealed memfd. */
struct nn_hal_queue_descriptor {
    uint32_t n_elements;
    uint32_t element_size;
    uint32_t flavour;
    int32_t fd;
};

struct nn_hal_configure_execution_burst_args {
    uint64_t prepared_model;
    struct nn_hal_queue_descriptor requests;
    struct nn_hal_queue_descriptor results;
    uint64_t spin_ns;
};

struct nn_hal_configure_execution_burst_reply {
    const char *message;
    uint64_t burst;
};

struct nn_hal_set_burst_memory_args {
    uint64_t burst;
    uint64_t memory;
    int32_t slot;
};

struct nn_hal_set_burst_memory_reply {
    const char *message;
};

struct nn_hal_free_burst_memory_args {
    uint64_t burst;
    int32_t slot;
};

struct nn_hal_free_burst_memory_reply {
    const char *message;
};

struct nn_hal_free_burst_args {
    uint64_t burst;
};

struct nn_hal_free_burst_reply {
    const char *message;
};

/* -- events: from the device to the session's owner ----------------------- */

struct nn_hal_cache_written_event {
    uint64_t prepared_model;
};

struct nn_hal_get_memories_event {
    uint64_t burst;
    uint32_t n_slots;
    uint32_t reserved;
    const int32_t *slots;
};

/* Called on a thread of the session; may not call into the session. Members
 * may be NULL. */
struct nn_hal_listener {
    void *ctx;
    void (*cache_written)(void *ctx, const struct nn_hal_cache_written_event *event);
    void (*get_memories)(void *ctx, const struct nn_hal_get_memories_event *event);
    void (*died)(void *ctx);
};

/* -- the table ------------------------------------------------------------ */

#define NN_HAL_METHODS(X)                                                                          \
    X(get_device_info)                                                                             \
    X(import_memory)                                                                               \
    X(free_memory)                                                                                 \
    X(get_supported_operations)                                                                    \
    X(prepare_model)                                                                               \
    X(prepare_model_from_cache)                                                                    \
    X(free_prepared_model)                                                                         \
    X(create_execution)                                                                            \
    X(free_execution)                                                                              \
    X(execute_synchronously)                                                                       \
    X(execute_fenced)                                                                              \
    X(get_fenced_info)                                                                             \
    X(free_fenced_callback)                                                                        \
    X(allocate)                                                                                    \
    X(copy_to)                                                                                     \
    X(copy_from)                                                                                   \
    X(free_buffer)                                                                                 \
    X(configure_execution_burst)                                                                   \
    X(set_burst_memory)                                                                            \
    X(free_burst_memory)                                                                           \
    X(free_burst)

struct nn_hal_ops {
#define X(method)                                                                                  \
    uint32_t (*method)(struct nn_hal * hal, const struct nn_hal_##method##_args *args,             \
                       struct nn_hal_##method##_reply *reply, struct nn_arena *arena);
    NN_HAL_METHODS(X)
#undef X
    /* Ends the session: everything in it is freed; calls in progress end
     * first. Frees hal. */
    void (*close)(struct nn_hal *hal);
};

/* The first member of whatever implements the HAL. */
struct nn_hal {
    const struct nn_hal_ops *ops;
};

/* nn_hal_prepare_model(hal, args, reply, arena) and so on: one per method. */
#define X(method)                                                                                  \
    static inline uint32_t nn_hal_##method(                                                        \
        struct nn_hal *hal, const struct nn_hal_##method##_args *args,                             \
        struct nn_hal_##method##_reply *reply, struct nn_arena *arena)                             \
    {                                                                                              \
        return hal->ops->method(hal, args, reply, arena);                                          \
    }
NN_HAL_METHODS(X)
#undef X

static inline struct nn_hal *nn_hal_close(struct nn_hal *hal)
{
    if (hal)
        hal->ops->close(hal);
    return NULL;
}

#endif
