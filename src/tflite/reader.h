/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - a .tflite file as plain structs
 *
 * The one place that knows FlatBuffers. The file is read into private memory,
 * checked whole by FlatBuffers' verifier, and then described by the structs
 * below, in which every index has been checked: tensors and buffers that an
 * operator names exist, constants lie in the file and have the size that their
 * shape says. The structs borrow from the file's bytes. */
#ifndef NN_TFLITE_READER_H
#define NN_TFLITE_READER_H

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
    TFL_INT8 = 9,
};

enum { TFL_MAX_RANK = 8 };

struct tfl_tensor {
    const char *name;
    int32_t type; /* enum tfl_type, or what the loader cannot use */
    uint32_t n_dimensions;
    uint32_t dimensions[TFL_MAX_RANK];
    const uint8_t *data; /* NULL: not a constant */
    size_t n_bytes;      /* of data */
    size_t file_offset;  /* of data */
    uint32_t n_scales;
    const float *scales;
    float scale; /* 0: not quantized, or per channel */
    int32_t zero_point;
    uint32_t quantized_dimension;
    bool is_variable;
    bool is_sparse;
};

/* What the operators' option tables say; what a table lacks is 0. */
struct tfl_options {
    int32_t padding; /* 0 SAME, 1 VALID */
    int32_t stride_w, stride_h, dilation_w, dilation_h, filter_w, filter_h, depth_multiplier;
    int32_t activation; /* 0 none, 1 relu, 2 relu_n1_to_1, 3 relu6, 4 tanh, 5 sign bit */
    int32_t axis, batch_dims, count, rank, kernel_type, mode, block_size, radius;
    int32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    float alpha, beta, bias, cell_clip, proj_clip;
    bool keep_dims, align_corners, half_pixel_centers, adj_x, adj_y, time_major, merge_outputs;
    bool is_shuffled, has_offset;
    const int32_t *list; /* new_shape or squeeze_dims */
    uint32_t n_list;
};

/* The custom options of TFLite_Detection_PostProcess. */
struct tfl_detection {
    int32_t max_detections, max_classes_per_detection, detections_per_class, n_classes;
    float score_threshold, iou_threshold, y_scale, x_scale, h_scale, w_scale;
    bool use_regular_nms;
};

struct tfl_operator {
    int32_t code; /* BuiltinOperator */
    int32_t version;
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

struct tfl_file {
    uint8_t *bytes;
    size_t n_bytes;
    uint32_t n_tensors, n_operators, n_inputs, n_outputs;
    struct tfl_tensor *tensors;
    struct tfl_operator *operators;
    const int32_t *inputs, *outputs;
};

/* tfl_file_parse() - describes bytes (malloc'ed; consumed, also on failure).
 * Returns: 0, -EINVAL with a sentence in message, -ENOMEM. */
int tfl_file_parse(uint8_t *bytes, size_t n_bytes, struct tfl_file *ret_file, char *message,
                   size_t message_size);

/* tfl_file_done() - frees what tfl_file_parse() made. */
void tfl_file_done(struct tfl_file *file);

/* tfl_detection_parse() - the custom options (a FlexBuffer), verified.
 * Returns: whether they are intact. */
bool tfl_detection_parse(const uint8_t *bytes, size_t n_bytes, struct tfl_detection *ret_options);

#ifdef __cplusplus
}
#endif

#endif
