/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <signal.h>

int nn_thread_start(const char *name, void *(*main)(void *argument), void *argument,
                    pthread_t *ret_thread)
{
    static const int open_signals[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, saved;
    pthread_t thread;
    int r;

    sigfillset(&blocked);
    for (size_t i = 0; i < NN_N_ELEMENTS(open_signals); i++)
        sigdelset(&blocked, open_signals[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &saved);
    r = pthread_create(&thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (r != 0)
        return nn_error_origin(-EAGAIN);
    pthread_setname_np(thread, name);
    *ret_thread = thread;
    return 0;
}
