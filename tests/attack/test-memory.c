/* SPDX-License-Identifier: Apache-2.0 */
/* A service in a control group of 512 MiB, and users that want it all: it answers them with
 * RESOURCE_EXHAUSTED, goes on serving another user, and has its memory back afterwards.
 * NNHAL_HOST names the program: another build shows what it does instead. */
#include "attack/cage.h"
#include "attack/memory-hog.h"
#include "attack/probe.h"
#include "attack/victim.h"
#include "hal/dial.h"
#include "support/check-main.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
    SLACK_KIB = 24 << 10, /* what malloc keeps of what was freed */
    MAX_PROCESSES = 16,
    MAX_WORKERS = 256,
    FIRST_HOG = 2, /* the first user that is not the probe */
};

/* Says whether it was refused, then holds what it has until it is killed. */
static void hog_main(const struct memory_hog *hog, const char *path, int fd)
{
    struct desk desk;
    char answer;

    memset(&desk, 0, sizeof(desk));
    nn_arena_init(&desk.arena, 0);
    ck_assert_int_eq(nn_dial_socket(path, NULL, &desk.hal), 0);
    answer = hog->run(&desk) ? 'r' : 'n';
    ck_assert_int_eq((int)write(fd, &answer, 1), 1);
    pause();
}

struct memory_hog_process {
    pid_t pid;
    int fd; /* for its answer; its end, if it ends without one */
};

static struct memory_hog_process hog_start(const struct memory_hog *hog, unsigned user,
                                           const char *path)
{
    int answer[2];
    pid_t pid;

    ck_assert_int_eq(pipe(answer), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        probe_become_user(user);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hog_main(hog, path, answer[1]);
        _exit(0);
    }
    close(answer[1]);
    return (struct memory_hog_process){pid, answer[0]};
}

/* All of them at once, of one user or each of its own. */
static void feed(const struct victim *victim, const struct memory_hog *hog, uint32_t n,
                 bool is_one_user)
{
    struct victim_state before = victim_look(victim);
    struct memory_hog_process processes[MAX_PROCESSES];
    uint32_t n_refused = 0;

    before.n_threads += MAX_WORKERS; /* begin when they are needed */
    for (uint32_t i = 0; i < n; i++)
        processes[i] = hog_start(hog, FIRST_HOG + (is_one_user ? 0 : i), victim->path);
    for (uint32_t i = 0; i < n; i++) {
        char answer = 0;

        ck_assert_msg(read(processes[i].fd, &answer, 1) == 1, "%s: a client ended", hog->name);
        n_refused += answer == 'r';
        victim_expect_alive(victim);
    }
    for (uint32_t i = 0; i < n; i++) {
        kill(processes[i].pid, SIGKILL);
        ck_assert_int_eq(waitpid(processes[i].pid, NULL, 0), processes[i].pid);
        close(processes[i].fd);
    }
    ck_assert_msg(!hog->must_be_refused || n_refused > 0, "%s was given all", hog->name);
    victim_expect_back(victim, &before, SLACK_KIB);
}

/* AddressSanitizer keeps what was freed, 256 MiB of it: half of the cage. */
static void limit_quarantine(void)
{
#ifdef __SANITIZE_ADDRESS__
    const char *options = getenv("ASAN_OPTIONS");
    char text[1024];

    snprintf(text, sizeof(text), "%s:quarantine_size_mb=16:thread_local_quarantine_size_kb=64",
             options ? options : "");
    setenv("ASAN_OPTIONS", text, 1);
#endif
}

/* False: there can be no cage here. */
static bool begin(struct cage *cage, struct victim *victim)
{
    char why[256];

    if (!cage_enter(cage, (uint64_t)MEMORY_HOG_LIMIT_MIB << 20, why)) {
        printf("SKIPPED: %s\n", why);
        fflush(stdout);
        return false;
    }
    limit_quarantine();
    victim_start(victim, "cpu");
    cage_leave(cage);
    return true;
}

TEST(a_service_outlives_each_hog)
{
    struct victim victim;
    struct probe probe;
    struct cage cage;

    if (!begin(&cage, &victim))
        return;
    probe_start(&probe, victim.path);
    for (const struct memory_hog *hog = memory_hogs; hog->name; hog++)
        feed(&victim, hog, hog->n_processes, true);
    probe_stop(&probe, "memory hogs");
    victim_stop(&victim);
    cage_done(&cage);
}
TEST_END

/* Of which each may have a quarter, so that there are more than the service can bear. */
TEST(a_service_outlives_many_users)
{
    struct victim victim;
    struct probe probe;
    struct cage cage;

#ifdef __SANITIZE_ADDRESS__
    /* Executions of six users, which are small, take three times what they are charged. */
    printf("SKIPPED: AddressSanitizer puts more around small objects than a service may take\n");
    return;
#endif
    if (!begin(&cage, &victim))
        return;
    probe_start(&probe, victim.path);
    for (const struct memory_hog *hog = memory_hogs; hog->name; hog++)
        feed(&victim, hog, 6, false);
    probe_stop(&probe, "memory hogs of six users");
    victim_stop(&victim);
    cage_done(&cage);
}
TEST_END

CHECK_MAIN("memory", a_service_outlives_each_hog, a_service_outlives_many_users)
