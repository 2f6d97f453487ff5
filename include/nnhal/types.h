/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the plain data of the driver HAL
 *
 * Every struct here is plain data: counts before arrays, no bool and no enum
 * members, so that the layout is the same for every compiler and for C++.
 * Arrays are borrowed: whoever fills a struct owns what it points to and says
 * for how long. Names follow Android's HAL (Operand, Operation, Subgraph,
 * Model, Request, OutputShape, Timing, Capabilities). */
#ifndef NNHAL_TYPES_H
#define NNHAL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits: what one peer may send at most. */
#define NNHAL_MAX_RANK                 16
#define NNHAL_MAX_OPERANDS             1048576
#define NNHAL_MAX_OPERATIONS           262144
#define NNHAL_MAX_SUBGRAPHS            1024
#define NNHAL_MAX_OPERATION_INPUTS     65536
#define NNHAL_MAX_OPERATION_OUTPUTS    65536
#define NNHAL_MAX_ARGUMENTS            65536
#define NNHAL_MAX_POOLS                4096
#define NNHAL_MAX_CHANNELS             1048576
#define NNHAL_MAX_OPERAND_VALUES_BYTES 67108864
#define NNHAL_MAX_EXTENSION_DATA_BYTES 1048576
#define NNHAL_MAX_EXTENSIONS           256
#define NNHAL_MAX_NAME_BYTES           255
#define NNHAL_MAX_CACHE_FILES          32
#define NNHAL_MAX_FENCES               64
#define NNHAL_MAX_HINTS                64
#define NNHAL_MAX_ROLES                4096
#define NNHAL_CACHE_TOKEN_BYTES        32
#define NNHAL_MAX_FDS                  128       /* with one message */
#define NNHAL_MAX_MESSAGE_BYTES        268435456 /* of one message */
#define NNHAL_MAX_SENTENCE_BYTES       1023      /* that goes with a reply */
#define NNHAL_DEFAULT_LOOP_TIMEOUT_NS  UINT64_C(2000000000)
#define NNHAL_MAX_LOOP_TIMEOUT_NS      UINT64_C(15000000000)
#define NNHAL_NO_TIME                  UINT64_MAX /* an absent deadline, duration or timing, ns */

/* What a call ended with. 0..8 are Android's ErrorStatus; DEAD_OBJECT is made
 * on the client's side when the process that would have answered is gone. */
enum nnhal_error_status {
    NNHAL_NONE = 0,
    NNHAL_DEVICE_UNAVAILABLE = 1,
    NNHAL_GENERAL_FAILURE = 2,
    NNHAL_OUTPUT_INSUFFICIENT_SIZE = 3,
    NNHAL_INVALID_ARGUMENT = 4,
    NNHAL_MISSED_DEADLINE_TRANSIENT = 5,
    NNHAL_MISSED_DEADLINE_PERSISTENT = 6,
    NNHAL_RESOURCE_EXHAUSTED_TRANSIENT = 7,
    NNHAL_RESOURCE_EXHAUSTED_PERSISTENT = 8,
    NNHAL_DEAD_OBJECT = 9,
};

enum nnhal_device_type {
    NNHAL_DEVICE_OTHER = 1,
    NNHAL_DEVICE_CPU = 2,
    NNHAL_DEVICE_GPU = 3,
    NNHAL_DEVICE_ACCELERATOR = 4,
};

enum nnhal_preference {
    NNHAL_LOW_POWER = 0,
    NNHAL_FAST_SINGLE_ANSWER = 1,
    NNHAL_SUSTAINED_SPEED = 2,
};

enum nnhal_priority {
    NNHAL_PRIORITY_LOW = 0,
    NNHAL_PRIORITY_MEDIUM = 1,
    NNHAL_PRIORITY_HIGH = 2,
};

/* The levels that a device or a model may have, oldest first: 27..31, then
 * 1000006.. as in NeuralNetworks.h. */
#define NNHAL_FEATURE_LEVEL_1 27
#define NNHAL_FEATURE_LEVEL_2 28
#define NNHAL_FEATURE_LEVEL_3 29
#define NNHAL_FEATURE_LEVEL_4 30
#define NNHAL_FEATURE_LEVEL_5 31
#define NNHAL_FEATURE_LEVEL_6 1000006
#define NNHAL_FEATURE_LEVEL_7 1000007
#define NNHAL_FEATURE_LEVEL_8 1000008

