/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "runtime/compilation/settings.h"
#include "runtime/compilation/telling.h"
#include "runtime/partition/residents.h"

#include <android/NeuralNetworksExtensions.h>

/* What drivers of this library are fastest with: a cache line. */
#define PREFERRED_ALIGNMENT 64
#define PREFERRED_PADDING   64

_public_ int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model,
                                               ANeuralNetworksCompilation **compilation)
{
    struct nn_why why = {0};

    if (compilation)
        *compilation = NULL;
    if (!model || !compilation)
        return nn_api_null(__func__);
    return nn_api_end(__func__, NULL, nn_rt_compilation_new(model, NULL, 0, &why, compilation),
                      &why);
}

_public_ int ANeuralNetworksCompilation_createForDevices(
    ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices, uint32_t numDevices,
    ANeuralNetworksCompilation **compilation)
{
    struct nn_why why = {0};

    if (compilation)
        *compilation = NULL;
    if (!model || !devices || !compilation ||
        nn_api_has_null((const void *const *)devices, numDevices))
        return nn_api_null(__func__);
    return nn_api_end(__func__, NULL,
                      nn_rt_compilation_new(model, devices, numDevices, &why, compilation), &why);
}

_public_ void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation)
{
    nn_rt_compilation_unref(compilation);
}

_public_ int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation,
                                                   const char *cacheDir, const uint8_t *token)
{
    struct nn_why why = {0};

    if (!compilation || !cacheDir || !token)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_compilation_set_caching(compilation, cacheDir, token, &why), &why);
}

_public_ int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation,
                                                      int32_t preference)
{
    struct nn_why why = {0};

    if (!compilation)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_compilation_set_preference(compilation, preference, &why), &why);
}

_public_ int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation,
                                                    int priority)
{
    struct nn_why why = {0};

    if (!compilation)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_compilation_set_priority(compilation, priority, &why), &why);
}

_public_ int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation,
                                                   uint64_t duration)
{
    struct nn_why why = {0};

    if (!compilation)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_compilation_set_timeout(compilation, duration, &why), &why);
}

_public_ int ANeuralNetworksCompilation_addExtensionAttribute(
    ANeuralNetworksCompilation *compilation, const char *extensionName,
    uint16_t attributeCodeWithinExtension, const void *data, size_t length)
{
    const struct nn_rt_attribute attribute = {extensionName, attributeCodeWithinExtension, data,
                                              length};
    struct nn_why why = {0};

    if (!compilation || !extensionName || (!data && length))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_compilation_add_attribute(compilation, &attribute, &why), &why);
}

_public_ int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation)
{
    struct nn_why why = {0};
    int r;

    if (!compilation)
        return nn_api_null(__func__);
    r = nn_rt_compilation_finish_telling(compilation, &why);
    if (!r)
        nn_rt_residents_make(compilation);
    return nn_api_end(__func__, &compilation->object, r, &why);
}

/* The four preferences answer the same for every device and argument so far. */
static int get_preferred(const char *function, const ANeuralNetworksCompilation *compilation,
                         bool is_input, uint32_t index, uint32_t preferred, uint32_t *ret)
{
    struct nn_why why = {0};
    int r;

    if (!compilation || !ret)
        return nn_api_null(function);
    r = nn_rt_compilation_check_argument(compilation, index, is_input, &why);
    if (!r)
        *ret = preferred;
    return nn_api_end(function, &compilation->object, r, &why);
}

_public_ int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment)
{
    return get_preferred(__func__, compilation, true, index, PREFERRED_ALIGNMENT, alignment);
}

_public_ int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding)
{
    return get_preferred(__func__, compilation, true, index, PREFERRED_PADDING, padding);
}

_public_ int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment)
{
    return get_preferred(__func__, compilation, false, index, PREFERRED_ALIGNMENT, alignment);
}

_public_ int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding)
{
    return get_preferred(__func__, compilation, false, index, PREFERRED_PADDING, padding);
}
