/* SPDX-License-Identifier: Apache-2.0 */
/* ext.h - extensions of libneuralnetworks.so to Android's API
 *
 * They tell where a device runs, why a call failed, and what was copied, and they choose
 * deferred compilation. The ANeuralNetworks functions work as on Android. */
#ifndef NNHAL_EXT_H
#define NNHAL_EXT_H

#include <android/NeuralNetworksTypes.h>
#include <android/hardware_buffer.h>
#include <nnhal/step.h>
#include <nnhal/types.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a driver is reached. */
enum nnhal_way {
    NNHAL_WAY_EMBEDDED = 0, /* in this process */
    NNHAL_WAY_PRIVATE = 1,  /* in a child that serves this process alone */
    NNHAL_WAY_SERVICE = 2,  /* in a service with many clients */
};

/* Set size before the call: members beyond it are not touched. Strings live
 * as long as the process. */
struct nnhal_where {
    size_t size;
    uint32_t way;         /* enum nnhal_way */
    int32_t pid;          /* of the process that the driver runs in; 0 if it is gone */
    const char *way_name; /* "embedded", "private", "service" */
    const char *path;     /* driver or socket; "" for a driver that is linked in */
};

/* nnhal_device_get_where() - how and where a device runs.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_DATA if size
 * is too small for way and pid. */
int nnhal_device_get_where(const ANeuralNetworksDevice *device, struct nnhal_where *where);

/* nnhal_compilation_get_device() - the device that a finished compilation is for; of several that
 * compute it in parts, the one with the most work (see nnhal_compilation_get_plan()).
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE unless
 * finish() succeeded. */
int nnhal_compilation_get_device(const ANeuralNetworksCompilation *compilation,
                                 ANeuralNetworksDevice **device);

/* nnhal_execution_get_device() - the device that computed the last computation, which succeeded:
 * the compilation's, or, where that failed and the library had chosen it, nnapi-reference
 * (NNHAL_FALLBACK); of several parts, nnapi-reference if it computed one.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE before a computation has
 * succeeded, and while one is under way. */
int nnhal_execution_get_device(const ANeuralNetworksExecution *execution,
                               ANeuralNetworksDevice **device);

/* A part of a computation: what one device was to compute. Set size before the call: members beyond
 * it are not touched. why lives until the execution computes again or is freed. */
struct nnhal_part_info {
    size_t size;
    uint32_t n_parts; /* of the computation; those of one compilation are the same each time */
    uint32_t reserved;
    ANeuralNetworksDevice *device;  /* that computed the part */
    ANeuralNetworksDevice *planned; /* that was to: another one if it failed */
    const char *why;                /* a sentence, why it failed; "" if it did not */
};

/* nnhal_execution_get_part() - who computed a part of the last computation, which succeeded, and
 * why the device that was chosen for it did not. part counts from 0.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE before a computation has
 * succeeded, and while one is under way; ANEURALNETWORKS_BAD_DATA: no such part, or size is too
 * small for n_parts. */
int nnhal_execution_get_part(const ANeuralNetworksExecution *execution, uint32_t part,
                             struct nnhal_part_info *info);

/* What this process has asked a device for so far, in computations. Set size before the call:
 * members beyond it are not touched. */
struct nnhal_device_counts {
    size_t size;
    uint64_t n_computed; /* that succeeded, n_helped among them */
    uint64_t n_failed;   /* outputs that were too small are no failure */
    uint64_t n_helped;   /* computed in place of a device that failed */
    uint64_t n_short;    /* that ended for an output that was too small */
};

/* nnhal_device_get_counts() - any thread.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_DATA if size is too small for
 * n_computed. */
int nnhal_device_get_counts(const ANeuralNetworksDevice *device,
                            struct nnhal_device_counts *counts);

/* Where a figure of a device comes from. */
enum nnhal_figure_source {
    NNHAL_FIGURE_CONSTANT = 0, /* it declares nothing: what is usual for devices of its type */
    NNHAL_FIGURE_DECLARED = 1, /* its driver says so */
    NNHAL_FIGURE_MEASURED = 2, /* nnhal_device_calibrate(), in this process or before */
};

/* nnhal_device_calibrate() - measures what the device costs, with small models that it computes
 * alone: a second or so, 15 s at most. The figures are kept for this user, in the state folder
 * (NNHAL_STATE_PATH), and decide from then on which device computes what, as long as the driver's
 * version, the way of reaching it and the CPU are the same. Other work on the machine distorts them.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_OP_FAILED: they cannot be kept, and
 * are used in this process alone; what the device answers; ANEURALNETWORKS_OUT_OF_MEMORY. */
