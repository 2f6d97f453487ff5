/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"
#include "hal/stream.h"

#include "base/arena.h"
#include "base/sys.h"
#include "hal/messages.h"

#include <check.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MAX_IDS = 256, /* in one stream, and in one message */
};

struct replay {
    const char *path;
    struct nn_hal_channel *channel;
    uint32_t minor;
    FILE *in;
    struct nn_arena arena; /* of one call */

    size_t n_files;
    struct {
        int fd;
        uint8_t *bytes;
        size_t size;
    } files[STREAM_MAX_FILES];

    size_t n_ids;
    struct {
        bool is_token;
        uint64_t then, now;
    } ids[MAX_IDS];

    uint32_t number; /* of the last call, and what it brought */
    uint32_t status;
    struct nn_codec_buffer reply;
    int n_calls;
};

/* -- reading --------------------------------------------------------------------- */

static bool get(struct replay *replay, void *bytes, size_t n)
{
    return fread(bytes, 1, n, replay->in) == n;
}

static uint32_t get_u32(struct replay *replay)
{
    uint32_t value;

    ck_assert_msg(get(replay, &value, sizeof(value)), "%s is cut", replay->path);
    return le32toh(value);
}

static uint64_t get_u64(struct replay *replay)
{
    uint64_t value;

    ck_assert_msg(get(replay, &value, sizeof(value)), "%s is cut", replay->path);
    return le64toh(value);
}

static uint8_t *get_bytes(struct replay *replay, uint32_t *ret_n)
{
    uint32_t n = get_u32(replay);
    uint8_t *bytes = nn_arena_alloc(&replay->arena, n);

    ck_assert_msg(get(replay, bytes, n), "%s is cut", replay->path);
    *ret_n = n;
    return bytes;
}

/* -- ids, and tokens of buffers ------------------------------------------------------ */

struct id_list {
    size_t n;
    struct id_place {
        void *at;
        bool is_token;
    } ids[MAX_IDS];
};

static uint64_t get_id(const struct id_place *place)
{
    uint64_t id;
    uint32_t token;

    if (place->is_token) {
        memcpy(&token, place->at, sizeof(token));
        return token;
    }
    memcpy(&id, place->at, sizeof(id));
    return id;
}

static void set_id(const struct id_place *place, uint64_t id)
{
    uint32_t token = (uint32_t)id;

    if (place->is_token)
        memcpy(place->at, &token, sizeof(token));
    else
        memcpy(place->at, &id, sizeof(id));
}

/* Not a hint's, which has a sign, nor a cache's, which has 32 bytes. */
static bool is_token(const struct nn_codec_field *field)
{
    return field->kind == NN_CODEC_U32 && field->form == NN_CODEC_ONE &&
           strcmp(field->name, "token") == 0;
}

static void list_ids(struct id_list *list, const struct nn_codec_type *type, char *value);

static void list_ids_of(struct id_list *list, const struct nn_codec_field *field, char *value)
{
    size_t size = nn_codec_element_size(field);
    char *at = value + field->offset;
    uint32_t n = 1;

    if (field->form == NN_CODEC_ARRAY) {
        memcpy(&n, value + field->count, sizeof(n));
        memcpy(&at, value + field->offset, sizeof(at));
    }
    for (uint32_t i = 0; i < n; i++, at += size) {
        if (field->kind == NN_CODEC_STRUCT)
            list_ids(list, field->type, at);
        if (field->kind != NN_CODEC_ID && !is_token(field))
            continue;
        ck_assert_uint_lt(list->n, MAX_IDS);
        list->ids[list->n++] = (struct id_place){.at = at, .is_token = is_token(field)};
    }
}

static void list_ids(struct id_list *list, const struct nn_codec_type *type, char *value)
{
    for (size_t i = 0; i < type->n_fields; i++)
        list_ids_of(list, &type->fields[i], value);
}

/* Ids that were never given (made up by the client) stay as they are. */
static uint64_t id_now(const struct replay *replay, bool of_token, uint64_t then)
{
    for (size_t i = 0; i < replay->n_ids; i++)
        if (replay->ids[i].is_token == of_token && replay->ids[i].then == then)
            return replay->ids[i].now;
    return then;
}

static void learn_ids(struct replay *replay, const struct nn_codec_type *type, void *then,
                      void *now)
{
    struct id_list list_then = {.n = 0}, list_now = {.n = 0};

    list_ids(&list_then, type, then);
    list_ids(&list_now, type, now);
    ck_assert_uint_eq(list_then.n, list_now.n);
    for (size_t i = 0; i < list_then.n; i++) {
        ck_assert_uint_lt(replay->n_ids, MAX_IDS);
        ck_assert_msg(!get_id(&list_then.ids[i]) == !get_id(&list_now.ids[i]), "%s", replay->path);
        replay->ids[replay->n_ids].is_token = list_then.ids[i].is_token;
        replay->ids[replay->n_ids].then = get_id(&list_then.ids[i]);
        replay->ids[replay->n_ids++].now = get_id(&list_now.ids[i]);
    }
}

/* -- comparing ------------------------------------------------------------------- */

