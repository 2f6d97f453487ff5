/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/burst.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "base/wait-limit.h"
#include "hal/burst-packet.h"
#include "hal/burst-slots.h"
#include "shm/ring.h"
#include "shm/spin.h"

#include <string.h>

#define WATCH_NS UINT64_C(1000000000)

enum { MAX_UNTAKEN = 6 }; /* looks at a request that lies in the queue */

struct nn_burst {
    struct nn_hal *hal;
    uint64_t id;              /* 0: the device's side was never made */
    struct nn_ring *requests; /* NULL: without queues */
    struct nn_ring *results;
    struct nn_spin spin; /* of waits for results */
    bool (*watch)(struct nn_hal *hal);
    void (*leave_late)(struct nn_hal *hal);
    uint32_t n_result_elements;
    struct nnhal_fmq_result_datum *result; /* the copy that is judged */
    uint32_t sequence;                     /* of the last request */
    bool is_broken;
    uint32_t is_stopped;
    struct nn_burst_slots slots;
    pthread_mutex_t lock; /* of what follows */
    uint32_t n_lost_slots;
    int32_t *lost_slots; /* slots that the device has lost */
};

struct nn_burst_packet {
    uint64_t burst;
    uint32_t n_data;
    struct nnhal_fmq_request_datum data[];
};

/* -- beginning and end ----------------------------------------------------- */

static struct nn_hal_queue_descriptor queue_describe(const struct nn_ring *ring)
{
    struct nnhal_fmq_descriptor descriptor = {.fd = -1};

    if (ring)
        nn_ring_descriptor(ring, &descriptor);
    return (struct nn_hal_queue_descriptor){descriptor.n_elements, descriptor.element_size,
                                            descriptor.flavour, descriptor.fd};
}

static uint32_t burst_configure(struct nn_burst *burst, const struct nn_burst_params *params)
{
    struct nn_hal_configure_execution_burst_args args = {
        .prepared_model = params->prepared_model,
        .spin_ns = params->spin_ns,
    };
    struct nn_hal_configure_execution_burst_reply reply = {0};
    struct nn_arena arena;
    uint32_t status;

    args.requests = queue_describe(burst->requests);
    args.results = queue_describe(burst->results);
    nn_arena_init(&arena, 0);
    status = nn_hal_configure_execution_burst(burst->hal, &args, &reply, &arena);
    if (status == NNHAL_NONE) {
        burst->id = reply.burst;
        nn_spin_init(&burst->spin, params->spin_ns, reply.n_threads);
        burst->spin.sleep_ns = burst->watch ? WATCH_NS : 0;
    }
    nn_arena_done(&arena);
    return status;
}

static int make_queues(struct nn_burst *burst, const struct nn_burst_params *params)
{
    int r = nn_ring_new(params->n_request_elements, sizeof(struct nnhal_fmq_request_datum),
                        NNHAL_FMQ_SYNCHRONIZED, NULL, &burst->requests);

    if (r == 0)
        r = nn_ring_new(params->n_result_elements, sizeof(struct nnhal_fmq_result_datum),
                        NNHAL_FMQ_SYNCHRONIZED, NULL, &burst->results);
    if (r != 0)
        return r;
    burst->n_result_elements = params->n_result_elements;
    burst->result = calloc(params->n_result_elements, sizeof(*burst->result));
    return burst->result ? 0 : nn_error_origin(-ENOMEM);
}

int nn_burst_open(struct nn_hal *hal, const struct nn_burst_params *params, uint32_t *ret_status,
                  struct nn_burst **ret_burst)
{
    struct nn_burst *burst = calloc(1, sizeof(*burst));
    int r;

    if (!burst)
        return nn_error_origin(-ENOMEM);
    burst->hal = hal;
    burst->watch = params->watch;
    burst->leave_late = params->leave_late;
    pthread_mutex_init(&burst->lock, NULL);
    nn_burst_slots_init(&burst->slots);
    r = params->n_request_elements ? make_queues(burst, params) : 0;
    if (r == NNHAL_FMQ_E_INVALID) { /* a model with more arguments than a queue has places */
        *ret_status = NNHAL_GENERAL_FAILURE;
        r = NN_BURST_E_REFUSED;
    } else if (r == 0) {
        *ret_status = burst_configure(burst, params);
        r = *ret_status == NNHAL_NONE ? 0 : NN_BURST_E_REFUSED;
    }
    if (r == 0)
        *ret_burst = burst;
    else
        nn_burst_free(burst, false);
    return r;
}

