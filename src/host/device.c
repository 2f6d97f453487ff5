/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - what a device says of itself */
#include "base/process.h"
#include "host/caching/cache.h"
#include "host/methods.h"

uint32_t nn_host_get_device_info(struct nn_call *call,
                                 const struct nn_hal_get_device_info_args *args,
                                 struct nn_hal_get_device_info_reply *reply)
{
    const struct nnhal_driver *driver = &call->session->host->driver;

    reply->name = driver->name;
    reply->version = driver->version;
    reply->type = driver->type;
    reply->feature_level = driver->feature_level;
    reply->n_extensions = driver->n_extensions;
    reply->extensions = driver->extensions;
    reply->capabilities = *driver->capabilities;
    nn_cache_n_files(call->session->host, &reply->n_model_cache_files, &reply->n_data_cache_files);
    reply->pid = nn_process_number();
    reply->has_buffers = driver->allocate_buffer != NULL;
    return NNHAL_NONE;
}
