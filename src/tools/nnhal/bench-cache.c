/* SPDX-License-Identifier: Apache-2.0 */
#include "bench-cache.h"

#include "tool.h"

#include <openssl/evp.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 11, AGAIN = 9, PATH_BYTES = 512 };

/* What a child process tells. */
struct told {
    int status;
    uint32_t outcome; /* of the last compilation */
    uint64_t first_ns, again_ns;
    char why[256];
};

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The time that a quarter of them do not exceed. */
static uint64_t lower_quartile(uint64_t *times, size_t n)
{
    qsort(times, n, sizeof(*times), compare_ns);
    return times[n / 4];
}

/* -- one process ------------------------------------------------------------------------ */

/* y = relu(x), one number. */
static ANeuralNetworksModel *make_small(void)
{
    const uint32_t one = 1, x = 0, y = 1;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &one, 0, 0};
    ANeuralNetworksModel *model = NULL;

    ANeuralNetworksModel_create(&model);
    ANeuralNetworksModel_addOperand(model, &tensor);
    ANeuralNetworksModel_addOperand(model, &tensor);
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU, 1, &x, 1, &y);
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &x, 1, &y);
    ANeuralNetworksModel_finish(model);
    return model;
}

/* Compiles something else first, so that the device is reached and its threads run. */
static void wake_device(const struct session *session)
{
    const ANeuralNetworksDevice *device = session->device;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = make_small();

    if (device)
        ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation);
    else
        ANeuralNetworksCompilation_create(model, &compilation);
    ANeuralNetworksCompilation_finish(compilation);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void compile_again(struct session *session, struct told *told)
{
    uint64_t times[AGAIN];

    for (int i = 0; i < AGAIN && told->status == TOOL_OK; i++) {
        told->status = session_compile(session);
        times[i] = session->prepare_ns;
    }
    if (told->status == TOOL_OK)
        told->again_ns = lower_quartile(times, AGAIN);
}

static void child_run(const struct session_options *options, bool is_repeated, struct told *told)
{
    struct session session;

    told->status = session_load(options, &session);
    if (told->status == TOOL_OK) {
        wake_device(&session);
        told->status = session_compile(&session);
    }
    told->first_ns = session.prepare_ns;
    if (told->status == TOOL_OK && is_repeated)
        compile_again(&session, told);
    told->outcome = session.cache.outcome;
    snprintf(told->why, sizeof(told->why), "%s", session.cache.why);
    session_close(&session);
}

