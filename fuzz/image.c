/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - any bytes as what the reader of pictures wrote: refused, or pixels that can be resized;
 * and as a picture's file: of which format, and cut short or not */
#include "fuzz.h"

#include "tools/nnhal/image.h"
#include "tools/picture/format.h"

#include <errno.h>

static void take(const uint8_t *bytes, size_t n_bytes)
{
    FILE *from = fmemopen((void *)bytes, n_bytes, "r");
    float values[7 * 5 * 3];
    struct image image;
    int r;

    FUZZ_CHECK(from);
    r = image_take(from, &image);
    (void)fclose(from);
    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -ENOMEM);
    if (r < 0)
        return;
    FUZZ_CHECK(image.width && image.height && image.rgb);
    image_resize(&image, 7, 5, 3, values);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        FUZZ_CHECK(values[i] >= 0 && values[i] <= 255.01f);
    image_done(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    if (!n_bytes)
        return 0;
    take(bytes, n_bytes);
    if (picture_is_cut(bytes, n_bytes))
        FUZZ_CHECK(picture_format(bytes, n_bytes));
    return 0;
}
