/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that many use at once, or that others would like to use: each call
 * ends at once with what is right or with a refusal, and what is read is what
 * was written. NN_TEST_ROUNDS: tokens that are tried, and 100 times the rounds of
 * each thread. */
#include "host/desk.h"

#include "support/check-main.h"
#include "support/fake-driver.h"

#include <pthread.h>

enum {
    N_READERS = 8,
    N_FLOATS = 1024,
    N_BYTES = 4 * N_FLOATS,
};

static struct desk desk;
static uint64_t prepared;
static struct desk_wish wish;
static struct desk_buffer shared;
static uint32_t n_succeeded[2]; /* by whether it writes */

static int n_guesses(void)
{
    const char *text = getenv("NN_TEST_ROUNDS");

    return text ? atoi(text) : 20000;
}

static int n_rounds(void)
{
    return getenv("NN_TEST_ROUNDS") ? n_guesses() / 100 : 300;
}

static void begin(void)
{
    desk_open(&desk);
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(N_FLOATS)));
    wish = desk_wish(prepared, 0, 0);
    shared = desk_allocate(&desk, &wish);
}

/* -- what a thread does -------------------------------------------------------------- */

/* A thread's own memory and arena; shared names the buffer. */
struct worker {
    pthread_t thread;
    uint64_t memory;
    uint8_t *bytes;
    uint8_t mark; /* what a writer writes all over */
    bool is_writer;
    bool is_copier;
    bool is_alone; /* no writer is about: nothing may be refused */
    struct nn_arena arena;
};

static uint32_t copy(struct worker *worker)
{
    if (worker->is_writer) {
        const struct nn_hal_copy_from_args args = {.buffer = shared.id, .memory = worker->memory};
        struct nn_hal_copy_from_reply reply;

        return nn_hal_copy_from(desk.hal, &args, &reply, &worker->arena);
    } else {
        const struct nn_hal_copy_to_args args = {.buffer = shared.id, .memory = worker->memory};
        struct nn_hal_copy_to_reply reply;

        return nn_hal_copy_to(desk.hal, &args, &reply, &worker->arena);
    }
}

