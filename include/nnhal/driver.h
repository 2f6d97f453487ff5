/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - what a driver implements
 *
 * A driver is a shared library libnnhal-driver-NAME.so that exports one
 * symbol, nnhal_driver_main(), which returns a table of callbacks. The host
 * that loads it (in a service, in a private child, or in the application's own
 * process) does the rest: transport, validation, memory mapping, quotas,
 * deadlines, scheduling, cache files. A driver gets validated models and mapped
 * pointers; it never sees a file descriptor's owner, a packet or a hash.
 *
 * Threads: every callback may be called from any number of threads at a time, also
 * on one object. The host calls release() of an object only when no call on it is
 * in progress. A driver's own threads that touch memories leave SIGBUS unblocked:
 * the host uses it to notice a file that became smaller. The sandbox sees to that, where the
 * driver runs in one, and keeps SIGSYS for it.
 * Results: callbacks return an enum nnhal_error_status. A driver may explain a
 * failure with services->explain() just before it returns it. The host checks
 * every answer: a status that the callback may not return, a shape that
 * contradicts model and request, or an output larger than its memory ends the call
 * with NNHAL_GENERAL_FAILURE, and the driver is reported as defective.
 * Tables begin with their size, because either side may know more members than
 * the other; members beyond the other's size count as NULL or 0. */
#ifndef NNHAL_DRIVER_H
#define NNHAL_DRIVER_H

#include <nnhal/step.h>
#include <nnhal/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NNHAL_DRIVER_ABI 2

enum nnhal_log_level {
    NNHAL_LOG_ERROR = 0,
    NNHAL_LOG_WARNING = 1,
    NNHAL_LOG_INFO = 2,
    NNHAL_LOG_DEBUG = 3,
};

/* The host's functions for a driver; valid from open() to close(). */
struct nnhal_driver_services {
    size_t size;
    void *ctx;
    /* Writes one line under NNHAL_LOG=driver:LEVEL; text has no newline. */
    void (*log)(void *ctx, uint32_t level, const char *text);
    /* Sets the sentence for the failure that this thread returns next. */
    void (*explain)(void *ctx, const char *text);
    /* As malloc, aligned to 64 bytes, and free. NULL when memory is short. */
    void *(*allocate)(void *ctx, size_t n_bytes);
    void (*release)(void *ctx, void *block);
    /* CPUs that this process may use, at least 1. */
    uint32_t n_cpus;
    uint32_t reserved;
    /* Asks for memory that the driver is about to take for a prepared model: account is that of
     * struct nnhal_prepare; NULL: nothing is counted. Anything but NNHAL_NONE: the model's user
     * has as much as it may have. The driver then takes nothing and returns this status, for
     * which charge() has set the sentence of this thread. Any thread. Since 0.2. */
    uint32_t (*charge)(void *ctx, void *account, uint64_t n_bytes);
    /* Gives back what was charged, when the memory was freed. What is still charged when
     * release() returns, or a failed prepare(), the host gives back. Since 0.2. */
    void (*uncharge)(void *ctx, void *account, uint64_t n_bytes);
    /* Ends a fenced execution that execute_fenced() has taken, once, on any thread, also before
     * execute_fenced() returns. explain() on the same thread gives a failure its sentence. Before
     * it returns, the host may call the release functions of what the execution used: the caller
     * holds no lock that they need. An id that has ended is reported as a defect. Since 0.2. */
    void (*end_fenced)(void *ctx, uint64_t id, uint32_t status);
    /* Says in get_supported_operations(), on the thread that it was called on, why an operation
     * of the main subgraph is not supported: one sentence, copied, that needs no name of the driver
     * or of the operation ("no kernel for tensors of rank 5"). The application sees it beside the
     * operation. At most NNHAL_MAX_REASONS different ones are kept of a call, each cut to
     * NNHAL_MAX_REASON_BYTES; the last one of an operation counts, and none if it is supported.
     * Elsewhere it does nothing. Since 0.2: look at size before it is called. */
    void (*refuse)(void *ctx, uint32_t operation, const char *text);
};

/* A memory as it is, for a driver whose device reads descriptors itself, above all
 * dma-bufs. The struct is valid during the call; fd, data and buffer belong to the
 * host and stay valid until release_memory(). */
