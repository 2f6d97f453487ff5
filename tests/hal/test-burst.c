/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a burst against a device made of a table and a thread:
 * what is sent, what is never sent, and how every wait ends. */
#include "hal/burst.h"

#include "base/arena.h"
#include "base/sys.h"
#include "hal/burst-packet.h"
#include "shm/ring.h"
#include "shm/spin.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"
#include "support/fds.h"
#include "support/lateness.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define S          UINT64_C(1000000000)
#define N_ELEMENTS 64
#define N_SLOTS    2048

/* A deadline that is told from others, and does not pass. */
#define FAR_NS (UINT64_C(1) << 62)

/* How the device answers requests. */
enum manner {
    ANSWER,         /* with status, and a shape if that goes with it */
    ANSWER_ANOTHER, /* with another's number */
    ANSWER_GARBAGE, /* with elements that are no result */
    ANSWER_WANTING, /* asks for the slots first */
    ANSWER_AFTER_4, /* when so many slots were set */
    ANSWER_TWICE,   /* with a result too many */
    SPOIL_REQUESTS, /* with an impossible counter of what it has read */
    SPOIL_RESULTS,  /* with an impossible counter of what it has written */
    DIE,            /* not at all; the client is told */
    NEVER,          /* not at all */
    BLIND,          /* not at all: it does not look into the queue */
};

struct device {
    struct nn_hal hal;
    struct nn_ring *requests, *results;
    pthread_t thread;
    enum manner manner;
    uint32_t status;         /* of answers */
    uint32_t refusal;        /* of configure_execution_burst and set_burst_memory */
    struct nn_burst *client; /* as its session would know it */
    struct nn_burst_request last;
    struct nn_arena arena;
    struct nnhal_fmq_request_datum data[N_ELEMENTS];
    _Atomic uint32_t n_requests;
    _Atomic uint64_t memories[N_SLOTS]; /* by slot */
    _Atomic uint32_t n_set, n_freed, n_bursts_freed;
};

static struct device *device_of(struct nn_hal *hal)
{
    return (struct device *)hal;
}

/* -- the device's side ----------------------------------------------------- */

/* On the listener's thread, which may not take memory as assertions do. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void answer(struct device *device)
{
    static const uint32_t dimensions[2] = {2, 3};
    const struct nnhal_output_shape shape = {1, 2, dimensions};
    struct nn_burst_result result = nn_burst_refusal(device->last.sequence, device->status);
    struct nnhal_fmq_result_datum data[8];
    uint32_t n;

    if (device->manner == ANSWER_ANOTHER)
        result.sequence++;
    if (device->status == NNHAL_NONE) {
        result.n_output_shapes = 1;
        result.output_shapes = &shape;
        result.timing = (struct nnhal_timing){5, 7};
    }
    must(nn_burst_result_encode(&result, data, 8, &n) == 0);
    if (device->manner == ANSWER_GARBAGE)
        data[1].kind = 77;
    nn_ring_write(device->results, data, n);
    if (device->manner == ANSWER_TWICE)
        nn_ring_write(device->results, data, n);
}

static void want(struct device *device)
{
    int32_t slots[2] = {device->last.pools[0].slot, 999};

    device->n_set = 0;
    device->memories[slots[0]] = 0;
    nn_burst_resend_memories(device->client, slots, 2);
    while (device->n_set < 2)
        ;
}

/* Another mapping of the same queue, for writing where the counters lie. */
static void spoil(struct nn_ring *ring, size_t offset)
{
    struct nnhal_fmq_descriptor descriptor;
    uint8_t *page;

    nn_ring_descriptor(ring, &descriptor);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.fd, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    __atomic_store_n((uint64_t *)(void *)(page + offset), UINT64_C(1) << 40, __ATOMIC_SEQ_CST);
    munmap(page, 4096);
}

