/* SPDX-License-Identifier: Apache-2.0 */
/* codec.h - values of the interface as bytes and descriptors, and back
 *
 * Every struct that the .hal files declare (arguments and replies of methods,
 * events, hello, the model) has a descriptor here, generated from that
 * declaration, and one engine that walks it. The bytes are little-endian,
 * fields in the order of their declaration, without padding:
 *
 *     u32 i32 bool enum count    4 bytes          u64 i64 id    8 bytes
 *     f32                        4 bytes, by bits
 *     string                     u32 length, bytes without NUL; an optional
 *                                string that is absent: length 0xffffffff
 *     bytes                      u32 size, bytes
 *     array                      its elements; its count is a field before it
 *     token (fixed array)        its bytes
 *     fd                         u32: its place in the packet's descriptors,
 *                                which is the next one; absent: 0xffffffff
 *
 * The form is canonical: equal values give equal bytes, and what decodes
 * encodes to the same bytes again.
 *
 * Decoding trusts nothing: each count is held against its limit and against
 * the bytes that are left before anything is allocated, all memory comes from
 * the caller's arena and its limit, bytes left over are refused, reserved
 * fields are 0, booleans 0 or 1, closed enums in range, strings free of NUL,
 * and each descriptor of the packet is used exactly once, in order. Whether
 * the value makes sense (ids, indexes, shapes) is not judged here but by the
 * host. Encoding holds the same rules, so that what one side sends is never a
 * violation to the other.
 *
 * No function here blocks, keeps state or prints: any thread. */
#ifndef NN_CODEC_CODEC_H
#define NN_CODEC_CODEC_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

#include <nnhal/types.h>

struct nn_arena;
struct nn_codec_type; /* generated, codec/types.h and hal/messages.h: &nn_codec_model */

enum {
    /* Encoding: the value breaks a rule of the interface (a count over its
     * limit, a string too long, a reserved field that is not 0, ...). */
    NN_CODEC_E_INVALID = 1,
    /* Decoding: these bytes are no such value; the sender broke the
     * protocol. */
    NN_CODEC_E_VIOLATION = 2,
    /* Decoding: the arena is exhausted. */
    NN_CODEC_E_MEMORY = 3,
};

/* A message that has arrived or is about to be sent: borrowed. What does not
 * apply is 0. */
struct nn_codec_message {
    uint64_t serial;
    uint32_t number; /* of the method or event */
    uint32_t status; /* of a reply: enum nnhal_error_status, not checked yet */
    const void *bytes;
    size_t n_bytes;
    const int *fds;
    size_t n_fds;
};

/* A message in the making: bytes, and the descriptors that travel with them.
 * The owner of the descriptors is named where a buffer is used;
 * nn_codec_buffer_done() frees the bytes only, nn_codec_buffer_close() closes
 * the descriptors. */
struct nn_codec_buffer { /* all zero: empty */
    uint8_t *bytes;
    size_t n_bytes;
    size_t capacity;
    size_t n_fds;
    int fds[NNHAL_MAX_FDS];
};

/* nn_codec_buffer_append() - bytes at the end of a buffer.
 * Returns: 0, NN_CODEC_E_INVALID (over NNHAL_MAX_MESSAGE_BYTES), -ENOMEM. */
int nn_codec_buffer_append(struct nn_codec_buffer *buffer, const void *bytes, size_t n_bytes);

void nn_codec_buffer_done(struct nn_codec_buffer *buffer);
void nn_codec_buffer_close(struct nn_codec_buffer *buffer);

/* nn_codec_encode() - appends value, a struct of this type, to the buffer. Its
 * descriptors are noted in the buffer, still the caller's.
 * minor: the version that both sides speak; fields that are younger are left
 * out, and must be zero.
 * Returns: 0, NN_CODEC_E_INVALID, -ENOMEM. On failure the buffer is as before. */
int nn_codec_encode(const struct nn_codec_type *type, uint32_t minor, const void *value,
                    struct nn_codec_buffer *buffer);

/* nn_codec_decode() - reads a value that fills the message's bytes exactly and
 * uses all its descriptors. Arrays, strings and bytes are copied into arena;
 * descriptors are the message's numbers, and keep their owner. On
 * failure *ret_value is all zero.
 * Returns: 0, NN_CODEC_E_VIOLATION, NN_CODEC_E_MEMORY; never negative. */
int nn_codec_decode(const struct nn_codec_type *type, uint32_t minor,
                    const struct nn_codec_message *message, struct nn_arena *arena,
                    void *ret_value);

#endif
