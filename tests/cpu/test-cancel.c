/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation with attributes and operands that keep it busy: a deadline of 200 ms ends its
 * execution and its preparation, and so does cancellation of the call.
 *
 * The table below has at least one row for each operation of ops.def, and one more where a single
 * row, pixel or cell may be all there is. A row gives the operands:
 *
 *     F16x4       a tensor (the letters of model/ops.h) of zeroes, 64 MiB or less
 *     F2x2=1,2    the same with these numbers, over and over; INT32 tensors so are constants
 *     !F2x2       a constant; in preparations all are
 *     F-          an omitted one
 *     i3 f0.5 b1  a scalar; h1 of float16
 *     :           outputs follow, of shapes that inference finds
 *
 * and @SCALE/ZERO behind a letter where the usual quantization would not do. What the execution
 * does not finish within 2 s fails (10 s under sanitizers). NN_TEST_GAP_MS bounds the time of a
 * processor between two looks at the deadline, too: the promise, for a build that is optimized. The
 * least of three measurements counts: caches and memory are the machine's, and other load slows
 * what a processor does. */
#define CHECK_TIMEOUT_S 300 /* more than 200 rows, a third of a second each */

#include "base/sanitized.h"
#include "base/stop.h"
#include "base/sys.h"
#include "cpu/builder.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/lowering/fold.h"
#include "model/ops.h"
#include "model/types.h"
#include "support/check-main.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MS UINT64_C(1000000)
/* Instrumented code touches shadow memory, too: TSan four bytes for each byte of an operand. */
#define BACK_NS    ((NN_IS_SANITIZED ? 10000 : 2000) * MS)
#define TIMEOUT_NS (200 * MS)
#define CANCEL_NS  (50 * MS)
#define ROOM       ((size_t)256 << 20)

struct busy_row {
    uint32_t operation;
    const char *operands;
    uint32_t n_more; /* of the operation, each with the result before it as first input */
    uint32_t offset; /* of the inputs' bytes: those that are not aligned are copied */
};

#define BIG   "F16777216"
#define ROWS  "F4096x4096"
#define PAIR  "F4096x4096 F4096x1"
#define BYTES "B4096x4096"
#define LSTM_GATES(n, in)                                                                          \
    "F" #n "x" #in " F" #n "x" #in " F" #n "x" #in " F" #n "x" #in " F" #n "x" #n " F" #n "x" #n   \
    " F" #n "x" #n " F" #n "x" #n " F- F- F- F" #n " F" #n " F" #n " F" #n " F- F- "
#define OMITTED_8 "F- F- F- F- F- F- F- F- "
#define X_Q8      "Q1x600x600x16@0.5/3"

