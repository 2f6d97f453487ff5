/* SPDX-License-Identifier: Apache-2.0 */
/* abi.h - what TensorFlow Lite and a delegate share
 *
 * An external delegate is a library that TensorFlow Lite loads; the two meet in structs, which carry
 * neither a size nor a version. Their layouts are facts of 64-bit Linux, written down here from
 * TensorFlow 2.9.0 (its C headers common and builtin_op_data, in tensorflow/lite/c) and compared with
 * LiteRT of 2026 (in tflite/core/c). Later releases appended: to lite_context functions, to
 * lite_registration the three members named below, to lite_delegate one; lite_tensor, lite_node,
 * lite_delegate_params and the arrays are equal in both.
 *
 * So of what the host owns only what 2.9 has is declared, and read. What the delegate owns is declared as
 * the newest is, and what 2.9 lacks stays zero: an older host reads its own prefix. A registration is
 * passed by value; where structs of that size are passed in memory, as x86-64, AArch64 and RISC-V do,
 * the prefix lies where an older host looks.
 *
 * The params of an operation (builtin_data) have had the members declared here since 2.9. Those that
 * are newer have the version of the operation that brought them beside them: they are read for operations
 * of that version alone, whose host has them. */
#ifndef NN_TFLITE_ABI_H
#define NN_TFLITE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- arrays and tensors -------------------------------------------------------- */

enum lite_status { LITE_OK = 0, LITE_ERROR = 1 };

struct lite_ints {
    int size;
    int data[];
};

struct lite_floats {
    int size;
    float data[];
};

enum lite_type {
    LITE_FLOAT32 = 1,
    LITE_INT32 = 2,
    LITE_UINT8 = 3,
    LITE_INT64 = 4,
    LITE_BOOL = 6,
    LITE_INT16 = 7,
    LITE_COMPLEX64 = 8,
    LITE_INT8 = 9,
    LITE_FLOAT16 = 10,
};

/* Whose memory a tensor's data is: the first is the model's, the second grows while the graph runs. */
enum lite_allocation { LITE_MMAP_RO = 1, LITE_DYNAMIC = 4 };

enum lite_quantization_type { LITE_QUANTIZATION_NONE = 0, LITE_QUANTIZATION_AFFINE = 1 };

struct lite_affine {
    struct lite_floats *scale;
    struct lite_ints *zero_point;
    int32_t quantized_dimension;
};

struct lite_quantization {
    int32_t type; /* enum lite_quantization_type */
    void *params; /* struct lite_affine */
};

/* The older form, for tensors that have one scale. */
struct lite_scale {
    float scale;
    int32_t zero_point;
};

struct lite_delegate;

struct lite_tensor {
    int32_t type; /* enum lite_type and others */
    void *data;
    struct lite_ints *dims;
    struct lite_scale params;
    int32_t allocation_type; /* enum lite_allocation and others */
    size_t bytes;
    const void *allocation;
    const char *name;
    struct lite_delegate *delegate;
    int buffer_handle;
    bool data_is_stale;
    bool is_variable;
    struct lite_quantization quantization;
    void *sparsity;
    const struct lite_ints *dims_signature;
};

/* -- nodes --------------------------------------------------------------------- */

struct lite_node {
    struct lite_ints *inputs; /* numbers of tensors; -1: left out */
    struct lite_ints *outputs;
    struct lite_ints *intermediates;
    struct lite_ints *temporaries;
    void *user_data; /* what init() of its registration returned */
    void *builtin_data;
    const void *custom_initial_data;
    int custom_initial_data_size;
    struct lite_delegate *delegate;
    bool might_have_side_effect;
};

struct lite_context;

/* What a node does. A builtin one has no custom_name. */
struct lite_registration {
    void *(*init)(struct lite_context *context, const char *buffer, size_t length);
    void (*free)(struct lite_context *context, void *buffer);
    int (*prepare)(struct lite_context *context, struct lite_node *node);
    int (*invoke)(struct lite_context *context, struct lite_node *node);
    const char *(*profiling_string)(const struct lite_context *context,
                                    const struct lite_node *node);
    int32_t builtin_code;
    const char *custom_name;
    int version;
    /* not in 2.9: written, never read */
    void *registration_external;
    void *async_kernel;
    uint64_t inplace_operator;
};

/* builtin_data of a node that stands for several, and what its init() gets. */
struct lite_delegate_params {
    struct lite_delegate *delegate;
    struct lite_ints *nodes_to_replace;
    struct lite_ints *input_tensors;
    struct lite_ints *output_tensors;
};

/* -- the interpreter ----------------------------------------------------------- */

