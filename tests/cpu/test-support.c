/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that have no kernel, and control flow that reaches one. */
#include "cpu/builder.h"

#include "support/check-main.h"

#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32

static const uint32_t one[] = {1};

/* y = operation(x), both of the graph's own. */
static void add_unary(struct builder *b, uint32_t graph, uint32_t operation)
{
    uint32_t in = builder_input(b, graph, F32, 1, one, 0, 0);
    uint32_t out = builder_output(b, graph, F32, 1, one, 0, 0);

    builder_operation(b, graph, operation, 1, &in, 1, &out);
}

/* IF in a graph, with these branches. */
static void add_if(struct builder *b, uint32_t graph, uint32_t then_graph, uint32_t else_graph)
{
    uint32_t operands[] = {builder_input(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0),
                           builder_subgraph(b, graph, then_graph),
                           builder_subgraph(b, graph, else_graph),
                           builder_input(b, graph, F32, 1, one, 0, 0)};
    uint32_t out = builder_output(b, graph, F32, 1, one, 0, 0);

    builder_operation(b, graph, NNHAL_OP_IF, 4, operands, 1, &out);
}

static void expect(struct builder *b, uint32_t n, const uint8_t *expected, const char *refusal)
{
    const struct nnhal_driver_model model = builder_model(b);
    uint8_t supported[4] = {0};

    b->refusal[0] = '\0';
    ck_assert_uint_eq(b->driver->get_supported_operations(b->device, &model, supported),
                      NNHAL_NONE);
    ck_assert_mem_eq(supported, expected, n);
    ck_assert_str_eq(b->refusal, refusal);
}

TEST(what_has_no_kernel_is_named_with_its_types)
{
    struct builder b;

    builder_init(&b, 1);
    add_unary(&b, 0, NNHAL_OP_RELU);
    add_unary(&b, 0, NNHAL_OP_OEM_OPERATION);
    expect(&b, 2, (const uint8_t[]){1, 0},
           "1: there is no kernel for OEM_OPERATION of TENSOR_FLOAT32");
    builder_done(&b);
}
TEST_END

/* An IF whose branches have RELU, then one of which a branch is another IF, where that operation is. */
TEST(control_flow_is_refused_for_what_it_reaches)
{
    struct builder b;
    uint32_t known, unknown, inner;

    builder_init(&b, 1);
    known = builder_add_graph(&b);
    unknown = builder_add_graph(&b);
    inner = builder_add_graph(&b);
    add_unary(&b, known, NNHAL_OP_RELU);
    add_unary(&b, unknown, NNHAL_OP_OEM_OPERATION);
    add_if(&b, inner, known, unknown);
    add_if(&b, 0, known, known);
    expect(&b, 1, (const uint8_t[]){1}, "");
    add_if(&b, 0, known, inner);
    expect(&b, 2, (const uint8_t[]){1, 0},
           "1: in a subgraph: there is no kernel for OEM_OPERATION of TENSOR_FLOAT32");
    builder_done(&b);
}
TEST_END

CHECK_MAIN("support", what_has_no_kernel_is_named_with_its_types,
           control_flow_is_refused_for_what_it_reaches)
