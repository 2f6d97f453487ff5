/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/channel.h"

#include "hal/proxy.h"
#include "model/validate.h"

enum {
    PACKETS = 16,
    ROOM_ELEMENTS = 1024, /* of a queue with room for so many packets */
};

/* Each argument has an element, its dims, and for a request its pool. */
static uint64_t count_elements(const struct nnhal_operand *operands, uint32_t n, uint32_t n_each)
{
    uint64_t n_elements = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = operands[i].n_dimensions;

        n_elements += n_each + (rank ? rank : NNHAL_MAX_RANK);
    }
    return n_elements;
}

/* Room for several of the longest packet, so that a writer seldom has to read the reader's
 * counter: that costs as much as sending a word to the other side. */
static uint32_t size_queue(uint64_t n)
{
    uint64_t n_room = n * PACKETS <= ROOM_ELEMENTS ? n * PACKETS : n;

    return n_room < UINT32_MAX ? (uint32_t)n_room : UINT32_MAX;
}

static struct nn_burst *open_burst(const struct nn_rt_channel_params *channel)
{
    const struct nn_model_io *io = channel->io;
    const bool has_queues = channel->session->has_queues, is_wire = channel->session->is_wire;
    const struct nn_burst_params params = {
        .prepared_model = channel->prepared_model,
        .n_request_elements = !has_queues
                                  ? 0
                                  : size_queue(2 + count_elements(io->inputs, io->n_inputs, 2) +
                                               count_elements(io->outputs, io->n_outputs, 2)),
        .n_result_elements = size_queue(2 + count_elements(io->outputs, io->n_outputs, 1)),
        .spin_ns = channel->may_spin ? NNHAL_NO_TIME : 0,
        .watch = is_wire ? nn_hal_proxy_watch : NULL,
        .leave_late = is_wire ? nn_hal_proxy_leave_late : NULL,
    };
    struct nn_burst *burst = NULL;
    uint32_t status;
    int r = nn_burst_open(channel->session->hal, &params, &status, &burst);

    if (r == NN_BURST_E_REFUSED)
        nn_rt_session_check_status(channel->session, status);
    return burst;
}

struct nn_rt_channel *nn_rt_channel_open(const struct nn_rt_channel_params *params)
{
    _cleanup_(freep) struct nn_rt_channel *channel = NULL;
    struct nn_rt_session *session = params->session;
    struct nn_burst *burst;

    if (!nn_rt_session_is_alive(session))
        return NULL;
    channel = calloc(1, sizeof(*channel));
    burst = channel ? open_burst(params) : NULL;
    if (!burst)
        return NULL;
    if (nn_rt_session_bursts_add(&session->bursts, burst, &channel->entry)) {
        nn_burst_free(burst, true);
        return NULL;
    }
    channel->burst = burst;
    channel->session = nn_rt_session_ref(session);
    /* A session that ended before the burst was in its list has not stopped it. */
    if (!nn_rt_session_is_alive(session))
        nn_burst_stop(burst);
    return steal_ptr(&channel);
}

/* In a forked child the list's lock may be held for ever, and the queues' addresses may be in use
 * for something else: everything is left as it is. */
struct nn_rt_channel *nn_rt_channel_free(struct nn_rt_channel *channel)
{
    struct nn_rt_session *session = channel ? channel->session : NULL;

    if (!channel || nn_rt_session_is_foreign(session))
        return NULL;
    nn_rt_session_burst_unref(&session->bursts, channel->entry, nn_rt_session_is_alive(session));
    nn_rt_session_unref(session);
    free(channel);
    return NULL;
}
