/* SPDX-License-Identifier: Apache-2.0 */
/* Every struct of the interface, made up from numbers: there and back, cut,
 * enlarged, changed. */
#include "codec/codec.h"

#include "hal/values.h"
#include "support/check-main.h"

#include <stdio.h>
#include <string.h>

enum {
    N_VALUES = 40, /* of each type */
    N_MUTATIONS = 200,
    MAX_ARENA_BYTES = 64 << 20,
};

/* A value, its message, and room to decode it again. */
struct sample {
    struct nn_arena arena;
    struct values values;
    const struct nn_codec_type *type;
    void *value;
    struct nn_codec_buffer buffer;
    struct nn_codec_message message;
    struct nn_arena decoded_arena;
    void *decoded;
};

static void sample_make(struct sample *sample, const struct nn_codec_type *type, uint64_t seed)
{
    *sample = (struct sample){.type = type};
    nn_arena_init(&sample->arena, 0);
    nn_arena_init(&sample->decoded_arena, MAX_ARENA_BYTES);
    sample->values = (struct values){
        .state = seed * 0x9e3779b97f4a7c15u + 1, .arena = &sample->arena, .n_elements = 3};
    sample->value = values_make(&sample->values, type);
    ck_assert_int_eq(nn_codec_encode(type, 0, sample->value, &sample->buffer), 0);
    sample->message = (struct nn_codec_message){.bytes = sample->buffer.bytes,
                                                .n_bytes = sample->buffer.n_bytes,
                                                .fds = sample->buffer.fds,
                                                .n_fds = sample->buffer.n_fds};
    sample->decoded = nn_arena_alloc(&sample->arena, type->size);
}

static int sample_decode(struct sample *sample)
{
    nn_arena_reset(&sample->decoded_arena);
    return nn_codec_decode(sample->type, 0, &sample->message, &sample->decoded_arena,
                           sample->decoded);
}

static void sample_done(struct sample *sample)
{
    nn_codec_buffer_done(&sample->buffer);
    nn_arena_done(&sample->decoded_arena);
    nn_arena_done(&sample->arena);
}

static bool is_all_zero(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const char *)bytes)[i])
            return false;
    return true;
}

TEST(every_value_comes_back)
{
    for (size_t t = 0; t < nn_hal_n_all_types; t++) {
        for (uint64_t seed = 0; seed < N_VALUES; seed++) {
            struct sample sample;
            struct nn_codec_buffer again = {.bytes = NULL};

            sample_make(&sample, nn_hal_all_types[t], seed);
            ck_assert_msg(sample_decode(&sample) == 0, "%s %d", nn_hal_all_types[t]->name,
                          (int)seed);
            ck_assert_msg(values_are_equal(sample.type, sample.value, sample.decoded), "%s %d",
                          nn_hal_all_types[t]->name, (int)seed);
            ck_assert_int_eq(nn_codec_encode(sample.type, 0, sample.decoded, &again), 0);
            ck_assert_uint_eq(again.n_bytes, sample.buffer.n_bytes);
            ck_assert_mem_eq(again.bytes, sample.buffer.bytes, again.n_bytes);
            ck_assert_uint_eq(again.n_fds, sample.buffer.n_fds);
            ck_assert_mem_eq(again.fds, sample.buffer.fds, again.n_fds * sizeof(int));
            ck_assert_uint_ge(again.n_bytes, sample.type->min_bytes);
            nn_codec_buffer_done(&again);
            sample_done(&sample);
        }
    }
}
TEST_END

/* An exact copy of the first n bytes, so that a read beyond them is seen. */
static void decode_cut(struct sample *sample, size_t n)
{
    const void *whole = sample->message.bytes;
    uint8_t *cut = malloc(n ? n : 1);

    memcpy(cut, whole, n);
    sample->message.bytes = cut;
    sample->message.n_bytes = n;
    ck_assert_msg(sample_decode(sample) == NN_CODEC_E_VIOLATION, "%s cut to %zu",
                  sample->type->name, n);
    ck_assert(is_all_zero(sample->decoded, sample->type->size));
    sample->message.bytes = whole;
    free(cut);
}

