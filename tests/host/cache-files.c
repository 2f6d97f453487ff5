/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cache-files.h"

#include "base/cleanup.h"
#include "drivers/cpu/cpu.h"
#include "support/fake-driver.h"
#include "support/loopback.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    N_ELEMENTS = 6,
};

const uint8_t cache_token_a[NNHAL_CACHE_TOKEN_BYTES] = {1, 2, 3};
const uint8_t cache_token_b[NNHAL_CACHE_TOKEN_BYTES] = {1, 2, 4};

const struct cache_chain cache_chains[CACHE_CHAIN_N] = {
    {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 2, 0},
    {NNHAL_OP_ADD, NNHAL_TENSOR_QUANT8_ASYMM, 2, 0},
    {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 100, 0},
    {NNHAL_OP_ADD, NNHAL_TENSOR_QUANT8_ASYMM, 100, 0},
};

struct cache_chain cache_mul_of(const struct cache_chain *chain)
{
    struct cache_chain mul = *chain;

    mul.operation = NNHAL_OP_MUL;
    return mul;
}

uint32_t cache_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* -- the fake driver's cache: two and three files whose bytes tell what they are of ------ */

static char fake_bytes[5][64];

static void fake_hand_over(const struct nnhal_prepare *prepare)
{
    struct nnhal_cache *cache = prepare->cache;

    for (uint32_t i = 0; cache && i < 5; i++) {
        struct nnhal_cache_buffer *buffer = i < 2 ? &cache->model_files[i]
                                                  : &cache->data_files[i - 2];
        const struct nnhal_subgraph *main = &prepare->model.model->main;

        snprintf(fake_bytes[i], sizeof(fake_bytes[i]), "file %u of %u operations of type %u", i,
                 main->n_operations, main->operations[0].type);
        *buffer = (struct nnhal_cache_buffer){fake_bytes[i], strlen(fake_bytes[i]) + 1};
    }
}

static uint32_t fake_prepare_from_cache(void *device,
                                        const struct nnhal_prepare_from_cache *prepare,
                                        void **ret_prepared)
{
    unsigned n, type, i;

    ck_assert_uint_eq(prepare->cache->n_model_files, 2);
    ck_assert_uint_eq(prepare->cache->n_data_files, 3);
    for (uint32_t f = 0; f < 2; f++) {
        const char *text = prepare->cache->model_files[f].bytes;

        /* Nothing that this driver has not written may come here. */
        ck_assert_int_eq(sscanf(text, "file %u of %u operations of type %u", &i, &n, &type), 3);
        ck_assert_uint_eq(i, f);
    }
    fake.n_prepared++;
    *ret_prepared = malloc(1);
    return NNHAL_NONE;
}

/* -- opening ------------------------------------------------------------------------------ */

static void on_cache_written(void *ctx, const struct nn_hal_cache_written_event *event)
{
    struct cache_desk *desk = ctx;

    __atomic_store_n(&desk->written_model, event->prepared_model, __ATOMIC_RELEASE);
    __atomic_add_fetch(&desk->n_written, 1, __ATOMIC_RELEASE);
}

static void open_driver(struct cache_desk *desk)
{
    struct nn_host_why why = {.text = ""};
    int r;

    if (desk->driver == CACHE_SAMPLE)
        r = nn_host_open_module(desk_sample(), desk->configuration, &why, &desk->desk.host);
    else
        r = nn_host_open_builtin(desk->driver == CACHE_CPU ? nn_cpu_driver_main : fake_main, NULL,
                                 &why, &desk->desk.host);
    ck_assert_msg(r == 0, "%s", why.text);
}

