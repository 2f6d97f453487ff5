/* SPDX-License-Identifier: Apache-2.0 */
/* When a wait spins: seen in whether it was counted. */
#include "shm/spin.h"

#include "base/cpus.h"
#include "base/sys.h"
#include "shm/ring.h"
#include "support/check-main.h"

#include <nnhal/fmq.h>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)

static struct nn_ring *ring;
static struct nn_spin spin;

static void begin(const char *environment, uint64_t wish_ns, uint32_t n_threads)
{
    const uint32_t word = 7;

    if (environment)
        setenv("NNHAL_BURST_SPIN_US", environment, 1);
    else
        unsetenv("NNHAL_BURST_SPIN_US");
    ck_assert_int_eq(nn_ring_new(8, sizeof(word), NNHAL_FMQ_SYNCHRONIZED, NULL, &ring), 0);
    nn_spin_init(&spin, wish_ns, n_threads);
}

static void end(void)
{
    nn_ring_free(ring);
}

/* Waits for nothing, for 2 ms. Returns: whether it spun before it slept. How long it spun is not
 * asked: that is the machine's affair. */
static bool spins_in_vain(void)
{
    uint32_t n_before = spin.n_spun;

    ck_assert_int_eq(nn_spin_wait_to_read(&spin, ring, 1, nn_sys_now_ns() + 2 * NS_PER_MS),
                     NNHAL_FMQ_E_TIMED_OUT);
    return spin.n_spun != n_before;
}

TEST(what_is_there_needs_no_wait_and_forgives)
{
    const uint32_t word = 7;
    uint32_t read;

    begin(NULL, NN_SPIN_UNLIMITED, 1);
    spin.n_vain = 2;
    ck_assert_int_eq(nn_ring_write(ring, &word, 1), 0);
    ck_assert_int_eq(nn_spin_wait_to_read(&spin, ring, 1, 0), 0);
    ck_assert_uint_eq(spin.n_vain, nn_cpus_allowed() > 1 ? 0 : 2);
    ck_assert_int_eq(nn_ring_read(ring, &read, 1), 0);
    ck_assert_uint_eq(read, 7);
    end();
}
TEST_END

TEST(spins_in_vain_become_rare)
{
    const uint32_t pauses[] = {0, 0, 0, 16, 32, 64, 128, 256, 512, 1024, 1024};

    begin(NULL, NN_SPIN_UNLIMITED, 1);
    ck_assert_uint_eq(spin.bound_ns, NN_SPIN_BOUND_NS);
    spin.bound_ns = 1000;
    for (size_t i = 0; i < NN_N_ELEMENTS(pauses) && nn_cpus_allowed() > 1; i++) {
        for (uint32_t k = 1; k < pauses[i]; k++)
            ck_assert_int_eq(nn_spin_wait_to_read(&spin, ring, 1, 0), NNHAL_FMQ_E_TIMED_OUT);
        ck_assert_uint_eq(spin.n_spun, i);
        ck_assert(spins_in_vain());
    }
    end();
}
TEST_END

/* Both sides on one CPU: the answer comes as soon as the reader sleeps, and never before. */
TEST(a_short_sleep_is_no_reason_to_spin)
{
    const uint32_t word = 7;
    uint32_t read, n_spun;

    begin(NULL, NN_SPIN_UNLIMITED, 1);
    for (uint32_t i = 0; i < NN_SPIN_PATIENCE; i++)
        spins_in_vain();
    n_spun = spin.n_spun;
    for (uint32_t i = 1; i < NN_SPIN_PAUSE; i++) {
        ck_assert_int_eq(nn_ring_write(ring, &word, 1), 0);
        ck_assert_int_eq(nn_spin_wait_to_read(&spin, ring, 1, UINT64_MAX), 0);
        ck_assert_int_eq(nn_ring_read(ring, &read, 1), 0);
    }
    ck_assert_uint_eq(spin.n_spun, n_spun);
    end();
}
TEST_END

static struct {
    cpu_set_t set;
    int cpu; /* right after it */
} choices[2];

static uint32_t n_choices;

/* In front of libc's. Where a thread runs later is the scheduler's affair: it takes it back each
 * time where other programs want the CPU that it went to. */
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    long result = syscall(SYS_sched_setaffinity, pid, size, set);

    if (n_choices < 2) {
        choices[n_choices].set = *set;
        choices[n_choices].cpu = sched_getcpu();
    }
    n_choices++;
    return (int)result;
}

TEST(a_thread_that_may_leaves_its_cpu_and_keeps_its_choice)
{
    cpu_set_t before, others;
    int cpu = -1;

    begin(NULL, NN_SPIN_UNLIMITED, 1);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    spin.may_move = true;
    spin.n_vain = NN_SPIN_PATIENCE;
    /* It may be moved between the question and the wait, but not each time. */
    for (int i = 0; i < 20 && (i == 0 || CPU_ISSET(cpu, &choices[0].set)); i++) {
        spin.n_pause = n_choices = 0;
        cpu = sched_getcpu();
        ck_assert_int_eq(spins_in_vain(), nn_cpus_allowed() > 1);
        ck_assert_uint_eq(n_choices, nn_cpus_allowed() > 1 ? 2 : 0);
        if (n_choices == 0)
            break;
        ck_assert(CPU_ISSET(choices[0].cpu, &choices[0].set));
        ck_assert(CPU_EQUAL(&choices[1].set, &before));
    }
    if (n_choices > 0) {
        others = before;
        CPU_CLR(cpu, &others);
        ck_assert(CPU_EQUAL(&choices[0].set, &others));
    }
    end();
}
TEST_END

