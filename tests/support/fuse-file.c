/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fuse-file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FILE_NODE = 2,
    FILE_BYTES = 65536,
    LATE_US = 20000,
    REQUEST_BYTES = FUSE_MIN_READ_BUFFER + 65536,
};

static void reply(int fd, uint64_t unique, int error, const void *body, size_t n_bytes)
{
    struct fuse_out_header header = {
        .len = (uint32_t)(sizeof(header) + n_bytes), .error = error, .unique = unique};
    const struct iovec parts[] = {{&header, sizeof(header)}, {(void *)body, n_bytes}};

    if (writev(fd, parts, n_bytes > 0 ? 2 : 1) < 0)
        _exit(1);
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){
        .ino = node,
        .size = node == FILE_NODE ? FILE_BYTES : 0,
        .mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0777,
        .nlink = 1,
        .blksize = 4096,
    };
}

static void answer_read(int fd, const struct fuse_in_header *request, enum fuse_file_reads reads)
{
    static const char zeros[FILE_BYTES];
    const struct fuse_read_in *read = (const void *)(request + 1);

    if (reads == FUSE_FILE_SILENT)
        return;
    if (reads == FUSE_FILE_FAILS) {
        reply(fd, request->unique, -EIO, NULL, 0);
        return;
    }
    usleep(LATE_US);
    reply(fd, request->unique, 0, zeros, read->size < FILE_BYTES ? read->size : FILE_BYTES);
}

static void answer_write(int fd, const struct fuse_in_header *request)
{
    const struct fuse_write_in *write = (const void *)(request + 1);
    const struct fuse_write_out written = {.size = write->size};

    reply(fd, request->unique, 0, &written, sizeof(written));
}

/* What the server does; of its process. */
static enum fuse_file_reads reads_are;
static bool closes_are_answered;

static void answer(int fd, const struct fuse_in_header *request)
{
    const struct fuse_init_out init = {
        .major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = 65536, .max_write = 65536};
    const struct fuse_attr_out attr = {.attr_valid = 3600, .attr = attributes(request->nodeid)};
    const struct fuse_entry_out entry = {.nodeid = FILE_NODE,
                                         .entry_valid = 3600,
                                         .attr_valid = 3600,
                                         .attr = attributes(FILE_NODE)};
    const struct fuse_open_out opened = {.fh = 1};

    switch (request->opcode) {
    case FUSE_INIT:
        reply(fd, request->unique, 0, &init, sizeof(init));
        break;
    case FUSE_GETATTR:
        reply(fd, request->unique, 0, &attr, sizeof(attr));
        break;
    case FUSE_LOOKUP:
        reply(fd, request->unique, 0, &entry, sizeof(entry));
        break;
    case FUSE_OPEN:
        reply(fd, request->unique, 0, &opened, sizeof(opened));
        break;
    case FUSE_FLUSH:
        if (closes_are_answered)
            reply(fd, request->unique, 0, NULL, 0);
        break;
    case FUSE_READ:
        answer_read(fd, request, reads_are);
        break;
    case FUSE_WRITE:
        answer_write(fd, request);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        reply(fd, request->unique, -ENOSYS, NULL, 0);
    }
}

static void serve(int fd)
{
    static _Alignas(8) char request[REQUEST_BYTES];

    while (read(fd, request, sizeof(request)) > 0 || errno == EINTR)
        answer(fd, (const struct fuse_in_header *)(void *)request);
}

static bool mount_at(struct fuse_file *file, int device)
{
    char options[100];

    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other",
             device, getuid(), getgid());
    return mount("nnhal-test", file->folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0;
}

bool fuse_file_open(struct fuse_file *file, enum fuse_file_reads reads, bool answers_close)
{
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    char path[64];

    *file = (struct fuse_file){.folder = "/tmp/nnhal-fuse-XXXXXX", .fd = -1};
    if (device < 0 || !mkdtemp(file->folder) || !mount_at(file, device)) {
        printf("SKIPPED: no file of FUSE could be mounted here: %s\n", strerror(errno));
        if (device >= 0)
            close(device);
        rmdir(file->folder);
        return false;
    }
    file->server = fork();
    if (file->server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        reads_are = reads;
        closes_are_answered = answers_close;
        serve(device);
        _exit(0);
    }
    close(device);
    snprintf(path, sizeof(path), "%s/file", file->folder);
    file->fd = open(path, O_RDWR | O_CLOEXEC);
    if (file->fd < 0)
        fuse_file_close(file);
    return file->fd >= 0;
}

void fuse_file_kill(struct fuse_file *file)
{
    if (file->server <= 0)
        return;
    kill(file->server, SIGKILL);
    waitpid(file->server, NULL, 0);
    file->server = 0;
}

void fuse_file_close(struct fuse_file *file)
{
    fuse_file_kill(file);
    if (file->fd >= 0)
        close(file->fd);
    umount2(file->folder, MNT_DETACH);
    rmdir(file->folder);
}
