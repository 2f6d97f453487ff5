/* SPDX-License-Identifier: Apache-2.0 */
/* NeuralNetworksExtensions.h - operand types, operations and attributes of a vendor's own
 *
 * A vendor names an extension ("com.example.vision") and numbers its operand types, its operations
 * and its attributes from 0 to 65535. A driver says which extensions it has
 * (struct nnhal_driver). Types and operations become codes of a model here, and are then used like
 * Android's own; what a device of another vendor is asked about them, it does not support.
 *
 * Errors, threads and lifetimes are as in NeuralNetworks.h. */
#ifndef ANDROID_NEURAL_NETWORKS_EXTENSIONS_H
#define ANDROID_NEURAL_NETWORKS_EXTENSIONS_H

#include <android/NeuralNetworks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ANeuralNetworksDevice_getExtensionSupport() - whether a device has the extension (feature
 * level 3). Returns: UNEXPECTED_NULL. */
int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device,
                                              const char *extensionName,
                                              bool *isExtensionSupported);

/* ANeuralNetworksModel_getExtensionOperandType() - the code of an operand type for addOperand()
 * (feature level 3). It is the same for all models of this process, and another one in the next.
 * Any name is accepted: addOperand() refuses what no device knows, and tensors without a rank.
 * Returns: UNEXPECTED_NULL; BAD_DATA: the name is longer than 255 bytes, or there are more than
 * 32767. */
int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model,
                                                 const char *extensionName,
                                                 uint16_t operandCodeWithinExtension,
                                                 int32_t *type);

/* ANeuralNetworksModel_getExtensionOperationType() - the same for addOperation() (feature level 3).
 * What the operation takes is for the driver to judge. */
int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model,
                                                   const char *extensionName,
                                                   uint16_t operationCodeWithinExtension,
                                                   ANeuralNetworksOperationType *type);

/* ANeuralNetworksModel_setOperandExtensionData() - parameters of an operand whose type is an
 * extension's, copied; NULL and 0 take them away (feature level 3).
 * Returns: UNEXPECTED_NULL (data, with length); BAD_STATE; BAD_DATA: no such operand, one of
 * Android's types, no bytes or more than 1 MiB. */
int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel *model, int32_t index,
                                                 const void *data, size_t length);

/* ANeuralNetworksCompilation_addExtensionAttribute() - an attribute, which the device learns when it
 * compiles; the value is copied (feature level 8).
 * Returns: UNEXPECTED_NULL (data, with length); BAD_STATE; BAD_DATA: the compilation is not for one
 * listed device, the device does not have the extension, the attribute was added before, the value
 * is empty or larger than 64 KiB, or it is one of more than 64. */
int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation *compilation,
                                                     const char *extensionName,
                                                     uint16_t attributeCodeWithinExtension,
                                                     const void *data, size_t length);

/* ANeuralNetworksExecution_addExtensionAttribute() - the same for computing; before it begins. An
 * execution with attributes is computed without a burst (feature level 8). */
int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution *execution,
                                                   const char *extensionName,
                                                   uint16_t attributeCodeWithinExtension,
                                                   const void *data, size_t length);

#ifdef __cplusplus
}
#endif

#endif
