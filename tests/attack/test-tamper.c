/* SPDX-License-Identifier: Apache-2.0 */
/* A cache that is changed while it is used: files are cut, written, swapped, linked, replaced by
 * links, pipes and folders, grow without end and lose their permissions, while applications
 * compile and compute with them. Every compilation succeeds, every result is right, and files that
 * a link leads to are as they were. NN_TEST_ROUNDS: compilations of each
 * application, of which there are three: 450 in all, 15,000 in the suite slow. */
#include "attack/grammar.h"
#include "attack/probe.h"
#include "attack/user.h"
#include "attack/victim.h"

#include "support/check-main.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 150,
    USERS = 3,
    TRIES = 8, /* until there was a hit */
    FILES = 64,
    NAME_BYTES = 256,
    USER = 3,
    SLACK_KIB = 8192,
    BAIT_BYTES = 4096,
};

static char folder[64], bait[128]; /* the cache; a file of the same user that is none of it */
static struct values values;

/* -- the one who changes files ------------------------------------------------------------------ */

static uint32_t list_files(char names[FILES][NAME_BYTES])
{
    DIR *dir = opendir(".");
    struct dirent *entry;
    uint32_t n = 0;

    ck_assert_ptr_nonnull(dir);
    while (n < FILES && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            snprintf(names[n++], NAME_BYTES, "%s", entry->d_name);
    closedir(dir);
    return n;
}

static void write_into(const char *name)
{
    int fd = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    uint64_t number = values_number(&values);

    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 8 &&
        pwrite(fd, &number, 1 + grammar_below(&values, 8),
               grammar_below(&values, (uint32_t)(status.st_size & INT32_MAX) | 1)) < 0)
        ck_assert_int_ne(errno, EIO);
    close(fd);
}

static void resize(const char *name)
{
    int fd = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    off_t sizes[] = {0, 1, grammar_below(&values, 10000), (off_t)1 << 36};

    if (fd < 0)
        return;
    if (ftruncate(fd, sizes[grammar_below(&values, 4)]) < 0)
        ck_assert_int_ne(errno, EIO);
    close(fd);
}

/* Something else in its place. */
static void replace(const char *name)
{
    unlink(name);
    rmdir(name);
    switch (grammar_below(&values, 5)) {
    case 0:
        mkfifo(name, 0600);
        break;
    case 1:
        mkdir(name, 0700);
        break;
    case 2:
        ck_assert(symlink(bait, name) == 0 || errno == EEXIST);
        break;
    case 3:
        ck_assert(symlink("/dev/zero", name) == 0 || errno == EEXIST);
        break;
    default:
        break;
    }
}

static void tamper_once(void)
{
    char names[FILES][NAME_BYTES];
    uint32_t n = list_files(names);
    const char *name = n ? names[grammar_below(&values, n)] : "lock";
    const char *other = n ? names[grammar_below(&values, n)] : "lock";

    switch (grammar_below(&values, 8)) {
    case 0:
        resize(name);
        break;
    case 1:
        replace(name);
        break;
    case 2:
        rename(name, other);
        break;
    case 3:
        ck_assert_int_le(renameat2(AT_FDCWD, name, AT_FDCWD, other, RENAME_EXCHANGE), 0);
        break;
    case 4:
        unlink(other);
        ck_assert_int_le(link(name, other), 0);
        break;
    case 5:
        ck_assert_int_le(chmod(name, grammar_below(&values, 2) ? 0 : 0600), 0);
        break;
    default:
        write_into(name);
        break;
    }
}

/* Hits need quiet moments. */
static void tamper(uint64_t seed)
{
    values.state = seed | 1;
    ck_assert_int_eq(chdir(folder), 0);
    for (;;) {
        const struct timespec pause = {.tv_nsec = 20000 + 1000 * grammar_below(&values, 4000)};

        for (uint32_t i = grammar_below(&values, 4); i > 0; i--)
            tamper_once();
        nanosleep(&pause, NULL);
    }
}

/* -- the folder ----------------------------------------------------------------------------------- */