struct nnhal_memory_handle {
    size_t size;
    uint32_t kind; /* enum nnhal_memory_kind */
    int32_t fd;
    /* The mapped view of the whole memory; NULL if a CPU cannot read it. The view of
     * an mmap_fd begins at some offset in fd. */
    void *data;
    uint64_t n_bytes;
    /* NULL unless kind is a hardware buffer. Format, sizes, stride and planes agree
     * with fd. */
    const struct nnhal_hardware_buffer *buffer;
    uint32_t is_writable;
    uint32_t reserved;
};

/* How the threads of a driver share the CPUs of a service with the work of other users. A
 * driver that computes on CPUs looks at is_wanted now and then (a relaxed load), at least
 * every millisecond, and calls give_way() if it is set: the thread may have to wait there, so
 * it holds no lock that another call needs. A further thread that helps calls enter() before
 * it computes and leave() after it; so does a thread around a wait for others, the other way
 * round. All may be called by any thread while the call into the driver lasts. */
struct nnhal_turn {
    size_t size;
    void *host;
    const uint32_t *is_wanted; /* read with __atomic_load_n */
    void (*give_way)(void *host);
    void (*enter)(void *host);
    void (*leave)(void *host);
    uint32_t (*n_helpers)(void *host); /* how many further threads would not have to wait now */
};

/* A mapped pool of the model, readable while the prepared model lives. memory is
 * what import_memory() returned for it. */
struct nnhal_mapped_pool {
    const uint8_t *data;
    uint64_t size;
    void *memory;
};

/* A validated model. The model, its arrays and operand_values live for the call
 * only, the pools as long as the prepared model. The application may change the
 * bytes of a pool at any time: a driver copies every value that decides an address
 * or a branch before it uses it. */
struct nnhal_driver_model {
    const struct nnhal_model *model;
    uint32_t n_pools;
    const struct nnhal_mapped_pool *pools;
};

/* A part of a compiled model from which it can be prepared again: one buffer for
 * each file that the table announces. */
struct nnhal_cache_buffer {
    const void *bytes;
    uint64_t size;
};

/* Model cache: everything that decides an address or a branch. The host ensures
 * that it comes back exactly as it was handed over, or not at all. Data cache: the
 * rest, such as packed weights. Damage to it is detected, malicious changes are not:
 * no contents of it may cause anything worse than wrong results. */
struct nnhal_cache {
    size_t size;
    uint32_t n_model_files;
    uint32_t n_data_files;
    struct nnhal_cache_buffer *model_files;
    struct nnhal_cache_buffer *data_files;
};

struct nnhal_prepare {
    size_t size;
    struct nnhal_driver_model model;
    uint32_t preference;  /* enum nnhal_preference */
    uint32_t priority;    /* enum nnhal_priority */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC, NNHAL_NO_TIME: none; a driver may give up after it */
    /* NULL: the model is not cached. Otherwise all buffers are empty. A driver that
     * succeeds sets them to memory of its own, which stays unchanged until release()
     * or the next successful optimize(), or leaves all of them empty: the model is
     * then not cached. */
    struct nnhal_cache *cache;
    /* The application waits for this model, or will execute it rarely: steps that only make
     * executions faster are left to optimize(). Drivers without optimize() ignore it. */
    uint32_t is_quick;
    uint32_t reserved;
    /* Set by the host when the model is not needed any more (the client died): a long
     * preparation checks it now and then, and returns NNHAL_GENERAL_FAILURE. NULL: it is
     * never cancelled; read with __atomic_load_n. Since 0.2. */
    const uint32_t *is_cancelled;
    const struct nnhal_turn *turn; /* NULL: there is one user. Since 0.2 */
    /* Whom the driver charges for what the prepared model, its executions and its optimization
     * take (services->charge()). Valid until release() returns. Since 0.2. */
    void *account;
    /* Attributes of the compilation, of the driver's own extensions (token: the place in
     * nnhal_driver.extensions, from 1, << 16 | the attribute); their bytes are not checked, and
     * live for the call only. Since 0.2. */
    uint32_t n_hints;
    uint32_t reserved2;
    const struct nnhal_hint *hints;
};