enum nnhal_operand_type {
    NNHAL_FLOAT32 = 0,
    NNHAL_INT32 = 1,
    NNHAL_UINT32 = 2,
    NNHAL_TENSOR_FLOAT32 = 3,
    NNHAL_TENSOR_INT32 = 4,
    NNHAL_TENSOR_QUANT8_ASYMM = 5,
    NNHAL_BOOL = 6,
    NNHAL_TENSOR_QUANT16_SYMM = 7,
    NNHAL_TENSOR_FLOAT16 = 8,
    NNHAL_TENSOR_BOOL8 = 9,
    NNHAL_FLOAT16 = 10,
    NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL = 11,
    NNHAL_TENSOR_QUANT16_ASYMM = 12,
    NNHAL_TENSOR_QUANT8_SYMM = 13,
    NNHAL_TENSOR_QUANT8_ASYMM_SIGNED = 14,
    NNHAL_SUBGRAPH = 15,
    NNHAL_OPERAND_TYPE_N = 16,
    NNHAL_OEM_SCALAR = 10000,
    NNHAL_TENSOR_OEM_BYTE = 10001,
};

enum nnhal_operand_lifetime {
    NNHAL_TEMPORARY_VARIABLE = 0,
    NNHAL_SUBGRAPH_INPUT = 1,
    NNHAL_SUBGRAPH_OUTPUT = 2,
    NNHAL_CONSTANT_COPY = 3,
    NNHAL_CONSTANT_REFERENCE = 4,
    NNHAL_NO_VALUE = 5,
    NNHAL_SUBGRAPH_VALUE = 6,
};

enum nnhal_extra_params_kind {
    NNHAL_EXTRA_NONE = 0,
    NNHAL_EXTRA_CHANNEL_QUANT = 1,
    NNHAL_EXTRA_EXTENSION = 2,
};

enum nnhal_fused_activation {
    NNHAL_FUSED_NONE = 0,
    NNHAL_FUSED_RELU = 1,
    NNHAL_FUSED_RELU1 = 2,
    NNHAL_FUSED_RELU6 = 3,
};

