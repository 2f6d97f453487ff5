/* SPDX-License-Identifier: Apache-2.0 */
/* fuse-file.h - a file whose server never answers what one waits for
 *
 * A process of its own mounts a file system of one file, and answers to be
 * mounted, looked at and opened; who reads from the file waits, and, if it is
 * told so, who closes it too. When the server is killed the waiters go on
 * with an error. Needs /dev/fuse and the right to mount. */
#ifndef NN_TESTS_SUPPORT_FUSE_FILE_H
#define NN_TESTS_SUPPORT_FUSE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

struct fuse_file {
    char folder[32];
    pid_t server;
    int fd; /* the file, open for reading and writing; it has 64 KiB */
};

/* fuse_file_open() - Returns: whether there is one; why not is printed. */
bool fuse_file_open(struct fuse_file *file, bool answers_close);

/* fuse_file_kill() - ends the server, and so every wait; fd stays open. */
void fuse_file_kill(struct fuse_file *file);

/* fuse_file_close() - the same, and nothing is left. */
void fuse_file_close(struct fuse_file *file);

#endif
