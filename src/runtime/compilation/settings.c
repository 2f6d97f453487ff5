/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/settings.h"

#include "base/error.h"

#include <string.h>

static int compilation_check_open(const ANeuralNetworksCompilation *compilation, struct nn_why *why)
{
    if (compilation->state == NN_COMPILATION_OPEN)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                   "finish() was called already: the compilation cannot be changed any more");
}

int nn_rt_compilation_set_preference(ANeuralNetworksCompilation *compilation, int32_t preference,
                                     struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    if (preference < ANEURALNETWORKS_PREFER_LOW_POWER ||
        preference > ANEURALNETWORKS_PREFER_SUSTAINED_SPEED)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%d is no preference", preference);
    compilation->preference = (uint32_t)preference;
    return 0;
}

int nn_rt_compilation_set_priority(ANeuralNetworksCompilation *compilation, int priority,
                                   struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    switch (priority) {
    case ANEURALNETWORKS_PRIORITY_LOW:
        compilation->priority = NNHAL_PRIORITY_LOW;
        return 0;
    case ANEURALNETWORKS_PRIORITY_MEDIUM:
        compilation->priority = NNHAL_PRIORITY_MEDIUM;
        return 0;
    case ANEURALNETWORKS_PRIORITY_HIGH:
        compilation->priority = NNHAL_PRIORITY_HIGH;
        return 0;
    default:
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%d is no priority: 90, 100 or 110 is",
                       priority);
    }
}

int nn_rt_compilation_set_timeout(ANeuralNetworksCompilation *compilation, uint64_t duration_ns,
                                  struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    /* AOSP's rule: the deadline is handed to the device, so that there must be just one. */
    if (!nn_rt_compilation_has_one_device(compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "timeouts need a compilation created for one listed device");
    compilation->timeout_ns = duration_ns;
    return 0;
}

int nn_rt_compilation_set_caching(ANeuralNetworksCompilation *compilation, const char *path,
                                  const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);
    char *copy;

    if (r)
        return r;
    /* Copied before the old one goes: a call that fails changes nothing. */
    copy = strdup(path);
    if (!copy)
        return nn_error_origin(-ENOMEM);
    nn_rt_cache_done(&compilation->cache);
    compilation->cache.path = copy;
    memcpy(compilation->cache.token, token, sizeof(compilation->cache.token));
    return 0;
}

/* As with a folder the last call counts. */
int nn_rt_compilation_set_cache_files(ANeuralNetworksCompilation *compilation,
                                      const struct nn_rt_cache_files *files,
                                      const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                                      struct nn_why *why)
{
    const ANeuralNetworksDevice *device = compilation->devices[0];
    struct nn_rt_cache cache = {0};
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    if (!nn_rt_compilation_has_one_device(compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "cache files need a compilation created for one listed device");
    if (files->n_model != device->n_model_cache || files->n_data != device->n_data_cache)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s needs %u and %u files, not %u and %u",
                       device->name, device->n_model_cache, device->n_data_cache, files->n_model,
                       files->n_data);
    r = nn_rt_cache_take_files(&cache, files, why);
    if (r)
        return r;
    nn_rt_cache_done(&compilation->cache);
    compilation->cache = cache;
    memcpy(compilation->cache.token, token, sizeof(compilation->cache.token));
    return 0;
}

int nn_rt_compilation_set_deferred(ANeuralNetworksCompilation *compilation, bool is_deferred,
                                   struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    compilation->is_deferred = is_deferred;
    return 0;
}

int nn_rt_compilation_add_attribute(ANeuralNetworksCompilation *compilation,
                                    const struct nn_rt_attribute *attribute, struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    if (!nn_rt_compilation_has_one_device(compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "attributes need a compilation created for one listed device");
    return nn_rt_attributes_add(&compilation->attributes, compilation->devices[0], attribute, why);
}