static const struct busy_row rows[] = {
    {NNHAL_OP_ADD, PAIR " i0 : F"},
    {NNHAL_OP_AVERAGE_POOL_2D, "F1x600x600x16 i0 i0 i0 i0 i1 i1 i300 i300 i0 : F"},
    {NNHAL_OP_AVERAGE_POOL_2D, X_Q8 " i0 i0 i0 i0 i1 i1 i300 i300 i0 : Q@0.5/3"},
    {NNHAL_OP_AVERAGE_POOL_2D, "F1x4000x4000x1 i0 i0 i0 i0 i1 i1 i3999 i3999 i0 : F"},
    {NNHAL_OP_CONCATENATION, "F4000000x1 F4000000x1 i1 : F"},
    {NNHAL_OP_CONV_2D, "F1x600x600x8 F16x100x100x8 F16 i0 i0 i0 i0 i1 i1 i0 : F"},
    {NNHAL_OP_CONV_2D, "F1x8x600x600 F16x100x100x8 F16 i0 i0 i0 i0 i1 i1 i0 b1 i1 i1 : F"},
    {NNHAL_OP_CONV_2D, "H1x600x600x8 H16x100x100x8 H16 i0 i0 i0 i0 i1 i1 i0 : H"},
    {NNHAL_OP_CONV_2D, "Q1x600x600x8 Q16x100x100x8 I16@0.25/0 i0 i0 i0 i0 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_DEPTHWISE_CONV_2D, "F1x600x600x8 F1x300x300x8 F8 i0 i0 i0 i0 i1 i1 i1 i0 : F"},
    {NNHAL_OP_DEPTHWISE_CONV_2D,
     "Q1x600x600x8 Q1x300x300x8 I8@0.25/0 i0 i0 i0 i0 i1 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_CONV_2D, "Q1x600x600x8 !Q16x100x100x8 !I16@0.25/0 i0 i0 i0 i0 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_CONV_2D, "Q1x2000x2000x16 !Q16x1x1x16 !I16@0.25/0 i0 i0 i0 i0 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_DEPTHWISE_CONV_2D,
     "Q1x600x600x64 !Q1x100x100x64 !I64@0.25/0 i0 i0 i0 i0 i1 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_FULLY_CONNECTED, "F4096x4096 !F4096x4096 !F4096 i0 : F"},
    {NNHAL_OP_DEPTH_TO_SPACE, "F1x1024x1024x16 i4 : F"},
    {NNHAL_OP_DEQUANTIZE, "Q16777216 : F"},
    {NNHAL_OP_EMBEDDING_LOOKUP, "I1000000 F16x16 : F"},
    {NNHAL_OP_FLOOR, BIG " : F"},
    {NNHAL_OP_FULLY_CONNECTED, "F4096x4096 F4096x4096 F4096 i0 : F"},
    {NNHAL_OP_FULLY_CONNECTED, "Q8192x4096 Q4096x4096 I4096@0.25/0 i0 : Q@9/0"},
    {NNHAL_OP_HASHTABLE_LOOKUP, "I1000000 I1000 F1000x16 : F Q@1/0"},
    {NNHAL_OP_L2_NORMALIZATION, ROWS " : F"},
    {NNHAL_OP_L2_POOL_2D, "F1x600x600x16 i0 i0 i0 i0 i1 i1 i300 i300 i0 : F"},
    {NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION, "F1x1x1x4000000 i2147483647 f1 f1 f0.5 : F"},
    {NNHAL_OP_LOGISTIC, BIG " : F"},
    {NNHAL_OP_LSH_PROJECTION, "F100x32 I200000 F200000 i2 : I"},
    {NNHAL_OP_LSTM,
     "F2000x1000 " LSTM_GATES(1000, 1000) "F2000x1000 F2000x1000 i4 f0 f0 : F F F F"},
    {NNHAL_OP_MAX_POOL_2D, "F1x600x600x16 i0 i0 i0 i0 i1 i1 i300 i300 i0 : F"},
    {NNHAL_OP_MAX_POOL_2D, X_Q8 " i0 i0 i0 i0 i1 i1 i300 i300 i0 : Q@0.5/3"},
    {NNHAL_OP_MUL, PAIR " i0 : F"},
    {NNHAL_OP_RELU, BIG " : F"},
    {NNHAL_OP_RELU1, BIG " : F"},
    {NNHAL_OP_RELU6, BIG " : F"},
    {NNHAL_OP_RESHAPE, BIG " I1=-1 : F"},
    {NNHAL_OP_RESIZE_BILINEAR, "F1x100x100x16 i1000 i1000 : F"},
    {NNHAL_OP_RNN, "F4000x1000 F1000x1000 F1000x1000 F1000 F4000x1000 i1 : F F"},
    {NNHAL_OP_SOFTMAX, "F1x16777216 f1 : F"},
    {NNHAL_OP_SPACE_TO_DEPTH, "F1x2048x2048x4 i4 : F"},
    {NNHAL_OP_SVDF, "F1000x1000 F1000x1000 F1000x10 F- F1000x10000 i1 i0 : F F"},
    {NNHAL_OP_TANH, BIG " : F"},
    {NNHAL_OP_BATCH_TO_SPACE_ND, "F16x512x512x4 I2=4,4 : F"},
    {NNHAL_OP_DIV, PAIR " i0 : F"},
    {NNHAL_OP_MEAN, ROWS " I1=0 i0 : F"},
    {NNHAL_OP_PAD, "F4096x1024x2 I3x2=1 : F"},
    {NNHAL_OP_SPACE_TO_BATCH_ND, "F1x1022x1022x8 I2=4,4 I2x2=1 : F"},
    {NNHAL_OP_SQUEEZE, "F1x16777216 I1=0 : F"},
    {NNHAL_OP_STRIDED_SLICE, ROWS " I2=0 I2=4096 I2=1 i0 i0 i0 : F"},
    {NNHAL_OP_SUB, PAIR " i0 : F"},
    {NNHAL_OP_TRANSPOSE, ROWS " I2=1,0 : F"},
    {NNHAL_OP_ABS, BIG " : F"},
    {NNHAL_OP_ARGMAX, "F1x16777216 i1 : I"},
    {NNHAL_OP_ARGMIN, "Q1x67108864 i1 : I"},
    {NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM, "F200000x4 F200000x40 I200000 F1x2 : F"},
    {NNHAL_OP_BIDIRECTIONAL_SEQUENCE_LSTM,
     "F1x20000x300 " LSTM_GATES(300, 300) LSTM_GATES(
         300, 300) "F1x300 F1x300 F1x300 F1x300 F- " OMITTED_8 "i4 f0 f0 b1 b0 " OMITTED_8 ": F"},
    {NNHAL_OP_BIDIRECTIONAL_SEQUENCE_RNN,
     "F1x10000x500 F500x500 F500x500 F500 F1x500 F500x500 F500x500 F500 F1x500 F- F- F- i1 b0 b1 : "
     "F"},
    {NNHAL_OP_BOX_WITH_NMS_LIMIT, "F100000x2 F100000x8 I100000 f-1 i-1 i0 f0.5 f0.5 f-1 : F F I I"},
    {NNHAL_OP_BOX_WITH_NMS_LIMIT, "F1x1000000 F1x4000000 I1 f-1 i-1 i0 f0.5 f0.5 f-1 : F F I I"},
    {NNHAL_OP_CAST, BIG " : Q@1/0"},
    {NNHAL_OP_CHANNEL_SHUFFLE, ROWS " i64 i1 : F"},
    {NNHAL_OP_DETECTION_POSTPROCESSING, "F1x200000x2=0.5 F1x200000x4 F200000x4 f10 f10 f5 f5 b1 "
                                        "i200000 i1 i200000 f0 f0.5 b0 : F F I I"},
    {NNHAL_OP_DETECTION_POSTPROCESSING, "F1x2000000x2=0.5 F1x2000000x4 F2000000x4 f10 f10 f5 f5 b0 "
                                        "i200000 i1 i1 f0 f0.5 b0 : F F I I"},
    {NNHAL_OP_EQUAL, PAIR " : B"},
    {NNHAL_OP_EXP, BIG " : F"},
    {NNHAL_OP_EXPAND_DIMS, BIG " i0 : F"},
    {NNHAL_OP_GATHER, "F16x1000 i0 I16000 : F"},
    {NNHAL_OP_GENERATE_PROPOSALS, "F1x300x300x1 F1x300x300x4 F1x4 F1x2=600 f1 f1 i0 i0 f0.5 f-1 b0 "
                                  ": F F I"},
    {NNHAL_OP_GENERATE_PROPOSALS,
     "F1x1000x1000x3 F1x1000x1000x12 F3x4 F1x2=600 f1 f1 i2000000 i1 f0.5 f-1 b0 : F F I"},
    {NNHAL_OP_GREATER, PAIR " : B"},
    {NNHAL_OP_GREATER_EQUAL, PAIR " : B"},
    {NNHAL_OP_GROUPED_CONV_2D, "F1x600x600x8 F8x100x100x4 F8 i0 i0 i0 i0 i1 i1 i2 i0 b0 : F"},
    {NNHAL_OP_HEATMAP_MAX_KEYPOINT, "F20x300x300x8 F20x4 b0 : F F"},
    {NNHAL_OP_INSTANCE_NORMALIZATION, "F1x4096x4096x1 f1 f0 f0.001 b0 : F"},
    {NNHAL_OP_LESS, PAIR " : B"},
    {NNHAL_OP_LESS_EQUAL, PAIR " : B"},
    {NNHAL_OP_LOG, BIG " : F"},
    {NNHAL_OP_LOGICAL_AND, BYTES " " BYTES " : B"},
    {NNHAL_OP_LOGICAL_NOT, BYTES " : B"},
    {NNHAL_OP_LOGICAL_OR, BYTES " " BYTES " : B"},
    {NNHAL_OP_LOG_SOFTMAX, "F1x16777216 f1 i1 : F"},
    {NNHAL_OP_MAXIMUM, PAIR " : F"},
    {NNHAL_OP_MINIMUM, PAIR " : F"},
    {NNHAL_OP_NEG, BIG " : F"},
    {NNHAL_OP_NOT_EQUAL, PAIR " : B"},
    {NNHAL_OP_PAD_V2, "F4096x1024x2 I3x2=1 f0 : F"},
    {NNHAL_OP_POW, PAIR " : F"},
    {NNHAL_OP_POW, "F1024x4096=1.5 F1024x1=0.7 : F", 1},
    {NNHAL_OP_PRELU, PAIR " : F"},
    {NNHAL_OP_QUANTIZE, BIG " : Q@1/0"},
    {NNHAL_OP_QUANTIZED_16BIT_LSTM,
     "Q4000x2000@0.0078125/128 Q1000x2000 Q1000x2000 Q1000x2000 Q1000x2000 Q1000x1000 Q1000x1000 "
     "Q1000x1000 Q1000x1000 I1000@0.00390625/0 I1000@0.00390625/0 I1000@0.00390625/0 "
     "I1000@0.00390625/0 Z4000x1000 Q4000x1000@0.0078125/128 : Z Q@0.0078125/128"},
    {NNHAL_OP_RANDOM_MULTINOMIAL, "F100x10000 i100000 I2 : I"},
    {NNHAL_OP_RANDOM_MULTINOMIAL, "F1x10000000 i1 I2 : I"},
    {NNHAL_OP_REDUCE_ALL, BYTES " I1=0 b0 : B"},
    {NNHAL_OP_REDUCE_ANY, BYTES " I2=0,1 b0 : B"},
    {NNHAL_OP_REDUCE_MAX, ROWS " I1=0 b0 : F"},
    {NNHAL_OP_REDUCE_MAX, "Q8192x8192 I2=0,1 b0 : Q"},
    {NNHAL_OP_REDUCE_MIN, ROWS " I2=0,1 b0 : F"},
    {NNHAL_OP_REDUCE_PROD, ROWS " I2=0,1 b0 : F"},
    {NNHAL_OP_REDUCE_SUM, ROWS " I2=0,1 b0 : F"},
    {NNHAL_OP_ROI_ALIGN, "F1x600x600x8 F100x4 I100 i7 i7 f1 f1 i2147483647 i2147483647 b0 : F"},
    {NNHAL_OP_ROI_ALIGN, "F1x600x600x8 F100x4 I100 i1000 i100 f1 f1 i1 i2147483647 b0 : F"},
    {NNHAL_OP_ROI_POOLING, "F1x600x600x8 F4000x4=0,0,599,599 I4000 i2 i2 f1 f1 b0 : F"},
    {NNHAL_OP_RSQRT, BIG " : F"},
    {NNHAL_OP_SELECT, BYTES " " ROWS " " ROWS " : F"},
    {NNHAL_OP_SIN, BIG " : F"},
    {NNHAL_OP_SLICE, ROWS " I2=1 I2=4000 : F"},
    {NNHAL_OP_SPLIT, "F2000000x8 i1 i8 : F F F F F F F F"},
    {NNHAL_OP_SQRT, BIG " : F"},
    {NNHAL_OP_TILE, "F4096x64 I2=1,64 : F"},
    {NNHAL_OP_TILE, "F1x1 I2=1,16777216 : F"},
    {NNHAL_OP_TOPK_V2, "F1x8000000 i8000000 : F I"},
    {NNHAL_OP_TRANSPOSE_CONV_2D, "F1x300x300x8 F8x100x100x8 F8 i0 i0 i0 i0 i1 i1 i0 b0 : F"},
    {NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM,
     "F1x20000x300 " LSTM_GATES(300, 300) "F1x300 F1x300 i4 f0 f0 b0 F- F- F- F- : F"},
    {NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_RNN, "F1x20000x100 F500x100 F500x500 F500 F1x500 i1 i0 : F"},
    {NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, "F1x100x100x16 i1000 i1000 b0 : F"},
    {NNHAL_OP_QUANTIZED_LSTM,
     "S4000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 "
     "Y1000x1000 Z- Z- Z- I1000 I1000 I1000 I1000 Y- I- S4000x1000 Z4000x1000 Z- Z- Z- Z- f0 f0 "
     "f0.01 f0.01 f0.01 f0.01 i0 f0.01 : S Z S"},
    {NNHAL_OP_QUANTIZED_LSTM,
     "S1x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 "
     "Z- Z- Z- I4000000 I4000000 I4000000 I4000000 Y1x4000000 I- S1x1 Z1x4000000 Z4000000 Z4000000 "
     "Z4000000 Z4000000 f0 f0 f0.01 f0.01 f0.01 f0.01 i0 f0.01 : S Z S"},
    {NNHAL_OP_ELU, BIG " f1 : F"},
    {NNHAL_OP_HARD_SWISH, BIG " : F"},
    {NNHAL_OP_FILL, "I1=16777216 f1 : F"},
    {NNHAL_OP_RANK, BIG " : i"},
    {NNHAL_OP_BATCH_MATMUL, "F4x2048x2048 F4x2048x2048 b0 b0 : F"},
    {NNHAL_OP_BATCH_MATMUL, "F4x2048x2048 F4x2048x2048 b1 b1 : F"},
    {NNHAL_OP_BATCH_MATMUL, "S4x2048x2048 S4x2048x2048 b0 b0 : S@9/0"},
    {NNHAL_OP_PACK, "i0 F8000000 F8000000 : F"},
    {NNHAL_OP_MIRROR_PAD, ROWS " I2x2=1 i0 : F"},
    {NNHAL_OP_REVERSE, ROWS " I1=1 : F"},
    {NN_TFLITE_OP(ARG_MAX), "F1x16777216 i1 : L"},
    {NN_TFLITE_OP(ARG_MIN), "F1x16777216 i1 : L"},
    {NN_TFLITE_OP(COS), BIG " : F"},
    {NN_TFLITE_OP(RFFT2D), "F4096x4096 I2=4096,4096 : F"},
    {NN_TFLITE_OP(RFFT2D), "F1x4 I2=1,8388608 : F"},
    {NN_TFLITE_OP(COMPLEX_ABS), BIG " : F"},
    {NN_TFLITE_OP(REAL), BIG " : F"},
    {NN_TFLITE_OP(IMAG), BIG " : F"},
    {NN_TFLITE_OP(ROUND), BIG " : F"},
    {NN_TFLITE_OP(FLOOR_MOD), PAIR " : F"},
    {NN_TFLITE_OP(FLOOR_MOD), "I4096x4096 I4096x1 : I"},
    {NN_TFLITE_OP(SHAPE), BIG " : L"},
    {NN_TFLITE_OP(SCATTER_ND), "I16x1 F16x4194304 I2=4,4194304 : F"},
    {NN_TFLITE_OP(QUANTIZE), BIG " : Z"},
    {NN_TFLITE_OP(DEQUANTIZE), "Z16777216 : F"},
    {NN_TFLITE_OP(RESHAPE), "Z16777216 I1=-1 : Z"},
    {NN_TFLITE_OP(FULLY_CONNECTED), "Z8192x4096 Y4096x4096 L4096 i0 : Z"},
    {NN_TFLITE_OP(ADD), "Z4096x4096 Z4096x1 i0 : Z"},
    {NN_TFLITE_OP(CONV_2D), "Z1x600x600x8 Y16x100x100x8 L16 i0 i0 i0 i0 i1 i1 i0 : Z"},
    {NN_TFLITE_OP(CONV_2D), "Z1x8x600x600 Y16x100x100x8 L16 i0 i0 i0 i0 i1 i1 i0 b1 i1 i1 : Z"},
    {NN_TFLITE_OP(DEPTHWISE_CONV_2D), "Z1x600x600x8 Y1x300x300x8 L8 i0 i0 i0 i0 i1 i1 i1 i0 : Z"},
    {NN_TFLITE_OP(TRANSPOSE_CONV_2D), "Z1x300x300x8 Y8x100x100x8 L8 i0 i0 i0 i0 i1 i1 i0 b0 : Z"},
    {NN_TFLITE_OP(SUB), "Z4096x4096 Z4096x1 i0 : Z"},
    {NN_TFLITE_OP(MUL), "Z4096x4096 Z4096x1 i0 : Z"},
    {NN_TFLITE_OP(LOGISTIC), "Z16777216 : Z@0.000030517578125/0"},
    {NN_TFLITE_OP(TANH), "Z16777216 : Z@0.000030517578125/0"},
    {NN_TFLITE_OP(SOFTMAX), "Z256x65536 f1 : Z@0.000030517578125/0"},
    {NN_TFLITE_OP(PAD), "Z4096x1024x2 I3x2=1 : Z"},
    {NN_TFLITE_OP(CONCATENATION), "Z4000000x1 Z4000000x1 i1 : Z"},
    {NN_TFLITE_OP(SPLIT), "Z2000000x8 i1 i8 : Z Z Z Z Z Z Z Z"},
    {NN_TFLITE_OP(STRIDED_SLICE), "Z4096x4096 I2=0 I2=4096 I2=1 i0 i0 i0 : Z"},
    {NN_TFLITE_OP(TRANSPOSE), "Z4096x4096 I2=1,0 : Z"},
    {NN_TFLITE_OP(LEAKY_RELU), "Z16777216 f0.5 : Z"},
    {NN_TFLITE_OP(MUL), "Q4096x4096@0.5/3 Q4096x1@0.5/3 i0 : Q@0.125/3"},
    {NN_TFLITE_OP(BITCAST), "Q16777216@0.5/3 : Q@0.25/7"},
    {NN_TFLITE_OP(RELU), "Q16777216@0.5/3 i1 : Q@0.25/7"},
    {NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM),
     "S1x8000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 "
     "Y1000x1000 Z- Z- Z- I1000 I1000 I1000 I1000 Y- I- S1x1000 Z1x1000 Z- Z- Z- Z- f0 f0 "
     "f0.01 f0.01 f0.01 f0.01 i0 f0.01 b0 : S"},
    {NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM),
     "Z1x8000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 Y1000x1000 "
     "Y1000x1000 L1000 L1000 L1000 L1000 Z1x1000 Z1x1000 f0 b0 : Z"},
    {NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM),
     "Z8000x1x1 Y2500x1 Y2500x1 Y2500x1 Y2500x1 Y2500x2500 Y2500x2500 Y2500x2500 Y2500x2500 L2500 "
     "L2500 L2500 L2500 Z1x2500 Z1x2500 f0 b1 : Z"},
    {NNHAL_OP_LSTM, "F1x4000 " LSTM_GATES(4000, 4000) "F1x4000 F1x4000 i4 f0 f0 : F F F F"},
    {NNHAL_OP_SVDF, "F1x16 F1x16 F1x16000000 F- F1x16000000 i1 i0 : F F"},
    {NNHAL_OP_GATHER, "F1x8388608 i0 I4 : F"},
    {NNHAL_OP_GATHER, "F16x1 i0 I16777216 : F"},
    {NNHAL_OP_EMBEDDING_LOOKUP, "I4 F1x8388608 : F"},
    {NNHAL_OP_HASHTABLE_LOOKUP, "I2 I1 F1x8388608 : F Q@1/0"},
    {NNHAL_OP_CAST, BIG " : F"},
    {NNHAL_OP_PAD, "F1x8388608 I2x2=1,1,0,0 : F"},
    {NNHAL_OP_PAD, "F1x1 I2x2=1,1,0,8388608 : F"},
    {NNHAL_OP_MIRROR_PAD, "F2x8388608 I2x2=1,1,0,0 i1 : F"},
    {NNHAL_OP_TILE, "F1x8388608 I2=3,1 : F"},
    {NNHAL_OP_RESIZE_BILINEAR, "F1x2x2x3000000 i3 i3 : F"},
    {NNHAL_OP_RESIZE_BILINEAR, "F1x1x1x1 i1 i16777216 : F"},
    {NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, "F1x2x2x3000000 i3 i3 b0 : F"},
    {NNHAL_OP_SOFTMAX, "Q1x67108864 f1 : Q@0.00390625/0"},
    {NNHAL_OP_CONV_2D, "F1x1x1x4000000 F1x1x1x4000000 F1 i0 i0 i0 i0 i1 i1 i0 : F"},
    {NNHAL_OP_FULLY_CONNECTED, "F1x4194304 F1x4194304 F1 i0 : F"},
    {NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM, "F1x4 F1x16000000 I1 F1x2 : F"},
    {NNHAL_OP_DETECTION_POSTPROCESSING,
     "F1x1x2 F1x1x4 F1x4 f10 f10 f5 f5 b1 i2000000 i1 i1 f0 f0.5 b0 : F F I I"},
    {NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM),
     "S8x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 Y4000000x1 "
     "Z- Z- Z- I4000000 I4000000 I4000000 I4000000 Y1x4000000 I- S8x1 Z8x4000000 Z4000000 Z4000000 "
     "Z4000000 Z4000000 f0 f0 f0.01 f0.01 f0.01 f0.01 i0 f0.01 b0 : S S Z"},
    /* Sums beyond 32 bits. */
    {NNHAL_OP_GROUPED_CONV_2D,
     "Q1x1x1x40000@0.5/255 Q1x1x1x40000@0.5/255 I1@0.25/0 i0 i0 i0 i0 i1 i1 i1 i0 b0 : Q@9/0"},
    {NNHAL_OP_QUANTIZED_16BIT_LSTM,
     "Q1x70000@0.0078125/128 Q2x70000@0.5/255 Q2x70000@0.5/255 Q2x70000@0.5/255 Q2x70000@0.5/255 "
     "Q2x2@0.5/255 Q2x2@0.5/255 Q2x2@0.5/255 Q2x2@0.5/255 I2@0.00390625/0 I2@0.00390625/0 "
     "I2@0.00390625/0 I2@0.00390625/0 Z1x2 Q1x2@0.0078125/128 : Z Q@0.0078125/128"},
    {NNHAL_OP_RELU, BIG " : F", 0, 1},
    /* One sum, or one window, of all that there is. */
    {NNHAL_OP_CONV_2D, "Q1x4000x4000x1 Q1x4000x4000x1 I1@0.25/0 i0 i0 i0 i0 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_CONV_2D, "Q1x4000x4000x1 !Q1x4000x4000x1 !I1@0.25/0 i0 i0 i0 i0 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_CONV_2D, "Q1x1x1x32000000 !Q1x1x1x32000000 !I1@0.25/0 i0 i0 i0 i0 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_CONV_2D, "F1x4000x4000x1 F1x4000x4000x1 F1 i0 i0 i0 i0 i1 i1 i0 : F"},
    {NNHAL_OP_CONV_2D, "F1x4000x4000x1 !F1x4000x4000x1 !F1 i0 i0 i0 i0 i1 i1 i0 : F"},
    {NNHAL_OP_CONV_2D, "F1x1x1x16000000 !F1x1x1x16000000 !F1 i0 i0 i0 i0 i1 i1 i0 : F"},
    {NNHAL_OP_CONV_2D, "H1x1x1x16000000 H1x1x1x16000000 H1 i0 i0 i0 i0 i1 i1 i0 : H"},
    {NNHAL_OP_CONV_2D,
     "Q1x32000000x1x1 Q1x1x1x32000000 I1@0.25/0 i0 i0 i0 i0 i1 i1 i0 b1 i1 i1 : Q@9/0"},
    {NNHAL_OP_DEPTHWISE_CONV_2D, "F1x4000x4000x1 F1x4000x4000x1 F1 i0 i0 i0 i0 i1 i1 i1 i0 : F"},
    {NNHAL_OP_DEPTHWISE_CONV_2D,
     "F1x1x1x8000000 !F1x1x1x8000000 !F8000000 i0 i0 i0 i0 i1 i1 i1 i0 : F"},
    {NNHAL_OP_DEPTHWISE_CONV_2D,
     "Q1x4000x4000x1 Q1x4000x4000x1 I1@0.25/0 i0 i0 i0 i0 i1 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_DEPTHWISE_CONV_2D,
     "Q1x1x1x8000000 !Q1x1x1x8000000 !I8000000@0.25/0 i0 i0 i0 i0 i1 i1 i1 i0 : Q@9/0"},
    {NNHAL_OP_GROUPED_CONV_2D, "F1x4000x4000x1 F1x4000x4000x1 F1 i0 i0 i0 i0 i1 i1 i1 i0 b0 : F"},
    {NNHAL_OP_GROUPED_CONV_2D, "H1x16000000x1x1 H1x1x1x16000000 H1 i0 i0 i0 i0 i1 i1 i1 i0 b1 : H"},
    {NNHAL_OP_GROUPED_CONV_2D,
     "Q1x32000000x1x1 Q1x1x1x32000000 I1@0.25/0 i0 i0 i0 i0 i1 i1 i1 i0 b1 : Q@9/0"},
    {NNHAL_OP_TRANSPOSE_CONV_2D,
     "F1x4000x4000x1 F1x4000x4000x1 F1 i3999 i3999 i3999 i3999 i1 i1 i0 b0 : F"},
    {NNHAL_OP_FULLY_CONNECTED, "Q1x32000000 Q1x32000000 I1@0.25/0 i0 : Q@9/0"},
    {NNHAL_OP_FULLY_CONNECTED, "Q1x32000000 !Q1x32000000 !I1@0.25/0 i0 : Q@9/0"},
    {NNHAL_OP_FULLY_CONNECTED, "Q16x2000000 !Q16x2000000 !I16@0.25/0 i0 : Q@9/0"},
    {NNHAL_OP_FULLY_CONNECTED, "S1x32000000 !S1x32000000 !I1@0.25/0 i0 : S@9/0"},
    {NNHAL_OP_FULLY_CONNECTED, "F1x16000000 F1x16000000 F1 i0 : F"},
    {NNHAL_OP_FULLY_CONNECTED, "F1x16000000 !F1x16000000 !F1 i0 : F"},
    {NNHAL_OP_FULLY_CONNECTED, "H1x16000000 H1x16000000 H1 i0 : H"},
    {NNHAL_OP_FULLY_CONNECTED, "F1x1 F16000000x1 F16000000 i0 : F"},
    {NNHAL_OP_FULLY_CONNECTED, "H1x1 H16000000x1 H16000000 i0 : H"},
    {NNHAL_OP_FULLY_CONNECTED, "Q1x1 Q16000000x1 I16000000@0.25/0 i0 : Q@9/0"},
    {NNHAL_OP_FULLY_CONNECTED, "Q1x1 !Q16000000x1 !I16000000@0.25/0 i0 : Q@9/0"},
    {NNHAL_OP_LSH_PROJECTION, "F1x1 I1x16000000 F1 i2 : I"},
    {NN_TFLITE_OP(FULLY_CONNECTED), "Z1x32000000 Y1x32000000 L1 i0 : Z"},
    {NN_TFLITE_OP(CONV_2D), "Z1x4000x4000x1 Y1x4000x4000x1 L1 i0 i0 i0 i0 i1 i1 i0 : Z"},
    {NN_TFLITE_OP(CONV_2D), "Z1x32000000x1x1 Y1x1x1x32000000 L1 i0 i0 i0 i0 i1 i1 i0 b1 i1 i1 : Z"},
    {NN_TFLITE_OP(DEPTHWISE_CONV_2D),
     "Z1x4000x4000x1 Y1x4000x4000x1 L1 i0 i0 i0 i0 i1 i1 i1 i0 : Z"},
    {NNHAL_OP_SOFTMAX, "F16777216x1 f1 i0 : F"},
    {NNHAL_OP_SOFTMAX, "H1x32000000 h1 : H"},
    {NNHAL_OP_L2_NORMALIZATION, "F1x16777216 : F"},
    {NNHAL_OP_L2_NORMALIZATION, "H1x32000000 : H"},
    {NNHAL_OP_L2_NORMALIZATION, "Q1x32000000 : Q@0.0078125/128"},
    {NNHAL_OP_BATCH_MATMUL, "F1x1x16000000 F1x16000000x1 b0 b0 : F"},
    {NNHAL_OP_BATCH_MATMUL, "F1x8x400000 F1x400000x40 b0 b0 : F"},
    {NNHAL_OP_BATCH_MATMUL, "H1x1x16000000 H1x1x16000000 b0 b1 : H"},
    {NNHAL_OP_BATCH_MATMUL, "S1x1x32000000 S1x32000000x1 b0 b0 : S@9/0"},
    {NNHAL_OP_RNN, "F1x16000000 F1x16000000 F1x1 F1 F1x1 i1 : F F"},
    {NNHAL_OP_RNN, "H1x4000 H4000x4000 H4000x4000 H4000 H1x4000 i1 : H H"},
    {NNHAL_OP_SVDF, "F1x16000000 F1x16000000 F1x10 F- F1x10 i1 i0 : F F"},
    {NNHAL_OP_ROI_ALIGN, "H1x4000x4000x1 H1x4 I1 i7 i7 h1 h1 i1 i1 b0 : H"},
    {NNHAL_OP_HEATMAP_MAX_KEYPOINT, "F1x4000x4000x1 F1x4 b0 : F F"},
    {NN_TFLITE_OP(TRANSPOSE), "F64x8x8x64x64 I5=4,2,0,3,1 : F"},
    {NN_TFLITE_OP(DIV), "F64x8x8x64x64 F64x1x8x1x64 i0 : F"},
};

