/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/nnhal/wav.h"

#include "support/check-main.h"

#include <string.h>

enum { HEAD_BYTES = 44 };

static void put(uint8_t *bytes, uint32_t value, int n)
{
    for (int i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

/* A file around samples: the chunks "fmt " and "data". */
static size_t put_file(uint8_t *bytes, uint32_t kind, uint32_t n_channels, const void *samples,
                       size_t n_bytes)
{
    uint32_t n_bits = kind == 3 ? 32 : 16;

    memcpy(bytes, "RIFF....WAVEfmt ", 16);
    put(bytes + 4, (uint32_t)(HEAD_BYTES - 8 + n_bytes), 4);
    put(bytes + 16, 16, 4);
    put(bytes + 20, kind, 2);
    put(bytes + 22, n_channels, 2);
    put(bytes + 24, 16000, 4);
    put(bytes + 28, 16000 * n_channels * n_bits / 8, 4);
    put(bytes + 32, n_channels * n_bits / 8, 2);
    put(bytes + 34, n_bits, 2);
    memcpy(bytes + 36, "data", 4);
    put(bytes + 40, (uint32_t)n_bytes, 4);
    memcpy(bytes + HEAD_BYTES, samples, n_bytes);
    return HEAD_BYTES + n_bytes;
}

TEST(pcm_is_scaled_and_mixed)
{
    static const int16_t stereo[] = {-32768, -32768, 16384, 0, 0, 32767};
    uint8_t bytes[128];
    float samples[5];
    struct wav wav;

    ck_assert_ptr_null(wav_parse(bytes, put_file(bytes, 1, 2, stereo, sizeof(stereo)), &wav));
    ck_assert_uint_eq(wav.rate, 16000);
    ck_assert_uint_eq(wav.n_channels, 2);
    ck_assert_uint_eq(wav.n_frames, 3);
    wav_mix(&wav, 0, 5, samples);
    ck_assert(samples[0] == -1 && samples[1] == 0.25f && samples[2] > 0.4999f);
    ck_assert(samples[3] == 0 && samples[4] == 0);
    wav_mix(&wav, 1, 1, samples);
    ck_assert(samples[0] == 0.25f);
    wav_mix(&wav, 7, 1, samples);
    ck_assert(samples[0] == 0);
}
TEST_END

TEST(floats_are_taken_as_they_are)
{
    static const float mono[] = {0.5f, -2, 1e-6f};
    uint8_t bytes[128];
    float samples[3];
    struct wav wav;

    ck_assert_ptr_null(wav_parse(bytes, put_file(bytes, 3, 1, mono, sizeof(mono)), &wav));
    wav_mix(&wav, 0, 3, samples);
    ck_assert_int_eq(memcmp(samples, mono, sizeof(mono)), 0);
}
TEST_END

TEST(other_chunks_are_passed_over)
{
    static const int16_t mono[] = {1, 2};
    uint8_t bytes[128], longer[160];
    size_t n = put_file(bytes, 1, 1, mono, sizeof(mono));
    struct wav wav;

    /* Before the samples, with an odd length and the byte that fills it up. */
    memcpy(longer, bytes, 36);
    memcpy(longer + 36, "LIST\3\0\0\0abc", 12);
    memcpy(longer + 48, bytes + 36, n - 36);
    ck_assert_ptr_null(wav_parse(longer, n + 12, &wav));
    ck_assert_uint_eq(wav.n_frames, 2);
}
TEST_END

TEST(what_is_refused)
{
    static const int16_t mono[] = {1, 2};
    uint8_t good[128], bytes[128];
    size_t n = put_file(good, 1, 1, mono, sizeof(mono));
    const struct {
        size_t at;
        uint8_t value;
        const char *says;
    } faults[] = {
        {0, 'X', "no WAVE"},    {8, 'X', "no WAVE"},     {20, 2, "PCM of 16"},
        {34, 8, "PCM of 16"},   {22, 0, "no channels"},  {22, 33, "more than 32"},
        {32, 3, "contradicts"}, {16, 200, "cut short"},  {40, 5, "cut short"},
        {40, 0, "no samples"},  {36, 'x', "no samples"}, {12, 'x', "before their format"},
    };
    struct wav wav;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const char *wrong;

        memcpy(bytes, good, n);
        bytes[faults[i].at] = faults[i].value;
        wrong = wav_parse(bytes, n, &wav);
        ck_assert_msg(wrong && strstr(wrong, faults[i].says), "fault %zu: %s", i,
                      wrong ? wrong : "taken");
    }
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_ptr_nonnull(wav_parse(good, cut, &wav));
}
TEST_END

CHECK_MAIN("wav", pcm_is_scaled_and_mixed, floats_are_taken_as_they_are,
           other_chunks_are_passed_over, what_is_refused)
