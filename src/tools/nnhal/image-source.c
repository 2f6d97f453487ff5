/* SPDX-License-Identifier: Apache-2.0 */
#include "image-source.h"

#include <stdlib.h>

int image_allocate(struct image_source *source, uint64_t width, uint64_t height,
                   struct image *ret_image)
{
    if (!width || !height || width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE)
        return image_fail(source, "the picture is %llu x %llu; sides are 1 to %d pixels",
                          (unsigned long long)width, (unsigned long long)height, IMAGE_MAX_SIDE);
    ret_image->width = (uint32_t)width;
    ret_image->height = (uint32_t)height;
    ret_image->rgb = calloc(width * height, 3);
    if (!ret_image->rgb)
        return image_fail(source, "out of memory");
    return 0;
}
