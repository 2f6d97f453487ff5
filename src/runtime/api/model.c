/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "runtime/extension.h"
#include "runtime/memory/memory.h"
#include "runtime/model/assembly.h"

#include <android/NeuralNetworksExtensions.h>

/* -- memory ----------------------------------------------------------------------- */

_public_ int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                                ANeuralNetworksMemory **memory)
{
    struct nn_why why = {0};

    if (!memory)
        return nn_api_null(__func__);
    *memory = NULL;
    if (nn_api_begin(__func__))
        return ANEURALNETWORKS_BAD_DATA;
    return nn_api_end(__func__, NULL, nn_rt_memory_from_fd(size, protect, fd, offset, &why, memory),
                      &why);
}

_public_ int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb,
                                                             ANeuralNetworksMemory **memory)
{
    struct nn_why why = {0};

    if (!ahwb || !memory)
        return nn_api_null(__func__);
    *memory = NULL;
    if (nn_api_begin(__func__))
        return ANEURALNETWORKS_BAD_DATA;
    return nn_api_end(__func__, NULL, nn_rt_memory_from_buffer((AHardwareBuffer *)ahwb, memory),
                      &why);
}

_public_ void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory)
{
    nn_rt_memory_unref(memory);
}

/* -- models ------------------------------------------------------------------------- */

_public_ int ANeuralNetworksModel_create(ANeuralNetworksModel **model)
{
    struct nn_why why = {0};

    if (!model)
        return nn_api_null(__func__);
    *model = NULL;
    if (nn_api_begin(__func__))
        return ANEURALNETWORKS_BAD_DATA;
    return nn_api_end(__func__, NULL, nn_rt_builder_new(model), &why);
}

_public_ void ANeuralNetworksModel_free(ANeuralNetworksModel *model)
{
    nn_rt_builder_free(model);
}

_public_ int ANeuralNetworksModel_finish(ANeuralNetworksModel *model)
{
    struct nn_why why = {0};

    if (!model)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object, nn_rt_builder_finish(model, &why), &why);
}

_public_ int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model,
                                             const ANeuralNetworksOperandType *type)
{
    struct nn_why why = {0};

    if (!model || !type)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object, nn_rt_builder_add_operand(model, type, &why), &why);
}

_public_ int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index,
                                                  const void *buffer, size_t length)
{
    struct nn_why why = {0};

    if (!model || (!buffer && length))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object,
                      nn_rt_builder_set_value(model, index, buffer, length, &why), &why);
}

_public_ int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel *model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams *channelQuant)
{
    struct nn_why why = {0};

    if (!model || !channelQuant)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object,
                      nn_rt_builder_set_channel_quant(model, index, channelQuant, &why), &why);
}

_public_ int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model,
                                                            int32_t index,
                                                            const ANeuralNetworksMemory *memory,
                                                            size_t offset, size_t length)
{
    struct nn_why why = {0};

    if (!model || !memory)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object,
                      nn_rt_builder_set_value_from_memory(
                          model, index, (ANeuralNetworksMemory *)memory, offset, length, &why),
                      &why);
}

_public_ int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model,
                                                           int32_t index,
                                                           const ANeuralNetworksModel *value)
{
    struct nn_why why = {0};

    if (!model || !value)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object,
                      nn_rt_builder_set_value_from_model(model, index, value, &why), &why);
}

_public_ int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model,
                                               ANeuralNetworksOperationType type,
                                               uint32_t inputCount, const uint32_t *inputs,
                                               uint32_t outputCount, const uint32_t *outputs)
{
    const struct nnhal_operation operation = {.type = (uint32_t)type,
                                              .n_inputs = inputCount,
                                              .inputs = inputs,
                                              .n_outputs = outputCount,
                                              .outputs = outputs};
    struct nn_why why = {0};

    if (!model || !inputs || !outputs)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object,
                      nn_rt_builder_add_operation(model, &operation, &why), &why);
}

_public_ int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model,
                                                           uint32_t inputCount,
                                                           const uint32_t *inputs,
                                                           uint32_t outputCount,
                                                           const uint32_t *outputs)
{
    struct nn_why why = {0};

    if (!model || !inputs || !outputs)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object,
                      nn_rt_builder_identify(model, inputCount, inputs, outputCount, outputs, &why),
                      &why);
}

_public_ int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model,
                                                                   bool allow)
{
    struct nn_why why = {0};

    if (!model)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object, nn_rt_builder_relax(model, allow, &why), &why);
}

/* -- extensions ------------------------------------------------------------------------- */

static int get_extension_type(const char *function, const ANeuralNetworksModel *model,
                              const char *name, uint16_t code, int32_t *type)
{
    struct nn_why why = {0};
    uint32_t prefix = 0;
    int r;

    if (!model || !name || !type)
        return nn_api_null(function);
    r = nn_rt_extension_get_prefix(name, &why, &prefix);
    if (!r)
        *type = (int32_t)(prefix << 16 | code);
    return nn_api_end(function, &model->object, r, &why);
}

_public_ int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model,
                                                          const char *extensionName,
                                                          uint16_t operandCodeWithinExtension,
                                                          int32_t *type)
{
    return get_extension_type(__func__, model, extensionName, operandCodeWithinExtension, type);
}

_public_ int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model,
                                                            const char *extensionName,
                                                            uint16_t operationCodeWithinExtension,
                                                            ANeuralNetworksOperationType *type)
{
    return get_extension_type(__func__, model, extensionName, operationCodeWithinExtension, type);
}

_public_ int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel *model,
                                                          int32_t index, const void *data,
                                                          size_t length)
{
    struct nn_why why = {0};

    if (!model || (!data && length))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &model->object,
                      nn_rt_builder_set_extension_data(model, index, data, length, &why), &why);
}
