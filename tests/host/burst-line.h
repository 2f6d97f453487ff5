/* SPDX-License-Identifier: Apache-2.0 */
/* burst-line.h - the client's end of a burst, by hand
 *
 * Queues of the test's own, and packets that it may spoil. What is to be
 * executed is the desk's request; each of its memories lies in the slot of its
 * place in desk->memories. */
#ifndef NN_TESTS_HOST_BURST_LINE_H
#define NN_TESTS_HOST_BURST_LINE_H

#include "hal/burst-packet.h"
#include "host/desk.h"
#include "shm/ring.h"

#define LINE_ELEMENTS 2048

struct line {
    struct desk *desk;
    struct nn_ring *requests, *results;
    uint64_t burst;
    uint32_t sequence; /* of the last packet */
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns;
    uint32_t measure;
    uint64_t spin_ns;
    uint32_t n_data;
    struct nnhal_fmq_request_datum data[LINE_ELEMENTS];
    struct nnhal_fmq_result_datum answer[LINE_ELEMENTS];
    uint32_t n_answer;
    struct nn_burst_result result; /* the last one; lies in the desk's arena */
};

/* line_open() - a burst with queues of so many elements; line_try_open() - the status. */
void line_open(struct line *line, struct desk *desk, uint64_t prepared, uint32_t n_requests,
               uint32_t n_results);
uint32_t line_try_open(struct line *line, struct desk *desk, uint64_t prepared, uint32_t n_requests,
                       uint32_t n_results);

/* line_close() - frees the burst, unless its session is gone (is_alive), and the queues. */
void line_close(struct line *line, bool is_alive);

/* The status of setting a slot. */
uint32_t line_set(struct line *line, int32_t slot, uint64_t memory);
void line_free(struct line *line, int32_t slot);

/* line_set_all() - every memory of the desk into its slot. */
void line_set_all(struct line *line);

/* line_pack() - the desk's request into line->data; line_send() - the packet,
 * with a new number; line_write() - any elements, as they are. */
void line_pack(struct line *line);
void line_send(struct line *line);
void line_write(struct line *line, const struct nnhal_fmq_request_datum *data, uint32_t n_data);

/* line_receive() - the next result, which must come within 10 s and be one. */
void line_receive(struct line *line);

/* line_execute() - packs, sends, receives; the status. */
uint32_t line_execute(struct line *line);

/* line_expect_refusal() - a status without shapes and times. */
void line_expect_refusal(struct line *line, uint32_t status);

/* line_expect_threads() - that count_threads() soon is this: a thread that was
 * joined is on its way out of the list for a moment more. */
void line_expect_threads(size_t n_threads);

/* What a client that does not use our code sees of a queue: LINE_QUEUE_BYTES, to be unmapped. */
enum { LINE_QUEUE_BYTES = 4096 };
uint8_t *line_map_queue(struct nn_ring *ring);

#endif
