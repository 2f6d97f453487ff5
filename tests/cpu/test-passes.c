/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and plans in their printed form, before and after. */
#include "compiler/graph.h"
#include "drivers/cpu/lowering/compile.h"
#include "drivers/cpu/lowering/passes.h"
#include "drivers/cpu/executor/plan.h"
#include "drivers/cpu/executor/program.h"

#include "cpu/builder.h"
#include "support/check-main.h"

#include <string.h>

static const uint32_t image[] = {1, 8, 8, 4};

static uint32_t temporary(struct builder *b, const uint32_t *dims)
{
    return builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 4, dims, 0, 0);
}

static uint32_t constant(struct builder *b, uint32_t rank, const uint32_t *dims)
{
    static const float zeroes[4096];
    uint32_t count = 1;

    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    return builder_constant(b, 0, NNHAL_TENSOR_FLOAT32, rank, dims, 0, 0, zeroes, count * 4, 0);
}

/* A 3x3 convolution with 4 channels, without padding of its own. */
static void add_conv(struct builder *b, uint32_t in, uint32_t out)
{
    uint32_t filter[] = {4, 3, 3, 4}, four[] = {4};
    uint32_t operands[] = {in,
                           constant(b, 4, filter),
                           constant(b, 1, four),
                           builder_i32(b, 0, 2),
                           builder_i32(b, 0, 1),
                           builder_i32(b, 0, 1),
                           builder_i32(b, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_CONV_2D, 7, operands, 1, &out);
}

static void add_pad(struct builder *b, uint32_t in, int32_t rows, int32_t columns, uint32_t out)
{
    int32_t amounts[] = {0, 0, rows, rows, columns, columns, 0, 0};
    uint32_t dims[] = {4, 2};
    uint32_t operands[] = {
        in, builder_constant(b, 0, NNHAL_TENSOR_INT32, 2, dims, 0, 0, amounts, sizeof(amounts), 0)};

    builder_operation(b, 0, NNHAL_OP_PAD, 2, operands, 1, &out);
}

static void check_text(FILE *file, char **text, const char *want)
{
    fclose(file);
    ck_assert_str_eq(*text, want);
    free(*text);
}

/* The graph as it is after one pass. */
static void check_pass(struct builder *b, int (*pass)(struct nn_graph *graph), const char *want)
{
    struct nnhal_driver_model model = builder_model(b);
    struct nn_graph graph;
    char *text = NULL;
    size_t n_bytes;
    FILE *file = open_memstream(&text, &n_bytes);

    ck_assert_int_eq(nn_graph_init(&graph, &model, NULL, NULL), 0);
    ck_assert_int_eq(pass(&graph), 0);
    nn_graph_print(&graph, file);
    check_text(file, &text, want);
    nn_graph_done(&graph);
}

/* The first plan, as the program makes it. */
static void check_plan(struct builder *b, const char *want)
{
    struct nnhal_driver_model model = builder_model(b);
    struct nn_program *program;
    struct nn_team *team;
    struct nn_stop stop = {.deadline_ns = NNHAL_NO_TIME};
    struct nn_compile_options options = {.passes = NN_PASSES_ALL, .stop = &stop};
    struct nn_why why = {0};
    char *text = NULL;
    size_t n_bytes;
    FILE *file = open_memstream(&text, &n_bytes);

    ck_assert_int_eq(nn_team_new(1, &team), 0);
    options.team = team;
    ck_assert_int_eq(nn_compile(&model, &options, &why, &program), 0);
    ck_assert_ptr_nonnull(program->graphs[0].plans);
    nn_plan_print(&program->graphs[0].plans->plan, file);
    check_text(file, &text, want);
    nn_program_free(program);
    nn_team_free(team);
}

TEST(activation_joins_what_is_before)
{
    uint32_t small[] = {1, 6, 6, 4};
    struct builder b;
    uint32_t in, sum, out;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    sum = temporary(&b, small);
    add_conv(&b, in, sum);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, small, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_RELU6, 1, &sum, 1, &out);
    check_pass(&b, nn_pass_activation,
               "graph(%0 tf32[1,8,8,4])\n"
               "  %8 tf32[1,6,6,4] = CONV_2D(%0, %2 tf32[4,3,3,4], %3 tf32[4], 2, 1, 1, 3)\n"
               "  return %8\n");
    builder_done(&b);
}
TEST_END

