/* SPDX-License-Identifier: Apache-2.0 */
/* Every call on an execution in every state that one can be in, reusable or not. */
#include "rt.h"

#include <android/NeuralNetworksExtensions.h>

#include <string.h>

enum state {
    PREPARATION, /* nothing is set yet */
    COMPUTATION,
    COMPLETED,
    FAILED,
    _STATE_N,
};

/* An execution in a state, and what came with it. */
struct subject {
    struct rt_run run;
    ANeuralNetworksMemory *memory;
    ANeuralNetworksBurst *burst;
    ANeuralNetworksEvent *event; /* of the computation */
};

static void subject_init(struct subject *subject, enum state state, bool is_reusable)
{
    *subject = (struct subject){.memory = rt_memory(16, &(void *){NULL})};
    fake.execute_status = state == FAILED ? NNHAL_GENERAL_FAILURE : NNHAL_NONE;
    if (state == PREPARATION)
        rt_run_create(&subject->run);
    else
        rt_run_init(&subject->run);
    OK(ANeuralNetworksExecution_setReusable(subject->run.execution, is_reusable));
    OK(ANeuralNetworksExecution_setMeasureTiming(subject->run.execution, true));
    OK(ANeuralNetworksBurst_create(subject->run.compilation, &subject->burst));
    if (state == COMPUTATION) {
        fake_gate_close();
        OK(ANeuralNetworksExecution_startCompute(subject->run.execution, &subject->event));
        fake_gate_wait(1);
    } else if (state != PREPARATION) {
        ck_assert_int_eq(ANeuralNetworksExecution_compute(subject->run.execution),
                         state == COMPLETED ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OP_FAILED);
    }
}

static void subject_done(struct subject *subject)
{
    fake_gate_open();
    ANeuralNetworksEvent_free(subject->event);
    ANeuralNetworksBurst_free(subject->burst);
    rt_run_done(&subject->run);
    ANeuralNetworksMemory_free(subject->memory);
}

/* -- the calls -------------------------------------------------------------------------- */

#define CALL(name, call)                                                                           \
    static int name(struct subject *s)                                                             \
    {                                                                                              \
        return call;                                                                               \
    }

CALL(set_input, ANeuralNetworksExecution_setInput(s->run.execution, 0, NULL, s->run.x, 16))
CALL(set_output, ANeuralNetworksExecution_setOutput(s->run.execution, 0, NULL, s->run.z, 16))
CALL(set_input_from_memory,
     ANeuralNetworksExecution_setInputFromMemory(s->run.execution, 0, NULL, s->memory, 0, 16))
CALL(set_output_from_memory,
     ANeuralNetworksExecution_setOutputFromMemory(s->run.execution, 0, NULL, s->memory, 0, 16))
CALL(enable_padding, ANeuralNetworksExecution_enableInputAndOutputPadding(s->run.execution, true))
CALL(set_reusable, ANeuralNetworksExecution_setReusable(s->run.execution, true))
CALL(set_measure, ANeuralNetworksExecution_setMeasureTiming(s->run.execution, false))
CALL(set_timeout, ANeuralNetworksExecution_setTimeout(s->run.execution, UINT64_C(1) << 40))
CALL(set_loop_timeout, ANeuralNetworksExecution_setLoopTimeout(s->run.execution, 1000))
CALL(add_attribute,
     ANeuralNetworksExecution_addExtensionAttribute(s->run.execution, "com.example", 1, "x", 1))

static int get_rank(struct subject *s)
{
    uint32_t rank;

    return ANeuralNetworksExecution_getOutputOperandRank(s->run.execution, 0, &rank);
}

static int get_dimensions(struct subject *s)
{
    uint32_t dimensions[NNHAL_MAX_RANK];

    return ANeuralNetworksExecution_getOutputOperandDimensions(s->run.execution, 0, dimensions);
}

static int get_duration(struct subject *s)
{
    uint64_t duration_ns;

    return ANeuralNetworksExecution_getDuration(s->run.execution,
                                                ANEURALNETWORKS_DURATION_IN_DRIVER, &duration_ns);
}