struct nnhal_prepare_from_cache {
    size_t size;
    /* The buffers that prepare() of the same version of this driver handed over. The
     * bytes are private to this process, aligned to 64, and valid until release(); the
     * structs are valid during the call. */
    const struct nnhal_cache *cache;
    uint64_t deadline_ns;         /* as in struct nnhal_prepare */
    const uint32_t *is_cancelled; /* as in struct nnhal_prepare; since 0.2 */
    const struct nnhal_turn *turn;
    void *account; /* as in struct nnhal_prepare; since 0.2 */
};

/* The names that this header had before 0.2. */
#define nnhal_optimise nnhal_optimize

/* Asks a driver to optimize a prepared model that is executed often. */
struct nnhal_optimize {
    size_t size;
    struct nnhal_cache *cache; /* as in struct nnhal_prepare; replaces what was cached */
    /* Set when the result is not needed any more: check it now and then, and return
     * NNHAL_GENERAL_FAILURE. Never NULL; read with __atomic_load_n. */
    const uint32_t *is_cancelled;
};

/* A validated input: data has exactly the bytes of type and dimensions. data is
 * NULL if the argument is omitted, or if it is a buffer that the driver has
 * allocated, which is then in buffer. The application may change the bytes at any
 * time, except those of a buffer. memory is what import_memory() returned for the
 * memory of data, which begins offset bytes into it. A hardware_buffer whose pixels
 * are not exactly the tensor's bytes has no data, only memory, and is passed only to
 * drivers that return something from import_memory(). */
struct nnhal_input {
    const void *data;
    uint64_t size; /* bytes */
    uint32_t n_dimensions;
    uint32_t is_omitted;
    uint32_t dimensions[NNHAL_MAX_RANK];
    const void *buffer; /* NULL: the bytes are in data */
    void *memory;
    uint64_t offset;
};

/* An output. On entry, dimensions is what model and request say (n_dimensions 0:
 * unknown rank; a dimension 0: unknown). The driver sets the true dimensions, and
 * writes to data only if they need at most capacity bytes; otherwise it sets
 * is_insufficient, continues with the other outputs, and returns
 * NNHAL_OUTPUT_INSUFFICIENT_SIZE. data is NULL if the argument is omitted, or if it
 * is a buffer that the driver has allocated. capacity bounds that buffer, too; where
 * its shape is open, the host raises capacity and executes once more. memory and
 * offset are as in struct nnhal_input. */
struct nnhal_output {
    void *data;
    uint64_t capacity; /* bytes */
    uint32_t n_dimensions;
    uint32_t is_omitted;
    uint32_t is_insufficient;
    uint32_t dimensions[NNHAL_MAX_RANK];
    void *buffer; /* NULL: the bytes go to data */
    void *memory;
    uint64_t offset;
};

struct nnhal_execution {
    size_t size;
    uint32_t n_inputs;
    uint32_t n_outputs;
    const struct nnhal_input *inputs;
    struct nnhal_output *outputs;
    uint64_t deadline_ns;     /* CLOCK_MONOTONIC, NNHAL_NO_TIME: none */
    uint64_t loop_timeout_ns; /* for each WHILE */
    uint32_t measure;
    /* Access to the arguments may block for ever: one is in a file of a file system
     * that the client may serve. Only the calling thread may touch them then, no
     * thread that other executions need. */
    uint32_t may_stall;
    /* Set by the driver if measure is set, else left NNHAL_NO_TIME. The host accepts
     * plausible values: device within driver, driver within the call. */
    struct nnhal_timing timing;
    /* Set by the host when the result is not needed any more (the client died): a
     * long execution checks it now and then, and returns NNHAL_GENERAL_FAILURE.
     * Never NULL; read with __atomic_load_n. */
    const uint32_t *is_cancelled;
    /* Not NULL while steps are measured: called after each step, on the thread of execute().
     * A driver without steps never calls it. Since 0.2. */
    nnhal_step_fn report_step;
    void *report_ctx;
    const struct nnhal_turn *turn; /* NULL: there is one user. Since 0.2 */
    /* Attributes of the execution, as in struct nnhal_prepare. Since 0.2. */
    uint32_t n_hints;
    uint32_t reserved;
    const struct nnhal_hint *hints;
};

