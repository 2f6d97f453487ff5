/* SPDX-License-Identifier: Apache-2.0 */
#include "host/object.h"

#include "base/error.h"

#include <stdlib.h>

enum {
    FIRST_BUCKETS = 16,
};

void nn_objects_init(struct nn_objects *objects)
{
    *objects = (struct nn_objects){.last_id = 0};
    pthread_mutex_init(&objects->lock, NULL);
}

static struct nn_object *chain_pop(struct nn_objects *objects, struct nn_object **bucket)
{
    struct nn_object *object;

    pthread_mutex_lock(&objects->lock);
    object = *bucket;
    if (object)
        *bucket = object->next;
    pthread_mutex_unlock(&objects->lock);
    return object;
}

void nn_objects_done(struct nn_objects *objects)
{
    struct nn_object *object;

    for (size_t i = 0; i < objects->n_buckets; i++)
        while ((object = chain_pop(objects, &objects->buckets[i])))
            nn_object_unref(object);
    free(objects->buckets);
    pthread_mutex_destroy(&objects->lock);
}

void nn_object_init(struct nn_object *object, enum nn_object_kind kind,
                    void (*destroy)(struct nn_object *object))
{
    object->id = 0;
    object->kind = kind;
    object->next = NULL;
    object->destroy = destroy;
    __atomic_store_n(&object->n_refs, 1, __ATOMIC_RELAXED);
}

struct nn_object *nn_object_ref(struct nn_object *object)
{
    __atomic_add_fetch(&object->n_refs, 1, __ATOMIC_RELAXED);
    return object;
}

struct nn_object *nn_object_unref(struct nn_object *object)
{
    /* Release pairs with the acquire of the thread that drops the last reference, so
     * that destroy sees all that the other users did. */
    if (object && __atomic_sub_fetch(&object->n_refs, 1, __ATOMIC_ACQ_REL) == 0)
        object->destroy(object);
    return NULL;
}

/* Ids count up, so their low bits spread them evenly. */
static struct nn_object **bucket_of(const struct nn_objects *objects, uint64_t id)
{
    return &objects->buckets[id & (objects->n_buckets - 1)];
}

static void link_object(struct nn_objects *objects, struct nn_object *object)
{
    struct nn_object **bucket = bucket_of(objects, object->id);

    object->next = *bucket;
    *bucket = object;
}

/* Doubles the buckets. A table that cannot grow goes on with longer chains. */
static void objects_grow(struct nn_objects *objects)
{
    struct nn_object **old = objects->buckets;
    size_t n_old = objects->n_buckets;
    size_t n_new = n_old ? n_old * 2 : FIRST_BUCKETS;
    struct nn_object **buckets = calloc(n_new, sizeof(struct nn_object *));

    if (!buckets)
        return;
    objects->buckets = buckets;
    objects->n_buckets = n_new;
    for (size_t i = 0; i < n_old; i++) {
        while (old[i]) {
            struct nn_object *object = old[i];

            old[i] = object->next;
            link_object(objects, object);
        }
    }
    free(old);
}

int nn_objects_add(struct nn_objects *objects, struct nn_object *object)
{
    int r = 0;

    pthread_mutex_lock(&objects->lock);
    if (objects->n_objects >= objects->n_buckets)
        objects_grow(objects);
    if (objects->n_buckets) {
        object->id = ++objects->last_id;
        objects->n_objects++;
        link_object(objects, nn_object_ref(object));
    } else {
        r = nn_error_origin(-ENOMEM);
    }
    pthread_mutex_unlock(&objects->lock);
    return r;
}

static struct nn_object **objects_find(const struct nn_objects *objects, uint64_t id,
                                       enum nn_object_kind kind)
{
    struct nn_object **at;

    if (!objects->n_buckets)
        return NULL;
    for (at = bucket_of(objects, id); *at; at = &(*at)->next)
        if ((*at)->id == id)
            return (*at)->kind == kind ? at : NULL;
    return NULL;
}

struct nn_object *nn_objects_get(struct nn_objects *objects, uint64_t id, enum nn_object_kind kind)
{
    struct nn_object **at, *object = NULL;

    pthread_mutex_lock(&objects->lock);
    at = objects_find(objects, id, kind);
    if (at)
        object = nn_object_ref(*at);
    pthread_mutex_unlock(&objects->lock);
    return object;
}

void nn_objects_remove(struct nn_objects *objects, uint64_t id, enum nn_object_kind kind)
{
    struct nn_object **at, *object = NULL;

    pthread_mutex_lock(&objects->lock);
    at = objects_find(objects, id, kind);
    if (at) {
        object = *at;
        *at = object->next;
        objects->n_objects--;
    }
    pthread_mutex_unlock(&objects->lock);
    nn_object_unref(object);
}

void nn_objects_visit(struct nn_objects *objects, uint64_t id, enum nn_object_kind kind,
                      void (*visit)(const struct nn_object *object, void *ctx), void *ctx)
{
    struct nn_object **at;

    pthread_mutex_lock(&objects->lock);
    at = objects_find(objects, id, kind);
    if (at)
        visit(*at, ctx);
    pthread_mutex_unlock(&objects->lock);
}

void nn_objects_visit_all(struct nn_objects *objects, enum nn_object_kind kind,
                          void (*visit)(struct nn_object *object, void *ctx), void *ctx)
{
    pthread_mutex_lock(&objects->lock);
    for (size_t i = 0; i < objects->n_buckets; i++)
        for (struct nn_object *object = objects->buckets[i]; object; object = object->next)
            if (object->kind == kind)
                visit(object, ctx);
    pthread_mutex_unlock(&objects->lock);
}
