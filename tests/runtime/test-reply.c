/* SPDX-License-Identifier: Apache-2.0 */
/* What a device in another process may answer, lies included. The host would
 * find out a driver's; here the service itself is the liar. */
#include "rt.h"

#include "runtime/execution/outcome.h"
#include "runtime/execution/reply.h"

#include <string.h>

#define SHAPE(sufficient, rank, ...)                                                               \
    {                                                                                              \
        .is_sufficient = (sufficient), .n_dimensions = (rank), .dimensions = (uint32_t[])          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

struct answer {
    const char *name;
    uint32_t status;
    uint32_t n_shapes;
    struct nnhal_output_shape shapes[2];
    int result;
};

/* Of a model whose output has rank 1 and an unknown dimension, and room for 4. */
static const struct answer answers_open[] = {
    {"right", NNHAL_NONE, 1, {SHAPE(1, 1, 4)}, ANEURALNETWORKS_NO_ERROR},
    {"smaller", NNHAL_NONE, 1, {SHAPE(1, 1, 2)}, ANEURALNETWORKS_NO_ERROR},
    {"nothing in it", NNHAL_NONE, 1, {SHAPE(1, 1, 0)}, ANEURALNETWORKS_NO_ERROR},
    {"no shapes", NNHAL_NONE, 0, {SHAPE(1, 1, 4)}, ANEURALNETWORKS_OP_FAILED},
    {"too many shapes", NNHAL_NONE, 2, {SHAPE(1, 1, 4), SHAPE(1, 1, 4)}, ANEURALNETWORKS_OP_FAILED},
    {"another rank", NNHAL_NONE, 1, {SHAPE(1, 2, 2, 2)}, ANEURALNETWORKS_OP_FAILED},
    {"beyond the room", NNHAL_NONE, 1, {SHAPE(1, 1, 5)}, ANEURALNETWORKS_OP_FAILED},
    {"beyond 32 bits", NNHAL_NONE, 1, {SHAPE(1, 1, 0x40000004)}, ANEURALNETWORKS_OP_FAILED},
    {"well, but insufficient", NNHAL_NONE, 1, {SHAPE(0, 1, 4)}, ANEURALNETWORKS_OP_FAILED},
    {"insufficient",
     NNHAL_OUTPUT_INSUFFICIENT_SIZE,
     1,
     {SHAPE(0, 1, 5)},
     ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE},
    {"insufficient, but sufficient",
     NNHAL_OUTPUT_INSUFFICIENT_SIZE,
     1,
     {SHAPE(1, 1, 4)},
     ANEURALNETWORKS_OP_FAILED},
    {"insufficient without shapes",
     NNHAL_OUTPUT_INSUFFICIENT_SIZE,
     0,
     {SHAPE(0, 1, 5)},
     ANEURALNETWORKS_OP_FAILED},
    {"no such status", 77, 1, {SHAPE(1, 1, 4)}, ANEURALNETWORKS_OP_FAILED},
};

/* Of a model whose output has 4 elements. */
static const struct answer answers_fixed[] = {
    {"right", NNHAL_NONE, 1, {SHAPE(1, 1, 4)}, ANEURALNETWORKS_NO_ERROR},
    {"no shapes", NNHAL_NONE, 0, {SHAPE(1, 1, 4)}, ANEURALNETWORKS_NO_ERROR},
    {"no rank", NNHAL_NONE, 1, {SHAPE(1, 0, 0)}, ANEURALNETWORKS_NO_ERROR},
    {"another dimension", NNHAL_NONE, 1, {SHAPE(1, 1, 3)}, ANEURALNETWORKS_OP_FAILED},
    {"another rank", NNHAL_NONE, 1, {SHAPE(1, 2, 4, 1)}, ANEURALNETWORKS_OP_FAILED},
};

static void check_reply(const struct answer *answer, uint32_t n)
{
    const uint32_t four = 4;
    ANeuralNetworksOperandType type = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &four);
    const struct nn_hal_execute_synchronously_reply reply = {.n_output_shapes = answer->n_shapes,
                                                             .output_shapes = answer->shapes};
    struct rt_run run = {.compilation = rt_compilation_of(rt_model_of(ANEURALNETWORKS_ADD, n))};
    struct nn_why why = {0};
    uint32_t rank;

    OK(ANeuralNetworksExecution_create(run.compilation, &run.execution));
    OK(ANeuralNetworksExecution_setInput(run.execution, 0, &type, run.x, 16));
    OK(ANeuralNetworksExecution_setInput(run.execution, 1, &type, run.y, 16));
    OK(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, run.z, 16));
    OK(nn_rt_execution_begin(run.execution, ANNDIAG_EXECUTION_MODE_SYNC, &why));
    OK(nn_rt_execution_bind(run.execution, run.compilation->prepared, &why));
    ck_assert_msg(nn_rt_reply_accept(run.execution, answer->status, &reply, &why) == answer->result,
                  "%s: %s", answer->name, why.text);
    ck_assert_msg((answer->result == 0) == (why.text[0] == 0), "%s: %s", answer->name, why.text);
    nn_rt_execution_end(run.execution, answer->result);
    ck_assert_int_eq(ANeuralNetworksExecution_getOutputOperandRank(run.execution, 0, &rank),
                     answer->result == ANEURALNETWORKS_OP_FAILED ? ANEURALNETWORKS_BAD_STATE
                                                                 : answer->result);
    rt_run_done(&run);
}

TEST(answers_are_checked_before_they_are_believed)
{
    rt_init();
    for (size_t i = 0; i < N_ELEMENTS(answers_open); i++)
        check_reply(&answers_open[i], 0);
    for (size_t i = 0; i < N_ELEMENTS(answers_fixed); i++)
        check_reply(&answers_fixed[i], 4);
}
TEST_END

CHECK_MAIN("outcome", answers_are_checked_before_they_are_believed)
