/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup.h - locals that own: _cleanup_(freep) char *s = NULL; */
#ifndef NN_BASE_CLEANUP_H
#define NN_BASE_CLEANUP_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((__cleanup__(function)))
#define _public_            __attribute__((__visibility__("default")))

#define NN_N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
#define NN_CONTAINER_OF(pointer, type, member)                                                     \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* steal_ptr() - takes what a pointer owns and leaves NULL. */
#define steal_ptr(pointer)                                                                         \
    __extension__({                                                                                \
        __typeof__(pointer) stolen_from_ = (pointer);                                              \
        __typeof__(*(pointer)) stolen_ = *stolen_from_;                                            \
        *stolen_from_ = NULL;                                                                      \
        stolen_;                                                                                   \
    })

/* steal_fd() - takes a descriptor and leaves -1. */
static inline int steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}

static inline void freep(void *pointer)
{
    free(*(void **)pointer);
}

/* closep() - closes *fd unless it is -1; errno is kept. */
static inline void closep(const int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

/* NN_DEFINE_CLEANUP(nn_x, nn_x_free) defines nn_x_freep for _cleanup_. */
#define NN_DEFINE_CLEANUP(type, destroy)                                                           \
    static inline void destroy##p(type **pointer)                                                  \
    {                                                                                              \
        if (*pointer)                                                                              \
            destroy(*pointer);                                                                     \
    }

#endif
