/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver hears of bursts: that they are open, and the requests and memories
 * of one, if it has an executor. */
#include "host/burst-line.h"

#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <android/hardware_buffer.h>

#include <semaphore.h>
#include <sys/mman.h>

#define N_KEYS 3

/* What the driver was told. */
static struct {
    _Atomic int32_t n_open;
    _Atomic uint32_t most_open, n_executors, n_closed, n_executed, n_added, n_removed, n_refused;
    _Atomic uint32_t n_inside; /* an executor is called by one thread at a time */
    struct {
        _Atomic uint64_t n_bytes;
        void *_Atomic data;
    } memories[N_KEYS];
    uint32_t add_status, open_status;
    uint32_t n_keys;
    bool serves;
    uint32_t n_served; /* before serve() returns by itself; 0: it does not */
} told;

static struct desk desk;
static struct line line;

static uint32_t burst_opened(void *prepared)
{
    told.n_open++;
    if ((uint32_t)told.n_open > told.most_open)
        told.most_open = (uint32_t)told.n_open;
    return 3;
}

static void burst_closed(void *prepared)
{
    told.n_open--;
}

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static uint32_t add_memory(void *ctx, const struct nnhal_burst_memory *memory)
{
    must(told.n_inside++ == 0);
    must(memory->key < told.n_keys && told.memories[memory->key].n_bytes == 0);
    if (told.add_status == NNHAL_NONE) {
        told.memories[memory->key].data = memory->data;
        told.memories[memory->key].n_bytes = memory->n_bytes;
        told.n_added++;
    }
    told.n_inside--;
    return told.add_status;
}

static void remove_memory(void *ctx, uint32_t key)
{
    must(told.n_inside++ == 0);
    must(key < told.n_keys && told.memories[key].n_bytes != 0);
    must(*(volatile char *)told.memories[key].data || true); /* still mapped */
    told.memories[key].n_bytes = 0;
    told.n_removed++;
    told.n_inside--;
}

static void expect_place(const struct nnhal_burst_place *place, const void *data)
{
    if (place->key == NNHAL_BURST_NO_KEY) {
        told.n_refused++;
        return;
    }
    must(place->key < told.n_keys && told.memories[place->key].n_bytes > place->offset);
    must((const char *)told.memories[place->key].data + place->offset == (const char *)data);
}

static uint32_t executor_execute(void *ctx, const struct nnhal_burst_request *request)
{
    struct nnhal_execution *execution = request->execution;
    uint32_t status;

    must(told.n_inside++ == 0);
    must(ctx == &told);
    for (uint32_t i = 0; i < execution->n_inputs && told.n_keys; i++)
        expect_place(&request->inputs[i], execution->inputs[i].data);
    for (uint32_t i = 0; i < execution->n_outputs && told.n_keys; i++)
        expect_place(&request->outputs[i], execution->outputs[i].data);
    status = fake.driver.execute(NULL, execution);
    told.n_executed++;
    told.n_inside--;
    return status;
}

static void serve(void *ctx, const struct nnhal_burst_channel *channel)
{
    uint32_t n = 0;

    must(channel->answer(channel->host, executor_execute, ctx) <= 0 || ++n);
    while (channel->wait(channel->host, NNHAL_NO_TIME) > 0) {
        if (channel->answer(channel->host, executor_execute, ctx) < 0)
            return;
        if (++n == told.n_served)
            return;
    }
}

static void executor_close(void *ctx)
{
    must(told.n_inside == 0);
    for (int key = 0; key < N_KEYS; key++)
        must(told.memories[key].n_bytes == 0);
    told.n_closed++;
}

static uint32_t open_executor(void *prepared, struct nnhal_burst_executor *executor)
{
    must(executor->size == sizeof(*executor) && !executor->execute && !executor->n_keys);
    if (told.open_status != NNHAL_NONE)
        return told.open_status;
    executor->ctx = &told;
    executor->n_keys = told.n_keys;
    executor->add_memory = told.n_keys ? add_memory : NULL;
    executor->remove_memory = told.n_keys ? remove_memory : NULL;
    executor->execute = executor_execute;
    executor->serve = told.serves ? serve : NULL;
    executor->close = executor_close;
    told.n_executors++;
    return NNHAL_NONE;
}

static const struct nnhal_driver *telling_main(const char *configuration)
{
    static struct nnhal_driver driver;

    driver = *fake_main(NULL);
    driver.burst_opened = burst_opened;
    driver.burst_closed = burst_closed;
    driver.open_executor = open_executor;
    return &driver;
}

static uint64_t begin(uint32_t n_memories)
{
    uint64_t prepared;

    memset(&desk, 0, sizeof(desk));
    fake_reset();
    ck_assert_int_eq(nn_host_open_builtin(telling_main, NULL, NULL, &desk.host), 0);
    ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &desk.hal), 0);
    nn_arena_init(&desk.arena, 0);
    while (desk.n_memories < n_memories)
        desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    return prepared;
}

