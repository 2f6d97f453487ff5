/* SPDX-License-Identifier: Apache-2.0 */
/* tflite-extension.h - nnhal.tflite: what TensorFlow Lite has and NNAPI has not
 *
 * An extension of NNAPI, by its own mechanism: whether a device has it says
 * ANeuralNetworksDevice_getExtensionSupport(), and a model gets the codes of its types and
 * operations from ANeuralNetworksModel_getExtensionOperandType() and _getExtensionOperationType().
 * nnhal-cpu and nnapi-reference have it. The loader of .tflite files and the delegate use it where
 * NNAPI has no operation or no type; nothing else of theirs changes.
 *
 * Operands of the extension's operations are of NNAPI's types, and of those below. An operand has
 * no extension data. The device that computes an operation validates it and infers its shapes: an
 * operation that is wrong is unsupported, and NNHAL_LOG=driver:info says why. Results are those of
 * TensorFlow Lite's reference: integers to the bit, floats as NNAPI's operations are.
 *
 * Numbers are stable: a type or operation keeps its own, and new ones follow at the end. A driver
 * may lack some of the operations, which getSupportedOperationsForDevices() tells. */
#ifndef NNHAL_TFLITE_EXTENSION_H
#define NNHAL_TFLITE_EXTENSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define NNHAL_TFLITE_EXTENSION "nnhal.tflite"

enum nnhal_tflite_operand_type {
    NNHAL_TFLITE_TENSOR_INT64 = 0, /* integers of 64 bits, no scale */
    NNHAL_TFLITE_OPERAND_TYPE_N = 1,
};

/* doc/app/tflite-extension.md says what each takes. */
enum nnhal_tflite_operation {
    NNHAL_TFLITE_ARG_MAX = 0,
    NNHAL_TFLITE_ARG_MIN = 1,
    NNHAL_TFLITE_ROUND = 2,
    NNHAL_TFLITE_FLOOR_MOD = 3,
    NNHAL_TFLITE_SHAPE = 4,
    NNHAL_TFLITE_SCATTER_ND = 5,
    NNHAL_TFLITE_OPERATION_N = 6,
};

#ifdef __cplusplus
}
#endif

#endif
