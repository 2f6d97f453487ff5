/* SPDX-License-Identifier: Apache-2.0 */
/* tflite.h - a .tflite file as an NNAPI model
 *
 * Loads a TensorFlow Lite flatbuffer and builds the same network through the
 * public API, operation by operation as TensorFlow Lite's own NNAPI delegate
 * maps them. Large constants are not copied: they are taken from the file by
 * descriptor, so the file must not change while the model lives.
 *
 * Differences from TensorFlow Lite's interpreter: dimensions that a file leaves
 * open are those of the file's shape (1 where it has none); variable
 * tensors (the states of recurrent layers) start as zero in every execution;
 * 64-bit integer constants are narrowed to 32 bits; only one subgraph is run.
 *
 * Threads: an object may be used by any number of threads at a time. */
#ifndef NNHAL_TFLITE_H
#define NNHAL_TFLITE_H

#include <stddef.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nnhal_tflite;

/* An input or output of the model, in the file's order. */
struct nnhal_tflite_tensor {
    const char *name;
    /* ANEURALNETWORKS_TENSOR_...; above 65535 a type of nnhal.tflite, whose number is in the lower
     * 16 bits (nnhal/tflite-extension.h): an input or output of 64-bit integers. */
    int32_t type;
    uint32_t n_dimensions;
    const uint32_t *dimensions; /* 0: known only after an execution */
    uint64_t n_bytes;           /* 0 if a dimension is unknown */
    float scale;                /* 0: not quantized */
    int32_t zero_point;
};

/* nnhal_tflite_load() - reads the file at path and builds its finished model.
 * message (message_size bytes; may be NULL with 0) gets a sentence on failure: what
 * is damaged, or which operation cannot be mapped and why.
 * Returns: 0; -ENOENT and the like if the file cannot be read; -EINVAL if it is
 * not an intact .tflite file; -ENOTSUP if an operation cannot be mapped; -ENOMEM. */
int nnhal_tflite_load(const char *path, struct nnhal_tflite **ret_model, char *message,
                      size_t message_size);

/* nnhal_tflite_free() - also frees the model. Compilations of it stay valid. */
void nnhal_tflite_free(struct nnhal_tflite *model);

/* nnhal_tflite_model() - the finished model, borrowed. */
ANeuralNetworksModel *nnhal_tflite_model(const struct nnhal_tflite *model);

/* nnhal_tflite_input(), nnhal_tflite_output() - NULL if the index is out of range. */
uint32_t nnhal_tflite_n_inputs(const struct nnhal_tflite *model);
uint32_t nnhal_tflite_n_outputs(const struct nnhal_tflite *model);
const struct nnhal_tflite_tensor *nnhal_tflite_input(const struct nnhal_tflite *model,
                                                     uint32_t index);
const struct nnhal_tflite_tensor *nnhal_tflite_output(const struct nnhal_tflite *model,
                                                      uint32_t index);

/* nnhal_tflite_n_operations() - those of the NNAPI model: an operation of the file becomes several, one
 * or none. */
uint32_t nnhal_tflite_n_operations(const struct nnhal_tflite *model);

/* nnhal_tflite_origin() - which operation of the file an operation of the NNAPI model is of, by the
 * number that nnhal_tflite_info_operation() takes (nnhal/tflite-info.h).
 * Returns: UINT32_MAX if index is out of range. */
uint32_t nnhal_tflite_origin(const struct nnhal_tflite *model, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
