/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/calibration/probe.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "runtime/model/assembly.h"

#include <android/NeuralNetworksTypes.h>

#include <string.h>

enum {
    SIDE = 32,     /* of the picture */
    CHANNELS = 32, /* of it, before and after */
    ROWS = 8,      /* of the matrix */
    WIDTH = 512,
    N_OTHER = 1 << 17,
    N_MOVED = NN_RT_PROBE_MOVED_MIB << 18, /* floats */
};

/* A model on its way; r: the first failure, after which nothing more is done. */
struct maker {
    ANeuralNetworksModel *model;
    uint32_t n_operands;
    int r;
    struct nn_why *why;
};

static void maker_init(struct maker *maker, struct nn_why *why)
{
    *maker = (struct maker){.why = why};
    maker->r = nn_rt_builder_new(&maker->model);
}

/* -- operands ------------------------------------------------------------------------------ */

static uint32_t add_operand(struct maker *maker, const ANeuralNetworksOperandType *type)
{
    if (!maker->r)
        maker->r = nn_rt_builder_add_operand(maker->model, type, maker->why);
    return maker->n_operands++;
}

/* Of 8 bits all values have one scale, which keeps products small. */
static uint32_t add_tensor(struct maker *maker, uint32_t type, uint32_t rank, const uint32_t *dims)
{
    const bool is_quant8 = type == NNHAL_TENSOR_QUANT8_ASYMM ||
                           type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    const ANeuralNetworksOperandType operand = {
        .type = (int32_t)type,
        .dimensionCount = rank,
        .dimensions = dims,
        .scale = is_quant8 ? 0.5f : 0,
        .zeroPoint = type == NNHAL_TENSOR_QUANT8_ASYMM ? 128 : 0,
    };

    return add_operand(maker, &operand);
}

/* The sums of products of 8 bits. */
static uint32_t add_bias(struct maker *maker, uint32_t type, uint32_t n)
{
    const bool is_float = type == NNHAL_TENSOR_FLOAT32;
    const ANeuralNetworksOperandType operand = {
        .type = is_float ? ANEURALNETWORKS_TENSOR_FLOAT32 : ANEURALNETWORKS_TENSOR_INT32,
        .dimensionCount = 1,
        .dimensions = &n,
        .scale = is_float ? 0 : 0.25f,
    };

    return add_operand(maker, &operand);
}

static void set_value(struct maker *maker, uint32_t operand, const void *bytes, size_t n_bytes)
{
    if (!maker->r)
        maker->r = nn_rt_builder_set_value(maker->model, (int32_t)operand, bytes, n_bytes,
                                           maker->why);
}

/* No zeroes, which a device might skip: 0.5, or the same as codes of 8 bits. */
static void fill(struct maker *maker, uint32_t operand, uint32_t type, size_t n)
{
    size_t n_bytes = type == NNHAL_TENSOR_FLOAT32 ? n * sizeof(float) : n;
    _cleanup_(freep) uint8_t *bytes = malloc(n_bytes);
    const float half = 0.5f;

    if (!bytes) {
        maker->r = nn_error_origin(-ENOMEM);
        return;
    }
    memset(bytes, 130, n_bytes);
    for (size_t i = 0; type == NNHAL_TENSOR_FLOAT32 && i < n; i++)
        memcpy(bytes + i * sizeof(half), &half, sizeof(half));
    set_value(maker, operand, bytes, n_bytes);
}

static void fill_bias(struct maker *maker, uint32_t operand, size_t n)
{
    const uint8_t zeroes[WIDTH * sizeof(float)] = {0};

    set_value(maker, operand, zeroes, n * sizeof(float));
}

static uint32_t add_int(struct maker *maker, int32_t value)
{
    const ANeuralNetworksOperandType type = {.type = ANEURALNETWORKS_INT32};
    uint32_t operand = add_operand(maker, &type);

    set_value(maker, operand, &value, sizeof(value));
    return operand;
}

/* A tensor of one int32. */
static uint32_t add_index(struct maker *maker, int32_t value)
{
    const uint32_t one = 1;
    uint32_t operand = add_tensor(maker, NNHAL_TENSOR_INT32, 1, &one);

    set_value(maker, operand, &value, sizeof(value));
    return operand;
}

static uint32_t add_float(struct maker *maker, float value)
{
    const uint32_t one = 1;
    uint32_t operand = add_tensor(maker, NNHAL_TENSOR_FLOAT32, 1, &one);

    set_value(maker, operand, &value, sizeof(value));
    return operand;
}

static uint32_t add_branch(struct maker *maker, const ANeuralNetworksModel *branch)
{
    const ANeuralNetworksOperandType type = {.type = ANEURALNETWORKS_MODEL};
    uint32_t operand = add_operand(maker, &type);

    if (!maker->r)
        maker->r = nn_rt_builder_set_value_from_model(maker->model, (int32_t)operand, branch,
                                                      maker->why);
    return operand;
}

