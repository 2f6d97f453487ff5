/* SPDX-License-Identifier: Apache-2.0 */
/* fixed-driver - one operation of an extension that several devices share
 *
 * The extension com.example.fixed has tensors of 16-bit fixed-point numbers, 8 bits of them behind the
 * point, and the operations TO_FIXED, from floats, and FROM_FIXED, to floats. Each of the modules that
 * are made of this file takes one of them, FIXED_OPERATION, and models of nothing else. */
#include "support/capabilities.h"

#include <nnhal/driver.h>

#include <stdint.h>
#include <string.h>

enum { TO_FIXED, FROM_FIXED };

enum { ONE = 256 };

static const struct nnhal_extension_operand_type operand_types[] = {
    {.type = 0, .is_tensor = 1, .byte_size = sizeof(int16_t)},
};

static const struct nnhal_extension extension = {
    .name = "com.example.fixed",
    .n_operand_types = 1,
    .operand_types = operand_types,
};

static uint32_t fixed_open(const struct nnhal_driver_services *services, void **ret_device)
{
    static int device;

    *ret_device = &device;
    return NNHAL_NONE;
}

static void fixed_close(void *device)
{
}

static uint8_t is_taken(const struct nnhal_model *model, uint32_t type)
{
    for (uint32_t i = 0; i < model->n_extension_prefixes; i++)
        if (strcmp(model->extension_prefixes[i].name, extension.name) == 0)
            return type == (model->extension_prefixes[i].prefix << 16 | FIXED_OPERATION);
    return 0;
}

static uint32_t fixed_supported(void *device, const struct nnhal_driver_model *model,
                                uint8_t *supported)
{
    for (uint32_t i = 0; i < model->model->main.n_operations; i++)
        supported[i] = is_taken(model->model, model->model->main.operations[i].type);
    return NNHAL_NONE;
}

static uint32_t fixed_prepare(void *device, const struct nnhal_prepare *prepare,
                              void **ret_prepared)
{
    const struct nnhal_model *model = prepare->model.model;

    if (model->main.n_operations != 1 || !is_taken(model, model->main.operations[0].type))
        return NNHAL_GENERAL_FAILURE;
    *ret_prepared = device;
    return NNHAL_NONE;
}

static void fixed_release(void *prepared)
{
}

static void convert(const struct nnhal_input *input, struct nnhal_output *output, size_t n)
{
    for (size_t i = 0; i < n && FIXED_OPERATION == TO_FIXED; i++)
        ((int16_t *)output->data)[i] = (int16_t)(((const float *)input->data)[i] * ONE);
    for (size_t i = 0; i < n && FIXED_OPERATION == FROM_FIXED; i++)
        ((float *)output->data)[i] = (float)((const int16_t *)input->data)[i] / ONE;
}

static uint32_t fixed_execute(void *prepared, struct nnhal_execution *execution)
{
    const size_t in_bytes = FIXED_OPERATION == TO_FIXED ? sizeof(float) : sizeof(int16_t);
    const struct nnhal_input *input = &execution->inputs[0];
    struct nnhal_output *output = &execution->outputs[0];
    size_t n = 1;

    for (uint32_t i = 0; i < input->n_dimensions; i++)
        n *= input->dimensions[i];
    output->n_dimensions = input->n_dimensions;
    memcpy(output->dimensions, input->dimensions, sizeof(output->dimensions));
    if (n * in_bytes != input->size)
        return NNHAL_GENERAL_FAILURE;
    if (output->capacity < n * (sizeof(float) + sizeof(int16_t) - in_bytes)) {
        output->is_insufficient = 1;
        return NNHAL_OUTPUT_INSUFFICIENT_SIZE;
    }
    convert(input, output, n);
    return NNHAL_NONE;
}

__attribute__((__visibility__("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration)
{
    static const struct nnhal_driver driver = {
        .size = sizeof(driver),
        .abi = NNHAL_DRIVER_ABI,
        .type = NNHAL_DEVICE_ACCELERATOR,
        .name = FIXED_NAME,
        .version = "1",
        .feature_level = NNHAL_FEATURE_LEVEL_8,
        .capabilities = &least_capabilities,
        .n_extensions = 1,
        .extensions = &extension,
        .open = fixed_open,
        .close = fixed_close,
        .get_supported_operations = fixed_supported,
        .prepare = fixed_prepare,
        .release = fixed_release,
        .execute = fixed_execute,
    };

    return &driver;
}
