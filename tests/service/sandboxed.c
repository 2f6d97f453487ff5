/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sandboxed.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct nn_sandbox_report report;
static char folder[64];

const char *at(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

void lay_sandbox_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/nnhal-test-sandbox-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    close(open(at("there"), O_CREAT | O_RDWR, 0600));
}

void remove_sandbox_folder(void)
{
    ck_assert_int_eq(unlink(at("there")), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

void in_sandbox(const struct nn_sandbox_options *options, int (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (nn_sandbox_close(options, &report) != 0)
            _exit(255);
        _exit(body());
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "exit %d, signal %d", WEXITSTATUS(status), WTERMSIG(status));
}

/* In a process of its own: a part of it may be closed already. */
void expect_refused(const struct nn_sandbox_options *options, int wanted)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(nn_sandbox_close(options, &report) == wanted ? 0 : 1);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

int unexpected(int line)
{
    fprintf(stderr, "line %d is not as expected\n", line);
    return 1;
}

bool is_refused(long r)
{
    bool refused = r < 0 && (errno == EPERM || errno == EACCES);

    if (r >= 0)
        close((int)r);
    return refused;
}