/* -- the end ----------------------------------------------------------------------------------- */

/* The one operation, from input to output. */
static void finish(struct maker *maker, uint32_t type, const uint32_t *inputs, uint32_t n_inputs,
                   uint32_t input, uint32_t output)
{
    const struct nnhal_operation operation = {
        .type = type, .n_inputs = n_inputs, .inputs = inputs, .n_outputs = 1, .outputs = &output};

    if (!maker->r)
        maker->r = nn_rt_builder_add_operation(maker->model, &operation, maker->why);
    if (!maker->r)
        maker->r = nn_rt_builder_identify(maker->model, 1, &input, 1, &output, maker->why);
    if (!maker->r)
        maker->r = nn_rt_builder_finish(maker->model, maker->why);
}

static uint32_t bytes_of(uint32_t type, uint32_t n)
{
    return type == NNHAL_TENSOR_FLOAT32 ? n * (uint32_t)sizeof(float) : n;
}

/* -- models --------------------------------------------------------------------------------- */

static void make_conv(struct maker *maker, uint32_t type, struct nn_rt_probe *probe)
{
    const uint32_t picture[] = {1, SIDE, SIDE, CHANNELS}, filter[] = {CHANNELS, 3, 3, CHANNELS};
    uint32_t inputs[7], output;

    inputs[0] = add_tensor(maker, type, 4, picture);
    inputs[1] = add_tensor(maker, type, 4, filter);
    inputs[2] = add_bias(maker, type, CHANNELS);
    inputs[3] = add_int(maker, ANEURALNETWORKS_PADDING_SAME);
    inputs[4] = inputs[5] = add_int(maker, 1);
    inputs[6] = add_int(maker, ANEURALNETWORKS_FUSED_NONE);
    output = add_tensor(maker, type, 4, picture);
    fill(maker, inputs[1], type, (size_t)CHANNELS * 9 * CHANNELS);
    fill_bias(maker, inputs[2], CHANNELS);
    finish(maker, NNHAL_OP_CONV_2D, inputs, 7, inputs[0], output);
    probe->n_input_bytes = probe->n_output_bytes = bytes_of(type, SIDE * SIDE * CHANNELS);
}

static void make_matrix(struct maker *maker, uint32_t type, struct nn_rt_probe *probe)
{
    const uint32_t rows[] = {ROWS, WIDTH}, weights[] = {WIDTH, WIDTH};
    uint32_t inputs[4], output;

    inputs[0] = add_tensor(maker, type, 2, rows);
    inputs[1] = add_tensor(maker, type, 2, weights);
    inputs[2] = add_bias(maker, type, WIDTH);
    inputs[3] = add_int(maker, ANEURALNETWORKS_FUSED_NONE);
    output = add_tensor(maker, type, 2, rows);
    fill(maker, inputs[1], type, (size_t)WIDTH * WIDTH);
    fill_bias(maker, inputs[2], WIDTH);
    finish(maker, NNHAL_OP_FULLY_CONNECTED, inputs, 4, inputs[0], output);
    probe->n_input_bytes = probe->n_output_bytes = bytes_of(type, ROWS * WIDTH);
}

/* x + x. */
static void make_add(struct maker *maker, uint32_t type, uint32_t n, struct nn_rt_probe *probe)
{
    uint32_t inputs[3], output;

    inputs[0] = inputs[1] = add_tensor(maker, type, 1, &n);
    inputs[2] = add_int(maker, ANEURALNETWORKS_FUSED_NONE);
    output = add_tensor(maker, type, 1, &n);
    finish(maker, NNHAL_OP_ADD, inputs, 3, inputs[0], output);
    probe->n_input_bytes = probe->n_output_bytes = bytes_of(type, n);
}

/* One value of many, so that the rest has only to be brought. */
static void make_move(struct maker *maker, struct nn_rt_probe *probe)
{
    const uint32_t n = N_MOVED, one = 1;
    uint32_t inputs[3], output;

    inputs[0] = add_tensor(maker, NNHAL_TENSOR_FLOAT32, 1, &n);
    inputs[1] = add_index(maker, N_MOVED / 2);
    inputs[2] = add_index(maker, 1);
    output = add_tensor(maker, NNHAL_TENSOR_FLOAT32, 1, &one);
    finish(maker, NNHAL_OP_SLICE, inputs, 3, inputs[0], output);
    probe->n_input_bytes = bytes_of(NNHAL_TENSOR_FLOAT32, N_MOVED);
    probe->n_output_bytes = bytes_of(NNHAL_TENSOR_FLOAT32, 1);
}

