/* SPDX-License-Identifier: Apache-2.0 */
/* What calls SQLite, libcrypto and libseccomp. */
#include "failure/scenario-list.h"
#include "failure/world.h"

#include "service/sandbox.h"

#include <nnhal/cache.h>
#include <nnhal/ext.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* -- compilation caching ----------------------------------------------------------------------- */

static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {7};

static const char *entries_path(void)
{
    static char path[80];

    snprintf(path, sizeof(path), "%s/entries", world_folder);
    mkdir(path, 0700);
    return path;
}

/* Waits until the entry that a compilation left is whole: the folder's lock is free. */
static void settle_entries(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct flock lock = {.l_type = F_UNLCK};
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/lock", entries_path());
    fd = open(path, O_RDWR | O_CLOEXEC);
    while (fd >= 0) {
        lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
            break;
        nanosleep(&pause, NULL);
    }
    if (fd >= 0)
        close(fd);
}

/* Each file of an entry is removed, or loses its end. */
static void spoil_entries(bool must_stay)
{
    DIR *dir = opendir(entries_path());
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        struct stat status;

        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lock") == 0 ||
            fstatat(dirfd(dir), entry->d_name, &status, 0) < 0)
            continue;
        if (!must_stay) {
            unlinkat(dirfd(dir), entry->d_name, 0);
        } else {
            int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);

            if (fd >= 0 && ftruncate(fd, status.st_size / 2) < 0)
                unlinkat(dirfd(dir), entry->d_name, 0);
            if (fd >= 0)
                close(fd);
        }
    }
    if (dir)
        closedir(dir);
}

static int compile_cached(uint32_t *ret_outcome)
{
    struct nnhal_cache_info info = {.size = sizeof(info)};
    struct story all, *story = &all;
    int code;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_create_compilation(story);
    STEP(ANeuralNetworksCompilation_setCaching(story->compilation, entries_path(), token));
    STEP(ANeuralNetworksCompilation_finish(story->compilation));
    STEP(nnhal_compilation_get_cache_info(story->compilation, &info));
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &story->executions[0])))
        story_set_arguments(story, story->executions[0]);
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    story_check(story, story->z);
    if (ret_outcome)
        *ret_outcome = info.outcome;
    code = story_end(story);
    settle_entries();
    return code;
}

int scenario_cache(void)
{
    spoil_entries(false);
    return compile_cached(NULL);
}

int scenario_cache_hit(void)
{
    int code = compile_cached(NULL);

    return code ? code : compile_cached(NULL);
}

int scenario_cache_damaged(void)
{
    int code = compile_cached(NULL);

    if (code == 0) {
        spoil_entries(true);
        code = compile_cached(NULL);
    }
    return code;
}

int scenario_recover_cached(void)
{
    int code = compile_cached(NULL);

    if (code == 0)
        world_end_sessions();
    return code ? code : compile_cached(NULL);
}

static int count_entry(void *ctx, const struct nnhal_folder_entry *entry)
{
    ++*(int *)ctx;
    return 0;
}

static int folder_code(int r)
{
    return r == 0 ? 0 : r == -ENOMEM ? ANEURALNETWORKS_OUT_OF_MEMORY : ANEURALNETWORKS_OP_FAILED;
}

/* As `nnhal cache` does. */
int scenario_folder(void)
{
    int code = compile_cached(NULL), n_listed = 0, n_verified = 0;

    if (code == 0)
        code = folder_code(nnhal_folder_list(entries_path(), count_entry, &n_listed));
    if (code == 0)
        code = folder_code(nnhal_folder_verify(entries_path(), count_entry, &n_verified));
    if (code == 0 && n_listed != n_verified)
        code = SCENARIO_WRONG;
    return code ? code : folder_code(nnhal_folder_clear(entries_path()));
}

/* -- a store ---------------------------------------------------------------------------------------- */

enum { LARGE = 100000 };

static uint8_t values[2][LARGE];

