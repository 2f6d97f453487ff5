/* SPDX-License-Identifier: Apache-2.0 */
/* fuse-file.h - a file whose server does not do what one waits for
 *
 * A process of its own mounts a file system of one file, and answers to be
 * mounted, looked at and opened; who reads from the file waits, or gets an error,
 * or zeros that come late, and, if it is told so, who closes it waits too. When the
 * server is killed the waiters go on with an error. Needs /dev/fuse and the right to
 * mount. */
#ifndef NN_TESTS_SUPPORT_FUSE_FILE_H
#define NN_TESTS_SUPPORT_FUSE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

enum fuse_file_reads {
    FUSE_FILE_SILENT, /* a read is never answered */
    FUSE_FILE_FAILS,  /* with EIO */
    FUSE_FILE_LATE,   /* after 20 ms, one read after the other */
};

struct fuse_file {
    char folder[32];
    pid_t server;
    int fd; /* the file, open for reading and writing; it has 64 KiB */
};

/* fuse_file_open() - Returns: whether there is one; why not is printed. */
bool fuse_file_open(struct fuse_file *file, enum fuse_file_reads reads, bool answers_close);

/* fuse_file_kill() - ends the server, and so every wait; fd stays open. */
void fuse_file_kill(struct fuse_file *file);

/* fuse_file_close() - the same, and nothing is left. */
void fuse_file_close(struct fuse_file *file);

#endif
