/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that ask the CPU driver for work without end and die: other clients do not wait for them. */
#include "service/stand.h"

#include "base/sys.h"
#include "cpu/builder.h"
#include "support/check-main.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    N_CLIENTS = 20, /* a service has 16 workers */
    BUSY_MS = 500,
    IMAGE_BYTES = 8 * 8 * 4,
};

#define BACK_NS UINT64_C(2000000000)

static struct stand stand;

/* ROI_ALIGN with 2^62 samples for a cell: of an input, or of constants alone. */
static const struct nnhal_model *build_endless(struct builder *b, bool is_constant)
{
    static const float image[64] = {1}, boxes[4] = {0, 0, 7, 7};
    static const int32_t batch[1] = {0};
    const uint32_t image_dims[] = {1, 8, 8, 1}, boxes_dims[] = {1, 4}, one[] = {1};
    const uint32_t out_dims[] = {1, 2, 2, 1};
    uint32_t o[10], out, last;

    builder_init(b, 2);
    o[0] = is_constant ? builder_constant(b, 0, NNHAL_TENSOR_FLOAT32, 4, image_dims, 0, 0, image,
                                          sizeof(image), 0)
                       : builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 4, image_dims, 0, 0);
    o[1] = builder_constant(b, 0, NNHAL_TENSOR_FLOAT32, 2, boxes_dims, 0, 0, boxes, sizeof(boxes),
                            0);
    o[2] = builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, one, 0, 0, batch, sizeof(batch), 0);
    o[3] = o[4] = builder_i32(b, 0, 2);
    o[5] = o[6] = builder_f32(b, 0, 1.0f);
    o[7] = o[8] = builder_i32(b, 0, INT32_MAX);
    o[9] = builder_bool(b, 0, false);
    out = is_constant ? builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0)
                      : builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0);
    builder_operation(b, 0, NNHAL_OP_ROI_ALIGN, 10, o, 1, &out);
    if (is_constant) {
        o[0] = out;
        o[1] = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0);
        o[2] = builder_i32(b, 0, 0);
        last = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, out_dims, 0, 0);
        builder_operation(b, 0, NNHAL_OP_ADD, 3, o, 1, &last);
    }
    builder_model(b);
    b->model.n_pools = 0;
    return &b->model;
}

/* A process that waits for the word to begin, asks, and is killed. */
static pid_t start_client(int begin_fd, bool executes)
{
    pid_t pid = fork();
    const struct nnhal_model *model;
    uint64_t memory, prepared;
    struct builder b;
    struct desk desk;
    char byte;

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    if (read(begin_fd, &byte, 1) != 1)
        _exit(1);
    model = build_endless(&b, !executes);
    stand_desk(&stand, &desk);
    prepared = desk_prepare(&desk, model);
    if (executes) {
        memory = desk_memory(&desk, 4096);
        desk_begin(&desk);
        desk_input(&desk, 0, NULL, memory, 0, IMAGE_BYTES);
        desk_output(&desk, 0, NULL, memory, 1024, 16);
        desk_execute(&desk, prepared);
    }
    pause();
    _exit(0);
}

/* What another client asks for afterwards. */
static void expect_answers(void)
{
    uint64_t begin_ns = nn_sys_now_ns(), memory, prepared;
    struct desk desk;

    stand_desk(&stand, &desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(1)));
    desk_formula_request(&desk, memory, 4);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_lt(nn_sys_now_ns() - begin_ns, BACK_NS);
    stand_desk_close(&desk);
}

static void survive_clients(bool executes)
{
    pid_t clients[N_CLIENTS];
    int begin[2];

    stand_place(&stand);
    ck_assert_int_eq(pipe(begin), 0);
    for (size_t i = 0; i < N_CLIENTS; i++)
        clients[i] = start_client(begin[0], executes);
    stand_open_with(&stand, nn_cpu_driver_main);
    ck_assert_int_eq((int)write(begin[1], "goooooooooooooooooooo", N_CLIENTS), N_CLIENTS);
    usleep(BUSY_MS * 1000);
    for (size_t i = 0; i < N_CLIENTS; i++)
        kill(clients[i], SIGKILL);
    for (size_t i = 0; i < N_CLIENTS; i++)
        ck_assert_int_eq(waitpid(clients[i], NULL, 0), clients[i]);
    expect_answers();
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}

TEST(endless_preparations_end_with_their_clients)
{
    survive_clients(false);
}
TEST_END

TEST(endless_executions_end_with_their_clients)
{
    survive_clients(true);
}
TEST_END

CHECK_MAIN("endless", endless_preparations_end_with_their_clients,
           endless_executions_end_with_their_clients)
