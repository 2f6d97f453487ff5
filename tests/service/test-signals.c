/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of calls that block signals or set actions, behind the filter that traps them: what the
 * kernel does, but for SIGBUS and SIGSYS. */
#include "service/signals.h"
#include "service/sandboxed.h"

#include "base/sanitized.h"

#include "support/check-main.h"
#include "support/refuse-call.h"

#include <errno.h>
#include <pthread.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(number) (UINT64_C(1) << ((number)-1))
#define KEPT        (BIT(SIGBUS) | BIT(SIGSYS))
#define NEVER       (KEPT | BIT(SIGKILL) | BIT(SIGSTOP)) /* the latter two are the kernel's */
#define UPPER       (UINT64_C(1) << 32) /* in the half of a register that no int has */

/* Seen by handlers. */
static volatile sig_atomic_t n_handled;
static volatile uint64_t mask_of_handler;
static sigjmp_buf place;

static const struct nn_grants no_grants;
static const struct nn_sandbox_options options = {.grants = &no_grants};

static bool is_kept(void)
{
    return NN_SIGNALS_ARE_KEPT && report.has_seccomp;
}

static long set_mask(uint64_t how, const void *set, void *old)
{
    return syscall(SYS_rt_sigprocmask, how, set, old, 8);
}

static uint64_t current_mask(void)
{
    uint64_t mask = 0;

    set_mask(SIG_BLOCK, NULL, &mask);
    return mask;
}

static void on_signal(int number)
{
    n_handled++;
    mask_of_handler = current_mask();
}

/* -- masks --------------------------------------------------------------------------------------- */

static int masks_are_the_callers(void)
{
    const uint64_t all = UINT64_MAX, some = BIT(SIGUSR1) | KEPT, more = BIT(SIGUSR2);
    uint64_t old = 0, both = BIT(SIGTERM), start = current_mask();
    char odd[9];

    if (!is_kept())
        return 0;
    errno = 77;
    EXPECT(set_mask(SIG_SETMASK, &some, &old) == 0 && old == start);
    EXPECT(current_mask() == BIT(SIGUSR1));
    EXPECT(set_mask(SIG_BLOCK, &more, &old) == 0 && old == BIT(SIGUSR1));
    EXPECT(current_mask() == (BIT(SIGUSR1) | BIT(SIGUSR2)));
    EXPECT(set_mask(SIG_UNBLOCK, &some, &old) == 0 && old == (BIT(SIGUSR1) | BIT(SIGUSR2)));
    EXPECT(current_mask() == BIT(SIGUSR2));
    EXPECT(set_mask(SIG_SETMASK | UPPER, &both, &both) == 0 && both == BIT(SIGUSR2));
    EXPECT(current_mask() == BIT(SIGTERM));
    memcpy(odd + 1, &all, sizeof(all));
    EXPECT(set_mask(SIG_BLOCK | UPPER, odd + 1, NULL) == 0);
    EXPECT(current_mask() == ~NEVER);
    EXPECT(set_mask(SIG_SETMASK, &start, NULL) == 0 && current_mask() == start);
    EXPECT(errno == 77);
    return 0;
}

static int wrong_masks_are_errors(void)
{
    const uint64_t some = BIT(SIGUSR1), start = current_mask();
    void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!is_kept())
        return 0;
    EXPECT(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &some, NULL, 4) == -1 && errno == EINVAL);
    EXPECT(set_mask(99, &some, NULL) == -1 && errno == EINVAL);
    EXPECT(set_mask(SIG_BLOCK, nowhere, NULL) == -1 && errno == EFAULT);
    EXPECT(set_mask(SIG_SETMASK, (char *)nowhere - 1, NULL) == -1 && errno == EFAULT);
    EXPECT(set_mask(SIG_BLOCK, &some, nowhere) == -1 && errno == EFAULT);
    EXPECT(current_mask() == start);
    return 0;
}

static int opened_signals_arrive(void)
{
    const uint64_t some = BIT(SIGUSR1), none = 0;

    signal(SIGUSR1, on_signal);
    EXPECT(set_mask(SIG_BLOCK, &some, NULL) == 0);
    EXPECT(raise(SIGUSR1) == 0 && n_handled == 0);
    EXPECT(set_mask(SIG_SETMASK, &none, NULL) == 0);
    EXPECT(n_handled == 1 || NN_IS_SANITIZED); /* which delay them */
    return 0;
}

TEST(a_mask_is_set_as_the_kernel_sets_it)
{
    in_sandbox(&options, masks_are_the_callers);
    in_sandbox(&options, wrong_masks_are_errors);
    in_sandbox(&options, opened_signals_arrive);
}
TEST_END

