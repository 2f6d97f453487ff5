/* SPDX-License-Identifier: Apache-2.0 */
/* test-image.c - pixels from the process that reads pictures, and their resizing; the formats are
 * tested by test-pictures.py */
#include "tools/nnhal/image.h"

#include "support/check-main.h"

#include <errno.h>
#include <string.h>

/* Two rows: red, green; blue, white. */
static const uint8_t four[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};
static const char ppm[] = "P6\n2 2\n255\n\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff";

static int take(const char *bytes, size_t n, struct image *image)
{
    FILE *from = fmemopen((char *)bytes, n, "r");
    int r;

    ck_assert_ptr_nonnull(from);
    r = image_take(from, image);
    (void)fclose(from);
    return r;
}

TEST(pixels_are_taken)
{
    struct image image;

    ck_assert_int_eq(take(ppm, sizeof(ppm) - 1, &image), 0);
    ck_assert_uint_eq(image.width, 2);
    ck_assert_uint_eq(image.height, 2);
    ck_assert_mem_eq(image.rgb, four, sizeof(four));
    image_done(&image);
}
TEST_END

TEST(too_few_and_too_many_pixels_are_refused)
{
    struct image image;

    for (size_t cut = 1; cut < sizeof(ppm) - 1; cut++)
        ck_assert_int_eq(take(ppm, cut, &image), -EINVAL);
    ck_assert_int_eq(take(ppm, sizeof(ppm), &image), -EINVAL); /* with the string's end */
}
TEST_END

TEST(other_headers_are_refused)
{
    static const char *const headers[] = {
        "P5\n2 2\n255\n",       "P6\n0 2\n255\n",          "P6\n2 -2\n255\n",
        "P6\n16385 1\n255\n",   "P6\n1 16385\n255\n",      "P6\n99999 99999\n255\n",
        "P6\n2 2\n65535\n",     "P6\n4294967298 2\n255\n", "P6\n2 2\n255",
        "P6\n# none\n2 2\n255", "the picture is cut short"};
    struct image image;
    char text[64] = "";

    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        memcpy(text, headers[i], strlen(headers[i]));
        ck_assert_msg(take(text, strlen(headers[i]) + 12, &image) == -EINVAL, "%s", headers[i]);
    }
}
TEST_END

TEST(resizing_averages_and_interpolates)
{
    uint8_t rgb[4 * 4 * 3];
    struct image image = {4, 4, rgb};
    float small[3], large[8 * 8];

    for (int i = 0; i < 16; i++)
        memset(rgb + 3 * i, i % 4 < 2 ? 0 : 200, 3);
    image_resize(&image, 1, 1, 3, small);
    ck_assert_float_eq_tol(small[0], 100, 0.01f);
    image_resize(&image, 8, 8, 1, large);
    ck_assert_float_eq_tol(large[0], 0, 0.01f);
    ck_assert_float_eq_tol(large[7], 200, 0.01f);
    ck_assert_float_eq_tol(large[3] + large[4], 200, 0.01f);
    for (int i = 1; i < 8; i++)
        ck_assert_float_ge(large[i], large[i - 1]);
}
TEST_END

TEST(what_is_no_file_is_refused)
{
    struct image image;
    char message[256];

    ck_assert_int_eq(image_read("/nonexistent", &image, message, sizeof(message)), -1);
    ck_assert_int_eq(image_read("/tmp", &image, message, sizeof(message)), -1);
    ck_assert_ptr_nonnull(strstr(message, "regular file"));
}
TEST_END

CHECK_MAIN("image", pixels_are_taken, too_few_and_too_many_pixels_are_refused,
           other_headers_are_refused, resizing_averages_and_interpolates,
           what_is_no_file_is_refused)
