/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - the parts of the sample driver: configuration, plan, kernels
 *
 *     sample.c   the table: what the host calls
 *     config.c   which operations, types and memories to accept
 *     plan.c     from a model to a list of steps, once, in prepare()
 *     run.c      the steps, with shapes, in execute()
 *     queue.c    a queue of executions that wait for fences
 *     keep.c     a plan as the bytes of a compilation cache, and back
 *     extension.c  an operand type and an operation of the driver's own
 *     buffers.c  buffers in a layout of the device's own, if it is told to hold any
 *
 * Copy this folder, rename it, and replace plan.c, run.c, queue.c, keep.c and
 * buffers.c by your device. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "queue.h"

#include <nnhal/driver.h>

#include <stdbool.h>
#include <stddef.h>

/* What the configuration file allows. */
struct config {
    bool accepts_add;
    bool accepts_mul;
    bool accepts_relu;
    bool accepts_from_fixed;
    bool accepts_float32;
    bool accepts_memory[4]; /* by enum nnhal_memory_kind */
    bool holds_buffers;     /* itself; else, if it is so */
    bool leaves_buffers;    /* to the host */
    bool accepts_open_buffers;
    bool serves_bursts; /* itself; else the host does */
};

/* config_read() - everything without a file (path NULL), else what it allows.
 * On failure text is the sentence for people. */
bool config_read(const char *path, struct config *config, char *text, size_t n_text);

struct sample_device {
    const struct nnhal_driver_services *services;
    struct config config;
    struct fence_queue queue;
};

/* explain() - the sentence for people, then the status: return explain(...). */
static inline uint32_t explain(const struct sample_device *device, uint32_t status,
                               const char *sentence)
{
    device->services->explain(device->services->ctx, sentence);
    return status;
}

/* refuse() - the sentence for people on an operation that is not supported. Older hosts take none. */
static inline void refuse(const struct sample_device *device, uint32_t operation,
                          const char *sentence)
{
    const struct nnhal_driver_services *services = device->services;

    if (services->size > offsetof(struct nnhal_driver_services, refuse) && services->refuse)
        services->refuse(services->ctx, operation, sentence);
}

/* An operand of the model, as far as executing it needs. */
struct value {
    uint32_t lifetime;
    uint32_t io_index; /* of an input or output of the model: which one */
    const float *constant;
    uint32_t n_dimensions; /* as declared: 0 or a dimension 0 is unknown */
    uint32_t dimensions[NNHAL_MAX_RANK];
};

/* The extension's operation in a step: its code in a model has the model's prefix. */
#define STEP_FROM_FIXED UINT32_MAX

struct sample_step {
    uint32_t operation; /* enum nnhal_operation_type, or STEP_FROM_FIXED */
    uint32_t activation;
    uint32_t fraction_bits; /* of FROM_FIXED */
    uint32_t inputs[2];     /* values; RELU and FROM_FIXED have one */
    uint32_t output;
};

/* A prepared model. It is not changed by executing. */
struct plan {
    struct sample_device *device;
    uint32_t n_values;
    uint32_t n_steps;
    struct value *values;
    struct sample_step *steps;
    unsigned char *operand_values; /* a copy: the model's lives for prepare() only */
    void *kept_model, *kept_data;  /* what was handed over to be kept; NULL: nothing */
};

/* accepts_operation() - whether the configuration allows it. */
bool accepts_operation(const struct config *config, uint32_t type);

/* plan_refuses() - why this operation of the main subgraph cannot be a step; NULL: it can. */
const char *plan_refuses(const struct sample_device *device, const struct nnhal_driver_model *model,
                         const struct nnhal_operation *operation);

extern const struct nnhal_extension sample_extension;

/* extension_has_operation() - whether an operation of a model is FROM_FIXED. */
bool extension_has_operation(const struct nnhal_model *model, uint32_t type);

/* extension_read_operation() - the parameter of a FROM_FIXED. Returns: false if its operands are not
 * what it takes. */
bool extension_read_operation(const struct nnhal_model *model,
                              const struct nnhal_operation *operation, uint32_t *ret_bits);

/* plan_new() - zeroed, with n_bytes for operand values. Returns: NULL if memory is short. */
struct plan *plan_new(struct sample_device *device, uint32_t n_values, uint32_t n_steps,
                      uint64_t n_bytes);
uint32_t plan_make(struct sample_device *device, const struct nnhal_driver_model *model,
                   struct plan **ret_plan);
void plan_free(struct plan *plan);

/* keep_plan() - fills the buffers of a cache, or leaves them empty. */
void keep_plan(struct plan *plan, struct nnhal_cache *cache);
/* keep_take() - the plan that keep_plan() was given, from its buffers. */
uint32_t keep_take(struct sample_device *device, const struct nnhal_cache *cache,
                   struct plan **ret_plan);

/* A buffer: n_rows rows of n_row floats, row floats from one to the next. */
struct buffer {
    const struct sample_device *device;
    float *data;
    uint64_t n_bytes; /* allocated */
    uint64_t n_rows, n_row, row;
};

/* buffer_allocate() - as in <nnhal/driver.h>. */
uint32_t buffer_allocate(const struct sample_device *device, const struct nnhal_allocate *allocate,
                         struct buffer **ret_buffer);
void buffer_free(struct buffer *buffer);

/* buffer_shape() - makes room for a value of this shape; what was in it is lost.
 * Returns: false if memory is short. */
bool buffer_shape(struct buffer *buffer, uint32_t n_dimensions, const uint32_t *dimensions);
uint32_t buffer_copy_to(const struct buffer *buffer, void *data, uint64_t n_bytes);
uint32_t buffer_copy_from(struct buffer *buffer, uint32_t n_dimensions, const uint32_t *dimensions,
                          const void *data);

/* row_elements() - of a dense tensor, from one row to the next. */
uint64_t row_elements(uint32_t n_dimensions, const uint32_t *dimensions);

/* execute_plan() - executes on the calling thread, with the time that it took if that is
 * asked for; any number of threads at a time. */
uint32_t execute_plan(const struct plan *plan, struct nnhal_execution *execution);

/* lane_open() - the executor of one burst. */
uint32_t lane_open(const struct plan *plan, struct nnhal_burst_executor *executor);

#endif
