/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c - a plan as bytes, and back: the compilation cache
 *
 *   model file: struct sample_cache_head, a struct kept_value for each value, the steps
 *   data file:  the constants, each at a multiple of 64
 *
 * What steers (indexes, shapes, where a constant lies) is in the model file,
 * which the host gives back exactly as it was or not at all. The data file has
 * nothing but numbers: wrong ones would give wrong results and no more. Bytes
 * need no form that other machines understand: the files never leave this one. */
#include "sample.h"

#include <string.h>

#define ALIGNMENT 64

struct sample_cache_head {
    uint32_t n_values;
    uint32_t n_steps;
};

/* A value whose constant is a place in the data file. */
struct kept_value {
    struct value value; /* constant is NULL */
    uint64_t offset;
    uint64_t n_bytes; /* 0: no constant */
};

static uint64_t constant_size(const struct value *value)
{
    uint64_t n_bytes = sizeof(float);

    if (!value->constant)
        return 0;
    for (uint32_t i = 0; i < value->n_dimensions; i++)
        n_bytes *= value->dimensions[i];
    return n_bytes;
}

static uint64_t place_after(uint64_t n_bytes)
{
    return (n_bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* -- prepare(): the buffers -------------------------------------------------------- */

static void fill_model(const struct plan *plan, unsigned char *bytes)
{
    const struct sample_cache_head head = {plan->n_values, plan->n_steps};
    uint64_t offset = 0;

    memcpy(bytes, &head, sizeof(head));
    bytes += sizeof(head);
    for (uint32_t i = 0; i < plan->n_values; i++, bytes += sizeof(struct kept_value)) {
        struct kept_value kept = {.value = plan->values[i], .offset = offset};

        kept.n_bytes = constant_size(&plan->values[i]);
        kept.value.constant = NULL;
        memcpy(bytes, &kept, sizeof(kept));
        offset = place_after(offset + kept.n_bytes);
    }
    memcpy(bytes, plan->steps, plan->n_steps * sizeof(struct sample_step));
}

static void fill_data(const struct plan *plan, unsigned char *bytes, uint64_t n_bytes)
{
    uint64_t offset = 0;

    memset(bytes, 0, n_bytes);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        uint64_t n = constant_size(&plan->values[i]);

        if (n)
            memcpy(bytes + offset, plan->values[i].constant, n);
        offset = place_after(offset + n);
    }
}

/* The blocks belong to the plan: they must stay as they are until it is released. */
void keep_plan(struct plan *plan, struct nnhal_cache *cache)
{
    const struct nnhal_driver_services *services = plan->device->services;
    uint64_t n_model = sizeof(struct sample_cache_head) +
                       plan->n_values * sizeof(struct kept_value) +
                       plan->n_steps * sizeof(struct sample_step);
    uint64_t n_data = 0;

    for (uint32_t i = 0; i < plan->n_values; i++)
        n_data = place_after(n_data + constant_size(&plan->values[i]));
    plan->kept_model = services->allocate(services->ctx, n_model);
    plan->kept_data = services->allocate(services->ctx, n_data);
    if (!plan->kept_model || !plan->kept_data)
        return; /* not kept, and prepared all the same */
    fill_model(plan, plan->kept_model);
    fill_data(plan, plan->kept_data, n_data);
    cache->model_files[0] = (struct nnhal_cache_buffer){plan->kept_model, n_model};
    cache->data_files[0] = (struct nnhal_cache_buffer){plan->kept_data, n_data};
}

/* -- prepare_from_cache(): the plan ----------------------------------------------------- */

static bool take_values(struct plan *plan, const unsigned char *bytes,
                        const struct nnhal_cache_buffer *data)
{
    struct kept_value kept;

    for (uint32_t i = 0; i < plan->n_values; i++, bytes += sizeof(kept)) {
        memcpy(&kept, bytes, sizeof(kept));
        if (kept.n_bytes > data->size || kept.offset > data->size - kept.n_bytes)
            return false;
        plan->values[i] = kept.value;
        if (kept.n_bytes) /* the host keeps the bytes until release() */
            plan->values[i].constant = (const float *)(const void *)((const char *)data->bytes +
                                                                     kept.offset);
    }
    return true;
}

/* The configuration may have become another since. */
static bool take_steps(struct plan *plan, const unsigned char *bytes)
{
    memcpy(plan->steps, bytes, plan->n_steps * sizeof(struct sample_step));
    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (!accepts_operation(&plan->device->config, plan->steps[i].operation))
            return false;
    return plan->device->config.accepts_float32;
}

uint32_t keep_take(struct sample_device *device, const struct nnhal_cache *cache,
                   struct plan **ret_plan)
{
    const unsigned char *bytes = cache->model_files[0].bytes;
    struct sample_cache_head head;
    struct plan *plan;

    memcpy(&head, bytes, sizeof(head));
    bytes += sizeof(head);
    plan = plan_new(device, head.n_values, head.n_steps, 0);
    if (!plan)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    if (!take_values(plan, bytes, &cache->data_files[0]) ||
        !take_steps(plan, bytes + head.n_values * sizeof(struct kept_value))) {
        plan_free(plan);
        return explain(device, NNHAL_GENERAL_FAILURE,
                       "the kept plan needs what this configuration does not accept");
    }
    *ret_plan = plan;
    return NNHAL_NONE;
}
