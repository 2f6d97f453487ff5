/* SPDX-License-Identifier: Apache-2.0 */
#include "wav.h"

#include "little-endian.h"

#include <string.h>

enum {
    RIFF_BYTES = 12,
    CHUNK_BYTES = 8,
    FORMAT_BYTES = 16,
    EXTENSIBLE_BYTES = 40,
    PCM = 1,
    FLOAT = 3,
    EXTENSIBLE = 0xfffe,
};

static size_t frame_bytes(const struct wav *wav)
{
    return (size_t)wav->n_channels * (wav->is_float ? 4 : 2);
}

/* The chunk "fmt ". */
static const char *read_format(const uint8_t *p, size_t n, struct wav *wav)
{
    uint32_t kind, n_bits;

    if (n < FORMAT_BYTES)
        return "its format is cut short";
    kind = u16_at(p);
    n_bits = u16_at(p + 14);
    if (kind == EXTENSIBLE && n >= EXTENSIBLE_BYTES)
        kind = u16_at(p + 24); /* the subformat begins with it */
    wav->is_float = kind == FLOAT && n_bits == 32;
    if (!wav->is_float && (kind != PCM || n_bits != 16))
        return "only PCM of 16 bits and floats of 32 are read: sox -b 16 makes that";
    wav->n_channels = u16_at(p + 2);
    wav->rate = u32_at(p + 4);
    if (wav->n_channels < 1 || wav->n_channels > WAV_MAX_CHANNELS || wav->rate < 1)
        return "it has no channels, more than 32, or no sample rate";
    return u16_at(p + 12) == frame_bytes(wav) ? NULL : "its format contradicts itself";
}

const char *wav_parse(const uint8_t *bytes, size_t n_bytes, struct wav *ret_wav)
{
    struct wav wav = {.rate = 0};
    size_t at = RIFF_BYTES;

    if (n_bytes < RIFF_BYTES || memcmp(bytes, "RIFF", 4) != 0 || memcmp(bytes + 8, "WAVE", 4) != 0)
        return "it is no WAVE file";
    while (n_bytes - at >= CHUNK_BYTES) {
        const uint8_t *chunk = bytes + at;
        size_t n = u32_at(chunk + 4);
        bool is_data = memcmp(chunk, "data", 4) == 0;
        const char *wrong = NULL;

        at += CHUNK_BYTES;
        if (n > n_bytes - at)
            return is_data ? "its samples are cut short" : "it is cut short";
        if (memcmp(chunk, "fmt ", 4) == 0)
            wrong = read_format(bytes + at, n, &wav);
        else if (is_data && !wav.rate)
            wrong = "its samples stand before their format";
        if (wrong)
            return wrong;
        if (is_data) {
            wav.samples = bytes + at;
            wav.n_frames = n / frame_bytes(&wav);
            *ret_wav = wav;
            return wav.n_frames ? NULL : "it has no samples";
        }
        at += n;
        at += n % 2 && at < n_bytes; /* chunks begin at even places */
    }
    return "it has no samples";
}

static float sample_at(const struct wav *wav, const uint8_t *p)
{
    float value;

    if (!wav->is_float)
        return (float)(int16_t)u16_at(p) / 32768;
    memcpy(&value, p, sizeof(value));
    return value;
}

void wav_mix(const struct wav *wav, size_t first, size_t n, float *ret_samples)
{
    size_t step = frame_bytes(wav) / wav->n_channels;

    for (size_t i = 0; i < n; i++) {
        float sum = 0;

        for (uint32_t c = 0; c < wav->n_channels && first + i < wav->n_frames; c++)
            sum += sample_at(wav, wav->samples + (first + i) * frame_bytes(wav) + c * step);
        ret_samples[i] = sum / (float)wav->n_channels;
    }
}
