/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - a network as plain structs
 *
 * What the mapping onto NNAPI reads. What a .tflite file (reader.h) and an interpreter of
 * TensorFlow Lite have in common is described by the same structs, so that one mapping serves
 * both. Every index in them has been checked: tensors that an operator names exist, and constants
 * have the size that their shape says. The structs borrow: names, constants, scales and lists of
 * tensors belong to what the graph was read from. */
#ifndef NN_TFLITE_GRAPH_H
#define NN_TFLITE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values as in schema.fbs. */
enum tfl_type {
    TFL_FLOAT32 = 0,
    TFL_FLOAT16 = 1,
    TFL_INT32 = 2,
    TFL_UINT8 = 3,
    TFL_INT64 = 4,
    TFL_BOOL = 6,
    TFL_INT16 = 7,
    TFL_COMPLEX64 = 8,
    TFL_INT8 = 9,
};

enum { TFL_MAX_RANK = 8 };

#define TFL_NO_OFFSET SIZE_MAX

struct tfl_tensor {
    const char *name;
    int32_t type; /* enum tfl_type, or what the loader cannot use */
    uint32_t n_dimensions;
    uint32_t dimensions[TFL_MAX_RANK];
    const uint8_t *data; /* NULL: not a constant */
    size_t n_bytes;      /* of data */
    size_t file_offset;  /* of data, in the memory of constants; TFL_NO_OFFSET: not there */
    uint32_t n_scales;
    const float *scales;
    float scale;        /* 0: not quantized, or per channel */
    int32_t zero_point; /* of several scales: not 0 if one has one that is not */
    uint32_t quantized_dimension;
    bool is_variable;
    bool is_sparse;
};

/* What the operators' option tables say; what a table lacks is 0. */
struct tfl_options {
    int32_t padding; /* 0 SAME, 1 VALID */
    int32_t stride_w, stride_h, dilation_w, dilation_h, filter_w, filter_h;
    int32_t activation; /* 0 none, 1 relu, 2 relu_n1_to_1, 3 relu6, 4 tanh, 5 sign bit */
    int32_t axis, batch_dims, rank, kernel_type, mode, block_size, radius;
    int32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    float alpha, beta, bias, cell_clip, proj_clip;
    int32_t decomposition; /* of a composite: the subgraph */
    bool keep_dims, align_corners, half_pixel_centers, adj_x, adj_y, time_major, merge_outputs;
    bool is_shuffled, has_offset;
    bool may_shift; /* sums of 16 bits: scales that are powers of two are applied by shifts */
};

struct tfl_operator {
    uint32_t number;  /* in the file, or in the plan of an interpreter */
    int32_t code;     /* BuiltinOperator */
    const char *name; /* of the operation, for people */
    uint32_t n_inputs, n_outputs;
    const int32_t *inputs; /* tensors; -1: left out */
    const int32_t *outputs;
    uint32_t n_intermediates; /* tensors that say how a cell counts inside; -1: none */
    const int32_t *intermediates;
    struct tfl_options options;
    const uint8_t *custom_options;
    size_t n_custom_options;
};

/* The tensors that go in and come out are listed by number. */
struct tfl_graph {
    uint32_t n_tensors, n_operators, n_inputs, n_outputs;
    struct tfl_tensor *tensors;
    struct tfl_operator *operators;
    const int32_t *inputs, *outputs;
};

#ifdef __cplusplus
}
#endif

#endif
