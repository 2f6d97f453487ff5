/* SPDX-License-Identifier: Apache-2.0 */
/* 10 trees of control groups that this machine does not have: every file is opened below a folder of
 * the test's own. */
#include "base/memory-limit.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "support/check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB        (UINT64_C(1) << 20)
#define MEMORY_KIB "8388608" /* 8 GiB */

static char root[64];

static int open_below_root(int dir_fd, const char *path, int flags, unsigned mode)
{
    char below[512];
    int fd;

    ck_assert_int_eq(path[0], '/');
    snprintf(below, sizeof(below), "%s%s", root, path);
    fd = openat(dir_fd, below, flags | O_CLOEXEC, mode);
    return fd < 0 ? -errno : fd;
}

static const struct nn_sys_fakes fakes = {.openat = open_below_root};

/* A file with this text, and the folders that lead to it. */
static void put(const char *path, const char *text)
{
    char below[512];
    FILE *file;

    snprintf(below, sizeof(below), "%s%s", root, path);
    for (char *at = below + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(below, 0700);
        *at = '/';
    }
    file = fopen(below, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void begin(const char *groups)
{
    snprintf(root, sizeof(root), "/tmp/nnhal-test-memory-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    nn_sys_fakes = &fakes;
    put("/proc/meminfo", "MemTotal:        " MEMORY_KIB " kB\nMemFree:          100 kB\n");
    if (groups)
        put("/proc/self/cgroup", groups);
}

static void expect(uint64_t limit)
{
    char command[128];

    ck_assert_uint_eq(nn_memory_limit(), limit);
    nn_sys_fakes = NULL;
    snprintf(command, sizeof(command), "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

TEST(without_groups_it_is_the_machine)
{
    begin(NULL);
    expect(8192 * MIB);
    begin("");
    expect(8192 * MIB);
    begin("0::/\n");
    expect(8192 * MIB);
}
TEST_END

TEST(a_machine_that_says_nothing_has_no_limit)
{
    begin(NULL);
    put("/proc/meminfo", "garbage\n");
    expect(UINT64_MAX);
}
TEST_END

TEST(the_lowest_of_nested_groups_holds)
{
    begin("0::/a/b/c\n");
    put("/sys/fs/cgroup/a/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
    put("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
    expect(512 * MIB);
}
TEST_END

TEST(high_counts_as_max_does)
{
    begin("0::/a\n");
    put("/sys/fs/cgroup/a/memory.max", "max\n");
    put("/sys/fs/cgroup/a/memory.high", "268435456\n");
    expect(256 * MIB);
}
TEST_END

TEST(the_root_of_a_container_counts)
{
    begin("0::/outside/that/is/not/here\n");
    put("/sys/fs/cgroup/memory.max", "134217728\n");
    expect(128 * MIB);
}
TEST_END

TEST(garbage_is_no_limit)
{
    begin("0::/a\nnonsense\n1:cpu\n:::\n");
    put("/sys/fs/cgroup/a/memory.max", "12 apples\n");
    put("/sys/fs/cgroup/a/memory.high", "-5\n");
    put("/sys/fs/cgroup/memory.max", "99999999999999999999999999\n");
    put("/sys/fs/cgroup/memory.high", "");
    expect(8192 * MIB);
}
TEST_END

TEST(version_1_has_a_hierarchy_of_its_own)
{
    begin("5:cpu,cpuacct:/x\n4:hugetlb,memory:/a/b\n");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "209715200\n");
    put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1\n");
    expect(200 * MIB);
}
TEST_END

TEST(both_versions_at_once)
{
    begin("4:memory:/a\n1:name=systemd:/\n0::/b\n");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "209715200\n");
    put("/sys/fs/cgroup/unified/b/memory.max", "104857600\n");
    expect(100 * MIB);
}
TEST_END

TEST(sizes_are_parsed)
{
    static const char *const refused[] = {"",
                                          "x",
                                          "-1",
                                          "101%",
                                          "5T",
                                          "1GB",
                                          "5 M",
                                          "%",
                                          "1.5G",
                                          "99999999999999999999",
                                          "18446744073709551615K"};
    uint64_t n = 7;

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        ck_assert_msg(!nn_memory_parse(refused[i], 1000, &n), "%s", refused[i]);
    ck_assert_uint_eq(n, 7);
    ck_assert(nn_memory_parse("25%", 1000, &n) && n == 250);
    ck_assert(nn_memory_parse("25%", UINT64_MAX, &n) && n == UINT64_MAX);
    ck_assert(nn_memory_parse("100%", UINT64_MAX - 1, &n) && n == UINT64_MAX - 1);
    ck_assert(nn_memory_parse("4096", 1000, &n) && n == 4096);
    ck_assert(nn_memory_parse("3K", 1000, &n) && n == 3072);
    ck_assert(nn_memory_parse("512M", 1000, &n) && n == 512 * MIB);
    ck_assert(nn_memory_parse("2G", 1000, &n) && n == 2048 * MIB);
    ck_assert(nn_memory_parse("none", 1000, &n) && n == UINT64_MAX);
}
TEST_END

TEST(sizes_are_printed)
{
    char text[32];

    nn_memory_print(1023, text, sizeof(text));
    ck_assert_str_eq(text, "1023 bytes");
    nn_memory_print(2254857830, text, sizeof(text));
    ck_assert_str_eq(text, "2.1 GiB");
    nn_memory_print(UINT64_MAX, text, sizeof(text));
    ck_assert_str_eq(text, "16777216.0 TiB");
}
TEST_END

TEST(this_machine_has_a_limit)
{
    ck_assert_uint_gt(nn_memory_limit(), MIB);
    ck_assert_uint_lt(nn_memory_limit(), UINT64_MAX);
}
TEST_END

CHECK_MAIN("memory-limit", without_groups_it_is_the_machine,
           a_machine_that_says_nothing_has_no_limit, the_lowest_of_nested_groups_holds,
           high_counts_as_max_does, the_root_of_a_container_counts, garbage_is_no_limit,
           version_1_has_a_hierarchy_of_its_own, both_versions_at_once, sizes_are_parsed,
           sizes_are_printed, this_machine_has_a_limit)
