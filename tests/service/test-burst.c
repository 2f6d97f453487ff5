/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts of a service: over the wire, with memories that go, and with clients that do. */
#include "host/burst-line.h"
#include "service/stand.h"

#include "base/sys.h"
#include "hal/dial.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#define TMPFS 0x01021994

static struct stand stand;
static struct desk desk;
static struct line line;
static uint64_t prepared;

/* A desk with one memory and the model of 4 floats, and a burst for it. */
static void begin_burst(void)
{
    uint64_t memory = desk_memory(&desk, 4096);

    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    line_open(&line, &desk, prepared, 64, 64);
}

static void begin(void)
{
    stand_open(&stand);
    stand_desk(&stand, &desk);
    begin_burst();
    line_set_all(&line);
}

static void end(void)
{
    line_close(&line, true);
    stand_desk_close(&desk);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}

TEST(requests_go_through_the_queue_and_not_the_socket)
{
    float *floats;

    begin();
    floats = desk_bytes(&desk, desk.memories[0].id);
    for (int i = 0; i < 200; i++) {
        floats[0] = (float)i;
        ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
        ck_assert_float_eq(floats[8], (float)i);
    }
    line.deadline_ns = 1;
    line_execute(&line);
    line_expect_refusal(&line, NNHAL_MISSED_DEADLINE_PERSISTENT);
    end();
}
TEST_END

TEST(a_client_that_leaves_takes_its_bursts_along)
{
    static struct line lines[5];
    size_t n_threads;

    begin();
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    n_threads = count_threads();
    for (int i = 0; i < 5; i++) {
        line_open(&lines[i], &desk, prepared, 64, 64);
        line_set_all(&lines[i]);
        ck_assert_uint_eq(line_execute(&lines[i]), NNHAL_NONE);
    }
    ck_assert_uint_ge(count_threads(), n_threads + 5);
    stand_desk_close(&desk);
    for (int i = 0; i < 5; i++)
        line_close(&lines[i], false);
    line_close(&line, false);
    stand_expect_no_clients(&stand);
    ck_assert_uint_eq(count_mappings("nnhal-fmq"), 0);
    stand_close(&stand);
}
TEST_END

TEST(the_end_of_the_service_ends_what_bursts_execute)
{
    begin();
    fake_gate_close();
    line_pack(&line);
    line_send(&line);
    fake_gate_wait(1);
    stand_close(&stand);
    ck_assert_uint_eq(fake.was_cancelled, 1);
    line_close(&line, false);
    stand_desk_close(&desk);
}
TEST_END

/* -- memories -------------------------------------------------------------------- */

static sem_t asked;

static void on_get_memories(void *ctx, const struct nn_hal_get_memories_event *event)
{
    if (event->burst == line.burst && event->n_slots == 1 && event->slots[0] == 0)
        sem_post(&asked);
}

TEST(empty_slots_are_asked_for_over_the_wire)
{
    const struct nn_hal_listener listener = {.get_memories = on_get_memories};

    sem_init(&asked, 0, 0);
    stand_open(&stand);
    ck_assert_int_eq(nn_dial_socket(stand.path, &listener, &desk.hal), 0);
    nn_arena_init(&desk.arena, 0);
    begin_burst();
    line_pack(&line);
    line_send(&line);
    sem_wait(&asked);
    line_set_all(&line);
    line_receive(&line);
    ck_assert_uint_eq(line.result.status, NNHAL_NONE);
    end();
}
TEST_END

/* A memory of the desk in a file that its client can cut. */
static uint32_t add_memory(int fd)
{
    uint32_t i = desk.n_memories++;

    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, 4096, 0,
                                  &desk.memories[i].id),
                      NNHAL_NONE);
    desk.memories[i].size = 4096;
    desk.memories[i].bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(desk.memories[i].bytes, MAP_FAILED);
    return i;
}