int nnhal_device_calibrate(ANeuralNetworksDevice *device);

/* A figure that was measured. Set size before the call: members beyond it are not touched. Values are
 * nanoseconds ("launch": of a call; "move": of getting at 1 MiB), or millionths of the time that
 * plain C on one thread is counted with ("conv-float32": the smaller, the faster). */
struct nnhal_figure {
    size_t size;
    uint64_t value;   /* 0: none: the device does not take that, failed or was too slow, or
                       * took too little time to be told from the call */
    const char *name; /* lives as long as the process */
};

/* nnhal_device_get_figure() - index counts from 0.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE: the device was not
 * measured; ANEURALNETWORKS_BAD_DATA: no such figure, or size is too small for value. */
int nnhal_device_get_figure(const ANeuralNetworksDevice *device, uint32_t index,
                            struct nnhal_figure *figure);

/* How the cache of ANeuralNetworksCompilation_setCaching() was used. */
enum nnhal_cache_outcome {
    NNHAL_CACHE_NONE = 0,     /* no cache was asked for */
    NNHAL_CACHE_HIT = 1,      /* prepared from the cache, nothing was compiled */
    NNHAL_CACHE_COMPILED = 2, /* compiled, and kept for the next time (in the background) */
    NNHAL_CACHE_UNCACHED = 3, /* compiled, and not kept */
};

/* How far a device has taken a compilation. All stages give the same bits. */
enum nnhal_stage {
    NNHAL_STAGE_QUICK = 0, /* optimization is left for later */
    NNHAL_STAGE_WHOLE = 1, /* everything that finish() does is done */
    NNHAL_STAGE_OPTIMIZED =
        2, /* from a cache: optimized in the background, after many executions */
    NNHAL_STAGE_OPTIMISED = NNHAL_STAGE_OPTIMIZED, /* its name before 0.2 */
};

/* Set size before the call: members beyond it are not touched. why is a
 * sentence, "" for NNHAL_CACHE_NONE; it lives as long as the compilation. */
struct nnhal_cache_info {
    size_t size;
    uint32_t outcome; /* enum nnhal_cache_outcome */
    uint32_t stage;   /* enum nnhal_stage, when finish() returned */
    const char *why;
};

/* nnhal_compilation_set_deferred() - whether the model should be ready soon rather than fast. Work
 * that only makes executions faster is then done in the background, once the model has been
 * executed often. The result takes effect between two executions, and replaces what a cache holds.
 * Without this call only compilations for low power that have no cache are deferred. A device
 * without stages does everything at once. Call it before finish().
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE after finish(). */
int nnhal_compilation_set_deferred(ANeuralNetworksCompilation *compilation, int is_deferred);

/* nnhal_compilation_get_cache_info() - whether finish() used the cache, and if not, why.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE unless
 * finish() succeeded; ANEURALNETWORKS_BAD_DATA if size is too small for outcome. */
int nnhal_compilation_get_cache_info(const ANeuralNetworksCompilation *compilation,
                                     struct nnhal_cache_info *info);

/* What a device said of an operation. */
enum nnhal_verdict {
    NNHAL_VERDICT_UNASKED = 0,     /* another device took the whole model, and costs no more */
    NNHAL_VERDICT_TAKEN = 1,       /* it computes this one, or could */
    NNHAL_VERDICT_UNSUPPORTED = 2, /* it says that it cannot */
    NNHAL_VERDICT_TOO_OLD = 3,     /* it, or the model as a whole, is newer than the device */
    NNHAL_VERDICT_UNREACHED = 4,   /* it did not answer: see why */
    NNHAL_VERDICT_REFUSED = 5,     /* it said that it can, and failed to prepare it: see why */
};

/* Operations that one device computes in one call; or an IF or WHILE that the library runs itself, whose
 * branches devices share: then device has most of its work. Times are what was expected. */
struct nnhal_plan_part {
    ANeuralNetworksDevice *device;
    uint32_t wave; /* parts of one wave need nothing of each other, only of earlier ones */
    uint32_t n_operations;
    const uint32_t *operations; /* as the application added them */
    uint64_t compute_ns;
    uint64_t launch_ns;
    uint64_t move_ns;
    uint64_t move_bytes; /* that it reads of other parts, but for what stays in its device */
};

struct nnhal_plan_device {
    ANeuralNetworksDevice *device;
    const uint8_t *verdicts; /* enum nnhal_verdict, by operation as the application added them */
    const char *why;         /* the last sentence about what it refused; "": none */
    uint32_t source;         /* enum nnhal_figure_source: of what it was expected to cost */
    uint32_t reserved;
};