static void call_free_burst(struct nn_burst *burst)
{
    struct nn_hal_free_burst_args args = {.burst = burst->id};
    struct nn_hal_free_burst_reply reply = {0};
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    nn_hal_free_burst(burst->hal, &args, &reply, &arena);
    nn_arena_done(&arena);
}

struct nn_burst *nn_burst_free(struct nn_burst *burst, bool is_alive)
{
    if (!burst)
        return NULL;
    if (burst->id && is_alive)
        call_free_burst(burst);
    nn_ring_free(burst->requests);
    nn_ring_free(burst->results);
    nn_burst_slots_done(&burst->slots);
    pthread_mutex_destroy(&burst->lock);
    free(burst->lost_slots);
    free(burst->result);
    free(burst);
    return NULL;
}

uint64_t nn_burst_id(const struct nn_burst *burst)
{
    return burst->id;
}

void nn_burst_stop(struct nn_burst *burst)
{
    __atomic_store_n(&burst->is_stopped, 1, __ATOMIC_RELEASE);
    if (burst->results)
        nn_ring_close(burst->results);
}

/* -- memories in slots ----------------------------------------------------- */

static uint32_t call_set_memory(struct nn_burst *burst, int32_t slot, uint64_t memory)
{
    struct nn_hal_set_burst_memory_args args = {.burst = burst->id, .memory = memory, .slot = slot};
    struct nn_hal_set_burst_memory_reply reply = {0};
    struct nn_arena arena;
    uint32_t status;

    nn_arena_init(&arena, 0);
    status = nn_hal_set_burst_memory(burst->hal, &args, &reply, &arena);
    nn_arena_done(&arena);
    return status;
}

static void call_free_memory(struct nn_burst *burst, int32_t slot)
{
    struct nn_hal_free_burst_memory_args args = {.burst = burst->id, .slot = slot};
    struct nn_hal_free_burst_memory_reply reply = {0};
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    nn_hal_free_burst_memory(burst->hal, &args, &reply, &arena);
    nn_arena_done(&arena);
}

/* A memory that is new to the burst goes to the device at once, so that no
 * request has to wait until it was asked for. */
static int memory_reserve_slot(struct nn_burst *burst, uint64_t memory, int32_t *ret_slot)
{
    bool is_set;
    int r = nn_burst_slots_reserve(&burst->slots, memory, ret_slot);

    if (r == NN_BURST_SLOTS_E_FULL)
        return NN_BURST_E_UNSENT;
    if (r != NN_BURST_SLOTS_E_NEW)
        return r;
    is_set = call_set_memory(burst, *ret_slot, memory) == NNHAL_NONE;
    nn_burst_slots_commit(&burst->slots, *ret_slot, is_set);
    return is_set ? 0 : NN_BURST_E_UNSENT;
}

void nn_burst_drop_memory(struct nn_burst *burst, uint64_t memory, bool is_alive)
{
    int32_t slot = nn_burst_slots_begin_free(&burst->slots, memory);

    if (slot < 0)
        return;
    if (is_alive)
        call_free_memory(burst, slot);
    nn_burst_slots_end_free(&burst->slots, slot);
}

/* Under the lock; several questions may come before they are answered. Without
 * memory the device gives up waiting, and the request fails. */
static void lost_slots_add(struct nn_burst *burst, const int32_t *slots, uint32_t n_slots)
{
    uint32_t n_room = NN_BURST_MAX_SLOTS - burst->n_lost_slots;
    uint32_t n = n_slots < n_room ? n_slots : n_room;
    int32_t *larger;

    if (n == 0)
        return;
    larger = realloc(burst->lost_slots, (burst->n_lost_slots + n) * sizeof(*larger));
    if (!larger)
        return;
    memcpy(larger + burst->n_lost_slots, slots, n * sizeof(*larger));
    burst->lost_slots = larger;
    burst->n_lost_slots += n;
}

void nn_burst_resend_memories(struct nn_burst *burst, const int32_t *slots, uint32_t n_slots)
{
    if (!burst->results)
        return;
    pthread_mutex_lock(&burst->lock);
    lost_slots_add(burst, slots, n_slots);
    pthread_mutex_unlock(&burst->lock);
    nn_ring_interrupt(burst->results);
}

/* A slot in which nothing lies is answered with no memory, which the device
 * refuses: it waits for the slot until its patience ends, and the request fails. */
static void lost_slots_resend(struct nn_burst *burst)
{
    _cleanup_(freep) int32_t *lost_slots = NULL;
    uint32_t n_lost_slots;

    pthread_mutex_lock(&burst->lock);
    lost_slots = steal_ptr(&burst->lost_slots);
    n_lost_slots = burst->n_lost_slots;
    burst->n_lost_slots = 0;
    pthread_mutex_unlock(&burst->lock);
    for (uint32_t i = 0; i < n_lost_slots; i++)
        call_set_memory(burst, lost_slots[i], nn_burst_slots_get(&burst->slots, lost_slots[i]));
}