/* child_run() in a new process. */
static int child_start(const struct session_options *options, bool is_repeated,
                       struct told *ret_told)
{
    void *shared = mmap(NULL, sizeof(*ret_told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    struct told *told = shared;
    pid_t child;

    if (shared == MAP_FAILED)
        return tool_error(TOOL_FAILED, "out of memory");
    told->status = TOOL_FAILED;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        child_run(options, is_repeated, told);
        exit(0); /* not _exit(): an entry is brought to the disk in the background */
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        tool_error(TOOL_FAILED, "no process can be started");
    *ret_told = *told;
    munmap(shared, sizeof(*told));
    return ret_told->status;
}

/* -- the entry --------------------------------------------------------------------------- */

static bool is_entry(const char *name)
{
    return name[0] != '.' && strcmp(name, "lock") != 0 && strcmp(name, "notes") != 0;
}

/* Calls of a folder's files with their paths; stops at the first that returns false. */
static bool each_file(const char *folder, bool (*see)(const char *path, void *ctx), void *ctx)
{
    DIR *dir = opendir(folder);
    char path[PATH_BYTES];
    struct dirent *entry;
    bool is_good = dir != NULL;

    while (is_good && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%.250s", folder, entry->d_name);
        is_good = !is_entry(entry->d_name) || see(path, ctx);
    }
    if (dir)
        closedir(dir);
    return is_good;
}

static bool evict_file(const char *path, void *ctx)
{
    return unlink(path) == 0;
}

/* Into memory of its own, as a driver has to: the owner of the file may change it. */
static bool read_and_check(const char *path, void *ctx)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t hash[EVP_MAX_MD_SIZE];
    uint64_t *sum = ctx;
    struct stat status;
    uint8_t *bytes = NULL;
    bool is_good = fd >= 0 && fstat(fd, &status) == 0;

    if (is_good)
        bytes = malloc((size_t)status.st_size + 1);
    is_good = bytes && read(fd, bytes, (size_t)status.st_size) == status.st_size &&
              EVP_Digest(bytes, (size_t)status.st_size, hash, NULL, EVP_sha256(), NULL);
    *sum += is_good ? (uint64_t)status.st_size : 0;
    free(bytes);
    if (fd >= 0)
        close(fd);
    return is_good;
}

static int measure_reading(const char *folder, struct cache_times *times)
{
    uint64_t took[AGAIN];

    for (int i = 0; i < AGAIN; i++) {
        uint64_t began = session_now_ns();

        times->n_bytes = 0;
        if (!each_file(folder, read_and_check, &times->n_bytes))
            return tool_error(TOOL_FAILED, "%s: the entry cannot be read", folder);
        took[i] = session_now_ns() - began;
    }
    times->read_ns = lower_quartile(took, AGAIN);
    return TOOL_OK;
}

/* -- rounds ------------------------------------------------------------------------------- */

struct rounds {
    uint64_t compile_first[ROUNDS], compile[ROUNDS], keep[ROUNDS];
    uint64_t first[ROUNDS], again[ROUNDS], read[ROUNDS];
};

/* One of each, one after the other, so that all see the same machine. */
static int measure_round(const struct session_options *options, const char *folder, int i,
                         struct rounds *rounds, struct cache_times *times)
{
    struct session_options uncached = *options, cached = *options;
    struct told told = {0};
    int status = child_start(&uncached, true, &told);

    rounds->compile_first[i] = told.first_ns;
    rounds->compile[i] = told.again_ns;
    cached.cache = folder;
    each_file(folder, evict_file, NULL);
    if (status == TOOL_OK)
        status = child_start(&cached, false, &told);
    rounds->keep[i] = told.first_ns;
    if (status == TOOL_OK && told.outcome == NNHAL_CACHE_COMPILED)
        status = child_start(&cached, true, &told);
    rounds->first[i] = told.first_ns;
    rounds->again[i] = told.again_ns;
    if (status == TOOL_OK && told.outcome == NNHAL_CACHE_HIT)
        status = measure_reading(folder, times);
    else
        snprintf(times->why_not, sizeof(times->why_not), "%s", told.why);
    rounds->read[i] = times->read_ns;
    return status;
}

static int measure_rounds(const struct session_options *options, const char *folder,
                          struct cache_times *times)
{
    struct rounds rounds;
    int status = TOOL_OK, n = 0;

    while (n < ROUNDS && status == TOOL_OK && !times->why_not[0])
        status = measure_round(options, folder, n++, &rounds, times);
    if (status != TOOL_OK)
        return status;
    times->compile_first_ns = lower_quartile(rounds.compile_first, (size_t)n);
    times->compile_ns = lower_quartile(rounds.compile, (size_t)n);
    if (times->why_not[0])
        return TOOL_OK;
    times->keep_ns = lower_quartile(rounds.keep, (size_t)n);
    times->from_cache_first_ns = lower_quartile(rounds.first, (size_t)n);
    times->from_cache_ns = lower_quartile(rounds.again, (size_t)n);
    times->read_ns = lower_quartile(rounds.read, (size_t)n);
    return TOOL_OK;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

int bench_cache(const struct session_options *options, struct cache_times *ret_times)
{
    const char *parent = getenv("TMPDIR");
    char folder[PATH_BYTES / 2];
    int status;

    *ret_times = (struct cache_times){.n_bytes = 0};
    snprintf(folder, sizeof(folder), "%.200s/nnhal-bench-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return tool_error(TOOL_BAD_FILE, "%s cannot be made: set TMPDIR", folder);
    status = measure_rounds(options, folder, ret_times);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}
