/* SPDX-License-Identifier: Apache-2.0 */
/* wav.h - samples of sound in a WAVE file
 *
 * Read are PCM of 16 bits and floats of 32, little-endian, also in the extensible form of the format. The
 * bytes come from anywhere. */
#ifndef NN_TOOLS_NNHAL_WAV_H
#define NN_TOOLS_NNHAL_WAV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WAV_MAX_CHANNELS = 32, WAV_MAX_FILE_BYTES = 256 << 20 };

struct wav {
    uint32_t rate; /* frames a second; at least 1 */
    uint32_t n_channels;
    bool is_float;
    size_t n_frames;        /* a sample of each channel */
    const uint8_t *samples; /* lie in the file's bytes */
};

/* wav_parse() - the sound in n_bytes at bytes, which ret_wav borrows.
 * Returns: NULL, or a sentence that says what is wrong. */
const char *wav_parse(const uint8_t *bytes, size_t n_bytes, struct wav *ret_wav);

/* wav_mix() - n frames from one on, as the means of their channels, from -1 to 1 where they are PCM; zeros
 * behind the last. */
void wav_mix(const struct wav *wav, size_t first, size_t n, float *ret_samples);

#endif