/* ---- a model of a row ---- */

static void *zeroes, *room;

static void map_memory(void)
{
    zeroes = mmap(NULL, ROOM, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
    ck_assert_ptr_ne(zeroes, MAP_FAILED);
    ck_assert_ptr_ne(room, MAP_FAILED);
}

static uint32_t type_of(char letter)
{
    static const struct {
        char letter;
        uint32_t type;
    } types[] = {{'F', NNHAL_TENSOR_FLOAT32},
                 {'H', NNHAL_TENSOR_FLOAT16},
                 {'I', NNHAL_TENSOR_INT32},
                 {'Q', NNHAL_TENSOR_QUANT8_ASYMM},
                 {'S', NNHAL_TENSOR_QUANT8_ASYMM_SIGNED},
                 {'Y', NNHAL_TENSOR_QUANT8_SYMM},
                 {'Z', NNHAL_TENSOR_QUANT16_SYMM},
                 {'B', NNHAL_TENSOR_BOOL8},
                 {'L', NN_TYPE_TENSOR_INT64},
                 {'i', NNHAL_INT32},
                 {'f', NNHAL_FLOAT32},
                 {'h', NNHAL_FLOAT16},
                 {'b', NNHAL_BOOL}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].letter == letter)
            return types[i].type;
    ck_abort_msg("no type %c", letter);
    return 0;
}

