/* SPDX-License-Identifier: Apache-2.0 */
#include "model/op-case.h"

#include "support/check-main.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define F16 NNHAL_TENSOR_FLOAT16
#define I32 NNHAL_TENSOR_INT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED
#define Q8Y NNHAL_TENSOR_QUANT8_SYMM
#define Q16 NNHAL_TENSOR_QUANT16_SYMM

static struct op_case c;

TEST(rnn_shapes)
{
    op_case_init(&c, NNHAL_OP_RNN);
    IN(&c, F32, 2, 3);
    IN(&c, F32, 4, 3);
    IN(&c, F32, 4, 4);
    IN(&c, F32, 4);
    IN(&c, F32, 2, 4);
    IN_I32(&c, 4);
    OUT(&c, F32);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 1, 2, 4);
    c.numbers[5][0] = 7;
    EXPECT_REFUSED(&c);
    c.numbers[5][0] = 1;
    for (uint32_t i = 1; i < 5; i++) {
        c.dims[i][0]++;
        EXPECT_REFUSED(&c);
        c.dims[i][0]--;
    }
}
TEST_END

TEST(unidirectional_rnn_orders)
{
    op_case_init(&c, NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_RNN);
    IN(&c, F32, 5, 2, 3);
    IN(&c, F32, 4, 3);
    IN(&c, F32, 4, 4);
    IN(&c, F32, 4);
    IN(&c, F32, 2, 4);
    IN_I32(&c, 4);
    IN_I32(&c, 1);
    OUT_DIMS(&c, F32, 0, 0, 0);
    EXPECT_LEVEL(&c, 3);
    EXPECT_SHAPE(&c, 0, 5, 2, 4);
    c.numbers[6][0] = 0;
    EXPECT_REFUSED(&c);
    c.numbers[6][0] = 2;
    EXPECT_REFUSED(&c);
    c.numbers[6][0] = 1;
    OUT_DIMS(&c, F32, 0, 0);
    EXPECT_LEVEL(&c, 4);
    EXPECT_SHAPE(&c, 1, 2, 4);
}
TEST_END

/* Two directions of 4 and 3 units; the auxiliary input has 2 columns. */
static void bidirectional_rnn(bool has_aux, bool has_weights, int merges, uint32_t n_outputs)
{
    op_case_init(&c, NNHAL_OP_BIDIRECTIONAL_SEQUENCE_RNN);
    IN(&c, F32, 1, 6, 5);
    for (uint32_t d = 0; d < 2; d++) {
        uint32_t units = d ? 3 : 4;

        IN(&c, F32, units, d && has_aux && !has_weights ? 2 : 5);
        IN(&c, F32, units, units);
        IN(&c, F32, units);
        IN(&c, F32, 1, units);
    }
    if (has_aux)
        IN(&c, F32, 1, 6, 2);
    else
        op_case_omit(&c, F32);
    for (uint32_t d = 0; d < 2; d++) {
        if (has_weights)
            IN(&c, F32, d ? 3 : 4, 2);
        else
            op_case_omit(&c, F32);
    }
    IN_I32(&c, 4);
    IN_BOOL(&c, 0);
    IN_BOOL(&c, merges);
    for (uint32_t i = 0; i < n_outputs; i++)
        OUT(&c, F32);
}

TEST(bidirectional_rnn_forms)
{
    bidirectional_rnn(false, false, 0, 2);
    EXPECT_SHAPE(&c, 0, 1, 6, 4);
    EXPECT_SHAPE(&c, 1, 1, 6, 3);
    bidirectional_rnn(true, false, 1, 3);
    EXPECT_SHAPE(&c, 0, 1, 6, 7);
    EXPECT_SHAPE(&c, 2, 1, 3);
    bidirectional_rnn(true, true, 0, 4);
    EXPECT_SHAPE(&c, 2, 1, 4);
    EXPECT_SHAPE(&c, 3, 1, 3);
}
TEST_END

