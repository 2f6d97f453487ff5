/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/grammar.h"

#include "base/arena.h"
#include "base/sys.h"
#include "codec/wire.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ELEMENTS = 6, /* of an array of numbers, that become spots */
};

struct grammar_walk {
    const struct nn_codec_buffer *message;
    uint32_t minor;
    size_t at;
    struct grammar_spot *spots;
    size_t n_spots;
};

uint32_t grammar_below(struct values *values, uint32_t n)
{
    return (uint32_t)(values_number(values) % n);
}

uint64_t grammar_read(const struct nn_codec_buffer *message, const struct grammar_spot *spot)
{
    uint64_t value = 0;

    memcpy(&value, message->bytes + spot->offset, spot->n_bytes);
    return le64toh(value);
}

void grammar_write(struct nn_codec_buffer *message, const struct grammar_spot *spot, uint64_t value)
{
    value = htole64(value);
    memcpy(message->bytes + spot->offset, &value, spot->n_bytes);
}

/* -- walking ---------------------------------------------------------------------------------- */

static size_t wire_bytes(const struct nn_codec_field *field)
{
    return field->kind == NN_CODEC_STRING || field->kind == NN_CODEC_BYTES
               ? 4
               : nn_codec_kind_size(field->kind);
}

static bool walk_number(struct grammar_walk *walk, const struct nn_codec_field *field,
                        bool is_noted, uint64_t *ret_value)
{
    struct grammar_spot spot = {field, walk->at, wire_bytes(field)};

    if (spot.n_bytes > walk->message->n_bytes - walk->at)
        return false;
    *ret_value = grammar_read(walk->message, &spot);
    walk->at += spot.n_bytes;
    if (is_noted && walk->n_spots < GRAMMAR_SPOTS)
        walk->spots[walk->n_spots++] = spot;
    return true;
}

static bool walk_struct(struct grammar_walk *walk, const struct nn_codec_type *type);

static bool walk_one(struct grammar_walk *walk, const struct nn_codec_field *field, bool is_noted,
                     uint64_t *ret_value)
{
    if (field->kind == NN_CODEC_STRUCT)
        return walk_struct(walk, field->type);
    if (!walk_number(walk, field, is_noted, ret_value))
        return false;
    if (wire_bytes(field) == nn_codec_kind_size(field->kind) || *ret_value == NN_CODEC_ABSENT)
        return true;
    if (*ret_value > walk->message->n_bytes - walk->at)
        return false;
    walk->at += (size_t)*ret_value;
    return true;
}

/* counts: what the counts of this struct said, by the place that they have in it. */
static bool walk_field(struct grammar_walk *walk, const struct nn_codec_type *type,
                       const struct nn_codec_field *field, uint32_t *counts)
{
    uint64_t n = field->form == NN_CODEC_FIXED ? field->count : 1, value = 0;

    if (field->minor > walk->minor)
        return true;
    if (field->form == NN_CODEC_ARRAY)
        for (size_t i = 0; i < type->n_fields; i++)
            if (type->fields[i].offset == field->count)
                n = counts[i];
    for (uint64_t i = 0; i < n; i++)
        if (!walk_one(walk, field, i < ELEMENTS, &value))
            return false;
    if (field->kind == NN_CODEC_COUNT)
        counts[field - type->fields] = (uint32_t)value;
    return true;
}

static bool walk_struct(struct grammar_walk *walk, const struct nn_codec_type *type)
{
    uint32_t counts[32] = {0};

    ck_assert_uint_le(type->n_fields, 32);
    for (size_t i = 0; i < type->n_fields; i++)
        if (!walk_field(walk, type, &type->fields[i], counts))
            return false;
    return true;
}

size_t grammar_scan(const struct nn_codec_type *type, uint32_t minor,
                    const struct nn_codec_buffer *message, struct grammar_spot *spots)
{
    struct grammar_walk walk = {.message = message, .minor = minor, .spots = spots};

    return walk_struct(&walk, type) ? walk.n_spots : 0;
}

/* -- spoiling --------------------------------------------------------------------------------- */

static uint64_t odd_number(struct values *values)
{
    static const uint64_t odd[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   255,
                                   4095,
                                   4096,
                                   65535,
                                   65536,
                                   1 << 20,
                                   INT32_MAX,
                                   UINT64_C(1) << 31,
                                   UINT32_MAX,
                                   UINT64_C(1) << 32,
                                   INT64_MAX,
                                   UINT64_C(1) << 63,
                                   UINT64_MAX - 4095,
                                   UINT64_MAX,
                                   0x7f800000,  /* infinity */
                                   0x7fc00000}; /* no number */

    return grammar_below(values, 4) ? odd[grammar_below(values, sizeof(odd) / sizeof(odd[0]))]
                                    : values_number(values);
}

