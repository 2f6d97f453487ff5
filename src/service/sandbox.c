/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sandbox.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "host/load.h"
#include "service/landlock.h"
#include "service/root.h"
#include "service/seccomp-filter.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* -- files --------------------------------------------------------------------------------------- */

static const char *const readable[] = {
    /* What the C library and drivers look up about the machine. */
    "/sys/devices/system", "/proc/cpuinfo", "/proc/meminfo", "/etc/localtime",
    /* Libraries of drivers. */
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
    "/etc/alternatives", /* Debian: links to libraries of which there are several */
};

static int close_files(const struct nn_sandbox_options *options, struct nn_sandbox_report *report)
{
    const struct nn_grants *grants = options->grants;
    size_t n_paths = NN_N_ELEMENTS(readable) + options->n_readable + grants->n_paths, n = 0;
    _cleanup_(freep) struct nn_grant_path *paths = calloc(n_paths, sizeof(*paths));
    int r = 0;

    if (!paths)
        return nn_error_origin(-ENOMEM);
    for (size_t i = 0; i < NN_N_ELEMENTS(readable); i++)
        paths[n++].path = readable[i];
    for (size_t i = 0; i < options->n_readable; i++)
        paths[n++].path = options->readable[i];
    for (size_t i = 0; i < grants->n_paths; i++)
        paths[n++] = grants->paths[i];
    if (options->has_namespaces)
        r = nn_root_replace(paths, n, &report->has_own_root, &report->why_no_root);
    else
        nn_why(&report->why_no_root, 0, "the kernel, or its settings, refuse namespaces: %s",
               strerror(-options->namespaces_error));
    if (r == 0 && report->landlock_version > 0)
        r = nn_landlock_close(report->landlock_version, paths, n);
    return nn_error_trace(r);
}

/* -- privileges ---------------------------------------------------------------------------------- */

/* Takes a capability that root has, so that it comes before root is left. */
static void drop_bounding_set(void)
{
    for (int capability = 0; capability < 64; capability++)
        /* Fails for those that do not exist, and for all where the process has no say in it. */
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2];

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    memset(none, 0, sizeof(none));
    if (syscall(SYS_capset, &header, none) < 0)
        return nn_error_origin(-errno);
    return 0;
}

/* The user that root becomes: looked up while files can still be opened. The groups are
 * the user's own, which is how device nodes are given to it. */
struct identity {
    uid_t uid;
    gid_t gid;
    int n_groups;
    gid_t groups[64];
};

static int look_up(const char *name, struct identity *identity)
{
    const struct passwd *user = getpwnam(name);

    if (!user)
        return nn_error_origin(-ENOENT);
    identity->uid = user->pw_uid;
    identity->gid = user->pw_gid;
    identity->n_groups = NN_N_ELEMENTS(identity->groups);
    if (getgrouplist(name, user->pw_gid, identity->groups, &identity->n_groups) < 0)
        /* Too many for the room here: without any, some device nodes may be refused, but no
         * right is gained. */
        identity->n_groups = 0;
    return 0;
}

/* user is NULL where the identity stays. */
static int drop_privileges(const struct identity *user)
{
    int end_signal = 0, r;

    prctl(PR_GET_PDEATHSIG, &end_signal, 0, 0, 0);
    drop_bounding_set();
    /* Groups first: without root the process may not change them any more. */
    if (user && (setgroups((size_t)user->n_groups, user->groups) < 0 ||
                 setresgid(user->gid, user->gid, user->gid) < 0 ||
                 setresuid(user->uid, user->uid, user->uid) < 0))
        return nn_error_origin(-errno);
    r = drop_capabilities();
    /* A change of the user clears it. */
    if (r == 0 && prctl(PR_SET_PDEATHSIG, end_signal, 0, 0, 0) < 0)
        r = nn_error_origin(-errno);
    return nn_error_trace(r);
}

int nn_sandbox_close(const struct nn_sandbox_options *options, struct nn_sandbox_report *ret_report)
{
    struct nn_sandbox_report report = {.landlock_version = nn_landlock_version()};
    bool leaves_root = geteuid() == 0 && options->user;
    struct identity user;
    struct rlimit none = {0};
    int r = leaves_root ? look_up(options->user, &user) : 0;

    if (r < 0)
        return nn_error_trace(r);
    /* A core file would contain the tensors of all clients. */
    setrlimit(RLIMIT_CORE, &none);
    /* Landlock and seccomp demand it of a process without CAP_SYS_ADMIN. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return nn_error_origin(-errno);
    /* The paths are opened with the rights that the process still has. */
    r = close_files(options, &report);
    if (r == 0)
        r = drop_privileges(leaves_root ? &user : NULL);
    /* Last: the filter refuses the calls that the steps above are made of. */
    if (r == 0 && nn_seccomp_is_there()) {
        r = nn_seccomp_close(options->grants, options->has_namespaces);
        report.has_seccomp = r == 0;
    }
    if (r < 0)
        return nn_error_trace(r);
    report.has_dropped_root = leaves_root;
    *ret_report = report;
    return 0;
}

int nn_sandbox_tighten(const struct nn_sandbox_options *options,
                       const struct nn_sandbox_report *report)
{
    if (!report->has_seccomp)
        return 0;
    return nn_error_trace(nn_seccomp_tighten(report->landlock_version > 0 || report->has_own_root,
                                             options->grants->has_executable_memory));
}
