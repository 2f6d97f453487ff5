/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU driver asks for memory before it takes it, takes none that it is refused, and gives all
 * of it back: with a limit, and with each request in turn refused. */
#include "cpu/cases.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

enum {
    SIDE = 23000,        /* a tensor of this side has 2 GB */
    WIDTH = 768,         /* weights of this width have 2.25 MiB */
    N_WEIGHTS = 1 << 20, /* of a column */
    UNPAID_BYTES = 4096, /* a struct, a list: what no request is made for */
};

/* The host's side. */
static struct books {
    uint64_t used, most, limit;
    long countdown; /* the request that brings it to 0 is refused */
    bool was_refused;
} books;

static uint32_t charge(void *ctx, void *account, uint64_t n_bytes)
{
    ck_assert_ptr_eq(account, &books);
    if (n_bytes > books.limit - books.used || --books.countdown == 0) {
        books.was_refused = true;
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    }
    books.used += n_bytes;
    if (books.used > books.most)
        books.most = books.used;
    return NNHAL_NONE;
}

static void uncharge(void *ctx, void *account, uint64_t n_bytes)
{
    ck_assert_uint_le(n_bytes, books.used);
    books.used -= n_bytes;
}

static void begin(struct builder *b, uint64_t limit, long countdown)
{
    builder_init(b, 2);
    b->services.charge = charge;
    b->services.uncharge = uncharge;
    books = (struct books){.limit = limit, .countdown = countdown};
}

static uint32_t prepare(struct builder *b, struct case_cache *cache, bool is_quick,
                        void **ret_prepared)
{
    const struct nnhal_prepare request = {.size = sizeof(request),
                                          .model = builder_model(b),
                                          .preference = NNHAL_FAST_SINGLE_ANSWER,
                                          .priority = NNHAL_PRIORITY_MEDIUM,
                                          .deadline_ns = NNHAL_NO_TIME,
                                          .cache = cache ? &cache->cache : NULL,
                                          .is_quick = is_quick,
                                          .account = &books};

    return b->driver->prepare(b->device, &request, ret_prepared);
}

static void release(struct builder *b, void *prepared)
{
    if (prepared)
        b->driver->release(prepared);
    ck_assert_uint_eq(books.used, 0);
    builder_done(b);
}

/* -- both attacks ------------------------------------------------------------------------ */

TEST(a_broadcast_is_refused_before_its_result_is_allocated)
{
    static float x[SIDE], y[SIDE], z;
    const uint32_t x_dims[] = {SIDE, 1}, y_dims[] = {1, SIDE}, dims[] = {SIDE, SIDE}, one[] = {1};
    const int32_t axes[] = {0, 1};
    const uint32_t two[] = {2};
    struct builder_run run;
    void *prepared = NULL;
    struct builder b;
    uint32_t o[3], sum, mean;

    begin(&b, 64 * MIB, 0);
    o[0] = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 2, x_dims, 0, 0);
    o[1] = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 2, y_dims, 0, 0);
    o[2] = builder_i32(&b, 0, 0);
    sum = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, dims, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_ADD, 3, o, 1, &sum);
    o[0] = sum;
    o[1] = builder_constant(&b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0, axes, sizeof(axes), 0);
    o[2] = builder_i32(&b, 0, 0);
    mean = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_MEAN, 3, o, 1, &mean);
    ck_assert_msg(prepare(&b, NULL, false, &prepared) == NNHAL_NONE, "%s", b.why);
    builder_run_init(&run, &b);
    builder_run_input(&run, 0, x, sizeof(x));
    builder_run_input(&run, 1, y, sizeof(y));
    builder_run_output(&run, 0, &z, sizeof(z));
    fail_alloc_largest();
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(b.driver->execute(prepared, &run.execution),
                          NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_lt(fail_alloc_largest(), 64 * MIB);
    release(&b, prepared);
}
TEST_END

/* The operands behind two inputs: a bias, then numbers. Returns: how many there are in all. */
static uint32_t add_rest(struct builder *b, uint32_t operation, bool is_float, uint32_t *o)
{
    const uint32_t one = 1;
    uint32_t n = 2;

    if (operation == NNHAL_OP_BATCH_MATMUL) {
        o[n++] = builder_bool(b, 0, false);
        o[n++] = builder_bool(b, 0, true);
        return n;
    }
    o[n++] = builder_input(b, 0, is_float ? NNHAL_TENSOR_FLOAT32 : NNHAL_TENSOR_INT32, 1, &one,
                           is_float ? 0 : 0.25f, 0);
    for (int i = 0; operation == NNHAL_OP_CONV_2D && i < 6; i++)
        o[n++] = builder_i32(b, 0, i < 4 ? 0 : 1); /* paddings, strides */
    o[n++] = builder_i32(b, 0, NNHAL_FUSED_NONE);
    return n;
}