/* z = x: from the memory to the buffer, or from the buffer to the memory. */
static uint32_t execute(struct worker *worker)
{
    const struct nnhal_request_pool pools[] = {{.memory = worker->memory}, {.token = shared.token}};
    const struct nnhal_data_location own = {.pool_index = 0, .length = N_BYTES};
    const struct nnhal_data_location theirs = {.pool_index = 1};
    const struct nnhal_request_argument omitted = {.has_no_value = 1};
    const struct nnhal_request_argument inputs[] = {{.location = worker->is_writer ? own : theirs},
                                                    omitted};
    const struct nnhal_request_argument output = {.location = worker->is_writer ? theirs : own};
    const struct nn_hal_execute_synchronously_args args = {
        .prepared_model = prepared,
        .request = {.n_inputs = 2,
                    .inputs = inputs,
                    .n_outputs = 1,
                    .outputs = &output,
                    .n_pools = 2,
                    .pools = pools},
        .deadline_ns = NNHAL_NO_TIME,
        .loop_timeout_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_execute_synchronously_reply reply;

    return nn_hal_execute_synchronously(desk.hal, &args, &reply, &worker->arena);
}

static void expect_one_writers_bytes(const struct worker *worker)
{
    for (uint32_t i = 1; i < N_BYTES; i++)
        if (worker->bytes[i] != worker->bytes[0])
            ck_abort_msg("byte %u is %u, byte 0 is %u", i, worker->bytes[i], worker->bytes[0]);
}

static void *work(void *ctx)
{
    struct worker *worker = ctx;

    /* On a loaded machine all rounds of the writers may meet readers: one of them goes on until it
     * does not. */
    for (int n = n_rounds();
         n > 0 || (worker->is_writer && !__atomic_load_n(&n_succeeded[1], __ATOMIC_RELAXED)); n--) {
        uint32_t status;

        if (worker->is_writer)
            memset(worker->bytes, worker->mark, N_BYTES);
        status = worker->is_copier ? copy(worker) : execute(worker);
        if (status == NNHAL_NONE) {
            __atomic_add_fetch(&n_succeeded[worker->is_writer], 1, __ATOMIC_RELAXED);
            expect_one_writers_bytes(worker);
        } else {
            ck_assert(!worker->is_alone);
            ck_assert_uint_eq(status, NNHAL_GENERAL_FAILURE);
        }
        nn_arena_reset(&worker->arena);
    }
    return NULL;
}

static void start(struct worker *worker, uint32_t i, bool is_writer)
{
    worker->memory = desk_memory(&desk, N_BYTES);
    worker->bytes = desk_bytes(&desk, worker->memory);
    worker->mark = (uint8_t)(i + 1);
    worker->is_writer = is_writer;
    worker->is_copier = i % 2;
    nn_arena_init(&worker->arena, 0);
    ck_assert_int_eq(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static void finish(struct worker *workers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(workers[i].thread, NULL);
        nn_arena_done(&workers[i].arena);
    }
}

static void initialize(uint8_t mark)
{
    uint64_t memory = desk_memory(&desk, N_BYTES);

    memset(desk_bytes(&desk, memory), mark, N_BYTES);
    ck_assert_uint_eq(desk_copy_from(&desk, shared.id, memory, 0, NULL), NNHAL_NONE);
}

TEST(eight_readers_at_once_are_all_right)
{
    struct worker readers[N_READERS] = {0};

    begin();
    initialize(7);
    for (uint32_t i = 0; i < N_READERS; i++) {
        readers[i].is_alone = true;
        start(&readers[i], i, false);
    }
    finish(readers, N_READERS);
    for (uint32_t i = 0; i < N_READERS; i++)
        ck_assert_uint_eq(readers[i].bytes[0], 7);
    ck_assert_uint_eq(n_succeeded[0], N_READERS * (uint32_t)n_rounds());
    desk_close(&desk);
}
TEST_END

TEST(eight_readers_are_in_it_together)
{
    struct worker readers[N_READERS] = {0};

    begin();
    initialize(7);
    fake_gate_close();
    for (uint32_t i = 0; i < N_READERS; i++) {
        readers[i].is_alone = true;
        start(&readers[i], 2 * i, false); /* all by executing */
    }
    fake_gate_wait(N_READERS); /* no reader waits for another one */
    fake_gate_open();
    finish(readers, N_READERS);
    desk_close(&desk);
}
TEST_END

TEST(readers_against_writers)
{
    struct worker workers[N_READERS] = {0};

    begin();
    for (uint32_t i = 0; i < N_READERS; i++)
        start(&workers[i], i, i >= N_READERS / 2);
    finish(workers, N_READERS);
    ck_assert_uint_gt(n_succeeded[1], 0);
    initialize(9); /* no reader was left behind in it */
    desk_close(&desk);
}
TEST_END

/* -- buffers that go while they are used ------------------------------------------------ */

static uint64_t current_id; /* both atomic */
static uint32_t current_token;
static uint32_t is_over;

static void *use_again_and_again(void *ctx)
{
    struct worker *worker = ctx;

    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        const struct nn_hal_copy_to_args args = {
            .buffer = __atomic_load_n(&current_id, __ATOMIC_SEQ_CST), .memory = worker->memory};
        struct nn_hal_create_execution_args create = {.prepared_model = prepared};
        const struct nnhal_request_pool pool = {
            .token = __atomic_load_n(&current_token, __ATOMIC_SEQ_CST)};
        const struct nnhal_request_argument inputs[] = {{.location = {.pool_index = 0}},
                                                        {.has_no_value = 1}};
        const struct nnhal_request_argument output = {.has_no_value = 1};
        struct nn_hal_execute_synchronously_args execute_args = {.deadline_ns = NNHAL_NO_TIME};
        struct nn_hal_execute_synchronously_reply executed;
        struct nn_hal_free_execution_args free_args;
        struct nn_hal_free_execution_reply freed;
        struct nn_hal_create_execution_reply created;
        struct nn_hal_copy_to_reply reply;
        uint32_t status = nn_hal_copy_to(desk.hal, &args, &reply, &worker->arena);

        ck_assert(status == NNHAL_NONE || status == NNHAL_INVALID_ARGUMENT ||
                  status == NNHAL_GENERAL_FAILURE);
        create.request = (struct nnhal_request){.n_inputs = 2,
                                                .inputs = inputs,
                                                .n_outputs = 1,
                                                .outputs = &output,
                                                .n_pools = 1,
                                                .pools = &pool};
        status = nn_hal_create_execution(desk.hal, &create, &created, &worker->arena);
        ck_assert(status == NNHAL_NONE || status == NNHAL_INVALID_ARGUMENT);
        if (status == NNHAL_NONE) {
            execute_args.execution = created.execution;
            status = nn_hal_execute_synchronously(desk.hal, &execute_args, &executed,
                                                  &worker->arena);
            ck_assert(status == NNHAL_NONE || status == NNHAL_INVALID_ARGUMENT ||
                      status == NNHAL_GENERAL_FAILURE);
            free_args.execution = created.execution;
            nn_hal_free_execution(desk.hal, &free_args, &freed, &worker->arena);
        }
        nn_arena_reset(&worker->arena);
    }
    return NULL;
}

TEST(buffers_go_while_they_are_used)
{
    struct worker workers[4] = {0};
    uint64_t memory;

    begin();
    memory = desk_memory(&desk, N_BYTES);
    current_id = shared.id;
    current_token = shared.token;
    for (int i = 0; i < 4; i++) {
        workers[i].memory = desk_memory(&desk, N_BYTES);
        nn_arena_init(&workers[i].arena, 0);
        pthread_create(&workers[i].thread, NULL, use_again_and_again, &workers[i]);
    }
    for (int n = n_rounds(); n > 0; n--) {
        struct desk_buffer old = shared;

        shared = desk_allocate(&desk, &wish);
        ck_assert_uint_eq(desk_copy_from(&desk, shared.id, memory, 0, NULL), NNHAL_NONE);
        __atomic_store_n(&current_id, shared.id, __ATOMIC_SEQ_CST);
        __atomic_store_n(&current_token, shared.token, __ATOMIC_SEQ_CST);
        desk_free_buffer(&desk, old.id);
        nn_arena_reset(&desk.arena);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    finish(workers, 4);
    desk_close(&desk);
}
TEST_END

/* -- what belongs to another client ------------------------------------------------------- */

/* The request with this token in place of x. */
static uint32_t execute_with(uint32_t token)
{
    desk.pools[0].token = token;
    return desk_execute(&desk, prepared);
}

TEST(tokens_are_not_guessed)
{
    enum { N_BUFFERS = 256 };
    uint32_t tokens[N_BUFFERS], seed = 1;
    struct nn_hal *mine, *others;
    uint64_t memory;

    begin();
    for (uint32_t i = 0; i < N_BUFFERS; i++) {
        shared = desk_allocate(&desk, &wish);
        tokens[i] = shared.token;
    }
    mine = desk.hal;
    ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &others), 0);
    desk.hal = others;
    prepared = desk_prepare(&desk, &desk.maker.model);
    memory = desk_memory(&desk, N_BYTES);
    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, 1);
    desk_input(&desk, 0, NULL, 0, 0, 0);
    desk_output(&desk, 0, NULL, memory, 0, N_BYTES);
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        ck_assert_uint_eq(execute_with(tokens[i]), NNHAL_INVALID_ARGUMENT);
    for (int n = n_guesses(); n > 0; n--) {
        seed = seed * 1664525u + 1013904223u; /* every number once in 2^32 */
        ck_assert_uint_eq(execute_with(seed), NNHAL_INVALID_ARGUMENT);
        nn_arena_reset(&desk.arena);
    }
    ck_assert_uint_eq(fake.n_executed, 0);
    nn_hal_close(others);
    desk.hal = mine;
    desk_close(&desk);
}
TEST_END

TEST(ids_of_others_mean_nothing)
{
    struct nn_hal *mine, *others;
    struct desk_buffer buffer;
    uint64_t memory;

    begin();
    initialize(7);
    mine = desk.hal;
    ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &others), 0);
    desk.hal = others;
    /* Neither buffers nor models to have roles of. */
    memory = desk_memory(&desk, N_BYTES);
    for (uint64_t id = 0; id < 100; id++) {
        ck_assert_uint_eq(desk_copy_to(&desk, id, memory), NNHAL_INVALID_ARGUMENT);
        ck_assert_uint_eq(desk_copy_from(&desk, id, memory, 0, NULL), NNHAL_INVALID_ARGUMENT);
        wish.prepared[0] = id;
        ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), NNHAL_INVALID_ARGUMENT);
        desk_free_buffer(&desk, id);
    }
    nn_hal_close(others);
    desk.hal = mine;
    ck_assert_uint_eq(desk_copy_to(&desk, shared.id, desk_memory(&desk, N_BYTES)), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("buffer-races", eight_readers_at_once_are_all_right, eight_readers_are_in_it_together,
           readers_against_writers, buffers_go_while_they_are_used, tokens_are_not_guessed,
           ids_of_others_mean_nothing)
