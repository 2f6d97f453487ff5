/* SPDX-License-Identifier: Apache-2.0 */
/* library-driver - a driver as vendors write them: libraries that start threads and make code
 *
 * It has OpenBLAS multiply matrices, and looks for the Vulkan devices that lavapipe makes with LLVM.
 * Preparing any model fails, with a sentence: "openblas right, vulkan 1 devices", or "absent" for
 * what this machine lacks. Both libraries are loaded by dlopen() in open(), so that the tests build
 * without them. */
#include "support/capabilities.h"

#include <nnhal/driver.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum {
    SIDE = 256, /* enough that OpenBLAS shares the work among its threads */
    ROW_MAJOR = 101,
    NO_TRANSPOSITION = 111,
};

typedef void multiply_fn(int order, int transposes_a, int transposes_b, int m, int n, int k,
                         float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                         float *c, int ldc);

/* VkInstanceCreateInfo, without anything in it. */
struct instance_info {
    int32_t type;
    const void *next;
    uint32_t flags;
    const void *application;
    uint32_t n_layers;
    const char *const *layers;
    uint32_t n_extensions;
    const char *const *extensions;
};

typedef int create_fn(const struct instance_info *info, const void *allocator, void **ret_instance);
typedef int enumerate_fn(void *instance, uint32_t *n_devices, void **ret_devices);
typedef void destroy_fn(void *instance, const void *allocator);

static const struct nnhal_driver_services *services;
static char findings[200];

static const char *use_openblas(void)
{
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    multiply_fn *multiply = library ? (multiply_fn *)dlsym(library, "cblas_sgemm") : NULL;

    if (!multiply)
        return "absent";
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = 1;
        b[i] = 2;
    }
    multiply(ROW_MAJOR, NO_TRANSPOSITION, NO_TRANSPOSITION, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE,
             0, c, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        if (c[i] < 2 * SIDE || c[i] > 2 * SIDE)
            return "wrong";
    return "right";
}

/* How many; -1: absent. */
static int use_vulkan(void)
{
    const struct instance_info info = {.type = 1};
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL), *instance = NULL;
    create_fn *create = library ? (create_fn *)dlsym(library, "vkCreateInstance") : NULL;
    uint32_t n = 0;

    if (!create)
        return -1;
    if (create(&info, NULL, &instance) != 0)
        return 0;
    if (((enumerate_fn *)dlsym(library, "vkEnumeratePhysicalDevices"))(instance, &n, NULL) != 0)
        n = 0;
    ((destroy_fn *)dlsym(library, "vkDestroyInstance"))(instance, NULL);
    return (int)n;
}

static uint32_t library_open(const struct nnhal_driver_services *given, void **ret_device)
{
    const char *openblas = use_openblas();
    int n_devices = use_vulkan();

    services = given;
    *ret_device = findings;
    snprintf(findings, sizeof(findings), "openblas %s, vulkan %s", openblas,
             n_devices < 0   ? "absent"
             : n_devices > 0 ? "right"
                             : "without devices");
    return NNHAL_NONE;
}

static void library_close(void *device)
{
}

static uint32_t library_supported(void *device, const struct nnhal_driver_model *model,
                                  uint8_t *supported)
{
    return NNHAL_GENERAL_FAILURE;
}

static uint32_t library_prepare(void *device, const struct nnhal_prepare *prepare,
                                void **ret_prepared)
{
    services->explain(services->ctx, findings);
    return NNHAL_GENERAL_FAILURE;
}

static void library_release(void *prepared)
{
}

static uint32_t library_execute(void *prepared, struct nnhal_execution *execution)
{
    return NNHAL_GENERAL_FAILURE;
}

__attribute__((__visibility__("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration)
{
    static const struct nnhal_driver driver = {
        .size = sizeof(driver),
        .abi = NNHAL_DRIVER_ABI,
        .type = NNHAL_DEVICE_OTHER,
        .name = "library",
        .version = "1",
        .feature_level = NNHAL_FEATURE_LEVEL_8,
        .capabilities = &least_capabilities,
        .open = library_open,
        .close = library_close,
        .get_supported_operations = library_supported,
        .prepare = library_prepare,
        .release = library_release,
        .execute = library_execute,
    };

    return &driver;
}
