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
 * Threads: every callback may be called from any number of threads at a time,
 * on the same object too. The host calls release() of an object only when no
 * call on it is in progress. Threads of a driver's own that touch memories leave
 * SIGBUS unblocked: with it the host notices a file that became smaller.
 * Results: callbacks return an enum nnhal_error_status. A driver may explain a
 * failure with services->explain(), just before it returns it. The host checks
 * what a driver answers: a status that a callback cannot have, a shape that
 * contradicts model and request, an output larger than its memory end the call
 * with NNHAL_GENERAL_FAILURE, and the driver is reported as defective.
 * Tables begin with their size, so that either side may know more members
 * than the other: members beyond the other's size count as NULL or 0. */
#ifndef NNHAL_DRIVER_H
#define NNHAL_DRIVER_H

#include <nnhal/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NNHAL_DRIVER_ABI 1

enum nnhal_log_level {
    NNHAL_LOG_ERROR = 0,
    NNHAL_LOG_WARNING = 1,
    NNHAL_LOG_INFO = 2,
    NNHAL_LOG_DEBUG = 3,
};

/* What the host gives a driver: valid from open() to close(). */
struct nnhal_driver_services {
    size_t size;
    void *ctx;
    /* One line for NNHAL_LOG=driver:LEVEL; text has no newline. */
    void (*log)(void *ctx, uint32_t level, const char *text);
    /* The sentence that goes with the failure that this thread returns next. */
    void (*explain)(void *ctx, const char *text);
    /* As malloc, aligned to 64 bytes, and free. NULL when memory is short. */
    void *(*allocate)(void *ctx, size_t n_bytes);
    void (*release)(void *ctx, void *block);
    /* CPUs that this process may use, at least 1. */
    uint32_t n_cpus;
};

/* A memory as it is: for a driver whose device reads descriptors, dma-bufs above
 * all, by itself. The struct is for the call; fd, data and buffer are the host's
 * and stay until release_memory(). */
struct nnhal_memory_handle {
    size_t size;
    uint32_t kind; /* enum nnhal_memory_kind */
    int32_t fd;
    /* The mapped view: n_bytes, which is all of it. NULL if no CPU can read it. Of
     * an mmap_fd it begins at some offset in fd. */
    void *data;
    uint64_t n_bytes;
    /* NULL unless kind is one of a hardware buffer. Format, sizes, stride and
     * planes agree with what fd is. */
    const struct nnhal_hardware_buffer *buffer;
    uint32_t is_writable;
    uint32_t reserved;
};

/* A pool of the model, mapped; readable while the prepared model lives. memory is
 * what import_memory() made of it. */
struct nnhal_mapped_pool {
    const uint8_t *data;
    uint64_t size;
    void *memory;
};

/* A validated model. The model, its arrays and operand_values live for the
 * call only; the pools for as long as the prepared model. The bytes of a pool
 * may be changed by the application at any time: whatever decides an address
 * or a branch is copied first. */
struct nnhal_driver_model {
    const struct nnhal_model *model;
    uint32_t n_pools;
    const struct nnhal_mapped_pool *pools;
};

/* What a driver keeps of a compiled model, to be prepared from it the next
 * time: one buffer for each file that the table announces. */
struct nnhal_cache_buffer {
    const void *bytes;
    uint64_t size;
};

/* Model cache: all that decides an address or a branch. The host makes sure
 * that it comes back exactly as it was handed over, or not at all. Data cache:
 * the rest, such as packed weights; damage is found, malice is not: whatever it
 * holds must not do worse than wrong results. */
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
    uint64_t deadline_ns; /* CLOCK_MONOTONIC, NNHAL_NO_TIME: none; a driver may give up then */
    /* NULL: nothing is to be kept. Else all buffers are empty, and a driver that
     * succeeds sets them to memory of its own that stays as it is until
     * release() or the next optimize() that succeeds; or it leaves all of them empty: this model
     * is not kept. */
    struct nnhal_cache *cache;
    /* Somebody waits for this model, or will hardly run it: what only makes executions faster is
     * left for optimize(). A driver without one need not look. */
    uint32_t is_quick;
    uint32_t reserved;
};

