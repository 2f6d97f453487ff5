/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"

#include "../nnhal/little-endian.h"

#include <string.h>

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

static const struct {
    const char *name;
    uint8_t n, bytes[4]; /* that the file begins with */
    bool (*is_cut)(const uint8_t *bytes, size_t n_bytes);
} formats[] = {
    {"png", 4, {0x89, 'P', 'N', 'G'}, png_is_cut},
    {"jpeg", 3, {0xff, 0xd8, 0xff}, jpeg_is_cut},
    {"gif", 4, {'G', 'I', 'F', '8'}, NULL},
    {"tiff", 4, {'I', 'I', '*', 0}, NULL},
    {"tiff", 4, {'M', 'M', 0, '*'}, NULL},
    {"bmp", 2, {'B', 'M'}, bmp_is_cut},
    {"webp", 4, {'R', 'I', 'F', 'F'}, webp_is_cut},
    {"pnm", 2, {'P', '1'}, NULL},
    {"pnm", 2, {'P', '2'}, NULL},
    {"pnm", 2, {'P', '3'}, NULL},
    {"pnm", 2, {'P', '4'}, NULL},
    {"pnm", 2, {'P', '5'}, NULL},
    {"pnm", 2, {'P', '6'}, NULL},
};

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

static size_t find_format(const uint8_t *bytes, size_t n_bytes)
{
    size_t i = 0;

    while (i < N_FORMATS &&
           (n_bytes < formats[i].n || memcmp(bytes, formats[i].bytes, formats[i].n) != 0))
        i++;
    return i;
}

const char *picture_format(const uint8_t *bytes, size_t n_bytes)
{
    size_t i = find_format(bytes, n_bytes);

    return i < N_FORMATS ? formats[i].name : NULL;
}

bool picture_is_cut(const uint8_t *bytes, size_t n_bytes)
{
    size_t i = find_format(bytes, n_bytes);

    return i < N_FORMATS && formats[i].is_cut && formats[i].is_cut(bytes, n_bytes);
}
