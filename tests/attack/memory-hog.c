/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/memory-hog.h"

#include <stdio.h>
#include <sys/mman.h>

#define MIB (UINT64_C(1) << 20)

enum {
    SIDE = 23000, /* a tensor of this side has 2 GB */
    N_MODELS = 32,
    WIDTH = 4096, /* weights of this width have 64 MiB */
    N_BLOCKS = 16,
    N_EXECUTIONS = 65536,
};

static uint32_t is_refusal(uint32_t status)
{
    if (status != NNHAL_NONE)
        ck_assert_uint_eq(status, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    return status != NNHAL_NONE;
}

/* A filled memory of the session; what the service may refuse. */
static uint32_t take_memory(struct desk *desk, size_t n_bytes, uint64_t *ret_memory)
{
    int fd = memfd_create("hog", MFD_CLOEXEC);
    uint32_t status;
    void *bytes;

    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    bytes = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    memset(bytes, 0, n_bytes);
    munmap(bytes, n_bytes);
    status = desk_import(desk, fd, NNHAL_MEMORY_ASHMEM, 0, n_bytes, 0, ret_memory);
    close(fd);
    return status;
}

/* -- values in between ---------------------------------------------------------------- */

/* z = mean(x + y) with x of [n,1] and y of [1,n]. */
static const struct nnhal_model *make_broadcast(struct desk *desk, uint32_t n)
{
    const int32_t axes[] = {0, 1};
    struct maker *maker = &desk->maker;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, y, none, sum, list, keeps, z;

    maker_init(maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(n, 1));
    y = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(1, n));
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    list = maker_constant(maker, graph, NNHAL_TENSOR_INT32, axes, sizeof(axes), DIMS(2));
    keeps = maker_i32(maker, graph, 1);
    sum = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_TEMPORARY_VARIABLE, DIMS(n, n));
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1, 1));
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, y, none), 1, &sum);
    maker_operation(graph, NNHAL_OP_MEAN, DIMS(sum, list, keeps), 1, &z);
    return maker_bind(maker);
}

static uint32_t hog_broadcast(struct desk *desk)
{
    uint64_t memory, prepared;
    uint32_t status;
    char part[64];

    if (is_refusal(take_memory(desk, 4 * 2 * SIDE + 64, &memory)) ||
        is_refusal(desk_try_prepare(desk, make_broadcast(desk, SIDE), &prepared)))
        return 1;
    desk_begin(desk);
    desk_input(desk, 0, NULL, memory, 0, 4 * SIDE);
    desk_input(desk, 0, NULL, memory, 4 * SIDE, 4 * SIDE);
    desk_output(desk, 0, NULL, memory, 8 * SIDE, 4);
    status = desk_execute(desk, prepared);
    if (is_refusal(status)) {
        snprintf(part, sizeof(part), "may have %d.0 MiB", MEMORY_HOG_LIMIT_MIB / 4);
        ck_assert_ptr_nonnull(strstr(desk->reply.message, "this needs 2.0 GiB"));
        ck_assert_ptr_nonnull(strstr(desk->reply.message, part));
    }
    return status != NNHAL_NONE;
}

/* -- weights, packed ---------------------------------------------------------------------- */

static const struct nnhal_model *make_layer(struct desk *desk, uint64_t memory)
{
    struct maker *maker = &desk->maker;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, weights, bias, none, z;

    maker_init(maker, 1);
    maker->n_pools = 1;
    maker->pools[0] = memory;
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(1, WIDTH));
    weights = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_CONSTANT_REFERENCE,
                            DIMS(WIDTH, WIDTH));
    graph->operands[weights].location.length = 64 * MIB;
    bias = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_CONSTANT_REFERENCE, DIMS(WIDTH));
    graph->operands[bias].location.offset = 64 * MIB;
    graph->operands[bias].location.length = 4 * WIDTH;
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1, WIDTH));
    maker_operation(graph, NNHAL_OP_FULLY_CONNECTED, DIMS(x, weights, bias, none), 1, &z);
    return maker_bind(maker);
}

static uint32_t hog_models(struct desk *desk)
{
    uint64_t memory, prepared;
    uint32_t n_refused = 0;

    if (is_refusal(take_memory(desk, 64 * MIB + 4 * WIDTH, &memory)))
        return 1;
    for (uint32_t i = 0; i < N_MODELS; i++)
        n_refused += is_refusal(desk_try_prepare(desk, make_layer(desk, memory), &prepared));
    return n_refused;
}

/* -- pages that are not there yet ----------------------------------------------------------- */

