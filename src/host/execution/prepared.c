/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/prepared.h"

#include "host/session.h"

#include <stdlib.h>

struct nn_prepared *nn_prepared_get(struct nn_host_session *session, uint64_t id)
{
    return (struct nn_prepared *)nn_objects_get(&session->objects, id, NN_OBJECT_PREPARED);
}

struct nn_prepared *nn_prepared_unref(struct nn_prepared *prepared)
{
    if (prepared)
        nn_object_unref(&prepared->object);
    return NULL;
}

bool nn_prepared_is_broken(const struct nn_prepared *prepared)
{
    return nn_constants_are_broken(&prepared->constants);
}

static void prepared_destroy(struct nn_object *object)
{
    struct nn_prepared *prepared = (struct nn_prepared *)object;

    nn_reoptimize_done(prepared);
    if (prepared->source != NN_PREPARED_UNMADE)
        prepared->host->driver.release(prepared->driver_prepared);
    nn_constants_done(&prepared->constants);
    nn_loaded_cache_done(&prepared->loaded);
    nn_arena_done(&prepared->arena);
    nn_quota_release(&prepared->bytes_charge);
    nn_quota_release(&prepared->charge);
    free(prepared);
}

struct nn_prepared *nn_prepared_new(struct nn_host_session *session)
{
    struct nn_prepared *prepared = calloc(1, sizeof(*prepared));

    if (!prepared)
        return NULL;
    nn_object_init(&prepared->object, NN_OBJECT_PREPARED, prepared_destroy);
    nn_arena_init(&prepared->arena, 0);
    prepared->host = session->host;
    return prepared;
}
