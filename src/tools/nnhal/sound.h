/* SPDX-License-Identifier: Apache-2.0 */
/* sound.h - a sound as a model's first input
 *
 * The input is a row of float samples of one channel. A longer sound is several pieces, one behind the
 * other, the last one filled up with silence. The model's metadata say how many samples a second it wants; where
 * they do not, those of the file are taken, and the user is told. */
#ifndef NN_TOOLS_NNHAL_SOUND_H
#define NN_TOOLS_NNHAL_SOUND_H

#include "session.h"
#include "wav.h"

#include <nnhal/tflite-info.h>

struct sound {
    uint8_t *bytes; /* of the file, malloc'ed */
    struct wav wav;
    size_t piece_frames; /* of the model's input */
    size_t n_pieces;
    bool is_assumed; /* that the model wants wav.rate */
};

/* sound_is_named() - whether a file's name says that it is one: .wav. */
bool sound_is_named(const char *path);

/* sound_open() - reads a file for a model. sound_close() is called in any case.
 * Returns: TOOL_OK, or a status with the complaint printed. */
int sound_open(const struct session *session, const struct nnhal_tflite_info *info,
               const char *path, struct sound *ret_sound);

/* sound_use() - fills the first input with a piece. */
void sound_use(struct session *session, const struct sound *sound, size_t piece);

/* sound_place_s() - where a piece begins, in seconds. */
double sound_place_s(const struct sound *sound, size_t piece);

void sound_close(struct sound *sound);

#endif
