/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - the part that all objects of an application have in common
 *
 * References: the application holds one, and each object that was made of it
 * another, so that objects may be freed in any order. The last sentence of a
 * failure is kept for nnhal_*_get_error(); any thread may ask for it.
 * After fork the child's objects are copies without threads and connections:
 * nn_fork_generation() differs from the one that they remember. */
#ifndef NN_RUNTIME_OBJECT_H
#define NN_RUNTIME_OBJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nn_rt_object {
    uint32_t n_refs;
    uint32_t fork_generation;
    pthread_mutex_t lock; /* of message */
    char *message;        /* NULL: nothing failed yet */
};

/* nn_rt_object_init() - with one reference. */
void nn_rt_object_init(struct nn_rt_object *object);
void nn_rt_object_done(struct nn_rt_object *object);

void nn_rt_object_ref(struct nn_rt_object *object);

/* nn_rt_object_unref() - Returns: true if that was the last one: destroy it. */
bool nn_rt_object_unref(struct nn_rt_object *object);

/* nn_rt_object_set_message() - remembers a sentence; a copy. Short of memory the
 * old one stays. */
void nn_rt_object_set_message(struct nn_rt_object *object, const char *message);

/* nn_rt_object_get_message() - copies it, cut to n_bytes - 1 and NUL-terminated.
 * Returns: its length, 0 if there is none. */
size_t nn_rt_object_get_message(struct nn_rt_object *object, char *ret_text, size_t n_bytes);

/* nn_rt_object_is_foreign() - whether this process is a child forked since the object was made. */
bool nn_rt_object_is_foreign(const struct nn_rt_object *object);

/* nn_fork_generation() - a number that is larger in a forked child. */
uint32_t nn_fork_generation(void);

/* References of structs that are no objects of an application. */
static inline void nn_ref(uint32_t *n_refs)
{
    __atomic_add_fetch(n_refs, 1, __ATOMIC_RELAXED);
}

static inline bool nn_unref(uint32_t *n_refs)
{
    return __atomic_sub_fetch(n_refs, 1, __ATOMIC_ACQ_REL) == 0;
}

#endif