/* -- packing --------------------------------------------------------------- */

static uint64_t count_elements(const struct nnhal_request *request)
{
    uint64_t n = 2 + (uint64_t)request->n_inputs + request->n_outputs + request->n_pools;

    for (uint32_t i = 0; i < request->n_inputs; i++)
        n += request->inputs[i].n_dimensions;
    for (uint32_t i = 0; i < request->n_outputs; i++)
        n += request->outputs[i].n_dimensions;
    return n;
}

static int pack_pools(struct nn_burst *burst, const struct nnhal_request *request,
                      struct nn_burst_pool *pools)
{
    for (uint32_t i = 0; i < request->n_pools; i++) {
        int r = 0;

        pools[i] = (struct nn_burst_pool){.slot = -1, .token = request->pools[i].token};
        if (!request->pools[i].token)
            r = memory_reserve_slot(burst, request->pools[i].memory, &pools[i].slot);
        if (r)
            return r;
    }
    return 0;
}

static int packet_encode(struct nn_burst *burst, const struct nnhal_request *request,
                         const struct nn_burst_pack_options *options,
                         const struct nn_burst_pool *pools, struct nn_burst_packet **ret_packet)
{
    const struct nn_burst_request content = {
        .measure = options->measure,
        .deadline_ns = NNHAL_NO_TIME,
        .loop_timeout_ns = options->loop_timeout_ns,
        .n_inputs = request->n_inputs,
        .n_outputs = request->n_outputs,
        .n_pools = request->n_pools,
        .inputs = request->inputs,
        .outputs = request->outputs,
        .pools = pools,
    };
    struct nn_burst_packet *packet;
    struct nnhal_fmq_descriptor queue;
    uint64_t n = count_elements(request);

    nn_ring_descriptor(burst->requests, &queue);
    if (n > queue.n_elements)
        return NN_BURST_E_UNSENT;
    packet = malloc(sizeof(*packet) + n * sizeof(packet->data[0]));
    if (!packet)
        return nn_error_origin(-ENOMEM);
    packet->burst = burst->id;
    if (nn_burst_request_encode(&content, packet->data, (uint32_t)n, &packet->n_data)) {
        free(packet);
        return NN_BURST_E_UNSENT;
    }
    *ret_packet = packet;
    return 0;
}

int nn_burst_pack(struct nn_burst *burst, const struct nnhal_request *request,
                  const struct nn_burst_pack_options *options, struct nn_burst_packet **ret_packet)
{
    _cleanup_(freep) struct nn_burst_pool *pools = calloc((size_t)request->n_pools + 1,
                                                          sizeof(*pools));
    int r;

    if (!pools)
        return nn_error_origin(-ENOMEM);
    if (!burst->requests)
        return NN_BURST_E_UNSENT;
    r = pack_pools(burst, request, pools);
    return r ? r : packet_encode(burst, request, options, pools, ret_packet);
}

struct nn_burst_packet *nn_burst_packet_free(struct nn_burst_packet *packet)
{
    free(packet);
    return NULL;
}

bool nn_burst_packet_is_for(const struct nn_burst_packet *packet, uint64_t burst)
{
    return packet->burst == burst;
}

/* -- executing ------------------------------------------------------------- */

static bool can_send(const struct nn_burst *burst)
{
    return !burst->is_broken && !__atomic_load_n(&burst->is_stopped, __ATOMIC_ACQUIRE);
}

static int send_packet(struct nn_burst *burst, struct nn_burst_packet *packet, uint64_t deadline_ns)
{
    burst->sequence++;
    for (uint32_t i = 0; i < packet->n_data; i++)
        packet->data[i].sequence = burst->sequence;
    packet->data[packet->n_data - 1].of.measure_timing.deadline_ns = deadline_ns;
    return nn_ring_write(burst->requests, packet->data, packet->n_data) ? NN_BURST_E_UNSENT : 0;
}

/* The other side broke a rule: what it says is not looked at any more. */
static uint32_t burst_break(struct nn_burst *burst,
                            struct nn_hal_execute_synchronously_reply *reply)
{
    burst->is_broken = true;
    *reply = (struct nn_hal_execute_synchronously_reply){
        .message = "the burst is broken: what came back was no result of this request"};
    return NNHAL_GENERAL_FAILURE;
}

