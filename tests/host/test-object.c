/* SPDX-License-Identifier: Apache-2.0 */
#include "host/object.h"

#include "support/check-main.h"

#include <pthread.h>

static uint32_t n_destroyed;

static void destroy(struct nn_object *object)
{
    __atomic_add_fetch(&n_destroyed, 1, __ATOMIC_RELAXED);
    free(object);
}

/* A new object that only the table refers to. */
static uint64_t add(struct nn_objects *objects, enum nn_object_kind kind)
{
    struct nn_object *object = calloc(1, sizeof(*object));
    uint64_t id;

    nn_object_init(object, kind, destroy);
    ck_assert_int_eq(nn_objects_add(objects, object), 0);
    id = object->id;
    nn_object_unref(object);
    return id;
}

TEST(ids_are_never_used_twice)
{
    struct nn_objects objects;
    uint64_t last = 0;

    nn_objects_init(&objects);
    for (int i = 0; i < 1000; i++) {
        uint64_t id = add(&objects, NN_OBJECT_MEMORY);

        ck_assert_uint_gt(id, last);
        last = id;
        if (i % 2)
            nn_objects_remove(&objects, id, NN_OBJECT_MEMORY);
    }
    ck_assert_uint_eq(objects.n_objects, 500);
    nn_objects_done(&objects);
    ck_assert_uint_eq(n_destroyed, 1000);
}
TEST_END

TEST(an_object_is_found_by_id_and_kind)
{
    struct nn_objects objects;
    struct nn_object *object;
    uint64_t id;

    nn_objects_init(&objects);
    ck_assert_ptr_null(nn_objects_get(&objects, 1, NN_OBJECT_MEMORY));
    id = add(&objects, NN_OBJECT_MEMORY);
    for (int i = 0; i < 100; i++)
        add(&objects, NN_OBJECT_EXECUTION);
    object = nn_objects_get(&objects, id, NN_OBJECT_MEMORY);
    ck_assert_uint_eq(object->id, id);
    nn_object_unref(object);
    ck_assert_ptr_null(nn_objects_get(&objects, id, NN_OBJECT_PREPARED));
    ck_assert_ptr_null(nn_objects_get(&objects, 0, NN_OBJECT_MEMORY));
    ck_assert_ptr_null(nn_objects_get(&objects, UINT64_MAX, NN_OBJECT_MEMORY));
    nn_objects_remove(&objects, id, NN_OBJECT_EXECUTION);
    ck_assert_uint_eq(n_destroyed, 0);
    nn_objects_done(&objects);
}
TEST_END

TEST(a_user_keeps_an_object_whose_id_is_gone)
{
    struct nn_objects objects;
    struct nn_object *object;
    uint64_t id;

    nn_objects_init(&objects);
    id = add(&objects, NN_OBJECT_PREPARED);
    object = nn_objects_get(&objects, id, NN_OBJECT_PREPARED);
    nn_objects_remove(&objects, id, NN_OBJECT_PREPARED);
    nn_objects_remove(&objects, id, NN_OBJECT_PREPARED);
    ck_assert_ptr_null(nn_objects_get(&objects, id, NN_OBJECT_PREPARED));
    ck_assert_uint_eq(n_destroyed, 0);
    ck_assert_ptr_null(nn_object_unref(object));
    ck_assert_uint_eq(n_destroyed, 1);
    nn_objects_done(&objects);
}
TEST_END

static void *churn(void *ctx)
{
    struct nn_objects *objects = ctx;

    for (int i = 0; i < 2000; i++) {
        uint64_t id = add(objects, NN_OBJECT_MEMORY);

        nn_object_unref(nn_objects_get(objects, id > 2 ? id - 2 : id, NN_OBJECT_MEMORY));
        nn_objects_remove(objects, id > 1 ? id - 1 : id, NN_OBJECT_MEMORY);
    }
    return NULL;
}

TEST(threads_add_use_and_remove_at_once)
{
    struct nn_objects objects;
    pthread_t threads[4];

    nn_objects_init(&objects);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &objects), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    nn_objects_done(&objects);
    ck_assert_uint_eq(n_destroyed, 8000);
}
TEST_END

CHECK_MAIN("object", ids_are_never_used_twice, an_object_is_found_by_id_and_kind,
           a_user_keeps_an_object_whose_id_is_gone, threads_add_use_and_remove_at_once)
