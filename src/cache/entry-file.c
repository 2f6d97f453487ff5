/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/entry-file.h"

#include "base/block.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <sys/stat.h>

bool nn_entry_file_is_writable(int fd)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    /* pwrite() appends to a file opened with O_APPEND. */
    return flags >= 0 && (flags & O_ACCMODE) == O_RDWR && !(flags & (O_APPEND | O_PATH)) &&
           fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int nn_entry_file_write_unsynced(int fd, const struct nn_hash_part *parts, size_t n_parts)
{
    uint64_t offset = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_parts; i++) {
        if (parts[i].size)
            r = nn_sys_pwrite(fd, parts[i].bytes, (size_t)parts[i].size, (off_t)offset);
        offset += parts[i].size;
    }
    /* Cut afterwards: a longer file that was there must not leave its end behind. */
    if (r == 0)
        r = nn_sys_ftruncate(fd, (off_t)offset);
    return nn_error_trace(r);
}

int nn_entry_file_write(int fd, const struct nn_hash_part *parts, size_t n_parts)
{
    int r = nn_entry_file_write_unsynced(fd, parts, n_parts);

    return r < 0 ? nn_error_trace(r) : nn_error_trace(nn_sys_fdatasync(fd));
}

int nn_entry_file_size(int fd, uint64_t *ret_size)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH) ||
        fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
        (uint64_t)status.st_size > NN_ENTRY_FILE_MAX_BYTES)
        return NN_ENTRY_FILE_E_UNUSABLE;
    *ret_size = (uint64_t)status.st_size;
    return 0;
}

int nn_entry_file_read(int fd, uint64_t size, uint8_t **ret_bytes)
{
    _cleanup_(freep) uint8_t *bytes = nn_block_new((size_t)size);

    if (!bytes)
        return nn_error_origin(-ENOMEM);
    nn_block_touch(bytes, (size_t)size);
    if (nn_sys_pread(fd, bytes, (size_t)size, 0) != (ssize_t)size)
        return NN_ENTRY_FILE_E_UNUSABLE;
    *ret_bytes = steal_ptr(&bytes);
    return 0;
}