TEST(a_memory_that_shrinks_fails_its_requests_alone)
{
    int fd = memfd_create("shrinks", MFD_CLOEXEC);
    uint32_t loose;

    begin();
    loose = add_memory(fd);
    line_set_all(&line);
    desk_formula_request(&desk, desk.memories[loose].id, 16);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    for (int i = 0; i < 3; i++) {
        desk_formula_request(&desk, desk.memories[loose].id, 16);
        line_execute(&line);
        line_expect_refusal(&line, NNHAL_GENERAL_FAILURE);
        desk_formula_request(&desk, desk.memories[0].id, 16);
        ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    }
    end();
    close(fd);
}
TEST_END

TEST(a_file_that_can_stall_lies_in_no_slot)
{
    int fd = open(getenv("NNHAL_BUILD_ROOT"), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct statfs status;
    uint32_t file;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstatfs(fd, &status), 0);
    begin();
    file = add_memory(fd);
    ck_assert_uint_eq(line_set(&line, (int32_t)file, desk.memories[file].id),
                      status.f_type == TMPFS ? NNHAL_NONE : NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
    close(fd);
}
TEST_END

/* -- clients that are killed -------------------------------------------------------- */

/* Processes of a test write Check's messages into one file, and who is killed may have written half of
 * one: it writes them nowhere. */
static void leave_check(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char link[64], target[64];

    for (int fd = 3; fd < 64; fd++) {
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, target, sizeof(target) - 1);
        target[n < 0 ? 0 : n] = 0;
        if (strstr(target, "/check_") && dup2(nowhere, fd) < 0)
            _exit(1);
    }
    close(nowhere);
}

/* A client that keeps requests in flight, for ever. */
__attribute__((__noreturn__)) static void be_client(int ready_fd)
{
    stand_desk(&stand, &desk);
    begin_burst();
    line_set_all(&line);
    line_pack(&line);
    if (write(ready_fd, "r", 1) != 1)
        _exit(1);
    for (;;) {
        line_send(&line);
        line_send(&line);
        line_receive(&line);
        line_receive(&line);
        nn_arena_reset(&desk.arena);
    }
}

/* Kills clients of its own at random moments; forked off before there are threads. */
__attribute__((__noreturn__)) static void kill_clients(size_t n_rounds, int start_fd)
{
    unsigned seed = 7;
    char byte;
    int ready[2];

    leave_check();
    if (read(start_fd, &byte, 1) != 1)
        _exit(1);
    for (size_t i = 0; i < n_rounds; i++) {
        struct timespec moment = {.tv_nsec = (long)(rand_r(&seed) % 2000000)};
        pid_t pid;

        if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
            _exit(1);
        if (pid == 0)
            be_client(ready[1]);
        close(ready[1]);
        if (i % 2 && read(ready[0], &byte, 1) != 1) /* else while it begins */
            _exit(1);
        nanosleep(&moment, NULL);
        if (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, 0) != pid)
            _exit(1);
        close(ready[0]);
    }
    _exit(0);
}

TEST(nothing_is_left_of_clients_that_were_killed)
{
    const char *rounds = getenv("NN_TEST_ROUNDS");
    size_t n_rounds = rounds ? strtoul(rounds, NULL, 10) : 30;
    int starts[2], status;
    pid_t pid;

    stand_place(&stand);
    ck_assert_int_eq(pipe2(starts, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0)
        kill_clients(n_rounds, starts[0]);
    close(starts[0]);
    stand_open(&stand);
    ck_assert_int_eq(write(starts[1], "s", 1), 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    stand_expect_no_clients(&stand);
    ck_assert_uint_eq(count_mappings("memfd:"), 0);
    /* And the service goes on. */
    stand_desk(&stand, &desk);
    begin_burst();
    line_set_all(&line);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
    close(starts[1]);
}
TEST_END

CHECK_MAIN("service-burst", requests_go_through_the_queue_and_not_the_socket,
           a_client_that_leaves_takes_its_bursts_along,
           the_end_of_the_service_ends_what_bursts_execute, empty_slots_are_asked_for_over_the_wire,
           a_memory_that_shrinks_fails_its_requests_alone, a_file_that_can_stall_lies_in_no_slot,
           nothing_is_left_of_clients_that_were_killed)
