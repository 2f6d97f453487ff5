/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as any type of the interface. What decodes must encode to the same
 * bytes and descriptors, must compare to itself, and can be printed.
 * The first byte chooses the type, the second the number of descriptors. */
#include "fuzz.h"

#include "base/arena.h"
#include "codec/codec.h"
#include "codec/printer.h"
#include "hal/messages.h"

#include <string.h>

enum {
    MAX_ARENA_BYTES = 256 << 20,
    N_TEXT = 512,
};

static void check_again(const struct nn_codec_type *type, const struct nn_codec_message *message,
                        const void *value)
{
    struct nn_codec_buffer buffer = {.bytes = NULL};

    FUZZ_CHECK(nn_codec_encode(type, 0, value, &buffer) == 0);
    FUZZ_CHECK(buffer.n_bytes == message->n_bytes);
    FUZZ_CHECK(memcmp(buffer.bytes, message->bytes, buffer.n_bytes) == 0);
    FUZZ_CHECK(buffer.n_fds == message->n_fds);
    FUZZ_CHECK(memcmp(buffer.fds, message->fds, buffer.n_fds * sizeof(int)) == 0);
    nn_codec_buffer_done(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    const struct nn_codec_type *type;
    struct nn_codec_message message;
    struct nn_arena arena;
    int fds[256];
    char text[N_TEXT];
    void *value;
    int r;

    if (n_bytes < 2)
        return 0;
    for (int i = 0; i < 256; i++)
        fds[i] = 1000 + i; /* numbers only: the codec does nothing with them */
    type = nn_hal_all_types[bytes[0] % nn_hal_n_all_types];
    message = (struct nn_codec_message){
        .bytes = bytes + 2, .n_bytes = n_bytes - 2, .fds = fds, .n_fds = bytes[1]};
    nn_arena_init(&arena, MAX_ARENA_BYTES);
    value = malloc(type->size);
    FUZZ_CHECK(value);
    r = nn_codec_decode(type, 0, &message, &arena, value);
    FUZZ_CHECK(r == 0 || r == NN_CODEC_E_VIOLATION);
    if (r == 0) {
        check_again(type, &message, value);
        text[0] = '\0';
        nn_printer_add_fields(
            &(struct nn_printer){.text = text, .size = sizeof(text), .separator = ""}, type, value,
            0);
        FUZZ_CHECK(strnlen(text, sizeof(text)) < sizeof(text));
    }
    free(value);
    nn_arena_done(&arena);
    return 0;
}