static void open_host(struct cache_desk *desk, uint32_t uid)
{
    const struct nn_host_session_options options = {
        .uid = uid, .listener = {.ctx = desk, .cache_written = on_cache_written}};
    struct nn_hal_get_device_info_args args = {0};
    struct nn_hal_get_device_info_reply reply;
    char state[sizeof(desk->folder) + 8];

    open_driver(desk);
    snprintf(state, sizeof(state), "%s/state", desk->folder);
    ck_assert_int_eq(nn_host_open_tokens(desk->desk.host, state), 0);
    ck_assert_int_eq(nn_host_open_session(desk->desk.host, &options, &desk->desk.hal), 0);
    if (NN_TEST_OVER_WIRE)
        desk->desk.hal = loopback_hal(desk->desk.hal, NULL);
    nn_arena_init(&desk->desk.arena, 0);
    ck_assert_uint_eq(nn_hal_get_device_info(desk->desk.hal, &args, &reply, &desk->desk.arena),
                      NNHAL_NONE);
    desk->n_model = reply.n_model_cache_files;
    desk->n_data = reply.n_data_cache_files;
    desk->written_model = 0;
    desk->memory = desk_memory(&desk->desk, 4096);
}

bool cache_can(enum cache_driver driver, const struct cache_chain *chain)
{
    return driver != CACHE_SAMPLE || chain->type == NNHAL_TENSOR_FLOAT32;
}

void cache_open(struct cache_desk *desk, enum cache_driver driver)
{
    const char *parent = getenv("TMPDIR");

    memset(desk, 0, sizeof(*desk));
    desk->driver = driver;
    snprintf(desk->folder, sizeof(desk->folder), "%.40s/nnhal-cache-XXXXXX",
             parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(desk->folder));
    fake_reset();
    fake.driver.n_model_cache_files = 2;
    fake.driver.n_data_cache_files = 3;
    fake.driver.prepare_from_cache = fake_prepare_from_cache;
    fake.on_prepare = fake_hand_over;
    open_host(desk, 1000);
}

static void close_host(struct cache_desk *desk)
{
    desk_close(&desk->desk);
    memset(&desk->desk, 0, sizeof(desk->desk));
}

void cache_reopen(struct cache_desk *desk, uint32_t uid)
{
    close_host(desk);
    open_host(desk, uid);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

void cache_close(struct cache_desk *desk)
{
    close_host(desk);
    ck_assert_int_eq(nftw(desk->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* -- files --------------------------------------------------------------------------------- */

const char *cache_path(struct cache_desk *desk, const char *name, bool is_model, uint32_t i)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s-%s%u", desk->folder, name, is_model ? "model" : "data",
             i);
    return path;
}

void cache_files_open(struct cache_desk *desk, const char *name, int flags,
                      struct cache_files *files)
{
    memset(files, 0, sizeof(*files));
    files->n_model = desk->n_model;
    files->n_data = desk->n_data;
    for (uint32_t i = 0; i < desk->n_model + desk->n_data; i++) {
        bool is_model = i < desk->n_model;
        uint32_t k = is_model ? i : i - desk->n_model;
        int fd = open(cache_path(desk, name, is_model, k), flags | O_CLOEXEC, 0600);

        ck_assert_int_ge(fd, 0);
        *(is_model ? &files->model[k] : &files->data[k]) = fd;
    }
}

void cache_files_close(struct cache_files *files)
{
    for (uint32_t i = 0; i < NNHAL_MAX_CACHE_FILES; i++) {
        if (i < files->n_model)
            closep(&files->model[i]);
        if (i < files->n_data)
            closep(&files->data[i]);
    }
}

size_t cache_read(const char *path, uint8_t **ret_bytes)
{
    FILE *file = fopen(path, "re");
    size_t n;

    ck_assert_ptr_nonnull(file);
    *ret_bytes = malloc(1 << 22);
    n = fread(*ret_bytes, 1, 1 << 22, file);
    fclose(file);
    return n;
}

void cache_write(const char *path, const uint8_t *bytes, size_t n_bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, n_bytes, 0), (ssize_t)n_bytes);
    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    close(fd);
}

void cache_copy(struct cache_desk *desk, const char *from, const char *to, unsigned kinds)
{
    for (uint32_t i = 0; i < desk->n_model + desk->n_data; i++) {
        bool is_model = i < desk->n_model;
        uint32_t k = is_model ? i : i - desk->n_model;
        _cleanup_(freep) uint8_t *bytes = NULL;
        size_t n;

        if (!(kinds & (is_model ? 1U : 2U)))
            continue;
        n = cache_read(cache_path(desk, from, is_model, k), &bytes);
        cache_write(cache_path(desk, to, is_model, k), bytes, n);
    }
}