/* -- fenced executions -------------------------------------------------------
 *
 * A fenced execution waits for fences, computes, and signals a fence of its own. A driver needs
 * no code for it: the host waits, calls execute() and signals. With execute_fenced() a driver
 * takes the execution into a queue of its device at once and waits there, so that chained
 * executions follow each other without the host in between (doc/driver/fences.md).
 *
 * A fence is a descriptor that is only polled, never read or written: no event: not yet; POLLERR,
 * or POLLHUP without POLLIN: what it stands for has failed; POLLIN: it went well. Fences of this
 * project and sync_file descriptors of the kernel both obey this.
 *
 *     host                                  driver
 *     execute_fenced(fenced) -------------> queues it, returns NNHAL_NONE
 *                                           waits for all fences, computes
 *     checks, signals the fence <---------- services->end_fenced(id, status)
 *
 * Ownership: fenced, the execution, its arguments and the fences are the host's, and stay as they
 * are, mapped and open, from the call until end_fenced() is called. Then they are gone.
 * Order: executions are handed over in the order in which a client launched them. A device may
 * compute them in another one; an execution whose fences are active must not delay the rest.
 * Failure: if a fence ends in error, the driver computes nothing and ends the execution with
 * NNHAL_GENERAL_FAILURE. What waits for the execution's own fence fails by that.
 * Cancellation: when the deadline passes, also during the wait, or the client is gone, the host
 * sets is_cancelled of the execution, lets its fence end in error, and calls cancel_fenced(), which
 * wakes the driver. The driver still calls end_fenced(), soon: in a service that has waited for it
 * for 10 s (NNHAL_OVERDUE_MS), the process ends. In an application the session's end waits.
 * Not handed over, but executed with execute() when the fences have signalled: executions with
 * arguments in buffers of allocate_buffer() or allocate(), in files that may stall, in dma-bufs
 * for which import_memory() returned nothing, and with a time limit from the end of the fences. */

struct nnhal_fenced {
    size_t size;
    uint64_t id; /* never 0, never used twice */
    /* As for execute(), except that all shapes are known, that report_step is NULL, and that a
     * turn's enter() and leave() are called around the computation by the thread that makes it.
     * timing.time_in_driver_ns counts from the moment in which the last fence had signalled. */
    struct nnhal_execution *execution;
    const int32_t *fences;
    uint32_t n_fences; /* at most NNHAL_MAX_FENCES; those that had signalled are left out */
    uint32_t reserved;
};

/* A use of a buffer: as an input or an output of a prepared model, which may be
 * released while the buffer lives. */
struct nnhal_driver_role {
    void *prepared;
    uint32_t is_output;
    uint32_t index;
    float frequency; /* how often it is used so: above 0, at most 1 */
    uint32_t reserved;
};

/* A validated description of a buffer to be allocated; valid during the call. */
struct nnhal_allocate {
    size_t size;
    /* Type, scale and zero point of all roles, and the dimensions on which they agree;
     * 0 (rank and dimension) where they leave them open. */
    const struct nnhal_operand *operand;
    uint32_t n_roles;
    const struct nnhal_driver_role *roles;
};

/* -- bursts ----------------------------------------------------------------
 *
 * A burst is a sequence of executions of one prepared model whose requests come
 * through a queue in shared memory (doc/driver/burst.md). A driver needs no code for
 * it: the host calls execute(). A driver that can do better fills an executor in
 * open_executor(), which then executes the requests of this burst alone. Its
 * callbacks are called one at a time, on the burst's thread; remove_memory() and
 * close() on any thread. */

#define NNHAL_BURST_MAX_KEYS 1024
#define NNHAL_BURST_NO_KEY   UINT32_MAX

/* A memory of the burst, for an executor that keeps state for each memory (such as
 * the mapping of an IOMMU). It stays mapped at data until remove_memory(). For a
 * hardware buffer, data is the beginning of the pixels; a buffer whose pixels are
 * not a tensor's bytes gets no key. */
struct nnhal_burst_memory {
    size_t size;
    uint32_t key; /* below the executor's n_keys; free until now */
    uint32_t is_writable;
    void *data;
    uint64_t n_bytes;
};

/* The place of an argument: the memory of this key, and the offset in bytes. An
 * argument has no key (NNHAL_BURST_NO_KEY) if it is omitted, in a buffer, in pixels
 * without a view, or if the request uses more memories than there are keys. The
 * pointers of the execution are valid in every case. */
