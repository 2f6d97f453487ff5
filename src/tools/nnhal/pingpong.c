/* SPDX-License-Identifier: Apache-2.0 */
#include "pingpong.h"

#include <linux/futex.h>

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* So long a side looks before it lets others run; without that, two spinners on
 * one CPU would wait for the end of each other's slices. */
enum { LOOKS = 10000 };

/* Each word on a cache line of its own; a word belongs to its writer. */
struct table {
    uint32_t ball __attribute__((aligned(64)));
    uint32_t answer __attribute__((aligned(64)));
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void word_set(uint32_t *word, uint32_t value, bool is_futex)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    if (is_futex)
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void word_wait(uint32_t *word, uint32_t value, bool is_futex)
{
    uint32_t seen;

    for (uint32_t n = 0; (seen = __atomic_load_n(word, __ATOMIC_SEQ_CST)) != value; n++) {
        if (is_futex)
            syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
        else if (n % LOOKS == LOOKS - 1)
            sched_yield();
        else
            cpu_relax();
    }
}

static void thread_pin(int cpu)
{
    cpu_set_t set;

    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

int pingpong_run(enum pingpong_kind kind, int cpu, int peer_cpu, uint32_t n, uint64_t *ret_ns)
{
    struct table *table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t n_warm = n / 10;
    bool is_futex = kind == PINGPONG_FUTEX;
    pid_t peer;

    if (table == MAP_FAILED)
        return -1;
    peer = fork();
    if (peer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        thread_pin(peer_cpu);
        for (uint32_t i = 1; i <= n_warm + n; i++) {
            word_wait(&table->ball, i, is_futex);
            word_set(&table->answer, i, is_futex);
        }
        _exit(0);
    }
    thread_pin(cpu);
    for (uint32_t i = 1; peer > 0 && i <= n_warm + n; i++) {
        uint64_t began = now_ns();

        word_set(&table->ball, i, is_futex);
        word_wait(&table->answer, i, is_futex);
        if (i > n_warm)
            ret_ns[i - n_warm - 1] = now_ns() - began;
    }
    if (peer > 0)
        while (waitpid(peer, NULL, 0) < 0 && errno == EINTR)
            ;
    munmap(table, sizeof(*table));
    return peer > 0 ? 0 : -1;
}