TEST(activation_stays_where_its_input_is_read_twice)
{
    uint32_t small[] = {1, 6, 6, 4};
    struct builder b;
    uint32_t in, sum, out, other;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    sum = temporary(&b, small);
    add_conv(&b, in, sum);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, small, 0, 0);
    other = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, small, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_RELU6, 1, &sum, 1, &out);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &sum, 1, &other);
    check_pass(&b, nn_pass_activation,
               "graph(%0 tf32[1,8,8,4])\n"
               "  %1 tf32[1,6,6,4] = CONV_2D(%0, %2 tf32[4,3,3,4], %3 tf32[4], 2, 1, 1, 0)\n"
               "  %8 tf32[1,6,6,4] = RELU6(%1)\n"
               "  %9 tf32[1,6,6,4] = TANH(%1)\n"
               "  return %8, %9\n");
    builder_done(&b);
}
TEST_END

static void build_pad(struct builder *b, int32_t rows, int32_t columns)
{
    uint32_t padded[] = {1, 8 + 2 * (uint32_t)rows, 8 + 2 * (uint32_t)columns, 4};
    uint32_t result[] = {1, padded[1] - 2, padded[2] - 2, 4};
    uint32_t in, middle, out;

    in = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    middle = temporary(b, padded);
    add_pad(b, in, rows, columns, middle);
    out = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, result, 0, 0);
    add_conv(b, middle, out);
}

TEST(pad_becomes_explicit_padding)
{
    struct builder b;

    builder_init(&b, 1);
    build_pad(&b, 1, 2);
    check_pass(&b, nn_pass_pad,
               "graph(%0 tf32[1,8,8,4])\n"
               "  %3 tf32[1,8,10,4] = CONV_2D(%0, %4 tf32[4,3,3,4], %5 tf32[4], 2, 2, 1, 1, 1, 1, "
               "0, false, 1, 1)\n"
               "  return %3\n");
    builder_done(&b);
}
TEST_END

TEST(pad_that_is_wider_than_the_filter_stays)
{
    struct builder b;

    builder_init(&b, 1);
    build_pad(&b, 3, 0);
    check_pass(&b, nn_pass_pad,
               "graph(%0 tf32[1,8,8,4])\n"
               "  %1 tf32[1,14,8,4] = PAD(%0, %2 ti32[4,2])\n"
               "  %3 tf32[1,12,6,4] = CONV_2D(%1, %4 tf32[4,3,3,4], %5 tf32[4], 2, 1, 1, 0)\n"
               "  return %3\n");
    builder_done(&b);
}
TEST_END

TEST(what_nobody_reads_is_dead)
{
    struct builder b;
    uint32_t in, unread[2], out;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    unread[0] = temporary(&b, image);
    unread[1] = temporary(&b, image);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &in, 1, &unread[0]);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &unread[0], 1, &unread[1]);
    builder_operation(&b, 0, NNHAL_OP_LOGISTIC, 1, &in, 1, &out);
    check_pass(&b, nn_pass_dead,
               "graph(%0 tf32[1,8,8,4])\n"
               "  %3 tf32[1,8,8,4] = LOGISTIC(%0)\n"
               "  return %3\n");
    builder_done(&b);
}
TEST_END

/* A residual block: conv(x) + pool(x), then an activation that is an operation of its own. */
static void build_residual(struct builder *b)
{
    uint32_t small[] = {1, 6, 6, 4}, in, straight, pooled, sum, out, operands[7];

    in = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    straight = temporary(b, small);
    add_conv(b, in, straight);
    pooled = temporary(b, small);
    operands[0] = in;
    operands[1] = builder_i32(b, 0, 2);
    operands[2] = operands[3] = builder_i32(b, 0, 1);
    operands[4] = operands[5] = builder_i32(b, 0, 3);
    operands[6] = builder_i32(b, 0, 0);
    builder_operation(b, 0, NNHAL_OP_MAX_POOL_2D, 7, operands, 1, &pooled);
    sum = temporary(b, small);
    operands[0] = straight;
    operands[1] = pooled;
    operands[2] = builder_i32(b, 0, 1);
    builder_operation(b, 0, NNHAL_OP_ADD, 3, operands, 1, &sum);
    out = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, small, 0, 0);
    builder_operation(b, 0, NNHAL_OP_TANH, 1, &sum, 1, &out);
}

