/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/residents.h"

#include "base/error.h"
#include "base/log.h"
#include "runtime/memory/domain.h"

struct nn_rt_residents {
    const struct nn_rt_plan *plan;
    pthread_mutex_t lock; /* of what follows */
    uint32_t n_sets;
    struct nn_rt_resident_set *sets[NN_RT_RESIDENTS_MAX_SETS];
};

/* -- one buffer -------------------------------------------------------------------- */

static int add_role(ANeuralNetworksMemoryDesc *desc, const struct nn_rt_plan_part *part,
                    bool is_input, uint32_t index, struct nn_why *why)
{
    const struct nn_rt_role role = {
        .compilation = part->compilation, .is_input = is_input, .index = index, .frequency = 1.0f};

    return nn_rt_memory_desc_add_role(desc, &role, why);
}

/* The uses of a value by one part. One that is not computed has none. */
static int add_roles(ANeuralNetworksMemoryDesc *desc, const struct nn_rt_plan_part *part,
                     uint32_t value, struct nn_why *why)
{
    int r = 0;

    for (uint32_t i = 0; !r && part->compilation && i < part->n_outputs; i++)
        if (part->targets[i].value == value)
            r = add_role(desc, part, false, i, why);
    for (uint32_t i = 0; !r && part->compilation && i < part->n_inputs; i++)
        if (part->sources[i].is_value && part->sources[i].index == value)
            r = add_role(desc, part, true, i, why);
    return r;
}

static int fill_desc(ANeuralNetworksMemoryDesc *desc, const struct nn_rt_plan *plan, uint32_t value,
                     struct nn_why *why)
{
    const struct nn_rt_value *known = &plan->known[plan->values[value].operand];
    int r = 0;

    for (uint32_t i = 0; !r && i < plan->n_parts; i++)
        r = add_roles(desc, &plan->parts[i], value, why);
    if (!r)
        r = nn_rt_memory_desc_set_dims(desc, known->n_dims, known->dims, why);
    return r ? r : nn_rt_memory_desc_finish(desc, why);
}

/* Returns: 0; what the device answers; -ENOMEM. */
static int new_buffer(const struct nn_rt_plan *plan, uint32_t value, struct nn_why *why,
                      ANeuralNetworksMemory **ret_memory)
{
    ANeuralNetworksMemoryDesc *desc;
    int r = nn_rt_memory_desc_new(&desc);

    if (r)
        return r;
    r = fill_desc(desc, plan, value, why);
    if (!r)
        r = nn_rt_domain_new_in_device(&desc->roles, why, ret_memory);
    nn_rt_memory_desc_free(desc);
    if (r > 0)
        nn_log("memory", NN_LOG_INFO, "%s; a value between parts lies in shared memory", why->text);
    return r;
}

/* -- one set ------------------------------------------------------------------------- */

static struct nn_rt_resident_set *set_free(struct nn_rt_resident_set *set)
{
    for (uint32_t i = 0; set && i < set->n_values; i++)
        nn_rt_memory_unref(set->memories[i]);
    free(set);
    return NULL;
}

bool nn_rt_resident_set_is_lost(const struct nn_rt_resident_set *set)
{
    for (uint32_t i = 0; i < set->n_values; i++)
        if (set->memories[i] && nn_rt_domain_is_gone(set->memories[i]->domain))
            return true;
    return false;
}

static int set_new(const struct nn_rt_plan *plan, struct nn_rt_resident_set **ret_set)
{
    struct nn_rt_resident_set *set = calloc(1, sizeof(*set) +
                                                   plan->n_values * sizeof(set->memories[0]));

    if (!set)
        return nn_error_origin(-ENOMEM);
    set->n_values = plan->n_values;
    *ret_set = set;
    return 0;
}

/* Returns: 0; what the device answers; -ENOMEM. */
static int set_fill(struct nn_rt_resident_set *set, const struct nn_rt_plan *plan)
{
    struct nn_why why = {0};
    int r = 0;

    for (uint32_t i = 0; !r && i < plan->n_values; i++)
        if (plan->values[i].is_resident)
            r = new_buffer(plan, i, &why, &set->memories[i]);
    return r;
}

