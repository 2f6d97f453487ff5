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

/* doc/app/tflite-extension.md says what each takes. Those with the name of one of NNAPI's are that
 * operation with activations of 16 bits, or with tensors of a rank above 4; MUL and RELU have 8 bits,
 * UNIDIRECTIONAL_SEQUENCE_LSTM 8 or 16. */
enum nnhal_tflite_operation {
    NNHAL_TFLITE_ARG_MAX = 0,
    NNHAL_TFLITE_ARG_MIN = 1,
    NNHAL_TFLITE_ROUND = 2,
    NNHAL_TFLITE_FLOOR_MOD = 3,
    NNHAL_TFLITE_SHAPE = 4,
    NNHAL_TFLITE_SCATTER_ND = 5,
    NNHAL_TFLITE_QUANTIZE = 6,
    NNHAL_TFLITE_DEQUANTIZE = 7,
    NNHAL_TFLITE_RESHAPE = 8,
    NNHAL_TFLITE_FULLY_CONNECTED = 9,
    NNHAL_TFLITE_ADD = 10,
    NNHAL_TFLITE_CONV_2D = 11,
    NNHAL_TFLITE_DEPTHWISE_CONV_2D = 12,
    NNHAL_TFLITE_TRANSPOSE_CONV_2D = 13,
    NNHAL_TFLITE_SUB = 14,
    NNHAL_TFLITE_MUL = 15,
    NNHAL_TFLITE_LOGISTIC = 16,
    NNHAL_TFLITE_TANH = 17,
    NNHAL_TFLITE_SOFTMAX = 18,
    NNHAL_TFLITE_PAD = 19,
    NNHAL_TFLITE_CONCATENATION = 20,
    NNHAL_TFLITE_SPLIT = 21,
    NNHAL_TFLITE_STRIDED_SLICE = 22,
    NNHAL_TFLITE_TRANSPOSE = 23,
    NNHAL_TFLITE_LEAKY_RELU = 24,
    NNHAL_TFLITE_COS = 25,
    NNHAL_TFLITE_RFFT2D = 26,
    NNHAL_TFLITE_COMPLEX_ABS = 27,
    NNHAL_TFLITE_REAL = 28,
    NNHAL_TFLITE_IMAG = 29,
    NNHAL_TFLITE_UNIDIRECTIONAL_SEQUENCE_LSTM = 30,
    NNHAL_TFLITE_BITCAST = 31,
    NNHAL_TFLITE_RELU = 32,
    NNHAL_TFLITE_DIV = 33,
    NNHAL_TFLITE_OPERATION_N = 34,
};

#ifdef __cplusplus
}
#endif

#endif