TEST(residual_joins_the_convolution)
{
    struct builder b;

    builder_init(&b, 1);
    build_residual(&b);
    check_pass(&b, nn_pass_fuse,
               "graph(%0 tf32[1,8,8,4])\n"
               "  %8 tf32[1,6,6,4] = MAX_POOL_2D(%0, 2, 1, 1, 3, 3, 0)\n"
               "  %1 tf32[1,6,6,4] = CONV_2D(%0, %2 tf32[4,3,3,4], %3 tf32[4], 2, 1, 1, 0)\n"
               "  + %13 tf32[1,6,6,4] = ADD(%1, %8, 1)\n"
               "  + %15 tf32[1,6,6,4] = TANH(%13)\n"
               "  return %15\n");
    builder_done(&b);
}
TEST_END

/* All three compute where the output belongs; the pooled value outlives the convolution. */
TEST(joined_steps_share_their_memory)
{
    struct builder b;

    builder_init(&b, 1);
    build_residual(&b);
    check_plan(&b, "plan(nodes 0..4, arena 576, weights 1364)\n"
                   "  0 max_pool_2d_f32__c(slot0, weights+640, weights+656, weights+656, "
                   "weights+672, weights+672, weights+688) -> arena+0\n"
                   "  1 conv_2d_f32__c(slot0, weights+704, weights+1280, weights+1296, "
                   "weights+1312, weights+1328, weights+1344) -> slot15\n"
                   "  + 2 add_f32__c(slot15, arena+0, weights+1360) -> slot15\n"
                   "  + 3 tanh_f32__c(slot15) -> slot15\n"
                   "  done\n");
    builder_done(&b);
}
TEST_END

TEST(chain_that_is_broadcast_does_not_run_joined)
{
    uint32_t row[] = {1, 1, 8, 4}, in, other, thin, operands[3], out;
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, row, 0, 0);
    other = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    thin = temporary(&b, row);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &in, 1, &thin);
    operands[0] = thin;
    operands[1] = other;
    operands[2] = builder_i32(&b, 0, 0);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_ADD, 3, operands, 1, &out);
    check_plan(&b, "plan(nodes 0..2, arena 128, weights 4)\n"
                   "  0 tanh_f32__c(slot0) -> arena+0\n"
                   "  1 add_f32__c(arena+0, slot1, weights+0) -> slot4\n"
                   "  done\n");
    builder_done(&b);
}
TEST_END

/* A temporary of unknown rank, and one whose quantization inference knows better. */
TEST(shapes_and_quantizations_are_settled)
{
    uint32_t in, sigmoid, pooled, real, operands[7], out;
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 4, image, 0.5f, 7);
    sigmoid = builder_temporary(&b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 0, NULL, 0.25f, 3);
    builder_operation(&b, 0, NNHAL_OP_LOGISTIC, 1, &in, 1, &sigmoid);
    pooled = builder_temporary(&b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 0, NULL, 0.25f, 3);
    operands[0] = sigmoid;
    operands[1] = builder_i32(&b, 0, 2);
    operands[2] = operands[3] = operands[1];
    operands[4] = operands[5] = operands[1];
    operands[6] = builder_i32(&b, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_MAX_POOL_2D, 7, operands, 1, &pooled);
    real = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 0, NULL, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_DEQUANTIZE, 1, &pooled, 1, &real);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 0, NULL, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &real, 1, &out);
    check_pass(&b, nn_pass_infer,
               "graph(%0 tu8[1,8,8,4]*0.5-7)\n"
               "  %1 tu8[1,8,8,4]*0.00390625+0 = LOGISTIC(%0)\n"
               "  %2 tu8[1,4,4,4]*0.00390625+0 = MAX_POOL_2D(%1, 2, 2, 2, 2, 2, 0)\n"
               "  %5 tf32[1,4,4,4] = DEQUANTIZE(%2)\n"
               "  %6 tf32[1,4,4,4] = TANH(%5)\n"
               "  return %6\n");
    builder_done(&b);
}
TEST_END

