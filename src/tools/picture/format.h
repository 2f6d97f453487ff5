/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - what the first bytes of a picture's file say: its format, and how long it is
 *
 * gdk-pixbuf fills with anything what a PNG, JPEG, BMP or WebP file lacks, and
 * calls it loaded. So their lengths are looked at before. */
#ifndef NN_TOOLS_PICTURE_FORMAT_H
#define NN_TOOLS_PICTURE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* picture_format() - gdk-pixbuf's name of the format of n_bytes at bytes: "png", "jpeg", "gif", "tiff", "bmp",
 * "pnm", "webp". NULL: none of these. */
const char *picture_format(const uint8_t *bytes, size_t n_bytes);

/* picture_is_cut() - they are a PNG, JPEG, BMP or WebP file that is cut short. */
bool picture_is_cut(const uint8_t *bytes, size_t n_bytes);

#endif