static void make_places(void)
{
    char bytes[BAIT_BYTES];
    uid_t owner = probe_user_id(USER);
    int fd;

    snprintf(folder, sizeof(folder), "/tmp/nnhal-tamper-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(bait, sizeof(bait), "%s.bait", folder);
    fd = open(bait, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    memset(bytes, 'b', sizeof(bytes));
    ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
    ck_assert_int_eq(fchown(fd, owner, owner), 0);
    close(fd);
    ck_assert_int_eq(chown(folder, owner, owner), 0);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static void remove_places(void)
{
    char bytes[BAIT_BYTES + 1];
    int fd = open(bait, O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(read(fd, bytes, sizeof(bytes)), BAIT_BYTES);
    for (int i = 0; i < BAIT_BYTES; i++)
        ck_assert_int_eq(bytes[i], 'b');
    close(fd);
    unlink(bait);
    ck_assert_int_eq(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* -- applications ----------------------------------------------------------------------------------- */

static pid_t start_user(const char *mode, const char *device, uint64_t seed,
                        struct user_count *count)
{
    const struct user_wish wish = {
        .device = device,
        .seed = seed,
        .n_compilations = victim_number("NN_TEST_ROUNDS", ROUNDS),
        .n_computations = 3,
        .must_succeed = true,
        .cache = folder,
    };
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    probe_become_user(USER);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("NNHAL_MODE", mode, 1);
    setenv("NNHAL_STATE_PATH", folder, 1); /* the host's own map, which is tampered with as well */
    user_main(&wish, count);
    exit(0);
}

static pid_t start_tamperer(uint64_t seed)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    probe_become_user(USER);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tamper(seed);
    _exit(0);
}

/* Returns how many compilations the cache had. */
static uint64_t tamper_with_cache(const char *mode, const char *device, uint64_t seed)
{
    struct user_count *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t tamperer, users[USERS];
    uint64_t n_hits;
    int status;

    make_places();
    tamperer = start_tamperer(seed);
    for (uint32_t i = 0; i < USERS; i++)
        users[i] = start_user(mode, device, seed + i, count);
    for (uint32_t i = 0; i < USERS; i++) {
        ck_assert_int_eq(waitpid(users[i], &status, 0), users[i]);
        ck_assert_msg(status == 0, "an application ended with %#x", (unsigned)status);
    }
    kill(tamperer, SIGKILL);
    ck_assert_int_eq(waitpid(tamperer, &status, 0), tamperer);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the tamperer ended: %#x",
                  (unsigned)status);
    remove_places();
    printf("%s, %s: %llu compilations, %llu hits, longest call %llu ms\n", mode, device,
           (unsigned long long)count->compiled[0], (unsigned long long)count->n_hits,
           (unsigned long long)count->longest_ms);
    fflush(stdout);
    n_hits = count->n_hits;
    munmap(count, sizeof(*count));
    return n_hits;
}

/* A lock that is replaced early leaves no hit: then again, with other numbers. */
static void use_cache(const char *mode, const char *device)
{
    uint64_t seed = victim_number("NN_TEST_SEED", 1), n_hits = 0;

    for (uint32_t i = 0; i < TRIES && !n_hits; i++)
        n_hits = tamper_with_cache(mode, device, seed + i * USERS);
    ck_assert_uint_gt(n_hits, 0);
}

static void use_cache_of_service(const char *name, const char *device)
{
    static struct victim victim;
    struct victim_state before;
    struct probe probe;

    victim_start(&victim, name);
    setenv("NNHAL_SOCKET_PATH", victim.folder, 1);
    use_cache("service", device);
    before = victim_look(&victim);
    probe_start(&probe, victim.path);
    use_cache("service", device);
    probe_stop(&probe, "cache");
    victim_expect_back(&victim, &before, SLACK_KIB);
    victim_stop(&victim);
}

TEST(embedded_with_the_sample_driver)
{
    use_cache("embedded", "nnhal-sample");
}
TEST_END

TEST(embedded_with_the_cpu_driver)
{
    use_cache("embedded", "nnhal-cpu");
}
TEST_END

TEST(in_a_service_of_the_sample_driver)
{
    use_cache_of_service("sample", "nnhal-sample");
}
TEST_END

TEST(in_a_service_of_the_cpu_driver)
{
    use_cache_of_service("cpu", "nnhal-cpu");
}
TEST_END

CHECK_MAIN("tamper", embedded_with_the_sample_driver, embedded_with_the_cpu_driver,
           in_a_service_of_the_sample_driver, in_a_service_of_the_cpu_driver)