/* DEQUANTIZE, an operation in between or none (NNHAL_OPERATION_TYPE_N), QUANTIZE,
 * and DEQUANTIZE again. */
static void build_bytes(struct builder *b, uint32_t between, float scale)
{
    uint32_t in, real, quantized, out;

    in = builder_input(b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 4, image, 0.5f, 7);
    real = temporary(b, image);
    builder_operation(b, 0, NNHAL_OP_DEQUANTIZE, 1, &in, 1, &real);
    if (between != NNHAL_OPERATION_TYPE_N) {
        uint32_t result = temporary(b, image);

        builder_operation(b, 0, between, 1, &real, 1, &result);
        real = result;
    }
    quantized = builder_temporary(b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 4, image, scale, 7);
    builder_operation(b, 0, NNHAL_OP_QUANTIZE, 1, &real, 1, &quantized);
    out = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    builder_operation(b, 0, NNHAL_OP_DEQUANTIZE, 1, &quantized, 1, &out);
}

static int settled_bytes(struct nn_graph *graph)
{
    int r = nn_pass_infer(graph);

    if (!r)
        r = nn_pass_lut(graph);
    return r ? r : nn_pass_dead(graph);
}

TEST(there_and_back_is_nothing)
{
    struct builder b;

    builder_init(&b, 1);
    build_bytes(&b, NNHAL_OPERATION_TYPE_N, 0.5f);
    check_pass(&b, settled_bytes,
               "graph(%0 tu8[1,8,8,4]*0.5-7)\n"
               "  %3 tf32[1,8,8,4] = DEQUANTIZE(%0)\n"
               "  return %3\n");
    builder_done(&b);
}
TEST_END

TEST(chain_between_bytes_becomes_a_table)
{
    struct builder b;

    builder_init(&b, 1);
    build_bytes(&b, NNHAL_OP_TANH, 0.5f);
    check_pass(&b, settled_bytes,
               "graph(%0 tu8[1,8,8,4]*0.5-7)\n"
               "  %6 tf32[256] = DEQUANTIZE(%5 tu8[256]*0.5-7)\n"
               "  %7 tf32[256] = TANH(%6)\n"
               "  %8 tu8[256]*0.5-7 = QUANTIZE(%7)\n"
               "  %3 tu8[1,8,8,4]*0.5-7 = LOOKUP(%0, %8)\n"
               "  %4 tf32[1,8,8,4] = DEQUANTIZE(%3)\n"
               "  return %4\n");
    check_plan(&b, "plan(nodes 0..5, arena 256, weights 256)\n"
                   "  3 lookup_q8__c(slot0, weights+0) -> arena+0\n"
                   "  + 4 dequantize_q8__c(arena+0) -> slot4\n"
                   "  done\n");
    builder_done(&b);
}
TEST_END

/* Chains overlap: the one to the output begins where the one to the branch, which is longer
 * than a chain gets, goes through. */