struct nnhal_prepare_from_cache {
    size_t size;
    /* What prepare() of the same version of this driver has handed over. The
     * bytes are private to this process, each buffer aligned to 64, and stay
     * until release(); the structs are for the call. */
    const struct nnhal_cache *cache;
    uint64_t deadline_ns; /* as in struct nnhal_prepare */
};

/* The names that this header had before 0.2. */
#define nnhal_optimise nnhal_optimize

/* A prepared model that runs often is to be made as good as it can be. */
struct nnhal_optimize {
    size_t size;
    struct nnhal_cache *cache; /* as in struct nnhal_prepare, to replace what was kept */
    /* Set when nobody wants it any more: look now and then, and return NNHAL_GENERAL_FAILURE.
     * Never NULL; read with __atomic_load_n. */
    const uint32_t *is_cancelled;
};

/* An input, validated: data holds exactly the bytes of type and dimensions.
 * data is NULL if the argument is omitted, or lies in a buffer that the driver
 * has allocated: that one is buffer then. The application may change the bytes
 * at any time, other than a buffer's. memory is what import_memory() made of the
 * memory that data lies in, offset bytes from its beginning. A hardware_buffer whose
 * pixels are not exactly the tensor's bytes has no data, only memory, and reaches
 * only drivers that keep something in import_memory(). */
struct nnhal_input {
    const void *data;
    uint64_t size; /* bytes */
    uint32_t n_dimensions;
    uint32_t is_omitted;
    uint32_t dimensions[NNHAL_MAX_RANK];
    const void *buffer; /* NULL: data has the bytes */
    void *memory;
    uint64_t offset;
};

/* An output. On entry dimensions is what model and request say (n_dimensions
 * 0: unknown rank; 0: unknown). The driver sets the true dimensions, and
 * writes to data only if they need at most capacity bytes; otherwise it sets
 * is_insufficient, goes on with the other outputs, and returns
 * NNHAL_OUTPUT_INSUFFICIENT_SIZE. data is NULL if the argument is omitted, or goes
 * to a buffer that the driver has allocated: capacity bounds that one, too, and
 * where its shape is open the host raises capacity and executes once more.
 * memory and offset are as in struct nnhal_input. */
struct nnhal_output {
    void *data;
    uint64_t capacity; /* bytes */
    uint32_t n_dimensions;
    uint32_t is_omitted;
    uint32_t is_insufficient;
    uint32_t dimensions[NNHAL_MAX_RANK];
    void *buffer; /* NULL: data has room for the bytes */
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
    /* Whoever touches the arguments may wait for ever: one lies in a file of a file
     * system that the client may serve. Only the calling thread does then, none that
     * other executions need. */
    uint32_t may_stall;
    /* Set by the driver if measure, else left NNHAL_NO_TIME. The host keeps
     * what makes sense: device within driver, driver within the call. */
    struct nnhal_timing timing;
    /* Set by the host when nobody waits for the result any more (the client
     * died): a long execution looks now and then, and returns
     * NNHAL_GENERAL_FAILURE. Never NULL; read with __atomic_load_n. */
    const uint32_t *is_cancelled;
};

/* What a buffer is to be used as: an input or an output of a prepared model,
 * which may be released while the buffer lives. */
struct nnhal_driver_role {
    void *prepared;
    uint32_t is_output;
    uint32_t index;
    float frequency; /* how likely: above 0, at most 1 */
    uint32_t reserved;
};

/* A buffer that somebody asks for: a validated description, for the call only. */
struct nnhal_allocate {
    size_t size;
    /* Type, scale and the like of all roles, and the dimensions that they agree
     * on; 0 (rank and dimension) where they leave it open. */
    const struct nnhal_operand *operand;
    uint32_t n_roles;
    const struct nnhal_driver_role *roles;
};

/* What a driver's process may do after the sandbox is closed. */
struct nnhal_sandbox {
    uint32_t n_device_nodes;
    uint32_t n_system_calls;
    const char *const *device_nodes; /* "/dev/accel/accel0": opened read and write */
    const char *const *system_calls; /* names beyond the service's own list */
};

