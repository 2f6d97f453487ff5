/* SPDX-License-Identifier: Apache-2.0 */
/* burst-packet.h - requests and results as they travel through a burst's queues
 *
 * A packet is a run of elements of one sequence number (nnhal/types.h has their
 * kinds and order); two packets that follow each other have different numbers,
 * so that several may be in flight and a broken one ends where its number ends.
 * packet_size must agree with the length of the run.
 *
 * nn_burst_receive_request() and _result() copy one run out of the queue. Everything else works on
 * that private copy: what the peer writes later changes nothing. A packet is
 * refused as a whole if any element is of an unexpected kind, is missing or left
 * over, has a count beyond its limit, a boolean that is neither 0 nor 1, or
 * anything but 0 in what its kind does not use; it is the canonical form that
 * nn_burst_request_encode() and nn_burst_result_encode() make, or it is nothing.
 * Whether the request makes sense for the model (ranks, pools, sizes, slots) is
 * judged by the host, as for every other request.
 *
 * No state, no locks: any thread, and one reading thread per queue. */
#ifndef NN_HAL_BURST_PACKET_H
#define NN_HAL_BURST_PACKET_H

#include <nnhal/types.h>

#include <stdbool.h>
#include <stdint.h>

struct nn_arena;
struct nn_ring;

enum {
    NN_BURST_E_VIOLATION = 1, /* decoding: no packet */
    NN_BURST_E_MEMORY = 2,    /* decoding: the arena is exhausted */
    NN_BURST_E_TOO_LONG = 3,  /* encoding: more elements than there is room for */
    NN_BURST_E_CANNOT = 4,    /* encoding: says what packets have no place for (padding, ranks) */
    NN_BURST_E_EMPTY = 5,     /* receiving: there is no element */
    NN_BURST_E_BROKEN = 6,    /* receiving: the queue is, for good */
};

/* A slot of the burst or, with slot -1, the token of a buffer. */
struct nn_burst_pool {
    int32_t slot;
    uint32_t token;
};

struct nn_burst_request {
    uint32_t sequence;
    uint32_t measure; /* 0 or 1 */
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns;
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t n_pools;
    const struct nnhal_request_argument *inputs;
    const struct nnhal_request_argument *outputs;
    const struct nn_burst_pool *pools;
};

/* Shapes go with NNHAL_NONE and NNHAL_OUTPUT_INSUFFICIENT_SIZE only, times with
 * NNHAL_NONE only. */
struct nn_burst_result {
    uint32_t sequence;
    uint32_t status; /* enum nnhal_error_status */
    uint32_t n_output_shapes;
    const struct nnhal_output_shape *output_shapes;
    struct nnhal_timing timing;
};

/* The longest result without shapes: what a refusal needs. */
#define NN_BURST_REFUSAL_ELEMENTS 2

/* nn_burst_request_encode(), nn_burst_result_encode() - into n_room elements.
 * Returns: 0 with the packet's length, TOO_LONG, CANNOT. */
int nn_burst_request_encode(const struct nn_burst_request *request,
                            struct nnhal_fmq_request_datum *data, uint32_t n_room,
                            uint32_t *ret_n_data);
int nn_burst_result_encode(const struct nn_burst_result *result,
                           struct nnhal_fmq_result_datum *data, uint32_t n_room,
                           uint32_t *ret_n_data);

/* nn_burst_refusal() - the result that says status and nothing else. */
struct nn_burst_result nn_burst_refusal(uint32_t sequence, uint32_t status);

/* nn_burst_request_decode(), nn_burst_result_decode() - of a private copy; what
 * is returned lies in the arena. Returns: 0, VIOLATION, MEMORY. */
int nn_burst_request_decode(const struct nnhal_fmq_request_datum *data, uint32_t n_data,
                            struct nn_arena *arena, struct nn_burst_request *ret_request);
int nn_burst_result_decode(const struct nnhal_fmq_result_datum *data, uint32_t n_data,
                           struct nn_arena *arena, struct nn_burst_result *ret_result);

/* nn_burst_receive_request(), nn_burst_receive_result() - takes the next run of
 * elements with one sequence number out of the queue, unchecked; data
 * has room for as many elements as the queue. Does not wait.
 * Returns: 0 with the length of the run, EMPTY, BROKEN. */
int nn_burst_receive_request(struct nn_ring *ring, struct nnhal_fmq_request_datum *data,
                             uint32_t *ret_n_data);
int nn_burst_receive_result(struct nn_ring *ring, struct nnhal_fmq_result_datum *data,
                            uint32_t *ret_n_data);

#endif