TEST(bidirectional_rnn_refuses)
{
    bidirectional_rnn(false, true, 0, 2);
    EXPECT_REFUSED(&c);
    bidirectional_rnn(false, false, 1, 2);
    EXPECT_REFUSED(&c);
    bidirectional_rnn(false, false, 0, 1);
    EXPECT_REFUSED(&c);
    bidirectional_rnn(true, true, 0, 2);
    c.operands[c.inputs[11]].lifetime = NNHAL_NO_VALUE;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(svdf_filters_are_units_times_rank)
{
    op_case_init(&c, NNHAL_OP_SVDF);
    IN(&c, F32, 2, 3);
    IN(&c, F32, 6, 3);
    IN(&c, F32, 6, 5);
    op_case_omit(&c, F32);
    IN(&c, F32, 2, 30);
    IN_I32(&c, 2);
    IN_I32(&c, 0);
    OUT(&c, F32);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 30);
    EXPECT_SHAPE(&c, 1, 2, 3);
    c.numbers[5][0] = 4;
    EXPECT_REFUSED(&c);
    c.numbers[5][0] = 0;
    EXPECT_REFUSED(&c);
    c.numbers[5][0] = 2;
    c.dims[4][1] = 24;
    EXPECT_REFUSED(&c);
}
TEST_END

/* Inputs 1 to 19 of an LSTM without options, of 4 cells; is_coupled leaves out its input gate. */
static void add_cell(uint32_t type, bool is_coupled, uint32_t n_batches)
{
    for (uint32_t k = 0; k < 8; k++) {
        if (k % 4 == 0 && is_coupled)
            op_case_omit(&c, type);
        else
            IN(&c, type, 4, k < 4 ? 3 : 4);
    }
    for (uint32_t k = 0; k < 3; k++)
        op_case_omit(&c, type);
    for (uint32_t k = 0; k < 4; k++) {
        if (k == 0 && is_coupled)
            op_case_omit(&c, type);
        else
            IN(&c, type, 4);
    }
    op_case_omit(&c, type);
    op_case_omit(&c, type);
    IN(&c, type, n_batches, 4);
    IN(&c, type, n_batches, 4);
}

static void lstm(bool is_coupled, bool has_norm)
{
    op_case_init(&c, NNHAL_OP_LSTM);
    IN(&c, F32, 2, 3);
    add_cell(F32, is_coupled, 2);
    IN_I32(&c, 4);
    IN_F32(&c, 0.0f);
    IN_F32(&c, 0.0f);
    for (uint32_t k = 0; has_norm && k < 4; k++) {
        if (k == 0 && is_coupled)
            op_case_omit(&c, F32);
        else
            IN(&c, F32, 4);
    }
    for (uint32_t i = 0; i < 4; i++)
        OUT_DIMS(&c, F32, 0, 0);
}

static void set_omitted(uint32_t input, bool is_omitted)
{
    c.operands[c.inputs[input]].lifetime = is_omitted ? NNHAL_NO_VALUE : NNHAL_SUBGRAPH_INPUT;
}

TEST(lstm_shapes)
{
    lstm(false, false);
    EXPECT_LEVEL(&c, 3); /* omitted operands have no rank */
    EXPECT_SHAPE(&c, 0, 2, 16);
    EXPECT_SHAPE(&c, 1, 2, 4);
    EXPECT_SHAPE(&c, 3, 2, 4);
    lstm(true, true);
    EXPECT_SHAPE(&c, 0, 2, 12);
}
TEST_END

