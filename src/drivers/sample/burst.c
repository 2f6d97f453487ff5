/* SPDX-License-Identifier: Apache-2.0 */
/* burst.c - executes the requests of a burst, and waits for them itself
 *
 * A device with an IOMMU would map each memory once, in lane_add_memory(), and
 * then name places of it to the hardware. This one remembers where memories
 * lie. Waiting for requests can be left to the host; a device with a thread or
 * a doorbell of its own does it like lane_serve(). */
#include "sample.h"

#include <string.h>

enum { N_KEYS = 16 };

/* One burst. */
struct lane {
    const struct plan *plan;
    struct nnhal_burst_memory memories[N_KEYS]; /* size 0: the key is free */
    uint64_t n_requests;
};

static uint32_t lane_add_memory(void *ctx, const struct nnhal_burst_memory *memory)
{
    struct lane *lane = ctx;

    lane->memories[memory->key] = *memory;
    return NNHAL_NONE;
}

static void lane_remove_memory(void *ctx, uint32_t key)
{
    struct lane *lane = ctx;

    memset(&lane->memories[key], 0, sizeof(lane->memories[key]));
}

/* Whether an argument lies where its key says. */
static bool is_there(const struct lane *lane, const struct nnhal_burst_place *place,
                     const void *data)
{
    const struct nnhal_burst_memory *memory;

    if (place->key == NNHAL_BURST_NO_KEY)
        return true;
    memory = &lane->memories[place->key];
    return memory->size != 0 && place->offset < memory->n_bytes &&
           (const char *)memory->data + place->offset == (const char *)data;
}

static uint32_t lane_execute(void *ctx, const struct nnhal_burst_request *request)
{
    struct lane *lane = ctx;
    struct nnhal_execution *execution = request->execution;

    for (uint32_t i = 0; i < execution->n_inputs; i++)
        if (!is_there(lane, &request->inputs[i], execution->inputs[i].data))
            return explain(lane->plan->device, NNHAL_GENERAL_FAILURE, "an input's memory is gone");
    for (uint32_t i = 0; i < execution->n_outputs; i++)
        if (!is_there(lane, &request->outputs[i], execution->outputs[i].data))
            return explain(lane->plan->device, NNHAL_GENERAL_FAILURE, "an output's memory is gone");
    lane->n_requests++;
    return execute_plan(lane->plan, execution);
}

static void lane_serve(void *ctx, const struct nnhal_burst_channel *channel)
{
    while (channel->wait(channel->host, NNHAL_NO_TIME) > 0)
        if (channel->answer(channel->host, lane_execute, ctx) < 0)
            return;
}

static void lane_close(void *ctx)
{
    struct lane *lane = ctx;
    const struct nnhal_driver_services *services = lane->plan->device->services;

    services->release(services->ctx, lane);
}

uint32_t lane_open(const struct plan *plan, struct nnhal_burst_executor *executor)
{
    const struct nnhal_driver_services *services = plan->device->services;
    struct lane *lane = services->allocate(services->ctx, sizeof(*lane));

    if (!lane)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    memset(lane, 0, sizeof(*lane));
    lane->plan = plan;
    executor->ctx = lane;
    executor->n_keys = N_KEYS;
    executor->add_memory = lane_add_memory;
    executor->remove_memory = lane_remove_memory;
    executor->execute = lane_execute;
    executor->serve = lane_serve;
    executor->close = lane_close;
    return NNHAL_NONE;
}
