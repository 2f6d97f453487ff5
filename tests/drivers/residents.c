/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/residents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE, X, EXP, FLOOR, ABS, SUM, N_OPERANDS };

static const float first_x[RESIDENTS_N] = {0, -1.5f, 2, 0.25f};

/* -- making ------------------------------------------------------------------------------ */

static void add_operands(ANeuralNetworksModel *model, bool is_open)
{
    const uint32_t n = is_open ? 0 : RESIDENTS_N;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};

    for (uint32_t i = 0; i < N_OPERANDS; i++)
        OK(ANeuralNetworksModel_addOperand(model, i ? &tensor : &scalar));
    OK(ANeuralNetworksModel_setOperandValue(model, NONE, &none, sizeof(none)));
}

static ANeuralNetworksModel *make_model(const struct residents_choices *choices)
{
    static const uint32_t in[] = {X}, out[] = {SUM, EXP}, sum_of[] = {EXP, ABS, NONE};
    const uint32_t exp = EXP, floor = FLOOR, abs = ABS, sum = SUM;
    const uint32_t abs_of = choices->is_abs_of_exp ? EXP : FLOOR;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    add_operands(model, choices->is_open);
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_EXP, 1, in, 1, &exp));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FLOOR, 1, in, 1, &floor));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ABS, 1, &abs_of, 1, &abs));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, sum_of, 1, &sum));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, choices->is_exp_output ? 2 : 1,
                                                     out));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

void residents_init(struct residents *residents, const struct residents_choices *choices,
                    bool is_listed)
{
    memset(residents, 0, sizeof(*residents));
    residents->model = make_model(choices);
    if (is_listed) {
        residents->compilation = split_compile(residents->model, 2);
    } else {
        setenv("NNHAL_DEVICES", "partial-0,partial-1", 1);
        OK(ANeuralNetworksCompilation_create(residents->model, &residents->compilation));
        OK(ANeuralNetworksCompilation_finish(residents->compilation));
    }
    ck_assert_uint_eq(split_count_parts(residents->compilation), 3);
    residents_execute(residents, false);
}

void residents_done(struct residents *residents)
{
    ANeuralNetworksExecution_free(residents->execution);
    ANeuralNetworksCompilation_free(residents->compilation);
    ANeuralNetworksModel_free(residents->model);
}

/* -- computing ----------------------------------------------------------------------------- */

void residents_execute(struct residents *residents, bool is_reusable)
{
    const uint32_t n = RESIDENTS_N;
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};

    residents->x = residents->x ? residents->x : first_x;
    ANeuralNetworksExecution_free(residents->execution);
    residents->execution = NULL;
    OK(ANeuralNetworksExecution_create(residents->compilation, &residents->execution));
    OK(ANeuralNetworksExecution_setReusable(residents->execution, is_reusable));
    OK(ANeuralNetworksExecution_setInput(residents->execution, 0, &type, residents->x,
                                         RESIDENTS_BYTES));
    OK(ANeuralNetworksExecution_setOutput(residents->execution, 0, &type, residents->sum,
                                          RESIDENTS_BYTES));
}

void residents_compute(struct residents *residents)
{
    memset(residents->sum, 0, sizeof(residents->sum));
    OK(ANeuralNetworksExecution_compute(residents->execution));
    residents_check_sum(residents);
}

void residents_check_sum(const struct residents *residents)
{
    for (uint32_t i = 0; i < RESIDENTS_N; i++)
        ck_assert_float_eq_tol(residents->sum[i],
                               expf(residents->x[i]) + fabsf(floorf(residents->x[i])), 1e-4f);
}

void residents_check_exp(const float *values, float times)
{
    for (uint32_t i = 0; i < RESIDENTS_N; i++)
        ck_assert_float_eq_tol(values[i], times * expf(first_x[i]), 1e-4f);
}

/* -- the plan ------------------------------------------------------------------------------- */

uint64_t residents_get_moved(const struct residents *residents)
{
    struct nnhal_part_move move = {.size = sizeof(move), .n_moves = 1};
    struct nnhal_plan plan = {.size = sizeof(plan)};
    uint64_t n_bytes = 0;
    uint32_t last;

    OK(nnhal_compilation_get_plan(residents->compilation, &plan));
    last = plan.n_parts - 1;
    for (uint32_t i = 0; i < move.n_moves; i++) {
        OK(nnhal_compilation_get_move(residents->compilation, i, &move));
        n_bytes += move.to == last ? move.n_bytes : 0;
    }
    ck_assert_uint_eq(plan.parts[last].move_bytes, n_bytes);
    return n_bytes;
}