/* x and y in one memory, z in the other; the status. */
static uint32_t execute(uint32_t from, uint32_t to)
{
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, desk.memories[from].id, 64, 16);
    desk_input(&desk, 0, NULL, desk.memories[from].id, 128, 16);
    desk_output(&desk, 0, NULL, desk.memories[to].id, 256, 16);
    return line_execute(&line);
}

static void end(void)
{
    desk_close(&desk);
    ck_assert_int_eq(told.n_open, 0);
    ck_assert_uint_eq(told.n_executors, told.n_closed);
    ck_assert_uint_eq(told.n_added, told.n_removed);
}

TEST(bursts_are_told_and_nest)
{
    static struct line lines[3];
    uint64_t prepared = begin(1);

    for (int i = 0; i < 3; i++) {
        line_open(&lines[i], &desk, prepared, 64, 64);
        ck_assert_int_eq(told.n_open, i + 1);
    }
    line_close(&lines[1], true);
    ck_assert_int_eq(told.n_open, 2);
    desk_free_prepared(&desk, prepared);
    ck_assert_uint_eq(fake.n_released, 0); /* open bursts have it */
    line_close(&lines[0], true);
    end(); /* with one still open */
    line_close(&lines[2], false);
    ck_assert_uint_eq(told.most_open, 3);
}
TEST_END

TEST(how_many_threads_an_execution_has_is_passed_on)
{
    struct nn_hal_configure_execution_burst_args args = {.prepared_model = begin(1)};
    struct nn_hal_configure_execution_burst_reply reply;
    struct nnhal_fmq_descriptor queue;

    line_open(&line, &desk, args.prepared_model, 64, 64);
    nn_ring_descriptor(line.requests, &queue);
    args.requests = (struct nn_hal_queue_descriptor){queue.n_elements, queue.element_size,
                                                     queue.flavour, queue.fd};
    nn_ring_descriptor(line.results, &queue);
    args.results = (struct nn_hal_queue_descriptor){queue.n_elements, queue.element_size,
                                                    queue.flavour, queue.fd};
    ck_assert_uint_eq(nn_hal_configure_execution_burst(desk.hal, &args, &reply, &desk.arena),
                      NNHAL_NONE);
    ck_assert_uint_eq(reply.n_threads, 3);
    end();
    line_close(&line, false);
}
TEST_END

static void execute_in_turn(bool serves, uint32_t n_keys)
{
    uint64_t prepared;

    told.serves = serves;
    told.n_keys = n_keys;
    prepared = begin(5);
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    for (uint32_t i = 0; i < 40; i++) {
        float *from = desk_bytes(&desk, desk.memories[i % 5].id);
        const float *to = desk_bytes(&desk, desk.memories[(i * 3 + 1) % 5].id);

        from[16] = (float)i;
        ck_assert_uint_eq(execute(i % 5, (i * 3 + 1) % 5), NNHAL_NONE);
        ck_assert_float_eq(to[64], (float)i);
    }
    ck_assert_uint_eq(told.n_executed, 40);
    line_close(&line, true);
    end();
}

TEST(an_executor_executes_in_the_places_it_was_told)
{
    execute_in_turn(false, N_KEYS);
    ck_assert_uint_gt(told.n_added, N_KEYS); /* some had to go */
    ck_assert_uint_eq(told.n_refused, 0);
}
TEST_END

/* Pixels that begin somewhere in their file. */
static void import_picture(uint32_t n, uint64_t offset)
{
    const struct nnhal_buffer_plane plane = {
        .offset = offset, .row_bytes = 4 * n, .pixel_bytes = 4};
    const struct nnhal_hardware_buffer buffer = {
        .format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM,
        .width = n,
        .height = 1,
        .layers = 1,
        .size = offset + 4ULL * n,
        .stride = n,
        .n_planes = 1,
        .planes = &plane,
    };
    int fd = memfd_create("picture", MFD_CLOEXEC);
    uint32_t i = desk.n_memories++;

    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_uint_eq(desk_import_buffer(&desk, fd, &buffer, 0, &desk.memories[i].id), NNHAL_NONE);
    desk.memories[i].size = 4096;
    desk.memories[i].bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(desk.memories[i].bytes, MAP_FAILED);
    close(fd);
}

TEST(a_picture_lies_where_its_pixels_are)
{
    uint64_t prepared;
    float *pixels;

    told.n_keys = N_KEYS;
    prepared = begin(1);
    import_picture(4, 64);
    pixels = desk_bytes(&desk, desk.memories[1].id);
    pixels[16] = 5;
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, desk.memories[1].id, 0, 0);
    desk_input(&desk, 0, NULL, desk.memories[0].id, 128, 16);
    desk_output(&desk, 0, NULL, desk.memories[0].id, 256, 16);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_float_eq(((float *)desk_bytes(&desk, desk.memories[0].id))[64], 5);
    ck_assert_uint_eq(told.n_refused, 0);
    line_close(&line, true);
    end();
}
TEST_END

TEST(an_executor_may_serve)
{
    execute_in_turn(true, N_KEYS);
}
TEST_END

TEST(an_executor_that_stops_serving_is_served)
{
    told.n_served = 10;
    execute_in_turn(true, N_KEYS);
}
TEST_END

