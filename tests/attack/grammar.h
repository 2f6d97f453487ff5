/* SPDX-License-Identifier: Apache-2.0 */
/* grammar.h - messages that are valid, nearly valid, or hostile
 *
 * The grammar is what hal/halgen.py makes of the .hal files: the tables of fields that the
 * codec walks (codec/table.h). Here they are walked over the bytes of a message, whose places
 * become spots: a count, an id, a flag, the place of a descriptor. One of them is then written
 * as an attacker would, so that all the rest of the message stays what it should be. */
#ifndef NN_TESTS_ATTACK_GRAMMAR_H
#define NN_TESTS_ATTACK_GRAMMAR_H

#include "codec/codec.h"
#include "hal/values.h"

#include <stdbool.h>

#define GRAMMAR_SPOTS 512

/* A place in the bytes of a message; of a string and of bytes it is their size. */
struct grammar_spot {
    const struct nn_codec_field *field;
    size_t offset, n_bytes;
};

/* grammar_below() - a number from 0 to n - 1. */
uint32_t grammar_below(struct values *values, uint32_t n);

/* grammar_scan() - the spots of a message that is of this type, at most GRAMMAR_SPOTS; of an
 * array of numbers the first ones. Returns how many; 0 if the bytes are too short. */
size_t grammar_scan(const struct nn_codec_type *type, uint32_t minor,
                    const struct nn_codec_buffer *message, struct grammar_spot *spots);

/* grammar_read(), grammar_write() - the number at a spot. */
uint64_t grammar_read(const struct nn_codec_buffer *message, const struct grammar_spot *spot);
void grammar_write(struct nn_codec_buffer *message, const struct grammar_spot *spot,
                   uint64_t value);

/* grammar_spoil() - changes one thing: a spot, the length, or the descriptors, which are the
 * message's. It may still be a message of its type. */
void grammar_spoil(struct values *values, const struct nn_codec_type *type, uint32_t minor,
                   struct nn_codec_buffer *message);

/* grammar_fits() - whether a receiver can decode it. */
bool grammar_fits(const struct nn_codec_type *type, uint32_t minor,
                  const struct nn_codec_buffer *message);

/* grammar_make_fd() - a descriptor that one may send: memory, sealed or not, or something else. */
int grammar_make_fd(void);

#endif