/* What a later version may say otherwise. */
static bool may_differ(const struct nn_codec_field *field)
{
    static const char *const names[] = {
        "message", "version", "n_extensions",      "extensions",
        "pid",     "token",   "time_on_device_ns", "time_in_driver_ns",
    };

    if (field->kind == NN_CODEC_ID || field->kind == NN_CODEC_F32)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(field->name, names[i]) == 0)
            return true;
    return false;
}

static void compare(const struct nn_codec_type *type, const char *then, const char *now);

static void compare_field(const struct nn_codec_field *field, const char *then, const char *now)
{
    size_t size = nn_codec_element_size(field);
    const char *a = then + field->offset, *b = now + field->offset;
    uint32_t n = field->form == NN_CODEC_FIXED ? (uint32_t)field->count : 1;

    if (may_differ(field))
        return;
    if (field->form == NN_CODEC_ARRAY) {
        memcpy(&n, then + field->count, sizeof(n)); /* compared: a field before this one */
        memcpy(&a, then + field->offset, sizeof(a));
        memcpy(&b, now + field->offset, sizeof(b));
    }
    for (uint32_t i = 0; i < n; i++, a += size, b += size) {
        if (field->kind == NN_CODEC_STRUCT)
            compare(field->type, a, b);
        else if (field->kind == NN_CODEC_STRING)
            ck_assert_pstr_eq(*(const char *const *)(const void *)a,
                              *(const char *const *)(const void *)b);
        else if (field->kind == NN_CODEC_FD)
            ck_assert_msg((*(const int32_t *)(const void *)a < 0) ==
                              (*(const int32_t *)(const void *)b < 0),
                          "%s: a descriptor", field->name);
        else if (field->kind != NN_CODEC_BYTES)
            ck_assert_msg(memcmp(a, b, size) == 0, "%s differs", field->name);
    }
}

static void compare(const struct nn_codec_type *type, const char *then, const char *now)
{
    for (size_t i = 0; i < type->n_fields; i++)
        compare_field(&type->fields[i], then, now);
}

/* -- records --------------------------------------------------------------------- */