TEST(what_a_chain_begins_with_stays)
{
    enum { LENGTH = 36, BRANCH = 30 };
    uint32_t one[] = {1}, at, out, side;
    uint8_t code = 9, results[2] = {0};
    struct builder_run run;
    struct builder b;
    void *prepared;

    builder_init(&b, 1);
    at = builder_input(&b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 1, one, 0.5f, 7);
    out = builder_output(&b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 1, one, 0.5f, 7);
    side = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    for (int i = 1; i <= LENGTH; i++) {
        uint32_t next = i == LENGTH
                            ? out
                            : builder_temporary(&b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 1, one, 0.5f, 7);

        builder_operation(&b, 0, NNHAL_OP_RELU, 1, &at, 1, &next);
        if (i == BRANCH)
            builder_operation(&b, 0, NNHAL_OP_DEQUANTIZE, 1, &next, 1, &side);
        at = next;
    }
    prepared = builder_prepare(&b);
    {
        float real = 0;

        builder_run_init(&run, &b);
        builder_run_input(&run, 0, &code, 1);
        builder_run_output(&run, 0, results, 1);
        builder_run_output(&run, 1, &real, sizeof(real));
        ck_assert_uint_eq(b.driver->execute(prepared, &run.execution), 0);
        ck_assert_uint_eq(results[0], 9);
        ck_assert_float_eq(real, 1);
    }
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

/* A pool of 1x1 in [N,C,H,W]. */
static void add_nchw_pool(struct builder *b, uint32_t in, uint32_t out)
{
    uint32_t one = builder_i32(b, 0, 1), zero = builder_i32(b, 0, 0);
    uint32_t operands[] = {in, zero, one, one, one, one, zero, builder_bool(b, 0, 1)};

    builder_operation(b, 0, NNHAL_OP_MAX_POOL_2D, 8, operands, 1, &out);
}

static int nchw_and_dead(struct nn_graph *graph)
{
    int r = nn_pass_nchw(graph);

    return r ? r : nn_pass_dead(graph);
}

TEST(nchw_is_left_at_the_edges)
{
    uint32_t planes[] = {1, 4, 8, 8}, both[] = {1, 8, 8, 8};
    uint32_t in, pooled, real, operands[3], out;
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, planes, 0, 0);
    pooled = temporary(&b, planes);
    add_nchw_pool(&b, in, pooled);
    real = temporary(&b, planes);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &pooled, 1, &real);
    operands[0] = pooled;
    operands[1] = real;
    operands[2] = builder_i32(&b, 0, 1);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, both, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_CONCATENATION, 3, operands, 1, &out);
    check_pass(&b, nchw_and_dead,
               "graph(%0 tf32[1,4,8,8])\n"
               "  %8 tf32[1,8,8,4] = TRANSPOSE(%0, %9 ti32[4])\n"
               "  %11 tf32[1,8,8,4] = MAX_POOL_2D(%8, 0, 1, 1, 1, 1, 0, false)\n"
               "  %13 tf32[1,8,8,4] = TANH(%11)\n"
               "  %15 tf32[1,8,8,8] = CONCATENATION(%11, %13, 3)\n"
               "  %7 tf32[1,8,8,8] = TRANSPOSE(%15, %12 ti32[4])\n"
               "  return %7\n");
    builder_done(&b);
}
TEST_END

/* A filter is [depth_out, rows, columns, depth_in] in either layout. */
TEST(filter_that_is_computed_is_not_turned)
{
    uint32_t planes[] = {1, 4, 8, 8}, filter[] = {4, 3, 3, 4}, bias[] = {4}, small[] = {1, 4, 6, 6};
    uint32_t in, weights, pooled, out, one, zero;
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, planes, 0, 0);
    weights = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, filter, 0, 0);
    pooled = temporary(&b, filter);
    add_nchw_pool(&b, weights, pooled);
    one = builder_i32(&b, 0, 1);
    zero = builder_i32(&b, 0, 0);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, small, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_CONV_2D, 8,
                      (uint32_t[]){in, pooled, constant(&b, 1, bias), builder_i32(&b, 0, 2), one,
                                   one, zero, builder_bool(&b, 0, 1)},
                      1, &out);
    check_pass(&b, nchw_and_dead,
               "graph(%0 tf32[1,4,8,8], %1 tf32[4,3,3,4])\n"
               "  %12 tf32[4,3,4,3] = TRANSPOSE(%1, %13 ti32[4])\n"
               "  %15 tf32[4,3,4,3] = MAX_POOL_2D(%12, 0, 1, 1, 1, 1, 0, false)\n"
               "  %2 tf32[4,3,3,4] = TRANSPOSE(%15, %16 ti32[4])\n"
               "  %17 tf32[1,8,8,4] = TRANSPOSE(%0, %13 ti32[4])\n"
               "  %19 tf32[1,6,6,4] = CONV_2D(%17, %2, %9 tf32[4], 2, 1, 1, 0, false)\n"
               "  %8 tf32[1,4,6,6] = TRANSPOSE(%19, %16 ti32[4])\n"
               "  return %8\n");
    builder_done(&b);
}
TEST_END

