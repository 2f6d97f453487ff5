/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - SIGBUS stays the host's, in front of the C library's functions
 *
 * A client that shrinks a file under the service makes the thread that reads it receive SIGBUS,
 * which the guard of shared memory repairs. In a thread that blocks SIGBUS the kernel ends the
 * process instead, and libraries of drivers make threads that block all signals. The program's
 * functions come before the C library's for every object in the process: SIGBUS is not blocked,
 * and its action is changed by libnnhal alone. Others are told that they succeeded, as libraries
 * give up when this fails.
 *
 * A raw system call passes by; then the process ends and is started again. */
#include <nnhal/service.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define EXPORTED __attribute__((__visibility__("default")))

/* The C library's function behind this one. POSIX says that dlsym()'s result can be a
 * function's address. */
#define NEXT(function, name)                                                                       \
    do {                                                                                           \
        void *symbol_ = dlsym(RTLD_NEXT, name);                                                    \
        memcpy(&(function), &symbol_, sizeof(symbol_));                                            \
    } while (0)

typedef int (*mask_function)(int how, const sigset_t *set, sigset_t *ret_old);
typedef int (*attr_function)(pthread_attr_t *attr, const sigset_t *set);
typedef int (*action_function)(int number, const struct sigaction *action,
                               struct sigaction *ret_old);
typedef __sighandler_t (*signal_function)(int number, __sighandler_t handler);

static mask_function next_pthread_sigmask, next_sigprocmask;
static attr_function next_attr_setsigmask;
static action_function next_sigaction;
static signal_function next_signal;
static void *library; /* where libnnhal lies */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_next(void)
{
    int (*const serve)(const struct nnhal_serve_options *) = nnhal_serve;
    void *address;
    Dl_info info;

    NEXT(next_pthread_sigmask, "pthread_sigmask");
    NEXT(next_sigprocmask, "sigprocmask");
    NEXT(next_attr_setsigmask, "pthread_attr_setsigmask_np");
    NEXT(next_sigaction, "sigaction");
    NEXT(next_signal, "signal");
    memcpy(&address, &serve, sizeof(address));
    if (dladdr(address, &info))
        library = info.dli_fbase;
}

static bool is_of_library(void *caller)
{
    Dl_info info;

    return library && dladdr(caller, &info) && info.dli_fbase == library;
}

/* NULL stays NULL: nothing is to be changed then. */
static const sigset_t *without_sigbus(const sigset_t *set, sigset_t *room)
{
    if (!set)
        return NULL;
    *room = *set;
    sigdelset(room, SIGBUS);
    return room;
}

EXPORTED int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_old)
{
    sigset_t room;

    pthread_once(&once, find_next);
    return next_pthread_sigmask(how, how == SIG_UNBLOCK ? set : without_sigbus(set, &room),
                                ret_old);
}

EXPORTED int sigprocmask(int how, const sigset_t *set, sigset_t *ret_old)
{
    sigset_t room;

    pthread_once(&once, find_next);
    return next_sigprocmask(how, how == SIG_UNBLOCK ? set : without_sigbus(set, &room), ret_old);
}

EXPORTED int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *set)
{
    sigset_t room;

    pthread_once(&once, find_next);
    return next_attr_setsigmask(attr, without_sigbus(set, &room));
}

EXPORTED int sigaction(int number, const struct sigaction *action, struct sigaction *ret_old)
{
    pthread_once(&once, find_next);
    if (number != SIGBUS || !action || is_of_library(__builtin_return_address(0)))
        return next_sigaction(number, action, ret_old);
    if (ret_old) {
        memset(ret_old, 0, sizeof(*ret_old));
        ret_old->sa_handler = SIG_DFL;
    }
    return 0;
}

EXPORTED __sighandler_t signal(int number, __sighandler_t handler)
{
    pthread_once(&once, find_next);
    if (number != SIGBUS || is_of_library(__builtin_return_address(0)))
        return next_signal(number, handler);
    return SIG_DFL;
}
