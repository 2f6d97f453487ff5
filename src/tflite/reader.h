/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - a .tflite file as a graph
 *
 * The one place that knows the format (schema.fbs). The file is read into private memory,
 * checked whole by FlatBuffers' verifier, and then described by the structs of
 * graph.h, which borrow from the file's bytes. Constants lie in the file, but for those that are
 * sparse there: these are made dense, and what DENSIFY makes of them is a constant, too. A composite,
 * an operator with a subgraph that computes the same, is described as that subgraph's operators, which
 * have the composite's number; if the two do not fit each other, as itself. */
#ifndef NN_TFLITE_READER_H
#define NN_TFLITE_READER_H

#include "tflite/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The custom options of TFLite_Detection_PostProcess. */
struct tfl_detection {
    int32_t max_detections, max_classes_per_detection, detections_per_class, n_classes;
    float score_threshold, iou_threshold, y_scale, x_scale, h_scale, w_scale;
    bool use_regular_nms;
};

struct tfl_file {
    uint8_t *bytes;
    size_t n_bytes;
    struct tfl_graph graph;
    void *
        *blocks; /* what is not in the file: constants that are sparse there, lists of composites */
    size_t n_blocks, n_block_bytes;
    size_t n_entries; /* of lists, as often as they were read */
};

/* tfl_file_parse() - describes bytes (malloc'ed; consumed, also on failure).
 * Returns: 0, or with a sentence in message -EINVAL, -ENOMEM. */
int tfl_file_parse(uint8_t *bytes, size_t n_bytes, struct tfl_file *ret_file, char *message,
                   size_t message_size);

/* tfl_file_done() - frees what tfl_file_parse() made. */
void tfl_file_done(struct tfl_file *file);

/* tfl_file_metadata() - the buffer that the author's description lies in, in the file's bytes.
 * Returns: NULL if the file has none. */
const uint8_t *tfl_file_metadata(const struct tfl_file *file, size_t *ret_n_bytes);

/* tfl_code_name() - "CONV_2D" for the BuiltinOperator 3; "" for a number that is none. */
const char *tfl_code_name(int32_t code);

/* tfl_detection_parse() - the custom options (a FlexBuffer), verified.
 * Returns: whether they are intact. */
bool tfl_detection_parse(const uint8_t *bytes, size_t n_bytes, struct tfl_detection *ret_options);

#ifdef __cplusplus
}
#endif

#endif
