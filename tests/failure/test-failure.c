/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation, system call or call into a library fails, in every scenario: the application
 * gets a code that says so, or the right result; nothing crashes, hangs or leaks, and what comes next
 * works. What uses no cache makes no call into libcrypto and SQLite.
 *
 * NN_TEST_ALL: every scenario and every n; else a part of both, by NN_TEST_SEED. NN_TEST_ONLY: the
 * scenario of that name; NN_TEST_N: that n alone. Each n has a process of its own, without threads at
 * first. */
#include "failure/fail-libc.h"
#include "failure/fail-library.h"
#include "failure/scenario.h"

#include "base/sanitized.h"
#include "base/sys.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"
#include "support/fds.h"

#include <android/NeuralNetworks.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define HAS_LEAKS() (__lsan_do_recoverable_leak_check() != 0)
#else
#define HAS_LEAKS() false
#endif

#define LIMIT_NS (NN_IS_SANITIZED ? UINT64_C(20000000000) : UINT64_C(2000000000))

enum {
    /* Of the n of one scenario and kind, unless all; a sanitizer takes ten times as long for each. */
    SAMPLE = NN_IS_SANITIZED ? 9 : 25,
    LIMIT_S = 30,  /* of one process; under sanitizers, on a busy machine */
    WAIT_MS = 5000 /* until threads have ended and descriptors are closed */
};

static const struct fault_kind {
    const char *name;
    int error; /* of a system call; 0: it is none */
    int sqlite_code;
    void (*arm)(long n); /* of the others */
    long (*disarm)(void);
} kinds[] = {
    {"allocation", 0, 0, fail_alloc_arm, fail_alloc_disarm},
    {"system call with ENOMEM", ENOMEM, 0, NULL, NULL},
    {"system call with EMFILE", EMFILE, 0, NULL, NULL},
    {"system call with EIO", EIO, 0, NULL, NULL},
    {"call of the C library", 0, 0, fail_libc_arm, fail_libc_disarm},
    {"library call with an error of the disk", 0, SQLITE_IOERR, NULL, NULL},
    {"library call without memory", 0, SQLITE_NOMEM, NULL, NULL},
};

/* What a process tells of its n. */
struct verdict {
    long n_missing; /* calls to the fault; 0: it happened */
    uint64_t duration_ns;
    int code, code_after;
    size_t n_fds, n_fds_after;
    long n_library_calls;
    const char *failed; /* which call; the processes have the same program */
    bool has_begun, has_leaks, has_ended;
};

static struct verdict *verdict;

/* -- one n, in a process of its own ---------------------------------------------------------------- */

static void fault_arm(const struct fault_kind *kind, long n)
{
    if (kind->error) {
        nn_sys_fault_errno = kind->error;
        __atomic_store_n(&nn_sys_fault, n, __ATOMIC_SEQ_CST);
    } else if (kind->sqlite_code) {
        fail_library_arm(n, kind->sqlite_code);
    } else {
        kind->arm(n);
    }
}

static long fault_disarm(const struct fault_kind *kind)
{
    long left;

    if (!kind->error)
        return kind->sqlite_code ? fail_library_disarm() : kind->disarm();
    left = __atomic_exchange_n(&nn_sys_fault, 0, __ATOMIC_SEQ_CST);
    return left > 0 ? left : 0;
}

/* What a call left to threads may take a moment. */
static size_t settle_fds(size_t wanted)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    size_t n = count_fds();

    for (int i = 0; n > wanted && i < WAIT_MS; i++) {
        nanosleep(&pause, NULL);
        n = count_fds();
    }
    return n;
}

static void suffer(const struct scenario *scenario, enum scenario_place place,
                   const struct fault_kind *kind, long n)
{
    int (*beside)(void) = scenario->beside ? scenario->beside : scenario->run;
    uint64_t begin_ns;

    alarm(LIMIT_S);
    scenario_begin(place);
    /* What is made once is made now. */
    verdict->code_after = beside();
    if (verdict->code_after == 0)
        verdict->code_after = beside();
    verdict->has_begun = verdict->code_after == 0;
    verdict->n_fds = count_fds();
    begin_ns = nn_sys_now_ns();
    fault_arm(kind, n);
    verdict->code = scenario->run();
    verdict->duration_ns = nn_sys_now_ns() - begin_ns;
    verdict->n_missing = fault_disarm(kind);
    verdict->failed = scenario_failed;
    verdict->code_after = beside();
    verdict->n_library_calls = fail_library_count();
    verdict->n_fds_after = settle_fds(verdict->n_fds);
    verdict->has_leaks = HAS_LEAKS();
    scenario_end();
    verdict->has_ended = true;
}

/* -- what is right ----------------------------------------------------------------------------------- */

static bool is_honest(int code, enum scenario_place place)
{
    switch (code) {
    case ANEURALNETWORKS_NO_ERROR: /* it could do without */
    case ANEURALNETWORKS_OUT_OF_MEMORY:
    case ANEURALNETWORKS_OP_FAILED:
    case ANEURALNETWORKS_UNMAPPABLE:
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT:
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT:
        return true;
    case ANEURALNETWORKS_DEAD_OBJECT:
    case ANEURALNETWORKS_UNAVAILABLE_DEVICE:
        return place == SCENARIO_SERVICE;
    default:
        return false;
    }
}