TEST(a_wish_bounds_and_0_is_never)
{
    begin(NULL, 1000, 0);
    ck_assert_uint_eq(spin.bound_ns, 1000);
    ck_assert_uint_eq(spin.n_threads, 1);
    end();
    begin(NULL, 0, 1);
    ck_assert_uint_eq(spin.bound_ns, 0);
    ck_assert(!spins_in_vain());
    ck_assert_uint_eq(spin.n_vain, 0);
    end();
}
TEST_END

TEST(the_environment_forces_it)
{
    begin("1500", NN_SPIN_UNLIMITED, 1000);
    ck_assert_uint_eq(spin.bound_ns, 1500000);
    for (int i = 0; i < NN_SPIN_PATIENCE + 2; i++)
        ck_assert(spins_in_vain());
    end();
}
TEST_END

TEST(the_environment_does_not_force_low_power)
{
    begin("1500", 0, 1);
    ck_assert_uint_eq(spin.bound_ns, 0);
    end();
}
TEST_END

TEST(the_environment_turns_it_off)
{
    begin("0", NN_SPIN_UNLIMITED, 1);
    ck_assert_uint_eq(spin.bound_ns, 0);
    end();
}
TEST_END

TEST(nonsense_in_the_environment_is_ignored)
{
    begin("fast", NN_SPIN_UNLIMITED, 1);
    ck_assert_uint_eq(spin.bound_ns, NN_SPIN_BOUND_NS);
    end();
}
TEST_END

TEST(an_execution_that_takes_every_cpu_leaves_none)
{
    begin(NULL, 1000000000, nn_cpus_allowed());
    ck_assert(!spins_in_vain());
    end();
}
TEST_END

/* Spins until something comes in the ring. */
static void *spin_long(void *ctx)
{
    struct nn_spin long_spin = {.bound_ns = 60 * UINT64_C(1000000000), .n_threads = 1};

    nn_spin_wait_to_read(&long_spin, ctx, 1, nn_sys_now_ns() + 60000 * NS_PER_MS);
    return NULL;
}

static void leave_two_cpus(void)
{
    cpu_set_t all, two;

    CPU_ZERO(&two);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&two) < 2; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &two);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(two), &two), 0);
}

TEST(one_cpu_is_left_by_those_who_spin)
{
    const uint32_t word = 7;
    struct nn_ring *other;
    pthread_t thread;
    bool has_spun = true, is_alone;

    leave_two_cpus();
    is_alone = nn_cpus_allowed() < 2; /* then no thread may spin */
    begin(NULL, NN_SPIN_UNLIMITED, 1);
    ck_assert_int_eq(nn_ring_new(8, 4, NNHAL_FMQ_SYNCHRONIZED, NULL, &other), 0);
    if (!is_alone)
        ck_assert_int_eq(pthread_create(&thread, NULL, spin_long, other), 0);
    /* Once it has begun there is no place for one more. */
    for (int i = 0; i < 5000 && has_spun; i++) {
        spin.n_pause = 0;
        has_spun = spins_in_vain();
    }
    ck_assert(!has_spun);
    ck_assert_int_eq(nn_ring_write(other, &word, 1), 0);
    if (!is_alone)
        pthread_join(thread, NULL);
    nn_ring_free(other);
    end();
}
TEST_END

static void *close_soon(void *ctx)
{
    const struct timespec nap = {.tv_nsec = 3000000};

    nanosleep(&nap, NULL);
    nn_ring_close(ring);
    return NULL;
}

TEST(a_close_ends_spinning_and_sleeping)
{
    pthread_t thread;

    for (int is_forced = 0; is_forced < 2; is_forced++) {
        begin(NULL, NN_SPIN_UNLIMITED, 1);
        if (is_forced)
            spin = (struct nn_spin){.bound_ns = 1000000000, .n_threads = 1, .is_forced = true};
        ck_assert_int_eq(pthread_create(&thread, NULL, close_soon, NULL), 0);
        ck_assert_int_eq(nn_spin_wait_to_read(&spin, ring, 1, UINT64_MAX), NNHAL_FMQ_E_CLOSED);
        pthread_join(thread, NULL);
        end();
    }
}
TEST_END

CHECK_MAIN("spin", what_is_there_needs_no_wait_and_forgives, spins_in_vain_become_rare,
           a_short_sleep_is_no_reason_to_spin,
           a_thread_that_may_leaves_its_cpu_and_keeps_its_choice, a_wish_bounds_and_0_is_never,
           the_environment_forces_it, the_environment_does_not_force_low_power,
           the_environment_turns_it_off, nonsense_in_the_environment_is_ignored,
           an_execution_that_takes_every_cpu_leaves_none, one_cpu_is_left_by_those_who_spin,
           a_close_ends_spinning_and_sleeping)
