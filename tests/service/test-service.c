/* SPDX-License-Identifier: Apache-2.0 */
/* Honest clients of a service: what each gets, and what is left of them. */
#include "service/stand.h"

#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

static struct stand stand;

/* One inference; returns its status. The fake repeats input 0 in the output. */
static uint32_t infer(struct desk *desk, uint64_t memory, uint64_t prepared)
{
    float *floats = desk_bytes(desk, memory);
    uint32_t status;

    floats[0] = 5;
    floats[3] = -7;
    memset(floats + 8, 0, 16);
    desk_formula_request(desk, memory, 16);
    status = desk_execute(desk, prepared);
    if (status == NNHAL_NONE) {
        ck_assert_float_eq(floats[8], 5);
        ck_assert_float_eq(floats[11], -7);
    }
    return status;
}

static void use(struct desk *desk)
{
    uint64_t memory = desk_memory(desk, 4096);
    uint64_t prepared = desk_prepare(desk, desk_formula(desk, DIMS(2, 2)));

    ck_assert_uint_eq(infer(desk, memory, prepared), NNHAL_NONE);
}

TEST(clients_share_the_driver_and_nothing_else)
{
    struct desk one, other;
    uint64_t memory, prepared;

    stand_open(&stand);
    stand_desk(&stand, &one);
    stand_desk(&stand, &other);
    memory = desk_memory(&one, 4096);
    prepared = desk_prepare(&one, desk_formula(&one, DIMS(2, 2)));
    ck_assert_uint_eq(infer(&one, memory, prepared), NNHAL_NONE);
    use(&other);
    /* The ids of one mean nothing in the other's session. */
    desk_begin(&other);
    desk_formula_request(&other, memory + 1000, 16);
    ck_assert_uint_eq(desk_execute(&other, prepared + 1000), NNHAL_INVALID_ARGUMENT);
    stand_desk_close(&other);
    ck_assert_uint_eq(infer(&one, memory, prepared), NNHAL_NONE);
    stand_desk_close(&one);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

TEST(a_model_larger_than_a_packet_comes_through)
{
    _cleanup_(freep) uint8_t *values = calloc(1, 1 << 20);
    struct nnhal_model model;
    struct desk desk;

    stand_open(&stand);
    stand_desk(&stand, &desk);
    model = *desk_formula(&desk, DIMS(2, 2));
    memcpy(values, model.operand_values.data, model.operand_values.size);
    model.operand_values = (struct nnhal_bytes){.size = 1 << 20, .data = values};
    desk_prepare(&desk, &model);
    stand_desk_close(&desk);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

struct client {
    pthread_t thread;
    size_t n_rounds;
};

static void *client_main(void *argument)
{
    struct client *client = argument;

    for (size_t i = 0; i < client->n_rounds; i++) {
        struct desk desk;

        stand_desk(&stand, &desk);
        use(&desk);
        use(&desk);
        stand_desk_close(&desk);
    }
    return NULL;
}

TEST(many_clients_come_and_go)
{
    struct client clients[6];

    stand_open(&stand);
    for (size_t i = 0; i < 6; i++) {
        clients[i].n_rounds = 10;
        pthread_create(&clients[i].thread, NULL, client_main, &clients[i]);
    }
    for (size_t i = 0; i < 6; i++)
        pthread_join(clients[i].thread, NULL);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

static void *execute_on_thread(void *argument)
{
    struct desk *desk = argument;

    return (void *)(uintptr_t)desk_execute(desk, 0);
}

/* The same from a thread beside others: the desk's own arena is not shared. */
static void *execute_alone(void *argument)
{
    const struct desk *desk = argument;
    struct nn_hal_execute_synchronously_args args = {
        .execution = desk->execution,
        .deadline_ns = NNHAL_NO_TIME,
        .loop_timeout_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_execute_synchronously_reply reply;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    ck_assert_uint_eq(nn_hal_execute_synchronously(desk->hal, &args, &reply, &arena), NNHAL_NONE);
    nn_arena_done(&arena);
    return NULL;
}

TEST(a_stopped_service_ends_the_calls_of_its_clients)
{
    uint64_t memory, prepared;
    pthread_t thread;
    struct desk desk;
    void *status;

    stand_open(&stand);
    stand_desk(&stand, &desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2)));
    desk_formula_request(&desk, memory, 16);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &desk.execution), NNHAL_NONE);
    fake_gate_close();
    pthread_create(&thread, NULL, execute_on_thread, &desk);
    fake_gate_wait(1);
    stand_close(&stand); /* the fake looks at is_cancelled */
    ck_assert_uint_eq(fake.was_cancelled, 1);
    pthread_join(thread, &status);
    ck_assert_uint_eq((uintptr_t)status, NNHAL_DEAD_OBJECT);
    ck_assert_uint_eq(desk_try_prepare(&desk, desk_formula(&desk, DIMS(2, 2)), &prepared),
                      NNHAL_DEAD_OBJECT);
    stand_desk_close(&desk);
}
TEST_END