struct busy_operand {
    uint32_t type, rank, dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    uint64_t n_bytes;
    bool is_omitted;
    const char *numbers; /* behind '='; NULL: zeroes */
};

static struct busy_operand read_operand(const char *text)
{
    struct busy_operand operand = {.type = type_of(text[0]), .n_bytes = 1};
    char *end = (char *)(uintptr_t)text + 1;
    const char *quant = strchr(text, '@'), *numbers = strchr(text, '=');

    operand.is_omitted = text[1] == '-';
    if (nn_type_is_quantized(operand.type))
        operand.scale = text[0] == 'Z' ? 0x1p-11f : 0.5f;
    if (quant)
        sscanf(quant, "@%f/%d", &operand.scale, &operand.zero_point);
    while (*end >= '0' && *end <= '9' && !nn_type_is_scalar(operand.type)) {
        operand.dims[operand.rank] = (uint32_t)strtoul(end, &end, 10);
        operand.n_bytes *= operand.dims[operand.rank++];
        end += *end == 'x';
    }
    operand.n_bytes *= nn_type_bytes(operand.type);
    if (numbers)
        operand.numbers = numbers + 1;
    return operand;
}

/* The numbers of a tensor, over and over, which live as long as the builder. */
static void *make_numbers(struct builder *b, const struct busy_operand *operand)
{
    size_t n = operand->n_bytes / 4;
    float *floats = nn_arena_alloc(&b->arena, operand->n_bytes);
    const char *at = operand->numbers;

    for (size_t i = 0; i < n; i++) {
        float number = strtof(at, (char **)(uintptr_t)&at);

        if (operand->type == NNHAL_TENSOR_INT32)
            ((int32_t *)(void *)floats)[i] = (int32_t)number;
        else
            floats[i] = number;
        at = *at == ',' ? at + 1 : operand->numbers;
    }
    return floats;
}

