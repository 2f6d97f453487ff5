/* SPDX-License-Identifier: Apache-2.0 */
/* null.c - a driver that supports nothing, to be filled in
 *
 * Copy this folder and rename it. README.md says in which order the pieces are filled in, and how each is
 * tried. <nnhal/driver.h> has the contract of every call. */
#include <nnhal/driver.h>

#include <stdlib.h>

#define PUBLIC __attribute__((__visibility__("default")))

/* The device: what open() finds, and every prepared model needs. */
struct null_device {
    const struct nnhal_driver_services *services;
};

static uint32_t null_open(const struct nnhal_driver_services *services, void **ret_device)
{
    struct null_device *device = calloc(1, sizeof(*device));

    if (!device)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    device->services = services;
    *ret_device = device;
    return NNHAL_NONE;
}

static void null_close(void *device)
{
    free(device);
}

/* All of supported is 0 already: none. The library gives what is not supported to other devices.
 * services->refuse() tells applications why. */
static uint32_t null_get_supported_operations(void *device, const struct nnhal_driver_model *model,
                                              uint8_t *supported)
{
    return NNHAL_NONE;
}

/* Never reached by an application, as long as nothing is supported. */
static uint32_t null_prepare(void *opaque, const struct nnhal_prepare *prepare, void **ret_prepared)
{
    const struct null_device *device = opaque;

    device->services->explain(device->services->ctx, "this driver supports no operation");
    return NNHAL_GENERAL_FAILURE;
}

static void null_release(void *prepared)
{
}

static uint32_t null_execute(void *prepared, struct nnhal_execution *execution)
{
    return NNHAL_GENERAL_FAILURE;
}

/* Beside the CPU in plain C: 1 is as fast, and takes as much power. */
static const struct nnhal_capabilities capabilities = {
    .relaxed_scalar = {1, 1},
    .relaxed_tensor = {1, 1},
    .if_performance = {1, 1},
    .while_performance = {1, 1},
};

static const struct nnhal_driver driver = {
    .size = sizeof(driver),
    .abi = NNHAL_DRIVER_ABI,
    .type = NNHAL_DEVICE_OTHER,
    .name = "nnhal-null",
    .version = "1",
    .feature_level = NNHAL_FEATURE_LEVEL_8,
    .capabilities = &capabilities,
    .open = null_open,
    .close = null_close,
    .get_supported_operations = null_get_supported_operations,
    .prepare = null_prepare,
    .release = null_release,
    .execute = null_execute,
};

PUBLIC const struct nnhal_driver *nnhal_driver_main(const char *configuration);

PUBLIC const struct nnhal_driver *nnhal_driver_main(const char *configuration)
{
    return &driver;
}
