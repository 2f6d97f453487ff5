/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that start threads and make code work in the sandbox as they do outside of it. */
#include "service/told.h"
#include "support/check-main.h"

#include <nnhal/service.h>

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static char folder[64], path[100];

static pid_t start_service(uint32_t flags)
{
    pid_t pid = fork();

    if (pid == 0) {
        const struct nnhal_serve_options options = {
            .size = sizeof(options),
            .driver = getenv("NN_TEST_LIBRARY"),
            .socket_path = path,
            .user = "nobody",
            .flags = flags,
        };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(nnhal_serve(&options));
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

static void look(uint32_t flags, char *text, size_t n_text)
{
    pid_t pid;
    int status;

    snprintf(folder, sizeof(folder), "/tmp/nnhal-libraries-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/library.sock", folder);
    pid = start_service(flags);
    snprintf(text, n_text, "%s", told_ask(told_dial(path)));
    kill(pid, SIGTERM);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "the service ended: %#x", (unsigned)status);
    ck_assert_int_eq(rmdir(folder), 0);
}

TEST(openblas_and_lavapipe_work_in_the_sandbox)
{
    char outside[200], inside[200];

    look(NNHAL_SERVE_NO_SANDBOX, outside, sizeof(outside));
    look(0, inside, sizeof(inside));
    ck_assert_str_eq(inside, outside);
    ck_assert_ptr_null(strstr(inside, "wrong"));
    if (strstr(outside, "absent"))
        printf("SKIPPED in part: %s (Debian: libopenblas0, libvulkan1, mesa-vulkan-drivers)\n",
               outside);
}
TEST_END

CHECK_MAIN("libraries", openblas_and_lavapipe_work_in_the_sandbox)