/* -- control flow ------------------------------------------------------------------------- */

/* A branch of one operation on one value and a constant. */
static int make_branch(uint32_t operation, uint32_t result, float constant, struct nn_why *why,
                       ANeuralNetworksModel **ret_model)
{
    const uint32_t one = 1;
    struct maker maker;
    uint32_t inputs[3], output, n_inputs = 2;

    maker_init(&maker, why);
    inputs[0] = add_tensor(&maker, NNHAL_TENSOR_FLOAT32, 1, &one);
    inputs[1] = add_float(&maker, constant);
    if (operation == NNHAL_OP_ADD)
        inputs[n_inputs++] = add_int(&maker, ANEURALNETWORKS_FUSED_NONE);
    output = add_tensor(&maker, result, 1, &one);
    finish(&maker, operation, inputs, n_inputs, inputs[0], output);
    *ret_model = maker.model;
    return maker.r;
}

/* if (input) 1 + 1 else 1 + 2. */
static void make_if(struct maker *maker, struct nn_rt_probe *probe)
{
    const uint32_t one = 1;
    uint32_t inputs[4], output;

    maker->r = make_branch(NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 1, maker->why, &probe->branches[0]);
    if (!maker->r)
        maker->r = make_branch(NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 2, maker->why,
                               &probe->branches[1]);
    inputs[0] = add_tensor(maker, NNHAL_TENSOR_BOOL8, 1, &one);
    inputs[1] = add_branch(maker, probe->branches[0]);
    inputs[2] = add_branch(maker, probe->branches[1]);
    inputs[3] = add_float(maker, 1);
    output = add_tensor(maker, NNHAL_TENSOR_FLOAT32, 1, &one);
    finish(maker, NNHAL_OP_IF, inputs, 4, inputs[0], output);
    probe->n_input_bytes = 1;
    probe->n_output_bytes = bytes_of(NNHAL_TENSOR_FLOAT32, 1);
}

/* while (x < TURNS) x = x + 1 */
static void make_while(struct maker *maker, struct nn_rt_probe *probe)
{
    const uint32_t one = 1;
    uint32_t inputs[3], output;

    maker->r = make_branch(NNHAL_OP_LESS, NNHAL_TENSOR_BOOL8, NN_RT_PROBE_TURNS, maker->why,
                           &probe->branches[0]);
    if (!maker->r)
        maker->r = make_branch(NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 1, maker->why,
                               &probe->branches[1]);
    inputs[0] = add_branch(maker, probe->branches[0]);
    inputs[1] = add_branch(maker, probe->branches[1]);
    inputs[2] = add_tensor(maker, NNHAL_TENSOR_FLOAT32, 1, &one);
    output = add_tensor(maker, NNHAL_TENSOR_FLOAT32, 1, &one);
    finish(maker, NNHAL_OP_WHILE, inputs, 3, inputs[2], output);
    probe->n_input_bytes = probe->n_output_bytes = bytes_of(NNHAL_TENSOR_FLOAT32, 1);
}

static void make_model(struct maker *maker, enum nn_rt_figure figure, struct nn_rt_probe *probe)
{
    uint32_t type = nn_rt_figure_operand_type(figure);

    switch (figure) {
    case NN_RT_FIGURE_MOVE:
        make_move(maker, probe);
        break;
    case NN_RT_FIGURE_CONV_FLOAT32:
    case NN_RT_FIGURE_CONV_QUANT8:
    case NN_RT_FIGURE_CONV_QUANT8_SIGNED:
        make_conv(maker, type, probe);
        break;
    case NN_RT_FIGURE_MATRIX_FLOAT32:
    case NN_RT_FIGURE_MATRIX_QUANT8:
    case NN_RT_FIGURE_MATRIX_QUANT8_SIGNED:
        make_matrix(maker, type, probe);
        break;
    case NN_RT_FIGURE_IF:
        make_if(maker, probe);
        break;
    case NN_RT_FIGURE_WHILE:
        make_while(maker, probe);
        break;
    default:
        make_add(maker, type, figure == NN_RT_FIGURE_LAUNCH ? 1 : N_OTHER, probe);
    }
}

int nn_rt_probe_init(struct nn_rt_probe *probe, enum nn_rt_figure figure, struct nn_why *why)
{
    struct maker maker;

    *probe = (struct nn_rt_probe){.model = NULL};
    maker_init(&maker, why);
    probe->model = maker.model;
    if (!maker.r)
        make_model(&maker, figure, probe);
    return maker.r;
}

void nn_rt_probe_done(struct nn_rt_probe *probe)
{
    nn_rt_builder_free(probe->model);
    for (uint32_t i = 0; i < NN_N_ELEMENTS(probe->branches); i++)
        nn_rt_builder_free(probe->branches[i]);
}
