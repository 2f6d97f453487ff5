/* SPDX-License-Identifier: Apache-2.0 */
/* buffers.c - buffers in a layout of the device's own
 *
 * A driver need not have any of this: without it the host holds buffers, as
 * plain memory. Here it shows how a device does that likes its tensors
 * otherwise: each row (the last dimension) begins at a multiple of 4 floats.
 * Kernels read and write buffers as they lie, and only copies convert. The host
 * sees to it that one writes or several read, never both. */
#include "sample.h"

#include <string.h>

enum {
    ROW_FLOATS = 4,
};

uint64_t row_elements(uint32_t n_dimensions, const uint32_t *dimensions)
{
    return n_dimensions ? dimensions[n_dimensions - 1] : 1;
}

static uint64_t count_rows(uint32_t n_dimensions, const uint32_t *dimensions)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i + 1 < n_dimensions; i++)
        n *= dimensions[i];
    return n;
}

static bool is_open(const struct nnhal_operand *operand)
{
    for (uint32_t i = 0; i < operand->n_dimensions; i++)
        if (operand->dimensions[i] == 0)
            return true;
    return operand->n_dimensions == 0;
}

uint32_t buffer_allocate(const struct sample_device *device, const struct nnhal_allocate *allocate,
                         struct buffer **ret_buffer)
{
    const struct nnhal_driver_services *services = device->services;
    struct buffer *buffer;

    if (!device->config.holds_buffers && !device->config.leaves_buffers)
        return explain(device, NNHAL_GENERAL_FAILURE, "this device has no buffers");
    if (is_open(allocate->operand) && !device->config.accepts_open_buffers)
        return explain(device, NNHAL_GENERAL_FAILURE,
                       "buffers of this device have a fixed size: give all dimensions");
    if (!device->config.holds_buffers)
        return NNHAL_NONE;
    buffer = services->allocate(services->ctx, sizeof(*buffer));
    if (!buffer)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    *buffer = (struct buffer){.device = device};
    *ret_buffer = buffer;
    return NNHAL_NONE;
}

void buffer_free(struct buffer *buffer)
{
    const struct nnhal_driver_services *services = buffer->device->services;

    services->release(services->ctx, buffer->data);
    services->release(services->ctx, buffer);
}

bool buffer_shape(struct buffer *buffer, uint32_t n_dimensions, const uint32_t *dimensions)
{
    const struct nnhal_driver_services *services = buffer->device->services;
    uint64_t n_rows = count_rows(n_dimensions, dimensions), n_bytes;
    uint64_t row = row_elements(n_dimensions, dimensions);

    row = (row + ROW_FLOATS - 1) / ROW_FLOATS * ROW_FLOATS;
    if (__builtin_mul_overflow(n_rows, row * sizeof(float), &n_bytes))
        return false;
    if (n_bytes > buffer->n_bytes) {
        float *data = services->allocate(services->ctx, n_bytes);

        if (!data)
            return false;
        services->release(services->ctx, buffer->data);
        buffer->data = data;
        buffer->n_bytes = n_bytes;
    }
    buffer->n_rows = n_rows;
    buffer->n_row = row_elements(n_dimensions, dimensions);
    buffer->row = row;
    return true;
}

/* Outside, rows follow each other without a gap. */
uint32_t buffer_copy_to(const struct buffer *buffer, void *data, uint64_t n_bytes)
{
    uint64_t n_row = buffer->n_row * sizeof(float);

    if (n_bytes != buffer->n_rows * n_row)
        return explain(buffer->device, NNHAL_INVALID_ARGUMENT, "the sizes differ");
    for (uint64_t i = 0; i < buffer->n_rows; i++)
        memcpy((unsigned char *)data + i * n_row, buffer->data + i * buffer->row, n_row);
    return NNHAL_NONE;
}

uint32_t buffer_copy_from(struct buffer *buffer, uint32_t n_dimensions, const uint32_t *dimensions,
                          const void *data)
{
    if (!buffer_shape(buffer, n_dimensions, dimensions))
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    for (uint64_t i = 0; i < buffer->n_rows; i++)
        memcpy(buffer->data + i * buffer->row,
               (const unsigned char *)data + i * buffer->n_row * sizeof(float),
               buffer->n_row * sizeof(float));
    return NNHAL_NONE;
}