static void set_masks_without_help(void)
{
    in_sandbox(&options, masks_are_the_callers);
}

TEST(masks_are_read_where_the_kernel_does_not_help)
{
    refuse_in_child((struct refusal){SYS_process_vm_readv, EPERM}, set_masks_without_help);
    refuse_in_child((struct refusal){SYS_process_vm_readv, ENOSYS}, set_masks_without_help);
}
TEST_END

static void *report_mask(void *ret_mask)
{
    *(uint64_t *)ret_mask = current_mask();
    return NULL;
}

static int threads_begin_open(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    uint64_t mask = 0;
    sigset_t all;

    if (!is_kept())
        return 0;
    sigfillset(&all);
    pthread_attr_init(&attr);
    EXPECT(pthread_attr_setsigmask_np(&attr, &all) == 0);
    EXPECT(pthread_create(&thread, &attr, report_mask, &mask) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT((mask & KEPT) == 0 && (mask & BIT(SIGTERM)) != 0);
    EXPECT(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    EXPECT(pthread_create(&thread, NULL, report_mask, &mask) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT((mask & KEPT) == 0 && (mask & BIT(SIGTERM)) != 0);
    return 0;
}

TEST(a_thread_begins_with_the_mask_that_it_was_given)
{
    in_sandbox(&options, threads_begin_open);
}
TEST_END

/* -- actions ------------------------------------------------------------------------------------- */

static void jump(int number)
{
    siglongjmp(place, 1);
}

static int actions_are_the_callers(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND}, old;

    sigfillset(&action.sa_mask);
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    EXPECT(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == on_signal);
    EXPECT(raise(SIGUSR1) == 0 && n_handled == 1);
    EXPECT(!is_kept() || (mask_of_handler & (KEPT | BIT(SIGTERM))) == BIT(SIGTERM));
    EXPECT(sigaction(SIGUSR1, &action, &old) == 0 && old.sa_handler == SIG_DFL);
    EXPECT(signal(SIGUSR1, SIG_IGN) == on_signal && raise(SIGUSR1) == 0 && n_handled == 1);
    EXPECT(syscall(SYS_rt_sigaction, SIGKILL, &action, NULL, 8) == -1 && errno == EINVAL);
    EXPECT(syscall(SYS_rt_sigaction, 65, &action, NULL, 8) == -1 && errno == EINVAL);
    EXPECT(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 4) == -1 && errno == EINVAL);
    EXPECT(syscall(SYS_rt_sigaction, SIGUSR1, (void *)8, NULL, 8) == -1 && errno == EFAULT);
    return 0;
}

static void set_jump(void)
{
    struct sigaction action = {.sa_handler = jump};

    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

/* In a handler that lets no signal in, what sets masks is trapped as well. */
static int jump_out(void)
{
    const uint64_t start = current_mask();

    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(place, 1) == 0)
            raise(SIGUSR1);
    EXPECT(current_mask() == start);
    return 0;
}

static int handlers_may_jump(void)
{
    set_jump();
    return jump_out();
}

static int kept_actions_stay(void)
{
    static const int numbers[] = {SIGBUS, SIGSYS};
    struct sigaction action = {.sa_handler = on_signal}, before, after;
    uint64_t old[4] = {0};

    if (!is_kept())
        return 0;
    for (int i = 0; i < 2; i++) {
        EXPECT(sigaction(numbers[i], NULL, &before) == 0);
        EXPECT(sigaction(numbers[i], &action, &after) == 0);
        EXPECT(after.sa_sigaction == before.sa_sigaction);
        EXPECT(signal(numbers[i], SIG_IGN) != SIG_ERR && signal(numbers[i], SIG_DFL) != SIG_ERR);
        EXPECT(syscall(SYS_rt_sigaction, numbers[i] | UPPER, old, old, 8) == 0 && old[0] != 0);
        EXPECT(sigaction(numbers[i], NULL, &after) == 0);
        EXPECT(after.sa_sigaction == before.sa_sigaction);
    }
    return 0;
}

TEST(an_action_is_set_as_the_kernel_sets_it)
{
    in_sandbox(&options, actions_are_the_callers);
    in_sandbox(&options, handlers_may_jump);
}
TEST_END

TEST(the_actions_of_the_host_stay)
{
    in_sandbox(&options, kept_actions_stay);
}
TEST_END

/* -- what was there before ---------------------------------------------------------------------- */

static int nothing_is_inherited(void)
{
    if (!is_kept())
        return 0;
    EXPECT((current_mask() & KEPT) == 0);
    EXPECT((current_mask() & BIT(SIGTERM)) != 0);
    return jump_out();
}

TEST(what_was_blocked_and_ignored_before_is_not)
{
    sigset_t all;

    set_jump();
    signal(SIGBUS, SIG_IGN);
    signal(SIGSYS, SIG_IGN);
    sigfillset(&all);
    sigdelset(&all, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    in_sandbox(&options, nothing_is_inherited);
}
TEST_END

/* -- many at once ---------------------------------------------------------------------------------- */

enum { N_ROUNDS = 2000 };

static void *set_masks(void *argument)
{
    uint64_t *n_wrong = argument, inner = BIT(SIGUSR2) | BIT(SIGTERM), old;

    for (int i = 0; i < N_ROUNDS; i++) {
        set_mask(SIG_SETMASK, &inner, &old);
        *n_wrong += current_mask() != inner;
        set_mask(SIG_SETMASK, &old, NULL);
        *n_wrong += current_mask() != old;
    }
    return NULL;
}

/* Its thread goes on with the mask that it interrupted. */
static void set_masks_meanwhile(int number)
{
    const uint64_t some = BIT(SIGHUP);

    set_mask(SIG_BLOCK, &some, NULL);
    n_handled++;
}

static int interrupted_calls_are_done(void)
{
    struct sigaction action = {.sa_handler = set_masks_meanwhile};
    uint64_t n_wrong[2] = {0};
    pthread_t threads[2];

    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&threads[i], NULL, set_masks, &n_wrong[i]) == 0);
    for (int i = 0; i < N_ROUNDS; i++)
        EXPECT(pthread_kill(threads[i % 2], SIGUSR1) == 0);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(n_wrong[0] == 0 && n_wrong[1] == 0);
    return 0;
}

