/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/prepared.h"

#include "host/session.h"

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