enum nnhal_operation_type {
    NNHAL_OP_ADD = 0,
    NNHAL_OP_AVERAGE_POOL_2D = 1,
    NNHAL_OP_CONCATENATION = 2,
    NNHAL_OP_CONV_2D = 3,
    NNHAL_OP_DEPTHWISE_CONV_2D = 4,
    NNHAL_OP_DEPTH_TO_SPACE = 5,
    NNHAL_OP_DEQUANTIZE = 6,
    NNHAL_OP_EMBEDDING_LOOKUP = 7,
    NNHAL_OP_FLOOR = 8,
    NNHAL_OP_FULLY_CONNECTED = 9,
    NNHAL_OP_HASHTABLE_LOOKUP = 10,
    NNHAL_OP_L2_NORMALIZATION = 11,
    NNHAL_OP_L2_POOL_2D = 12,
    NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION = 13,
    NNHAL_OP_LOGISTIC = 14,
    NNHAL_OP_LSH_PROJECTION = 15,
    NNHAL_OP_LSTM = 16,
    NNHAL_OP_MAX_POOL_2D = 17,
    NNHAL_OP_MUL = 18,
    NNHAL_OP_RELU = 19,
    NNHAL_OP_RELU1 = 20,
    NNHAL_OP_RELU6 = 21,
    NNHAL_OP_RESHAPE = 22,
    NNHAL_OP_RESIZE_BILINEAR = 23,
    NNHAL_OP_RNN = 24,
    NNHAL_OP_SOFTMAX = 25,
    NNHAL_OP_SPACE_TO_DEPTH = 26,
    NNHAL_OP_SVDF = 27,
    NNHAL_OP_TANH = 28,
    NNHAL_OP_BATCH_TO_SPACE_ND = 29,
    NNHAL_OP_DIV = 30,
    NNHAL_OP_MEAN = 31,
    NNHAL_OP_PAD = 32,
    NNHAL_OP_SPACE_TO_BATCH_ND = 33,
    NNHAL_OP_SQUEEZE = 34,
    NNHAL_OP_STRIDED_SLICE = 35,
    NNHAL_OP_SUB = 36,
    NNHAL_OP_TRANSPOSE = 37,
    NNHAL_OP_ABS = 38,
    NNHAL_OP_ARGMAX = 39,
    NNHAL_OP_ARGMIN = 40,
    NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM = 41,
    NNHAL_OP_BIDIRECTIONAL_SEQUENCE_LSTM = 42,
    NNHAL_OP_BIDIRECTIONAL_SEQUENCE_RNN = 43,
    NNHAL_OP_BOX_WITH_NMS_LIMIT = 44,
    NNHAL_OP_CAST = 45,
    NNHAL_OP_CHANNEL_SHUFFLE = 46,
    NNHAL_OP_DETECTION_POSTPROCESSING = 47,
    NNHAL_OP_EQUAL = 48,
    NNHAL_OP_EXP = 49,
    NNHAL_OP_EXPAND_DIMS = 50,
    NNHAL_OP_GATHER = 51,
    NNHAL_OP_GENERATE_PROPOSALS = 52,
    NNHAL_OP_GREATER = 53,
    NNHAL_OP_GREATER_EQUAL = 54,
    NNHAL_OP_GROUPED_CONV_2D = 55,
    NNHAL_OP_HEATMAP_MAX_KEYPOINT = 56,
    NNHAL_OP_INSTANCE_NORMALIZATION = 57,
    NNHAL_OP_LESS = 58,
    NNHAL_OP_LESS_EQUAL = 59,
    NNHAL_OP_LOG = 60,
    NNHAL_OP_LOGICAL_AND = 61,
    NNHAL_OP_LOGICAL_NOT = 62,
    NNHAL_OP_LOGICAL_OR = 63,
    NNHAL_OP_LOG_SOFTMAX = 64,
    NNHAL_OP_MAXIMUM = 65,
    NNHAL_OP_MINIMUM = 66,
    NNHAL_OP_NEG = 67,
    NNHAL_OP_NOT_EQUAL = 68,
    NNHAL_OP_PAD_V2 = 69,
    NNHAL_OP_POW = 70,
    NNHAL_OP_PRELU = 71,
    NNHAL_OP_QUANTIZE = 72,
    NNHAL_OP_QUANTIZED_16BIT_LSTM = 73,
    NNHAL_OP_RANDOM_MULTINOMIAL = 74,
    NNHAL_OP_REDUCE_ALL = 75,
    NNHAL_OP_REDUCE_ANY = 76,
    NNHAL_OP_REDUCE_MAX = 77,
    NNHAL_OP_REDUCE_MIN = 78,
    NNHAL_OP_REDUCE_PROD = 79,
    NNHAL_OP_REDUCE_SUM = 80,
    NNHAL_OP_ROI_ALIGN = 81,
    NNHAL_OP_ROI_POOLING = 82,
    NNHAL_OP_RSQRT = 83,
    NNHAL_OP_SELECT = 84,
    NNHAL_OP_SIN = 85,
    NNHAL_OP_SLICE = 86,
    NNHAL_OP_SPLIT = 87,
    NNHAL_OP_SQRT = 88,
    NNHAL_OP_TILE = 89,
    NNHAL_OP_TOPK_V2 = 90,
    NNHAL_OP_TRANSPOSE_CONV_2D = 91,
    NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM = 92,
    NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_RNN = 93,
    NNHAL_OP_RESIZE_NEAREST_NEIGHBOR = 94,
    NNHAL_OP_QUANTIZED_LSTM = 95,
    NNHAL_OP_IF = 96,
    NNHAL_OP_WHILE = 97,
    NNHAL_OP_ELU = 98,
    NNHAL_OP_HARD_SWISH = 99,
    NNHAL_OP_FILL = 100,
    NNHAL_OP_RANK = 101,
    NNHAL_OP_BATCH_MATMUL = 102,
    NNHAL_OP_PACK = 103,
    NNHAL_OP_MIRROR_PAD = 104,
    NNHAL_OP_REVERSE = 105,
    NNHAL_OPERATION_TYPE_N = 106,
    NNHAL_OP_OEM_OPERATION = 10000,
};

/* The kinds of memory, under the HAL's names (ashmem, mmap_fd,
 * hardware_buffer_blob, hardware_buffer). */
enum nnhal_memory_kind {
    NNHAL_MEMORY_ASHMEM = 0,
    NNHAL_MEMORY_MMAP_FD = 1,
    NNHAL_MEMORY_HARDWARE_BUFFER_BLOB = 2,
    NNHAL_MEMORY_HARDWARE_BUFFER = 3,
};

struct nnhal_bytes {
    uint64_t size;
    const uint8_t *data;
};

/* Where a value lies: in the model's operand_values or in a pool, bytes. */
struct nnhal_data_location {
    uint32_t pool_index;
    uint32_t reserved; /* 0 */
    uint64_t offset;
    uint64_t length;
    uint64_t padding; /* bytes after length that belong to the argument, requests only */
};