static void await_counter(const uint64_t *word, uint64_t least)
{
    uint64_t end_ns = nn_sys_now_ns() + UINT64_C(2000000000);

    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < least)
        ck_assert_uint_lt(nn_sys_now_ns(), end_ns);
}

/* A result that cannot be written ends the burst, also where the driver serves it: counters that are
 * impossible tell the client. */
TEST(a_broken_queue_ends_what_an_executor_serves)
{
    enum { WRITE = 64, READ = 128, N_ELEMENTS = 64 };
    uint64_t prepared, *write, *read, n_result;
    uint8_t *bytes;

    told.serves = true;
    told.n_keys = N_KEYS;
    prepared = begin(1);
    line_open(&line, &desk, prepared, 176, N_ELEMENTS);
    line_set_all(&line);
    ck_assert_uint_eq(execute(0, 0), NNHAL_NONE);
    bytes = line_map_queue(line.results);
    write = (uint64_t *)(void *)(bytes + WRITE);
    read = (uint64_t *)(void *)(bytes + READ);
    n_result = *write;
    ck_assert_uint_eq(N_ELEMENTS % n_result, 0);
    for (uint64_t n = 0; n < N_ELEMENTS; n += n_result) {
        line_send(&line);
        await_counter(write, n + 2 * n_result);
    }
    /* The queue is full: the next result makes the host look at this counter. */
    __atomic_store_n(read, UINT64_MAX, __ATOMIC_SEQ_CST);
    line_send(&line);
    await_counter(write, UINT64_C(1) << 62);
    munmap(bytes, LINE_QUEUE_BYTES);
    line_close(&line, true);
    end();
}
TEST_END

TEST(an_executor_without_keys_is_told_of_no_memory)
{
    execute_in_turn(false, 0);
    ck_assert_uint_eq(told.n_added, 0);
}
TEST_END

TEST(more_memories_than_keys_are_no_failure)
{
    uint64_t prepared;

    told.n_keys = 1;
    prepared = begin(2);
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    ck_assert_uint_eq(execute(0, 1), NNHAL_NONE);
    ck_assert_uint_eq(told.n_added, 1);
    ck_assert_uint_eq(told.n_refused, 1);
    line_close(&line, true);
    end();
}
TEST_END

TEST(a_freed_slot_is_removed_at_once_and_not_during_a_run)
{
    uint64_t prepared;

    told.n_keys = N_KEYS;
    prepared = begin(2);
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    ck_assert_uint_eq(execute(0, 1), NNHAL_NONE);
    ck_assert_uint_eq(told.n_added, 2);
    line_free(&line, 0);
    ck_assert_uint_eq(told.n_removed, 1);
    ck_assert_uint_eq(line_set(&line, 0, desk.memories[0].id), NNHAL_NONE);
    fake_gate_close();
    line_pack(&line);
    line_send(&line);
    fake_gate_wait(1);
    ck_assert_uint_eq(told.n_added, 3);
    line_free(&line, 0);
    line_free(&line, 1);
    ck_assert_uint_eq(told.n_removed, 1); /* the run goes on */
    fake_gate_open();
    line_receive(&line);
    ck_assert_uint_eq(line.result.status, NNHAL_NONE);
    line_close(&line, true);
    ck_assert_uint_eq(told.n_removed, 3);
    end();
}
TEST_END

TEST(failures_of_an_executor_are_the_requests_or_the_bursts)
{
    uint64_t prepared;

    told.n_keys = N_KEYS;
    prepared = begin(2);
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    told.add_status = NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    execute(0, 1);
    line_expect_refusal(&line, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    told.add_status = NNHAL_NONE;
    ck_assert_uint_eq(execute(0, 1), NNHAL_NONE);
    fake.execute_status = NNHAL_GENERAL_FAILURE;
    execute(1, 0);
    line_expect_refusal(&line, NNHAL_GENERAL_FAILURE);
    line_close(&line, true);
    told.open_status = NNHAL_RESOURCE_EXHAUSTED_PERSISTENT;
    ck_assert_uint_eq(line_try_open(&line, &desk, prepared, 64, 64),
                      NNHAL_RESOURCE_EXHAUSTED_PERSISTENT);
    told.open_status = NNHAL_NONE;
    told.n_keys = NNHAL_BURST_MAX_KEYS + 1;
    ck_assert_uint_eq(line_try_open(&line, &desk, prepared, 64, 64), NNHAL_GENERAL_FAILURE);
    end();
}
TEST_END

CHECK_MAIN("burst-executor", bursts_are_told_and_nest,
           how_many_threads_an_execution_has_is_passed_on,
           an_executor_executes_in_the_places_it_was_told, a_picture_lies_where_its_pixels_are,
           an_executor_may_serve, an_executor_that_stops_serving_is_served,
           a_broken_queue_ends_what_an_executor_serves,
           an_executor_without_keys_is_told_of_no_memory, more_memories_than_keys_are_no_failure,
           a_freed_slot_is_removed_at_once_and_not_during_a_run,
           failures_of_an_executor_are_the_requests_or_the_bursts)