static uint32_t hog_pages(struct desk *desk)
{
    uint32_t n = 16 * (uint32_t)MIB, n_refused = 0; /* floats */
    uint64_t prepared, memory;

    if (is_refusal(
            desk_try_prepare(desk, desk_sum(desk, NNHAL_TENSOR_FLOAT32, DIMS(n)), &prepared)))
        return 1;
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        int fd = memfd_create("hog", MFD_CLOEXEC);

        ck_assert_int_eq(ftruncate(fd, 128 * (off_t)MIB), 0);
        if (is_refusal(desk_import(desk, fd, NNHAL_MEMORY_ASHMEM, 0, 128 * MIB, 0, &memory))) {
            n_refused++;
        } else {
            desk_begin(desk);
            desk_input(desk, 0, NULL, memory, 0, 64 * MIB);
            desk_input(desk, 0, NULL, memory, 0, 64 * MIB);
            desk_output(desk, 0, NULL, memory, 64 * MIB, 64 * MIB);
            n_refused += is_refusal(desk_execute(desk, prepared));
        }
        close(fd);
    }
    return n_refused;
}

/* -- buffers --------------------------------------------------------------------------------- */

static uint32_t hog_buffers(struct desk *desk)
{
    uint64_t memory, prepared;
    uint32_t n = 16 * (uint32_t)MIB, n_refused = 0;
    struct desk_buffer buffer;
    struct desk_wish wish;

    if (is_refusal(take_memory(desk, 64 * MIB, &memory)) ||
        is_refusal(
            desk_try_prepare(desk, desk_sum(desk, NNHAL_TENSOR_FLOAT32, DIMS(n)), &prepared)))
        return 1;
    wish = desk_wish(prepared, 0, -1);
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        if (is_refusal(desk_try_allocate(desk, &wish, &buffer)))
            n_refused++;
        else
            ck_assert_uint_eq(desk_copy_from(desk, buffer.id, memory, 0, NULL), NNHAL_NONE);
    }
    return n_refused;
}

/* -- messages ---------------------------------------------------------------------------------- */

static uint32_t hog_messages(struct desk *desk)
{
    struct nnhal_model model = *desk_sum(desk, NNHAL_TENSOR_FLOAT32, DIMS(1));
    uint32_t n_refused = 0;
    uint64_t prepared;

    model.operand_values.size = 60 * MIB;
    model.operand_values.data = calloc(1, 60 * MIB);
    memcpy((void *)(uintptr_t)model.operand_values.data, desk->maker.values, 64);
    for (uint32_t i = 0; i < 4; i++)
        n_refused += is_refusal(desk_try_prepare(desk, &model, &prepared));
    return n_refused;
}

/* -- results of constants ------------------------------------------------------------------- */

/* z = x + 0 + fill([8192,8192], 1), which can be computed when the model is prepared. */
static uint32_t hog_folding(struct desk *desk)
{
    const int32_t shape[] = {8192, 8192};
    struct maker *maker = &desk->maker;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, none, list, value, filled, z, n_refused = 0;
    const float one = 1;
    uint64_t prepared;

    maker_init(maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(8192, 8192));
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    list = maker_constant(maker, graph, NNHAL_TENSOR_INT32, shape, sizeof(shape), DIMS(2));
    value = maker_constant(maker, graph, NNHAL_FLOAT32, &one, sizeof(one), 0, NULL);
    filled = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_TEMPORARY_VARIABLE, DIMS(8192, 8192));
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(8192, 8192));
    maker_operation(graph, NNHAL_OP_FILL, DIMS(list, value), 1, &filled);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, filled, none), 1, &z);
    for (uint32_t i = 0; i < 4; i++)
        n_refused += is_refusal(desk_try_prepare(desk, maker_bind(maker), &prepared));
    return n_refused;
}

/* -- many small things ------------------------------------------------------------------------- */

static uint32_t hog_executions(struct desk *desk)
{
    uint64_t memory, prepared, execution;
    uint32_t status = NNHAL_NONE;

    if (is_refusal(take_memory(desk, 4096, &memory)) ||
        is_refusal(desk_try_prepare(desk, desk_formula(desk, DIMS(1)), &prepared)))
        return 1;
    desk_formula_request(desk, memory, 4);
    for (uint32_t i = 0; i < N_EXECUTIONS && status == NNHAL_NONE; i++) {
        status = desk_create_execution(desk, prepared, &execution);
        nn_arena_reset(&desk->arena);
    }
    return is_refusal(status);
}

const struct memory_hog memory_hogs[] = {
    {"broadcast", hog_broadcast, 1, true},   {"models", hog_models, 1, true},
    {"pages", hog_pages, 1, true},           {"buffers", hog_buffers, 1, true},
    {"messages", hog_messages, 8, false},    {"folding", hog_folding, 2, false},
    {"executions", hog_executions, 1, true}, {NULL, NULL, 0, false},
};