struct nnhal_channel_quant {
    uint32_t channel_dim;
    uint32_t n_scales;
    const float *scales;
};

struct nnhal_operand {
    uint32_t type;     /* enum nnhal_operand_type or an extension's (prefix << 16 | type) */
    uint32_t lifetime; /* enum nnhal_operand_lifetime */
    float scale;
    int32_t zero_point;
    uint32_t extra_params;      /* enum nnhal_extra_params_kind */
    uint32_t n_dimensions;      /* 0: a scalar, or a tensor of unknown rank */
    const uint32_t *dimensions; /* 0: unknown */
    struct nnhal_data_location location;
    struct nnhal_channel_quant channel_quant; /* with NNHAL_EXTRA_CHANNEL_QUANT */
    struct nnhal_bytes extension_data;        /* with NNHAL_EXTRA_EXTENSION */
};

struct nnhal_operation {
    uint32_t type; /* enum nnhal_operation_type or an extension's */
    uint32_t n_inputs;
    const uint32_t *inputs;
    uint32_t n_outputs;
    uint32_t reserved; /* 0 */
    const uint32_t *outputs;
};

/* Operations stand in an order in which they can be executed. */
struct nnhal_subgraph {
    uint32_t n_operands;
    uint32_t n_operations;
    uint32_t n_input_indexes;
    uint32_t n_output_indexes;
    const struct nnhal_operand *operands;
    const struct nnhal_operation *operations;
    const uint32_t *input_indexes;
    const uint32_t *output_indexes;
};

struct nnhal_extension_prefix {
    const char *name;
    uint32_t prefix;
    uint32_t reserved; /* 0 */
};

struct nnhal_model {
    struct nnhal_subgraph main;
    uint32_t n_referenced;
    uint32_t n_pools;
    const struct nnhal_subgraph *referenced;
    const uint64_t *pools; /* ids of memories of the same session */
    struct nnhal_bytes operand_values;
    uint32_t relax_computation_float32_to_float16;
    uint32_t n_extension_prefixes;
    const struct nnhal_extension_prefix *extension_prefixes;
};

struct nnhal_request_argument {
    uint32_t has_no_value;
    uint32_t n_dimensions; /* 0: as in the model */
    const uint32_t *dimensions;
    struct nnhal_data_location location;
};

/* One of the two: a memory of this session, or a token of allocate(). */
struct nnhal_request_pool {
    uint64_t memory;   /* 0: see token */
    uint32_t token;    /* 0: see memory */
    uint32_t reserved; /* 0 */
};

struct nnhal_request {
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t n_pools;
    uint32_t reserved; /* 0 */
    const struct nnhal_request_argument *inputs;
    const struct nnhal_request_argument *outputs;
    const struct nnhal_request_pool *pools;
};

struct nnhal_output_shape {
    uint32_t is_sufficient;
    uint32_t n_dimensions;
    const uint32_t *dimensions;
};

/* Nanoseconds; NNHAL_NO_TIME: not measured. */
struct nnhal_timing {
    uint64_t time_on_device_ns;
    uint64_t time_in_driver_ns;
};

/* Ratio to the CPU reference, above 0, smaller is better. */
struct nnhal_performance_info {
    float exec_time;
    float power_usage;
};

struct nnhal_operand_performance {
    uint32_t type; /* sorted by type, each once; one that is missing counts as FLT_MAX */
    struct nnhal_performance_info info;
};

struct nnhal_capabilities {
    struct nnhal_performance_info relaxed_scalar;
    struct nnhal_performance_info relaxed_tensor;
    struct nnhal_performance_info if_performance;
    struct nnhal_performance_info while_performance;
    uint32_t n_operand_performance;
    uint32_t reserved; /* 0 */
    const struct nnhal_operand_performance *operand_performance;
};

struct nnhal_extension_operand_type {
    uint32_t type; /* 16 bits */
    uint32_t is_tensor;
    uint32_t byte_size;
};

struct nnhal_extension {
    const char *name;
    uint32_t n_operand_types;
    uint32_t reserved; /* 0 */
    const struct nnhal_extension_operand_type *operand_types;
};

struct nnhal_hint {
    int32_t token;
    uint32_t reserved; /* 0 */
    struct nnhal_bytes value;
};

struct nnhal_buffer_role {
    uint32_t model_index; /* into the list of prepared models given with it */
    uint32_t io_index;
    float frequency; /* (0, 1] */
};

#ifdef __cplusplus
}
#endif

#endif
