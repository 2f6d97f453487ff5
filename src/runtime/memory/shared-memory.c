/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/shared-memory.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum {
    MAX_NAME_BYTES = 200,
    SIZE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW,
};

int nn_rt_shared_memory_new(const char *name, size_t n_bytes)
{
    _cleanup_(closep) int fd = -1;
    size_t n_rounded;
    int r;

    if (n_bytes == 0 || (name && strnlen(name, MAX_NAME_BYTES + 1) > MAX_NAME_BYTES) ||
        !nn_align_up(n_bytes, (size_t)sysconf(_SC_PAGESIZE), &n_rounded) || n_rounded > INT64_MAX)
        return nn_error_origin(-EINVAL);
    fd = nn_sys_memfd_create(name ? name : "none", true);
    if (fd < 0)
        return nn_error_trace(fd);
    r = nn_sys_ftruncate(fd, (off_t)n_rounded);
    if (r < 0)
        return nn_error_trace(r == -EFBIG ? -EINVAL : r);
    if (fcntl(fd, F_ADD_SEALS, SIZE_SEALS) < 0)
        return nn_error_origin(-errno);
    return steal_fd(&fd);
}

size_t nn_rt_shared_memory_size(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct nn_sys_file file;

    if (seals < 0 || (seals & SIZE_SEALS) != SIZE_SEALS || nn_sys_inspect(fd, &file) < 0)
        return 0;
    return (size_t)file.n_bytes;
}

/* The right to write cannot be given back: a descriptor that was handed on as read-only stays so. */
int nn_rt_shared_memory_set_prot(int fd, int prot)
{
    bool may_write = (prot & PROT_WRITE) != 0;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0)
        return nn_error_origin(errno == EBADF ? -EBADF : -EINVAL);
    if ((seals & SIZE_SEALS) != SIZE_SEALS || (prot & ~(PROT_READ | PROT_WRITE)) ||
        !(prot & PROT_READ))
        return nn_error_origin(-EINVAL);
    if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
        return may_write ? nn_error_origin(-EINVAL) : 0;
    if (may_write)
        return 0;
    return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 ? nn_error_origin(-errno) : 0;
}