TEST(no_cut_message_is_taken)
{
    for (size_t t = 0; t < nn_hal_n_all_types; t++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            struct sample sample;

            sample_make(&sample, nn_hal_all_types[t], seed);
            for (size_t n = 0; n < sample.buffer.n_bytes && n < 600; n++)
                decode_cut(&sample, n);
            decode_cut(&sample, sample.buffer.n_bytes - 1);
            sample_done(&sample);
        }
    }
}
TEST_END

TEST(no_byte_too_many_is_taken)
{
    for (size_t t = 0; t < nn_hal_n_all_types; t++) {
        struct sample sample;

        sample_make(&sample, nn_hal_all_types[t], 5);
        ck_assert_int_eq(nn_codec_buffer_append(&sample.buffer, "", 1), 0);
        sample.message.bytes = sample.buffer.bytes;
        sample.message.n_bytes = sample.buffer.n_bytes;
        ck_assert_int_eq(sample_decode(&sample), NN_CODEC_E_VIOLATION);
        sample_done(&sample);
    }
}
TEST_END

TEST(every_descriptor_is_used_once_and_in_order)
{
    for (size_t t = 0; t < nn_hal_n_all_types; t++) {
        struct sample sample;

        sample_make(&sample, nn_hal_all_types[t], 9);
        sample.message.n_fds++; /* one too many */
        ck_assert_int_eq(sample_decode(&sample), NN_CODEC_E_VIOLATION);
        if (sample.buffer.n_fds) {
            sample.message.n_fds -= 2;
            ck_assert_int_eq(sample_decode(&sample), NN_CODEC_E_VIOLATION);
        }
        sample_done(&sample);
    }
}
TEST_END

/* The places of counts, sizes and lengths in a message: found by encoding the
 * same value with one more element, which changes that word. Here simply every
 * aligned and unaligned word is made huge; what is still accepted must have
 * decoded to something that encodes to the same bytes. */
static void decode_changed(struct sample *sample)
{
    struct nn_codec_buffer again = {.bytes = NULL};
    int r = sample_decode(sample);

    ck_assert_int_ne(r, NN_CODEC_E_MEMORY); /* nothing is allocated on a promise */
    if (r) {
        ck_assert(is_all_zero(sample->decoded, sample->type->size));
        return;
    }
    ck_assert_int_eq(nn_codec_encode(sample->type, 0, sample->decoded, &again), 0);
    ck_assert_uint_eq(again.n_bytes, sample->message.n_bytes);
    ck_assert_mem_eq(again.bytes, sample->message.bytes, again.n_bytes);
    nn_codec_buffer_done(&again);
}

TEST(no_word_makes_it_trust)
{
    static const uint32_t words[] = {1, 2, 17, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};

    for (size_t t = 0; t < nn_hal_n_all_types; t++) {
        struct sample sample;

        sample_make(&sample, nn_hal_all_types[t], 3);
        for (size_t at = 0; at + 4 <= sample.buffer.n_bytes && at < 400; at++) {
            uint8_t kept[4];

            memcpy(kept, sample.buffer.bytes + at, 4);
            for (size_t i = 0; i < NN_N_ELEMENTS(words); i++) {
                memcpy(sample.buffer.bytes + at, &words[i], 4);
                decode_changed(&sample);
            }
            memcpy(sample.buffer.bytes + at, kept, 4);
        }
        sample_done(&sample);
    }
}
TEST_END

TEST(no_mutation_harms)
{
    for (size_t t = 0; t < nn_hal_n_all_types; t++) {
        struct sample sample;
        uint8_t *original;

        sample_make(&sample, nn_hal_all_types[t], 11);
        original = nn_arena_dup(&sample.arena, sample.buffer.bytes, sample.buffer.n_bytes);
        for (int i = 0; i < N_MUTATIONS; i++) {
            size_t n = 1 + values_number(&sample.values) % 4;

            while (n--) {
                size_t at = values_number(&sample.values) % sample.buffer.n_bytes;

                sample.buffer.bytes[at] = (uint8_t)values_number(&sample.values);
            }
            decode_changed(&sample);
            memcpy(sample.buffer.bytes, original, sample.buffer.n_bytes);
        }
        sample_done(&sample);
    }
}
TEST_END