TEST(a_client_that_takes_all_it_can_does_not_stop_another)
{
    pthread_t threads[40];
    struct desk greedy, other;
    uint64_t memory, prepared;

    stand_open(&stand);
    stand_desk(&stand, &greedy);
    stand_desk(&stand, &other);
    memory = desk_memory(&greedy, 4096);
    prepared = desk_prepare(&greedy, desk_formula(&greedy, DIMS(2, 2)));
    desk_formula_request(&greedy, memory, 16);
    ck_assert_uint_eq(desk_create_execution(&greedy, prepared, &greedy.execution), NNHAL_NONE);
    fake.writes_nothing = true; /* all of them have one output */
    fake_gate_close();
    for (size_t i = 0; i < 40; i++)
        pthread_create(&threads[i], NULL, execute_alone, &greedy);
    fake_gate_wait(4);
    desk_memory(&other, 4096);
    desk_prepare(&other, desk_formula(&other, DIMS(2, 2)));
    fake_gate_open();
    for (size_t i = 0; i < 40; i++)
        pthread_join(threads[i], NULL);
    stand_desk_close(&greedy);
    stand_desk_close(&other);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

/* -- clients in processes of their own ------------------------------------------------ */

enum {
    CLIENT_ALONE = 1,
    CLIENT_WITH_HEIR = 2, /* a forked child of it keeps its sockets open */
};

/* Uses the service for ever, after it has told its number. */
__attribute__((__noreturn__)) static void be_client(int kind, int number_fd)
{
    pid_t pid = getpid();
    struct desk desk;

    stand_desk(&stand, &desk);
    if (kind == CLIENT_WITH_HEIR && fork() == 0)
        for (;;)
            pause();
    if (write(number_fd, &pid, sizeof(pid)) != sizeof(pid))
        _exit(1);
    for (;;) {
        uint64_t memory = desk_memory(&desk, 4096), prepared;

        prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2)));
        infer(&desk, memory, prepared);
        desk_free_prepared(&desk, prepared);
        munmap(desk.memories[--desk.n_memories].bytes, 4096);
    }
}

/* Makes clients: a process of one thread, because one that was forked off
 * beside the service's threads might find any lock taken. It ends when the test
 * does; Check kills what is left of the test's group. */
static struct nursery {
    int requests, numbers;
} nursery;

static void nursery_open(void)
{
    int requests[2], numbers[2];
    char kind;

    ck_assert_int_eq(pipe2(requests, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(numbers, O_CLOEXEC), 0);
    if (fork() == 0) {
        close(requests[1]);
        signal(SIGCHLD, SIG_IGN); /* the kernel reaps them */
        while (read(requests[0], &kind, 1) == 1)
            if (fork() == 0)
                be_client(kind, numbers[1]);
        _exit(0);
    }
    close(requests[0]);
    close(numbers[1]);
    nursery = (struct nursery){.requests = requests[1], .numbers = numbers[0]};
}

static void open_with_nursery(void)
{
    stand_place(&stand);
    nursery_open();
    stand_open(&stand);
}

static pid_t start_client(char kind)
{
    pid_t pid = 0;

    ck_assert_int_eq(write(nursery.requests, &kind, 1), 1);
    ck_assert_int_eq(read(nursery.numbers, &pid, sizeof(pid)), sizeof(pid));
    return pid;
}

TEST(nothing_is_left_of_a_client_that_was_killed)
{
    const char *rounds = getenv("NN_TEST_ROUNDS");
    size_t n_rounds = rounds ? strtoul(rounds, NULL, 10) : 50;
    unsigned seed = 1;

    open_with_nursery();
    for (size_t i = 0; i < n_rounds; i++) {
        struct timespec moment = {.tv_nsec = (long)(rand_r(&seed) % 3000000)};
        pid_t pid = start_client(CLIENT_ALONE);

        nanosleep(&moment, NULL);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
    }
    stand_expect_no_clients(&stand);
    ck_assert_uint_eq(count_mappings("memfd:desk"), 0);
    stand_close(&stand);
}
TEST_END

TEST(nor_if_its_forked_child_keeps_the_sockets)
{
    open_with_nursery();
    ck_assert_int_eq(kill(start_client(CLIENT_WITH_HEIR), SIGKILL), 0);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

TEST(an_execution_of_a_dead_client_is_told_to_end)
{
    pid_t pid;

    open_with_nursery();
    fake_gate_close();
    pid = start_client(CLIENT_ALONE);
    fake_gate_wait(1);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    stand_expect_no_clients(&stand);
    ck_assert_uint_eq(fake.was_cancelled, 1);
    stand_close(&stand);
}
TEST_END

TEST(a_memory_that_shrinks_fails_that_execution_alone)
{
    const struct nn_hal_import_memory_args import = {
        .kind = NNHAL_MEMORY_ASHMEM,
        .size = 4096,
        .fd = nn_sys_memfd_create("desk-shrinks", true),
    };
    struct nn_hal_import_memory_reply reply;
    uint64_t memory, prepared;
    struct desk desk;

    stand_open(&stand);
    stand_desk(&stand, &desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2)));
    ck_assert_int_eq(ftruncate(import.fd, 4096), 0);
    ck_assert_uint_eq(nn_hal_import_memory(desk.hal, &import, &reply, &desk.arena), NNHAL_NONE);
    ck_assert_int_eq(ftruncate(import.fd, 0), 0);
    desk_formula_request(&desk, reply.memory, 16);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(infer(&desk, memory, prepared), NNHAL_NONE);
    close(import.fd);
    stand_desk_close(&desk);
    stand_close(&stand);
}
TEST_END

CHECK_MAIN("service", clients_share_the_driver_and_nothing_else,
           a_model_larger_than_a_packet_comes_through, many_clients_come_and_go,
           a_stopped_service_ends_the_calls_of_its_clients,
           a_client_that_takes_all_it_can_does_not_stop_another,
           nothing_is_left_of_a_client_that_was_killed, nor_if_its_forked_child_keeps_the_sockets,
           an_execution_of_a_dead_client_is_told_to_end,
           a_memory_that_shrinks_fails_that_execution_alone)