/* The most that an execution takes whose operation has one column of N_WEIGHTS weights, no constants. */
static uint64_t take_column(uint32_t operation, uint32_t type, uint32_t rank, const uint32_t *dims)
{
    static uint8_t data[N_WEIGHTS * sizeof(float)];
    bool is_float = type == NNHAL_TENSOR_FLOAT32;
    const uint32_t ones[] = {1, 1, 1, 1};
    const float scale = is_float ? 0 : 0.5f;
    uint32_t o[10], n, out;
    struct builder_run run;
    void *prepared = NULL;
    struct builder b;

    begin(&b, 1024 * MIB, 0);
    o[0] = builder_input(&b, 0, type, rank, dims, scale, 0);
    o[1] = builder_input(&b, 0, type, rank, dims, scale, 0);
    n = add_rest(&b, operation, is_float, o);
    out = builder_output(&b, 0, type, rank, ones, is_float ? 0 : 9.0f, 0);
    builder_operation(&b, 0, operation, n, o, 1, &out);
    ck_assert_msg(prepare(&b, NULL, false, &prepared) == NNHAL_NONE, "%s", b.why);
    builder_run_init(&run, &b);
    builder_run_input(&run, 0, data, N_WEIGHTS * (is_float ? sizeof(float) : 1));
    builder_run_input(&run, 1, data, N_WEIGHTS * (is_float ? sizeof(float) : 1));
    if (operation != NNHAL_OP_BATCH_MATMUL)
        builder_run_input(&run, 2, data, sizeof(float));
    builder_run_output(&run, 0, data, sizeof(float));
    ck_assert_uint_eq(b.driver->execute(prepared, &run.execution), NNHAL_NONE);
    release(&b, prepared);
    return books.most;
}

/* Packed weights are floats or of 16 bits, as rows are: no column is packed that is not there, no row
 * is gathered that is not there. */
TEST(one_column_is_packed_alone)
{
    const uint32_t row[] = {1, N_WEIGHTS}, window[] = {1, 1024, N_WEIGHTS / 1024, 1};
    const uint64_t floats = N_WEIGHTS * sizeof(float), words = N_WEIGHTS * sizeof(int16_t);

    ck_assert_uint_lt(take_column(NNHAL_OP_FULLY_CONNECTED, NNHAL_TENSOR_FLOAT32, 2, row),
                      floats + MIB);
    ck_assert_uint_lt(take_column(NNHAL_OP_FULLY_CONNECTED, NNHAL_TENSOR_QUANT8_ASYMM, 2, row),
                      2 * words + MIB);
    /* Each of two threads has a window. */
    ck_assert_uint_lt(take_column(NNHAL_OP_CONV_2D, NNHAL_TENSOR_FLOAT32, 4, window),
                      3 * floats + MIB);
    ck_assert_uint_lt(take_column(NNHAL_OP_CONV_2D, NNHAL_TENSOR_QUANT8_ASYMM, 4, window),
                      4 * words + MIB);
    /* Codes are widened; nothing is copied for tiles, of which there are none. */
    ck_assert_uint_lt(take_column(NNHAL_OP_BATCH_MATMUL, NNHAL_TENSOR_FLOAT32, 2, row),
                      floats + MIB);
    ck_assert_uint_lt(take_column(NNHAL_OP_BATCH_MATMUL, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, 2, row),
                      floats + MIB);
}
TEST_END

TEST(weights_are_refused_before_they_are_packed)
{
    static float weights[WIDTH * WIDTH], bias[WIDTH];
    const uint32_t row[] = {1, WIDTH}, square[] = {WIDTH, WIDTH}, width[] = {WIDTH};
    void *prepared[8] = {NULL};
    struct builder b;
    uint32_t o[4], out, n = 0;
    uint64_t left;

    begin(&b, 8 * MIB, 0);
    o[0] = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 2, row, 0, 0);
    o[1] = builder_constant(&b, 0, NNHAL_TENSOR_FLOAT32, 2, square, 0, 0, weights, sizeof(weights),
                            1);
    o[2] = builder_constant(&b, 0, NNHAL_TENSOR_FLOAT32, 1, width, 0, 0, bias, sizeof(bias), 1);
    o[3] = builder_i32(&b, 0, 0);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 2, row, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_FULLY_CONNECTED, 4, o, 1, &out);
    while (n < 8 && prepare(&b, NULL, false, &prepared[n]) == NNHAL_NONE)
        n++;
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_lt(n, 4);
    ck_assert(books.was_refused);
    left = books.limit - books.used;
    fail_alloc_largest();
    ck_assert_uint_eq(prepare(&b, NULL, false, &prepared[7]), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_le(fail_alloc_largest(), left);
    while (n > 1)
        b.driver->release(prepared[--n]);
    release(&b, prepared[0]);
}
TEST_END

