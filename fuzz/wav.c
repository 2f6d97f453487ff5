/* SPDX-License-Identifier: Apache-2.0 */
/* wav.c - any bytes as a sound: refused with a sentence, or samples */
#include "fuzz.h"
#include "tools/nnhal/wav.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    float samples[64];
    const char *wrong;
    struct wav wav;

    wrong = wav_parse(bytes, n_bytes, &wav);
    if (wrong) {
        FUZZ_CHECK(strlen(wrong) > 0);
        return 0;
    }
    FUZZ_CHECK(wav.rate > 0 && wav.n_frames > 0 && wav.n_frames <= n_bytes / 2);
    FUZZ_CHECK(wav.n_channels >= 1 && wav.n_channels <= WAV_MAX_CHANNELS);
    wav_mix(&wav, 0, 64, samples);
    wav_mix(&wav, wav.n_frames - 1, 64, samples);
    for (int i = 1; i < 64; i++)
        FUZZ_CHECK(samples[i] == 0);
    return 0;
}