static void do_file(struct replay *replay)
{
    size_t size = get_u64(replay), i = replay->n_files++;
    void *bytes = NULL;

    ck_assert_uint_lt(i, STREAM_MAX_FILES);
    replay->files[i].size = size;
    replay->files[i].fd = nn_sys_memfd_create("stream", true);
    ck_assert_int_eq(ftruncate(replay->files[i].fd, (off_t)size), 0);
    ck_assert_int_eq(
        fcntl(replay->files[i].fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    ck_assert_int_eq(
        nn_sys_mmap(size, PROT_READ | PROT_WRITE, MAP_SHARED, replay->files[i].fd, 0, &bytes), 0);
    replay->files[i].bytes = bytes;
}

/* A place in a file and the bytes of the record. */
static uint8_t *get_place(struct replay *replay, uint8_t **ret_bytes, uint32_t *ret_n)
{
    uint32_t file = get_u32(replay);
    uint64_t offset = get_u64(replay);

    *ret_bytes = get_bytes(replay, ret_n);
    ck_assert_uint_lt(file, replay->n_files);
    ck_assert_uint_le(offset + *ret_n, replay->files[file].size);
    return replay->files[file].bytes + offset;
}

static void do_write(struct replay *replay)
{
    uint8_t *bytes;
    uint32_t n;
    uint8_t *place = get_place(replay, &bytes, &n);

    memcpy(place, bytes, n);
}

static void do_expect(struct replay *replay)
{
    uint8_t *bytes;
    uint32_t n;
    const uint8_t *place = get_place(replay, &bytes, &n);

    ck_assert_msg(memcmp(place, bytes, n) == 0, "%s: the memory after call %d (%s) differs",
                  replay->path, replay->n_calls, nn_hal_methods[replay->number].name);
}

static void *decode(struct replay *replay, const struct nn_codec_type *type,
                    const struct nn_codec_message *message)
{
    void *value = nn_arena_alloc(&replay->arena, type->size);

    ck_assert_msg(nn_codec_decode(type, replay->minor, message, &replay->arena, value) == 0,
                  "%s: %s of call %d does not decode", replay->path, type->name, replay->n_calls);
    return value;
}

static void encode(struct replay *replay, const struct nn_codec_type *type, const void *value,
                   struct nn_codec_buffer *buffer)
{
    buffer->n_bytes = 0;
    buffer->n_fds = 0;
    ck_assert_int_eq(nn_codec_encode(type, replay->minor, value, buffer), 0);
}

static void do_call(struct replay *replay)
{
    int fds[NNHAL_MAX_FDS] = {0};
    struct nn_codec_message message = {.number = get_u32(replay), .fds = fds};
    struct nn_codec_buffer buffer = {.bytes = NULL};
    const struct nn_codec_type *type;
    struct id_list list = {.n = 0};
    uint32_t n;
    void *args;

    ck_assert_uint_lt(message.number, nn_hal_n_methods);
    type = nn_hal_methods[message.number].args;
    message.n_fds = get_u32(replay);
    ck_assert_uint_le(message.n_fds, NNHAL_MAX_FDS);
    for (size_t i = 0; i < message.n_fds; i++) {
        n = get_u32(replay);
        ck_assert_uint_lt(n, replay->n_files);
        fds[i] = replay->files[n].fd;
    }
    message.bytes = get_bytes(replay, &n);
    message.n_bytes = n;
    replay->number = message.number;
    replay->n_calls++;

    args = decode(replay, type, &message);
    encode(replay, type, args, &buffer);
    ck_assert_uint_eq(buffer.n_bytes, message.n_bytes);
    ck_assert_mem_eq(buffer.bytes, message.bytes, buffer.n_bytes);
    list_ids(&list, type, args);
    for (size_t i = 0; i < list.n; i++)
        set_id(&list.ids[i], id_now(replay, list.ids[i].is_token, get_id(&list.ids[i])));
    encode(replay, type, args, &buffer);
    message.serial = (uint64_t)replay->n_calls;
    message.bytes = buffer.bytes;
    message.n_bytes = buffer.n_bytes;
    ck_assert_msg(
        replay->channel->ops->call(replay->channel, &message, &replay->status, &replay->reply) == 0,
        "%s: call %d (%s) is not answered", replay->path, replay->n_calls,
        nn_hal_methods[replay->number].name);
    nn_codec_buffer_done(&buffer);
}

static void await_fences(const struct replay *replay)
{
    for (size_t i = 0; i < replay->reply.n_fds; i++) {
        struct pollfd fence = {.fd = replay->reply.fds[i], .events = POLLIN};

        ck_assert_int_eq(poll(&fence, 1, 60000), 1);
        ck_assert_int_eq(fence.revents & POLLIN, POLLIN);
    }
}

static void do_reply(struct replay *replay)
{
    const struct nn_hal_method_type *method = &nn_hal_methods[replay->number];
    struct nn_codec_message then = {.status = get_u32(replay)}, now;
    int fds[NNHAL_MAX_FDS] = {0};
    const struct nn_codec_type *type = &nn_codec_failure;
    void *value_then, *value_now;
    uint32_t n;

    then.n_fds = get_u32(replay);
    then.fds = fds;
    then.bytes = get_bytes(replay, &n);
    then.n_bytes = n;
    now = (struct nn_codec_message){.bytes = replay->reply.bytes,
                                    .n_bytes = replay->reply.n_bytes,
                                    .fds = replay->reply.fds,
                                    .n_fds = replay->reply.n_fds};
    ck_assert_msg(replay->status == then.status, "%s: call %d (%s): status %u, it was %u",
                  replay->path, replay->n_calls, method->name, replay->status, then.status);
    if (then.status == NNHAL_NONE || (method->also && then.status == method->also))
        type = method->reply;
    value_then = decode(replay, type, &then);
    value_now = decode(replay, type, &now);
    learn_ids(replay, type, value_then, value_now);
    compare(type, value_then, value_now);
    await_fences(replay);
    nn_codec_buffer_close(&replay->reply);
    nn_codec_buffer_done(&replay->reply);
    nn_arena_reset(&replay->arena);
}

static void do_record(struct replay *replay, uint32_t kind)
{
    switch (kind) {
    case STREAM_FILE:
        do_file(replay);
        break;
    case STREAM_WRITE:
        do_write(replay);
        break;
    case STREAM_CALL:
        do_call(replay);
        break;
    case STREAM_REPLY:
        do_reply(replay);
        break;
    case STREAM_EXPECT:
        do_expect(replay);
        break;
    default:
        ck_abort_msg("%s: no such record: %u", replay->path, kind);
    }
}

/* Opens the stream and reads its head. */
static void begin(struct replay *replay)
{
    char magic[8];

    replay->in = fopen(replay->path, "rb");
    ck_assert_msg(replay->in, "%s", replay->path);
    ck_assert(get(replay, magic, sizeof(magic)));
    ck_assert_mem_eq(magic, STREAM_MAGIC, sizeof(magic));
    ck_assert_uint_eq(get_u32(replay), NN_HAL_MAJOR);
    replay->minor = get_u32(replay);
    ck_assert_uint_le(replay->minor, NN_HAL_MINOR);
}

uint16_t stream_minor(const char *path)
{
    struct replay replay = {.path = path};

    begin(&replay);
    fclose(replay.in);
    return (uint16_t)replay.minor;
}

int stream_replay(const char *path, struct nn_hal_channel *channel)
{
    struct replay replay = {.path = path, .channel = channel};
    uint32_t kind;

    nn_arena_init(&replay.arena, 0);
    begin(&replay);
    channel->minor = replay.minor;
    while (get(&replay, &kind, sizeof(kind)))
        do_record(&replay, le32toh(kind));
    fclose(replay.in);
    for (size_t i = 0; i < replay.n_files; i++) {
        nn_sys_munmap(replay.files[i].bytes, replay.files[i].size);
        close(replay.files[i].fd);
    }
    nn_arena_done(&replay.arena);
    return replay.n_calls;
}