static void serve(struct device *device, uint32_t n)
{
    nn_arena_reset(&device->arena);
    must(nn_burst_request_decode(device->data, n, &device->arena, &device->last) == 0);
    device->n_requests++;
    switch (device->manner) {
    case ANSWER_WANTING:
        want(device);
        answer(device);
        break;
    case ANSWER_AFTER_4:
        for (uint64_t end_ns = nn_sys_now_ns() + 10000000000; device->n_set < 4;)
            must(nn_sys_now_ns() < end_ns);
        answer(device);
        break;
    case SPOIL_REQUESTS:
        spoil(device->requests, 128);
        answer(device);
        break;
    case SPOIL_RESULTS:
        spoil(device->results, 64);
        nn_burst_resend_memories(device->client, NULL, 0); /* look */
        break;
    case DIE:
        nn_burst_stop(device->client);
        break;
    case NEVER:
        break;
    default:
        answer(device);
    }
}

static void *listen_to_requests(void *argument)
{
    struct device *device = argument;
    uint32_t n;

    while (device->manner != BLIND && nn_ring_wait_to_read(device->requests, 1, UINT64_MAX) == 0) {
        must(nn_burst_receive_request(device->requests, device->data, &n) == 0);
        serve(device, n);
    }
    return NULL;
}

static struct nnhal_fmq_descriptor descriptor_of(const struct nn_hal_queue_descriptor *queue)
{
    return (struct nnhal_fmq_descriptor){queue->n_elements, queue->element_size, queue->flavour,
                                         queue->fd};
}

static uint32_t configure(struct nn_hal *hal,
                          const struct nn_hal_configure_execution_burst_args *args,
                          struct nn_hal_configure_execution_burst_reply *reply,
                          struct nn_arena *arena)
{
    struct device *device = device_of(hal);
    struct nnhal_fmq_descriptor requests = descriptor_of(&args->requests);
    struct nnhal_fmq_descriptor results = descriptor_of(&args->results);

    (void)arena;
    if (device->refusal)
        return device->refusal;
    ck_assert_uint_eq(args->prepared_model, 11);
    ck_assert_int_eq(nn_ring_attach(&requests, NULL, &device->requests), 0);
    ck_assert_int_eq(nn_ring_attach(&results, NULL, &device->results), 0);
    nn_arena_init(&device->arena, 0);
    pthread_create(&device->thread, NULL, listen_to_requests, device);
    reply->burst = 77;
    return NNHAL_NONE;
}

static uint32_t set_memory(struct nn_hal *hal, const struct nn_hal_set_burst_memory_args *args,
                           struct nn_hal_set_burst_memory_reply *reply, struct nn_arena *arena)
{
    struct device *device = device_of(hal);

    (void)reply;
    (void)arena;
    ck_assert_uint_eq(args->burst, 77);
    ck_assert_int_ge(args->slot, 0);
    ck_assert_int_lt(args->slot, N_SLOTS);
    if (device->refusal)
        return device->refusal;
    device->memories[args->slot] = args->memory;
    device->n_set++;
    return args->memory ? NNHAL_NONE : NNHAL_INVALID_ARGUMENT;
}

static uint32_t free_memory(struct nn_hal *hal, const struct nn_hal_free_burst_memory_args *args,
                            struct nn_hal_free_burst_memory_reply *reply, struct nn_arena *arena)
{
    (void)reply;
    (void)arena;
    device_of(hal)->memories[args->slot] = 0;
    device_of(hal)->n_freed++;
    return NNHAL_NONE;
}

static uint32_t free_burst(struct nn_hal *hal, const struct nn_hal_free_burst_args *args,
                           struct nn_hal_free_burst_reply *reply, struct nn_arena *arena)
{
    (void)reply;
    (void)arena;
    ck_assert_uint_eq(args->burst, 77);
    device_of(hal)->n_bursts_freed++;
    return NNHAL_NONE;
}

static const struct nn_hal_ops ops = {
    .configure_execution_burst = configure,
    .set_burst_memory = set_memory,
    .free_burst_memory = free_memory,
    .free_burst = free_burst,
};

static void device_done(struct device *device)
{
    nn_ring_close(device->requests);
    pthread_join(device->thread, NULL);
    nn_ring_free(device->requests);
    nn_ring_free(device->results);
    nn_arena_done(&device->arena);
    free(device);
}

/* -- a client of it -------------------------------------------------------- */

static uint64_t spin_ns; /* of bursts that are opened */
static bool (*bench_watch)(struct nn_hal *hal);
static void leave_late(struct nn_hal *hal);

