/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <signal.h>

struct start {
    const char *name;
    void *(*main)(void *argument);
    void *argument;
};

/* A thread names itself: for others that takes a file of /proc, which a sandbox has not. */
static void *thread_begin(void *ctx)
{
    const struct start start = *(struct start *)ctx;

    free(ctx);
    pthread_setname_np(pthread_self(), start.name);
    return start.main(start.argument);
}

int nn_thread_start(const char *name, void *(*main)(void *argument), void *argument,
                    pthread_t *ret_thread)
{
    static const int open_signals[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    struct start *start = malloc(sizeof(*start));
    sigset_t blocked, saved;
    pthread_t thread;
    int r;

    if (!start)
        return nn_error_origin(-EAGAIN);
    *start = (struct start){name, main, argument};

    /* The application's handlers must not run on threads that it does not know. A fault is
     * raised on the thread that causes it, and would end the process if it were blocked.
     * Blocked around pthread_create, since a new thread has the mask of its creator from its
     * first instruction. */
    sigfillset(&blocked);
    for (size_t i = 0; i < NN_N_ELEMENTS(open_signals); i++)
        sigdelset(&blocked, open_signals[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &saved);
    r = pthread_create(&thread, NULL, thread_begin, start);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (r != 0) {
        free(start);
        return nn_error_origin(-EAGAIN);
    }
    *ret_thread = thread;
    return 0;
}