static uint32_t add_scalar(struct builder *b, uint32_t type, const char *text)
{
    uint16_t half = nn_f32_to_f16(strtof(text, NULL));

    if (type == NNHAL_FLOAT16)
        return builder_constant(b, 0, type, 0, NULL, 0, 0, &half, sizeof(half), 0);
    if (type == NNHAL_FLOAT32)
        return builder_f32(b, 0, strtof(text, NULL));
    return type == NNHAL_BOOL ? builder_bool(b, 0, text[0] == '1')
                              : builder_i32(b, 0, (int32_t)strtol(text, NULL, 10));
}

struct busy_model {
    struct builder b;
    bool is_constant; /* all operands: what the operation does is done in prepare() */
    uint32_t offset;  /* as in the row */
    struct builder_run run;
    const void *data[BUILDER_MAX_IO];
    size_t sizes[BUILDER_MAX_IO];
};

static uint32_t add_input(struct busy_model *m, const char *text)
{
    bool is_constant = m->is_constant || text[0] == '!';
    struct busy_operand operand = read_operand(text + (text[0] == '!'));
    struct builder *b = &m->b;
    uint32_t lifetime = NNHAL_CONSTANT_REFERENCE, index;

    if (nn_type_is_scalar(operand.type))
        return add_scalar(b, operand.type, text + 1);
    if (operand.is_omitted)
        return builder_operand(b, 0, operand.type, NNHAL_NO_VALUE, 0, NULL, operand.scale, 0);
    if (operand.numbers && operand.n_bytes < 1000)
        return builder_constant(b, 0, operand.type, operand.rank, operand.dims, operand.scale,
                                operand.zero_point, make_numbers(b, &operand), operand.n_bytes, 0);
    if (!is_constant) {
        uint32_t i = b->graphs[0].n_inputs;

        ck_assert_uint_lt(i, sizeof(m->data) / sizeof(m->data[0]));
        m->data[i] = operand.numbers ? make_numbers(b, &operand) : (uint8_t *)zeroes + m->offset;
        m->sizes[i] = operand.n_bytes;
        return builder_input(b, 0, operand.type, operand.rank, operand.dims, operand.scale,
                             operand.zero_point);
    }
    index = builder_operand(b, 0, operand.type, lifetime, operand.rank, operand.dims, operand.scale,
                            operand.zero_point);
    b->graphs[0].operands[index].location.length = operand.n_bytes;
    return index;
}