struct bench {
    struct device *device;
    struct nn_burst *burst;
    struct nn_arena arena;
    struct nn_hal_execute_synchronously_reply reply;
};

static void open_bench(struct bench *bench, enum manner manner, uint32_t n_elements)
{
    const struct nn_burst_params params = {11,      n_elements,  16,
                                           spin_ns, bench_watch, bench_watch ? leave_late : NULL};
    uint32_t status;

    *bench = (struct bench){.device = calloc(1, sizeof(*bench->device))};
    bench->device->hal.ops = &ops;
    bench->device->manner = manner;
    ck_assert_int_eq(nn_burst_open(&bench->device->hal, &params, &status, &bench->burst), 0);
    bench->device->client = bench->burst;
    nn_arena_init(&bench->arena, 0);
}

static void close_bench(struct bench *bench)
{
    struct device *device = bench->device;

    nn_burst_free(bench->burst, true);
    ck_assert_uint_eq(device->n_bursts_freed, 1);
    device_done(device);
    nn_arena_done(&bench->arena);
}

/* One input and one output in as many memories, from number 100 on. */
static struct nn_burst_packet *pack(struct bench *bench, uint32_t n_pools, int expected)
{
    static const uint32_t dimensions[2] = {4, 5};
    const struct nn_burst_pack_options options = {true, 99};
    const struct nnhal_request_argument argument = {
        .n_dimensions = 2, .dimensions = dimensions, .location = {.offset = 3, .length = 20}};
    struct nnhal_request_pool pools[N_SLOTS] = {{0}};
    const struct nnhal_request request = {1, 1, n_pools, 0, &argument, &argument, pools};
    struct nn_burst_packet *packet = NULL;

    for (uint32_t i = 0; i < n_pools; i++)
        pools[i].memory = 100 + i;
    ck_assert_int_eq(nn_burst_pack(bench->burst, &request, &options, &packet), expected);
    return packet;
}

static int execute(struct bench *bench, struct nn_burst_packet *packet, uint32_t *ret_status)
{
    nn_arena_reset(&bench->arena);
    return nn_burst_execute(bench->burst, packet, FAR_NS, &bench->arena, ret_status, &bench->reply);
}

