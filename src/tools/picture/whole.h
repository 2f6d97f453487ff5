/* SPDX-License-Identifier: Apache-2.0 */
/* whole.h - whether a picture's file is as long as it says
 *
 * gdk-pixbuf fills with anything what a PNG, JPEG, BMP or WebP file lacks, and
 * calls it loaded. So their lengths are looked at before. */
#ifndef NN_TOOLS_PICTURE_WHOLE_H
#define NN_TOOLS_PICTURE_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* picture_is_cut() - n_bytes at bytes are a PNG, JPEG, BMP or WebP file that is cut short. */
bool picture_is_cut(const uint8_t *bytes, size_t n_bytes);

#endif
