/* SPDX-License-Identifier: Apache-2.0 */
/* notes.h - what the author of a .tflite file says about its tensors
 *
 * The metadata of the file (metadata.fbs), checked by FlatBuffers' verifier, as plain structs that
 * borrow from the metadata's bytes. The files that they name are attachments (attachment.h). */
#ifndef NN_TFLITE_NOTES_H
#define NN_TFLITE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What g of a calibration is: values as in metadata.fbs. */
enum tfl_transformation { TFL_IDENTITY = 0, TFL_LOG = 1, TFL_INVERSE_LOGISTIC = 2 };

struct tfl_note {
    const char *title, *text;         /* never NULL */
    const char *labels;               /* name of an attachment; NULL: there is none */
    const char *calibration;          /* the same */
    uint32_t sample_rate, n_channels; /* of a sound; 0: nothing is said */
    uint32_t n_means, n_deviations;
    const float *means, *deviations;
    enum tfl_transformation transformation;
    float default_score;
};

/* Notes of one file, malloc'ed arrays; as many as the metadata have. */
struct tfl_notes {
    const char *name, *text, *version, *author, *license; /* never NULL */
    uint32_t n_inputs, n_outputs;
    struct tfl_note *inputs, *outputs;
};

/* tfl_notes_parse() - describes bytes, which must be aligned to 4 and live as long.
 * Returns: 0, -EINVAL if they are not intact, -ENOMEM. */
int tfl_notes_parse(const uint8_t *bytes, size_t n_bytes, struct tfl_notes *ret_notes);

/* tfl_notes_done() - frees what tfl_notes_parse() made. */
void tfl_notes_done(struct tfl_notes *notes);

#ifdef __cplusplus
}
#endif

#endif