static void add_transpose(struct builder *b, uint32_t in, const int32_t order[4], uint32_t out)
{
    uint32_t four[] = {4};
    uint32_t operands[] = {in,
                           builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, four, 0, 0, order, 16, 0)};

    builder_operation(b, 0, NNHAL_OP_TRANSPOSE, 2, operands, 1, &out);
}

TEST(transpositions_around_operations_cancel)
{
    static const int32_t to_nchw[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1};
    uint32_t planes[] = {1, 4, 8, 8}, in, turned, pooled, real, out;
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    turned = temporary(&b, planes);
    add_transpose(&b, in, to_nchw, turned);
    pooled = temporary(&b, planes);
    add_nchw_pool(&b, turned, pooled);
    real = temporary(&b, image);
    add_transpose(&b, pooled, to_nhwc, real);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &real, 1, &out);
    check_pass(&b, nchw_and_dead,
               "graph(%0 tf32[1,8,8,4])\n"
               "  %11 tf32[1,8,8,4] = MAX_POOL_2D(%0, 0, 1, 1, 1, 1, 0, false)\n"
               "  %9 tf32[1,8,8,4] = TANH(%11)\n"
               "  return %9\n");
    builder_done(&b);
}
TEST_END

/* A 1x1 convolution of int8 with a filter of scale 0.5. */
static void add_int8_conv(struct builder *b, uint32_t in, uint32_t out)
{
    static const uint8_t zeroes[16];
    uint32_t filter[] = {4, 1, 1, 4}, four[] = {4}, one = builder_i32(b, 0, 1);
    uint32_t operands[] = {
        in,
        builder_constant(b, 0, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, 4, filter, 0.5f, 0, zeroes, 16, 0),
        builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, four, 0.25f, 0, zeroes, 16, 0),
        one,
        one,
        one,
        builder_i32(b, 0, 0)};

    builder_operation(b, 0, NNHAL_OP_CONV_2D, 7, operands, 1, &out);
}

static int unsigned_and_dead(struct nn_graph *graph)
{
    int r = nn_pass_u8(graph);

    return r ? r : nn_pass_dead(graph);
}

TEST(int8_is_uint8_inside)
{
    const uint32_t type = NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    uint32_t in, first, second, operands[3], out;
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, type, 4, image, 0.5f, -8);
    first = builder_temporary(&b, 0, type, 4, image, 0.5f, -8);
    add_int8_conv(&b, in, first);
    second = builder_temporary(&b, 0, type, 4, image, 0.5f, -8);
    add_int8_conv(&b, first, second);
    operands[0] = first;
    operands[1] = second;
    operands[2] = builder_i32(&b, 0, 0);
    out = builder_output(&b, 0, type, 4, image, 0.5f, -8);
    builder_operation(&b, 0, NNHAL_OP_ADD, 3, operands, 1, &out);
    check_pass(
        &b, unsigned_and_dead,
        "graph(%0 ts8[1,8,8,4]*0.5+8)\n"
        "  %13 tu8[1,8,8,4]*0.5-120 = LOOKUP(%0, %14 tu8[256]*1+0)\n"
        "  %15 tu8[4,1,1,4]*0.5-128 = LOOKUP(%3 ts8[4,1,1,4]*0.5+0, %14 tu8[256]*1+0)\n"
        "  %16 tu8[1,8,8,4]*0.5-120 = int8 CONV_2D(%13, %15, %4 ti32[4]*0.25+0, 1, 1, 1, 0)\n"
        "  %18 tu8[4,1,1,4]*0.5-128 = LOOKUP(%8 ts8[4,1,1,4]*0.5+0, %14 tu8[256]*1+0)\n"
        "  %19 tu8[1,8,8,4]*0.5-120 = int8 CONV_2D(%16, %18, %9 ti32[4]*0.25+0, 1, 1, 1, 0)\n"
        "  %20 tu8[1,8,8,4]*0.5-120 = ADD(%16, %19, 0)\n"
        "  %12 ts8[1,8,8,4]*0.5+8 = LOOKUP(%20, %17 ts8[256]*1+0)\n"
        "  return %12\n");
    builder_done(&b);
}
TEST_END

