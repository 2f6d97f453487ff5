/* SPDX-License-Identifier: Apache-2.0 */
/* Each wall of the sandbox while the others are faked away, and the second step. */
#include "service/sandboxed.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "service/landlock.h"

#include "support/check-main.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static const struct nn_grants no_grants;

/* -- privileges ---------------------------------------------------------------------------------- */

/* Asked of the kernel, which seccomp would not allow. */
static int has_no_capabilities(void)
{
    const struct passwd *entry = getpwnam("nobody");
    gid_t real, effective, saved, groups[64];
    int n_groups = getgroups(64, groups), end_signal = 0;

    EXPECT(entry && getresgid(&real, &effective, &saved) == 0);
    EXPECT(real == entry->pw_gid && effective == entry->pw_gid && saved == entry->pw_gid);
    EXPECT(n_groups >= 0);
    for (int i = 0; i < n_groups; i++)
        EXPECT(groups[i] != 0);
    for (int i = 0, is_kept; (is_kept = prctl(PR_CAPBSET_READ, i, 0, 0, 0)) >= 0; i++)
        EXPECT(!is_kept);
    EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    EXPECT(prctl(PR_GET_PDEATHSIG, &end_signal, 0, 0, 0) == 0 && end_signal == SIGKILL);
    return 0;
}

TEST(root_keeps_no_group_and_no_capability)
{
    static const struct nn_sys_fakes fakes = {.has_no_seccomp = true};
    static const char *const readable[] = {"/etc/passwd", "/etc/nsswitch.conf"};
    struct nn_sandbox_options options = {.grants = &no_grants,
                                         .readable = readable,
                                         .n_readable = NN_N_ELEMENTS(readable),
                                         .user = "nobody"};

    nn_sys_fakes = &fakes;
    if (geteuid() == 0)
        in_sandbox(&options, has_no_capabilities);
    nn_sys_fakes = NULL;
}
TEST_END

/* -- Landlock alone --------------------------------------------------------------------------- */

static int faked_version;

static int get_faked_version(void)
{
    return faked_version;
}

static bool may_bind(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool may = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

    close(fd);
    return may;
}

/* What came with a version is refused from that version on. */
static int version_refuses_its_part(void)
{
    EXPECT(report.landlock_version == faked_version);
    EXPECT(is_refused(open(at("there"), O_RDWR)));
    EXPECT((truncate(at("there"), 0) == 0) == (faked_version < 3));
    EXPECT(may_bind() == (faked_version < 4));
    EXPECT((kill(getppid(), 0) == 0) == (faked_version < 6));
    return 0;
}

TEST(each_version_of_landlock_refuses_its_part)
{
    static const struct nn_sys_fakes fakes = {.has_no_seccomp = true,
                                              .landlock_version = get_faked_version};
    struct nn_sandbox_options options = {.grants = &no_grants};
    const int had = nn_landlock_version();

    lay_sandbox_folder();
    nn_sys_fakes = &fakes;
    for (faked_version = 1; faked_version <= had; faked_version++)
        in_sandbox(&options, version_refuses_its_part);
    nn_sys_fakes = NULL;
    remove_sandbox_folder();
}
TEST_END

static int many_paths_are_there(void)
{
    if (report.landlock_version == 0)
        return 0;
    EXPECT(open("/etc/passwd", O_RDONLY) >= 0);
    EXPECT(open("/dev/zero", O_RDWR) >= 0);
    EXPECT(is_refused(open("/etc/group", O_RDONLY)));
    return 0;
}

TEST(as_many_paths_as_may_be_declared_are_there)
{
    static const char *const path = "/etc/passwd";
    static struct nn_grants grants = {.n_paths = NN_GRANTS_MAX};
    const char *readable[NN_GRANTS_MAX];
    struct nn_sandbox_options options = {
        .grants = &grants, .readable = readable, .n_readable = NN_GRANTS_MAX};

    for (size_t i = 0; i < NN_GRANTS_MAX; i++) {
        readable[i] = path;
        grants.paths[i] = (struct nn_grant_path){"/dev/zero", NN_GRANT_DEVICE};
    }
    in_sandbox(&options, many_paths_are_there);
}
TEST_END

/* -- when the driver is open ---------------------------------------------------------------------- */

static const struct nn_sandbox_options *tightened;

static int no_version(void)
{
    return 0;
}

static bool makes_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED;
}

static int tight(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!report.has_seccomp)
        return 0;
    EXPECT(makes_code());
    EXPECT(open("/usr/lib", O_RDONLY | O_DIRECTORY) >= 0);
    EXPECT(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
    EXPECT(nn_sandbox_tighten(tightened, &report) == 0);
    EXPECT(is_refused(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)));
    EXPECT(makes_code() == tightened->grants->has_executable_memory);
    EXPECT((mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0) ==
           tightened->grants->has_executable_memory);
    /* Landlock goes on to say which; without it there are no files any more. */
    EXPECT((open("/usr/lib", O_RDONLY | O_DIRECTORY) >= 0) == (report.landlock_version > 0));
    return 0;
}

TEST(an_open_driver_makes_no_code_and_no_filters)
{
    static const struct nn_sys_fakes without_landlock = {.landlock_version = no_version};
    static const struct nn_grants code = {.has_executable_memory = true};
    const struct nn_sandbox_options options[] = {{.grants = &no_grants}, {.grants = &code}};

    for (size_t i = 0; i < NN_N_ELEMENTS(options); i++) {
        tightened = &options[i];
        in_sandbox(tightened, tight);
        nn_sys_fakes = &without_landlock;
        in_sandbox(tightened, tight);
        nn_sys_fakes = NULL;
    }
}
TEST_END

CHECK_MAIN("walls", root_keeps_no_group_and_no_capability,
           each_version_of_landlock_refuses_its_part, as_many_paths_as_may_be_declared_are_there,
           an_open_driver_makes_no_code_and_no_filters)
