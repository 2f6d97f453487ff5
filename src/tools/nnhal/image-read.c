/* SPDX-License-Identifier: Apache-2.0 */
/* image-read.c - finds the format of a picture by its first bytes */
#include "image-source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
