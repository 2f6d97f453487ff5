/* SPDX-License-Identifier: Apache-2.0 */
/* What a client costs a service, seen from outside; and how soon there is a service. */
#include "attack/victim.h"
#include "hal/dial.h"
#include "host/desk.h"
#include "ipc/sock.h"

#include "support/check-main.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    N_CLIENTS = 100, /* 130 with the first ones */
    N_FIRST = 30,    /* until all threads and what they share are there */
    N_STARTS = 5,
    IDLE_KIB = 4,  /* of a client that has connected: 0.6 measured */
    BUSY_KIB = 16, /* of one that has computed with a small model: 7 measured */
    SLACK_KIB = 2048,
    THREADS_END_MS = 30000, /* of pools, after 5 s without work */
    MAX_CONNECTIONS_PER_USER = 256,
};

static struct victim victim;
static struct desk desks[N_FIRST + N_CLIENTS];

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void client_connect(struct desk *desk)
{
    struct nn_hal_get_device_info_args args = {0};
    struct nn_hal_get_device_info_reply info;

    memset(desk, 0, sizeof(*desk));
    nn_arena_init(&desk->arena, 0);
    ck_assert_int_eq(nn_dial_socket(victim.path, NULL, &desk->hal), 0);
    ck_assert_uint_eq(nn_hal_get_device_info(desk->hal, &args, &info, &desk->arena), NNHAL_NONE);
}

/* Its memory and its model stay. */
static void client_compute(struct desk *desk)
{
    uint64_t memory = desk_memory(desk, 4096);
    uint64_t prepared = desk_prepare(desk, desk_formula(desk, DIMS(2, 2)));

    desk_formula_request(desk, memory, 16);
    ck_assert_uint_eq(desk_execute(desk, prepared), NNHAL_NONE);
}

static void client_leave(struct desk *desk)
{
    nn_hal_close(desk->hal);
    nn_arena_done(&desk->arena);
    for (uint32_t i = 0; i < desk->n_memories; i++)
        munmap(desk->memories[i].bytes, desk->memories[i].size);
}

static void clients_come(int from, int to)
{
    for (int i = from; i < to; i++)
        client_connect(&desks[i]);
}

static void clients_compute(int from, int to)
{
    for (int i = from; i < to; i++)
        client_compute(&desks[i]);
}

static void clients_leave(int from, int to)
{
    for (int i = from; i < to; i++)
        client_leave(&desks[i]);
}

/* What each of the clients takes; memory counts where no sanitizer keeps what was freed. */
static void expect_at_most(const struct victim_state *before, const struct victim_state *now,
                           const char *what, size_t n_fds, uint64_t n_kib)
{
    double kib = ((double)now->anonymous_kib - (double)before->anonymous_kib) / N_CLIENTS;

    printf("%s: %.1f KiB, %.2f descriptors, %.2f mappings\n", what, kib,
           (double)(now->n_fds - before->n_fds) / N_CLIENTS,
           (double)(now->n_maps - before->n_maps) / N_CLIENTS);
    ck_assert_uint_le(now->n_fds, before->n_fds + n_fds * N_CLIENTS);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_double_le(kib, (double)n_kib);
#endif
}

/* Clients that call nothing: the service has the threads that it had without them. While they called it
 * may have begun some more than before: a worker that has answered may not be idle yet when the next
 * call comes. Those end once they were idle for 5 s. */
static void expect_no_thread(const struct victim_state *empty)
{
    struct victim_state now = victim_look(&victim);
    uint64_t until_ms = now_ms() + THREADS_END_MS;

    while (now.n_threads > empty->n_threads && now_ms() < until_ms) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        now = victim_look(&victim);
    }
    ck_assert_msg(now.n_threads <= empty->n_threads, "%zu threads with %d clients, %zu with none",
                  now.n_threads, N_FIRST + N_CLIENTS, empty->n_threads);
}

TEST(a_client_costs_little_and_leaves_nothing)
{
    struct victim_state empty, before, now;

    victim_start(&victim, "sample");
    empty = victim_look(&victim);
    clients_come(0, N_FIRST);
    clients_compute(0, N_FIRST);
    before = victim_look(&victim);
    clients_come(N_FIRST, N_FIRST + N_CLIENTS);
    now = victim_look(&victim);
    expect_at_most(&before, &now, "an idle client", 3, IDLE_KIB);
    clients_compute(N_FIRST, N_FIRST + N_CLIENTS);
    now = victim_look(&victim);
    expect_at_most(&before, &now, "a client with a model and a memory", 4, BUSY_KIB);
    expect_no_thread(&empty);
    clients_leave(0, N_FIRST + N_CLIENTS);
    victim_expect_back(&victim, &empty, SLACK_KIB);
    victim_stop(&victim);
}
TEST_END

TEST(a_user_has_256_connections_and_no_more)
{
    int fds[MAX_CONNECTIONS_PER_USER + 1];
    char byte;

    victim_start(&victim, "sample");
    for (int i = 0; i <= MAX_CONNECTIONS_PER_USER; i++)
        ck_assert_int_eq(nn_sock_connect(victim.path, &fds[i]), 0);
    /* The one too many is closed; the others are waited for. */
    ck_assert_int_eq(recv(fds[MAX_CONNECTIONS_PER_USER], &byte, 1, 0), 0);
    ck_assert_int_eq(recv(fds[0], &byte, 1, MSG_DONTWAIT), -1);
    ck_assert_int_eq(recv(fds[MAX_CONNECTIONS_PER_USER - 1], &byte, 1, MSG_DONTWAIT), -1);
    close(fds[0]);
    while (victim_look(&victim).n_fds > 0 && nn_dial_socket(victim.path, NULL, &desks[0].hal) != 0)
        ;
    nn_hal_close(desks[0].hal);
    for (int i = 1; i <= MAX_CONNECTIONS_PER_USER; i++)
        close(fds[i]);
    victim_stop(&victim);
}
TEST_END

TEST(a_service_is_there_soon)
{
    uint64_t longest_ms = 0;

    for (int i = 0; i < N_STARTS; i++) {
        uint64_t began_ms = now_ms(), took_ms;

        victim_start(&victim, i % 2 ? "cpu" : "sample");
        client_connect(&desks[0]);
        took_ms = now_ms() - began_ms;
        client_leave(&desks[0]);
        victim_stop(&victim);
        if (took_ms > longest_ms)
            longest_ms = took_ms;
    }
    printf("a service answers its first client after %llu ms\n", (unsigned long long)longest_ms);
    ck_assert_uint_le(longest_ms, 2000);
}
TEST_END

CHECK_MAIN("footprint", a_client_costs_little_and_leaves_nothing,
           a_user_has_256_connections_and_no_more, a_service_is_there_soon)
