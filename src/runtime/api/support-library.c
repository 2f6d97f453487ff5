/* SPDX-License-Identifier: Apache-2.0 */
/* support-library.c - the library as the table that clients of support libraries call */
#include "runtime/api/api.h"
#include "runtime/compilation/settings.h"
#include "runtime/diagnostic.h"

#include <android/NeuralNetworksSupportLibraryImpl.h>

#include <stddef.h>

/* -- caching ------------------------------------------------------------------------ */

_public_ int SL_ANeuralNetworksCompilation_setCachingFromFds(
    ANeuralNetworksCompilation *compilation, const int *modelCacheFds,
    const uint32_t numModelCacheFiles, const int *dataCacheFds, const uint32_t numDataCacheFiles,
    const uint8_t *token)
{
    const struct nn_rt_cache_files files = {numModelCacheFiles, numDataCacheFiles, modelCacheFds,
                                            dataCacheFds};
    struct nn_why why = {0};

    if (!compilation || !token || (!modelCacheFds && numModelCacheFiles) ||
        (!dataCacheFds && numDataCacheFiles))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_compilation_set_cache_files(compilation, &files, token, &why), &why);
}

/* -- devices --------------------------------------------------------------------------- */

_public_ int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(
    const ANeuralNetworksDevice *device, uint32_t *numModelCacheFiles, uint32_t *numDataCacheFiles)
{
    if (!device || !numModelCacheFiles || !numDataCacheFiles)
        return nn_api_null(__func__);
    *numModelCacheFiles = device->n_model_cache;
    *numDataCacheFiles = device->n_data_cache;
    return ANEURALNETWORKS_NO_ERROR;
}

static SL_ANeuralNetworksPerformanceInfo to_performance(const struct nnhal_performance_info *info)
{
    return (SL_ANeuralNetworksPerformanceInfo){info->exec_time, info->power_usage};
}

_public_ int
SL_ANeuralNetworksDevice_getPerformanceInfo(const ANeuralNetworksDevice *device,
                                            int32_t performanceInfoKind,
                                            SL_ANeuralNetworksPerformanceInfo *performanceInfo)
{
    const struct nnhal_capabilities *capabilities;
    struct nn_why why = {0};

    if (!device || !performanceInfo)
        return nn_api_null(__func__);
    capabilities = &device->performance.capabilities;
    switch (performanceInfoKind) {
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR:
        *performanceInfo = to_performance(&capabilities->relaxed_scalar);
        return ANEURALNETWORKS_NO_ERROR;
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR:
        *performanceInfo = to_performance(&capabilities->relaxed_tensor);
        return ANEURALNETWORKS_NO_ERROR;
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF:
        *performanceInfo = to_performance(&capabilities->if_performance);
        return ANEURALNETWORKS_NO_ERROR;
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE:
        *performanceInfo = to_performance(&capabilities->while_performance);
        return ANEURALNETWORKS_NO_ERROR;
    default:
        return nn_api_end(__func__, NULL,
                          nn_fail(&why, ANEURALNETWORKS_BAD_DATA, "%d is no kind of performance",
                                  performanceInfoKind),
                          &why);
    }
}

_public_ int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
    const ANeuralNetworksDevice *device, void *context,
    void (*callback)(SL_ANeuralNetworksOperandPerformanceInfo, void *))
{
    const struct nnhal_capabilities *capabilities;

    if (!device || !callback)
        return nn_api_null(__func__);
    capabilities = &device->performance.capabilities;
    for (uint32_t i = 0; i < capabilities->n_operand_performance; i++)
        callback(
            (SL_ANeuralNetworksOperandPerformanceInfo){
                .operandType = (int32_t)capabilities->operand_performance[i].type,
                .performanceInfo = to_performance(&capabilities->operand_performance[i].info)},
            context);
    return ANEURALNETWORKS_NO_ERROR;
}

_public_ int SL_ANeuralNetworksDevice_getVendorExtensionCount(const ANeuralNetworksDevice *device,
                                                              uint32_t *vendorExtensionCount)
{
    if (!device || !vendorExtensionCount)
        return nn_api_null(__func__);
    *vendorExtensionCount = device->facts.n_extensions;
    return ANEURALNETWORKS_NO_ERROR;
}

static int find_extension(const char *function, const ANeuralNetworksDevice *device, uint32_t index,
                          const struct nnhal_extension **ret_extension)
{
    struct nn_why why = {0};

    if (index < device->facts.n_extensions) {
        *ret_extension = &device->facts.extensions[index];
        return ANEURALNETWORKS_NO_ERROR;
    }
    return nn_api_end(function, NULL,
                      nn_fail(&why, ANEURALNETWORKS_BAD_DATA, "%s has no extension %u, but %u",
                              device->name, index, device->facts.n_extensions),
                      &why);
}