/* -- models --------------------------------------------------------------------------------- */

static void make_operand(struct nnhal_operand *operand, uint32_t type, uint32_t lifetime,
                         uint32_t n_dimensions, const uint32_t *dimensions)
{
    *operand = (struct nnhal_operand){
        .type = type,
        .lifetime = lifetime,
        .scale = type == NNHAL_TENSOR_QUANT8_ASYMM ? 0.5f : 0,
        .n_dimensions = n_dimensions,
        .dimensions = dimensions,
    };
}

/* x0 (operand 0), the constant (1), the activation (2), x1 .. xn (3 ..). In arena. */
static void make_chain(const struct cache_chain *chain, struct nn_arena *arena,
                       struct nnhal_model *model)
{
    static const uint32_t whole[2] = {1, N_ELEMENTS}, open_dims[2] = {0, N_ELEMENTS}, one[1] = {1};
    static const uint32_t first[1] = {0};
    const uint32_t *dims = chain->is_open ? open_dims : whole;
    uint32_t n = chain->n_operations, is_float = chain->type == NNHAL_TENSOR_FLOAT32;
    struct nnhal_operand *operands = nn_arena_new_n(arena, struct nnhal_operand, n + 3);
    struct nnhal_operation *operations = nn_arena_new_n(arena, struct nnhal_operation, n);
    uint32_t *lists = nn_arena_new_n(arena, uint32_t, 4 * n);
    uint8_t *values = nn_arena_alloc(arena, 8);
    const float number = 1.0f;

    /* 1.0 as a float; 2 steps of 0.5. Then the activation NONE. */
    if (is_float)
        memcpy(values, &number, sizeof(number));
    else
        values[0] = 2;
    make_operand(&operands[0], chain->type, NNHAL_SUBGRAPH_INPUT, 2, dims);
    make_operand(&operands[1], chain->type, NNHAL_CONSTANT_COPY, 1, one);
    operands[1].location.length = is_float ? 4 : 1;
    make_operand(&operands[2], NNHAL_INT32, NNHAL_CONSTANT_COPY, 0, NULL);
    operands[2].location = (struct nnhal_data_location){.offset = 4, .length = 4};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *list = lists + 4 * (size_t)i;

        make_operand(&operands[3 + i], chain->type,
                     i + 1 == n ? NNHAL_SUBGRAPH_OUTPUT : NNHAL_TEMPORARY_VARIABLE, 2, dims);
        list[0] = i ? 2 + i : 0;
        list[1] = 1;
        list[2] = 2;
        list[3] = 3 + i;
        operations[i] = (struct nnhal_operation){.type = chain->operation,
                                                 .n_inputs = 3,
                                                 .inputs = list,
                                                 .n_outputs = 1,
                                                 .outputs = list + 3};
    }
    memset(model, 0, sizeof(*model));
    model->main = (struct nnhal_subgraph){.n_operands = n + 3,
                                          .n_operations = n,
                                          .n_input_indexes = 1,
                                          .n_output_indexes = 1,
                                          .operands = operands,
                                          .operations = operations,
                                          .input_indexes = first,
                                          .output_indexes = &lists[4 * (size_t)n - 1]};
    model->operand_values = (struct nnhal_bytes){.data = values, .size = 8};
}

uint64_t cache_prepare(struct cache_desk *desk, const struct cache_chain *chain,
                       const struct cache_files *files, const uint8_t *token, bool *ret_is_cached)
{
    struct nn_hal_prepare_model_args args = {
        .preference = NNHAL_FAST_SINGLE_ANSWER,
        .priority = NNHAL_PRIORITY_MEDIUM,
        .deadline_ns = NNHAL_NO_TIME,
        .n_model_cache = files->n_model,
        .n_data_cache = files->n_data,
        .model_cache = files->model,
        .data_cache = files->data,
    };
    struct nn_hal_prepare_model_reply reply;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    make_chain(chain, &arena, &args.model);
    memcpy(args.token, token, sizeof(args.token));
    ck_assert_uint_eq(nn_hal_prepare_model(desk->desk.hal, &args, &reply, &arena), NNHAL_NONE);
    ck_assert_uint_ne(reply.prepared_model, 0);
    *ret_is_cached = __atomic_load_n(&desk->written_model, __ATOMIC_ACQUIRE) ==
                     reply.prepared_model;
    nn_arena_done(&arena);
    return reply.prepared_model;
}