/* The first one: a value for which there is no buffer is no resident. */
static void set_try(struct nn_rt_resident_set *set, struct nn_rt_plan *plan)
{
    struct nn_why why = {0};

    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].is_resident && new_buffer(plan, i, &why, &set->memories[i]) != 0)
            nn_rt_plan_share(plan, i);
}

/* -- all of a compilation's ----------------------------------------------------------- */

static struct nn_rt_residents *residents_free(struct nn_rt_residents *residents)
{
    if (!residents)
        return NULL;
    while (residents->n_sets)
        set_free(residents->sets[--residents->n_sets]);
    pthread_mutex_destroy(&residents->lock);
    free(residents);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_rt_residents, residents_free)

/* Returns: 0, -ENOMEM. */
static int residents_new(struct nn_rt_plan *plan, struct nn_rt_residents **ret_residents)
{
    _cleanup_(residents_freep) struct nn_rt_residents *residents = calloc(1, sizeof(*residents));
    int r;

    if (!residents)
        return nn_error_origin(-ENOMEM);
    pthread_mutex_init(&residents->lock, NULL);
    residents->plan = plan;
    r = set_new(plan, &residents->sets[0]);
    if (r)
        return r;
    residents->n_sets = 1;
    set_try(residents->sets[0], plan);
    *ret_residents = steal_ptr(&residents);
    return 0;
}

static void share_all(struct nn_rt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].is_resident)
            nn_rt_plan_share(plan, i);
}

static void make_own(ANeuralNetworksCompilation *compilation, struct nn_rt_plan *plan)
{
    struct nn_rt_residents *residents = NULL;

    if (residents_new(plan, &residents) != 0)
        share_all(plan);
    if (!nn_rt_plan_has_residents(plan))
        residents = residents_free(residents);
    compilation->residents = residents;
    compilation->free_residents = residents_free;
}

void nn_rt_residents_make(ANeuralNetworksCompilation *compilation)
{
    struct nn_rt_plan *plan = compilation->plan;

    if (plan && nn_rt_plan_has_residents(plan))
        make_own(compilation, plan);
    for (uint32_t i = 0; plan && i < plan->n_parts; i++)
        for (uint32_t j = 0; plan->parts[i].is_control && j < 2; j++)
            if (plan->parts[i].compilation)
                nn_rt_residents_make(plan->parts[i].compilation->branches[j]);
}

/* Returns: NULL: there is none to be had. */
static struct nn_rt_resident_set *make_another(const struct nn_rt_plan *plan)
{
    struct nn_rt_resident_set *set = NULL;
    int r = set_new(plan, &set);

    if (!r)
        r = set_fill(set, plan);
    return r ? set_free(set) : set;
}

struct nn_rt_resident_set *nn_rt_residents_take(struct nn_rt_residents *residents)
{
    struct nn_rt_resident_set *set = NULL;

    if (!residents)
        return NULL;
    pthread_mutex_lock(&residents->lock);
    if (residents->n_sets)
        set = residents->sets[--residents->n_sets];
    pthread_mutex_unlock(&residents->lock);
    return set ? set : make_another(residents->plan);
}

/* A forked child must not touch the lock. */
static bool is_foreign(const struct nn_rt_resident_set *set)
{
    for (uint32_t i = 0; i < set->n_values; i++)
        if (set->memories[i])
            return nn_rt_object_is_foreign(&set->memories[i]->object);
    return false;
}

struct nn_rt_resident_set *nn_rt_residents_give(struct nn_rt_residents *residents,
                                                struct nn_rt_resident_set *set)
{
    if (!set)
        return NULL;
    if (!is_foreign(set) && !nn_rt_resident_set_is_lost(set)) {
        pthread_mutex_lock(&residents->lock);
        if (residents->n_sets < NN_RT_RESIDENTS_MAX_SETS) {
            residents->sets[residents->n_sets++] = set;
            set = NULL;
        }
        pthread_mutex_unlock(&residents->lock);
    }
    return set_free(set);
}