_public_ int SL_ANeuralNetworksDevice_getVendorExtensionName(const ANeuralNetworksDevice *device,
                                                             uint32_t vendorExtensionIndex,
                                                             const char **extensionName)
{
    const struct nnhal_extension *extension = NULL;
    int result;

    if (!device || !extensionName)
        return nn_api_null(__func__);
    result = find_extension(__func__, device, vendorExtensionIndex, &extension);
    if (result == ANEURALNETWORKS_NO_ERROR)
        *extensionName = extension->name;
    return result;
}

_public_ int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
    const ANeuralNetworksDevice *device, uint32_t vendorExtensionIndex, void *context,
    void (*callback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void *))
{
    const struct nnhal_extension *extension = NULL;
    int result;

    if (!device || !callback)
        return nn_api_null(__func__);
    result = find_extension(__func__, device, vendorExtensionIndex, &extension);
    for (uint32_t i = 0; result == ANEURALNETWORKS_NO_ERROR && i < extension->n_operand_types; i++)
        callback(
            (SL_ANeuralNetworksExtensionOperandTypeInformation){
                .byteSize = extension->operand_types[i].byte_size,
                .type = (uint16_t)extension->operand_types[i].type,
                .isTensor = extension->operand_types[i].is_tensor != 0},
            context);
    return result;
}

/* -- diagnostics -------------------------------------------------------------------------- */

_public_ int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return nn_rt_diagnostic_session();
}

_public_ int64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return ANeuralNetworks_getRuntimeFeatureLevel();
}

_public_ const uint8_t *SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.architecture;
}

_public_ const char *SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.device_ids;
}

_public_ int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.code;
}

_public_ ANeuralNetworksDiagnosticDataClass
SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.input_class;
}

_public_ ANeuralNetworksDiagnosticDataClass
SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.output_class;
}

_public_ uint64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.duration_ns;
}

_public_ bool SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.is_cached;
}

_public_ bool SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.has_control_flow;
}

_public_ bool SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    return info->told.has_open_shapes;
}

_public_ int32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return nn_rt_diagnostic_session();
}

_public_ int64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return ANeuralNetworks_getRuntimeFeatureLevel();
}

_public_ const uint8_t *SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.architecture;
}

_public_ const char *SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.device_ids;
}

_public_ ANeuralNetworksDiagnosticExecutionMode
SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->mode;
}

_public_ ANeuralNetworksDiagnosticDataClass
SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.input_class;
}

_public_ ANeuralNetworksDiagnosticDataClass
SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.output_class;
}

_public_ uint32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return (uint32_t)info->told.code;
}

_public_ uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.duration_ns;
}

_public_ uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->timing.time_in_driver_ns;
}

_public_ uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->timing.time_on_device_ns;
}

_public_ bool SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.is_cached;
}

_public_ bool SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.has_control_flow;
}

_public_ bool SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    return info->told.has_open_shapes;
}

_public_ void SL_ANeuralNetworksDiagnostic_registerCallbacks(
    ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback,
    ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback, void *callbackContext)
{
    nn_rt_diagnostic_listen(compilationCallback, executionCallback, callbackContext);
}

/* -- the table ------------------------------------------------------------------------------ */

