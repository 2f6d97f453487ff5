/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/probe.h"

#include "base/sys.h"
#include "hal/dial.h"
#include "host/desk.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_NS UINT64_C(20000000000)
#else
#define LIMIT_NS UINT64_C(2000000000)
#endif

enum {
    CALLS = 1 << 20,
    PAUSE_NS = 4000000,
    FIRST_USER = 64000,
};

struct probe_notes {
    uint32_t must_stop, n_calls;
    uint32_t took_us[CALLS];
};

uid_t probe_user_id(unsigned n)
{
    return geteuid() == 0 ? FIRST_USER + n : geteuid();
}

void probe_become_user(unsigned n)
{
    uid_t user = probe_user_id(n);

    if (user == geteuid())
        return;
    ck_assert_int_eq(setgid(user), 0);
    ck_assert_int_eq(setuid(user), 0);
}

static void probe_main(struct probe_notes *notes, const char *path)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct desk desk = {.n_memories = 0};
    uint64_t memory, prepared;
    float *floats;

    ck_assert_int_eq(nn_dial_socket(path, NULL, &desk.hal), 0);
    nn_arena_init(&desk.arena, 0);
    memory = desk_memory(&desk, 4096);
    floats = desk_bytes(&desk, memory);
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(1)));
    desk_formula_request(&desk, memory, 4);
    for (uint32_t n = 0; n < CALLS && !__atomic_load_n(&notes->must_stop, __ATOMIC_ACQUIRE);) {
        uint64_t begin_ns = nn_sys_now_ns(), took_ns;

        floats[0] = (float)n;
        floats[1] = 1;
        ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
        ck_assert_float_eq(floats[2], (float)n + 1);
        took_ns = nn_sys_now_ns() - begin_ns;
        ck_assert_uint_lt(took_ns, LIMIT_NS);
        notes->took_us[n++] = (uint32_t)(took_ns / 1000);
        __atomic_store_n(&notes->n_calls, n, __ATOMIC_RELEASE);
        nn_arena_reset(&desk.arena);
        nanosleep(&pause, NULL);
    }
    nn_hal_close(desk.hal);
    nn_arena_done(&desk.arena);
    munmap(desk.memories[0].bytes, desk.memories[0].size);
}

void probe_start(struct probe *probe, const char *path)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    probe->notes = mmap(NULL, sizeof(*probe->notes), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(probe->notes, MAP_FAILED);
    probe->pid = fork();
    ck_assert_int_ge(probe->pid, 0);
    if (probe->pid == 0) {
        probe_become_user(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        probe_main(probe->notes, path);
        _exit(0);
    }
    while (!__atomic_load_n(&probe->notes->n_calls, __ATOMIC_ACQUIRE)) {
        ck_assert_int_eq(waitpid(probe->pid, NULL, WNOHANG), 0);
        nanosleep(&pause, NULL);
    }
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void probe_stop(struct probe *probe, const char *what)
{
    struct probe_notes *notes = probe->notes;
    uint32_t n;
    int status;

    __atomic_store_n(&notes->must_stop, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(waitpid(probe->pid, &status, 0), probe->pid);
    n = __atomic_load_n(&notes->n_calls, __ATOMIC_ACQUIRE);
    qsort(notes->took_us, n, sizeof(notes->took_us[0]), compare);
    printf("%s: another user's ADD, %u calls: p50 %u us, p99 %u us, longest %u us\n", what, n,
           notes->took_us[n / 2], notes->took_us[(uint64_t)n * 99 / 100], notes->took_us[n - 1]);
    fflush(stdout);
    ck_assert_msg(status == 0, "the other user's process ended: %#x", (unsigned)status);
    munmap(notes, sizeof(*notes));
}
