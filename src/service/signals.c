/* SPDX-License-Identifier: Apache-2.0 */
#include "service/signals.h"

#include "base/error.h"
#include "base/sys.h"
#include "shm/guard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#if NN_SIGNALS_ARE_KEPT

#define BIT(number) (UINT64_C(1) << ((number)-1))
#define KEPT        (BIT(SIGBUS) | BIT(SIGSYS))

enum {
    FROM_FILTER = 1, /* the kernel's SYS_SECCOMP, which the C library does not name */
    MASK_BYTES = 8,  /* of a mask of the kernel's; a sigset_t is larger */
};

/* -- the interrupted call ----------------------------------------------------------------------- */

static uint64_t argument(const ucontext_t *context, unsigned i)
{
#ifdef __x86_64__
    static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};

    return (uint64_t)context->uc_mcontext.gregs[registers[i]];
#else
    return context->uc_mcontext.regs[i];
#endif
}

static void answer(ucontext_t *context, long r)
{
#ifdef __x86_64__
    context->uc_mcontext.gregs[REG_RAX] = r;
#else
    context->uc_mcontext.regs[0] = (unsigned long long)r;
#endif
}

/* From where a caller of the kernel says, so that a wrong pointer is its error and not a fault here. */
static int copy_in(void *to, uint64_t from, size_t n_bytes)
{
    const struct iovec near = {to, n_bytes}, far = {(void *)from, n_bytes};
    ssize_t n = process_vm_readv(getpid(), &near, 1, &far, 1, 0);

    if (n == (ssize_t)n_bytes)
        return 0;
    if (n >= 0 || errno == EFAULT)
        return -EFAULT;
    /* A kernel or container without that call: as the C library reads what it is given. */
    memcpy(to, far.iov_base, n_bytes);
    return 0;
}

static long call(long number, int what, const void *set, uint64_t old)
{
    return syscall(number, what, set, old, MASK_BYTES) < 0 ? -errno : 0;
}

/* -- the handler: no locks, no allocation; another may come meanwhile ------------------------------ */

/* Blocks or sets. The handler runs with its caller's mask, which is the old one, and returns to the
 * new one. */
static long change_mask(ucontext_t *context)
{
    int how = (int)argument(context, 0);
    uint64_t old = argument(context, 2), mask, now;
    long r = copy_in(&mask, argument(context, 1), sizeof(mask));

    if (r == 0 && old)
        r = call(SYS_rt_sigprocmask, how, NULL, old);
    if (r < 0)
        return r;
    memcpy(&now, &context->uc_sigmask, sizeof(now));
    if (how == SIG_BLOCK)
        mask |= now;
    mask &= ~KEPT;
    memcpy(&context->uc_sigmask, &mask, sizeof(mask));
    return 0;
}

static long change_action(const ucontext_t *context)
{
    int number = (int)argument(context, 0);
    uint64_t old = argument(context, 2);
    struct nn_sys_action action;
    int r = copy_in(&action, argument(context, 1), sizeof(action));

    if (r < 0)
        return r;
    if (number == SIGBUS || number == SIGSYS)
        return call(SYS_rt_sigaction, number, NULL, old);
    action.mask &= ~KEPT;
    return nn_sys_sigaction(number, &action, (struct nn_sys_action *)old);
}

static void on_sigsys(int number, siginfo_t *info, void *interrupted)
{
    ucontext_t *context = interrupted;
    int saved = errno;
    long r = -ENOSYS; /* a filter of the driver's traps other calls */

    if (info->si_code != FROM_FILTER)
        return; /* someone sent it */
    if (info->si_syscall == SYS_rt_sigprocmask || info->si_syscall == SYS_rt_sigaction) {
        if (argument(context, 3) != MASK_BYTES)
            r = -EINVAL;
        else if (info->si_syscall == SYS_rt_sigprocmask)
            r = change_mask(context);
        else
            r = change_action(context);
    }
    answer(context, r);
    errno = saved;
}

/* -- before the filter ------------------------------------------------------------------------------ */

static void clean_actions(void)
{
    struct nn_sys_action action;

    for (int i = 1; i < NSIG; i++)
        if (nn_sys_sigaction(i, NULL, &action) == 0 && action.mask & KEPT) {
            action.mask &= ~KEPT;
            nn_sys_sigaction(i, &action, NULL);
        }
}

int nn_signals_keep(void)
{
    /* Of the mask nothing is added, not even SIGSYS: see change_mask(). On the alternate stack, where
     * a thread has one: its own may be small, as those of Go are. */
    const struct sigaction action = {.sa_sigaction = on_sigsys,
                                     .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigset_t kept;
    int r = nn_guard_install();

    if (r < 0)
        return nn_error_trace(r);
    sigemptyset(&kept);
    sigaddset(&kept, SIGBUS);
    sigaddset(&kept, SIGSYS);
    if (sigaction(SIGSYS, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &kept, NULL) < 0)
        return nn_error_origin(-errno);
    clean_actions();
    return 0;
}

#else

int nn_signals_keep(void)
{
    return 0;
}

#endif