static uint32_t add_output(struct busy_model *m, const char *text)
{
    struct busy_operand operand = read_operand(text);

    if (m->is_constant)
        return builder_temporary(&m->b, 0, operand.type, 0, NULL, operand.scale,
                                 operand.zero_point);
    return builder_output(&m->b, 0, operand.type, 0, NULL, operand.scale, operand.zero_point);
}

/* An operation that is no constant, so that the model has an input and an output. */
static void add_other(struct busy_model *m)
{
    uint32_t one[] = {1}, in = builder_input(&m->b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    uint32_t out = builder_output(&m->b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);

    builder_operation(&m->b, 0, NNHAL_OP_RELU, 1, &in, 1, &out);
}

/* The code in a model. */
static uint32_t code_of(uint32_t operation)
{
    return operation < NN_TFLITE_OPS ? operation
                                     : BUILDER_PREFIX << 16 | (operation - NN_TFLITE_OPS);
}

/* Returns: its result, of the type of an output. */
static uint32_t add_step(struct busy_model *m, const struct busy_row *row, uint32_t n_inputs,
                         const uint32_t *inputs, uint32_t output)
{
    uint32_t type = m->b.graphs[0].operands[output].type;
    uint32_t between = builder_temporary(&m->b, 0, type, 0, NULL, 0, 0);

    builder_operation(&m->b, 0, code_of(row->operation), n_inputs, inputs, 1, &between);
    return between;
}

static struct busy_model *model_new(const struct busy_row *row, bool is_constant, bool is_reference)
{
    struct busy_model *m = calloc(1, sizeof(*m));
    uint32_t inputs[80], outputs[16], n_inputs = 0, n_outputs = 0;
    char text[1200], *rest = NULL;
    bool is_input = true;

    ck_assert_ptr_nonnull(m);
    builder_init(&m->b, 2);
    if (is_reference) {
        m->b.driver->close(m->b.device);
        m->b.driver = nn_cpu_reference_main(NULL);
        ck_assert_uint_eq(m->b.driver->open(&m->b.services, &m->b.device), NNHAL_NONE);
    }
    m->is_constant = is_constant;
    m->offset = row->offset;
    snprintf(text, sizeof(text), "%s", row->operands);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (word[0] == ':')
            is_input = false;
        else if (is_input)
            inputs[n_inputs++] = add_input(m, word);
        else
            outputs[n_outputs++] = add_output(m, word);
    }
    for (uint32_t i = 0; i < row->n_more; i++)
        inputs[0] = add_step(m, row, n_inputs, inputs, outputs[0]);
    builder_operation(&m->b, 0, code_of(row->operation), n_inputs, inputs, n_outputs, outputs);
    if (is_constant)
        add_other(m);
    return m;
}

