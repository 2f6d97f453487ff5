/* SPDX-License-Identifier: Apache-2.0 */
#include "model/maker.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define I32 NNHAL_TENSOR_INT32

static void make_branch(struct maker_graph *graph, uint32_t type)
{
    uint32_t in = maker_operand(graph, F32, NNHAL_SUBGRAPH_INPUT, DIMS(2, 2));
    uint32_t out = maker_operand(graph, F32, NNHAL_SUBGRAPH_OUTPUT, DIMS(2, 2));

    maker_operation(graph, type, 1, &in, 1, &out);
}

/* n < 10 */
static void make_condition(struct maker *maker, struct maker_graph *graph)
{
    int32_t ten = 10;
    uint32_t n, limit, out;

    maker_operand(graph, F32, NNHAL_SUBGRAPH_INPUT, DIMS(2, 2));
    n = maker_operand(graph, I32, NNHAL_SUBGRAPH_INPUT, DIMS(1));
    limit = maker_constant(maker, graph, I32, &ten, sizeof(ten), DIMS(1));
    out = maker_operand(graph, NNHAL_TENSOR_BOOL8, NNHAL_SUBGRAPH_OUTPUT, DIMS(1));
    maker_operation(graph, NNHAL_OP_LESS, DIMS(n, limit), 1, &out);
}

/* f + f, n + 1 */
static void make_body(struct maker *maker, struct maker_graph *graph)
{
    int32_t one = 1;
    uint32_t f = maker_operand(graph, F32, NNHAL_SUBGRAPH_INPUT, DIMS(2, 2));
    uint32_t n = maker_operand(graph, I32, NNHAL_SUBGRAPH_INPUT, DIMS(1));
    uint32_t act = maker_i32(maker, graph, 0);
    uint32_t step = maker_constant(maker, graph, I32, &one, sizeof(one), DIMS(1));
    uint32_t f_out = maker_operand(graph, F32, NNHAL_SUBGRAPH_OUTPUT, DIMS(2, 2));
    uint32_t n_out = maker_operand(graph, I32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1));

    maker_operation(graph, NNHAL_OP_ADD, DIMS(f, f, act), 1, &f_out);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(n, step, act), 1, &n_out);
}

static void make_main_operands(struct maker *maker, struct maker_graph *graph)
{
    static const uint8_t weights[4] = {1, 2, 3, 4};
    struct nnhal_operand *operand;

    maker_operand(graph, F32, NNHAL_SUBGRAPH_INPUT, DIMS(2, 2));
    maker_operand(graph, F32, NNHAL_CONSTANT_REFERENCE, DIMS(2, 2));
    graph->operands[1].location = (struct nnhal_data_location){.offset = 16, .length = 16};
    maker_i32(maker, graph, NNHAL_FUSED_NONE);
    maker_operand(graph, F32, NNHAL_TEMPORARY_VARIABLE, DIMS(2, 2));
    maker_operand(graph, NNHAL_TENSOR_BOOL8, NNHAL_SUBGRAPH_INPUT, DIMS(1));
    maker_reference(graph, 0);
    maker_reference(graph, 1);
    maker_operand(graph, F32, NNHAL_TEMPORARY_VARIABLE, DIMS(2, 2));
    maker_reference(graph, 2);
    maker_reference(graph, 3);
    maker_operand(graph, I32, NNHAL_SUBGRAPH_INPUT, DIMS(1));
    maker_operand(graph, F32, NNHAL_SUBGRAPH_OUTPUT, DIMS(2, 2));
    maker_operand(graph, NNHAL_TENSOR_QUANT8_ASYMM, NNHAL_SUBGRAPH_INPUT, DIMS(3));
    maker_operand(graph, NNHAL_TENSOR_QUANT8_ASYMM, NNHAL_SUBGRAPH_OUTPUT, DIMS(3));
    maker_operand(graph, I32, NNHAL_NO_VALUE, DIMS(2));
    maker_operand(graph, F32, NNHAL_SUBGRAPH_OUTPUT, DIMS(2, 2));
    maker_constant(maker, graph, NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL, weights, 4, DIMS(2, 2));
    operand = &graph->operands[16];
    operand->extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
    operand->channel_quant = (struct nnhal_channel_quant){.n_scales = 2, .scales = maker->scales};
    maker_operand(graph, F32, NNHAL_SUBGRAPH_OUTPUT, DIMS(2, 2));
    maker_operand(graph, 5 << 16 | 1, NNHAL_SUBGRAPH_INPUT, DIMS(7));
    maker_operand(graph, 5 << 16 | 1, NNHAL_SUBGRAPH_OUTPUT, DIMS(7));
}

static void make_main_operations(struct maker_graph *graph)
{
    maker_operation(graph, NNHAL_OP_ADD, DIMS(0, 1, 2), DIMS(3));
    maker_operation(graph, NNHAL_OP_IF, DIMS(4, 5, 6, 3), DIMS(7));
    maker_operation(graph, NNHAL_OP_WHILE, DIMS(8, 9, 7, 10), DIMS(11));
    maker_operation(graph, NNHAL_OP_RELU, DIMS(12), DIMS(13));
    maker_operation(graph, NNHAL_OP_TRANSPOSE, DIMS(3, 14), DIMS(15));
    maker_operation(graph, NNHAL_OP_DEQUANTIZE, DIMS(16), DIMS(17));
    maker_operation(graph, 5 << 16 | 0, DIMS(18), DIMS(19));
}

void maker_make_full(struct maker *maker)
{
    maker_init(maker, 5);
    maker->scales[0] = 0.5f;
    maker->scales[1] = 0.25f;
    maker->n_pools = 1;
    maker->pools[0] = 77;
    maker->pool_sizes[0] = 32;
    maker->n_prefixes = 1;
    maker->prefixes[0] = (struct nnhal_extension_prefix){.name = "com.example.test", .prefix = 5};
    make_main_operands(maker, &maker->graphs[0]);
    make_main_operations(&maker->graphs[0]);
    make_branch(&maker->graphs[1], NNHAL_OP_RELU);
    make_branch(&maker->graphs[2], NNHAL_OP_RELU1);
    make_condition(maker, &maker->graphs[3]);
    make_body(maker, &maker->graphs[4]);
}
