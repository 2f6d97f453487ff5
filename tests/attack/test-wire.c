/* SPDX-License-Identifier: Apache-2.0 */
/* Raw connections to a service, with messages by the grammar: it goes on, another user notices
 * little, and nothing is left of them. NN_TEST_ROUNDS: connections (2,500 and the
 * first 1,000 are 3,500; 51,000 in the suite slow); NN_TEST_SEED: the first. */
#include "attack/probe.h"
#include "attack/raider.h"
#include "attack/victim.h"

#include "support/check-main.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROUNDS = 2500,
    WARM_ROUNDS = 1000, /* until all threads are started */
    RAIDERS = 3,
    SLACK_KIB = 8192, /* that a heap keeps */
};

static struct victim victim;

/* Connections first .. first + n - 1 of all raiders together, each raider a process. */
static void raid(uint32_t first, uint32_t n)
{
    struct raider_count *counts = mmap(NULL, sizeof(*counts) * RAIDERS, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct raider_count sum = {0};
    pid_t pids[RAIDERS];
    int status;

    for (uint32_t i = 0; i < RAIDERS; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        probe_become_user(2);
        for (uint32_t j = i; j < n; j += RAIDERS)
            raider_connect_once(victim.path, first + j, &counts[i]);
        _exit(0);
    }
    for (uint32_t i = 0; i < RAIDERS; i++) {
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
        sum.n_calls += counts[i].n_calls;
        sum.n_spoilt += counts[i].n_spoilt;
        sum.n_replies += counts[i].n_replies;
        sum.n_done += counts[i].n_done;
        sum.n_ended += counts[i].n_ended;
    }
    printf(
        "%u connections from %u: %llu calls, %llu spoilt, %llu answered, %llu done, %llu ended\n",
        n, first, (unsigned long long)sum.n_calls, (unsigned long long)sum.n_spoilt,
        (unsigned long long)sum.n_replies, (unsigned long long)sum.n_done,
        (unsigned long long)sum.n_ended);
    munmap(counts, sizeof(*counts) * RAIDERS);
    /* The attack reaches the host and not only the decoder. */
    ck_assert_uint_gt(sum.n_done, sum.n_calls / 20);
    ck_assert_uint_gt(sum.n_ended, n / 20);
}

static void attack_driver(const char *name)
{
    uint32_t n = victim_number("NN_TEST_ROUNDS", ROUNDS), seed = victim_number("NN_TEST_SEED", 1);
    struct victim_state before;
    struct probe probe;

    victim_start(&victim, name);
    raid(seed, WARM_ROUNDS);
    probe_start(&probe, victim.path);
    probe_stop(&probe, "quiet");
    before = victim_look(&victim);
    probe_start(&probe, victim.path);
    raid(seed + WARM_ROUNDS, n);
    probe_stop(&probe, "raided");
    victim_expect_back(&victim, &before, SLACK_KIB);
    victim_stop(&victim);
}

TEST(a_service_of_the_sample_driver_outlives_any_messages)
{
    attack_driver("sample");
}
TEST_END

TEST(a_service_of_the_cpu_driver_outlives_any_messages)
{
    attack_driver("cpu");
}
TEST_END

CHECK_MAIN("wire", a_service_of_the_sample_driver_outlives_any_messages,
           a_service_of_the_cpu_driver_outlives_any_messages)
