/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/nnhal/image.h"

#include "support/check-main.h"

#include <stdio.h>

#include <jpeglib.h>
#include <png.h>
#include <string.h>

static char message[256];

/* Two rows: red, green; blue, white. */
static const uint8_t four[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};

static int parse_bytes(const void *bytes, size_t n, struct image *image)
{
    message[0] = '\0';
    return image_parse(bytes, n, image, message, sizeof(message));
}

static void check_four(const void *bytes, size_t n, int tolerance)
{
    struct image image;

    ck_assert_msg(parse_bytes(bytes, n, &image) == 0, "%s", message);
    ck_assert_uint_eq(image.width, 2);
    ck_assert_uint_eq(image.height, 2);
    for (size_t i = 0; i < sizeof(four); i++)
        ck_assert_int_le(abs(image.rgb[i] - four[i]), tolerance);
    image_done(&image);
}

/* Every shorter file is refused with a sentence. */
static void check_cuts(const uint8_t *bytes, size_t n)
{
    struct image image;

    for (size_t cut = 0; cut < n; cut++) {
        ck_assert_int_eq(parse_bytes(bytes, cut, &image), -1);
        ck_assert_uint_gt(strlen(message), 0);
    }
}

TEST(ppm_and_pgm)
{
    static const char ppm[] = "P6 # a comment\n2 2\n255\n\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff";
    static const char pgm[] = "P5 1 2 15\n\x0f\x00";
    struct image image;

    check_four(ppm, sizeof(ppm) - 1, 0);
    check_cuts((const uint8_t *)ppm, sizeof(ppm) - 1);
    ck_assert_int_eq(parse_bytes(pgm, sizeof(pgm) - 1, &image), 0);
    ck_assert_uint_eq(image.rgb[0], 255);
    ck_assert_uint_eq(image.rgb[5], 0);
    image_done(&image);
    ck_assert_int_eq(parse_bytes("P6 99999 99999 255\n", 19, &image), -1);
    ck_assert_ptr_nonnull(strstr(message, "99999"));
    ck_assert_int_eq(parse_bytes("P3 2 2 255\n1 2 3", 16, &image), -1);
}
TEST_END

TEST(bmp_upwards_and_downwards)
{
    uint8_t bmp[70] = {'B', 'M', 70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40,
                       0,   0,   0,  2, 0, 0, 0, 2, 0, 0, 0,  1, 0, 24};
    static const uint8_t bottom[] = {255, 0, 0, 255, 255, 255}, top[] = {0, 0, 255, 0, 255, 0};

    memcpy(bmp + 54, bottom, 6);
    memcpy(bmp + 62, top, 6);
    check_four(bmp, sizeof(bmp), 0);
    check_cuts(bmp, sizeof(bmp));
    memset(bmp + 22, 0xff, 4); /* -2 rows: from the top */
    bmp[22] = 0xfe;
    memcpy(bmp + 54, top, 6);
    memcpy(bmp + 62, bottom, 6);
    check_four(bmp, sizeof(bmp), 0);
    bmp[30] = 1;
    ck_assert_int_eq(parse_bytes(bmp, sizeof(bmp), &(struct image){0}), -1);
    ck_assert_ptr_nonnull(strstr(message, "uncompressed"));
}
TEST_END

TEST(png_round_trip)
{
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = 2, .height = 2, .format = PNG_FORMAT_RGB};
    png_alloc_size_t n = 0;
    uint8_t *bytes;

    ck_assert_int_ne(png_image_write_to_memory(&png, NULL, &n, 0, four, 0, NULL), 0);
    bytes = malloc(n);
    ck_assert_int_ne(png_image_write_to_memory(&png, bytes, &n, 0, four, 0, NULL), 0);
    check_four(bytes, n, 0);
    check_cuts(bytes, n - 12); /* without its end mark alone a PNG is whole enough */
    free(bytes);
}
TEST_END

TEST(jpeg_round_trip)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t gray[16 * 16 * 3], *bytes = NULL;
    unsigned long n = 0;
    struct image image;

    memset(gray, 77, sizeof(gray));
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &n);
    jpeg.image_width = jpeg.image_height = 16;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < 16) {
        JSAMPROW row = gray + (size_t)jpeg.next_scanline * 48;

        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    ck_assert_int_eq(parse_bytes(bytes, n, &image), 0);
    ck_assert_uint_eq(image.width, 16);
    ck_assert_int_le(abs(image.rgb[100] - 77), 2);
    image_done(&image);
    check_cuts(bytes, n - 2);
    free(bytes);
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

TEST(other_bytes_are_refused)
{
    struct image image;

    ck_assert_int_eq(parse_bytes("", 0, &image), -1);
    ck_assert_int_eq(parse_bytes("GIF89a", 6, &image), -1);
    ck_assert_ptr_nonnull(strstr(message, "neither PNG"));
    ck_assert_int_eq(image_read("/nonexistent", &image, message, sizeof(message)), -1);
    ck_assert_int_eq(image_read("/tmp", &image, message, sizeof(message)), -1);
    ck_assert_ptr_nonnull(strstr(message, "regular file"));
}
TEST_END

CHECK_MAIN("image", ppm_and_pgm, bmp_upwards_and_downwards, png_round_trip, jpeg_round_trip,
           resizing_averages_and_interpolates, other_bytes_are_refused)