/* Of an open shape nothing is settled: the declared quantization of the pool's result is
 * not what it gets, and conversions would go by it. */
TEST(int8_of_uncertain_quantization_stays)
{
    const uint32_t type = NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, open[] = {1, 0, 0, 4};
    uint32_t in, first, pooled, zero, one, out;
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, type, 4, open, 0.5f, -8);
    first = builder_temporary(&b, 0, type, 4, open, 0.5f, -8);
    add_int8_conv(&b, in, first);
    pooled = builder_temporary(&b, 0, type, 4, open, 0.25f, 3);
    zero = builder_i32(&b, 0, 0);
    one = builder_i32(&b, 0, 1);
    builder_operation(&b, 0, NNHAL_OP_MAX_POOL_2D, 7,
                      (uint32_t[]){first, one, one, one, one, one, zero}, 1, &pooled);
    out = builder_output(&b, 0, type, 4, open, 0.5f, -8);
    add_int8_conv(&b, pooled, out);
    check_pass(
        &b, unsigned_and_dead,
        "graph(%0 ts8[1,?,?,4]*0.5+8)\n"
        "  %14 tu8[1,?,?,4]*0.5-120 = LOOKUP(%0, %15 tu8[256]*1+0)\n"
        "  %16 tu8[4,1,1,4]*0.5-128 = LOOKUP(%3 ts8[4,1,1,4]*0.5+0, %15 tu8[256]*1+0)\n"
        "  %17 tu8[1,?,?,4]*0.5-120 = int8 CONV_2D(%14, %16, %4 ti32[4]*0.25+0, 1, 1, 1, 0)\n"
        "  %1 ts8[1,?,?,4]*0.5+8 = LOOKUP(%17, %18 ts8[256]*1+0)\n"
        "  %6 ts8[1,?,?,4]*0.25-3 = MAX_POOL_2D(%1, 1, 1, 1, 1, 1, 0)\n"
        "  %9 ts8[1,?,?,4]*0.5+8 = CONV_2D(%6, %11 ts8[4,1,1,4]*0.5+0, %12 ti32[4]*0.25+0, 1, 1, "
        "1, "
        "0)\n"
        "  return %9\n");
    builder_done(&b);
}
TEST_END

TEST(constants_are_folded)
{
    static const uint8_t bytes[] = {1, 2, 3, 4};
    uint32_t four[] = {4};
    struct builder b;
    uint32_t in, packed, wide, operands[3], out;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 1, four, 0, 0);
    packed = builder_constant(&b, 0, NNHAL_TENSOR_QUANT8_ASYMM, 1, four, 0.5f, 2, bytes, 4, 0);
    wide = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 1, four, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_DEQUANTIZE, 1, &packed, 1, &wide);
    operands[0] = in;
    operands[1] = wide;
    operands[2] = builder_i32(&b, 0, 0);
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 1, four, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_ADD, 3, operands, 1, &out);
    check_plan(&b, "plan(nodes 0..2, arena 0, weights 20)\n"
                   "  1 add_f32__c(slot0, weights+0, weights+16) -> slot4\n"
                   "  done\n");
    builder_done(&b);
}
TEST_END

