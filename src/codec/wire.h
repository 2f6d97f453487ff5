/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - what encoder and decoder agree on, inside the codec */
#ifndef NN_CODEC_WIRE_H
#define NN_CODEC_WIRE_H

#include "codec/table.h"

#include <endian.h>

#define NN_CODEC_ABSENT UINT32_C(0xffffffff) /* no string, no descriptor */

/* nn_codec_is_legal() - whether a 4-byte number may stand in a field. */
bool nn_codec_is_legal(const struct nn_codec_field *field, uint32_t value);

/* nn_codec_is_plain() - whether an array of these is the same in C and on the
 * wire, with nothing to check. */
static inline bool nn_codec_is_plain(enum nn_codec_kind kind)
{
    switch (kind) {
    case NN_CODEC_U8:
        return true;
    case NN_CODEC_U32:
    case NN_CODEC_I32:
    case NN_CODEC_F32:
    case NN_CODEC_U64:
    case NN_CODEC_I64:
    case NN_CODEC_ID:
        return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    default:
        return false;
    }
}

#endif
