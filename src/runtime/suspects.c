/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/suspects.h"

#include <stddef.h>

static const struct nn_rt_suspect *suspect_find(const struct nn_rt_suspects *suspects,
                                                uint64_t hash)
{
    for (uint32_t i = 0; i < NN_RT_SUSPECTS_MAX; i++)
        if (suspects->list[i].n_deaths && suspects->list[i].hash == hash)
            return &suspects->list[i];
    return NULL;
}

/* A free place, or that of the one that was noted first. */
static struct nn_rt_suspect *suspect_add(struct nn_rt_suspects *suspects, uint64_t hash)
{
    struct nn_rt_suspect *place = &suspects->list[0];

    for (uint32_t i = 1; i < NN_RT_SUSPECTS_MAX && place->n_deaths; i++)
        if (!suspects->list[i].n_deaths || suspects->list[i].noted_ns < place->noted_ns)
            place = &suspects->list[i];
    if (!place->n_deaths)
        __atomic_add_fetch(&suspects->n, 1, __ATOMIC_RELAXED);
    *place = (struct nn_rt_suspect){.hash = hash};
    return place;
}

void nn_rt_suspects_note_death(struct nn_rt_suspects *suspects, uint64_t hash, uint64_t session,
                               uint64_t now_ns)
{
    struct nn_rt_suspect *suspect = (struct nn_rt_suspect *)suspect_find(suspects, hash);

    if (suspect && suspect->session == session)
        return;
    if (!suspect)
        suspect = suspect_add(suspects, hash);
    suspect->session = session;
    suspect->noted_ns = now_ns;
    if (++suspect->n_deaths < NN_RT_SUSPECTS_DEATHS)
        return;
    suspect->refused_for_ns = suspect->refused_for_ns ? suspect->refused_for_ns * 2
                                                      : NN_RT_SUSPECTS_FIRST_NS;
    if (suspect->refused_for_ns > NN_RT_SUSPECTS_LONG_NS)
        suspect->refused_for_ns = NN_RT_SUSPECTS_LONG_NS;
}

void nn_rt_suspects_note_success(struct nn_rt_suspects *suspects, uint64_t hash)
{
    struct nn_rt_suspect *suspect = (struct nn_rt_suspect *)suspect_find(suspects, hash);

    if (!suspect)
        return;
    suspect->n_deaths = 0;
    __atomic_sub_fetch(&suspects->n, 1, __ATOMIC_RELAXED);
}

bool nn_rt_suspects_is_refused(const struct nn_rt_suspects *suspects, uint64_t hash,
                               uint64_t now_ns)
{
    const struct nn_rt_suspect *suspect = suspect_find(suspects, hash);

    return suspect && suspect->n_deaths >= NN_RT_SUSPECTS_DEATHS &&
           now_ns - suspect->noted_ns < suspect->refused_for_ns;
}
