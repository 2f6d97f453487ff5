/* SPDX-License-Identifier: Apache-2.0 */
#include "long-model.h"

#include <android/NeuralNetworks.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    N_ELEMENTS = 1 << 18,
    FIRST_STEPS = 16,
    MOST_STEPS = 1 << 16, /* 10 us each on one CPU of 2025: 2^14 would be too few */
};

/* What is tried, in this order. The values are such that they stay ordinary ones. */
static const struct {
    uint32_t type;
    uint32_t operation;
    uint32_t n_inputs; /* of tensors */
    bool has_activation;
} kinds[] = {
    {ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_ADD, 2, true},
    {ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_MUL, 2, true},
    {ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_SUB, 2, true},
    {ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_LOGISTIC, 1, false},
    {ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_TANH, 1, false},
    {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, ANEURALNETWORKS_ADD, 2, true},
    {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, ANEURALNETWORKS_ADD, 2, true},
};

uint64_t cts_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fill_ones(uint8_t *bytes, uint32_t type)
{
    const float one = 1.0f;

    if (type != ANEURALNETWORKS_TENSOR_FLOAT32)
        memset(bytes, 1, N_ELEMENTS);
    else
        for (uint32_t i = 0; i < N_ELEMENTS; i++)
            memcpy(bytes + 4 * i, &one, 4);
}

/* Operand 0 is the input, 1 no activation, the rest what each step makes. */
static void set_operands(struct cts_long_model *made)
{
    static const uint32_t shape[] = {N_ELEMENTS};
    static const int32_t no_activation = ANEURALNETWORKS_FUSED_NONE;
    bool is_float = kinds[made->kind].type == ANEURALNETWORKS_TENSOR_FLOAT32;
    struct nnt_operand *operands = made->main.operands;

    for (uint32_t i = 0; i < made->main.n_operands; i++)
        operands[i] = (struct nnt_operand){.type = kinds[made->kind].type,
                                           .scale = is_float ? 0 : 0.5f,
                                           .rank = 1,
                                           .declared_rank = 1,
                                           .declared = shape,
                                           .expected = shape};
    operands[1] = (struct nnt_operand){.type = ANEURALNETWORKS_INT32,
                                       .lifetime = NNT_CONSTANT_COPY,
                                       .n_bytes = sizeof(no_activation),
                                       .data = (const uint8_t *)&no_activation};
    operands[0].lifetime = NNT_INPUT;
    operands[made->main.n_operands - 1].lifetime = NNT_OUTPUT;
    for (uint32_t i = 0; i < made->main.n_operands; i++)
        if (operands[i].lifetime == NNT_INPUT || operands[i].lifetime == NNT_OUTPUT) {
            operands[i].n_bytes = N_ELEMENTS * nnt_element_bytes(operands[i].type);
            operands[i].data = made->bytes;
        }
    operands[made->main.n_operands - 1].flags = NNT_IGNORED;
}

/* Step i makes operand i + 2 of the one before and of the input. */
static void set_operations(struct cts_long_model *made)
{
    uint32_t n = 0, *numbers = made->numbers;

    for (uint32_t i = 0; i < made->n_steps; i++) {
        struct nnt_operation *operation = &made->main.operations[i];

        operation->type = kinds[made->kind].operation;
        operation->inputs = &numbers[n];
        numbers[n++] = i == 0 ? 0 : i + 1;
        if (kinds[made->kind].n_inputs > 1)
            numbers[n++] = 0;
        if (kinds[made->kind].has_activation)
            numbers[n++] = 1;
        operation->n_inputs = (uint32_t)(&numbers[n] - operation->inputs);
        operation->outputs = &numbers[n];
        operation->n_outputs = 1;
        numbers[n++] = i + 2;
    }
    numbers[n] = 0;
    numbers[n + 1] = made->n_steps + 1;
    made->main.inputs = &numbers[n];
    made->main.outputs = &numbers[n + 1];
}

bool cts_long_model_make(struct cts_long_model *made, unsigned kind, uint32_t n_steps)
{
    *made = (struct cts_long_model){.n_steps = n_steps, .kind = kind};
    if (kind >= sizeof(kinds) / sizeof(kinds[0]))
        return false;
    made->main.n_operands = n_steps + 2;
    made->main.n_operations = n_steps;
    made->main.n_inputs = made->main.n_outputs = 1;
    made->main.operands = calloc(made->main.n_operands, sizeof(*made->main.operands));
    made->main.operations = calloc(n_steps, sizeof(*made->main.operations));
    made->numbers = calloc(4u * n_steps + 2, sizeof(*made->numbers));
    made->bytes = malloc(4u * N_ELEMENTS);
    if (!made->main.operands || !made->main.operations || !made->numbers || !made->bytes)
        return false;
    fill_ones(made->bytes, kinds[kind].type);
    set_operands(made);
    set_operations(made);
    made->model = (struct nnt_model){.n_subgraphs = 1, .subgraphs = &made->main, .name = "long"};
    return true;
}

void cts_long_model_free(struct cts_long_model *made)
{
    free(made->main.operands);
    free(made->main.operations);
    free(made->numbers);
    free(made->bytes);
    *made = (struct cts_long_model){0};
}

/* How many steps would take long enough if n take took_ns; at most 8 times as many are tried next. */
static uint32_t more_steps(uint32_t n, uint64_t took_ns)
{
    uint64_t wanted = CTS_LONG_NS * 3 / 2 / (took_ns / n + 1) + 1;

    if (wanted > 8ull * n)
        wanted = 8ull * n;
    return wanted > n ? (uint32_t)wanted : n + 1;
}

uint64_t cts_long_model_find(struct cts_long_model *made,
                             uint64_t (*time_of)(void *ctx, const struct nnt_model *model),
                             void *ctx)
{
    uint32_t n = FIRST_STEPS;
    unsigned kind = 0;

    while (n <= MOST_STEPS && cts_long_model_make(made, kind, n)) {
        uint64_t took_ns = time_of(ctx, &made->model);

        if (took_ns >= CTS_LONG_NS)
            return took_ns;
        cts_long_model_free(made);
        if (took_ns > 0)
            n = more_steps(n, took_ns);
        else if (n == FIRST_STEPS)
            kind++;
        else
            return 0;
    }
    return 0;
}

/* A device that has no long model cannot miss a deadline. */
void cts_long_model_say(struct cts *cts, uint64_t found, const char *why)
{
    if (!cts_wants(cts, "a long execution"))
        return;
    if (found == CTS_LONG_FAILED)
        cts_say(cts, NNT_FAILED, *why ? why : "one failed");
    else
        cts_say(cts, NNT_UNSUPPORTED, NULL);
}
