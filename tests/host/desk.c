/* SPDX-License-Identifier: Apache-2.0 */
#include "host/desk.h"

#include "base/fence.h"
#include "base/sys.h"
#include "support/fake-driver.h"
#include "support/loopback.h"

#include <android/hardware_buffer.h>

#include <fcntl.h>
#include <sys/mman.h>

/* The same tests with proxy and stub in between. */
static struct nn_hal *in_between(struct nn_hal *hal)
{
    return NN_TEST_OVER_WIRE ? loopback_hal(hal, NULL) : hal;
}

void desk_open_with(struct desk *desk, const struct nn_host_session_options *options)
{
    memset(desk, 0, sizeof(*desk));
    fake_reset();
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, NULL, &desk->host), 0);
    ck_assert_int_eq(nn_host_open_session(desk->host, options, &desk->hal), 0);
    desk->hal = in_between(desk->hal);
    nn_arena_init(&desk->arena, 0);
}

void desk_open(struct desk *desk)
{
    desk_open_with(desk, NULL);
}

const char *desk_sample(void)
{
    const char *path = getenv("NNHAL_TEST_SAMPLE");

    return path ? path : NN_TEST_DRIVER_SAMPLE;
}

void desk_open_sample(struct desk *desk, const char *configuration)
{
    struct nn_host_why why = {.text = ""};

    memset(desk, 0, sizeof(*desk));
    fake_reset();
    ck_assert_msg(nn_host_open_module(desk_sample(), configuration, &why, &desk->host) == 0, "%s",
                  why.text);
    ck_assert_int_eq(nn_host_open_session(desk->host, NULL, &desk->hal), 0);
    desk->hal = in_between(desk->hal);
    nn_arena_init(&desk->arena, 0);
}

void desk_close(struct desk *desk)
{
    nn_hal_close(desk->hal);
    nn_host_unref(desk->host);
    nn_arena_done(&desk->arena);
    for (uint32_t i = 0; i < desk->n_memories; i++)
        munmap(desk->memories[i].bytes, desk->memories[i].size);
    ck_assert_uint_eq(fake.n_opened, fake.n_closed);
    ck_assert_uint_eq(fake.n_prepared, fake.n_released);
    ck_assert_uint_eq(fake.n_executing, 0);
    ck_assert_uint_eq(fake.n_buffers, fake.n_released_buffers);
}

/* -- memory ------------------------------------------------------------------- */

