/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/object.h"

#include <stdlib.h>
#include <string.h>

static uint32_t fork_generation;

/* A counter instead of getpid(): it is compared in every call, and process ids are reused. */
static void count_fork(void)
{
    fork_generation++; /* the child has one thread */
}

__attribute__((__constructor__)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

uint32_t nn_fork_generation(void)
{
    return __atomic_load_n(&fork_generation, __ATOMIC_RELAXED);
}

void nn_rt_object_init(struct nn_rt_object *object)
{
    *object = (struct nn_rt_object){.n_refs = 1, .fork_generation = nn_fork_generation()};
    pthread_mutex_init(&object->lock, NULL);
}

void nn_rt_object_done(struct nn_rt_object *object)
{
    free(object->message);
    object->message = NULL;
    pthread_mutex_destroy(&object->lock);
}

void nn_rt_object_ref(struct nn_rt_object *object)
{
    nn_ref(&object->n_refs);
}

bool nn_rt_object_unref(struct nn_rt_object *object)
{
    return nn_unref(&object->n_refs);
}

void nn_rt_object_set_message(struct nn_rt_object *object, const char *message)
{
    char *copy;

    if (nn_rt_object_is_foreign(object))
        return; /* the lock may be held by a thread that was not forked */
    copy = strdup(message);
    if (!copy)
        return;
    pthread_mutex_lock(&object->lock);
    free(object->message);
    object->message = copy;
    pthread_mutex_unlock(&object->lock);
}

size_t nn_rt_object_get_message(struct nn_rt_object *object, char *ret_text, size_t n_bytes)
{
    size_t length = 0;

    if (n_bytes)
        ret_text[0] = '\0';
    /* The lock may be held by a thread that was not forked. */
    if (nn_rt_object_is_foreign(object))
        return 0;
    pthread_mutex_lock(&object->lock);
    if (object->message) {
        length = strlen(object->message);
        if (n_bytes) {
            size_t n_copied = length < n_bytes ? length : n_bytes - 1;

            memcpy(ret_text, object->message, n_copied);
            ret_text[n_copied] = '\0';
        }
    }
    pthread_mutex_unlock(&object->lock);
    return length;
}

bool nn_rt_object_is_foreign(const struct nn_rt_object *object)
{
    return object->fork_generation != nn_fork_generation();
}
