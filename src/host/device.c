/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - what a device says of itself, and the methods that no driver has yet */
#include "host/cache.h"

uint32_t nn_host_get_device_info(struct nn_session *session,
                                 const struct nn_hal_get_device_info_args *args,
                                 struct nn_hal_get_device_info_reply *reply, struct nn_arena *arena)
{
    const struct nnhal_driver *driver = &session->host->driver;

    reply->name = driver->name;
    reply->version = driver->version;
    reply->type = driver->type;
    reply->feature_level = driver->feature_level;
    reply->n_extensions = driver->n_extensions;
    reply->extensions = driver->extensions;
    reply->capabilities = *driver->capabilities;
    nn_cache_n_files(session->host, &reply->n_model_cache_files, &reply->n_data_cache_files);
    reply->pid = getpid();
    return NNHAL_NONE;
}

/* Methods that this host answers in one way only: with a sentence. */
#define CANNOT(method, sentence)                                                                   \
    uint32_t nn_host_##method(struct nn_session *session,                                          \
                              const struct nn_hal_##method##_args *args,                           \
                              struct nn_hal_##method##_reply *reply, struct nn_arena *arena)       \
    {                                                                                              \
        return nn_say(&reply->message, arena, NNHAL_GENERAL_FAILURE, sentence);                    \
    }

/* Freeing what does not exist is no error. */
#define NOTHING_TO_FREE(method)                                                                    \
    uint32_t nn_host_##method(struct nn_session *session,                                          \
                              const struct nn_hal_##method##_args *args,                           \
                              struct nn_hal_##method##_reply *reply, struct nn_arena *arena)       \
    {                                                                                              \
        return NNHAL_NONE;                                                                         \
    }

CANNOT(configure_execution_burst, "this device has no bursts: execute without one")
CANNOT(set_burst_memory, "this device has no bursts: execute without one")
NOTHING_TO_FREE(free_burst_memory)
NOTHING_TO_FREE(free_burst)