/* The generator has an encoder of its own, in Python: two readings of one
 * declaration, which must agree. */
static size_t take_seeds(const struct nn_codec_type *type, size_t index, const char *kind)
{
    char path[4096];
    uint8_t bytes[65536];
    struct sample sample;
    int fds[NNHAL_MAX_FDS] = {0};
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "%s/hal/hal-seeds/%s-%s", getenv("NNHAL_BUILD_ROOT"), type->name,
             kind);
    file = fopen(path, "rb");
    ck_assert_msg(file, "%s", path);
    n = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ck_assert_uint_gt(n, 2);
    ck_assert_uint_eq(bytes[0], index);
    sample_make(&sample, type, 1);
    sample.message = (struct nn_codec_message){
        .bytes = bytes + 2, .n_bytes = n - 2, .fds = fds, .n_fds = bytes[1]};
    ck_assert_msg(sample_decode(&sample) == 0, "%s", path);
    decode_changed(&sample);
    sample_done(&sample);
    return n;
}

TEST(what_the_generator_encodes_decodes)
{
    for (size_t t = 0; t < nn_hal_n_all_types; t++) {
        size_t n_least = take_seeds(nn_hal_all_types[t], t, "least");

        ck_assert_uint_eq(n_least - 2, nn_hal_all_types[t]->min_bytes);
        take_seeds(nn_hal_all_types[t], t, "few");
        take_seeds(nn_hal_all_types[t], t, "many");
    }
}
TEST_END

/* -- rules, one by one, on structs where they can be seen ------------------- */

static int encode(const struct nn_codec_type *type, const void *value)
{
    struct nn_codec_buffer buffer = {.bytes = NULL};
    int r = nn_codec_encode(type, 0, value, &buffer);

    if (r) {
        ck_assert_uint_eq(buffer.n_bytes, 0);
        ck_assert_uint_eq(buffer.n_fds, 0);
    }
    nn_codec_buffer_done(&buffer);
    return r;
}

TEST(encoding_holds_the_rules_of_decoding)
{
    static uint32_t many[NNHAL_MAX_RANK + 1];
    char longest[NNHAL_MAX_NAME_BYTES + 2] = "";
    struct nn_hal_copy_from_args copy = {.n_dimensions = NNHAL_MAX_RANK, .dimensions = many};
    struct nnhal_request_argument argument = {.has_no_value = 1};
    struct nnhal_extension_prefix prefix = {.name = longest};
    struct nn_hal_import_memory_args import = {.fd = -1};
    struct nn_hal_get_fenced_info_reply info = {.status = NNHAL_DEAD_OBJECT};

    ck_assert_int_eq(encode(&nn_codec_copy_from_args, &copy), 0);
    copy.n_dimensions++;
    ck_assert_int_eq(encode(&nn_codec_copy_from_args, &copy), NN_CODEC_E_INVALID);
    copy = (struct nn_hal_copy_from_args){.n_dimensions = 1};
    ck_assert_int_eq(encode(&nn_codec_copy_from_args, &copy), NN_CODEC_E_INVALID);
    copy = (struct nn_hal_copy_from_args){.reserved = 1};
    ck_assert_int_eq(encode(&nn_codec_copy_from_args, &copy), NN_CODEC_E_INVALID);

    ck_assert_int_eq(encode(&nn_codec_request_argument, &argument), 0);
    argument.has_no_value = 2;
    ck_assert_int_eq(encode(&nn_codec_request_argument, &argument), NN_CODEC_E_INVALID);

    memset(longest, 'x', NNHAL_MAX_NAME_BYTES);
    ck_assert_int_eq(encode(&nn_codec_extension_prefix, &prefix), 0);
    longest[NNHAL_MAX_NAME_BYTES] = 'x';
    ck_assert_int_eq(encode(&nn_codec_extension_prefix, &prefix), NN_CODEC_E_INVALID);
    prefix.name = NULL;
    ck_assert_int_eq(encode(&nn_codec_extension_prefix, &prefix), NN_CODEC_E_INVALID);

    ck_assert_int_eq(encode(&nn_codec_import_memory_args, &import), NN_CODEC_E_INVALID);
    import.fd = 0;
    ck_assert_int_eq(encode(&nn_codec_import_memory_args, &import), 0);

    ck_assert_int_eq(encode(&nn_codec_get_fenced_info_reply, &info), 0);
    info.status++;
    ck_assert_int_eq(encode(&nn_codec_get_fenced_info_reply, &info), NN_CODEC_E_INVALID);
}
TEST_END

