/* SPDX-License-Identifier: Apache-2.0 */
#include "whole.h"

#include <string.h>

static uint32_t u16_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32_at(const uint8_t *p)
{
    return u16_at(p) | u16_at(p + 2) << 16;
}

/* A RIFF file: its length without the first 8 bytes stands there. */
static bool webp_is_cut(const uint8_t *bytes, size_t n_bytes)
{
    return n_bytes < 12 || u32_at(bytes + 4) > n_bytes - 8;
}

/* The pixels are the last of a file without compression: rows of whole 32-bit words. */
static bool bmp_is_cut(const uint8_t *bytes, size_t n_bytes)
{
    enum { CORE_HEADER = 12, UNCOMPRESSED = 0, BITFIELDS = 3 };
    uint64_t width, rows, compression;
    int32_t height;

    if (n_bytes < 54 || u32_at(bytes + 14) == CORE_HEADER)
        return n_bytes < 26 || u32_at(bytes + 2) > n_bytes;
    compression = u32_at(bytes + 30);
    if (compression != UNCOMPRESSED && compression != BITFIELDS)
        return u32_at(bytes + 2) > n_bytes;
    width = u32_at(bytes + 18);
    height = (int32_t)u32_at(bytes + 22);
    rows = height < 0 ? (uint64_t) - (int64_t)height : (uint64_t)height;
    return u32_at(bytes + 10) + (width * u16_at(bytes + 28) + 31) / 32 * 4 * rows > n_bytes;
}

/* Segments with their lengths up to the first scan; somewhere behind it the end's mark. A picture
 * within a segment has an end of its own, which does not count. */
static bool jpeg_is_cut(const uint8_t *bytes, size_t n_bytes)
{
    enum { START_OF_SCAN = 0xda, END_OF_IMAGE = 0xd9 };
    size_t at = 2;

    while (n_bytes - at >= 4 && bytes[at] == 0xff && bytes[at + 1] != START_OF_SCAN) {
        size_t length = bytes[at + 1] == 0xff ? 1
                                              : 2 + ((size_t)bytes[at + 2] << 8 | bytes[at + 3]);

        if (length > n_bytes - at)
            return true;
        at += length;
    }
    for (; n_bytes - at >= 2; at++)
        if (bytes[at] == 0xff && bytes[at + 1] == END_OF_IMAGE)
            return false;
    return true;
}

/* Chunks, each with its length in front and a checksum behind it; the last is IEND. */
static bool png_is_cut(const uint8_t *bytes, size_t n_bytes)
{
    enum { SIGNATURE = 8, AROUND = 12 };
    size_t at = SIGNATURE;

    while (at < n_bytes && n_bytes - at >= AROUND) {
        const uint8_t *chunk = bytes + at;
        uint32_t length = (uint32_t)chunk[0] << 24 | (uint32_t)chunk[1] << 16 |
                          (uint32_t)chunk[2] << 8 | chunk[3];

        if (memcmp(chunk + 4, "IEND", 4) == 0)
            return false;
        if (length > n_bytes - at - AROUND)
            return true;
        at += AROUND + (size_t)length;
    }
    return true;
}

bool picture_is_cut(const uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes >= 2 && memcmp(bytes, "\xff\xd8", 2) == 0)
        return jpeg_is_cut(bytes, n_bytes);
    if (n_bytes >= 4 && memcmp(bytes, "\x89PNG", 4) == 0)
        return png_is_cut(bytes, n_bytes);
    if (n_bytes >= 2 && memcmp(bytes, "BM", 2) == 0)
        return bmp_is_cut(bytes, n_bytes);
    if (n_bytes >= 4 && memcmp(bytes, "RIFF", 4) == 0)
        return webp_is_cut(bytes, n_bytes);
    return false;
}