/* Set size before the call: members beyond it are not touched. What is pointed to lives as long as
 * the compilation. */
struct nnhal_plan {
    size_t size;
    uint32_t n_parts;
    uint32_t n_devices; /* that were considered */
    const struct nnhal_plan_part *parts;
    const struct nnhal_plan_device *devices;
    uint32_t n_operations;
    uint32_t n_before;    /* parts before those that did not pay were merged; n_parts at least */
    uint64_t expected_ns; /* the parts' times together, of those that different processors compute
                           * side by side the longest; also where low power decided */
};

/* nnhal_compilation_get_plan() - which devices compute which parts of the model, and why. What they
 * take in fact: nnhal_compilation_get_cost().
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE unless finish() succeeded;
 * ANEURALNETWORKS_BAD_DATA if size is too small for devices; ANEURALNETWORKS_OUT_OF_MEMORY. */
int nnhal_compilation_get_plan(const ANeuralNetworksCompilation *compilation,
                               struct nnhal_plan *plan);

/* A value that one part of the plan reads of another. Set size before the call: members beyond it are
 * not touched. */
struct nnhal_part_move {
    size_t size;
    uint32_t n_moves;     /* of the plan; 0 of a model that one device computes */
    uint32_t from;        /* the part that makes it */
    uint32_t to;          /* the part that reads it */
    uint32_t is_resident; /* 1: it stays in memory of the device of both */
    uint64_t n_bytes;     /* at most; 0: an execution alone can tell, or it is resident */
};

/* nnhal_compilation_get_move() - how the parts of the plan hang together; those that read the same
 * value have a move each. move counts from 0.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE unless finish() succeeded;
 * ANEURALNETWORKS_BAD_DATA: no such move, or size is too small for to;
 * ANEURALNETWORKS_OUT_OF_MEMORY. */
int nnhal_compilation_get_move(const ANeuralNetworksCompilation *compilation, uint32_t move,
                               struct nnhal_part_move *info);

/* What a device said of an operation. why is a sentence of its driver or of the library, in one line;
 * "": there is none; where the device failed (UNREACHED, REFUSED), its last one. It lives as long as the
 * compilation. Set size before the call: members beyond it are not touched. */
struct nnhal_operation_verdict {
    size_t size;
    uint32_t verdict; /* enum nnhal_verdict */
    uint32_t reserved;
    const char *why;
};

/* nnhal_compilation_get_verdict() - what a device of the plan said of an operation, which counts as the
 * application added it, and why it does not compute it.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE unless finish() succeeded;
 * ANEURALNETWORKS_BAD_DATA: the device was not considered, there is no such operation, or size is too
 * small for verdict; ANEURALNETWORKS_OUT_OF_MEMORY. */
int nnhal_compilation_get_verdict(const ANeuralNetworksCompilation *compilation,
                                  const ANeuralNetworksDevice *device, uint32_t operation,
                                  struct nnhal_operation_verdict *verdict);

/* What computations of a part have taken: medians of the last ones, 15 at most. Set size before the
 * call: members beyond it are not touched. */
struct nnhal_part_cost {
    size_t size;
    uint64_t n_computations; /* that were measured; 0: none yet, and all that follows is 0 */
    uint64_t total_ns;   /* from the call to its end, as this process saw it; of parts that start
                              * each other by fences from when it can begin, as the driver says */
    uint64_t compute_ns; /* on the device, which reads its inputs where they are; 0: it does
                              * not tell */
    uint64_t move_ns;    /* in the driver beside that: what it copies to and from its device */
    uint64_t launch_ns;  /* until the driver was reached, and from its end */
};

/* nnhal_compilation_get_cost() - what a part of the plan takes, beside what was expected of it. Each
 * computation of a model in parts is measured; where devices start each other by fences those parts are of
 * which drivers tell how long they took. Of a model that one device computes those computations are which
 * have ANeuralNetworksExecution_setMeasureTiming() and come after nnhal_compilation_get_plan(). part counts
 * from 0. Any thread.
 * Returns: ANEURALNETWORKS_UNEXPECTED_NULL; ANEURALNETWORKS_BAD_STATE unless finish() succeeded;
 * ANEURALNETWORKS_BAD_DATA: no such part, or size is too small for total_ns;
 * ANEURALNETWORKS_OUT_OF_MEMORY. */