static void model_free(struct busy_model *m)
{
    builder_done(&m->b);
    free(m);
}

/* ---- looks ---- */

static uint64_t longest_gap_ns; /* atomic */
static _Thread_local uint64_t last_look_ns;

static uint64_t thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* Time of a processor, so that other load on the machine does not count. */
static void see_look(void)
{
    uint64_t now_ns = thread_ns(), gap_ns = now_ns - last_look_ns;
    uint64_t longest = __atomic_load_n(&longest_gap_ns, __ATOMIC_RELAXED);

    while (gap_ns > longest &&
           !__atomic_compare_exchange_n(&longest_gap_ns, &longest, gap_ns, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
    last_look_ns = now_ns;
}

static void begin_looks(void)
{
    last_look_ns = thread_ns();
    __atomic_store_n(&longest_gap_ns, 0, __ATOMIC_RELAXED);
    nn_stop_observer = see_look;
}

/* What one call did. Returns: whether it came back in time and looked often enough. */
static bool check_call(const struct busy_row *row, const char *what, uint64_t begin_ns)
{
    const char *bound = getenv("NN_TEST_GAP_MS");
    uint64_t took_ns = nn_sys_now_ns() - begin_ns;

    see_look();
    nn_stop_observer = NULL;
    if (getenv("NN_TEST_VERBOSE"))
        printf("%-32s %-8s %6.1f ms, longest without a look %6.2f ms: %.30s\n",
               nn_op_find(row->operation)->name, what, (double)took_ns / 1e6,
               (double)longest_gap_ns / 1e6, row->operands);
    if (took_ns < BACK_NS && (!bound || longest_gap_ns < strtoul(bound, NULL, 10) * MS))
        return true;
    fprintf(stderr, "%s %s: back after %llu ms, %llu ms without a look\n",
            nn_op_find(row->operation)->name, what, (unsigned long long)(took_ns / MS),
            (unsigned long long)(longest_gap_ns / MS));
    return false;
}

/* ---- calls ---- */

static uint32_t prepare_row(struct busy_model *m, uint64_t deadline_ns,
                            const uint32_t *is_cancelled, void **ret_prepared)
{
    struct nnhal_prepare request = {.size = sizeof(request),
                                    .model = builder_model(&m->b),
                                    .preference = NNHAL_FAST_SINGLE_ANSWER,
                                    .priority = NNHAL_PRIORITY_MEDIUM,
                                    .deadline_ns = deadline_ns,
                                    .is_cancelled = is_cancelled};

    m->b.mapped = (struct nnhal_mapped_pool){zeroes, ROOM, NULL};
    return m->b.driver->prepare(m->b.device, &request, ret_prepared);
}

static void bind_row(struct busy_model *m, uint64_t deadline_ns)
{
    size_t share = ROOM / (m->b.graphs[0].n_outputs + 1);

    builder_run_init(&m->run, &m->b);
    m->run.execution.deadline_ns = deadline_ns;
    for (uint32_t i = 0; i < m->b.graphs[0].n_inputs; i++)
        builder_run_input(&m->run, i, m->data[i], m->sizes[i]);
    for (uint32_t i = 0; i < m->b.graphs[0].n_outputs; i++)
        builder_run_output(&m->run, i, (uint8_t *)room + i * (share / 64 * 64), share / 64 * 64);
}

static void *cancel_after(void *is_cancelled, uint64_t delay_ns)
{
    struct timespec time = {.tv_nsec = (long)delay_ns};

    nanosleep(&time, NULL);
    __atomic_store_n((uint32_t *)is_cancelled, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *cancel_soon(void *is_cancelled)
{
    return cancel_after(is_cancelled, CANCEL_NS);
}

/* Most preparations are short. */
static void *cancel_at_once(void *is_cancelled)
{
    return cancel_after(is_cancelled, CANCEL_NS / 50);
}

static bool execute_until_deadline(const struct busy_row *row)
{
    struct busy_model *m = model_new(row, false, false);
    void *prepared = NULL;
    uint64_t begin_ns;
    uint32_t status;
    bool is_good;

    ck_assert_msg(prepare_row(m, NNHAL_NO_TIME, NULL, &prepared) == NNHAL_NONE, "%s: %s",
                  nn_op_find(row->operation)->name, m->b.why);
    begin_looks();
    begin_ns = nn_sys_now_ns();
    bind_row(m, begin_ns + TIMEOUT_NS);
    status = m->b.driver->execute(prepared, &m->run.execution);
    ck_assert_msg(status == NNHAL_NONE || status == NNHAL_MISSED_DEADLINE_TRANSIENT, "%s: %u %s",
                  nn_op_find(row->operation)->name, status, m->b.why);
    is_good = check_call(row, "timeout", begin_ns);
    m->b.driver->release(prepared);
    model_free(m);
    return is_good;
}

static bool execute_until_cancelled(const struct busy_row *row)
{
    struct busy_model *m = model_new(row, false, true);
    void *prepared = NULL;
    uint64_t begin_ns;
    pthread_t thread;
    uint32_t status;
    bool is_good;

    ck_assert_uint_eq(prepare_row(m, NNHAL_NO_TIME, NULL, &prepared), NNHAL_NONE);
    bind_row(m, NNHAL_NO_TIME);
    begin_looks();
    begin_ns = nn_sys_now_ns();
    pthread_create(&thread, NULL, cancel_soon, &m->run.is_cancelled);
    status = m->b.driver->execute(prepared, &m->run.execution);
    ck_assert_msg(status == NNHAL_NONE || (status == NNHAL_GENERAL_FAILURE && !m->b.why[0]),
                  "%s: %u %s", nn_op_find(row->operation)->name, status, m->b.why);
    is_good = check_call(row, "cancel", begin_ns);
    pthread_join(thread, NULL);
    m->b.driver->release(prepared);
    model_free(m);
    return is_good;
}

static bool prepare_until_deadline(const struct busy_row *row)
{
    struct busy_model *m = model_new(row, true, false);
    void *prepared = NULL;
    uint64_t begin_ns = nn_sys_now_ns();
    uint32_t status;
    bool is_good;

    begin_looks();
    status = prepare_row(m, begin_ns + TIMEOUT_NS, NULL, &prepared);
    ck_assert_msg(status == NNHAL_NONE || status == NNHAL_MISSED_DEADLINE_TRANSIENT, "%s: %u %s",
                  nn_op_find(row->operation)->name, status, m->b.why);
    is_good = check_call(row, "prepare", begin_ns);
    if (status == NNHAL_NONE)
        m->b.driver->release(prepared);
    model_free(m);
    return is_good;
}

static bool prepare_until_cancelled(const struct busy_row *row)
{
    struct busy_model *m = model_new(row, true, false);
    void *prepared = NULL;
    uint32_t is_cancelled = 0, status;
    uint64_t begin_ns;
    pthread_t thread;
    bool is_good;

    begin_looks();
    begin_ns = nn_sys_now_ns();
    pthread_create(&thread, NULL, cancel_at_once, &is_cancelled);
    status = prepare_row(m, NNHAL_NO_TIME, &is_cancelled, &prepared);
    ck_assert_msg(status == NNHAL_NONE || (status == NNHAL_GENERAL_FAILURE && !m->b.why[0]),
                  "%s: %u %s", nn_op_find(row->operation)->name, status, m->b.why);
    is_good = check_call(row, "prepare, cancelled", begin_ns);
    pthread_join(thread, NULL);
    if (status == NNHAL_NONE)
        m->b.driver->release(prepared);
    model_free(m);
    return is_good;
}

/* Under sanitizers a third of the rows, from first on: the tests take others. */
static void each_row(bool (*fn)(const struct busy_row *row), size_t first)
{
    const size_t step = NN_IS_SANITIZED ? 3 : 1;
    const char *only = getenv("NN_TEST_OPERATION");

    map_memory();
    for (size_t i = first % step; i < sizeof(rows) / sizeof(rows[0]); i += step)
        if (!only || strcmp(only, nn_op_find(rows[i].operation)->name) == 0)
            ck_assert_msg(fn(&rows[i]) || fn(&rows[i]) || fn(&rows[i]), "%s goes on too long",
                          nn_op_find(rows[i].operation)->name);
}

/* ---- tests ---- */

/* IF and WHILE run other operations; their own deadlines are in test-control.c. */
TEST(each_operation_has_a_row)
{
    static const uint32_t operations[] = {
#define NN_OP(name, ...) NNHAL_OP_##name,
#include "model/ops.def"
#undef NN_OP
#define NN_OP(name, ...) NN_TFLITE_OP(name),
#define NN_OP_TYPES      NN_OP
#include "model/ops-tflite.def"
#undef NN_OP_TYPES
#undef NN_OP
    };

    ck_assert_uint_eq(sizeof(operations) / sizeof(operations[0]), 106 + NNHAL_TFLITE_OPERATION_N);
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        bool has_row = operations[i] == NNHAL_OP_IF || operations[i] == NNHAL_OP_WHILE;

        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
            has_row = has_row || rows[k].operation == operations[i];
        ck_assert_msg(has_row, "%s has no row", nn_op_find(operations[i])->name);
    }
}
TEST_END

TEST(folding_has_a_budget)
{
    const struct nn_fold_budget budget = nn_fold_budget(NULL);

    ck_assert_uint_eq(budget.n_work, 1 << 30);
    ck_assert_uint_eq(budget.n_bytes, 256 << 20);
    ck_assert_uint_eq(budget.n_nodes, 1024);
}
TEST_END

TEST(executions_end_at_their_deadline)
{
    each_row(execute_until_deadline, 0);
}
TEST_END

TEST(executions_end_with_their_caller)
{
    each_row(execute_until_cancelled, 1);
}
TEST_END

TEST(preparations_end_at_their_deadline)
{
    each_row(prepare_until_deadline, 2);
}
TEST_END

TEST(preparations_end_with_their_caller)
{
    each_row(prepare_until_cancelled, 3);
}
TEST_END

static uint64_t process_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* Half of a second in which the team computes nothing more. */
TEST(threads_are_idle_afterwards)
{
    const struct busy_row row = {NNHAL_OP_BATCH_MATMUL, "F4x2048x2048 F4x2048x2048 b0 b0 : F"};
    struct timespec time = {.tv_nsec = (long)(500 * MS)};
    struct busy_model *m;
    void *prepared = NULL;
    uint64_t before_ns;

    map_memory();
    m = model_new(&row, false, false);
    ck_assert_uint_eq(prepare_row(m, NNHAL_NO_TIME, NULL, &prepared), NNHAL_NONE);
    bind_row(m, nn_sys_now_ns() + TIMEOUT_NS);
    ck_assert_uint_eq(m->b.driver->execute(prepared, &m->run.execution),
                      NNHAL_MISSED_DEADLINE_TRANSIENT);
    before_ns = process_ns();
    nanosleep(&time, NULL);
    ck_assert_uint_lt(process_ns() - before_ns, 100 * MS);
    m->b.driver->release(prepared);
    model_free(m);
}
TEST_END

CHECK_MAIN("cancel", each_operation_has_a_row, folding_has_a_budget,
           executions_end_at_their_deadline, executions_end_with_their_caller,
           preparations_end_at_their_deadline, preparations_end_with_their_caller,
           threads_are_idle_afterwards)