#define MEMBER(name) .name = name
static NnApiSLDriverImplFL8 table = {
    .base =
        {
            .base = {.implFeatureLevel = ANEURALNETWORKS_FEATURE_LEVEL_8},
            MEMBER(ANeuralNetworksBurst_create),
            MEMBER(ANeuralNetworksBurst_free),
            MEMBER(ANeuralNetworksCompilation_createForDevices),
            MEMBER(ANeuralNetworksCompilation_finish),
            MEMBER(ANeuralNetworksCompilation_free),
            MEMBER(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput),
            MEMBER(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput),
            MEMBER(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput),
            MEMBER(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput),
            MEMBER(ANeuralNetworksCompilation_setCaching),
            MEMBER(ANeuralNetworksCompilation_setPreference),
            MEMBER(ANeuralNetworksCompilation_setPriority),
            MEMBER(ANeuralNetworksCompilation_setTimeout),
            MEMBER(ANeuralNetworksDevice_getExtensionSupport),
            MEMBER(ANeuralNetworksDevice_getFeatureLevel),
            MEMBER(ANeuralNetworksDevice_getName),
            MEMBER(ANeuralNetworksDevice_getType),
            MEMBER(ANeuralNetworksDevice_getVersion),
            MEMBER(ANeuralNetworksDevice_wait),
            MEMBER(ANeuralNetworksEvent_createFromSyncFenceFd),
            MEMBER(ANeuralNetworksEvent_free),
            MEMBER(ANeuralNetworksEvent_getSyncFenceFd),
            MEMBER(ANeuralNetworksEvent_wait),
            MEMBER(ANeuralNetworksExecution_burstCompute),
            MEMBER(ANeuralNetworksExecution_compute),
            MEMBER(ANeuralNetworksExecution_create),
            MEMBER(ANeuralNetworksExecution_enableInputAndOutputPadding),
            MEMBER(ANeuralNetworksExecution_free),
            MEMBER(ANeuralNetworksExecution_getDuration),
            MEMBER(ANeuralNetworksExecution_getOutputOperandDimensions),
            MEMBER(ANeuralNetworksExecution_getOutputOperandRank),
            MEMBER(ANeuralNetworksExecution_setInput),
            MEMBER(ANeuralNetworksExecution_setInputFromMemory),
            MEMBER(ANeuralNetworksExecution_setLoopTimeout),
            MEMBER(ANeuralNetworksExecution_setMeasureTiming),
            MEMBER(ANeuralNetworksExecution_setOutput),
            MEMBER(ANeuralNetworksExecution_setOutputFromMemory),
            MEMBER(ANeuralNetworksExecution_setReusable),
            MEMBER(ANeuralNetworksExecution_setTimeout),
            MEMBER(ANeuralNetworksExecution_startComputeWithDependencies),
            MEMBER(ANeuralNetworksMemoryDesc_addInputRole),
            MEMBER(ANeuralNetworksMemoryDesc_addOutputRole),
            MEMBER(ANeuralNetworksMemoryDesc_create),
            MEMBER(ANeuralNetworksMemoryDesc_finish),
            MEMBER(ANeuralNetworksMemoryDesc_free),
            MEMBER(ANeuralNetworksMemoryDesc_setDimensions),
            MEMBER(ANeuralNetworksMemory_copy),
            MEMBER(ANeuralNetworksMemory_createFromAHardwareBuffer),
            MEMBER(ANeuralNetworksMemory_createFromDesc),
            MEMBER(ANeuralNetworksMemory_createFromFd),
            MEMBER(ANeuralNetworksMemory_free),
            MEMBER(ANeuralNetworksModel_addOperand),
            MEMBER(ANeuralNetworksModel_addOperation),
            MEMBER(ANeuralNetworksModel_create),
            MEMBER(ANeuralNetworksModel_finish),
            MEMBER(ANeuralNetworksModel_free),
            MEMBER(ANeuralNetworksModel_getExtensionOperandType),
            MEMBER(ANeuralNetworksModel_getExtensionOperationType),
            MEMBER(ANeuralNetworksModel_getSupportedOperationsForDevices),
            MEMBER(ANeuralNetworksModel_identifyInputsAndOutputs),
            MEMBER(ANeuralNetworksModel_relaxComputationFloat32toFloat16),
            MEMBER(ANeuralNetworksModel_setOperandExtensionData),
            MEMBER(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams),
            MEMBER(ANeuralNetworksModel_setOperandValue),
            MEMBER(ANeuralNetworksModel_setOperandValueFromMemory),
            MEMBER(ANeuralNetworksModel_setOperandValueFromModel),
            MEMBER(ANeuralNetworks_getDefaultLoopTimeout),
            MEMBER(ANeuralNetworks_getDevice),
            MEMBER(ANeuralNetworks_getDeviceCount),
            MEMBER(ANeuralNetworks_getMaximumLoopTimeout),
            MEMBER(ANeuralNetworks_getRuntimeFeatureLevel),
            MEMBER(SL_ANeuralNetworksCompilation_setCachingFromFds),
            MEMBER(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded),
            MEMBER(SL_ANeuralNetworksDevice_getPerformanceInfo),
            MEMBER(SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo),
            MEMBER(SL_ANeuralNetworksDevice_getVendorExtensionCount),
            MEMBER(SL_ANeuralNetworksDevice_getVendorExtensionName),
            MEMBER(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed),
            MEMBER(SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed),
            MEMBER(SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed),
            MEMBER(SL_ANeuralNetworksDiagnostic_registerCallbacks),
        },
    MEMBER(ANeuralNetworksCompilation_addExtensionAttribute),
    MEMBER(ANeuralNetworksExecution_addExtensionAttribute),
};
#undef MEMBER

_Static_assert(sizeof(table) == sizeof(int64_t) + 106 * sizeof(void *), "Android's layout");

_public_ NnApiSLDriverImpl *ANeuralNetworks_getSLDriverImpl(void)
{
    return &table.base.base;
}
