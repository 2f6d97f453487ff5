/* SPDX-License-Identifier: Apache-2.0 */
/* image-bmp.c - uncompressed Windows bitmaps of 8, 24 and 32 bits, and PPM and PGM */
#include "image-source.h"

#include <string.h>

enum { BMP_HEADER_BYTES = 54, BMP_BITFIELDS = 3 };

static uint32_t u16_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32_at(const uint8_t *p)
{
    return u16_at(p) | u16_at(p + 2) << 16;
}

/* One row of pixels as RGB; colors are stored blue, green, red. */
static void bmp_row(const uint8_t *from, const uint8_t *palette, uint32_t n_colors, uint32_t bits,
                    uint32_t width, uint8_t *to)
{
    for (uint32_t x = 0; x < width; x++) {
        const uint8_t *bgr = from + (size_t)x * (bits / 8);
        static const uint8_t black[4];

        if (bits == 8)
            bgr = *bgr < n_colors ? palette + (size_t)*bgr * 4 : black;
        to[3 * x] = bgr[2];
        to[3 * x + 1] = bgr[1];
        to[3 * x + 2] = bgr[0];
    }
}

int image_parse_bmp(struct image_source *source, struct image *ret_image)
{
    const uint8_t *p = source->bytes;
    uint32_t offset, header, bits, compression, n_colors = 0;
    uint64_t stride, height;
    int32_t rows;
    int r;

    if (source->n_bytes < BMP_HEADER_BYTES)
        return image_fail(source, "the BMP file is cut short");
    offset = u32_at(p + 10);
    header = u32_at(p + 14);
    rows = (int32_t)u32_at(p + 22);
    bits = u16_at(p + 28);
    compression = u32_at(p + 30);
    if (header < 40 || (bits != 8 && bits != 24 && bits != 32) ||
        (compression && !(compression == BMP_BITFIELDS && bits == 32)))
        return image_fail(source, "only uncompressed BMP files of 8, 24 or 32 bits are read");
    height = rows < 0 ? (uint64_t) - (int64_t)rows : (uint64_t)rows;
    r = image_allocate(source, u32_at(p + 18), height, ret_image);
    if (r < 0)
        return r;
    stride = ((uint64_t)ret_image->width * bits + 31) / 32 * 4;
    if (bits == 8 && (uint64_t)14 + header <= source->n_bytes)
        n_colors = (uint32_t)((source->n_bytes - 14 - header) / 4);
    if (offset > source->n_bytes || stride * height > source->n_bytes - offset)
        return image_fail(source, "the BMP file is cut short");
    for (uint32_t y = 0; y < ret_image->height; y++) {
        uint32_t from = rows < 0 ? y : ret_image->height - 1 - y;

        bmp_row(p + offset + from * stride, p + 14 + header, n_colors, bits, ret_image->width,
                ret_image->rgb + (size_t)y * ret_image->width * 3);
    }
    return 0;
}

/* The next number of a PNM header, after white space and comments. */
static int pnm_number(struct image_source *source, size_t *at, uint32_t *ret)
{
    const uint8_t *p = source->bytes;
    uint64_t value = 0;
    size_t begin;

    while (*at < source->n_bytes && (p[*at] == '#' || p[*at] <= ' '))
        if (p[*at] == '#')
            while (*at < source->n_bytes && p[*at] != '\n')
                ++*at;
        else
            ++*at;
    begin = *at;
    while (*at < source->n_bytes && p[*at] >= '0' && p[*at] <= '9' && value <= UINT32_MAX)
        value = value * 10 + (p[(*at)++] - '0');
    if (*at == begin || value > UINT32_MAX)
        return image_fail(source, "the header of the PPM or PGM file is damaged");
    *ret = (uint32_t)value;
    return 0;
}

int image_parse_pnm(struct image_source *source, struct image *ret_image)
{
    uint32_t width, height, top, n_channels = source->bytes[1] == '6' ? 3 : 1;
    size_t at = 2, n_values;

    if (source->bytes[1] != '5' && source->bytes[1] != '6')
        return image_fail(source, "only binary PPM and PGM files (P6, P5) are read");
    if (pnm_number(source, &at, &width) < 0 || pnm_number(source, &at, &height) < 0 ||
        pnm_number(source, &at, &top) < 0)
        return -1;
    if (!top || top > 255)
        return image_fail(source, "only PPM and PGM files with 8 bits are read");
    if (image_allocate(source, width, height, ret_image) < 0)
        return -1;
    at++; /* the one white space after the header */
    n_values = (size_t)width * height * n_channels;
    if (at > source->n_bytes || n_values > source->n_bytes - at)
        return image_fail(source, "the PPM or PGM file is cut short");
    for (size_t i = 0; i < (size_t)width * height * 3; i++) {
        uint32_t value = source->bytes[at + (n_channels == 3 ? i : i / 3)];

        ret_image->rgb[i] = (uint8_t)(value >= top ? 255 : value * 255 / top);
    }
    return 0;
}
