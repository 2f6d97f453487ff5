/* SPDX-License-Identifier: Apache-2.0 */
#include "stop.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

int cts_stop_open(void)
{
    sigset_t set = signals();

    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* The descriptor is not read: a signal stays where it is until cts_stop_normally(). */
bool cts_is_stopped(int stop_fd)
{
    struct pollfd wait = {.fd = stop_fd, .events = POLLIN};

    return poll(&wait, 1, 0) > 0;
}

void cts_stop_normally(int stop_fd)
{
    sigset_t set = signals();

    close(stop_fd);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