/* Of a subgraph. Nodes can be asked for, and replaced, in Prepare() of a delegate only. */
struct lite_context {
    size_t tensors_size;
    int (*GetExecutionPlan)(struct lite_context *context, struct lite_ints **plan);
    struct lite_tensor *tensors; /* moves when tensors are added */
    void *impl;
    int (*ResizeTensor)(struct lite_context *context, struct lite_tensor *tensor,
                        struct lite_ints *shape);
    void (*ReportError)(struct lite_context *context, const char *format, ...)
        __attribute__((__format__(__printf__, 2, 3)));
    int (*AddTensors)(struct lite_context *context, int n, int *first);
    int (*GetNodeAndRegistration)(struct lite_context *context, int node,
                                  struct lite_node **ret_node,
                                  struct lite_registration **ret_registration);
    int (*ReplaceNodeSubsetsWithDelegateKernels)(struct lite_context *context,
                                                 struct lite_registration registration,
                                                 const struct lite_ints *nodes,
                                                 struct lite_delegate *delegate);
    int recommended_num_threads;
    void *(*GetExternalContext)(struct lite_context *context, int type);
    void (*SetExternalContext)(struct lite_context *context, int type, void *external);
    bool allow_fp32_relax_to_fp16;
    void *profiler;
    void *(*AllocatePersistentBuffer)(struct lite_context *context, size_t n_bytes);
    int (*AllocateBufferForEval)(struct lite_context *context, size_t n_bytes, void **ret);
    int (*RequestScratchBufferInArena)(struct lite_context *context, size_t n_bytes, int *ret);
    void *(*GetScratchBuffer)(struct lite_context *context, int index);
    int (*ResizeTensorExplicit)(struct lite_context *context, struct lite_tensor *tensor, int n,
                                const int *shape);
    /* What ReplaceNodeSubsetsWithDelegateKernels() would make of nodes; valid until the next call. */
    int (*PreviewDelegatePartitioning)(struct lite_context *context, const struct lite_ints *nodes,
                                       struct lite_delegate_params **ret_partitions, int *ret_n);
    struct lite_tensor *(*GetTensor)(const struct lite_context *context, int tensor);
    void *(*GetEvalTensor)(const struct lite_context *context, int tensor);
    int (*GetModelMetadata)(const struct lite_context *context, const char *name,
                            const char **ret_data, size_t *ret_n);
};

enum lite_delegate_flags {
    LITE_ALLOW_DYNAMIC_TENSORS = 1,
    LITE_REQUIRE_PROPAGATED_SHAPES = 2, /* the original nodes are prepared, too, after a resizing */
};

struct lite_delegate {
    void *data;
    int (*Prepare)(struct lite_context *context, struct lite_delegate *delegate);
    int (*CopyFromBufferHandle)(struct lite_context *context, struct lite_delegate *delegate,
                                int handle, struct lite_tensor *tensor);
    int (*CopyToBufferHandle)(struct lite_context *context, struct lite_delegate *delegate,
                              int handle, struct lite_tensor *tensor);
    void (*FreeBufferHandle)(struct lite_context *context, struct lite_delegate *delegate,
                             int *handle);
    int64_t flags;
    /* not in 2.9: written, never read */
    void *opaque_delegate_builder;
};

/* The builtin_code of a node that stands for several. */
enum { LITE_DELEGATE_CODE = 51 };

/* -- params of operations (builtin_data) ------------------------------------------ */

enum lite_padding { LITE_PADDING_SAME = 1, LITE_PADDING_VALID = 2 };

struct lite_conv {
    int32_t padding; /* enum lite_padding */
    int32_t stride_w, stride_h;
    int32_t activation;
    int32_t dilation_w, dilation_h; /* also of version 1 */
};

struct lite_pool {
    int32_t padding;
    int32_t stride_w, stride_h, filter_w, filter_h;
    int32_t activation;
};

struct lite_depthwise {
    int32_t padding;
    int32_t stride_w, stride_h, depth_multiplier;
    int32_t activation;
    int32_t dilation_w, dilation_h; /* version 2 */
};

struct lite_transpose_conv {
    int32_t padding;
    int32_t stride_w, stride_h;
    int32_t activation; /* version 4, which 2.9 does not have */
};

struct lite_fully_connected {
    int32_t activation;
    int32_t weights_format; /* version 2 */
};

struct lite_batch_matmul {
    bool adj_x, adj_y;
};

struct lite_svdf {
    int32_t rank;
    int32_t activation;
};

/* Sequences of RNN cells; a single cell has the activation alone. */
struct lite_sequence_rnn {
    bool time_major;
    int32_t activation;
};

struct lite_lstm {
    int32_t activation;
    float cell_clip, proj_clip;
    int32_t kernel_type; /* version 2: 0 full, 1 basic */
};

struct lite_sequence_lstm {
    int32_t activation;
    float cell_clip, proj_clip;
    bool time_major;
};

struct lite_bidirectional_lstm {
    int32_t activation;
    float cell_clip, proj_clip;
    bool merge_outputs;
    bool time_major; /* version 2 */
};

struct lite_local_response {
    int32_t radius;
    float bias, alpha, beta;
};

struct lite_concatenation {
    int32_t axis;
    int32_t activation;
};

struct lite_resize {
    bool align_corners;
    bool half_pixel_centers;
};

struct lite_gather {
    int32_t axis;
    int32_t batch_dims;
};

/* PACK and UNPACK. */
struct lite_pack {
    int32_t count;
    int32_t axis;
};

struct lite_strided_slice {
    int32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    bool offset; /* version 8, which 2.9 does not have */
};

/* ADD and SUB. */
struct lite_sum {
    int32_t activation;
    bool pot_scale_int16; /* version 3 of ADD, 5 of SUB */
};

/* Params of one number: a fused activation, a softmax's beta, a leaky ReLU's alpha, a block size, a
 * mode, or whether a reduction keeps its dimensions. */
union lite_number {
    int32_t integer;
    float real;
    bool flag;
};

#endif