TEST(strings_have_no_nul_inside)
{
    static const uint8_t bytes[] = {3, 0, 0, 0, 'a', 0, 'b', 7, 0, 0, 0, 0, 0, 0, 0};
    const struct nn_codec_message message = {.bytes = bytes, .n_bytes = sizeof(bytes)};
    struct nnhal_extension_prefix prefix;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    ck_assert_int_eq(nn_codec_decode(&nn_codec_extension_prefix, 0, &message, &arena, &prefix),
                     NN_CODEC_E_VIOLATION);
    nn_arena_done(&arena);
}
TEST_END

/* The bytes are the interface: a change here breaks every older peer. */
TEST(the_bytes_are_these)
{
    static const uint32_t dimensions[] = {2, 0x01020304};
    static const uint8_t expected[] = {
        5, 0, 0, 0, 0, 0,    0,    0,    /* buffer */
        6, 0, 0, 0, 0, 0,    0,    0x80, /* memory */
        2, 0, 0, 0, 0, 0,    0,    0,    /* n_dimensions, reserved */
        2, 0, 0, 0, 4, 0x03, 0x02, 0x01, /* dimensions */
    };
    const struct nn_hal_copy_from_args args = {
        .buffer = 5, .memory = 6 | UINT64_C(1) << 63, .n_dimensions = 2, .dimensions = dimensions};
    struct nn_codec_buffer buffer = {.bytes = NULL};

    ck_assert_int_eq(nn_codec_encode(&nn_codec_copy_from_args, 0, &args, &buffer), 0);
    ck_assert_uint_eq(buffer.n_bytes, sizeof(expected));
    ck_assert_mem_eq(buffer.bytes, expected, sizeof(expected));
    nn_codec_buffer_done(&buffer);
}
TEST_END

TEST(floats_travel_by_bits)
{
    const uint32_t bits = 0x7fa00001; /* a signalling NaN with a payload */
    struct nnhal_performance_info info = {.power_usage = -0.0f}, decoded;
    struct nn_codec_buffer buffer = {.bytes = NULL};
    struct nn_codec_message message;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    memcpy(&info.exec_time, &bits, sizeof(bits));
    ck_assert_int_eq(nn_codec_encode(&nn_codec_performance_info, 0, &info, &buffer), 0);
    message = (struct nn_codec_message){.bytes = buffer.bytes, .n_bytes = buffer.n_bytes};
    ck_assert_int_eq(nn_codec_decode(&nn_codec_performance_info, 0, &message, &arena, &decoded), 0);
    ck_assert_mem_eq(&info, &decoded, sizeof(info));
    nn_codec_buffer_done(&buffer);
    nn_arena_done(&arena);
}
TEST_END

/* A struct whose last fields came with minor 1: what an older peer speaks. */
struct grown {
    uint32_t n_old;
    uint32_t n_new;
    const uint32_t *old_ones;
    const uint32_t *new_ones;
    int32_t new_fd;
};

static const struct nn_codec_field grown_fields[] = {
    {.name = "n_old", .kind = NN_CODEC_COUNT, .offset = offsetof(struct grown, n_old), .max = 4},
    {.name = "old_ones",
     .kind = NN_CODEC_U32,
     .form = NN_CODEC_ARRAY,
     .offset = offsetof(struct grown, old_ones),
     .count = offsetof(struct grown, n_old)},
    {.name = "n_new",
     .kind = NN_CODEC_COUNT,
     .minor = 1,
     .offset = offsetof(struct grown, n_new),
     .max = 4},
    {.name = "new_ones",
     .kind = NN_CODEC_U32,
     .form = NN_CODEC_ARRAY,
     .minor = 1,
     .offset = offsetof(struct grown, new_ones),
     .count = offsetof(struct grown, n_new)},
    {.name = "new_fd",
     .kind = NN_CODEC_FD,
     .is_optional = true,
     .minor = 1,
     .offset = offsetof(struct grown, new_fd)},
};
static const struct nn_codec_type grown_type = {.name = "grown",
                                                .size = sizeof(struct grown),
                                                .min_bytes = 4,
                                                .n_fields = NN_N_ELEMENTS(grown_fields),
                                                .fields = grown_fields};

