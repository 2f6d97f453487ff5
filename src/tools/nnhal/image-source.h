/* SPDX-License-Identifier: Apache-2.0 */
/* image-source.h - what the readers of the formats share */
#ifndef NN_TOOLS_NNHAL_IMAGE_SOURCE_H
#define NN_TOOLS_NNHAL_IMAGE_SOURCE_H

#include "image.h"

#include <stdio.h>

/* A reader's view of the file and where its complaint goes. */
struct image_source {
    const uint8_t *bytes;
    size_t n_bytes;
    char *message;
    size_t message_size;
};

/* Each returns 0 with ret_image filled, or -1 with a sentence. */
int image_parse_png(struct image_source *source, struct image *ret_image);
int image_parse_jpeg(struct image_source *source, struct image *ret_image);
int image_parse_bmp(struct image_source *source, struct image *ret_image);
int image_parse_pnm(struct image_source *source, struct image *ret_image);

#define image_fail(source, ...)                                                                    \
    ((source)->message_size                                                                        \
         ? (void)snprintf((source)->message, (source)->message_size, __VA_ARGS__)                  \
         : (void)0,                                                                                \
     -1)

/* image_allocate() - checks the size and takes memory for rgb. */
int image_allocate(struct image_source *source, uint64_t width, uint64_t height,
                   struct image *ret_image);

#endif