uint32_t desk_import(struct desk *desk, int fd, uint32_t kind, uint32_t prot, uint64_t size,
                     uint64_t offset, uint64_t *ret_memory)
{
    const struct nn_hal_import_memory_args args = {
        .kind = kind, .prot = prot, .size = size, .offset = offset, .fd = fd};
    const struct nnhal_hardware_buffer blob = {
        .format = AHARDWAREBUFFER_FORMAT_BLOB,
        .width = (uint32_t)size,
        .height = 1,
        .layers = 1,
        .size = size,
    };
    struct nn_hal_import_memory_reply reply;
    uint32_t status;

    if (kind == NNHAL_MEMORY_HARDWARE_BUFFER_BLOB)
        return desk_import_buffer(desk, fd, &blob, size, ret_memory);
    status = nn_hal_import_memory(desk->hal, &args, &reply, &desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    *ret_memory = reply.memory;
    return status;
}

uint32_t desk_import_buffer(struct desk *desk, int fd, const struct nnhal_hardware_buffer *buffer,
                            uint64_t size, uint64_t *ret_memory)
{
    const struct nn_hal_import_memory_args args = {
        .kind = size ? NNHAL_MEMORY_HARDWARE_BUFFER_BLOB : NNHAL_MEMORY_HARDWARE_BUFFER,
        .size = size,
        .buffer = *buffer,
        .fd = fd,
    };
    struct nn_hal_import_memory_reply reply;
    uint32_t status = nn_hal_import_memory(desk->hal, &args, &reply, &desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    *ret_memory = reply.memory;
    return status;
}

/* A hardware buffer over a memfd of its own, of rows of stride pixels of 4 bytes. */
static uint64_t add_buffer(struct desk *desk, const struct nnhal_hardware_buffer *like)
{
    const struct nnhal_buffer_plane plane = {.row_bytes = 4 * like->stride, .pixel_bytes = 4};
    struct nnhal_hardware_buffer buffer = *like;
    int fd = memfd_create("desk-buffer", MFD_CLOEXEC);
    uint32_t i = desk->n_memories++;

    buffer.format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM;
    buffer.layers = buffer.n_planes = 1;
    buffer.planes = &plane;
    buffer.size = 4ULL * buffer.stride * buffer.height;
    ck_assert_uint_lt(i, DESK_MEMORIES);
    ck_assert_int_eq(ftruncate(fd, (off_t)buffer.size), 0);
    ck_assert_uint_eq(desk_import_buffer(desk, fd, &buffer, 0, &desk->memories[i].id), NNHAL_NONE);
    desk->memories[i].size = buffer.size;
    desk->memories[i].bytes = mmap(NULL, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(desk->memories[i].bytes, MAP_FAILED);
    close(fd);
    return desk->memories[i].id;
}

uint64_t desk_buffer(struct desk *desk, uint32_t n, uint64_t modifier)
{
    return add_buffer(desk, &(struct nnhal_hardware_buffer){
                                .width = n, .height = 1, .stride = n, .modifier = modifier});
}

uint64_t desk_padded(struct desk *desk, uint32_t width, uint32_t height, uint32_t stride)
{
    return add_buffer(
        desk, &(struct nnhal_hardware_buffer){.width = width, .height = height, .stride = stride});
}

uint64_t desk_memory(struct desk *desk, size_t n_bytes)
{
    int fd = memfd_create("desk", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint32_t i = desk->n_memories++;

    ck_assert_uint_lt(i, DESK_MEMORIES);
    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    ck_assert_uint_eq(
        desk_import(desk, fd, NNHAL_MEMORY_ASHMEM, 0, n_bytes, 0, &desk->memories[i].id),
        NNHAL_NONE);
    desk->memories[i].size = n_bytes;
    desk->memories[i].bytes = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(desk->memories[i].bytes, MAP_FAILED);
    close(fd);
    return desk->memories[i].id;
}

void *desk_bytes(struct desk *desk, uint64_t memory)
{
    for (uint32_t i = 0; i < desk->n_memories; i++)
        if (desk->memories[i].id == memory)
            return desk->memories[i].bytes;
    ck_abort_msg("no such memory");
    return NULL;
}

/* -- models --------------------------------------------------------------------- */

const struct nnhal_model *desk_formula(struct desk *desk, uint32_t n_dimensions,
                                       const uint32_t *dimensions)
{
    struct maker *maker = &desk->maker;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, y, none, product, sum, z;

    maker_init(maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, n_dimensions, dimensions);
    y = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, n_dimensions, dimensions);
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    product = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_TEMPORARY_VARIABLE, n_dimensions,
                            dimensions);
    sum = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_TEMPORARY_VARIABLE, n_dimensions,
                        dimensions);
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, n_dimensions, dimensions);
    maker_operation(graph, NNHAL_OP_MUL, DIMS(x, y, none), 1, &product);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(product, x, none), 1, &sum);
    maker_operation(graph, NNHAL_OP_RELU, 1, &sum, 1, &z);
    return maker_bind(maker);
}

const struct nnhal_model *desk_sum(struct desk *desk, uint32_t type, uint32_t n_dimensions,
                                   const uint32_t *dimensions)
{
    struct maker *maker = &desk->maker;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, y, none, z;

    maker_init(maker, 1);
    x = maker_operand(graph, type, NNHAL_SUBGRAPH_INPUT, n_dimensions, dimensions);
    y = maker_operand(graph, type, NNHAL_SUBGRAPH_INPUT, n_dimensions, dimensions);
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    z = maker_operand(graph, type, NNHAL_SUBGRAPH_OUTPUT, n_dimensions, dimensions);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, y, none), 1, &z);
    return maker_bind(maker);
}

