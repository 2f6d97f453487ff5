/* SPDX-License-Identifier: Apache-2.0 */
/* What children of a test write into the file that Check reads: nothing, unless they fail. */
#include "check-main.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_ASSERTIONS = 100 };

/* Of all files without a name, of which Check's is the only one. */
static off_t count_bytes(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    off_t n_bytes = 0;
    struct stat status;

    while (folder && (entry = readdir(folder)) != NULL)
        if (fstat(atoi(entry->d_name), &status) == 0 && S_ISREG(status.st_mode) &&
            status.st_nlink == 0)
            n_bytes += status.st_size;
    if (folder)
        closedir(folder);
    return n_bytes;
}

TEST(children_write_no_messages)
{
    off_t before = count_bytes();
    int status = 0;
    pid_t pid;

    ck_assert_int_eq(status, 0);
    ck_assert_int_gt(count_bytes(), before); /* it has the assertion above */
    pid = fork();
    if (pid == 0) {
        before = count_bytes();
        for (int i = 0; i < N_ASSERTIONS; i++)
            ck_assert_int_eq(i, i);
        _exit(count_bytes() == before ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
TEST_END

CHECK_MAIN("check-children", children_write_no_messages)
