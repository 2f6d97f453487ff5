/* SPDX-License-Identifier: Apache-2.0 */
/* What several devices compute together has the bits of what one computes alone. */
#include "cpu/random-model.h"
#include "drivers/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = RANDOM_SMALL,
    MAX_BYTES = 4 * SIDE * SIDE * RANDOM_CHANNELS,
    ROUNDS = 150,
};

struct results {
    uint8_t bytes[2][MAX_BYTES];
    uint32_t dims[2][4];
};

static uint32_t bytes_of(const struct builder *b, uint32_t operand)
{
    const struct nnhal_operand *o = &b->graphs[0].operands[operand];
    uint32_t n = o->type == NNHAL_TENSOR_FLOAT32 ? 4 : 1;

    for (uint32_t i = 0; i < o->n_dimensions; i++)
        n *= o->dimensions[i];
    return n;
}

static void fill_input(const struct builder *b, uint32_t seed, uint8_t *input)
{
    uint32_t n = bytes_of(b, b->graphs[0].inputs[0]);
    uint32_t type = b->graphs[0].operands[b->graphs[0].inputs[0]].type;

    for (uint32_t i = 0; i < n; i++)
        input[i] = (uint8_t)(builder_random(&seed) >> 7);
    for (uint32_t i = 0; type == NNHAL_TENSOR_FLOAT32 && i < n / 4; i++) {
        float x = builder_random_float(&seed, -2, 2);

        memcpy(input + 4 * (size_t)i, &x, 4);
    }
}

/* How an execution is started: they have the same results. */
enum way {
    WAY_COMPUTE,
    WAY_EVENT,
    WAY_BURST,
    WAY_TWICE,
    WAY_N,
};

static void run_way(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution *execution,
                    enum way way, struct results *ret)
{
    ANeuralNetworksEvent *event = NULL;
    ANeuralNetworksBurst *burst = NULL;

    switch (way) {
    case WAY_EVENT:
        OK(ANeuralNetworksExecution_startCompute(execution, &event));
        OK(ANeuralNetworksEvent_wait(event));
        ANeuralNetworksEvent_free(event);
        return;
    case WAY_BURST:
        OK(ANeuralNetworksBurst_create(compilation, &burst));
        OK(ANeuralNetworksExecution_burstCompute(execution, burst));
        ANeuralNetworksBurst_free(burst);
        return;
    case WAY_TWICE:
        OK(ANeuralNetworksExecution_compute(execution));
        memset(ret->bytes, 0xee, sizeof(ret->bytes));
        OK(ANeuralNetworksExecution_compute(execution));
        return;
    default:
        OK(ANeuralNetworksExecution_compute(execution));
    }
}

static void run(const struct builder *b, ANeuralNetworksCompilation *compilation, enum way way,
                uint32_t seed, struct results *ret)
{
    const ANeuralNetworksOperandType type = split_input_type(b, 0);
    ANeuralNetworksExecution *execution = NULL;
    uint8_t input[MAX_BYTES];

    memset(ret, 0xee, sizeof(*ret));
    fill_input(b, seed, input);
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    if (way == WAY_TWICE)
        OK(ANeuralNetworksExecution_setReusable(execution, true));
    OK(ANeuralNetworksExecution_setInput(execution, 0, &type, input,
                                         bytes_of(b, b->graphs[0].inputs[0])));
    for (uint32_t i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_setOutput(execution, (int32_t)i, NULL, ret->bytes[i],
                                              bytes_of(b, b->graphs[0].outputs[i])));
    run_way(compilation, execution, way, ret);
    for (uint32_t i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, (int32_t)i,
                                                               ret->dims[i]));
    ANeuralNetworksExecution_free(execution);
}

/* Returns: parts of the split. */
static uint32_t compare(uint32_t seed)
{
    const struct random_choices choices = {.seed = seed};
    uint32_t n_devices = 2 + seed % 2, n_parts;
    ANeuralNetworksCompilation *whole, *split;
    static struct results expected, got;
    ANeuralNetworksModel *model;
    struct builder b;

    builder_init(&b, 1);
    random_model_make(&b, &choices, SIDE);
    model = split_model(&b, seed % 3 == 0);
    split_rules(" ");
    whole = split_compile(model, 1);
    run(&b, whole, WAY_COMPUTE, seed, &expected);
    ANeuralNetworksCompilation_free(whole);
    /* What a device takes is asked once for a model. */
    ANeuralNetworksModel_free(model);
    model = split_model(&b, seed % 3 == 0);
    split_rules("*:deal=%u,seed=%u", n_devices, seed);
    split = split_compile(model, n_devices);
    n_parts = split_count_parts(split);
    run(&b, split, seed / 2 % WAY_N, seed, &got);
    ck_assert_msg(memcmp(&expected, &got, sizeof(got)) == 0, "graph %u differs", seed);
    ANeuralNetworksCompilation_free(split);
    ANeuralNetworksModel_free(model);
    builder_done(&b);
    return n_parts;
}

TEST(random_graphs_split_at_random_have_the_same_bits)
{
    const char *text = getenv("NN_TEST_ROUNDS");
    uint32_t rounds = text ? (uint32_t)strtoul(text, NULL, 10) : ROUNDS, n_split = 0;

    for (uint32_t seed = 0; seed < rounds; seed++)
        n_split += compare(seed) > 1;
    ck_assert_uint_gt(n_split, rounds * 3 / 4);
}
TEST_END

CHECK_MAIN("split", random_graphs_split_at_random_have_the_same_bits)
