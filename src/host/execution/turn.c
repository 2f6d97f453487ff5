/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/turn.h"

#include "host/session.h"

static void turn_give_way(void *permit)
{
    nn_permit_give_way(permit);
}

static void turn_enter(void *permit)
{
    nn_permit_enter(permit);
}

static void turn_leave(void *permit)
{
    nn_permit_leave(permit);
}

static uint32_t turn_n_helpers(void *permit)
{
    return nn_permit_n_helpers(permit);
}

static const struct nnhal_turn *turn_fill(struct nn_turn *turn, const uint32_t *is_wanted)
{
    turn->table = (struct nnhal_turn){
        .size = sizeof(turn->table),
        .host = turn->permit,
        .is_wanted = is_wanted,
        .give_way = turn_give_way,
        .enter = turn_enter,
        .leave = turn_leave,
        .n_helpers = turn_n_helpers,
    };
    return &turn->table;
}

const struct nnhal_turn *nn_turn_begin(struct nn_call *call, struct nn_turn *turn)
{
    const uint32_t *is_wanted = nn_permit_is_wanted(&call->permit);

    turn->permit = is_wanted ? &call->permit : NULL;
    turn->has_left = false;
    if (!is_wanted)
        return NULL;
    if (call->session->host->driver.type != NNHAL_DEVICE_CPU) {
        nn_permit_leave(turn->permit);
        turn->has_left = true;
        return NULL;
    }
    return turn_fill(turn, is_wanted);
}

void nn_turn_end(struct nn_turn *turn)
{
    if (turn->has_left)
        nn_permit_enter(turn->permit);
}

const struct nnhal_turn *nn_turn_offer(const struct nnhal_driver *driver, struct nn_permit *permit,
                                       struct nn_turn *turn)
{
    const uint32_t *is_wanted = nn_permit_is_wanted(permit);

    if (!is_wanted || driver->type != NNHAL_DEVICE_CPU)
        return NULL;
    turn->permit = permit;
    turn->has_left = false;
    return turn_fill(turn, is_wanted);
}
