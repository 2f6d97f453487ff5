/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that ask the CPU driver for work without end and die: other clients do not wait for them. */
#include "service/stand.h"

#include "base/sys.h"
#include "cpu/endless.h"
#include "support/check-main.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    N_CLIENTS = 20, /* a service has 16 workers */
    BUSY_MS = 500,
};

#define BACK_NS UINT64_C(2000000000)

static struct stand stand;

/* A process that waits for the word to begin, asks, and is killed. */
static pid_t start_client(int begin_fd, bool executes)
{
    pid_t pid = fork();
    const struct nnhal_model *model;
    uint64_t memory, prepared;
    struct builder b;
    struct desk desk;
    char byte;

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    if (read(begin_fd, &byte, 1) != 1)
        _exit(1);
    model = endless_build(&b, !executes, ENDLESS_RATIO);
    stand_desk(&stand, &desk);
    prepared = desk_prepare(&desk, model);
    if (executes) {
        memory = desk_memory(&desk, 4096);
        desk_begin(&desk);
        desk_input(&desk, 0, NULL, memory, 0, ENDLESS_INPUT_BYTES);
        desk_output(&desk, 0, NULL, memory, 1024, 16);
        desk_execute(&desk, prepared);
    }
    pause();
    _exit(0);
}

/* What another client asks for afterwards. */
static void expect_answers(void)
{
    uint64_t begin_ns = nn_sys_now_ns(), memory, prepared;
    struct desk desk;

    stand_desk(&stand, &desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(1)));
    desk_formula_request(&desk, memory, 4);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_lt(nn_sys_now_ns() - begin_ns, BACK_NS);
    stand_desk_close(&desk);
}

static void survive_clients(bool executes)
{
    pid_t clients[N_CLIENTS];
    int begin[2];

    stand_place(&stand);
    ck_assert_int_eq(pipe(begin), 0);
    for (size_t i = 0; i < N_CLIENTS; i++)
        clients[i] = start_client(begin[0], executes);
    stand_open_with(&stand, nn_cpu_driver_main);
    ck_assert_int_eq((int)write(begin[1], "goooooooooooooooooooo", N_CLIENTS), N_CLIENTS);
    usleep(BUSY_MS * 1000);
    for (size_t i = 0; i < N_CLIENTS; i++)
        kill(clients[i], SIGKILL);
    for (size_t i = 0; i < N_CLIENTS; i++)
        ck_assert_int_eq(waitpid(clients[i], NULL, 0), clients[i]);
    expect_answers();
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}

TEST(endless_preparations_end_with_their_clients)
{
    survive_clients(false);
}
TEST_END

TEST(endless_executions_end_with_their_clients)
{
    survive_clients(true);
}
TEST_END

CHECK_MAIN("endless", endless_preparations_end_with_their_clients,
           endless_executions_end_with_their_clients)