TEST(calls_that_signals_interrupt_are_done)
{
    in_sandbox(&options, interrupted_calls_are_done);
}
TEST_END

/* -- signals of other causes ----------------------------------------------------------------------- */

static int fault_outside_of_files_of_clients(void)
{
    int fd = memfd_create("test-signals", MFD_CLOEXEC);
    volatile char *page;

    if (fd < 0 || ftruncate(fd, 4096) < 0)
        return 1;
    page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    signal(SIGBUS, SIG_IGN);
    if (page == MAP_FAILED || ftruncate(fd, 0) < 0)
        return 1;
    return *page;
}

static int send_sigbus(void)
{
    raise(SIGBUS);
    return 1;
}

static int die(void)
{
    abort();
}

/* Of a process of its own behind the filter. */
static int end_of(int (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(nn_sandbox_close(&options, &report) == 0 ? body() : 255);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(other_faults_end_the_process_as_ever)
{
    if (NN_IS_SANITIZED)
        return; /* they print, and exit */
    ck_assert_int_eq(WTERMSIG(end_of(fault_outside_of_files_of_clients)), SIGBUS);
    ck_assert_int_eq(WTERMSIG(end_of(send_sigbus)), SIGBUS);
    ck_assert_int_eq(WTERMSIG(end_of(die)), SIGABRT);
}
TEST_END

/* By a filter of its own, with which a driver may do that until it is open. */
static int calls_that_others_trap_fail(void)
{
    scmp_filter_ctx filter;

    if (!is_kept())
        return 0;
    EXPECT(raise(SIGSYS) == 0);
    filter = seccomp_init(SCMP_ACT_ALLOW);
    EXPECT(filter && seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) == 0);
    EXPECT(seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(getppid), 0) == 0);
    EXPECT(seccomp_load(filter) == 0);
    seccomp_release(filter);
    EXPECT(syscall(SYS_getppid) == -1 && errno == ENOSYS);
    return masks_are_the_callers();
}

TEST(a_trap_of_another_filter_and_a_sent_signal_end_nothing)
{
    in_sandbox(&options, calls_that_others_trap_fail);
}
TEST_END

CHECK_MAIN("signals", a_mask_is_set_as_the_kernel_sets_it,
           masks_are_read_where_the_kernel_does_not_help,
           a_thread_begins_with_the_mask_that_it_was_given, an_action_is_set_as_the_kernel_sets_it,
           the_actions_of_the_host_stay, what_was_blocked_and_ignored_before_is_not,
           calls_that_signals_interrupt_are_done, other_faults_end_the_process_as_ever,
           a_trap_of_another_filter_and_a_sent_signal_end_nothing)
