/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"
#include "hal/stream.h"

#include "base/sys.h"
#include "hal/messages.h"

#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A memory as the recorder knows it: the bytes now, and when it last looked. */
struct file {
    ino_t inode;
    size_t size;
    uint8_t *now;
    uint8_t *before;
};

struct stream_recorder {
    FILE *out;
    size_t n_files;
    struct file files[STREAM_MAX_FILES];
};

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "recording: %s\n", what);
    exit(EXIT_FAILURE);
}

static void put_u32(struct stream_recorder *recorder, uint32_t value)
{
    value = htole32(value);
    fwrite(&value, sizeof(value), 1, recorder->out);
}

static void put_u64(struct stream_recorder *recorder, uint64_t value)
{
    value = htole64(value);
    fwrite(&value, sizeof(value), 1, recorder->out);
}

static void put_bytes(struct stream_recorder *recorder, const void *bytes, size_t n)
{
    put_u32(recorder, (uint32_t)n);
    if (n)
        fwrite(bytes, 1, n, recorder->out);
}

/* One record for what changed in a file since the last look, if anything did. */
static void look_at(struct stream_recorder *recorder, uint32_t index, enum stream_record kind)
{
    struct file *file = &recorder->files[index];
    size_t first = 0, last = file->size;

    while (first < file->size && file->now[first] == file->before[first])
        first++;
    while (last > first && file->now[last - 1] == file->before[last - 1])
        last--;
    if (first == last)
        return;
    put_u32(recorder, kind);
    put_u32(recorder, index);
    put_u64(recorder, first);
    put_bytes(recorder, file->now + first, last - first);
    memcpy(file->before + first, file->now + first, last - first);
}

static void look_at_all(struct stream_recorder *recorder, enum stream_record kind)
{
    for (uint32_t i = 0; i < recorder->n_files; i++)
        look_at(recorder, i, kind);
}

/* The file behind a descriptor, which may be new. */
static uint32_t find_file(struct stream_recorder *recorder, int fd)
{
    struct file *file;
    struct stat status;
    void *bytes = NULL;

    require(fstat(fd, &status) == 0, "a descriptor is not open");
    for (uint32_t i = 0; i < recorder->n_files; i++)
        if (recorder->files[i].inode == status.st_ino)
            return i;
    require(recorder->n_files < STREAM_MAX_FILES, "too many memories");
    file = &recorder->files[recorder->n_files];
    *file = (struct file){.inode = status.st_ino, .size = (size_t)status.st_size};
    require(nn_sys_mmap(file->size, PROT_READ, MAP_SHARED, fd, 0, &bytes) == 0,
            "a descriptor is no memory");
    file->now = bytes;
    file->before = calloc(1, file->size);
    require(file->before, "no memory");
    put_u32(recorder, STREAM_FILE);
    put_u64(recorder, file->size);
    return (uint32_t)recorder->n_files++;
}

static void on_call(void *ctx, const struct nn_codec_message *message)
{
    struct stream_recorder *recorder = ctx;
    uint32_t files[NNHAL_MAX_FDS];

    for (size_t i = 0; i < message->n_fds; i++)
        files[i] = find_file(recorder, message->fds[i]);
    look_at_all(recorder, STREAM_WRITE);
    put_u32(recorder, STREAM_CALL);
    put_u32(recorder, message->number);
    put_u32(recorder, (uint32_t)message->n_fds);
    for (size_t i = 0; i < message->n_fds; i++)
        put_u32(recorder, files[i]);
    put_bytes(recorder, message->bytes, message->n_bytes);
}

static void on_reply(void *ctx, const struct nn_codec_message *message)
{
    struct stream_recorder *recorder = ctx;

    for (size_t i = 0; i < message->n_fds; i++) {
        struct pollfd fence = {.fd = message->fds[i], .events = POLLIN};

        require(poll(&fence, 1, 60000) == 1, "a fence did not signal");
    }
    put_u32(recorder, STREAM_REPLY);
    put_u32(recorder, message->status);
    put_u32(recorder, (uint32_t)message->n_fds);
    put_bytes(recorder, message->bytes, message->n_bytes);
    look_at_all(recorder, STREAM_EXPECT);
}

struct stream_recorder *stream_recorder_new(const char *path)
{
    struct stream_recorder *recorder = calloc(1, sizeof(*recorder));

    require(recorder, "no memory");
    recorder->out = fopen(path, "wb");
    require(recorder->out, path);
    fwrite(STREAM_MAGIC, 8, 1, recorder->out);
    put_u32(recorder, NN_HAL_MAJOR);
    put_u32(recorder, NN_HAL_MINOR);
    return recorder;
}

struct loopback_observer stream_recorder_observer(struct stream_recorder *recorder)
{
    return (struct loopback_observer){.ctx = recorder, .call = on_call, .reply = on_reply};
}

void stream_recorder_free(struct stream_recorder *recorder)
{
    for (size_t i = 0; i < recorder->n_files; i++) {
        nn_sys_munmap(recorder->files[i].now, recorder->files[i].size);
        free(recorder->files[i].before);
    }
    require(fclose(recorder->out) == 0, "cannot write");
    free(recorder);
}