/* Two operations read a table that no kernel packs: what it takes is not asked for. */
TEST(a_table_that_is_read_in_place_needs_no_memory)
{
    static float table[WIDTH * WIDTH];
    const uint32_t square[] = {WIDTH, WIDTH}, one[] = {1}, row[] = {1, WIDTH};
    void *prepared = NULL;
    struct builder b;
    uint32_t o[3], out;

    begin(&b, sizeof(table) / 2, 0);
    o[0] = builder_constant(&b, 0, NNHAL_TENSOR_FLOAT32, 2, square, 0, 0, table, sizeof(table), 1);
    for (int i = 0; i < 2; i++) {
        o[1] = builder_i32(&b, 0, 0);
        o[2] = builder_input(&b, 0, NNHAL_TENSOR_INT32, 1, one, 0, 0);
        out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 2, row, 0, 0);
        builder_operation(&b, 0, NNHAL_OP_GATHER, 3, o, 1, &out);
    }
    ck_assert_msg(prepare(&b, NULL, false, &prepared) == NNHAL_NONE, "%s", b.why);
    release(&b, prepared);
}
TEST_END

/* -- models of every kind -------------------------------------------------------------------- */

TEST(without_memory_nothing_is_allocated)
{
    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        void *prepared = NULL;
        struct builder b;

        begin(&b, 0, 0);
        of->build(&b);
        fail_alloc_largest();
        ck_assert_uint_eq(prepare(&b, NULL, false, &prepared), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
        ck_assert_msg(fail_alloc_largest() < UNPAID_BYTES, "%s", of->name);
        release(&b, prepared);
    }
}
TEST_END

static struct case_result expected[CASE_N_VARIANTS], result;

static void cache_init(struct case_cache *cache)
{
    *cache = (struct case_cache){.cache = {.size = sizeof(cache->cache),
                                           .n_model_files = 1,
                                           .n_data_files = 1,
                                           .model_files = &cache->model,
                                           .data_files = &cache->data}};
}

/* All that a model can go through; each result is right or refused. */
static void go_through(const struct cpu_case *of, long countdown, bool is_quick)
{
    const struct nnhal_prepare_from_cache load = {
        .size = sizeof(load), .deadline_ns = NNHAL_NO_TIME, .account = &books};
    struct nnhal_prepare_from_cache from;
    struct nnhal_optimize optimize = {.size = sizeof(optimize)};
    static const uint32_t never;
    void *prepared = NULL, *loaded = NULL;
    struct case_cache cache;
    struct builder b;

    begin(&b, UINT64_MAX, countdown);
    of->build(&b);
    cache_init(&cache);
    optimize.is_cancelled = &never;
    if (prepare(&b, &cache, is_quick, &prepared) == NNHAL_NONE) {
        for (uint32_t v = 0; v < CASE_N_VARIANTS; v++) {
            case_execute(of, &b, prepared, v, &result);
            if (countdown == 0)
                expected[v] = result;
            else if (result.status != NNHAL_RESOURCE_EXHAUSTED_TRANSIENT)
                ck_assert_mem_eq(&result, &expected[v], sizeof(result));
        }
        from = load;
        from.cache = &cache.cache;
        if (cache.model.size &&
            b.driver->prepare_from_cache(b.device, &from, &loaded) == NNHAL_NONE) {
            case_execute(of, &b, loaded, 0, &result);
            b.driver->release(loaded);
        }
        if (is_quick)
            b.driver->optimize(prepared, &optimize);
        case_execute(of, &b, prepared, 0, &result);
    } else {
        ck_assert(books.was_refused);
    }
    release(&b, prepared);
}

TEST(each_request_in_turn_is_refused)
{
    for (const struct cpu_case *of = cpu_cases; of->name; of++)
        for (int is_quick = 0; is_quick < 2; is_quick++) {
            go_through(of, 0, is_quick);
            ck_assert_uint_gt(books.most, 0);
            for (long n = 1; n == 1 || books.was_refused; n++)
                go_through(of, n, is_quick);
        }
}
TEST_END

CHECK_MAIN("cpu-memory", one_column_is_packed_alone,
           a_broadcast_is_refused_before_its_result_is_allocated,
           weights_are_refused_before_they_are_packed,
           a_table_that_is_read_in_place_needs_no_memory, without_memory_nothing_is_allocated,
           each_request_in_turn_is_refused)