uint32_t desk_try_prepare(struct desk *desk, const struct nnhal_model *model,
                          uint64_t *ret_prepared)
{
    const struct nn_hal_prepare_model_args args = {
        .model = *model,
        .preference = NNHAL_FAST_SINGLE_ANSWER,
        .priority = NNHAL_PRIORITY_MEDIUM,
        .deadline_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_prepare_model_reply reply;
    uint32_t status = nn_hal_prepare_model(desk->hal, &args, &reply, &desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    *ret_prepared = reply.prepared_model;
    return status;
}

uint64_t desk_prepare(struct desk *desk, const struct nnhal_model *model)
{
    uint64_t prepared;

    ck_assert_uint_eq(desk_try_prepare(desk, model, &prepared), NNHAL_NONE);
    ck_assert_uint_ne(prepared, 0);
    return prepared;
}

void desk_free_prepared(struct desk *desk, uint64_t prepared)
{
    const struct nn_hal_free_prepared_model_args args = {.prepared_model = prepared};
    struct nn_hal_free_prepared_model_reply reply;

    ck_assert_uint_eq(nn_hal_free_prepared_model(desk->hal, &args, &reply, &desk->arena),
                      NNHAL_NONE);
}

/* -- requests ------------------------------------------------------------------- */

void desk_begin(struct desk *desk)
{
    desk->request = (struct nnhal_request){
        .inputs = desk->inputs, .outputs = desk->outputs, .pools = desk->pools};
    desk->n_dimensions = 0;
    desk->execution = 0;
    desk->deadline_ns = NNHAL_NO_TIME;
    desk->loop_timeout_ns = NNHAL_NO_TIME;
    desk->measure = 0;
}

static uint32_t pool_of(struct desk *desk, uint64_t memory, uint32_t token)
{
    uint32_t i = 0;

    while (i < desk->request.n_pools &&
           (desk->pools[i].memory != memory || desk->pools[i].token != token))
        i++;
    if (i == desk->request.n_pools)
        desk->pools[desk->request.n_pools++] = (struct nnhal_request_pool){.memory = memory,
                                                                           .token = token};
    return i;
}

static void fill_shape(struct desk *desk, struct nnhal_request_argument *argument,
                       uint32_t n_dimensions, const uint32_t *dimensions)
{
    uint32_t *copy = desk->dimensions[desk->n_dimensions++];

    *argument = (struct nnhal_request_argument){.n_dimensions = n_dimensions, .dimensions = copy};
    if (n_dimensions)
        memcpy(copy, dimensions, n_dimensions * sizeof(*copy));
}

static void fill_argument(struct desk *desk, struct nnhal_request_argument *argument,
                          uint32_t n_dimensions, const uint32_t *dimensions, uint64_t memory,
                          uint64_t offset, uint64_t length)
{
    fill_shape(desk, argument, n_dimensions, dimensions);
    if (memory == 0) {
        argument->has_no_value = 1;
        return;
    }
    argument->location = (struct nnhal_data_location){
        .pool_index = pool_of(desk, memory, 0), .offset = offset, .length = length};
}

struct nnhal_request_argument *desk_input(struct desk *desk, uint32_t n_dimensions,
                                          const uint32_t *dimensions, uint64_t memory,
                                          uint64_t offset, uint64_t length)
{
    struct nnhal_request_argument *argument = &desk->inputs[desk->request.n_inputs++];

    fill_argument(desk, argument, n_dimensions, dimensions, memory, offset, length);
    return argument;
}

struct nnhal_request_argument *desk_output(struct desk *desk, uint32_t n_dimensions,
                                           const uint32_t *dimensions, uint64_t memory,
                                           uint64_t offset, uint64_t length)
{
    struct nnhal_request_argument *argument = &desk->outputs[desk->request.n_outputs++];

    fill_argument(desk, argument, n_dimensions, dimensions, memory, offset, length);
    return argument;
}

struct nnhal_request_argument *desk_input_token(struct desk *desk, uint32_t n_dimensions,
                                                const uint32_t *dimensions, uint32_t token)
{
    struct nnhal_request_argument *argument = &desk->inputs[desk->request.n_inputs++];

    fill_shape(desk, argument, n_dimensions, dimensions);
    argument->location.pool_index = pool_of(desk, 0, token);
    return argument;
}

struct nnhal_request_argument *desk_output_token(struct desk *desk, uint32_t n_dimensions,
                                                 const uint32_t *dimensions, uint32_t token)
{
    struct nnhal_request_argument *argument = &desk->outputs[desk->request.n_outputs++];

    fill_shape(desk, argument, n_dimensions, dimensions);
    argument->location.pool_index = pool_of(desk, 0, token);
    return argument;
}

void desk_formula_request(struct desk *desk, uint64_t memory, uint64_t n_bytes)
{
    desk_begin(desk);
    desk_input(desk, 0, NULL, memory, 0, n_bytes);
    desk_input(desk, 0, NULL, memory, n_bytes, n_bytes);
    desk_output(desk, 0, NULL, memory, 2 * n_bytes, n_bytes);
}

uint32_t desk_execute(struct desk *desk, uint64_t prepared)
{
    struct nn_hal_execute_synchronously_args args = {
        .prepared_model = prepared,
        .deadline_ns = desk->deadline_ns,
        .loop_timeout_ns = desk->loop_timeout_ns,
        .measure = desk->measure,
    };
    uint32_t status;

    if (prepared)
        args.request = desk->request;
    else
        args.execution = desk->execution;
    status = nn_hal_execute_synchronously(desk->hal, &args, &desk->reply, &desk->arena);
    if (status != NNHAL_NONE && status != NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        desk_expect_failure(desk->reply);
    return status;
}

uint32_t desk_create_execution(struct desk *desk, uint64_t prepared, uint64_t *ret_execution)
{
    const struct nn_hal_create_execution_args args = {
        .prepared_model = prepared,
        .request = desk->request,
        .measure = desk->measure,
        .loop_timeout_ns = desk->loop_timeout_ns,
    };
    struct nn_hal_create_execution_reply reply;
    uint32_t status = nn_hal_create_execution(desk->hal, &args, &reply, &desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    *ret_execution = reply.execution;
    return status;
}

void desk_free_execution(struct desk *desk, uint64_t execution)
{
    const struct nn_hal_free_execution_args args = {.execution = execution};
    struct nn_hal_free_execution_reply reply;

    ck_assert_uint_eq(nn_hal_free_execution(desk->hal, &args, &reply, &desk->arena), NNHAL_NONE);
}

uint32_t desk_execute_fenced(struct desk *desk, uint64_t prepared)
{
    struct nn_hal_execute_fenced_args args = {
        .prepared_model = prepared,
        .measure = prepared ? desk->measure : 0,
        .deadline_ns = desk->deadline_ns,
        .loop_timeout_ns = desk->loop_timeout_ns,
        .timeout_after_fence_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_get_fenced_info_args info_args;
    struct nn_hal_get_fenced_info_reply info_reply;
    struct nn_hal_execute_fenced_reply reply;
    uint32_t status;

    if (prepared)
        args.request = desk->request;
    else
        args.execution = desk->execution;
    status = nn_hal_execute_fenced(desk->hal, &args, &reply, &desk->arena);
    if (status != NNHAL_NONE) {
        desk_expect_failure(reply);
        return status;
    }
    nn_fence_wait(reply.sync_fence, UINT64_MAX);
    close(reply.sync_fence);
    info_args.callback = reply.callback;
    ck_assert_uint_eq(nn_hal_get_fenced_info(desk->hal, &info_args, &info_reply, &desk->arena),
                      NNHAL_NONE);
    return info_reply.status;
}

/* -- buffers -------------------------------------------------------------------- */

struct desk_wish desk_wish(uint64_t prepared, int input, int output)
{
    struct desk_wish wish = {.n_prepared = 1, .prepared = {prepared}};

    if (input >= 0)
        wish.inputs[wish.n_inputs++] = (struct nnhal_buffer_role){.io_index = (uint32_t)input,
                                                                  .frequency = 1.0f};
    if (output >= 0)
        wish.outputs[wish.n_outputs++] = (struct nnhal_buffer_role){.io_index = (uint32_t)output,
                                                                    .frequency = 1.0f};
    return wish;
}

uint32_t desk_try_allocate(struct desk *desk, const struct desk_wish *wish,
                           struct desk_buffer *ret_buffer)
{
    const struct nn_hal_allocate_args args = {
        .n_dimensions = wish->n_dimensions,
        .dimensions = wish->dimensions,
        .n_prepared_models = wish->n_prepared,
        .prepared_models = wish->prepared,
        .n_input_roles = wish->n_inputs,
        .input_roles = wish->inputs,
        .n_output_roles = wish->n_outputs,
        .output_roles = wish->outputs,
    };
    struct nn_hal_allocate_reply reply;
    uint32_t status = nn_hal_allocate(desk->hal, &args, &reply, &desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    *ret_buffer = (struct desk_buffer){.id = reply.buffer, .token = reply.token};
    return status;
}

struct desk_buffer desk_allocate(struct desk *desk, const struct desk_wish *wish)
{
    struct desk_buffer buffer;

    ck_assert_uint_eq(desk_try_allocate(desk, wish, &buffer), NNHAL_NONE);
    ck_assert_uint_ne(buffer.id, 0);
    ck_assert_uint_ne(buffer.token, 0);
    return buffer;
}

void desk_free_buffer(struct desk *desk, uint64_t buffer)
{
    const struct nn_hal_free_buffer_args args = {.buffer = buffer};
    struct nn_hal_free_buffer_reply reply;

    ck_assert_uint_eq(nn_hal_free_buffer(desk->hal, &args, &reply, &desk->arena), NNHAL_NONE);
}

uint32_t desk_copy_to(struct desk *desk, uint64_t buffer, uint64_t memory)
{
    const struct nn_hal_copy_to_args args = {.buffer = buffer, .memory = memory};
    struct nn_hal_copy_to_reply reply;
    uint32_t status = nn_hal_copy_to(desk->hal, &args, &reply, &desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    return status;
}

uint32_t desk_copy_from(struct desk *desk, uint64_t buffer, uint64_t memory, uint32_t n_dimensions,
                        const uint32_t *dimensions)
{
    const struct nn_hal_copy_from_args args = {
        .buffer = buffer, .memory = memory, .n_dimensions = n_dimensions, .dimensions = dimensions};
    struct nn_hal_copy_from_reply reply;
    uint32_t status = nn_hal_copy_from(desk->hal, &args, &reply, &desk->arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    return status;
}
