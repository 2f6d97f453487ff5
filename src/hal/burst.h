/* SPDX-License-Identifier: Apache-2.0 */
/* burst.h - the client's side of a burst
 *
 * A burst is a channel to one prepared model of a session: a queue of requests
 * and one of results (nnhal/fmq.h, hal/burst-packet.h), which the device's
 * listener serves without a call per inference. A request names memories by
 * slot. A memory gets its slot when it is first packed, and keeps it, mapped on
 * the other side, until nn_burst_drop_memory().
 *
 * Requests are packed once and sent any number of times: sending writes the
 * sequence number and the deadline into the packet and copies it into the
 * queue. One request is in flight at a time.
 *
 * The other side is not believed: a result is copied, decoded and held against
 * the request's number. One that is no result, or another's, breaks the burst:
 * that request ends with GENERAL_FAILURE, and later ones are not sent.
 *
 * What was not sent (NN_BURST_E_UNSENT) has left no trace and can be executed
 * in another way. What was sent ends as the device says, or with DEAD_OBJECT
 * when nn_burst_stop() says that there is no device any more; it is never sent
 * again.
 *
 * Every wait ends: 50 ms after the deadline (MISSED_DEADLINE_TRANSIENT), or when the
 * device does not answer when it is asked, once a second (DEAD_OBJECT), or when it answers
 * but has not taken the request out of the queue for six seconds (GENERAL_FAILURE). Such a
 * burst is broken: its queues are never used again. While it waits this side stores its counters
 * again each second, and the device's side does when it is asked whether it is there: a word that
 * was overwritten keeps neither waiting.
 *
 * Threads: open, pack, execute and free: one at a time. nn_burst_drop_memory(),
 * nn_burst_resend_memories() and nn_burst_stop(): any, while the burst lives; the latter
 * two call nothing and may be called by a session's listener. The queues are
 * not inherited by a forked child, which may not call anything here. */
#ifndef NN_HAL_BURST_H
#define NN_HAL_BURST_H

#include "hal/burst-slots.h"
#include "hal/hal.h"

#include <stdbool.h>

struct nn_burst;
struct nn_burst_packet;

enum {
    NN_BURST_E_UNSENT = 16,  /* not sent: execute in another way */
    NN_BURST_E_REFUSED = 17, /* open: the device has no such burst; ret_status says why */
};

struct nn_burst_params {
    uint64_t prepared_model;
    uint32_t n_request_elements; /* of the longest request; 0: no queues, the hint alone */
    uint32_t n_result_elements;  /* of the longest result */
    uint64_t spin_ns;            /* how long either side may look before it sleeps (shm/spin.h) */
    /* For a device in another process, as hal/proxy.h has them; NULL: it is in this one. */
    bool (*watch)(struct nn_hal *hal);
    void (*leave_late)(struct nn_hal *hal);
};

/* nn_burst_open() - makes the queues and the device's side. Without queues, which
 * a device in this process allows, nothing can be packed or sent. hal is borrowed and
 * must outlive the burst. Returns: 0, REFUSED, -ENOMEM, -errno. */
int nn_burst_open(struct nn_hal *hal, const struct nn_burst_params *params, uint32_t *ret_status,
                  struct nn_burst **ret_burst);

/* nn_burst_free() - is_alive: the session can be called, and is told; else only
 * this side goes. Accepts NULL; returns NULL. */
struct nn_burst *nn_burst_free(struct nn_burst *burst, bool is_alive);

/* nn_burst_id() - the session's id of the burst. */
uint64_t nn_burst_id(const struct nn_burst *burst);

/* How each execution of a packet is to be made. */
struct nn_burst_pack_options {
    bool measure;
    uint64_t loop_timeout_ns; /* NNHAL_NO_TIME: the default */
};

/* nn_burst_pack() - makes a request ready for sending. Its memories get slots,
 * which calls the device for those that are new to the burst.
 * Returns: 0, UNSENT (no packet can say it, no slot is left, or the device
 * refuses a memory), -ENOMEM. */
int nn_burst_pack(struct nn_burst *burst, const struct nnhal_request *request,
                  const struct nn_burst_pack_options *options, struct nn_burst_packet **ret_packet);
struct nn_burst_packet *nn_burst_packet_free(struct nn_burst_packet *packet);

/* nn_burst_packet_is_for() - whether it was packed for the burst of this id. */
bool nn_burst_packet_is_for(const struct nn_burst_packet *packet, uint64_t burst);

/* nn_burst_execute() - sends a packet of this burst and waits for its result,
 * which lies in arena. Returns: 0 with the status, UNSENT. */
int nn_burst_execute(struct nn_burst *burst, struct nn_burst_packet *packet, uint64_t deadline_ns,
                     struct nn_arena *arena, uint32_t *ret_status,
                     struct nn_hal_execute_synchronously_reply *reply);

/* nn_burst_drop_memory() - nothing that was packed names the memory any more:
 * frees its slot, if it has one. is_alive: as in nn_burst_free(). */
void nn_burst_drop_memory(struct nn_burst *burst, uint64_t memory, bool is_alive);

/* nn_burst_resend_memories() - the device has lost what lies in these slots
 * (IBurstCallback.get_memories): the thread that waits for a result sets them again. */
void nn_burst_resend_memories(struct nn_burst *burst, const int32_t *slots, uint32_t n_slots);

/* nn_burst_stop() - the device is gone: the wait in progress ends with
 * DEAD_OBJECT, and nothing is sent any more. */
void nn_burst_stop(struct nn_burst *burst);

#endif
