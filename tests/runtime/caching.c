/* SPDX-License-Identifier: Apache-2.0 */
#include "caching.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MODEL_BYTES = 256, MAX_DATA_BYTES = 1 << 20 };

const uint8_t token_a[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1};
const uint8_t token_b[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {2};

char caching_root[64], caching_folder[80], caching_state[80];
struct caching_counts *caching_counts;
bool caching_keeps_nothing;
void (*caching_on_prepare)(void);

/* -- the driver: one model file, one data file --------------------------------------- */

static uint8_t kept_model[2][MODEL_BYTES];
static uint8_t *kept_data[2];
static size_t n_data;

static unsigned kind_of(uint32_t operation)
{
    return operation == NNHAL_OP_MUL;
}

static void hand_over(const struct nnhal_prepare *prepare)
{
    unsigned kind = kind_of(prepare->model.model->main.operations[0].type);

    caching_counts->n_compiled++;
    if (caching_on_prepare)
        caching_on_prepare();
    if (!prepare->cache || caching_keeps_nothing)
        return;
    prepare->cache->model_files[0] = (struct nnhal_cache_buffer){kept_model[kind], MODEL_BYTES};
    prepare->cache->data_files[0] = (struct nnhal_cache_buffer){kept_data[kind], n_data};
}

static uint32_t prepare_from_cache(void *device, const struct nnhal_prepare_from_cache *prepare,
                                   void **ret_prepared)
{
    const struct nnhal_cache *cache = prepare->cache;
    unsigned kind;

    ck_assert_uint_eq(cache->model_files[0].size, MODEL_BYTES);
    ck_assert_uint_eq(cache->data_files[0].size, n_data);
    kind = *(const uint8_t *)cache->model_files[0].bytes;
    ck_assert_uint_lt(kind, 2);
    ck_assert_mem_eq(cache->model_files[0].bytes, kept_model[kind], MODEL_BYTES);
    ck_assert_mem_eq(cache->data_files[0].bytes, kept_data[kind], n_data);
    caching_counts->n_from_cache++;
    fake.n_prepared++;
    *ret_prepared = malloc(1);
    return NNHAL_NONE;
}

static void fill_driver(uint8_t *bytes, size_t n_bytes, uint32_t seed)
{
    for (size_t i = 0; i < n_bytes; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

static void driver_init(size_t n_data_bytes)
{
    n_data = n_data_bytes;
    for (unsigned kind = 0; kind < 2; kind++) {
        fill_driver(kept_model[kind], MODEL_BYTES, kind);
        kept_model[kind][0] = (uint8_t)kind;
        kept_data[kind] = realloc(kept_data[kind], n_data);
        fill_driver(kept_data[kind], n_data, kind + 2);
    }
    caching_keeps_nothing = false;
    caching_on_prepare = NULL;
    fake.on_prepare = hand_over;
    fake.driver.n_model_cache_files = 1;
    fake.driver.n_data_cache_files = 1;
    fake.driver.prepare_from_cache = prepare_from_cache;
}

/* -- folders --------------------------------------------------------------------------- */

void caching_init(size_t n_data_bytes)
{
    const char *parent = getenv("TMPDIR");

    rt_init();
    caching_counts = mmap(NULL, sizeof(*caching_counts), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(caching_counts, MAP_FAILED);
    snprintf(caching_root, sizeof(caching_root), "%.36s/nnhal-caching-XXXXXX",
             parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(caching_root));
    snprintf(caching_folder, sizeof(caching_folder), "%s/entries", caching_root);
    snprintf(caching_state, sizeof(caching_state), "%s/state", caching_root);
    ck_assert_int_eq(mkdir(caching_folder, 0700), 0);
    ck_assert_int_eq(mkdir(caching_state, 0700), 0);
    setenv("NNHAL_STATE_PATH", caching_state, 1);
    driver_init(n_data_bytes);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

void caching_done(void)
{
    ck_assert_int_eq(nftw(caching_root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    for (unsigned kind = 0; kind < 2; kind++) {
        free(kept_data[kind]);
        kept_data[kind] = NULL;
    }
}

unsigned caching_list(char *path, size_t n_bytes)
{
    DIR *dir = opendir(caching_folder);
    struct dirent *entry;
    unsigned n = 0;

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lock") ||
            !strcmp(entry->d_name, "notes"))
            continue;
        n++;
        if (path)
            snprintf(path, n_bytes, "%s/%s", caching_folder, entry->d_name);
    }
    closedir(dir);
    return n;
}

void caching_path(const char *end, char *path, size_t n_bytes)
{
    ck_assert_uint_gt(caching_list(path, n_bytes), 0);
    strcpy(path + strlen(path) - strlen(end), end);
}

/* -- compilations ------------------------------------------------------------------------ */

static void compute_once(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution *execution;
    float x[4] = {1, 2, 3, 4}, y[4] = {0}, z[4] = {0};

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(z, x, sizeof(z));
    ANeuralNetworksExecution_free(execution);
}

uint32_t caching_compile_unsettled(struct how how, char why[256])
{
    const ANeuralNetworksDevice *device = RT_FAKE;
    struct nnhal_cache_info info = {.size = sizeof(info)};
    ANeuralNetworksModel *model = rt_model_of(how.operation, 4);
    ANeuralNetworksCompilation *compilation;

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_setPreference(compilation, how.preference));
    if (how.path)
        OK(ANeuralNetworksCompilation_setCaching(compilation, how.path, how.token));
    if (how.timeout_ns)
        OK(ANeuralNetworksCompilation_setTimeout(compilation, how.timeout_ns));
    BAD_STATE(nnhal_compilation_get_cache_info(compilation, &info));
    OK(ANeuralNetworksCompilation_finish(compilation));
    BAD_STATE(ANeuralNetworksCompilation_setCaching(compilation, caching_folder, token_a));
    OK(nnhal_compilation_get_cache_info(compilation, &info));
    ck_assert_int_eq(info.outcome == NNHAL_CACHE_NONE, info.why[0] == '\0');
    snprintf(why, 256, "%s", info.why);
    compute_once(compilation);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return info.outcome;
}

void caching_settle(const char *path)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    struct flock lock;
    char name[128];
    int fd;

    snprintf(name, sizeof(name), "%s/lock", path);
    fd = open(name, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    for (;;) {
        lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
        ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
        if (lock.l_type == F_UNLCK)
            break;
        nanosleep(&nap, NULL);
    }
    close(fd);
}

uint32_t caching_compile(struct how how, char why[256])
{
    uint32_t outcome = caching_compile_unsettled(how, why);

    if (outcome == NNHAL_CACHE_COMPILED)
        caching_settle(how.path);
    return outcome;
}

/* -- processes ----------------------------------------------------------------------------- */

pid_t caching_start(int (*body)(void *ctx), void *ctx)
{
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(body(ctx));
    return child;
}

int caching_in_child(int (*body)(void *ctx), void *ctx)
{
    pid_t child = caching_start(body, ctx);
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}