static const char *place_name(enum scenario_place place)
{
    return place == SCENARIO_EMBEDDED  ? "embedded"
           : place == SCENARIO_SERVICE ? "in a service"
                                       : "without a device";
}

/* Returns: how many calls were missing to the fault. */
static long try_fault(const struct scenario *scenario, enum scenario_place place,
                      const struct fault_kind *kind, long n)
{
    char where[160];
    int status;
    pid_t pid;

    snprintf(where, sizeof(where), "\"%s\" %s, %s %ld", scenario->name, place_name(place),
             kind->name, n);
    *verdict = (struct verdict){0};
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        suffer(scenario, place, kind, n);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(!WIFSIGNALED(status), "%s: ended by signal %d (14: it hung), begun %d", where,
                  WTERMSIG(status), verdict->has_begun);
    ck_assert_msg(status == 0 && verdict->has_begun && verdict->has_ended,
                  "%s: exit status %d, begun %d: %d", where, WEXITSTATUS(status),
                  verdict->has_begun, verdict->code_after);
    ck_assert_msg(is_honest(verdict->code, place), "%s: code %d of %s", where, verdict->code,
                  verdict->failed);
    ck_assert_msg(verdict->n_missing == 0 || verdict->code == 0,
                  "%s: code %d of %s without a fault", where, verdict->code, verdict->failed);
    ck_assert_msg(verdict->duration_ns < LIMIT_NS, "%s: it took %llu ms", where,
                  (unsigned long long)verdict->duration_ns / 1000000);
    ck_assert_msg(verdict->code_after == 0, "%s: afterwards code %d", where, verdict->code_after);
    ck_assert_msg(verdict->n_fds_after <= verdict->n_fds, "%s: %zu descriptors, before %zu", where,
                  verdict->n_fds_after, verdict->n_fds);
    ck_assert_msg(!verdict->has_leaks, "%s: leaks", where);
    ck_assert_msg(verdict->n_library_calls == 0 ||
                      (scenario->traits & (SCENARIO_HASHES | SCENARIO_CALLS)),
                  "%s: %ld calls into libraries without a cache", where, verdict->n_library_calls);
    return verdict->n_missing;
}

/* -- many n ---------------------------------------------------------------------------------------- */

static uint32_t draw(uint32_t n)
{
    static uint64_t state;

    if (state == 0)
        state = getenv("NN_TEST_SEED") ? strtoull(getenv("NN_TEST_SEED"), NULL, 10) : 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Returns: how many n there are. */
static long try_kind(const struct scenario *scenario, enum scenario_place place,
                     const struct fault_kind *kind)
{
    const char *only = getenv("NN_TEST_N");
    bool is_all = getenv("NN_TEST_ALL") != NULL;
    long n_calls = LONG_MAX - try_fault(scenario, place, kind, LONG_MAX), step;

    if (only) {
        try_fault(scenario, place, kind, strtol(only, NULL, 10));
        return n_calls;
    }
    step = is_all ? 1 : n_calls / SAMPLE + 1;
    for (long n = 1 + (long)draw((uint32_t)step); n <= n_calls; n += step)
        try_fault(scenario, place, kind, n);
    return n_calls;
}

static void try_place(const struct scenario *scenario, enum scenario_place place)
{
    printf("\"%s\" %s:", scenario->name, place_name(place));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!kinds[i].sqlite_code || (scenario->traits & SCENARIO_CALLS))
            printf(" %ld", try_kind(scenario, place, &kinds[i]));
    printf("\n");
    fflush(stdout);
}

static bool is_chosen(const struct scenario *scenario)
{
    const char *only = getenv("NN_TEST_ONLY");

    if (only)
        return strcmp(only, scenario->name) == 0;
    return (scenario->traits & SCENARIO_SHORT) || getenv("NN_TEST_ALL");
}

/* Of the traits. */
static size_t count_scenarios(unsigned with, unsigned without)
{
    size_t n = 0;

    for (size_t i = 0; i < n_scenarios; i++)
        n += (scenarios[i].traits & with) == with && !(scenarios[i].traits & without);
    return n;
}

TEST(there_are_as_many_scenarios_as_promised)
{
    ck_assert_uint_eq(count_scenarios(0, 0), 44);
    ck_assert_uint_eq(count_scenarios(SCENARIO_SHORT, 0), 13);
    ck_assert_uint_eq(count_scenarios(0, SCENARIO_HASHES | SCENARIO_CALLS), 35);
}
TEST_END

static void try_all(enum scenario_place place)
{
    verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0);
    ck_assert_ptr_ne(verdict, MAP_FAILED);
    for (size_t i = 0; i < n_scenarios; i++)
        if (is_chosen(&scenarios[i]) && (scenarios[i].places & place))
            try_place(&scenarios[i], place);
}

TEST(what_is_linked_in_survives_every_failure)
{
    try_all(SCENARIO_EMBEDDED);
}
TEST_END

TEST(a_service_and_its_client_survive_every_failure)
{
    try_all(SCENARIO_SERVICE);
}
TEST_END

TEST(what_needs_no_device_survives_every_failure)
{
    try_all(SCENARIO_NOWHERE);
}
TEST_END

CHECK_MAIN("failure", there_are_as_many_scenarios_as_promised,
           what_is_linked_in_survives_every_failure, a_service_and_its_client_survive_every_failure,
           what_needs_no_device_survives_every_failure)