TEST(lstm_takes_flat_states)
{
    lstm(false, false);
    for (uint32_t i = 18; i < 20; i++) {
        c.operands[c.inputs[i]].n_dimensions = 1;
        c.dims[c.inputs[i]][0] = 8;
    }
    EXPECT_SHAPE(&c, 3, 2, 4);
    c.dims[c.inputs[19]][0] = 7;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(lstm_refuses_half_a_gate)
{
    static const uint32_t parts[] = {1, 5, 12, 2, 8, 15};

    for (size_t i = 0; i < 6; i++) {
        lstm(false, false);
        set_omitted(parts[i], true);
        /* What must be there is refused by its pattern or by the rules. */
        EXPECT_REFUSED(&c);
    }
    lstm(false, true);
    set_omitted(23, true);
    EXPECT_REFUSED(&c);
    lstm(false, false);
    set_omitted(9, false);
    EXPECT_REFUSED(&c);
    lstm(false, false);
    set_omitted(17, false);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(lstm_refuses_sizes_and_bounds)
{
    for (uint32_t i = 0; i < 20; i++) {
        lstm(false, false);
        if (c.operands[c.inputs[i]].lifetime == NNHAL_NO_VALUE)
            continue;
        c.dims[c.inputs[i]][0]++;
        EXPECT_REFUSED(&c);
    }
    lstm(false, false);
    memcpy(c.numbers[21], (float[]){-1.0f}, sizeof(float));
    EXPECT_REFUSED(&c);
    lstm(false, false);
    c.dims[c.inputs[0]][0] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(lstm_counts)
{
    lstm(false, false);
    IN(&c, F32, 4);
    EXPECT_INVALID(&c);
    lstm(false, false);
    c.n_outputs = 3;
    EXPECT_INVALID(&c);
}
TEST_END

TEST(unidirectional_lstm_outputs)
{
    op_case_init(&c, NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM);
    IN(&c, F16, 5, 2, 3);
    add_cell(F16, true, 2);
    IN_I32(&c, 4);
    for (uint32_t i = 0; i < 2; i++)
        op_case_words(&c, NNHAL_FLOAT16, 0, NULL, 1, (int32_t[]){0});
    IN_BOOL(&c, 1);
    for (uint32_t k = 0; k < 4; k++)
        op_case_omit(&c, F16);
    OUT_DIMS(&c, F16, 0, 0, 0);
    EXPECT_LEVEL(&c, 3);
    EXPECT_SHAPE(&c, 0, 5, 2, 4);
    OUT_DIMS(&c, F16, 0, 0);
    EXPECT_INVALID(&c);
    OUT_DIMS(&c, F16, 0, 0);
    EXPECT_LEVEL(&c, 4);
    EXPECT_SHAPE(&c, 2, 2, 4);
}
TEST_END

/* What a client gives to NNAPI though no device takes it: accepted, never executed. */
TEST(quantized_unidirectional_lstm_is_tolerated)
{
    op_case_init(&c, NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM);
    IN(&c, Q8S, 5, 2, 3);
    for (uint32_t k = 0; k < 8; k++)
        IN(&c, Q8S, 4, k < 4 ? 3 : 4);
    for (uint32_t k = 0; k < 3; k++)
        op_case_omit(&c, Q16);
    for (uint32_t k = 0; k < 4; k++)
        IN(&c, I32, 4);
    op_case_omit(&c, Q8S);
    op_case_omit(&c, I32);
    IN(&c, Q8S, 2, 4);
    IN(&c, Q16, 2, 4);
    IN_I32(&c, 4);
    IN_F32(&c, 0.0f);
    IN_F32(&c, 0.0f);
    IN_BOOL(&c, 1);
    for (uint32_t k = 0; k < 4; k++)
        op_case_omit(&c, Q16);
    OUT(&c, Q8S);
    ck_assert_int_eq(op_case_validate(&c), 0);
    ck_assert(c.facts.is_tolerated);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(bidirectional_lstm_forms)
{
    for (int merges = 0; merges < 2; merges++) {
        op_case_init(&c, NNHAL_OP_BIDIRECTIONAL_SEQUENCE_LSTM);
        IN(&c, F32, 6, 2, 3);
        for (uint32_t d = 0; d < 2; d++) {
            add_cell(F32, false, 2);
            c.n_inputs -= 2; /* the states follow later */
        }
        for (uint32_t i = 0; i < 4; i++)
            IN(&c, F32, 2, 4);
        for (uint32_t i = 39; i < 48; i++)
            op_case_omit(&c, F32);
        IN_I32(&c, 4);
        IN_F32(&c, 0.0f);
        IN_F32(&c, 0.0f);
        IN_BOOL(&c, merges);
        IN_BOOL(&c, 1);
        for (uint32_t i = 53; i < 61; i++)
            op_case_omit(&c, F32);
        OUT(&c, F32);
        if (merges) {
            EXPECT_SHAPE(&c, 0, 6, 2, 8);
            OUT(&c, F32);
            EXPECT_REFUSED(&c);
        } else {
            EXPECT_REFUSED(&c);
            OUT(&c, F32);
            EXPECT_SHAPE(&c, 1, 6, 2, 4);
            for (uint32_t i = 0; i < 4; i++)
                OUT(&c, F32);
            EXPECT_SHAPE(&c, 5, 2, 4);
        }
    }
}
TEST_END

static void lstm16(void)
{
    const float weight = 0.00408021f;

    op_case_init(&c, NNHAL_OP_QUANTIZED_16BIT_LSTM);
    IN(&c, Q8, 2, 3);
    op_case_quant(&c, 1.0f / 128, 128);
    for (uint32_t i = 0; i < 8; i++) {
        IN(&c, Q8, 4, i < 4 ? 3 : 4);
        op_case_quant(&c, weight, 100);
    }
    for (uint32_t i = 0; i < 4; i++) {
        IN(&c, I32, 4);
        op_case_quant(&c, weight / 128, 0);
    }
    IN(&c, Q16, 2, 4);
    op_case_quant(&c, 1.0f / 2048, 0);
    IN(&c, Q8, 2, 4);
    op_case_quant(&c, 1.0f / 128, 128);
    OUT(&c, Q16);
    OUT(&c, Q8);
}

TEST(lstm16_has_fixed_scales)
{
    static const uint32_t fixed[] = {0, 3, 8, 9, 12, 13, 14};

    lstm16();
    EXPECT_SHAPE(&c, 0, 2, 4);
    EXPECT_SHAPE(&c, 1, 2, 4);
    ck_assert(c.infer_outputs[1].scale == 1.0f / 128 && c.infer_outputs[1].zero_point == 128);
    for (size_t i = 0; i < 7; i++) {
        lstm16();
        c.operands[c.inputs[fixed[i]]].scale *= 1.5f;
        EXPECT_REFUSED(&c);
    }
}
TEST_END

/* The inputs of QUANTIZED_LSTM behind the first: 3 inputs, 4 cells, 2 batches. */
static void add_quantized_cell(float cell_scale, bool has_peepholes)
{
    for (uint32_t i = 0; i < 8; i++)
        IN(&c, Q8Y, 4, i < 4 ? 3 : 4);
    for (uint32_t i = 0; i < 3; i++)
        if (has_peepholes)
            IN(&c, Q16, 4);
        else
            op_case_omit(&c, Q16);
    for (uint32_t i = 0; i < 4; i++)
        IN(&c, I32, 4);
    op_case_omit(&c, Q8Y);
    op_case_omit(&c, I32);
    IN(&c, Q8S, 2, 4);
    IN(&c, Q16, 2, 4);
    op_case_quant(&c, cell_scale, 0);
    for (uint32_t i = 0; i < 4; i++)
        op_case_omit(&c, Q16);
    op_case_omit(&c, NNHAL_FLOAT32);
    op_case_omit(&c, NNHAL_FLOAT32);
    for (uint32_t i = 0; i < 4; i++)
        IN_F32(&c, 0.01f);
    IN_I32(&c, 0);
    IN_F32(&c, 0.01f);
}

static void quantized_lstm(float cell_scale)
{
    op_case_init(&c, NNHAL_OP_QUANTIZED_LSTM);
    IN(&c, Q8S, 2, 3);
    add_quantized_cell(cell_scale, false);
    OUT(&c, Q8S);
    OUT(&c, Q16);
    OUT(&c, Q8S);
    op_case_quant(&c, 0.125f, 3);
}

TEST(quantized_lstm_cell_scale_is_a_power_of_two)
{
    quantized_lstm(1.0f / 2048);
    EXPECT_SHAPE(&c, 1, 2, 4);
    /* The state output is told apart from the output by nothing. */
    ck_assert(c.infer_outputs[0].scale == 0.125f && c.infer_outputs[0].zero_point == 3);
    quantized_lstm(0.0007f);
    EXPECT_REFUSED(&c);
    quantized_lstm(1.0f / 256);
    EXPECT_REFUSED(&c);
    quantized_lstm(1.0f / 65536);
    EXPECT_REFUSED(&c);
    quantized_lstm(1.0f / 2048);
    memcpy(c.numbers[27], (float[]){0.0f}, sizeof(float));
    EXPECT_REFUSED(&c);
}
TEST_END

/* nnhal.tflite's: the cell of QUANTIZED_LSTM over a sequence of 5 steps. */
static void lite_lstm(bool is_time_major, bool has_peepholes)
{
    op_case_init(&c, NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM));
    if (is_time_major)
        IN(&c, Q8S, 5, 2, 3);
    else
        IN(&c, Q8S, 2, 5, 3);
    add_quantized_cell(1.0f / 2048, has_peepholes);
    IN_BOOL(&c, is_time_major);
    OUT(&c, Q8S);
}

TEST(lite_lstm_outputs)
{
    for (int is_time_major = 0; is_time_major < 2; is_time_major++) {
        lite_lstm(is_time_major, false);
        if (is_time_major)
            EXPECT_SHAPE(&c, 0, 5, 2, 4);
        else
            EXPECT_SHAPE(&c, 0, 2, 5, 4);
        /* It counts as the model says: what the codes are of, the hidden scale tells. */
        ck_assert(c.infer_outputs[0].scale == 0.5f);
        OUT(&c, Q8S);
        EXPECT_INVALID(&c);
        OUT(&c, Q16);
        EXPECT_SHAPE(&c, 1, 2, 4);
        EXPECT_SHAPE(&c, 2, 2, 4);
        ck_assert(c.infer_outputs[1].zero_point == 10 && c.infer_outputs[2].scale == 1.0f / 2048);
    }
    /* One step. */
    lite_lstm(true, false);
    c.operands[c.inputs[0]].n_dimensions = 2;
    memcpy(c.dims[c.inputs[0]], (uint32_t[]){2, 3}, 2 * sizeof(uint32_t));
    EXPECT_SHAPE(&c, 0, 2, 4);
}
TEST_END

TEST(lite_lstm_refuses)
{
    const uint32_t hidden_zero_point = 30, weights = 1, recurrent = 5;

    lite_lstm(true, false);
    *c.numbers[hidden_zero_point] = 128;
    EXPECT_REFUSED(&c);
    lite_lstm(false, false);
    c.dims[c.inputs[0]][0] = 3; /* batches, of which the states have 2 */
    EXPECT_REFUSED(&c);
    lite_lstm(true, true);
    EXPECT_SHAPE(&c, 0, 5, 2, 4);
    /* More cells than outputs, which go through a projection, with peepholes. */
    for (uint32_t i = weights; i < recurrent + 4; i++)
        c.dims[c.inputs[i]][0] = 6;
    for (uint32_t i = 9; i < 16; i++)
        c.dims[c.inputs[i]][0] = 6;
    c.dims[c.inputs[19]][1] = 6;
    c.operands[c.inputs[16]].lifetime = NNHAL_SUBGRAPH_INPUT;
    c.operands[c.inputs[16]].n_dimensions = 2;
    memcpy(c.dims[c.inputs[16]], (uint32_t[]){4, 6}, 2 * sizeof(uint32_t));
    EXPECT_REFUSED(&c);
    for (uint32_t i = 9; i < 12; i++) {
        c.operands[c.inputs[i]].lifetime = NNHAL_NO_VALUE;
        c.operands[c.inputs[i]].n_dimensions = 0;
    }
    EXPECT_SHAPE(&c, 0, 5, 2, 4);
}
TEST_END

/* Its form of 16 bits: 3 inputs, 4 cells, 2 batches, 5 steps. */
static void sixteen_lstm(bool is_time_major, uint32_t bias_type)
{
    op_case_init(&c, NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM));
    if (is_time_major)
        IN(&c, Q16, 5, 2, 3);
    else
        IN(&c, Q16, 2, 5, 3);
    op_case_quant(&c, 0.001f, 0);
    for (uint32_t i = 0; i < 8; i++) {
        IN(&c, Q8Y, 4, i < 4 ? 3 : 4);
        op_case_quant(&c, 0.01f, 0);
    }
    for (uint32_t i = 0; i < 4; i++)
        IN(&c, bias_type, 4);
    IN(&c, Q16, 2, 4);
    op_case_quant(&c, 0x1p-15f, 0);
    IN(&c, Q16, 2, 4);
    op_case_quant(&c, 0x1p-12f, 0);
    IN_F32(&c, 0.5f);
    IN_BOOL(&c, is_time_major);
    OUT(&c, Q16);
}

TEST(sixteen_lstm_outputs)
{
    const uint32_t first_bias = 9;

    for (int is_time_major = 0; is_time_major < 2; is_time_major++) {
        sixteen_lstm(is_time_major, is_time_major ? I32 : NN_TYPE_TENSOR_INT64);
        if (is_time_major)
            EXPECT_SHAPE(&c, 0, 5, 2, 4);
        else
            EXPECT_SHAPE(&c, 0, 2, 5, 4);
        OUT(&c, Q16);
        EXPECT_INVALID(&c);
        OUT(&c, Q16);
        EXPECT_SHAPE(&c, 1, 2, 4);
        EXPECT_SHAPE(&c, 2, 2, 4);
        ck_assert(c.infer_outputs[1].scale == 0x1p-15f && c.infer_outputs[2].scale == 0x1p-12f);
    }
    c.operands[c.inputs[first_bias]].type = NN_TYPE_TENSOR_INT64; /* the others have 32 bits */
    EXPECT_INVALID(&c);
}
TEST_END

TEST(sixteen_lstm_refuses)
{
    const uint32_t x = 0, recurrent = 5, state = 13, cell = 14, clip = 15;
    const float cells[] = {0x1p0f, 0x1p-31f, 0.0003f};

    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        sixteen_lstm(true, NN_TYPE_TENSOR_INT64);
        c.operands[c.inputs[cell]].scale = cells[i];
        EXPECT_REFUSED(&c);
    }
    /* One step has no form of its own. */
    sixteen_lstm(true, NN_TYPE_TENSOR_INT64);
    c.operands[c.inputs[x]].n_dimensions = 2;
    EXPECT_REFUSED(&c);
    sixteen_lstm(true, NN_TYPE_TENSOR_INT64);
    c.dims[c.inputs[state]][0] = 3;
    EXPECT_REFUSED(&c);
    sixteen_lstm(true, NN_TYPE_TENSOR_INT64);
    c.dims[c.inputs[recurrent + 3]][1] = 5;
    EXPECT_REFUSED(&c);
    sixteen_lstm(true, NN_TYPE_TENSOR_INT64);
    memcpy(c.numbers[clip], (float[]){-1.0f}, sizeof(float));
    EXPECT_REFUSED(&c);
    /* Sums in steps of 1/32 are 128 of a gate's. */
    sixteen_lstm(true, NN_TYPE_TENSOR_INT64);
    c.operands[c.inputs[x]].scale = 0.125f;
    c.operands[c.inputs[4]].scale = 0.2499f;
    EXPECT_SHAPE(&c, 0, 5, 2, 4);
    c.operands[c.inputs[4]].scale = 0.25f;
    EXPECT_REFUSED(&c);
}
TEST_END

CHECK_MAIN("op-recurrent", rnn_shapes, unidirectional_rnn_orders, bidirectional_rnn_forms,
           bidirectional_rnn_refuses, svdf_filters_are_units_times_rank, lstm_shapes,
           lstm_takes_flat_states, lstm_refuses_half_a_gate, lstm_refuses_sizes_and_bounds,
           lstm_counts, unidirectional_lstm_outputs, quantized_unidirectional_lstm_is_tolerated,
           bidirectional_lstm_forms, lstm16_has_fixed_scales,
           quantized_lstm_cell_scale_is_a_power_of_two, lite_lstm_outputs, lite_lstm_refuses,
           sixteen_lstm_outputs, sixteen_lstm_refuses)
