/* SPDX-License-Identifier: Apache-2.0 */
/* tflite-info.h - what a .tflite file says of itself
 *
 * Describes the inputs, outputs and operations of a file without building a model of it, so also of
 * one that NNAPI cannot run, together with what its author wrote into its metadata: how inputs are
 * normalized, what classes are called, how scores are calibrated. The metadata are those of
 * TensorFlow Lite (a buffer TFLITE_METADATA with the identifier M001); the files that they name lie in
 * a zip archive behind the model.
 *
 * Metadata say nothing that a model needs: where they are missing or damaged the rest is described
 * all the same, and nnhal_tflite_info_complaint() says what could not be read.
 *
 * Threads: an object may be used by any number of threads at a time. All that is returned belongs to
 * the object, and lives as long. */
#ifndef NNHAL_TFLITE_INFO_H
#define NNHAL_TFLITE_INFO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nnhal_tflite_info;

/* An input or output, in the file's order. Texts are "" where the file says nothing. */
struct nnhal_tflite_description {
    const char *name;
    const char *type; /* "float32", "int8", ...: as in the file */
    uint32_t n_dimensions;
    const uint32_t *dimensions; /* open ones as the file's shape has them, mostly 1 */
    float scale;                /* 0: not quantized */
    int32_t zero_point;

    const char *title, *text;  /* of the metadata: a name for people, a description */
    uint32_t n_means;          /* 0: nothing is said; 1: of all channels; else by channel */
    const float *means;        /* a value of 0 to 255 becomes (value - mean) / deviation */
    const float *deviations;   /* as many; none is 0 */
    uint32_t n_labels;         /* 0: no names of classes */
    const char *const *labels; /* by class */
    uint32_t sample_rate;      /* of a sound, in a second; 0: nothing is said */
    uint32_t n_channels;       /* of a sound; 0: nothing is said */
};

/* What is said of the whole file. */
struct nnhal_tflite_origin {
    const char *name, *text, *version, *author, *license;
};

/* nnhal_tflite_info_read() - describes the file at path. message (message_size bytes; may be NULL
 * with 0) gets a sentence on failure.
 * Returns: 0; -ENOENT and the like if the file cannot be read; -EINVAL if it is not an intact
 * .tflite file; -ENOMEM. */
int nnhal_tflite_info_read(const char *path, struct nnhal_tflite_info **ret_info, char *message,
                           size_t message_size);

void nnhal_tflite_info_free(struct nnhal_tflite_info *info);

/* nnhal_tflite_info_complaint() - what of the metadata could not be read, and why.
 * Returns: a sentence, or NULL: there is nothing to complain about. */
const char *nnhal_tflite_info_complaint(const struct nnhal_tflite_info *info);

const struct nnhal_tflite_origin *nnhal_tflite_info_origin(const struct nnhal_tflite_info *info);

uint32_t nnhal_tflite_info_n_inputs(const struct nnhal_tflite_info *info);
uint32_t nnhal_tflite_info_n_outputs(const struct nnhal_tflite_info *info);

/* nnhal_tflite_info_input(), nnhal_tflite_info_output() - NULL if the index is out of range. */
const struct nnhal_tflite_description *nnhal_tflite_info_input(const struct nnhal_tflite_info *info,
                                                               uint32_t index);
const struct nnhal_tflite_description *
nnhal_tflite_info_output(const struct nnhal_tflite_info *info, uint32_t index);

/* nnhal_tflite_info_operation() - "CONV_2D", or what the file calls an operation of its own; NULL if
 * the index is out of range. */
uint32_t nnhal_tflite_info_n_operations(const struct nnhal_tflite_info *info);
const char *nnhal_tflite_info_operation(const struct nnhal_tflite_info *info, uint32_t index);

/* nnhal_tflite_info_score() - the score of a class of an output as its metadata calibrate it:
 * scale / (1 + e^-(slope * g(score) + offset)), where g is the identity, the logarithm or the
 * inverse of the logistic function, and the other numbers are of the class; the default where it has
 * none or the score is below its minimum (ScoreCalibrationOptions of the format).
 * Returns: score itself for an output without calibration, or out of range. */
double nnhal_tflite_info_score(const struct nnhal_tflite_info *info, uint32_t output,
                               uint32_t class_index, double score);

#ifdef __cplusplus
}
#endif

#endif