uint32_t cache_load(struct cache_desk *desk, const struct cache_files *files, const uint8_t *token,
                    uint64_t *ret_prepared)
{
    struct nn_hal_prepare_model_from_cache_args args = {
        .deadline_ns = NNHAL_NO_TIME,
        .n_model_cache = files->n_model,
        .n_data_cache = files->n_data,
        .model_cache = files->model,
        .data_cache = files->data,
    };
    struct nn_hal_prepare_model_from_cache_reply reply;
    struct nn_arena arena;
    uint32_t status;

    nn_arena_init(&arena, 0);
    memcpy(args.token, token, sizeof(args.token));
    status = nn_hal_prepare_model_from_cache(desk->desk.hal, &args, &reply, &arena);
    ck_assert_int_eq(status == NNHAL_NONE, reply.prepared_model != 0);
    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    *ret_prepared = reply.prepared_model;
    nn_arena_done(&arena);
    return status;
}

/* Outputs are inputs plus n (ADD of 1.0) or the inputs themselves (MUL by 1.0); bytes count
 * halves. The fake driver's outputs are its inputs. */
bool cache_computes(struct cache_desk *desk, const struct cache_chain *chain, uint64_t prepared)
{
    bool is_float = chain->type == NNHAL_TENSOR_FLOAT32;
    uint32_t added = chain->operation == NNHAL_OP_ADD && desk->driver != CACHE_FAKE
                         ? chain->n_operations
                         : 0;
    uint32_t n_bytes = N_ELEMENTS * (is_float ? 4 : 1);
    uint8_t *bytes = desk_bytes(&desk->desk, desk->memory);
    float *numbers = desk_bytes(&desk->desk, desk->memory);
    bool is_right = true;

    for (uint32_t i = 0; i < N_ELEMENTS; i++) {
        if (is_float)
            numbers[i] = (float)i;
        else
            bytes[i] = (uint8_t)(i + 1);
    }
    desk_begin(&desk->desk);
    desk_input(&desk->desk, DIMS(1, N_ELEMENTS), desk->memory, 0, n_bytes);
    desk_output(&desk->desk, DIMS(1, N_ELEMENTS), desk->memory, 1024, n_bytes);
    ck_assert_uint_eq(desk_execute(&desk->desk, prepared), NNHAL_NONE);
    for (uint32_t i = 0; i < N_ELEMENTS; i++) {
        uint32_t wanted = i + 1 + 2 * added;

        if (is_float)
            is_right = is_right && numbers[256 + i] == (float)(i + added);
        else
            is_right = is_right && bytes[1024 + i] == (wanted > 255 ? 255 : wanted);
    }
    nn_arena_reset(&desk->desk.arena);
    return is_right;
}

bool cache_runs(struct cache_desk *desk, const struct cache_chain *chain, uint64_t prepared)
{
    bool is_right = cache_computes(desk, chain, prepared);

    desk_free_prepared(&desk->desk, prepared);
    nn_arena_reset(&desk->desk.arena);
    return is_right;
}

/* -- together ------------------------------------------------------------------------------- */

void cache_save(struct cache_desk *desk, const struct cache_chain *chain, const char *name,
                const uint8_t *token)
{
    struct cache_files files;
    bool is_cached;

    cache_files_open(desk, name, O_RDWR | O_CREAT, &files);
    ck_assert(cache_runs(desk, chain, cache_prepare(desk, chain, &files, token, &is_cached)));
    ck_assert(is_cached);
    cache_files_close(&files);
}

uint32_t cache_try(struct cache_desk *desk, const char *name, const uint8_t *token,
                   uint64_t *ret_prepared)
{
    struct cache_files files;
    uint32_t status;

    cache_files_open(desk, name, O_RDWR, &files);
    status = cache_load(desk, &files, token, ret_prepared);
    cache_files_close(&files);
    return status;
}
