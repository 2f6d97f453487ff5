/* SPDX-License-Identifier: Apache-2.0 */
/* little-endian.h - numbers in files, which lie at any address */
#ifndef NN_TOOLS_NNHAL_LITTLE_ENDIAN_H
#define NN_TOOLS_NNHAL_LITTLE_ENDIAN_H

#include <stdint.h>

static inline uint32_t u16_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t u32_at(const uint8_t *p)
{
    return u16_at(p) | u16_at(p + 2) << 16;
}

#endif
