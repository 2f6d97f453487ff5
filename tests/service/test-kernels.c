/* SPDX-License-Identifier: Apache-2.0 */
/* Older kernels, and containers that refuse calls: what is not there is left out and said, or ends the
 * attempt; no driver is let in behind a wall with a hole that is not in the log. */
#include "service/root.h"
#include "service/sandbox.h"

#include "base/sys.h"
#include "service/landlock.h"
#include "service/namespaces.h"
#include "service/seccomp-filter.h"
#include "support/check-main.h"
#include "support/refuse-call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- namespaces ----------------------------------------------------------------------------- */

static void starts_without_namespaces(void)
{
    struct nn_namespaces namespaces;
    int status, r = nn_namespaces_fork(&namespaces);

    ck_assert(r >= 0);
    ck_assert(!namespaces.are_own);
    ck_assert(namespaces.error == -refused.error);
    if (r == 0)
        _exit(7);
    ck_assert(waitpid(namespaces.pid, &status, 0) == namespaces.pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    ck_assert(waitpid(-1, NULL, 0) < 0 && errno == ECHILD);
}

TEST(a_driver_starts_though_namespaces_are_refused)
{
    static const struct refusal refusals[] = {
        {SYS_unshare, EPERM}, {SYS_unshare, ENOSPC}, {SYS_unshare, EUSERS}, {SYS_pipe2, EMFILE}};

    for (size_t i = 0; i < NN_N_ELEMENTS(refusals); i++)
        refuse_in_child(refusals[i], starts_without_namespaces);
}
TEST_END

static void starts_as_one_of_many(void)
{
    struct nn_namespaces namespaces;

    refuse_call_with(SYS_prctl, 0, PR_SET_CHILD_SUBREAPER, EINVAL);
    refused.error = EINVAL;
    starts_without_namespaces();
    refuse_call(SYS_clone, EAGAIN);
    ck_assert(nn_namespaces_fork(&namespaces) == -EAGAIN);
}

TEST(what_cannot_fork_says_so)
{
    refuse_in_child((struct refusal){-1, 0}, starts_as_one_of_many);
}
TEST_END

/* -- a root of its own ------------------------------------------------------------------------ */

static char granted[64];

/* In namespaces, in which the call is refused: the root that was there stays, and it is said why. */
static void keeps_its_root(void)
{
    const struct nn_grant_path paths[] = {{"/usr/lib", NN_GRANT_READ}, {granted, NN_GRANT_READ}};
    struct nn_host_why why = {.text = ""};
    bool is_new = true;

    ck_assert(nn_root_replace(paths, NN_N_ELEMENTS(paths), &is_new, &why) == 0);
    ck_assert(!is_new);
    ck_assert(strstr(why.text, strerror(refused.error)));
    ck_assert(access("/proc/self/stat", R_OK) == 0);
    ck_assert(access("/usr/lib", R_OK) == 0);
    ck_assert(access(granted, R_OK) == 0);
}

/* False: there are no namespaces here. */
static bool in_namespaces(struct refusal refusal, void (*body)(void))
{
    struct nn_namespaces namespaces;
    int r = nn_namespaces_fork(&namespaces);

    ck_assert_int_ge(r, 0);
    refused = refusal;
    if (r == 0) {
        if (namespaces.are_own) {
            refuse_call(refusal.call, refusal.error);
            body();
        }
        _exit(0);
    }
    await_child(namespaces.pid);
    return namespaces.are_own;
}

TEST(a_root_that_cannot_be_made_is_left_as_it_was)
{
    static const struct refusal refusals[] = {
        {SYS_open_tree, ENOSYS}, {SYS_mount_setattr, ENOSYS}, {SYS_fsopen, ENODEV},
        {SYS_fsconfig, EPERM},   {SYS_fsmount, EPERM},        {SYS_mount, EPERM},
        {SYS_move_mount, EPERM}, {SYS_openat2, EACCES},       {SYS_mkdirat, ENOSPC},
        {SYS_pivot_root, EPERM}, {SYS_fchdir, EACCES},
    };
    bool has_namespaces = true;

    snprintf(granted, sizeof(granted), "/tmp/nnhal-kernels-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(granted));
    for (size_t i = 0; has_namespaces && i < NN_N_ELEMENTS(refusals); i++)
        has_namespaces = in_namespaces(refusals[i], keeps_its_root);
    ck_assert_int_eq(rmdir(granted), 0);
    if (!has_namespaces)
        printf("SKIPPED: this kernel, or its settings, refuse namespaces\n");
}
TEST_END

/* The old root can be left no more, nor the new one: who goes on would see both. */
static void ends_between_roots(void)
{
    const struct nn_grant_path path = {"/usr/lib", NN_GRANT_READ};
    struct nn_host_why why = {.text = ""};
    bool is_new = true;

    ck_assert(nn_root_replace(&path, 1, &is_new, &why) == -ENOTRECOVERABLE);
    ck_assert(!is_new);
}

TEST(a_root_that_cannot_be_left_is_an_error)
{
    in_namespaces((struct refusal){SYS_umount2, EPERM}, ends_between_roots);
}
TEST_END

/* -- the sandbox -------------------------------------------------------------------------------- */

static const struct nn_grants no_grants;

static void is_not_closed(void)
{
    const struct nn_sandbox_options options = {.grants = &no_grants, .user = "nobody"};
    struct nn_sandbox_report report = {.has_seccomp = false};

    ck_assert(nn_sandbox_close(&options, &report) == -refused.error);
    ck_assert(!report.has_seccomp && !report.has_dropped_root);
}

TEST(a_sandbox_that_cannot_be_closed_is_an_error)
{
    static const struct refusal always[] = {{SYS_capset, EPERM}};
    static const struct refusal of_root[] = {
        {SYS_setgroups, EPERM}, {SYS_setresgid, EINVAL}, {SYS_setresuid, EAGAIN}};
    static const struct refusal of_landlock[] = {{SYS_landlock_add_rule, ENOMEM},
                                                 {SYS_landlock_restrict_self, E2BIG}};

    refuse_in_child(always[0], is_not_closed);
    for (size_t i = 0; geteuid() == 0 && i < NN_N_ELEMENTS(of_root); i++)
        refuse_in_child(of_root[i], is_not_closed);
    for (size_t i = 0; nn_landlock_version() > 0 && i < NN_N_ELEMENTS(of_landlock); i++)
        refuse_in_child(of_landlock[i], is_not_closed);
}
TEST_END

static void says_what_is_missing(void)
{
    const struct nn_sandbox_options options = {.grants = &no_grants, .namespaces_error = -EPERM};
    struct nn_sandbox_report report;

    ck_assert(nn_landlock_version() == 0);
    ck_assert(nn_sandbox_close(&options, &report) == 0);
    ck_assert(report.landlock_version == 0);
    ck_assert(!report.has_own_root);
    ck_assert(strstr(report.why_no_root.text, strerror(EPERM)));
    ck_assert(nn_sandbox_tighten(&options, &report) == 0);
}

TEST(without_landlock_the_sandbox_is_closed_and_says_so)
{
    refuse_in_child((struct refusal){SYS_landlock_create_ruleset, ENOSYS}, says_what_is_missing);
}
TEST_END

/* Each right is one that the kernel of that version knows: one more, and it would refuse all. */
static int faked_version;

static int fake_version(void)
{
    return faked_version;
}

static void closes_files_only(void)
{
    const struct nn_grant_path paths[] = {{"/usr", NN_GRANT_READ},
                                          {"/etc/passwd", NN_GRANT_READ},
                                          {"/no/such/file", NN_GRANT_READ},
                                          {"/dev/null", NN_GRANT_DEVICE}};
    static const struct nn_grant_path missing = {"/dev/no-such-node", NN_GRANT_DEVICE};
    int version = nn_landlock_version();

    ck_assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    ck_assert(nn_landlock_close(version, &missing, 1) == -ENOENT);
    ck_assert(nn_landlock_close(version, paths, NN_N_ELEMENTS(paths)) == 0);
    ck_assert(access("/usr", R_OK) == 0);
    ck_assert(open("/etc/passwd", O_RDONLY) >= 0);
    ck_assert(open("/dev/null", O_RDWR) >= 0);
    ck_assert(open("/etc/group", O_RDONLY) < 0 && errno == EACCES);
    ck_assert(open("/dev/zero", O_RDONLY) < 0 && errno == EACCES);
}

TEST(every_version_of_landlock_closes_the_files)
{
    static struct nn_sys_fakes fakes = {.landlock_version = fake_version};
    int version = nn_landlock_version();

    nn_sys_fakes = &fakes;
    for (faked_version = 1; faked_version <= version; faked_version++)
        refuse_in_child((struct refusal){-1, 0}, closes_files_only);
    nn_sys_fakes = NULL;
}
TEST_END

CHECK_MAIN("kernels", a_driver_starts_though_namespaces_are_refused, what_cannot_fork_says_so,
           a_root_that_cannot_be_made_is_left_as_it_was, a_root_that_cannot_be_left_is_an_error,
           a_sandbox_that_cannot_be_closed_is_an_error,
           without_landlock_the_sandbox_is_closed_and_says_so,
           every_version_of_landlock_closes_the_files)
