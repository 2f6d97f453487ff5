/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - the table of the sample driver */
#include "sample.h"

#include <stdlib.h>

/* What followed ':' in the name. main() keeps it for open(), which the host
 * calls next, and which can explain itself. */
static const char *config_path;

static uint32_t sample_execute(void *prepared, struct nnhal_execution *execution)
{
    return execute_plan(prepared, execution);
}

static uint32_t sample_open(const struct nnhal_driver_services *services, void **ret_device)
{
    struct sample_device *device = services->allocate(services->ctx, sizeof(*device));
    char text[256];

    if (!device)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    device->services = services;
    if (!config_read(config_path, &device->config, text, sizeof(text))) {
        services->explain(services->ctx, text);
        services->release(services->ctx, device);
        return NNHAL_INVALID_ARGUMENT;
    }
    if (!queue_open(&device->queue, services, sample_execute)) {
        services->release(services->ctx, device);
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    }
    *ret_device = device;
    return NNHAL_NONE;
}

static void sample_close(void *ctx)
{
    struct sample_device *device = ctx;

    queue_close(&device->queue);
    device->services->release(device->services->ctx, device);
}

static uint32_t sample_get_supported_operations(void *ctx, const struct nnhal_driver_model *model,
                                                uint8_t *supported)
{
    const struct nnhal_subgraph *main_graph = &model->model->main;

    for (uint32_t i = 0; i < main_graph->n_operations; i++) {
        const char *refusal = plan_refuses(ctx, model, &main_graph->operations[i]);

        supported[i] = !refusal;
        if (refusal)
            refuse(ctx, i, refusal);
    }
    return NNHAL_NONE;
}

static uint32_t sample_prepare(void *ctx, const struct nnhal_prepare *prepare, void **ret_prepared)
{
    struct plan *plan = NULL;
    uint32_t status = plan_make(ctx, &prepare->model, &plan);

    if (status != NNHAL_NONE)
        return status;
    if (prepare->cache)
        keep_plan(plan, prepare->cache);
    *ret_prepared = plan;
    return NNHAL_NONE;
}

static uint32_t sample_prepare_from_cache(void *ctx, const struct nnhal_prepare_from_cache *prepare,
                                          void **ret_prepared)
{
    struct plan *plan = NULL;
    uint32_t status = keep_take(ctx, prepare->cache, &plan);

    if (status == NNHAL_NONE)
        *ret_prepared = plan;
    return status;
}

static void sample_release(void *prepared)
{
    plan_free(prepared);
}

/* A device that reads dma-bufs by itself would import handle->fd here, and keep
 * what it gets in *ret_memory. This one reads the mapped view. */
static uint32_t sample_import_memory(void *ctx, const struct nnhal_memory_handle *handle,
                                     void **ret_memory)
{
    const struct sample_device *device = ctx;

    if (!device->config.accepts_memory[handle->kind])
        return explain(device, NNHAL_GENERAL_FAILURE,
                       "its configuration leaves out this kind of memory");
    return NNHAL_NONE;
}

static uint32_t sample_execute_fenced(void *prepared, struct nnhal_fenced *fenced)
{
    const struct plan *plan = prepared;

    return queue_add(&plan->device->queue, prepared, fenced);
}

static void sample_cancel_fenced(void *prepared, uint64_t id)
{
    const struct plan *plan = prepared;

    queue_wake(&plan->device->queue); /* it looks at all of them */
}

static uint32_t sample_open_executor(void *prepared, struct nnhal_burst_executor *executor)
{
    const struct plan *plan = prepared;

    return plan->device->config.serves_bursts ? lane_open(plan, executor) : NNHAL_NONE;
}

static uint32_t sample_allocate_buffer(void *ctx, const struct nnhal_allocate *allocate,
                                       void **ret_buffer)
{
    struct buffer *buffer = NULL;
    uint32_t status = buffer_allocate(ctx, allocate, &buffer);

    if (status == NNHAL_NONE)
        *ret_buffer = buffer; /* NULL: left to the host */
    return status;
}

static void sample_release_buffer(void *buffer)
{
    buffer_free(buffer);
}

static uint32_t sample_copy_to(void *buffer, void *data, uint64_t n_bytes)
{
    return buffer_copy_to(buffer, data, n_bytes);
}

static uint32_t sample_copy_from(void *buffer, uint32_t n_dimensions, const uint32_t *dimensions,
                                 const void *data, uint64_t n_bytes)
{
    return buffer_copy_from(buffer, n_dimensions, dimensions, data);
}

/* Ratios to the reference: a device that promises nothing gets nothing to do. */
static const struct nnhal_operand_performance operand_performance[] = {
    {NNHAL_TENSOR_FLOAT32, {0.9f, 0.9f}},
};

static const struct nnhal_capabilities capabilities = {
    .relaxed_scalar = {0.9f, 0.9f},
    .relaxed_tensor = {0.9f, 0.9f},
    .if_performance = {1.0f, 1.0f},
    .while_performance = {1.0f, 1.0f},
    .n_operand_performance = 1,
    .operand_performance = operand_performance,
};

static const struct nnhal_driver sample_driver = {
    .size = sizeof(struct nnhal_driver),
    .abi = NNHAL_DRIVER_ABI,
    .type = NNHAL_DEVICE_CPU,
    .name = "nnhal-sample",
    .version = "2",
    .feature_level = NNHAL_FEATURE_LEVEL_8,
    .capabilities = &capabilities,
    .n_extensions = 1,
    .extensions = &sample_extension,
    .open = sample_open,
    .close = sample_close,
    .get_supported_operations = sample_get_supported_operations,
    .prepare = sample_prepare,
    .release = sample_release,
    .execute = sample_execute,
    .n_model_cache_files = 1,
    .n_data_cache_files = 1,
    .prepare_from_cache = sample_prepare_from_cache,
    .import_memory = sample_import_memory,
    .allocate_buffer = sample_allocate_buffer,
    .release_buffer = sample_release_buffer,
    .copy_to = sample_copy_to,
    .copy_from = sample_copy_from,
    .open_executor = sample_open_executor,
    .execute_fenced = sample_execute_fenced,
    .cancel_fenced = sample_cancel_fenced,
};

__attribute__((visibility("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration)
{
    config_path = configuration ? configuration : secure_getenv("NNHAL_SAMPLE_CONFIG");
    return &sample_driver;
}
