/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/channel.h"

#include "model/validate.h"

enum {
    PACKETS = 16,
    ROOM_ELEMENTS = 1024, /* of a queue with room for so many packets */
};

/* -- the session's list ---------------------------------------------------- */

static void enter_list(struct nn_rt_channel *channel)
{
    struct nn_rt_session *session = channel->session;

    pthread_mutex_lock(&session->lock);
    channel->next = session->channels;
    session->channels = channel;
    pthread_mutex_unlock(&session->lock);
    /* Whoever has missed it in the list has marked the session before. */
    if (!nn_rt_session_is_alive(session))
        nn_burst_stop(channel->burst);
}

/* Under the lock. */
static void leave_list(struct nn_rt_channel *channel)
{
    struct nn_rt_channel **link = &channel->session->channels;

    while (*link != channel)
        link = &(*link)->next;
    *link = channel->next;
}

/* The channel after previous (NULL: the first), with a reference; gives up
 * previous. A channel in the list is there until its last reference goes. */
static struct nn_rt_channel *next_channel(struct nn_rt_session *session,
                                          struct nn_rt_channel *previous)
{
    struct nn_rt_channel *channel;

    pthread_mutex_lock(&session->lock);
    channel = previous ? previous->next : session->channels;
    if (channel)
        channel->n_refs++;
    pthread_mutex_unlock(&session->lock);
    nn_rt_channel_unref(previous);
    return channel;
}

void nn_rt_channel_drop_memory(struct nn_rt_session *session, uint64_t memory)
{
    struct nn_rt_channel *channel = NULL;

    if (nn_rt_session_is_foreign(session))
        return;
    while ((channel = next_channel(session, channel)))
        nn_burst_drop_memory(channel->burst, memory, nn_rt_session_is_alive(session));
}

void nn_rt_channel_stop_all(struct nn_rt_session *session)
{
    pthread_mutex_lock(&session->lock);
    for (struct nn_rt_channel *channel = session->channels; channel; channel = channel->next)
        nn_burst_stop(channel->burst);
    pthread_mutex_unlock(&session->lock);
}

void nn_rt_channel_request_memories(struct nn_rt_session *session,
                                    const struct nn_hal_get_memories_event *event)
{
    pthread_mutex_lock(&session->lock);
    for (struct nn_rt_channel *channel = session->channels; channel; channel = channel->next)
        if (nn_burst_id(channel->burst) == event->burst)
            nn_burst_resend_memories(channel->burst, event->slots, event->n_slots);
    pthread_mutex_unlock(&session->lock);
}

/* -- beginning and end ----------------------------------------------------- */

/* Each argument has an element, its dimensions, and for a request its pool. */
static uint64_t count_elements(const struct nnhal_operand *operands, uint32_t n, uint32_t n_each)
{
    uint64_t n_elements = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = operands[i].n_dimensions;

        n_elements += n_each + (rank ? rank : NNHAL_MAX_RANK);
    }
    return n_elements;
}

/* Room for several of the longest packet, so that a writer seldom has to look
 * how far its reader has come: that costs as much as a word to the other side. */
static uint32_t size_queue(uint64_t n)
{
    uint64_t n_room = n * PACKETS <= ROOM_ELEMENTS ? n * PACKETS : n;

    return n_room < UINT32_MAX ? (uint32_t)n_room : UINT32_MAX;
}

static struct nn_burst *open_burst(struct nn_rt_prepared *prepared, const struct nn_model_io *io,
                                   bool may_spin)
{
    const bool has_queues = prepared->session->is_wire;
    const struct nn_burst_params params = {
        .prepared_model = prepared->id,
        .n_request_elements = !has_queues
                                  ? 0
                                  : size_queue(2 + count_elements(io->inputs, io->n_inputs, 2) +
                                               count_elements(io->outputs, io->n_outputs, 2)),
        .n_result_elements = size_queue(2 + count_elements(io->outputs, io->n_outputs, 1)),
        .spin_ns = may_spin ? NNHAL_NO_TIME : 0,
    };
    struct nn_burst *burst = NULL;
    uint32_t status;
    int r = nn_burst_open(prepared->session->hal, &params, &status, &burst);

    if (r == NN_BURST_E_REFUSED)
        nn_rt_session_check_status(prepared->session, status);
    return burst;
}

struct nn_rt_channel *nn_rt_channel_open(struct nn_rt_prepared *prepared,
                                         const struct nn_model_io *io, bool may_spin)
{
    struct nn_rt_channel *channel;

    if (!nn_rt_session_is_alive(prepared->session))
        return NULL;
    channel = calloc(1, sizeof(*channel));
    if (!channel)
        return NULL;
    channel->burst = open_burst(prepared, io, may_spin);
    if (!channel->burst) {
        free(channel);
        return NULL;
    }
    channel->n_refs = 1;
    channel->session = nn_rt_session_ref(prepared->session);
    enter_list(channel);
    return channel;
}

/* In a forked child the lock may be held for ever, and where the queues were
 * mapped something else may be: all of it stays. */
struct nn_rt_channel *nn_rt_channel_unref(struct nn_rt_channel *channel)
{
    struct nn_rt_session *session = channel ? channel->session : NULL;
    bool is_last;

    if (!channel || nn_rt_session_is_foreign(session))
        return NULL;
    pthread_mutex_lock(&session->lock);
    is_last = --channel->n_refs == 0;
    if (is_last)
        leave_list(channel);
    pthread_mutex_unlock(&session->lock);
    if (!is_last)
        return NULL;
    nn_burst_free(channel->burst, nn_rt_session_is_alive(session));
    nn_rt_session_unref(session);
    free(channel);
    return NULL;
}