TEST(an_older_peer_gets_what_it_knows)
{
    static const uint32_t ones[] = {1, 2, 3};
    struct grown grown = {.n_old = 2, .old_ones = ones, .new_fd = -1}, decoded;
    struct nn_codec_buffer old = {.bytes = NULL}, new = {.bytes = NULL};
    struct nn_codec_message message;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    ck_assert_int_eq(nn_codec_encode(&grown_type, 0, &grown, &old), 0);
    ck_assert_uint_eq(old.n_bytes, 12);
    ck_assert_int_eq(nn_codec_encode(&grown_type, 1, &grown, &new), 0);
    ck_assert_uint_eq(new.n_bytes, 20);
    message = (struct nn_codec_message){.bytes = old.bytes, .n_bytes = old.n_bytes};
    ck_assert_int_eq(nn_codec_decode(&grown_type, 1, &message, &arena, &decoded),
                     NN_CODEC_E_VIOLATION);
    ck_assert_int_eq(nn_codec_decode(&grown_type, 0, &message, &arena, &decoded), 0);
    ck_assert_uint_eq(decoded.n_old, 2);
    ck_assert_mem_eq(decoded.old_ones, ones, 8);
    ck_assert_uint_eq(decoded.n_new, 0);
    ck_assert_ptr_null(decoded.new_ones);
    ck_assert_int_eq(decoded.new_fd, -1);
    grown.n_new = 1; /* something that an older peer would not hear */
    grown.new_ones = ones;
    ck_assert_int_eq(nn_codec_encode(&grown_type, 0, &grown, &old), NN_CODEC_E_INVALID);
    nn_codec_buffer_done(&old);
    nn_codec_buffer_done(&new);
    nn_arena_done(&arena);
}
TEST_END

/* A count within its limit whose elements cannot be there is refused before
 * memory is taken for them; an arena that is too small is no violation. */
TEST(memory_is_taken_for_what_is_there_only)
{
    struct sample sample;
    uint32_t n = NNHAL_MAX_OPERATIONS;

    sample_make(&sample, &nn_codec_get_supported_operations_reply, 2);
    nn_codec_buffer_done(&sample.buffer);
    ck_assert_int_eq(nn_codec_buffer_append(&sample.buffer, "\xff\xff\xff\xff", 4), 0);
    ck_assert_int_eq(nn_codec_buffer_append(&sample.buffer, &n, 4), 0);
    ck_assert_int_eq(nn_codec_buffer_append(&sample.buffer, "\0\0\0\0\1\1\1\1", 8), 0);
    sample.message.bytes = sample.buffer.bytes;
    sample.message.n_bytes = sample.buffer.n_bytes;
    nn_arena_done(&sample.decoded_arena);
    ck_assert_int_eq(sample_decode(&sample), NN_CODEC_E_VIOLATION);
    ck_assert_uint_eq(sample.decoded_arena.n_bytes, 0);
    sample_done(&sample);

    sample_make(&sample, &nn_codec_prepare_model_args, 4);
    nn_arena_done(&sample.decoded_arena);
    nn_arena_init(&sample.decoded_arena, 64);
    ck_assert_int_eq(sample_decode(&sample), NN_CODEC_E_MEMORY);
    sample_done(&sample);
}
TEST_END

CHECK_MAIN("codec", every_value_comes_back, no_cut_message_is_taken, no_byte_too_many_is_taken,
           every_descriptor_is_used_once_and_in_order, no_word_makes_it_trust, no_mutation_harms,
           what_the_generator_encodes_decodes, encoding_holds_the_rules_of_decoding,
           strings_have_no_nul_inside, the_bytes_are_these, floats_travel_by_bits,
           an_older_peer_gets_what_it_knows, memory_is_taken_for_what_is_there_only)
