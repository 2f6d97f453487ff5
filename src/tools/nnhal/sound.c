/* SPDX-License-Identifier: Apache-2.0 */
#include "sound.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool sound_is_named(const char *path)
{
    size_t n = strlen(path);

    return n >= 4 && strcasecmp(path + n - 4, ".wav") == 0;
}

/* Returns: the number of samples that the first input takes; 0: it takes no sound. */
static size_t piece_of(const struct session *session)
{
    const struct nnhal_tflite_tensor *input = nnhal_tflite_input(session->net, 0);
    uint32_t rank = input ? input->n_dimensions : 0;

    if (rank < 1 || rank > 2 || (rank == 2 && input->dimensions[0] != 1) ||
        input->type != ANEURALNETWORKS_TENSOR_FLOAT32 || input->dimensions[rank - 1] < 2)
        return 0;
    return input->dimensions[rank - 1];
}

/* A FIFO is opened without waiting for who writes to it, and refused then. */
static FILE *open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");

    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* Returns: NULL, or a sentence. */
static const char *read_file(const char *path, struct sound *sound)
{
    FILE *file = open_file(path);
    const char *wrong = NULL;
    struct stat info;
    size_t n = 0;

    if (!file)
        return strerror(errno);
    if (fstat(fileno(file), &info) < 0 || !S_ISREG(info.st_mode))
        wrong = "it is not a regular file";
    else if (info.st_size > WAV_MAX_FILE_BYTES)
        wrong = "it is longer than 256 MiB";
    else if (!(sound->bytes = malloc((size_t)info.st_size + 1)))
        wrong = "out of memory";
    else
        n = fread(sound->bytes, 1, (size_t)info.st_size, file);
    if (!wrong && ferror(file))
        wrong = "it cannot be read";
    fclose(file);
    return wrong ? wrong : wav_parse(sound->bytes, n, &sound->wav);
}

/* What the model's metadata say against it. */
static int check_rate(const struct nnhal_tflite_description *input, const char *path,
                      struct sound *sound)
{
    sound->is_assumed = !input || input->sample_rate == 0;
    if (input && input->n_channels > 1)
        return tool_error(TOOL_BAD_FILE, "%s: the model wants %u channels; sounds are given as one",
                          path, input->n_channels);
    if (sound->is_assumed || input->sample_rate == sound->wav.rate)
        return TOOL_OK;
    return tool_error(TOOL_BAD_FILE,
                      "%s: it has %u samples a second, and the model wants %u: "
                      "sox %s -r %u out.wav converts it",
                      path, sound->wav.rate, input->sample_rate, path, input->sample_rate);
}

int sound_open(const struct session *session, const struct nnhal_tflite_info *info,
               const char *path, struct sound *ret_sound)
{
    const char *wrong;

    *ret_sound = (struct sound){.piece_frames = piece_of(session)};
    if (!ret_sound->piece_frames)
        return tool_error(
            TOOL_USAGE, "%s: the model's first input is no sound: a row of float32 samples", path);
    wrong = read_file(path, ret_sound);
    if (wrong)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, wrong);
    ret_sound->n_pieces = (ret_sound->wav.n_frames - 1) / ret_sound->piece_frames + 1;
    return check_rate(nnhal_tflite_info_input(info, 0), path, ret_sound);
}

void sound_use(struct session *session, const struct sound *sound, size_t piece)
{
    wav_mix(&sound->wav, piece * sound->piece_frames, sound->piece_frames,
            (float *)(void *)session->inputs[0].data);
}

double sound_place_s(const struct sound *sound, size_t piece)
{
    return (double)(piece * sound->piece_frames) / sound->wav.rate;
}

void sound_close(struct sound *sound)
{
    free(sound->bytes);
    *sound = (struct sound){0};
}