/* The result may still come and is not read: neither queue is used again. */
static void burst_leave(struct nn_burst *burst, uint32_t status,
                        struct nn_hal_execute_synchronously_reply *reply)
{
    burst->is_broken = true;
    *reply = (struct nn_hal_execute_synchronously_reply){
        .message = status == NNHAL_DEAD_OBJECT
                       ? "the service is gone, or does not answer"
                       : "the deadline passed and no result has come: the burst was left"};
}

/* Whether the request still lies in the queue, as the other side's counter says. */
static bool is_untaken(const struct nn_burst *burst)
{
    struct nnhal_fmq_descriptor queue;

    nn_ring_descriptor(burst->requests, &queue);
    return nn_ring_available_to_write(burst->requests) < queue.n_elements;
}

/* After a time without a result. A wake-up that was lost, because the words of the queue were
 * spoilt, has been made up for by looking again, and that of the other side is repeated; the other
 * side renews its words when it is asked whether it is there. Returns: NNHAL_NONE: wait on. */
static uint32_t burst_look_around(struct nn_burst *burst, uint64_t end_ns, uint32_t *n_untaken)
{
    nn_ring_renew_write(burst->requests);
    nn_ring_renew_read(burst->results);
    if (nn_sys_now_ns() >= end_ns) {
        if (burst->leave_late)
            burst->leave_late(burst->hal);
        return NNHAL_MISSED_DEADLINE_TRANSIENT;
    }
    if (burst->watch && !burst->watch(burst->hal))
        return NNHAL_DEAD_OBJECT;
    if (!is_untaken(burst))
        return NNHAL_NONE;
    return ++*n_untaken < MAX_UNTAKEN ? NNHAL_NONE : NNHAL_GENERAL_FAILURE;
}

/* Waits for the next result. Returns: NNHAL_NONE with its length; DEAD_OBJECT;
 * MISSED_DEADLINE_TRANSIENT; GENERAL_FAILURE. */
static uint32_t result_receive(struct nn_burst *burst, uint64_t end_ns, uint32_t *ret_n_data)
{
    uint32_t n_untaken = 0, status;

    for (;;) {
        int r = nn_burst_receive_result(burst->results, burst->result, ret_n_data);

        if (r == 0)
            return NNHAL_NONE;
        if (r == NN_BURST_E_EMPTY)
            r = nn_spin_wait_to_read(&burst->spin, burst->results, 1, end_ns);
        if (r == NNHAL_FMQ_E_CLOSED)
            return NNHAL_DEAD_OBJECT;
        if (r == NNHAL_FMQ_E_TIMED_OUT) {
            status = burst_look_around(burst, end_ns, &n_untaken);
            if (status != NNHAL_NONE)
                return status;
        } else if (r == NN_RING_E_INTERRUPTED)
            lost_slots_resend(burst);
        else if (r != 0)
            return NNHAL_GENERAL_FAILURE;
    }
}

static uint32_t result_accept(struct nn_burst *burst, uint32_t n_data, struct nn_arena *arena,
                              struct nn_hal_execute_synchronously_reply *reply)
{
    struct nn_burst_result result;
    int r = nn_burst_result_decode(burst->result, n_data, arena, &result);

    if (r == NN_BURST_E_MEMORY) {
        *reply = (struct nn_hal_execute_synchronously_reply){.message = "no memory for the result"};
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    }
    if (r != 0 || result.sequence != burst->sequence)
        return burst_break(burst, reply);
    *reply = (struct nn_hal_execute_synchronously_reply){
        .n_output_shapes = result.n_output_shapes,
        .output_shapes = result.output_shapes,
        .timing = result.timing,
    };
    return result.status;
}

int nn_burst_execute(struct nn_burst *burst, struct nn_burst_packet *packet, uint64_t deadline_ns,
                     struct nn_arena *arena, uint32_t *ret_status,
                     struct nn_hal_execute_synchronously_reply *reply)
{
    /* In this process a driver that is late is waited for, as by a call. */
    uint64_t end_ns = burst->watch ? nn_wait_end(deadline_ns) : NNHAL_NO_TIME;
    uint32_t n_data, status;

    if (!can_send(burst) || send_packet(burst, packet, deadline_ns))
        return NN_BURST_E_UNSENT;
    status = result_receive(burst, end_ns, &n_data);
    if (status == NNHAL_NONE)
        status = result_accept(burst, n_data, arena, reply);
    else if (status == NNHAL_GENERAL_FAILURE)
        status = burst_break(burst, reply);
    else
        burst_leave(burst, status, reply);
    *ret_status = status;
    return 0;
}