/* What comes back is what was set, or nothing. */
static int get_value(struct nnhal_store *store, const char *key, size_t n)
{
    static uint8_t buffer[LARGE];
    size_t n_found = 0;
    int r = nnhal_store_get(store, key, strlen(key), buffer, sizeof(buffer), &n_found);

    if (r == 0 && (n_found != n || memcmp(buffer, values[0], n) != 0))
        return SCENARIO_WRONG;
    return r == 0 || r == NNHAL_STORE_E_NONE ? 0 : ANEURALNETWORKS_OP_FAILED;
}

static int use_store(struct nnhal_store *store)
{
    static const size_t sizes[] = {10, LARGE};
    static const char *const keys[] = {"small", "large"};
    int r = 0;

    for (int i = 0; r == 0 && i < 2; i++) {
        if (nnhal_store_set(store, keys[i], 5, values[0], sizes[i]) < 0)
            r = ANEURALNETWORKS_OP_FAILED;
        if (r == 0)
            r = get_value(store, keys[i], sizes[i]);
    }
    if (r == 0 && nnhal_store_remove(store, "small", 5) < 0)
        r = ANEURALNETWORKS_OP_FAILED;
    return r;
}

static int with_store(const struct nnhal_store_options *options,
                      int (*use)(struct nnhal_store *store))
{
    struct nnhal_store *store = NULL;
    char path[80];
    int r;

    snprintf(path, sizeof(path), "%s/store", world_folder);
    memset(values[0], 0x5a, LARGE);
    r = nnhal_store_open(path, options, &store);
    if (r != 0)
        return r < 0 ? ANEURALNETWORKS_OP_FAILED : SCENARIO_WRONG;
    r = use(store);
    nnhal_store_close(store);
    return r;
}

int scenario_store(void)
{
    return with_store(NULL, use_store);
}

static int count_value(void *ctx, const struct nnhal_store_entry *entry)
{
    ++*(int *)ctx;
    return 0;
}

/* As `nnhal cache` does. */
static int look_at_store(struct nnhal_store *store)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    int n_listed = 0, r = use_store(store);

    if (r != 0)
        return r;
    if (nnhal_store_list(store, count_value, &n_listed) != 0 ||
        nnhal_store_verify(store, NULL, NULL) != 0 || nnhal_store_get_stats(store, &stats) != 0 ||
        nnhal_store_clear(store) != 0)
        return ANEURALNETWORKS_OP_FAILED;
    return n_listed <= 2 ? 0 : SCENARIO_WRONG;
}

int scenario_store_list(void)
{
    return with_store(NULL, look_at_store);
}

static int fill_store(struct nnhal_store *store)
{
    char key[16]; /* room for any number, though only two digits are used */
    int r = 0;

    for (int i = 0; r == 0 && i < 15; i++) {
        snprintf(key, sizeof(key), "key-%02d", i);
        if (nnhal_store_set(store, key, 6, values[0], LARGE) < 0)
            r = ANEURALNETWORKS_OP_FAILED;
        if (r == 0)
            r = get_value(store, key, LARGE);
    }
    return r;
}

int scenario_store_full(void)
{
    const struct nnhal_store_options options = {
        .size = sizeof(options),
        .max_total_bytes = 1 << 20,
        .selection = NNHAL_STORE_RANDOM,
    };

    return with_store(&options, fill_store);
}

/* -- a sandbox ------------------------------------------------------------------------------------ */

/* It is closed, or says that it is not. */
static int close_sandbox(void)
{
    static const struct nn_grants grants;
    const struct nn_sandbox_options options = {.grants = &grants};
    struct nn_sandbox_report report = {0};

    if (nn_sandbox_close(&options, &report) < 0 || nn_sandbox_tighten(&options, &report) < 0)
        return ANEURALNETWORKS_OP_FAILED;
    if (report.has_seccomp &&
        (socket(AF_INET, SOCK_STREAM, 0) >= 0 || open("/etc/passwd", O_RDWR) >= 0))
        return 99;
    return 0;
}

int scenario_sandbox(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(close_sandbox());
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) == 99)
        return SCENARIO_WRONG;
    return WEXITSTATUS(status);
}
