/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 1 << 30, LARGE_PAGE = 1 << 21, PAGE = 1 << 12 };

static int fail(char *message, size_t size, int result, const char *text)
{
    if (size)
        snprintf(message, size, "%s", text);
    return result;
}

/* Large pages, where the kernel has them, and all pages present at once: to touch small ones, one by
 * one, takes longer than to read the file. */
static uint8_t *new_block(size_t n_bytes)
{
    size_t rest = n_bytes % LARGE_PAGE, n_reserved = n_bytes;
    void *block;

    if (rest > LARGE_PAGE / 2)
        n_reserved += LARGE_PAGE - rest;
    if (posix_memalign(&block, n_bytes > LARGE_PAGE / 2 ? LARGE_PAGE : PAGE, n_reserved) != 0)
        return NULL;
    madvise(block, n_reserved / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
    madvise(block, n_bytes, MADV_POPULATE_WRITE);
    return block;
}

int tfl_file_open(const char *path, char *message, size_t message_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? fail(message, message_size, -errno, strerror(errno)) : fd;
}

int tfl_file_read(int fd, uint8_t **ret_bytes, size_t *ret_n, char *message, size_t size)
{
    struct stat info;
    uint8_t *bytes;
    size_t n = 0;

    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return fail(message, size, -EINVAL, "it is not a regular file");
    if (info.st_size <= 0 || info.st_size > MAX_FILE_BYTES)
        return fail(message, size, -EINVAL, "its size is 0 or above 1 GiB");
    bytes = new_block((size_t)info.st_size);
    if (!bytes)
        return fail(message, size, -ENOMEM, "out of memory");
    while (n < (size_t)info.st_size) {
        ssize_t got = pread(fd, bytes + n, (size_t)info.st_size - n, (off_t)n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            free(bytes);
            return fail(message, size, -EIO, "it cannot be read to its end");
        }
        n += (size_t)got;
    }
    *ret_bytes = bytes;
    *ret_n = n;
    return 0;
}
