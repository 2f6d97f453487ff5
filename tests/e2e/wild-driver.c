/* SPDX-License-Identifier: Apache-2.0 */
/* wild-driver - in the sample driver's place: z = relu(x * y + x), but an x that begins with
 * 666 ends its process, one that begins with 777 is never computed to the end, for which
 * neither deadline nor cancellation matters, one that begins with 999 is computed until its
 * deadline, and after one that begins with 888 arguments are written to for two seconds, longer
 * than a caller waits. With WILD_OPEN it is never open. With WILD_REFUSE it takes no second operation,
 * and says so as it should not: at any LENGTH, in any BYTES, any NUMBER of times, or on another THREAD. */
#include "support/capabilities.h"

#include <nnhal/driver.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint32_t wild_open(const struct nnhal_driver_services *services, void **ret_device)
{
    while (getenv("WILD_OPEN"))
        usleep(1000);
    *ret_device = (void *)(uintptr_t)services;
    return NNHAL_NONE;
}

static void wild_close(void *device)
{
}

static void say(const struct nnhal_driver_services *services, uint32_t operation, const char *text)
{
    services->refuse(services->ctx, operation, text);
}

static void *say_elsewhere(void *services)
{
    say(services, 1, "another thread was not asked");
    return NULL;
}

static void refuse_wildly(const struct nnhal_driver_services *services, const char *how)
{
    static char text[1 << 20];
    pthread_t thread;

    text[0] = '\0';
    say(services, 0, "it is supported all the same");
    for (uint32_t i = 2; i < 1000; i++)
        say(services, i, "there is no such operation");
    say(services, UINT32_MAX, "nor this one");
    for (size_t i = 0; i < sizeof(text) - 3 && strcmp(how, "LENGTH") == 0; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    if (strcmp(how, "BYTES") == 0)
        strcpy(text, "a\nb\033[2Jc\xc2\x85"
                     "d\xe2\x82"
                     "e\xff");
    say(services, 1, text);
    for (int i = 0; i < 100000 && strcmp(how, "NUMBER") == 0; i++) {
        snprintf(text, sizeof(text), "reason %d", i);
        say(services, 1, text);
    }
    if (strcmp(how, "THREAD") == 0 &&
        pthread_create(&thread, NULL, say_elsewhere, (void *)(uintptr_t)services) == 0)
        pthread_join(thread, NULL);
}

static uint32_t wild_supported(void *device, const struct nnhal_driver_model *model,
                               uint8_t *supported)
{
    const char *how = getenv("WILD_REFUSE");

    memset(supported, 1, model->model->main.n_operations);
    if (!how)
        return NNHAL_NONE;
    supported[1] = 0;
    refuse_wildly(device, how);
    return NNHAL_NONE;
}

static uint32_t wild_prepare(void *device, const struct nnhal_prepare *prepare, void **ret_prepared)
{
    say(device, 0, "too late");
    say(device, 1, "too late");
    *ret_prepared = device;
    return NNHAL_NONE;
}

static void wild_release(void *prepared)
{
}

/* Inputs as well: in a service they are the client's shared memory. */
static void scribble(struct nnhal_execution *execution)
{
    for (int i = 0; i < 2000; i++) {
        for (int j = 0; j < 4; j++) {
            ((volatile float *)(uintptr_t)execution->inputs[0].data)[j] = 888.0f;
            ((volatile float *)(uintptr_t)execution->inputs[1].data)[j] = -888.0f;
            ((volatile float *)execution->outputs[0].data)[j] = 8888.0f;
        }
        usleep(1000);
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint32_t wait_for_deadline(const struct nnhal_execution *execution)
{
    while (now_ns() < execution->deadline_ns)
        usleep(1000);
    return NNHAL_MISSED_DEADLINE_TRANSIENT;
}

static uint32_t wild_execute(void *prepared, struct nnhal_execution *execution)
{
    const float *x = execution->inputs[0].data, *y = execution->inputs[1].data;
    struct nnhal_output *output = &execution->outputs[0];
    float *z = output->data;

    if (x[0] == 666.0f)
        _exit(1);
    while (x[0] == 777.0f)
        usleep(1000);
    if (x[0] == 999.0f)
        return wait_for_deadline(execution);
    if (x[0] == 888.0f)
        scribble(execution);
    for (int i = 0; i < 4; i++)
        z[i] = x[i] * y[i] + x[i] > 0 ? x[i] * y[i] + x[i] : 0;
    output->n_dimensions = 1;
    output->dimensions[0] = 4;
    return NNHAL_NONE;
}

__attribute__((__visibility__("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration)
{
    static const struct nnhal_driver driver = {
        .size = sizeof(driver),
        .abi = NNHAL_DRIVER_ABI,
        .type = NNHAL_DEVICE_OTHER,
        .name = "nnhal-sample",
        .version = "1",
        .feature_level = NNHAL_FEATURE_LEVEL_8,
        .capabilities = &least_capabilities,
        .open = wild_open,
        .close = wild_close,
        .get_supported_operations = wild_supported,
        .prepare = wild_prepare,
        .release = wild_release,
        .execute = wild_execute,
    };

    return &driver;
}