int nnhal_compilation_get_cost(const ANeuralNetworksCompilation *compilation, uint32_t part,
                               struct nnhal_part_cost *cost);

/* nnhal_*_get_error() - the sentence that explains the last failure of a call on
 * an object: what was wrong and what would be right. It is copied to text, cut
 * to n_bytes - 1 bytes, and NUL-terminated. Any thread.
 * Returns: the length of the whole sentence; 0 if nothing failed yet, or for NULL. */
size_t nnhal_model_get_error(const ANeuralNetworksModel *model, char *text, size_t n_bytes);
size_t nnhal_compilation_get_error(const ANeuralNetworksCompilation *compilation, char *text,
                                   size_t n_bytes);
size_t nnhal_execution_get_error(const ANeuralNetworksExecution *execution, char *text,
                                 size_t n_bytes);

/* nnhal_get_last_error() - the same for the last call that failed on this thread,
 * also if it failed without an object. */
size_t nnhal_get_last_error(char *text, size_t n_bytes);

/* nnhal_get_left_out() - one sentence about each driver and service that was found and is no device,
 * with the reason, from index 0 on: it cannot be loaded, does not answer, belongs to another user, has
 * a name that another device has, or a service offers it. Copies up to n_bytes - 1 bytes, and
 * NUL-terminated. Any thread; the first call may list the devices.
 * Returns: the length of the whole sentence; 0: there are no more. */
size_t nnhal_get_left_out(uint32_t index, char *text, size_t n_bytes);

/* nnhal_get_copied_bytes() - bytes of inputs and outputs that the library has
 * copied for this process so far: arguments given by pointer, memories that
 * ANeuralNetworksMemory_copy() copied outside of devices, and the pixels of hardware
 * buffers with gaps between their rows, where the driver does not take them as they
 * are. All other arguments in memories are used in place. */
uint64_t nnhal_get_copied_bytes(void);

/* nnhal_get_imported_memories() - memories that this process has registered with
 * devices so far. Each is sent to a device and mapped there once, and may then be
 * used any number of times. */
uint64_t nnhal_get_imported_memories(void);

/* nnhal_set_step_listener() - on_step is called with ctx after each step of the executions that
 * drivers in this process compute, on the thread that computes; NULL: no more. Drivers in other
 * processes report nothing, nor do those without steps. Call it while nothing is executed. */
void nnhal_set_step_listener(nnhal_step_fn on_step, void *ctx);

/* -- hardware buffers ------------------------------------------------------------ */

/* The memory behind a hardware buffer. */
enum nnhal_backing {
    NNHAL_BACKING_DMA_HEAP = 0, /* a dma-buf of /dev/dma_heap/system */
    NNHAL_BACKING_UDMABUF = 1,  /* a dma-buf of /dev/udmabuf */
    NNHAL_BACKING_MEMFD = 2,    /* a sealed memfd, on a machine without dma-bufs */
    NNHAL_BACKING_IMPORTED = 3, /* imported, or received from another process */
};

/* Set size before the call: members beyond it are not touched. fd and layout belong
 * to the buffer and live as long as it does. */
struct nnhal_hardware_buffer_info {
    size_t size;
    uint32_t backing; /* enum nnhal_backing */
    int32_t fd;
    const char *backing_name; /* "dma_heap", "udmabuf", "memfd", "imported" */
    const struct nnhal_hardware_buffer *layout;
};

/* nnhal_hardware_buffer_get_info() - properties of a buffer that Android's API lacks.
 * Returns: 0; -EINVAL (a NULL, or size is too small for backing). */
int nnhal_hardware_buffer_get_info(const AHardwareBuffer *buffer,
                                   struct nnhal_hardware_buffer_info *info);

/* nnhal_hardware_buffer_import() - makes a buffer from a dma-buf of a camera, a
 * display or another process, or from a memfd that is sealed against shrinking.
 * Consumes fd, also on failure. layout is borrowed for the call; its planes, stride
 * and size must lie within fd. Pixels in an order of the device's own (a modifier
 * other than 0) can be used by drivers that know it, and by no CPU.
 * Returns: 0; -EINVAL (a NULL; fd is not a memory, or contradicts layout), -EPERM
 * (it could be made smaller), -ENOMEM. */
int nnhal_hardware_buffer_import(int fd, const struct nnhal_hardware_buffer *layout,
                                 AHardwareBuffer **buffer);

/* nnhal_get_result_name() - "BAD_DATA" for ANEURALNETWORKS_BAD_DATA; never NULL. */
const char *nnhal_get_result_name(int result);

#ifdef __cplusplus
}
#endif

#endif
