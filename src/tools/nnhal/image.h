/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - pictures in files, as gdk-pixbuf reads them
 *
 * PNG, JPEG, GIF, TIFF, BMP and PNM, and WebP where its module is installed. Every
 * format becomes 8-bit RGB, rows from the top, turned as the camera says. A
 * file is untrusted, and so is the process that reads it (nnhal-picture): what
 * comes back is bounded and checked, and a file that is damaged or cut short
 * is refused with a sentence. */
#ifndef NN_TOOLS_NNHAL_IMAGE_H
#define NN_TOOLS_NNHAL_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    IMAGE_MAX_SIDE = 16384, /* pixels */
    IMAGE_MAX_FILE_BYTES = 64 << 20,
};

struct image {
    uint32_t width, height;
    uint8_t *rgb; /* [height, width, 3], malloc'ed */
};

/* image_read() - reads the picture at path. Returns: 0, or -1 with a sentence in message. */
int image_read(const char *path, struct image *ret_image, char *message, size_t message_size);

/* image_take() - what nnhal-picture writes: a PPM file of 8 bits without comments.
 * Returns: 0, -EINVAL (it is something else, or cut short), -ENOMEM. */
int image_take(FILE *from, struct image *ret_image);

/* image_resize() - to [height, width, n_channels] (1: luma, 3: RGB) of floats from 0
 * to 255: bilinear between pixel centers where it grows, the mean of the pixels
 * covered where it shrinks. values holds width * height * n_channels. */
void image_resize(const struct image *image, uint32_t width, uint32_t height, uint32_t n_channels,
                  float *values);

void image_done(struct image *image);

#endif
