/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - any bytes as a picture: refused with a sentence, or pixels that can be resized */
#include "fuzz.h"

#include "tools/nnhal/image.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct image image;
    char message[256] = "";
    float values[7 * 5 * 3];

    if (image_parse(bytes, n_bytes, &image, message, sizeof(message)) < 0) {
        FUZZ_CHECK(strlen(message) > 0);
        return 0;
    }
    FUZZ_CHECK(image.width && image.height && image.rgb);
    if ((uint64_t)image.width * image.height <= 1 << 20) {
        image_resize(&image, 7, 5, 3, values);
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
            FUZZ_CHECK(values[i] >= 0 && values[i] <= 255.01f);
    }
    image_done(&image);
    return 0;
}
