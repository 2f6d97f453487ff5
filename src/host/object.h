/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - what a session holds, by id
 *
 * Memories, prepared models, executions, fenced callbacks, buffers and bursts are
 * objects: a u64 id that is never used twice in its session, a kind, and a
 * reference count.
 * The table holds one reference; who uses an object holds another one, so that
 * freeing an id while a call uses it only takes the id away: the object goes
 * when its last user is done.
 *
 * Threads: all functions, any thread. An object's destroy function runs without
 * the table's lock, on the thread that drops the last reference. */
#ifndef NN_HOST_OBJECT_H
#define NN_HOST_OBJECT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum nn_object_kind {
    NN_OBJECT_MEMORY,
    NN_OBJECT_PREPARED,
    NN_OBJECT_EXECUTION,
    NN_OBJECT_FENCED,
    NN_OBJECT_BUFFER,
    NN_OBJECT_BURST,
    NN_OBJECT_KIND_N,
};

/* The first member of every object with an id. */
struct nn_object {
    uint64_t id; /* 0: not in a table */
    enum nn_object_kind kind;
    uint32_t n_refs;
    struct nn_object *next; /* the table's */
    void (*destroy)(struct nn_object *object);
};

struct nn_objects {
    pthread_mutex_t lock;
    uint64_t last_id;
    size_t n_objects;
    size_t n_buckets; /* 0 or a power of two */
    struct nn_object **buckets;
};

void nn_objects_init(struct nn_objects *objects);

/* nn_objects_done() - takes every object out, one after the other, and drops the
 * table's references; until then other objects' threads may look into the table. */
void nn_objects_done(struct nn_objects *objects);

/* nn_object_init() - one reference, the caller's. */
void nn_object_init(struct nn_object *object, enum nn_object_kind kind,
                    void (*destroy)(struct nn_object *object));

struct nn_object *nn_object_ref(struct nn_object *object);

/* nn_object_unref() - accepts NULL; returns NULL. */
struct nn_object *nn_object_unref(struct nn_object *object);

/* nn_objects_add() - gives the object an id; the table takes a reference of its own.
 * Returns: 0, -ENOMEM. */
int nn_objects_add(struct nn_objects *objects, struct nn_object *object);

/* nn_objects_get() - a reference to the object that has this id and kind.
 * Returns: the object, or NULL if there is none. */
struct nn_object *nn_objects_get(struct nn_objects *objects, uint64_t id, enum nn_object_kind kind);

/* nn_objects_remove() - takes an id away and drops the table's reference; an id
 * that names nothing of this kind is no error. */
void nn_objects_remove(struct nn_objects *objects, uint64_t id, enum nn_object_kind kind);

/* nn_objects_visit() - calls visit for the object that has this id and kind, if
 * there is one, with the table locked: without a reference, which might turn
 * out to be the last. visit must not come back to the table. */
void nn_objects_visit(struct nn_objects *objects, uint64_t id, enum nn_object_kind kind,
                      void (*visit)(const struct nn_object *object, void *ctx), void *ctx);

/* nn_objects_visit_all() - the same for every object of a kind. */
void nn_objects_visit_all(struct nn_objects *objects, enum nn_object_kind kind,
                          void (*visit)(struct nn_object *object, void *ctx), void *ctx);

#endif
