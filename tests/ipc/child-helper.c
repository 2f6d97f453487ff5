/* SPDX-License-Identifier: Apache-2.0 */
/* child-helper - stands for nnhal-host in test-child: says over descriptor 3
 * what it was given, then waits until the other side closes. Called mute, it keeps its
 * reports open and reports nothing; called as below, it reports that. */
#include <dirent.h>
#include <errno.h>
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

/* Whether name is that of one who reports. */
static int report(const char *name)
{
    static const struct {
        const char *name;
        int report;
    } reports[] = {{"fails", -ENODEV}, {"lacks-a-pidfd", 1}};

    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
        if (strcmp(name, reports[i].name) == 0)
            return send(4, &reports[i].report, sizeof(int), 0) > 0;
    return strcmp(name, "mute") == 0;
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
    if (!report(argv[argc - 1]))
        close(4); /* has nothing to report */
    if (send(3, text, (size_t)n, MSG_NOSIGNAL) < 0)
        return 1;
    return recv(3, text, sizeof(text), 0) > 0;
}
