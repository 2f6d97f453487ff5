/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "runtime/model/builder.h"
#include "runtime/registry.h"
#include "runtime/model/supported-operations.h"

#include <android/NeuralNetworksExtensions.h>

_public_ int ANeuralNetworks_getDeviceCount(uint32_t *numDevices)
{
    const struct nn_rt_registry *registry;

    if (!numDevices)
        return nn_api_null(__func__);
    *numDevices = 0;
    if (nn_api_begin(__func__))
        return ANEURALNETWORKS_BAD_DATA;
    registry = nn_rt_registry_get();
    *numDevices = registry->n_devices;
    return registry->is_whole ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
}

_public_ int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device)
{
    const struct nn_rt_registry *registry;
    struct nn_why why = {0};

    if (!device)
        return nn_api_null(__func__);
    if (nn_api_begin(__func__))
        return ANEURALNETWORKS_BAD_DATA;
    registry = nn_rt_registry_get();
    if (devIndex >= registry->n_devices)
        return nn_api_end(__func__, NULL,
                          nn_fail(&why, ANEURALNETWORKS_BAD_DATA, "no device %u: there are %u",
                                  devIndex, registry->n_devices),
                          &why);
    *device = registry->devices[devIndex];
    return ANEURALNETWORKS_NO_ERROR;
}

_public_ int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name)
{
    if (!device || !name)
        return nn_api_null(__func__);
    *name = device->name;
    return ANEURALNETWORKS_NO_ERROR;
}

_public_ int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device,
                                              const char **version)
{
    if (!device || !version)
        return nn_api_null(__func__);
    *version = device->version;
    return ANEURALNETWORKS_NO_ERROR;
}

_public_ int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type)
{
    if (!device || !type)
        return nn_api_null(__func__);
    *type = device->type;
    return ANEURALNETWORKS_NO_ERROR;
}

_public_ int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device,
                                                   int64_t *featureLevel)
{
    if (!device || !featureLevel)
        return nn_api_null(__func__);
    *featureLevel = device->feature_level;
    return ANEURALNETWORKS_NO_ERROR;
}

_public_ int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device)
{
    struct nn_why why = {0};

    if (!device)
        return nn_api_null(__func__);
    return nn_api_end(__func__, NULL, nn_rt_device_wait((ANeuralNetworksDevice *)device, &why),
                      &why);
}

_public_ int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device,
                                                       const char *extensionName,
                                                       bool *isExtensionSupported)
{
    if (!device || !extensionName || !isExtensionSupported)
        return nn_api_null(__func__);
    *isExtensionSupported = nn_rt_device_facts_find(&device->facts, extensionName) != NULL;
    return ANEURALNETWORKS_NO_ERROR;
}

_public_ int64_t ANeuralNetworks_getRuntimeFeatureLevel(void)
{
    return ANEURALNETWORKS_FEATURE_LEVEL_8;
}

_public_ uint64_t ANeuralNetworks_getDefaultLoopTimeout(void)
{
    return NNHAL_DEFAULT_LOOP_TIMEOUT_NS;
}

_public_ uint64_t ANeuralNetworks_getMaximumLoopTimeout(void)
{
    return NNHAL_MAX_LOOP_TIMEOUT_NS;
}

_public_ int
ANeuralNetworksModel_getSupportedOperationsForDevices(const ANeuralNetworksModel *model,
                                                      const ANeuralNetworksDevice *const *devices,
                                                      uint32_t numDevices, bool *supportedOps)
{
    struct nn_why why = {0};

    if (!model || !devices || !supportedOps ||
        nn_api_has_null((const void *const *)devices, numDevices))
        return nn_api_null(__func__);
    return nn_api_end(
        __func__, &model->object,
        nn_rt_supported_operations_get(model, devices, numDevices, &why, supportedOps), &why);
}