static int get_device(struct subject *s)
{
    ANeuralNetworksDevice *device;

    return nnhal_execution_get_device(s->run.execution, &device);
}

static int get_part(struct subject *s)
{
    struct nnhal_part_info info = {.size = sizeof(info)};

    return nnhal_execution_get_part(s->run.execution, 0, &info);
}

CALL(compute, ANeuralNetworksExecution_compute(s->run.execution))
CALL(burst_compute, ANeuralNetworksExecution_burstCompute(s->run.execution, s->burst))

/* What was started is waited for. */
static int start_compute(struct subject *s)
{
    ANeuralNetworksEvent *event = NULL;
    int r = ANeuralNetworksExecution_startCompute(s->run.execution, &event);

    if (r == ANEURALNETWORKS_NO_ERROR)
        r = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return r;
}

static int start_fenced(struct subject *s)
{
    ANeuralNetworksEvent *event = NULL;
    int r = ANeuralNetworksExecution_startComputeWithDependencies(s->run.execution, NULL, 0, 0,
                                                                  &event);

    if (r == ANEURALNETWORKS_NO_ERROR)
        r = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return r;
}

/* What is expected of a kind of calls, by state; of those that compute, where it is reusable. */
enum kind {
    SETTER,
    GETTER,
    COMPUTING,
};

static const struct {
    const char *name;
    int (*function)(struct subject *subject);
    enum kind kind;
} calls[] = {
    {"setInput", set_input, SETTER},
    {"setOutput", set_output, SETTER},
    {"setInputFromMemory", set_input_from_memory, SETTER},
    {"setOutputFromMemory", set_output_from_memory, SETTER},
    {"enableInputAndOutputPadding", enable_padding, SETTER},
    {"setReusable", set_reusable, SETTER},
    {"setMeasureTiming", set_measure, SETTER},
    {"setTimeout", set_timeout, SETTER},
    {"setLoopTimeout", set_loop_timeout, SETTER},
    {"addExtensionAttribute", add_attribute, SETTER},
    {"getOutputOperandRank", get_rank, GETTER},
    {"getOutputOperandDimensions", get_dimensions, GETTER},
    {"getDuration", get_duration, GETTER},
    {"get_device", get_device, GETTER},
    {"get_part", get_part, GETTER},
    {"compute", compute, COMPUTING},
    {"burstCompute", burst_compute, COMPUTING},
    {"startCompute", start_compute, COMPUTING},
    {"startComputeWithDependencies", start_fenced, COMPUTING},
};

static int expected(enum kind kind, enum state state, bool is_reusable)
{
    switch (kind) {
    case SETTER:
        return state == PREPARATION ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_STATE;
    case GETTER:
        return state == COMPLETED ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_STATE;
    default:
        break;
    }
    if (state == PREPARATION)
        return ANEURALNETWORKS_BAD_DATA; /* nothing is set, which uses the execution up */
    if (state == COMPUTATION || !is_reusable)
        return ANEURALNETWORKS_BAD_STATE;
    return state == FAILED ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_NO_ERROR;
}

TEST(every_call_in_every_state)
{
    rt_init();
    for (size_t i = 0; i < N_ELEMENTS(calls); i++)
        for (int state = 0; state < _STATE_N; state++)
            for (int is_reusable = 0; is_reusable < 2; is_reusable++) {
                int wanted = expected(calls[i].kind, (enum state)state, is_reusable != 0), got;
                struct subject subject;

                subject_init(&subject, (enum state)state, is_reusable != 0);
                got = calls[i].function(&subject);
                ck_assert_msg(got == wanted, "%s in state %d, reusable %d: %s, not %s",
                              calls[i].name, state, is_reusable, nnhal_get_result_name(got),
                              nnhal_get_result_name(wanted));
                subject_done(&subject);
            }
}
TEST_END

CHECK_MAIN("usability", every_call_in_every_state)
