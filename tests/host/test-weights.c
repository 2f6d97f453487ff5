/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of one user hold the weights of one model once. */
#include "drivers/cpu/cpu.h"
#include "host/desk.h"
#include "support/check-main.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    N_IN = 256,
    N_OUT = 1 << 14,
    WEIGHTS_BYTES = N_IN * N_OUT * 4,
    MIB = 1 << 20,
};

static const uint8_t token[NNHAL_CACHE_TOKEN_BYTES] = {7, 7};

/* A service with the CPU driver, and its clients. */
struct office {
    struct nn_host *host;
    char folder[64];
};

struct client {
    struct desk desk;
    uint64_t memory; /* of arguments */
    uint64_t prepared;
};

static void office_open(struct office *office, enum nn_host_sharing sharing)
{
    const char *parent = getenv("TMPDIR");

    snprintf(office->folder, sizeof(office->folder), "%.40s/nnhal-weights-XXXXXX",
             parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(office->folder));
    ck_assert_int_eq(nn_host_open_builtin(nn_cpu_driver_main, NULL, NULL, &office->host), 0);
    ck_assert_int_eq(nn_host_open_tokens(office->host, office->folder), 0);
    nn_host_share_weights(office->host, sharing);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

static void office_close(struct office *office)
{
    nn_host_unref(office->host);
    ck_assert_int_eq(nftw(office->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void client_open(struct office *office, uint32_t uid, struct client *client)
{
    const struct nn_host_session_options options = {.uid = uid};

    memset(client, 0, sizeof(*client));
    client->desk.host = office->host;
    ck_assert_int_eq(nn_host_open_session(office->host, &options, &client->desk.hal), 0);
    nn_arena_init(&client->desk.arena, 0);
    client->memory = desk_memory(&client->desk, (N_IN + N_OUT) * 4);
}

static void client_close(struct client *client)
{
    nn_host_ref(client->desk.host);
    desk_close(&client->desk);
}

/* -- the model: one layer ------------------------------------------------------------------- */

static void make_model(struct client *client, uint64_t pool, struct nnhal_model *model)
{
    static const uint32_t in_dims[] = {1, N_IN}, dims[] = {N_OUT, N_IN}, units[] = {N_OUT};
    static const uint32_t out_dims[] = {1, N_OUT}, inputs[] = {0, 1, 2, 3}, outputs[] = {4};
    static const uint8_t no_activation[4] = {0};
    struct nn_arena *arena = &client->desk.arena;
    struct nnhal_operand *o = nn_arena_new_n(arena, struct nnhal_operand, 5);
    struct nnhal_operation *operation = nn_arena_new(arena, struct nnhal_operation);

    o[0] = (struct nnhal_operand){.type = NNHAL_TENSOR_FLOAT32,
                                  .lifetime = NNHAL_SUBGRAPH_INPUT,
                                  .n_dimensions = 2,
                                  .dimensions = in_dims};
    o[1] = (struct nnhal_operand){.type = NNHAL_TENSOR_FLOAT32,
                                  .lifetime = NNHAL_CONSTANT_REFERENCE,
                                  .n_dimensions = 2,
                                  .dimensions = dims,
                                  .location = {.length = WEIGHTS_BYTES}};
    o[2] = (struct nnhal_operand){.type = NNHAL_TENSOR_FLOAT32,
                                  .lifetime = NNHAL_CONSTANT_REFERENCE,
                                  .n_dimensions = 1,
                                  .dimensions = units,
                                  .location = {.offset = WEIGHTS_BYTES, .length = N_OUT * 4}};
    o[3] = (struct nnhal_operand){
        .type = NNHAL_INT32, .lifetime = NNHAL_CONSTANT_COPY, .location = {.length = 4}};
    o[4] = (struct nnhal_operand){.type = NNHAL_TENSOR_FLOAT32,
                                  .lifetime = NNHAL_SUBGRAPH_OUTPUT,
                                  .n_dimensions = 2,
                                  .dimensions = out_dims};
    *operation = (struct nnhal_operation){.type = NNHAL_OP_FULLY_CONNECTED,
                                          .n_inputs = 4,
                                          .inputs = inputs,
                                          .n_outputs = 1,
                                          .outputs = outputs};
    *model = (struct nnhal_model){.main = {.n_operands = 5,
                                           .n_operations = 1,
                                           .n_input_indexes = 1,
                                           .n_output_indexes = 1,
                                           .operands = o,
                                           .operations = operation,
                                           .input_indexes = inputs,
                                           .output_indexes = outputs},
                                  .n_pools = 1,
                                  .pools = nn_arena_dup(arena, &pool, sizeof(pool)),
                                  .operand_values = {sizeof(no_activation), no_activation}};
}

static void open_files(const struct office *office, int32_t fds[2])
{
    for (int i = 0; i < 2; i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/entry%d", office->folder, i);
        fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fds[i], 0);
    }
}

/* Unit i weighs its first input with i; everything else with nothing. */
static void compile(const struct office *office, struct client *client)
{
    struct desk *desk = &client->desk;
    uint64_t pool = desk_memory(desk, WEIGHTS_BYTES + N_OUT * 4);
    float *weights = desk_bytes(desk, pool);
    int32_t fds[2];
    struct nn_hal_prepare_model_args args = {.preference = NNHAL_FAST_SINGLE_ANSWER,
                                             .priority = NNHAL_PRIORITY_MEDIUM,
                                             .deadline_ns = NNHAL_NO_TIME,
                                             .n_model_cache = 1,
                                             .n_data_cache = 1,
                                             .model_cache = &fds[0],
                                             .data_cache = &fds[1]};
    struct nn_hal_prepare_model_reply reply;

    for (uint32_t i = 0; i < N_OUT; i++)
        weights[(size_t)i * N_IN] = (float)i;
    open_files(office, fds);
    memcpy(args.token, token, sizeof(token));
    make_model(client, pool, &args.model);
    ck_assert_uint_eq(nn_hal_prepare_model(desk->hal, &args, &reply, &desk->arena), NNHAL_NONE);
    client->prepared = reply.prepared_model;
    close(fds[0]);
    close(fds[1]);
}

static uint32_t load(const struct office *office, struct client *client)
{
    int32_t fds[2];
    struct nn_hal_prepare_model_from_cache_args args = {.deadline_ns = NNHAL_NO_TIME,
                                                        .n_model_cache = 1,
                                                        .n_data_cache = 1,
                                                        .model_cache = &fds[0],
                                                        .data_cache = &fds[1]};
    struct nn_hal_prepare_model_from_cache_reply reply;
    uint32_t status;

    open_files(office, fds);
    memcpy(args.token, token, sizeof(token));
    status = nn_hal_prepare_model_from_cache(client->desk.hal, &args, &reply, &client->desk.arena);
    client->prepared = reply.prepared_model;
    close(fds[0]);
    close(fds[1]);
    return status;
}

static void expect_right(struct client *client, float number)
{
    float *numbers = desk_bytes(&client->desk, client->memory);

    numbers[0] = number;
    desk_begin(&client->desk);
    desk_input(&client->desk, 0, NULL, client->memory, 0, N_IN * 4);
    desk_output(&client->desk, 0, NULL, client->memory, N_IN * 4, N_OUT * 4);
    ck_assert_uint_eq(desk_execute(&client->desk, client->prepared), NNHAL_NONE);
    for (uint32_t i = 0; i < N_OUT; i++)
        ck_assert(numbers[N_IN + i] == number * (float)i);
}

/* -- what this process holds ------------------------------------------------------------------ */

/* Mappings of shared weights. */
static unsigned count_shared(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512];
    unsigned n = 0;

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file))
        n += strstr(line, "nnhal-weights") != NULL;
    fclose(file);
    return n;
}

