/* SPDX-License-Identifier: Apache-2.0 */
#include "host/burst-line.h"

#include "base/sys.h"
#include "support/fds.h"

#include <sys/mman.h>
#include <time.h>

#define PATIENCE_NS UINT64_C(10000000000)

static struct nn_hal_queue_descriptor descriptor_of(const struct nn_ring *ring)
{
    struct nnhal_fmq_descriptor of;

    nn_ring_descriptor(ring, &of);
    return (struct nn_hal_queue_descriptor){of.n_elements, of.element_size, of.flavour, of.fd};
}

uint32_t line_try_open(struct line *line, struct desk *desk, uint64_t prepared, uint32_t n_requests,
                       uint32_t n_results)
{
    struct nn_hal_configure_execution_burst_args args = {.prepared_model = prepared,
                                                         .spin_ns = line->spin_ns};
    struct nn_hal_configure_execution_burst_reply reply;
    uint32_t status;

    line->desk = desk;
    line->deadline_ns = line->loop_timeout_ns = NNHAL_NO_TIME;
    ck_assert_int_eq(nn_ring_new(n_requests, sizeof(struct nnhal_fmq_request_datum),
                                 NNHAL_FMQ_SYNCHRONIZED, NULL, &line->requests),
                     0);
    ck_assert_int_eq(nn_ring_new(n_results, sizeof(struct nnhal_fmq_result_datum),
                                 NNHAL_FMQ_SYNCHRONIZED, NULL, &line->results),
                     0);
    args.requests = descriptor_of(line->requests);
    args.results = descriptor_of(line->results);
    status = nn_hal_configure_execution_burst(desk->hal, &args, &reply, &desk->arena);
    if (status != NNHAL_NONE) {
        desk_expect_failure(reply);
        line_close(line, false);
    }
    line->burst = reply.burst;
    return status;
}

void line_open(struct line *line, struct desk *desk, uint64_t prepared, uint32_t n_requests,
               uint32_t n_results)
{
    *line = (struct line){.burst = 0};
    ck_assert_uint_eq(line_try_open(line, desk, prepared, n_requests, n_results), NNHAL_NONE);
    ck_assert_uint_ne(line->burst, 0);
}

void line_close(struct line *line, bool is_alive)
{
    const struct nn_hal_free_burst_args args = {.burst = line->burst};
    struct nn_hal_free_burst_reply reply;

    if (is_alive)
        ck_assert_uint_eq(nn_hal_free_burst(line->desk->hal, &args, &reply, &line->desk->arena),
                          NNHAL_NONE);
    nn_ring_free(line->requests);
    nn_ring_free(line->results);
}

uint32_t line_set(struct line *line, int32_t slot, uint64_t memory)
{
    const struct nn_hal_set_burst_memory_args args = {
        .burst = line->burst, .memory = memory, .slot = slot};
    struct nn_hal_set_burst_memory_reply reply;
    uint32_t status = nn_hal_set_burst_memory(line->desk->hal, &args, &reply, &line->desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    return status;
}

void line_free(struct line *line, int32_t slot)
{
    const struct nn_hal_free_burst_memory_args args = {.burst = line->burst, .slot = slot};
    struct nn_hal_free_burst_memory_reply reply;

    ck_assert_uint_eq(nn_hal_free_burst_memory(line->desk->hal, &args, &reply, &line->desk->arena),
                      NNHAL_NONE);
}

void line_set_all(struct line *line)
{
    for (uint32_t i = 0; i < line->desk->n_memories; i++)
        ck_assert_uint_eq(line_set(line, (int32_t)i, line->desk->memories[i].id), NNHAL_NONE);
}

static int32_t slot_of(const struct desk *desk, uint64_t memory)
{
    for (uint32_t i = 0; i < desk->n_memories; i++)
        if (desk->memories[i].id == memory)
            return (int32_t)i;
    ck_abort_msg("no such memory");
    return -1;
}

void line_pack(struct line *line)
{
    const struct nnhal_request *request = &line->desk->request;
    struct nn_burst_pool pools[DESK_ARGUMENTS];
    const struct nn_burst_request content = {.measure = line->measure,
                                             .deadline_ns = line->deadline_ns,
                                             .loop_timeout_ns = line->loop_timeout_ns,
                                             .n_inputs = request->n_inputs,
                                             .n_outputs = request->n_outputs,
                                             .n_pools = request->n_pools,
                                             .inputs = request->inputs,
                                             .outputs = request->outputs,
                                             .pools = pools};

    for (uint32_t i = 0; i < request->n_pools; i++) {
        pools[i] = (struct nn_burst_pool){.slot = -1, .token = request->pools[i].token};
        if (!pools[i].token)
            pools[i].slot = slot_of(line->desk, request->pools[i].memory);
    }
    ck_assert_int_eq(nn_burst_request_encode(&content, line->data, LINE_ELEMENTS, &line->n_data),
                     0);
}

void line_write(struct line *line, const struct nnhal_fmq_request_datum *data, uint32_t n_data)
{
    ck_assert_int_eq(
        nn_ring_write_blocking(line->requests, data, n_data, nn_sys_now_ns() + PATIENCE_NS), 0);
}

void line_send(struct line *line)
{
    line->sequence++;
    for (uint32_t i = 0; i < line->n_data; i++)
        line->data[i].sequence = line->sequence;
    line_write(line, line->data, line->n_data);
}

void line_receive(struct line *line)
{
    ck_assert_int_eq(nn_ring_wait_to_read(line->results, 1, nn_sys_now_ns() + PATIENCE_NS), 0);
    ck_assert_int_eq(nn_burst_receive_result(line->results, line->answer, &line->n_answer), 0);
    ck_assert_int_eq(
        nn_burst_result_decode(line->answer, line->n_answer, &line->desk->arena, &line->result), 0);
}

uint32_t line_execute(struct line *line)
{
    line_pack(line);
    line_send(line);
    line_receive(line);
    ck_assert_uint_eq(line->result.sequence, line->sequence);
    return line->result.status;
}

void line_expect_refusal(struct line *line, uint32_t status)
{
    ck_assert_uint_eq(line->result.sequence, line->sequence);
    ck_assert_uint_eq(line->result.status, status);
    ck_assert_uint_eq(line->n_answer, NN_BURST_REFUSAL_ELEMENTS);
    ck_assert_uint_eq(line->result.n_output_shapes, 0);
    ck_assert_uint_eq(line->result.timing.time_on_device_ns, NNHAL_NO_TIME);
    ck_assert_uint_eq(line->result.timing.time_in_driver_ns, NNHAL_NO_TIME);
}

void line_expect_threads(size_t n_threads)
{
    const struct timespec nap = {.tv_nsec = 1000000};

    for (int i = 0; i < 2000 && count_threads() != n_threads; i++)
        nanosleep(&nap, NULL);
    ck_assert_uint_eq(count_threads(), n_threads);
}

uint8_t *line_map_queue(struct nn_ring *ring)
{
    struct nnhal_fmq_descriptor descriptor;
    uint8_t *bytes;

    nn_ring_descriptor(ring, &descriptor);
    bytes = mmap(NULL, LINE_QUEUE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.fd, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    return bytes;
}