static void spoil_spot(struct values *values, struct nn_codec_buffer *message,
                       const struct grammar_spot *spot)
{
    uint64_t old = grammar_read(message, spot), value = odd_number(values);

    switch (grammar_below(values, 5)) {
    case 0:
        value = old + 1;
        break;
    case 1:
        value = old - 1;
        break;
    case 2: /* beside its limit, or another value of its own */
        value = spot->field->max + (uint64_t)grammar_below(values, 2);
        if (spot->field->kind == NN_CODEC_ENUM)
            value = spot->field->values
                        ->values[grammar_below(values, spot->field->values->n_values)]
                        .value;
        break;
    case 3:
        value = old ^ UINT64_C(1) << grammar_below(values, (uint32_t)spot->n_bytes * 8);
        break;
    default:
        break;
    }
    grammar_write(message, spot, value);
}

static void spoil_length(struct values *values, struct nn_codec_buffer *message)
{
    static const uint8_t more[70000];
    uint32_t n = grammar_below(values, 8) ? 1 + grammar_below(values, 64) : sizeof(more);

    if (message->n_bytes > 0 && grammar_below(values, 2))
        message->n_bytes = grammar_below(values, (uint32_t)message->n_bytes);
    else
        nn_codec_buffer_append(message, more, n);
}

static void spoil_fds(struct values *values, struct nn_codec_buffer *message)
{
    size_t n = message->n_fds, i = n ? grammar_below(values, (uint32_t)n) : 0;

    switch (grammar_below(values, 4)) {
    case 0: /* one less */
        if (n)
            close(message->fds[--message->n_fds]);
        break;
    case 1: /* one twice */
        if (n && n < NNHAL_MAX_FDS)
            message->fds[message->n_fds++] = fcntl(message->fds[i], F_DUPFD_CLOEXEC, 0);
        break;
    case 2: /* one that is not asked for */
        if (n < NNHAL_MAX_FDS)
            message->fds[message->n_fds++] = grammar_make_fd();
        break;
    default: /* another one */
        if (n) {
            close(message->fds[i]);
            message->fds[i] = grammar_make_fd();
        }
        break;
    }
}

void grammar_spoil(struct values *values, const struct nn_codec_type *type, uint32_t minor,
                   struct nn_codec_buffer *message)
{
    struct grammar_spot spots[GRAMMAR_SPOTS];
    size_t n = grammar_scan(type, minor, message, spots);
    uint32_t what = grammar_below(values, 12);

    if (what == 0)
        spoil_length(values, message);
    else if (what == 1 || (what < 5 && message->n_fds))
        spoil_fds(values, message);
    else if (n)
        spoil_spot(values, message, &spots[grammar_below(values, (uint32_t)n)]);
}

bool grammar_fits(const struct nn_codec_type *type, uint32_t minor,
                  const struct nn_codec_buffer *message)
{
    const struct nn_codec_message encoded = {.bytes = message->bytes,
                                             .n_bytes = message->n_bytes,
                                             .fds = message->fds,
                                             .n_fds = message->n_fds};
    struct nn_arena arena;
    void *value;
    int r;

    nn_arena_init(&arena, 0);
    value = nn_arena_alloc(&arena, type->size);
    r = nn_codec_decode(type, minor, &encoded, &arena, value);
    nn_arena_done(&arena);
    return r == 0;
}

/* -- descriptors ------------------------------------------------------------------------------ */

static int make_memory(uint32_t which)
{
    int fd = nn_sys_memfd_create("attack", true), read_only;
    char path[64];

    ck_assert_int_eq(ftruncate(fd, which == 1 ? 0 : 4096), 0);
    if (which == 2)
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    if (which == 3)
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (which != 4)
        return fd;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    read_only = open(path, O_RDONLY | O_CLOEXEC);
    close(fd);
    return read_only;
}

static int make_other(uint32_t which)
{
    int pair[2], fd;

    switch (which) {
    case 0:
        return eventfd(0, EFD_CLOEXEC);
    case 1:
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    case 2:
        return open("/dev/zero", O_RDWR | O_CLOEXEC);
    case 3:
        return open("/dev/null", O_PATH | O_CLOEXEC);
    case 4:
        return epoll_create1(EPOLL_CLOEXEC);
    case 5:
        ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
        break;
    default:
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        break;
    }
    fd = pair[0];
    close(pair[1]);
    return fd;
}

int grammar_make_fd(void)
{
    static struct values values = {.state = 0x5eed};
    uint32_t which = grammar_below(&values, 16);
    int fd = which < 9 ? make_memory(which < 5 ? which : 0) : make_other(which - 9);

    ck_assert_int_ge(fd, 0);
    return fd;
}