struct nnhal_burst_place {
    uint32_t key;
    uint32_t reserved;
    uint64_t offset;
};

struct nnhal_burst_request {
    size_t size;
    struct nnhal_execution *execution;
    const struct nnhal_burst_place *inputs; /* as many as the execution has */
    const struct nnhal_burst_place *outputs;
};

/* The host's side of a burst, for an executor that serves it itself. Both functions
 * return 1 (a request), 0 (no request) or -1: the burst ends, serve() must return. */
struct nnhal_burst_channel {
    size_t size;
    void *host;
    /* Waits until a request has come or the deadline (CLOCK_MONOTONIC, NNHAL_NO_TIME:
     * none) has passed; a deadline of 0 only polls. */
    int32_t (*wait)(void *host, uint64_t deadline_ns);
    /* Takes the next request, checks it, calls execute() if it is valid, and sends the
     * result. Never waits for a request. */
    int32_t (*answer)(void *host,
                      uint32_t (*execute)(void *ctx, const struct nnhal_burst_request *request),
                      void *ctx);
};

/* Filled by open_executor(). */
struct nnhal_burst_executor {
    size_t size; /* the host's */
    void *ctx;
    /* How many memories it keeps state for at a time, at most NNHAL_BURST_MAX_KEYS; 0:
     * none. If a burst uses more, the least recently used one is removed. */
    uint32_t n_keys;
    uint32_t reserved;
    uint32_t (*add_memory)(void *ctx, const struct nnhal_burst_memory *memory);
    void (*remove_memory)(void *ctx, uint32_t key);
    uint32_t (*execute)(void *ctx, const struct nnhal_burst_request *request);
    /* NULL: the host waits for requests. Otherwise called once, on the burst's thread.
     * If it returns early, the host answers further requests through execute(). */
    void (*serve)(void *ctx, const struct nnhal_burst_channel *channel);
    void (*close)(void *ctx); /* after all memories were removed */
};

struct nnhal_driver {
    size_t size;
    uint32_t abi;        /* NNHAL_DRIVER_ABI */
    uint32_t type;       /* enum nnhal_device_type */
    const char *name;    /* [a-z0-9_.-]+, at most NNHAL_MAX_NAME_BYTES */
    const char *version; /* printable ASCII; must change with behavior and with cache contents */
    int64_t feature_level;
    const struct nnhal_capabilities *capabilities;
    uint32_t n_extensions;
    uint32_t reserved;
    const struct nnhal_extension *extensions;

    /* Called once per process, first. In the sandbox already: what the driver needs beyond
     * libraries is declared in the file beside the module (doc/driver/sandbox.md). */
    uint32_t (*open)(const struct nnhal_driver_services *services, void **ret_device);
    void (*close)(void *device);

    /* Sets supported[i] = 1 for each operation of the main subgraph that prepare()
     * accepts; IF and WHILE include the subgraphs that they reach. Of the others it may say why
     * with services->refuse(). Operations that no execution can compute, by the shapes and small
     * constants that are known, the host refuses afterwards: the driver need not look for them. */
    uint32_t (*get_supported_operations)(void *device, const struct nnhal_driver_model *model,
                                         uint8_t *supported);
    uint32_t (*prepare)(void *device, const struct nnhal_prepare *prepare, void **ret_prepared);
    void (*release)(void *prepared);

    /* Executes on the calling thread and the driver's own threads, to the end. */
    uint32_t (*execute)(void *prepared, struct nnhal_execution *execution);

    /* Compilation cache: the number of files of a model, at most
     * NNHAL_MAX_CACHE_FILES of each kind. All 0 and NULL: there is no cache.
     * prepare_from_cache() makes what prepare() made, without the model and its
     * pools. If it cannot use the buffers (for example on another processor), it
     * returns NNHAL_GENERAL_FAILURE, and prepare() follows. */
    uint32_t n_model_cache_files;
    uint32_t n_data_cache_files;
    uint32_t (*prepare_from_cache)(void *device, const struct nnhal_prepare_from_cache *prepare,
                                   void **ret_prepared);