/* -- bursts ----------------------------------------------------------------
 *
 * A burst is a sequence of executions of one prepared model whose requests come
 * through a queue in shared memory (doc/driver/burst.md). A driver that knows
 * nothing of them is executed as ever. One that wants to know more answers
 * open_executor() with the callbacks of an executor, which then executes the
 * requests of this burst alone: they are called one at a time, on the burst's
 * thread, remove_memory() and close() on any. */

#define NNHAL_BURST_MAX_KEYS 1024
#define NNHAL_BURST_NO_KEY   UINT32_MAX

/* A memory of the burst, for an executor that keeps something of its own for each
 * (the mapping of an IOMMU, say). It stays mapped at data until remove_memory(). Of
 * a hardware buffer it is where the pixels lie; one whose pixels are no tensor's
 * bytes gets no key. */
struct nnhal_burst_memory {
    size_t size;
    uint32_t key; /* below the executor's n_keys; free until now */
    uint32_t is_writable;
    void *data;
    uint64_t n_bytes;
};

/* Where an argument lies: in the memory of this key, from this byte on. Without
 * a key (NNHAL_BURST_NO_KEY): omitted, in a buffer, in pixels without a view, or one memory
 * more than there are keys; what the execution says is valid in every case. */
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

/* The host's side of a burst, for an executor that serves it itself. Both return
 * 1; 0 (nothing has come); -1: the burst ends, serve() must return. */
struct nnhal_burst_channel {
    size_t size;
    void *host;
    /* Until a request has come or the deadline (CLOCK_MONOTONIC, NNHAL_NO_TIME:
     * none) has passed; a deadline of 0 only looks. */
    int32_t (*wait)(void *host, uint64_t deadline_ns);
    /* Takes the next request, judges it, calls execute() for it if it is one, and
     * sends the result. Never waits for a request. */
    int32_t (*answer)(void *host,
                      uint32_t (*execute)(void *ctx, const struct nnhal_burst_request *request),
                      void *ctx);
};

/* Filled by open_executor(). */
struct nnhal_burst_executor {
    size_t size; /* the host's */
    void *ctx;
    /* Memories that it keeps something for at a time, at most NNHAL_BURST_MAX_KEYS; 0:
     * it is told of none. Where there are more, the one that was not used for
     * longest is removed first. */
    uint32_t n_keys;
    uint32_t reserved;
    uint32_t (*add_memory)(void *ctx, const struct nnhal_burst_memory *memory);
    void (*remove_memory)(void *ctx, uint32_t key);
    uint32_t (*execute)(void *ctx, const struct nnhal_burst_request *request);
    /* NULL: the host waits for requests. Else called once, on the burst's thread;
     * what it does not answer before it returns the host answers through execute(). */
    void (*serve)(void *ctx, const struct nnhal_burst_channel *channel);
    void (*close)(void *ctx); /* after all memories were removed */
};

struct nnhal_driver {
    size_t size;
    uint32_t abi;        /* NNHAL_DRIVER_ABI */
    uint32_t type;       /* enum nnhal_device_type */
    const char *name;    /* [a-z0-9_.-]+, at most NNHAL_MAX_NAME_BYTES */
    const char *version; /* changes whenever behavior or cache contents change */
    int64_t feature_level;
    const struct nnhal_capabilities *capabilities;
    uint32_t n_extensions;
    uint32_t reserved;
    const struct nnhal_extension *extensions;
    const struct nnhal_sandbox *sandbox; /* NULL: needs nothing */

    /* Once per process, before anything else; the sandbox is not closed yet. */
    uint32_t (*open)(const struct nnhal_driver_services *services, void **ret_device);
    void (*close)(void *device);

    /* supported[i] = 1 for each operation of the main subgraph that prepare()
     * will accept; IF and WHILE with all that they reach. */
    uint32_t (*get_supported_operations)(void *device, const struct nnhal_driver_model *model,
                                         uint8_t *supported);
    uint32_t (*prepare)(void *device, const struct nnhal_prepare *prepare, void **ret_prepared);
    void (*release)(void *prepared);

    /* Runs to the end on the calling thread and whatever threads the driver has. */
    uint32_t (*execute)(void *prepared, struct nnhal_execution *execution);