TEST(views_and_in_place_need_no_memory)
{
    uint32_t flat[] = {2, 128}, half[] = {1, 128};
    struct builder b;
    uint32_t in, a, r, operands[2], parts[2], halves[2], out, concat[3];

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 4, image, 0, 0);
    a = temporary(&b, image);
    builder_operation(&b, 0, NNHAL_OP_TANH, 1, &in, 1, &a);
    r = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, flat, 0, 0);
    {
        uint32_t two[] = {2};
        int32_t shape[] = {2, 128};

        operands[0] = a;
        operands[1] = builder_constant(&b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0, shape,
                                       sizeof(shape), 0);
    }
    builder_operation(&b, 0, NNHAL_OP_RESHAPE, 2, operands, 1, &r);
    parts[0] = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, half, 0, 0);
    parts[1] = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, half, 0, 0);
    concat[0] = r;
    concat[1] = builder_i32(&b, 0, 0);
    concat[2] = builder_i32(&b, 0, 2);
    builder_operation(&b, 0, NNHAL_OP_SPLIT, 3, concat, 2, parts);
    for (int i = 0; i < 2; i++) {
        halves[i] = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, half, 0, 0);
        builder_operation(&b, 0, NNHAL_OP_LOGISTIC, 1, &parts[i], 1, &halves[i]);
    }
    out = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 2, flat, 0, 0);
    concat[0] = halves[1];
    concat[1] = halves[0];
    concat[2] = builder_i32(&b, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_CONCATENATION, 3, concat, 1, &out);
    /* The split reads where TANH wrote, and both halves are written where they are joined. */
    check_plan(&b, "plan(nodes 0..6, arena 1024, weights 0)\n"
                   "  0 tanh_f32__c(slot0) -> arena+0\n"
                   "  3 logistic_f32__c(arena+0) -> slot10+512\n"
                   "  4 logistic_f32__c(arena+512) -> slot10\n"
                   "  done\n");
    builder_done(&b);
}
TEST_END

/* Views in views; and a part that is put together with itself cannot move. */
TEST(views_of_views_lie_where_they_belong)
{
    uint32_t part[] = {1, 8}, two[] = {2, 8}, three[] = {3, 8}, in, parts[3], pair, all, twice,
             o[3];
    static const uint32_t operations[] = {NNHAL_OP_TANH, NNHAL_OP_LOGISTIC, NNHAL_OP_EXP};
    struct builder b;

    builder_init(&b, 1);
    in = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 2, part, 0, 0);
    for (int i = 0; i < 3; i++) {
        parts[i] = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, part, 0, 0);
        builder_operation(&b, 0, operations[i], 1, &in, 1, &parts[i]);
    }
    o[2] = builder_i32(&b, 0, 0);
    o[0] = parts[0];
    o[1] = parts[1];
    pair = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, two, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_CONCATENATION, 3, o, 1, &pair);
    o[0] = parts[2];
    o[1] = pair;
    all = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 2, three, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_CONCATENATION, 3, o, 1, &all);
    parts[0] = builder_temporary(&b, 0, NNHAL_TENSOR_FLOAT32, 2, part, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_ABS, 1, &in, 1, &parts[0]);
    o[0] = o[1] = parts[0];
    twice = builder_output(&b, 0, NNHAL_TENSOR_FLOAT32, 2, two, 0, 0);
    builder_operation(&b, 0, NNHAL_OP_CONCATENATION, 3, o, 1, &twice);
    check_plan(&b, "plan(nodes 0..7, arena 64, weights 4)\n"
                   "  0 tanh_f32__c(slot0) -> slot6+32\n"
                   "  1 logistic_f32__c(slot0) -> slot6+64\n"
                   "  2 exp_f32__c(slot0) -> slot6\n"
                   "  5 abs_f32__c(slot0) -> arena+0\n"
                   "  6 concatenation__c(arena+0, arena+0, weights+0) -> slot8\n"
                   "  done\n");
    builder_done(&b);
}
TEST_END

CHECK_MAIN("passes", int8_of_uncertain_quantization_stays, views_of_views_lie_where_they_belong,
           filter_that_is_computed_is_not_turned, what_a_chain_begins_with_stays,
           activation_joins_what_is_before, activation_stays_where_its_input_is_read_twice,
           pad_becomes_explicit_padding, pad_that_is_wider_than_the_filter_stays,
           what_nobody_reads_is_dead, residual_joins_the_convolution,
           joined_steps_share_their_memory, chain_that_is_broadcast_does_not_run_joined,
           shapes_and_quantizations_are_settled, there_and_back_is_nothing,
           chain_between_bytes_becomes_a_table, nchw_is_left_at_the_edges,
           transpositions_around_operations_cancel, int8_is_uint8_inside, constants_are_folded,
           views_and_in_place_need_no_memory)
