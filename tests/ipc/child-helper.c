/* SPDX-License-Identifier: Apache-2.0 */
/* child-helper - stands for nnhal-host in test-child: says over descriptor 3
 * what it was given, then waits until the other side closes. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int n_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 3; /* ".", "..", and the directory's own */
}

int main(int argc, char **argv)
{
    struct sigaction action;
    sigset_t mask;
    char text[256];
    int n = 0;

    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigaction(SIGUSR1, NULL, &action);
    for (int i = 1; i < argc; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s ", argv[i]);
    n += snprintf(text + n, sizeof(text) - (size_t)n, "fds=%d blocked=%d ignored=%d", n_fds(),
                  sigismember(&mask, SIGUSR2), action.sa_handler == SIG_IGN);
    close(4); /* has nothing to report */
    if (send(3, text, (size_t)n, MSG_NOSIGNAL) < 0)
        return 1;
    return recv(3, text, sizeof(text), 0) > 0;
}
