/* SPDX-License-Identifier: Apache-2.0 */
/* A burst of the host with the sample driver: any bytes as the elements of its queue of requests.
 * Each run of one number has one answer, which is a result of that number. */
#include "fuzz.h"

#include "base/arena.h"
#include "base/sys.h"
#include "hal/burst-packet.h"
#include "host/host.h"
#include "shm/ring.h"

#include <nnhal/driver.h>

#include <fcntl.h>
#include <string.h>

enum {
    N_ELEMENTS = 256,
    MEMORY_BYTES = 4096,
};

#define PATIENCE_NS UINT64_C(20000000000)

static struct nn_host *host;
static struct nn_hal *hal;
static struct nn_arena arena;
static struct nn_ring *requests, *results;

/* z = x + y, of a shape that requests say. */
static uint64_t prepare(void)
{
    static const uint32_t open_dimensions[2] = {0, 0};
    static const uint32_t inputs[3] = {0, 1, 2}, outputs[1] = {3}, none = 0;
    struct nnhal_operand operands[4];
    const struct nnhal_operation add = {
        .type = NNHAL_OP_ADD, .n_inputs = 3, .n_outputs = 1, .inputs = inputs, .outputs = outputs};
    struct nn_hal_prepare_model_args args = {.deadline_ns = NNHAL_NO_TIME,
                                             .priority = NNHAL_PRIORITY_MEDIUM};
    struct nn_hal_prepare_model_reply reply;

    memset(operands, 0, sizeof(operands));
    for (int i = 0; i < 4; i++) {
        operands[i].type = i == 2 ? NNHAL_INT32 : NNHAL_TENSOR_FLOAT32;
        operands[i].lifetime = i < 2    ? NNHAL_SUBGRAPH_INPUT
                               : i == 2 ? NNHAL_CONSTANT_COPY
                                        : NNHAL_SUBGRAPH_OUTPUT;
        operands[i].n_dimensions = i == 2 ? 0 : 2;
        operands[i].dimensions = open_dimensions;
    }
    operands[2].location.length = sizeof(none);
    args.model.main = (struct nnhal_subgraph){.n_operands = 4,
                                              .operands = operands,
                                              .n_operations = 1,
                                              .operations = &add,
                                              .n_input_indexes = 2,
                                              .input_indexes = inputs,
                                              .n_output_indexes = 1,
                                              .output_indexes = outputs};
    args.model.operand_values.data = (const uint8_t *)&none;
    args.model.operand_values.size = sizeof(none);
    FUZZ_CHECK(nn_hal_prepare_model(hal, &args, &reply, &arena) == NNHAL_NONE);
    return reply.prepared_model;
}

static uint64_t import(void)
{
    struct nn_hal_import_memory_args args = {.kind = NNHAL_MEMORY_ASHMEM, .size = MEMORY_BYTES};
    struct nn_hal_import_memory_reply reply;

    args.fd = nn_sys_memfd_create("fuzz", true);
    FUZZ_CHECK(args.fd >= 0 && ftruncate(args.fd, MEMORY_BYTES) == 0);
    FUZZ_CHECK(fcntl(args.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    FUZZ_CHECK(nn_hal_import_memory(hal, &args, &reply, &arena) == NNHAL_NONE);
    close(args.fd);
    return reply.memory;
}

static struct nn_hal_queue_descriptor make_queue(size_t element_size, struct nn_ring **ret_ring)
{
    struct nnhal_fmq_descriptor queue;

    FUZZ_CHECK(nn_ring_new(N_ELEMENTS, (uint32_t)element_size, NNHAL_FMQ_SYNCHRONIZED, NULL,
                           ret_ring) == 0);
    nn_ring_descriptor(*ret_ring, &queue);
    return (struct nn_hal_queue_descriptor){queue.n_elements, queue.element_size, queue.flavour,
                                            queue.fd};
}

/* One burst for all inputs, with the memory in slots 0 and 1. */
static void begin(void)
{
    struct nn_hal_configure_execution_burst_args args = {.spin_ns = 0};
    struct nn_hal_configure_execution_burst_reply reply;
    struct nn_hal_set_burst_memory_args set_args = {.slot = 0};
    struct nn_hal_set_burst_memory_reply set_reply;

    nn_arena_init(&arena, 0);
    FUZZ_CHECK(nn_host_open_builtin(nnhal_driver_main, NULL, NULL, &host) == 0);
    FUZZ_CHECK(nn_host_open_session(host, NULL, &hal) == 0);
    args.prepared_model = prepare();
    args.requests = make_queue(sizeof(struct nnhal_fmq_request_datum), &requests);
    args.results = make_queue(sizeof(struct nnhal_fmq_result_datum), &results);
    FUZZ_CHECK(nn_hal_configure_execution_burst(hal, &args, &reply, &arena) == NNHAL_NONE);
    set_args.burst = reply.burst;
    set_args.memory = import();
    for (; set_args.slot < 2; set_args.slot++)
        FUZZ_CHECK(nn_hal_set_burst_memory(hal, &set_args, &set_reply, &arena) == NNHAL_NONE);
}

static void expect_result(uint32_t sequence)
{
    struct nnhal_fmq_result_datum answer[N_ELEMENTS];
    struct nn_burst_result result;
    uint32_t n;

    FUZZ_CHECK(nn_ring_wait_to_read(results, 1, nn_sys_now_ns() + PATIENCE_NS) == 0);
    FUZZ_CHECK(nn_burst_receive_result(results, answer, &n) == 0);
    FUZZ_CHECK(nn_burst_result_decode(answer, n, &arena, &result) == 0);
    FUZZ_CHECK(result.sequence == sequence);
    FUZZ_CHECK(result.n_output_shapes == 0 || result.n_output_shapes == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct nnhal_fmq_request_datum data[N_ELEMENTS];
    uint32_t n = (uint32_t)(n_bytes / sizeof(data[0]));

    if (!hal)
        begin();
    if (n > N_ELEMENTS)
        n = N_ELEMENTS;
    if (n == 0)
        return 0;
    memcpy(data, bytes, n * sizeof(data[0]));
    /* As many answers must fit as there may be. */
    for (uint32_t i = 0; i < n; i++)
        data[i].sequence %= 16;
    FUZZ_CHECK(nn_ring_write(requests, data, n) == 0);
    for (uint32_t i = 0; i < n; i++)
        if (i + 1 == n || data[i + 1].sequence != data[i].sequence)
            expect_result(data[i].sequence);
    nn_arena_reset(&arena);
    return 0;
}
