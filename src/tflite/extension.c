/* SPDX-License-Identifier: Apache-2.0 */
/* extension.c - the codes of nnhal.tflite, where a device has it
 *
 * Which of its operations a device computes, it says itself. */
#include "tflite/builder.h"

#include <android/NeuralNetworksExtensions.h>
#include <nnhal/tflite-extension.h>

#include <errno.h>

static bool has_extension(void)
{
    ANeuralNetworksDevice *device;
    uint32_t n = 0;
    bool has = false;

    ANeuralNetworks_getDeviceCount(&n);
    for (uint32_t i = 0; i < n && !has; i++)
        if (ANeuralNetworks_getDevice(i, &device) == ANEURALNETWORKS_NO_ERROR)
            ANeuralNetworksDevice_getExtensionSupport(device, NNHAL_TFLITE_EXTENSION, &has);
    return has;
}

int32_t tfl_extension_type(struct tfl_builder *b, uint16_t number)
{
    int32_t type = 0;

    if (!has_extension() ||
        ANeuralNetworksModel_getExtensionOperandType(b->model, NNHAL_TFLITE_EXTENSION, number,
                                                     &type) != ANEURALNETWORKS_NO_ERROR)
        tfl_fail(b, -ENOTSUP, "NNAPI has no such type, and no device has " NNHAL_TFLITE_EXTENSION);
    return type;
}

int32_t tfl_extension_operation(struct tfl_builder *b, uint16_t number)
{
    ANeuralNetworksOperationType type = 0;

    if (!has_extension() ||
        ANeuralNetworksModel_getExtensionOperationType(b->model, NNHAL_TFLITE_EXTENSION, number,
                                                       &type) != ANEURALNETWORKS_NO_ERROR)
        tfl_fail(b, -ENOTSUP,
                 "NNAPI has no such operation, and no device has " NNHAL_TFLITE_EXTENSION);
    return type;
}
