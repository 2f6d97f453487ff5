/* SPDX-License-Identifier: Apache-2.0 */
/* hog.h - clients that keep what they get and take what they can
 *
 * Each is a process of one user that goes on until it is killed. */
#ifndef NN_TESTS_ATTACK_HOG_H
#define NN_TESTS_ATTACK_HOG_H

#include <sys/types.h>

enum hog_kind {
    HOG_MEMORY, /* registers memory and allocates buffers until it is refused, and holds them */
    HOG_MODELS, /* prepares models until it is refused, and holds them */
    HOG_CONNECTIONS, /* connects and says nothing, or hello and nothing else */
    HOG_DEAF,        /* calls and does not read the answers */
    HOG_EXECUTES,    /* twelve executions without end */
    HOG_FOLDS,       /* twelve preparations without end */
    HOG_BURSTS,      /* bursts that are never idle */
    HOG_FILES,       /* memory in a file whose server never answers, for arguments and constants */
    HOG_BAD_FILES,   /* the same; each read fails */
    HOG_LATE_FILES,  /* the same; each read is answered late */
    HOG_STOPPED,     /* computes, and is stopped by a signal in the middle, again and again */
    HOG_KINDS,
};

/* hog_name() - "memory". */
const char *hog_name(enum hog_kind kind);

/* hog_start() - a process that hogs the service at path; file_fd is the file of HOG_FILES and the
 * like. */
pid_t hog_start(enum hog_kind kind, const char *path, int file_fd);

/* hog_stop() - kills it. It must not have ended by itself. */
void hog_stop(pid_t pid);

#endif
