/* SPDX-License-Identifier: Apache-2.0 */
#include "image-source.h"

#include <png.h>

#include <string.h>

int image_parse_png(struct image_source *source, struct image *ret_image)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    png_color white = {255, 255, 255};
    int r;

    if (!png_image_begin_read_from_memory(&png, source->bytes, source->n_bytes))
        return image_fail(source, "the PNG file is damaged: %s", png.message);
    r = image_allocate(source, png.width, png.height, ret_image);
    if (r < 0) {
        png_image_free(&png);
        return r;
    }
    png.format = PNG_FORMAT_RGB;
    if (!png_image_finish_read(&png, &white, ret_image->rgb, 0, NULL))
        return image_fail(source, "the PNG file is damaged: %s", png.message);
    return 0;
}