TEST(a_request_goes_out_and_its_result_comes_back)
{
    struct bench bench;
    struct nn_burst_packet *packet;
    uint32_t status;

    open_bench(&bench, ANSWER, N_ELEMENTS);
    packet = pack(&bench, 2, 0);
    ck_assert(nn_burst_packet_is_for(packet, nn_burst_id(bench.burst)));
    for (uint32_t i = 0; i < 100; i++) {
        const struct nn_burst_request *seen = &bench.device->last;

        ck_assert_int_eq(execute(&bench, packet, &status), 0);
        ck_assert_uint_eq(status, NNHAL_NONE);
        ck_assert_uint_eq(bench.reply.n_output_shapes, 1);
        ck_assert_uint_eq(bench.reply.output_shapes[0].dimensions[1], 3);
        ck_assert_uint_eq(bench.reply.timing.time_in_driver_ns, 7);
        ck_assert_uint_eq(seen->sequence, i + 1);
        ck_assert_uint_eq(seen->deadline_ns, FAR_NS);
        ck_assert_uint_eq(seen->loop_timeout_ns, 99);
        ck_assert_uint_eq(seen->measure, 1);
        ck_assert_uint_eq(seen->inputs[0].dimensions[1], 5);
        ck_assert_uint_eq(seen->outputs[0].location.length, 20);
        ck_assert_int_eq(seen->pools[1].slot, 1);
    }
    ck_assert_uint_eq(bench.device->n_set, 2);
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

TEST(statuses_arrive_as_they_were_sent)
{
    static const uint32_t statuses[] = {NNHAL_GENERAL_FAILURE, NNHAL_MISSED_DEADLINE_TRANSIENT,
                                        NNHAL_MISSED_DEADLINE_PERSISTENT, NNHAL_DEAD_OBJECT,
                                        NNHAL_OUTPUT_INSUFFICIENT_SIZE};
    struct bench bench;
    struct nn_burst_packet *packet;
    uint32_t status;

    open_bench(&bench, ANSWER, N_ELEMENTS);
    packet = pack(&bench, 1, 0);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        bench.device->status = statuses[i];
        ck_assert_int_eq(execute(&bench, packet, &status), 0);
        ck_assert_uint_eq(status, statuses[i]);
        ck_assert_uint_eq(bench.reply.n_output_shapes, 0);
    }
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

TEST(memories_keep_their_slots_until_dropped_and_the_last_freed_comes_first)
{
    struct bench bench;
    struct nn_burst_packet *packet, *again;
    uint32_t status;

    open_bench(&bench, ANSWER, N_ELEMENTS);
    packet = pack(&bench, 4, 0);
    again = pack(&bench, 3, 0);
    ck_assert_uint_eq(bench.device->n_set, 4);
    nn_burst_packet_free(packet);
    nn_burst_packet_free(again);
    nn_burst_drop_memory(bench.burst, 101, true);
    nn_burst_drop_memory(bench.burst, 100, true);
    nn_burst_drop_memory(bench.burst, 100, true);
    nn_burst_drop_memory(bench.burst, 5000, true);
    ck_assert_uint_eq(bench.device->n_freed, 2);
    ck_assert_uint_eq(bench.device->memories[0], 0);
    packet = pack(&bench, 2, 0); /* 100 takes the slot that 100 left last */
    ck_assert_uint_eq(bench.device->memories[0], 100);
    ck_assert_uint_eq(bench.device->memories[1], 101);
    ck_assert_int_eq(execute(&bench, packet, &status), 0);
    ck_assert_uint_eq(status, NNHAL_NONE);
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

TEST(what_no_packet_or_slot_is_left_for_is_not_sent)
{
    struct bench bench;
    struct nn_burst_packet *packet;
    uint32_t status;

    open_bench(&bench, ANSWER, 9);
    packet = pack(&bench, 1, 0); /* 2 + 2 + 4 + 1 elements: all that there is room for */
    ck_assert_ptr_null(pack(&bench, 2, NN_BURST_E_UNSENT));
    ck_assert_ptr_null(pack(&bench, NN_BURST_MAX_SLOTS + 1, NN_BURST_E_UNSENT));
    ck_assert_uint_eq(bench.device->n_set, NN_BURST_MAX_SLOTS);
    bench.device->refusal = NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    nn_burst_drop_memory(bench.burst, 100, true);
    ck_assert_ptr_null(pack(&bench, 1, NN_BURST_E_UNSENT));
    bench.device->refusal = 0;
    nn_burst_packet_free(packet);
    packet = pack(&bench, 1, 0);
    ck_assert_int_eq(execute(&bench, packet, &status), 0);
    ck_assert_uint_eq(status, NNHAL_NONE);
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

TEST(slots_that_the_device_lost_are_set_again_while_waiting)
{
    struct bench bench;
    struct nn_burst_packet *packet;
    uint32_t status;

    for (int i = 0; i < 50; i++) {
        spin_ns = i % 2 ? NN_SPIN_UNLIMITED : 0;
        open_bench(&bench, ANSWER_WANTING, N_ELEMENTS);
        packet = pack(&bench, 1, 0);
        for (int j = 0; j < 3; j++) {
            ck_assert_int_eq(execute(&bench, packet, &status), 0);
            ck_assert_uint_eq(status, NNHAL_NONE);
            ck_assert_uint_eq(bench.device->memories[0], 100);
        }
        nn_burst_packet_free(packet);
        close_bench(&bench);
    }
}
TEST_END

/* A device asks in pieces. */
TEST(every_question_for_slots_is_answered)
{
    static const int32_t pieces[3] = {0, 7, 1};
    struct bench bench;
    struct nn_burst_packet *packet;
    uint32_t status;

    open_bench(&bench, ANSWER_AFTER_4, N_ELEMENTS);
    packet = pack(&bench, 1, 0); /* sets the first of the four */
    for (int i = 0; i < 3; i++)
        nn_burst_resend_memories(bench.burst, &pieces[i], 1);
    ck_assert_int_eq(execute(&bench, packet, &status), 0);
    ck_assert_uint_eq(status, NNHAL_NONE);
    ck_assert_uint_eq(bench.device->n_set, 4);
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

TEST(a_result_that_is_none_breaks_the_burst_and_nothing_more_is_sent)
{
    static const enum manner manners[] = {ANSWER_ANOTHER, ANSWER_GARBAGE, ANSWER_TWICE,
                                          SPOIL_RESULTS};

    for (size_t i = 0; i < sizeof(manners) / sizeof(manners[0]); i++) {
        struct bench bench;
        struct nn_burst_packet *packet;
        uint32_t status = NNHAL_NONE, n_requests;

        open_bench(&bench, manners[i], N_ELEMENTS);
        packet = pack(&bench, 1, 0);
        /* A result too many may be seen only when the next one is waited for. */
        for (int j = 0; j < 2 && status == NNHAL_NONE; j++)
            ck_assert_int_eq(execute(&bench, packet, &status), 0);
        ck_assert_uint_eq(status, NNHAL_GENERAL_FAILURE);
        ck_assert_uint_eq(bench.reply.n_output_shapes, 0);
        ck_assert_ptr_nonnull(bench.reply.message);
        n_requests = bench.device->n_requests;
        ck_assert_int_eq(execute(&bench, packet, &status), NN_BURST_E_UNSENT);
        ck_assert_uint_le(bench.device->n_requests, n_requests + 1);
        nn_burst_packet_free(packet);
        close_bench(&bench);
    }
}
TEST_END

TEST(a_device_that_dies_ends_the_wait)
{
    for (int i = 0; i < 20; i++) {
        struct bench bench;
        struct nn_burst_packet *packet;
        uint32_t status;

        spin_ns = i % 2 ? NN_SPIN_UNLIMITED : 0;
        open_bench(&bench, DIE, N_ELEMENTS);
        packet = pack(&bench, 1, 0);
        ck_assert_int_eq(execute(&bench, packet, &status), 0);
        ck_assert_uint_eq(status, NNHAL_DEAD_OBJECT);
        ck_assert_int_eq(execute(&bench, packet, &status), NN_BURST_E_UNSENT);
        nn_burst_packet_free(packet);
        close_bench(&bench);
    }
}
TEST_END

TEST(a_broken_queue_of_requests_is_not_written)
{
    struct bench bench;
    struct nn_burst_packet *packet;
    uint32_t status;
    int i = 0;

    open_bench(&bench, SPOIL_REQUESTS, N_ELEMENTS);
    packet = pack(&bench, 1, 0);
    while (execute(&bench, packet, &status) == 0) /* until there seems to be no room */
        ck_assert_int_lt(i++, N_ELEMENTS);
    ck_assert_int_eq(execute(&bench, packet, &status), NN_BURST_E_UNSENT);
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

static uint32_t n_watched, n_left, n_answers;

static bool watch(struct nn_hal *hal)
{
    return n_watched++ < n_answers;
}

static void leave_late(struct nn_hal *hal)
{
    n_left++;
}

static struct nn_ring *watched_requests, *watched_results;

static uint64_t word_of(struct nn_ring *ring, size_t offset)
{
    struct nnhal_fmq_descriptor descriptor;
    uint64_t word = 0;

    nn_ring_descriptor(ring, &descriptor);
    ck_assert_int_eq(pread(descriptor.fd, &word, sizeof(word), (off_t)offset), sizeof(word));
    return word;
}

/* Spoils both of the client's counters when it looks around for the first time; they have to be
 * right again when it does so next. */
static bool spoil_and_watch(struct nn_hal *hal)
{
    if (n_watched++ == 0) {
        spoil(watched_requests, 64);
        spoil(watched_results, 128);
        return true;
    }
    ck_assert_uint_eq(word_of(watched_requests, 64), 9); /* elements of the request */
    ck_assert_uint_eq(word_of(watched_results, 128), 0);
    return false;
}

TEST(words_that_were_spoilt_are_renewed_while_waiting)
{
    struct nn_burst_packet *packet;
    struct bench bench;
    uint32_t status;

    bench_watch = spoil_and_watch;
    n_watched = 0;
    open_bench(&bench, NEVER, N_ELEMENTS);
    watched_requests = bench.device->requests;
    watched_results = bench.device->results;
    packet = pack(&bench, 1, 0);
    ck_assert_int_eq(execute(&bench, packet, &status), 0);
    ck_assert_uint_eq(status, NNHAL_DEAD_OBJECT);
    ck_assert_uint_eq(n_watched, 2);
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

/* Of a burst to a device that never answers; its queues are not used again. */
static uint32_t execute_in_vain(enum manner manner, uint64_t timeout_ns)
{
    struct nn_burst_packet *packet;
    struct bench bench;
    uint32_t status = NNHAL_NONE, again;
    uint64_t deadline_ns = timeout_ns ? nn_sys_now_ns() + timeout_ns : NNHAL_NO_TIME;

    bench_watch = watch;
    n_watched = n_left = 0;
    open_bench(&bench, manner, N_ELEMENTS);
    packet = pack(&bench, 1, 0);
    ck_assert_int_eq(
        nn_burst_execute(bench.burst, packet, deadline_ns, &bench.arena, &status, &bench.reply), 0);
    ck_assert_int_eq(execute(&bench, packet, &again), NN_BURST_E_UNSENT);
    ck_assert_ptr_nonnull(bench.reply.message);
    nn_burst_packet_free(packet);
    close_bench(&bench);
    return status;
}

TEST(a_wait_ends_with_the_deadline_or_with_the_device)
{
    uint64_t begin_ns = nn_sys_now_ns();

    ck_assert_uint_eq(execute_in_vain(NEVER, 100000000), NNHAL_MISSED_DEADLINE_TRANSIENT);
    ck_assert_uint_eq(n_left, 1);
    ck_assert_uint_lt(nn_sys_now_ns() - begin_ns, 150000000 + late_ns());
    n_answers = 1;
    ck_assert_uint_eq(execute_in_vain(NEVER, 0), NNHAL_DEAD_OBJECT);
    ck_assert_uint_eq(n_watched, 2);
}
TEST_END

/* The device is alive, and answers for its process. */
TEST(a_request_that_is_never_taken_ends_after_6_s)
{
    uint64_t begin_ns = nn_sys_now_ns(), took_ns;

    n_answers = 100;
    ck_assert_uint_eq(execute_in_vain(BLIND, 0), NNHAL_GENERAL_FAILURE);
    took_ns = nn_sys_now_ns() - begin_ns;
    ck_assert_uint_eq(n_left, 0);
    ck_assert_uint_gt(took_ns, 5 * S);
    ck_assert_uint_lt(took_ns, 6 * S + 10 * late_ns()); /* six waits, each late */
}
TEST_END

TEST(a_device_without_bursts_is_reported)
{
    const struct nn_burst_params params = {11, 10, 10, 0, NULL, NULL};
    const struct nn_burst_params too_many = {11, UINT32_MAX, 10, 0, NULL, NULL};
    struct device *device = calloc(1, sizeof(*device));
    struct nn_burst *burst = NULL;
    size_t n_fds = count_fds();
    uint32_t status;

    device->hal.ops = &ops;
    device->refusal = NNHAL_DEVICE_UNAVAILABLE;
    ck_assert_int_eq(nn_burst_open(&device->hal, &params, &status, &burst), NN_BURST_E_REFUSED);
    ck_assert_uint_eq(status, NNHAL_DEVICE_UNAVAILABLE);
    ck_assert_int_eq(nn_burst_open(&device->hal, &too_many, &status, &burst), NN_BURST_E_REFUSED);
    ck_assert_ptr_null(burst);
    ck_assert_uint_eq(count_fds(), n_fds);
    ck_assert_uint_eq(device->n_bursts_freed, 0);
    free(device);
}
TEST_END

/* Neither side sleeps while the other looks, so that no call is needed. */
TEST(a_steady_burst_takes_no_memory_and_makes_no_system_call)
{
    const long many = 1000000;
    struct bench bench;
    struct nn_burst_packet *packet;
    uint32_t status;
    int r = 0;

    setenv("NNHAL_BURST_SPIN_US", "1000000", 1);
    spin_ns = NN_SPIN_UNLIMITED;
    open_bench(&bench, ANSWER, N_ELEMENTS);
    nn_ring_set_spin(bench.device->requests, 1000000000);
    packet = pack(&bench, 2, 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(execute(&bench, packet, &status), 0);
    fail_alloc_arm(1);
    nn_sys_fault = many;
    for (int i = 0; i < 10000 && !r; i++)
        r = execute(&bench, packet, &status);
    ck_assert(fail_alloc_disarm());
    ck_assert_int_ge(nn_sys_fault, many - 100);
    nn_sys_fault = 0;
    ck_assert_int_eq(r, 0);
    ck_assert_uint_eq(bench.device->n_requests, 10100);
    nn_burst_packet_free(packet);
    close_bench(&bench);
}
TEST_END

/* A client's whole life, without assertions: they take memory. Whether every step went well. */
static bool live(struct device *device)
{
    const struct nn_burst_params params = {11, N_ELEMENTS, 16, 0, NULL, NULL};
    const struct nn_burst_pack_options options = {false, NNHAL_NO_TIME};
    const struct nnhal_request_argument argument = {.location = {.length = 4}};
    const struct nnhal_request_pool pool = {.memory = 100};
    const struct nnhal_request request = {1, 1, 1, 0, &argument, &argument, &pool};
    struct nn_hal_execute_synchronously_reply reply;
    struct nn_burst_packet *packet = NULL;
    struct nn_burst *burst = NULL;
    struct nn_arena arena;
    uint32_t status = NNHAL_GENERAL_FAILURE;
    int r;

    nn_arena_init(&arena, 0);
    r = nn_burst_open(&device->hal, &params, &status, &burst);
    if (r == 0)
        r = nn_burst_pack(burst, &request, &options, &packet);
    if (r == 0)
        r = nn_burst_execute(burst, packet, NNHAL_NO_TIME, &arena, &status, &reply);
    nn_burst_packet_free(packet);
    nn_burst_free(burst, true);
    nn_arena_done(&arena);
    return r == 0 && status == NNHAL_NONE;
}

static uint32_t refuse(struct nn_hal *hal, const struct nn_hal_configure_execution_burst_args *args,
                       struct nn_hal_configure_execution_burst_reply *reply, struct nn_arena *arena)
{
    return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
}

TEST(what_cannot_be_had_leaves_nothing_behind)
{
    const struct nn_hal_ops refusing = {.configure_execution_burst = refuse};
    struct device *device = calloc(1, sizeof(*device));
    size_t n_fds = count_fds(), n_maps = count_mappings("nnhal-fmq");
    bool is_over = false;

    device->hal.ops = &refusing;
    for (long n = 1; !is_over; n++) {
        fail_alloc_arm(n);
        live(device);
        is_over = fail_alloc_disarm();
        ck_assert_uint_eq(count_fds(), n_fds);
        ck_assert_uint_eq(count_mappings("nnhal-fmq"), n_maps);
    }
    is_over = false;
    for (long n = 1; !is_over; n++) {
        nn_sys_fault_errno = ENOMEM;
        nn_sys_fault = n;
        live(device);
        is_over = nn_sys_fault > 0;
        nn_sys_fault = 0;
        ck_assert_uint_eq(count_fds(), n_fds);
        ck_assert_uint_eq(count_mappings("nnhal-fmq"), n_maps);
    }
    device->hal.ops = &ops;
    ck_assert(live(device));
    device_done(device);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

CHECK_MAIN("burst", a_request_goes_out_and_its_result_comes_back, statuses_arrive_as_they_were_sent,
           memories_keep_their_slots_until_dropped_and_the_last_freed_comes_first,
           what_no_packet_or_slot_is_left_for_is_not_sent,
           slots_that_the_device_lost_are_set_again_while_waiting,
           every_question_for_slots_is_answered,
           a_result_that_is_none_breaks_the_burst_and_nothing_more_is_sent,
           a_device_that_dies_ends_the_wait, words_that_were_spoilt_are_renewed_while_waiting,
           a_wait_ends_with_the_deadline_or_with_the_device,
           a_request_that_is_never_taken_ends_after_6_s, a_broken_queue_of_requests_is_not_written,
           a_device_without_bursts_is_reported,
           a_steady_burst_takes_no_memory_and_makes_no_system_call,
           what_cannot_be_had_leaves_nothing_behind)
