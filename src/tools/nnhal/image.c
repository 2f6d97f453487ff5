/* SPDX-License-Identifier: Apache-2.0 */
#include "image-source.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int image_parse(const uint8_t *bytes, size_t n_bytes, struct image *ret_image, char *message,
                size_t message_size)
{
    struct image_source source = {bytes, n_bytes, message, message_size};
    struct image image = {0};
    int r;

    if (n_bytes >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        r = image_parse_png(&source, &image);
    else if (n_bytes >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        r = image_parse_jpeg(&source, &image);
    else if (n_bytes >= 2 && memcmp(bytes, "BM", 2) == 0)
        r = image_parse_bmp(&source, &image);
    else if (n_bytes >= 2 && bytes[0] == 'P' && bytes[1] >= '2' && bytes[1] <= '6')
        r = image_parse_pnm(&source, &image);
    else
        r = image_fail(&source, "it is neither PNG nor JPEG, BMP, PPM or PGM");
    if (r < 0)
        image_done(&image);
    else
        *ret_image = image;
    return r;
}

/* Reads a whole regular file of bounded size. */
static int read_all(struct image_source *source, int fd, uint8_t **ret_bytes)
{
    struct stat info;
    uint8_t *bytes;
    size_t n = 0;

    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return image_fail(source, "it is not a regular file");
    if (info.st_size <= 0 || info.st_size > IMAGE_MAX_FILE_BYTES)
        return image_fail(source, "its size is 0 or above %d MiB", IMAGE_MAX_FILE_BYTES >> 20);
    bytes = malloc((size_t)info.st_size);
    if (!bytes)
        return image_fail(source, "out of memory");
    while (n < (size_t)info.st_size) {
        ssize_t got = read(fd, bytes + n, (size_t)info.st_size - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    source->bytes = bytes;
    source->n_bytes = n;
    *ret_bytes = bytes;
    return 0;
}

int image_read(const char *path, struct image *ret_image, char *message, size_t message_size)
{
    struct image_source source = {.message = message, .message_size = message_size};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;
    uint8_t *bytes = NULL;

    if (fd < 0)
        return image_fail(&source, "%s", strerror(errno));
    r = read_all(&source, fd, &bytes);
    close(fd);
    if (r < 0)
        return r;
    r = image_parse(source.bytes, source.n_bytes, ret_image, message, message_size);
    free(bytes);
    return r;
}

void image_done(struct image *image)
{
    free(image->rgb);
    *image = (struct image){0};
}

/* The source pixels that one target pixel looks at, along one side: their first
 * index, how many, and the weight of each. */
struct resize_span {
    uint32_t first, n;
    float center, radius;
};

static struct resize_span span_of(uint32_t index, uint32_t from, uint32_t to)
{
    float ratio = (float)from / (float)to;
    float center = ((float)index + 0.5f) * ratio - 0.5f;
    float radius = ratio > 1 ? ratio : 1; /* of a triangle: bilinear, or wide enough to average */
    float low = ceilf(center - radius), high = floorf(center + radius);
    struct resize_span span = {.center = center, .radius = radius};

    low = low < 0 ? 0 : low;
    high = high > (float)(from - 1) ? (float)(from - 1) : high;
    span.first = (uint32_t)low;
    span.n = high >= low ? (uint32_t)(high - low) + 1 : 1;
    return span;
}

static float weight_of(const struct resize_span *span, uint32_t i)
{
    float weight = 1 - fabsf((float)(span->first + i) - span->center) / span->radius;

    return weight > 0 ? weight : 0;
}

static void pixel_sample(const struct image *image, const struct resize_span *x,
                         const struct resize_span *y, float rgb[3])
{
    float total = 0;

    rgb[0] = rgb[1] = rgb[2] = 0;
    for (uint32_t j = 0; j < y->n; j++) {
        const uint8_t *row = image->rgb + ((size_t)(y->first + j) * image->width + x->first) * 3;

        for (uint32_t i = 0; i < x->n; i++) {
            float weight = weight_of(x, i) * weight_of(y, j);

            for (int c = 0; c < 3; c++)
                rgb[c] += weight * (float)row[3 * i + (uint32_t)c];
            total += weight;
        }
    }
    for (int c = 0; c < 3; c++)
        rgb[c] = total > 0 ? rgb[c] / total : 0;
}

void image_resize(const struct image *image, uint32_t width, uint32_t height, uint32_t n_channels,
                  float *values)
{
    for (uint32_t row = 0; row < height; row++) {
        struct resize_span y = span_of(row, image->height, height);

        for (uint32_t column = 0; column < width; column++) {
            struct resize_span x = span_of(column, image->width, width);
            float rgb[3], *to = values + ((size_t)row * width + column) * n_channels;

            pixel_sample(image, &x, &y, rgb);
            if (n_channels == 1)
                to[0] = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
            else
                memcpy(to, rgb, sizeof(rgb));
        }
    }
}