    /* Memory domains: buffers in the device, in a layout of its own. All NULL: the host
     * holds buffers itself, as plain memory. allocate_buffer() may take a buffer, leave
     * it to the host (NNHAL_NONE and NULL), or refuse it (NNHAL_GENERAL_FAILURE), for
     * example because of an open shape or its size. The contents are undefined at first;
     * a buffer is read only after it was written. Outside the device a value is dense,
     * the last dimension running fastest: copy_to() gives out the value as it was last
     * written, which has n_bytes; copy_from() takes a value of these dimensions, all
     * known. After a failed copy_from() or execution the buffer is not read. The host
     * admits several readers or one writer. */
    uint32_t (*allocate_buffer)(void *device, const struct nnhal_allocate *allocate,
                                void **ret_buffer);
    void (*release_buffer)(void *buffer);
    uint32_t (*copy_to)(void *buffer, void *data, uint64_t n_bytes);
    uint32_t (*copy_from)(void *buffer, uint32_t n_dimensions, const uint32_t *dimensions,
                          const void *data, uint64_t n_bytes);

    /* Memories: called once for each memory that a client registers, before it is used.
     * NNHAL_NONE: this driver can decode it. The driver may return an object of its own
     * (such as an imported dma-buf) in *ret_memory, which then accompanies every value
     * in that memory until release_memory(): it takes the strides of images as they are.
     * NULL in *ret_memory: the mapped view is enough, and executions have copies of images
     * with gaps between rows. Any other status: operations with constants in the memory
     * are not supported, and preparing and executing with it end with GENERAL_FAILURE and
     * this call's explanation. NULL: every memory that a CPU reads is accepted. */
    uint32_t (*import_memory)(void *device, const struct nnhal_memory_handle *handle,
                              void **ret_memory);
    void (*release_memory)(void *memory);

    /* Multi-stage compilation: optimizes a prepared model while it is executed, on a thread of the
     * lowest priority, one call at a time. Later executions use the result and give the same bits
     * as earlier ones. NNHAL_GENERAL_FAILURE: the model stays as it is. NULL: prepare() does
     * everything. */
    union {
        uint32_t (*optimize)(void *prepared, const struct nnhal_optimize *optimize);
        uint32_t (*optimise)(void *prepared,
                             const struct nnhal_optimize *optimize); /* before 0.2 */
    };

    /* Bursts: each is called once for every burst. Between the two calls the driver stays
     * ready: it keeps memory, clocks and the like. burst_opened() returns how many CPUs
     * an execution keeps busy, 0: not known. A client that waits for a result spins
     * only if that many CPUs stay free. NULL: nothing is done. */
    uint32_t (*burst_opened)(void *prepared);
    void (*burst_closed)(void *prepared);
    /* May fill executor, which is zero except for its size, at least with execute(). If
     * it does not, execute() of this table is called. After a failure there is no
     * burst, and clients execute without one. */
    uint32_t (*open_executor)(void *prepared, struct nnhal_burst_executor *executor);

    /* Not called since 0.2: a host keeps models only by the token of an application. */
    uint64_t (*get_configuration)(void *device);

    /* Memory: 1 if the driver asks services->charge() for all that it takes for a client, before it
     * takes it. 0: the host charges what such a driver is likely to take, from the sizes of
     * constants, operands and values in between. Since 0.2. */
    uint32_t charges_memory;
    uint32_t reserved2;

    /* Fenced executions: both or none. execute_fenced() takes one into the device's queue, and does
     * not wait. Any status but NNHAL_NONE: it was not taken, and end_fenced() is not called.
     * cancel_fenced() says that is_cancelled of an execution was set: a thread that waits for its
     * fences looks. It may come before execute_fenced() returns, and after end_fenced(), which is no
     * error; it does not wait. Since 0.2. */
    uint32_t (*execute_fenced)(void *prepared, struct nnhal_fenced *fenced);
    void (*cancel_fenced)(void *prepared, uint64_t id);
};

/* The only exported symbol. configuration is the text behind ':' in the name of the
 * driver ("sample:accept.conf"), NULL if there is none; it stays valid until
 * open(), which the host calls next, with no other call in between. The table stays
 * valid for the life of the process. NULL: the driver cannot be used; a failing open()
 * is better, because it can explain the failure. */
const struct nnhal_driver *nnhal_driver_main(const char *configuration);

#ifdef __cplusplus
}
#endif

#endif
