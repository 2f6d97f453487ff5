/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile service in the middle: a client does not crash, comes back from every call in time,
 * and takes no wrong result for a right one where a reply is malformed. What a service may do
 * that lies in form: answer with any code, and with any result. The service behind it has a
 * hostile client meanwhile, and another user who notices little.
 * NN_TEST_ROUNDS: clients of each test; NN_TEST_SEED: the first. */
#include "attack/middle.h"
#include "attack/probe.h"
#include "attack/user.h"
#include "attack/victim.h"

#include "support/check-main.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROUNDS = 60,
    WARM_ROUNDS = 8,
    AT_ONCE = 4,
    SLACK_KIB = 8192,
};

static struct victim victim;
static struct middle middle;
static struct user_count *count;
static const char *socket_folder; /* where users look */
static uint32_t paths;            /* that they take: user.h */

static pid_t start_user(uint64_t seed, bool may_be_wrong)
{
    const struct user_wish wish = {.device = "nnhal-sample",
                                   .seed = seed,
                                   .n_compilations = 1,
                                   .n_computations = 20,
                                   .may_be_wrong = may_be_wrong,
                                   .paths = paths};
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("NNHAL_MODE", "service", 1);
    setenv("NNHAL_SOCKET_PATH", socket_folder, 1);
    user_main(&wish, count);
    exit(0);
}

static void await_user(uint64_t *seed)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);

    ck_assert_int_gt(pid, 0);
    ck_assert_msg(status == 0, "a client ended with %#x; seeds up to %llu", (unsigned)status,
                  (unsigned long long)*seed);
}

/* Users with seeds from first on, some of them at once. */
static void run_users(uint64_t first, uint32_t n, bool may_be_wrong)
{
    uint64_t seed = first;

    for (uint32_t i = 0; i < n; i++, seed++) {
        if (i >= AT_ONCE)
            await_user(&seed);
        start_user(seed, may_be_wrong);
    }
    for (uint32_t i = 0; i < n && i < AT_ONCE; i++)
        await_user(&seed);
}

static void print_codes(const char *what, const uint64_t *codes)
{
    printf("  %s:", what);
    for (int i = 0; i < USER_CODES; i++)
        if (codes[i])
            printf(" %d: %llu", i, (unsigned long long)codes[i]);
    printf("\n");
}

static void begin(void)
{
    count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(count, MAP_FAILED);
    victim_start(&victim, "sample");
}

static void print_counts(const char *what, uint64_t n_changes)
{
    printf("%s: %llu changes, longest call %llu ms\n", what, (unsigned long long)n_changes,
           (unsigned long long)count->longest_ms);
    print_codes("compiled", count->compiled);
    print_codes("computed", count->computed);
    munmap(count, sizeof(*count));
}

static void attack_clients(const char *what, enum middle_mode mode, uint32_t one_in, uint32_t n)
{
    uint64_t seed = victim_number("NN_TEST_SEED", 1);
    bool may_be_wrong = mode == MIDDLE_LIES || mode == MIDDLE_QUEUES;
    struct victim_state before;
    struct probe probe;

    begin();
    middle_start(&middle, victim.path, "sample");
    socket_folder = middle.folder;
    middle_set(&middle, MIDDLE_HONEST, seed, 1);
    run_users(seed, WARM_ROUNDS, false);
    ck_assert_uint_eq(count->compiled[0], WARM_ROUNDS);
    middle_set(&middle, mode, seed, one_in);
    run_users(seed, n < WARM_ROUNDS ? n : WARM_ROUNDS, may_be_wrong);
    before = victim_look(&victim);
    probe_start(&probe, victim.path);
    run_users(seed + WARM_ROUNDS, n, may_be_wrong);
    probe_stop(&probe, what);
    print_counts(what, middle_count(&middle));
    ck_assert_uint_gt(middle_count(&middle), n / 4);
    middle_stop(&middle);
    victim_expect_back(&victim, &before, SLACK_KIB);
    victim_stop(&victim);
}

/* Stops the service again and again, and lets it go on. */
static pid_t start_stopper(void)
{
    pid_t pid = fork();
    unsigned seed = victim_number("NN_TEST_SEED", 1);

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        usleep(1000 + (unsigned)rand_r(&seed) % 60000);
        kill(victim.host, SIGSTOP);
        usleep(1000 + (unsigned)rand_r(&seed) % (rand_r(&seed) % 2 ? 20000 : 500000));
        kill(victim.host, SIGCONT);
    }
}

static uint32_t rounds(uint32_t divisor)
{
    return victim_number("NN_TEST_ROUNDS", ROUNDS) / divisor + 1;
}

TEST(malformed_replies_are_not_believed)
{
    attack_clients("malformed", MIDDLE_MALFORMED, 12, rounds(1));
}
TEST_END

TEST(well_formed_lies_do_no_harm)
{
    attack_clients("lies", MIDDLE_LIES, 6, rounds(1));
}
TEST_END

TEST(connections_that_end_at_any_reply)
{
    attack_clients("cuts", MIDDLE_CUTS, 12, rounds(1));
}
TEST_END

TEST(a_service_that_falls_silent_is_left)
{
    attack_clients("silent", MIDDLE_SILENT, 12, rounds(100));
}
TEST_END

TEST(a_service_that_is_stopped_again_and_again)
{
    uint64_t seed = victim_number("NN_TEST_SEED", 1);
    pid_t stopper;

    begin();
    socket_folder = victim.folder;
    stopper = start_stopper();
    /* await_user() takes any child that ends, and the stopper does not. */
    run_users(seed, rounds(4), false);
    kill(stopper, SIGKILL);
    ck_assert_int_eq(waitpid(stopper, NULL, 0), stopper);
    kill(victim.host, SIGCONT);
    print_counts("stops", 0);
    victim_stop(&victim);
}
TEST_END

TEST(queues_that_change_under_both_sides)
{
    paths = 1U << USER_BURST;
    attack_clients("queues", MIDDLE_QUEUES, 1, rounds(1));
}
TEST_END

CHECK_MAIN("middle", malformed_replies_are_not_believed, well_formed_lies_do_no_harm,
           connections_that_end_at_any_reply, a_service_that_falls_silent_is_left,
           a_service_that_is_stopped_again_and_again, queues_that_change_under_both_sides)