    /* Compilation cache: how many files a model takes, at most
     * NNHAL_MAX_CACHE_FILES of each kind. All 0 and NULL: there is none.
     * prepare_from_cache() makes what prepare() made, without the model and its
     * pools; what it cannot use (another processor, say) it answers with
     * NNHAL_GENERAL_FAILURE, and prepare() follows. */
    uint32_t n_model_cache_files;
    uint32_t n_data_cache_files;
    uint32_t (*prepare_from_cache)(void *device, const struct nnhal_prepare_from_cache *prepare,
                                   void **ret_prepared);

    /* Memory domains: buffers that live in the device, in whatever layout it
     * likes. All NULL: the host holds buffers itself, as plain memory, and the
     * driver need not know. allocate_buffer() may take a buffer; or leave it to
     * the host (NNHAL_NONE and NULL); or refuse it (NNHAL_GENERAL_FAILURE), say
     * for an open shape or for its size. Contents are undefined at first: nobody
     * reads what was not written. Outside a value is dense, the last dimension
     * running fastest: copy_to() gives out the value as it was last written,
     * which has n_bytes; copy_from() takes one of these dimensions, all known.
     * A failed copy_from() or execution leaves nothing that anybody will read.
     * The host lets in readers together, or one writer alone. */
    uint32_t (*allocate_buffer)(void *device, const struct nnhal_allocate *allocate,
                                void **ret_buffer);
    void (*release_buffer)(void *buffer);
    uint32_t (*copy_to)(void *buffer, void *data, uint64_t n_bytes);
    uint32_t (*copy_from)(void *buffer, uint32_t n_dimensions, const uint32_t *dimensions,
                          const void *data, uint64_t n_bytes);

    /* Memories: called once for each that a client makes known, before anything is
     * done with it. NNHAL_NONE: this driver can decode it. It may keep something of
     * its own (an imported dma-buf, say) in *ret_memory, which then comes with
     * whatever lies in that memory, until release_memory(). Leaving it NULL means
     * that the mapped view is all that it wants. Any other status: operations with
     * constants in it are not supported, preparing and executing with it is
     * GENERAL_FAILURE with this call's explanation. NULL: every memory that has a
     * view is taken. */
    uint32_t (*import_memory)(void *device, const struct nnhal_memory_handle *handle,
                              void **ret_memory);
    void (*release_memory)(void *memory);

    /* Multi-stage compilation: makes a prepared model better while it is executed, on a thread of
     * the lowest priority, once at a time. Executions that begin later use what was made, and give
     * the same bits as those before. NNHAL_GENERAL_FAILURE: it stays as it is. NULL: prepare() does
     * all that can be done. */
    union {
        uint32_t (*optimize)(void *prepared, const struct nnhal_optimize *optimize);
        uint32_t (*optimise)(void *prepared,
                             const struct nnhal_optimize *optimize); /* before 0.2 */
    };

    /* Bursts: between the two calls, once each for every burst, the driver stays
     * ready: memory, clocks, whatever it would else let go of. burst_opened()
     * returns how many CPUs an execution keeps busy, 0: not known; whoever waits
     * for a result spins only if it leaves as many. NULL: nothing is done. */
    uint32_t (*burst_opened)(void *prepared);
    void (*burst_closed)(void *prepared);
    /* May fill executor, which is all zero but for its size, with execute() at
     * least; or leave it: execute() of this table is called. A failure is the burst's:
     * clients then execute without one. */
    uint32_t (*open_executor)(void *prepared, struct nnhal_burst_executor *executor);

    /* Not called since 0.2: a host keeps models by the token of an application alone. */
    uint64_t (*get_configuration)(void *device);
};

/* The one exported symbol. configuration is what follows ':' in the name that
 * the driver was asked for ("sample:accept.conf"), NULL if nothing does; it
 * stays valid until open(), which the host calls next and with no other call in
 * between. The table stays valid for the life of the process. NULL: cannot be
 * used; better let open() fail, which can explain itself. */
const struct nnhal_driver *nnhal_driver_main(const char *configuration);

#ifdef __cplusplus
}
#endif

#endif