static long resident_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[512];
    long n_kib = -1;

    while (file && n_kib < 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "Rss: %ld kB", &n_kib) != 1)
            n_kib = -1;
    if (file)
        fclose(file);
    return n_kib < 0 ? -1 : n_kib * 1024;
}

/* -- tests ------------------------------------------------------------------------------------- */

TEST(a_second_client_costs_no_copy)
{
    struct client first, second;
    struct office office;
    long before, grown;

    office_open(&office, NN_HOST_SHARING_UID);
    client_open(&office, 1000, &first);
    client_open(&office, 1000, &second);
    compile(&office, &first);
    ck_assert_uint_eq(count_shared(), 1);
    expect_right(&first, 2);
    before = resident_bytes();
    ck_assert_uint_eq(load(&office, &second), NNHAL_NONE);
    expect_right(&second, 3);
    grown = resident_bytes() - before;
    ck_assert_uint_eq(count_shared(), 1);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    printf("memory is not measured under sanitizers, which keep what was freed (%ld bytes)\n",
           grown);
#else
    ck_assert_int_gt(before, WEIGHTS_BYTES);
    ck_assert_int_le(grown, (long)(N_IN + N_OUT) * 4 * 2 + MIB);
#endif
    /* The one who came first goes first. */
    client_close(&first);
    ck_assert_uint_eq(count_shared(), 1);
    expect_right(&second, 4);
    client_close(&second);
    ck_assert_uint_eq(count_shared(), 0);
    office_close(&office);
}
TEST_END

TEST(users_do_not_share_unless_the_host_says_so)
{
    for (int sharing = NN_HOST_SHARING_NONE; sharing <= NN_HOST_SHARING_ALL; sharing++) {
        static const unsigned n_wanted[] = {0, 2, 1};
        struct client first, second;
        struct office office;

        office_open(&office, sharing);
        client_open(&office, 1000, &first);
        client_open(&office, 1001, &second);
        compile(&office, &first);
        compile(&office, &second);
        ck_assert_uint_eq(count_shared(), n_wanted[sharing]);
        expect_right(&first, 5);
        expect_right(&second, 6);
        client_close(&first);
        expect_right(&second, 7);
        client_close(&second);
        office_close(&office);
    }
}
TEST_END

TEST(a_damaged_file_is_not_used)
{
    struct client first, second;
    struct office office;
    char path[128];
    int fd;

    office_open(&office, NN_HOST_SHARING_UID);
    client_open(&office, 1000, &first);
    client_open(&office, 1000, &second);
    compile(&office, &first);
    snprintf(path, sizeof(path), "%s/entry1", office.folder);
    fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, "spoilt", 6, WEIGHTS_BYTES / 2), 6);
    close(fd);
    /* What is in memory is whole, and is used; once it is gone, there is nothing to use. */
    ck_assert_uint_eq(load(&office, &second), NNHAL_NONE);
    expect_right(&second, 8);
    client_close(&first);
    desk_free_prepared(&second.desk, second.prepared);
    ck_assert_uint_eq(count_shared(), 0);
    ck_assert_uint_eq(load(&office, &second), NNHAL_GENERAL_FAILURE);
    client_close(&second);
    office_close(&office);
}
TEST_END

CHECK_MAIN("weights", a_second_client_costs_no_copy, users_do_not_share_unless_the_host_says_so,
           a_damaged_file_is_not_used)
