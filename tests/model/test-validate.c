/* SPDX-License-Identifier: Apache-2.0 */
/* test-validate.c - every rule of models, broken one at a time */
#include "model/maker.h"

#include "model/copy.h"

#include "support/check-main.h"

#include <math.h>

static int validate(struct maker *maker, struct nn_model_facts *facts, struct nn_why *why)
{
    struct nn_arena arena;
    int r;

    nn_arena_init(&arena, 0);
    memset(why, 0, sizeof(*why));
    r = nn_model_validate(maker_bind(maker), maker->pool_sizes, &arena, facts, why);
    nn_arena_done(&arena);
    return r;
}

TEST(full_model_is_valid)
{
    struct maker maker;
    struct nn_model_facts facts;
    struct nn_why why;

    maker_make_full(&maker);
    ck_assert_msg(validate(&maker, &facts, &why) == 0, "%s", why.text);
    ck_assert_uint_eq(facts.level, 4);
    ck_assert(facts.has_control_flow);
    ck_assert(facts.has_extensions);
    ck_assert(!facts.has_tolerated);
    ck_assert_str_eq(why.text, "");
}
TEST_END

/* -- one rule each -- */

#define MAIN        (&maker->graphs[0])
#define OPERAND(i)  (&maker->graphs[0].operands[i])
#define BREAK(name) static void name(struct maker *maker)

BREAK(unknown_type)
{
    OPERAND(12)->type = 16;
}

BREAK(unknown_prefix)
{
    OPERAND(18)->type = 6 << 16 | 1;
}

BREAK(unknown_operation_prefix)
{
    MAIN->operations[6].type = 6 << 16;
}

BREAK(unknown_lifetime)
{
    OPERAND(3)->lifetime = 7;
}

BREAK(subgraph_type_alone)
{
    OPERAND(3)->type = NNHAL_SUBGRAPH;
    OPERAND(3)->n_dimensions = 0;
}

BREAK(subgraph_lifetime_alone)
{
    OPERAND(3)->lifetime = NNHAL_SUBGRAPH_VALUE;
}

BREAK(scalar_with_dimensions)
{
    OPERAND(2)->n_dimensions = 1;
    MAIN->dimensions[2][0] = 1;
}

BREAK(rank_above_limit)
{
    OPERAND(12)->n_dimensions = NNHAL_MAX_RANK + 1;
}

BREAK(size_overflow)
{
    OPERAND(0)->n_dimensions = 4;
    for (int i = 0; i < 4; i++)
        MAIN->dimensions[0][i] = UINT32_MAX;
}

BREAK(size_above_32_bits)
{
    MAIN->dimensions[0][0] = 1u << 30;
    MAIN->dimensions[0][1] = 1;
}

BREAK(known_part_above_32_bits)
{
    MAIN->dimensions[0][0] = 1u << 30;
    MAIN->dimensions[0][1] = 0;
}

BREAK(float_with_scale)
{
    OPERAND(0)->scale = 1;
}

BREAK(quantized_without_scale)
{
    OPERAND(12)->scale = 0;
}

BREAK(negative_scale)
{
    OPERAND(12)->scale = -1;
}

BREAK(nan_scale)
{
    OPERAND(12)->scale = NAN;
}

BREAK(infinite_scale)
{
    OPERAND(12)->scale = INFINITY;
}

BREAK(negative_int32_scale)
{
    OPERAND(10)->scale = -1;
}

BREAK(float_with_zero_point)
{
    OPERAND(0)->zero_point = 1;
}

BREAK(zero_point_too_large)
{
    OPERAND(12)->zero_point = 256;
}

BREAK(zero_point_too_small)
{
    OPERAND(12)->zero_point = -1;
}

BREAK(extension_with_scale)
{
    OPERAND(18)->scale = 1;
}

BREAK(channel_quant_elsewhere)
{
    OPERAND(0)->extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
}

BREAK(channel_quant_missing)
{
    OPERAND(16)->extra_params = NNHAL_EXTRA_NONE;
}

BREAK(channel_dim_out_of_range)
{
    OPERAND(16)->channel_quant.channel_dim = 2;
}

BREAK(channel_scales_missing)
{
    OPERAND(16)->channel_quant.n_scales = 1;
}

BREAK(channel_scale_zero)
{
    maker->scales[1] = 0;
}

BREAK(channel_scale_nan)
{
    maker->scales[1] = NAN;
}

BREAK(extension_data_on_base_type)
{
    OPERAND(0)->extra_params = NNHAL_EXTRA_EXTENSION;
}

BREAK(unknown_extra_params)
{
    OPERAND(18)->extra_params = 3;
}

BREAK(copy_with_pool)
{
    OPERAND(2)->location.pool_index = 1;
}

BREAK(copy_beyond_values)
{
    OPERAND(2)->location.offset = maker->n_values - 3;
}

BREAK(copy_wraps)
{
    OPERAND(2)->location.offset = UINT64_MAX - 1;
}

BREAK(reference_without_pool)
{
    OPERAND(1)->location.pool_index = 1;
}

BREAK(reference_beyond_pool)
{
    OPERAND(1)->location.offset = 17;
}

BREAK(reference_wraps)
{
    OPERAND(1)->location.offset = UINT64_MAX - 7;
}

BREAK(reference_into_opaque_pool)
{
    maker->pool_sizes[0] = UINT64_MAX;
}

BREAK(constant_too_short)
{
    OPERAND(1)->location.length = 12;
}

BREAK(constant_of_unknown_rank)
{
    OPERAND(1)->n_dimensions = 0;
}

BREAK(constant_of_unknown_dimension)
{
    MAIN->dimensions[1][1] = 0;
}

BREAK(padding_in_model)
{
    OPERAND(1)->location.padding = 1;
}

BREAK(temporary_with_location)
{
    OPERAND(3)->location.length = 16;
}

BREAK(no_value_with_location)
{
    OPERAND(14)->location.offset = 4;
}

BREAK(reference_with_length)
{
    OPERAND(5)->location.length = 1;
}

BREAK(reference_out_of_range)
{
    OPERAND(5)->location.offset = 4;
}

BREAK(reference_far_out_of_range)
{
    OPERAND(5)->location.offset = UINT64_C(1) << 32;
}

BREAK(input_out_of_range)
{
    MAIN->inputs[0] = MAIN->n_operands;
}

BREAK(input_twice)
{
    MAIN->inputs[1] = MAIN->inputs[0];
}

BREAK(input_of_other_lifetime)
{
    MAIN->inputs[0] = 3;
}

BREAK(input_not_listed)
{
    MAIN->n_inputs--;
}

BREAK(output_twice)
{
    MAIN->outputs[1] = MAIN->outputs[0];
}

BREAK(output_of_other_lifetime)
{
    MAIN->outputs[0] = 0;
}

BREAK(output_not_listed)
{
    MAIN->n_outputs--;
}

BREAK(unknown_operation)
{
    MAIN->operations[3].type = NNHAL_OPERATION_TYPE_N;
}

BREAK(operation_input_out_of_range)
{
    MAIN->lists[3][0][0] = 1000;
}

BREAK(operation_output_out_of_range)
{
    MAIN->lists[3][1][0] = UINT32_MAX;
}

BREAK(operation_with_too_few_inputs)
{
    MAIN->operations[0].n_inputs = 2;
}

BREAK(operation_with_wrong_type)
{
    MAIN->lists[0][0][1] = 12;
}

BREAK(operation_rank)
{
    OPERAND(12)->n_dimensions = 5;
    for (int i = 0; i < 5; i++)
        MAIN->dimensions[12][i] = 1;
}

BREAK(writes_input)
{
    MAIN->lists[0][1][0] = 0;
}

BREAK(writes_constant)
{
    MAIN->lists[0][1][0] = 1;
}

BREAK(read_before_write)
{
    struct nnhal_operation first = MAIN->operations[0];
    uint32_t lists[2][MAKER_LIST];

    memcpy(lists, MAIN->lists[0], sizeof(lists));
    MAIN->operations[0] = MAIN->operations[1];
    memcpy(MAIN->lists[0], MAIN->lists[1], sizeof(lists));
    MAIN->operations[1] = first;
    memcpy(MAIN->lists[1], lists, sizeof(lists));
}

BREAK(reads_its_own_output)
{
    MAIN->lists[0][0][0] = 3;
}

BREAK(written_twice)
{
    MAIN->lists[4][1][0] = 3;
    MAIN->lists[4][0][0] = 0;
}

BREAK(never_written)
{
    maker_operand(MAIN, NNHAL_TENSOR_FLOAT32, NNHAL_TEMPORARY_VARIABLE, DIMS(1));
}

BREAK(no_operations)
{
    maker->graphs[2].n_operations = 0;
}

BREAK(no_operands)
{
    maker->graphs[2].n_operands = 0;
}

BREAK(branch_with_other_type)
{
    for (int i = 0; i < 2; i++)
        maker->graphs[1].operands[i].type = NNHAL_TENSOR_FLOAT16;
}

BREAK(branch_with_other_dimension)
{
    for (int i = 0; i < 2; i++)
        maker->graphs[2].dimensions[i][1] = 3;
}

BREAK(branch_with_more_inputs)
{
    maker_operand(&maker->graphs[1], NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(1));
}

BREAK(branch_with_more_outputs)
{
    uint32_t out = maker_operand(&maker->graphs[2], NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT,
                                 DIMS(2, 2));

    maker_operation(&maker->graphs[2], NNHAL_OP_RELU, DIMS(0), 1, &out);
}

BREAK(condition_of_two)
{
    MAIN->dimensions[4][0] = 2;
}

BREAK(loop_condition_of_two)
{
    maker->graphs[3].dimensions[3][0] = 2;
}

BREAK(loop_condition_not_boolean)
{
    OPERAND(8)->location.offset = 3;
}

BREAK(body_with_too_few_outputs)
{
    OPERAND(9)->location.offset = 2;
}

BREAK(body_output_unlike_its_input)
{
    maker->graphs[4].dimensions[5][0] = 3;
}

BREAK(cycle_through_itself)
{
    maker_reference(&maker->graphs[1], 0);
}

BREAK(cycle_of_two)
{
    maker_reference(&maker->graphs[1], 1);
    maker_reference(&maker->graphs[2], 0);
}

BREAK(prefix_name_without_dot)
{
    maker->prefixes[0].name = "extension";
}

BREAK(prefix_name_in_capitals)
{
    maker->prefixes[0].name = "com.Example";
}

BREAK(prefix_too_large)
{
    maker->prefixes[0].prefix = 65536;
}

BREAK(prefix_zero)
{
    maker->prefixes[0].prefix = 0;
}

BREAK(prefix_twice)
{
    maker->prefixes[1] = (struct nnhal_extension_prefix){.name = "com.example.b", .prefix = 5};
    maker->n_prefixes = 2;
}

BREAK(prefix_name_twice)
{
    maker->prefixes[1] = (struct nnhal_extension_prefix){.name = "com.example.test", .prefix = 6};
    maker->n_prefixes = 2;
}

BREAK(relaxed_is_two)
{
    maker->model.relax_computation_float32_to_float16 = 2;
}

static const struct {
    const char *name;
    void (*spoil)(struct maker *maker);
    const char *sentence; /* a part of it */
} rules[] = {
#define RULE(name, sentence)                                                                       \
    {                                                                                              \
#name, name, sentence                                                                      \
    }
    RULE(unknown_type, "operand 12: there is no operand type 16"),
    RULE(unknown_prefix, "operand 18: the operand type 0x60001 has a prefix"),
    RULE(unknown_operation_prefix, "operation 6: the operation 0x60000 has a prefix"),
    RULE(unknown_lifetime, "operand 3: there is no lifetime 7"),
    RULE(subgraph_type_alone, "operand 3: type SUBGRAPH and its lifetime go together"),
    RULE(subgraph_lifetime_alone, "operand 3: type SUBGRAPH and its lifetime go together"),
    RULE(scalar_with_dimensions, "operand 2: INT32 is a scalar"),
    RULE(rank_above_limit, "operand 12: the rank is 17"),
    RULE(size_overflow, "operand 0: the size of the tensor does not fit"),
    RULE(size_above_32_bits, "operand 0: the size of the tensor does not fit"),
    RULE(known_part_above_32_bits, "operand 0: the size of the tensor does not fit"),
    RULE(float_with_scale, "operand 0: TENSOR_FLOAT32 takes no scale"),
    RULE(quantized_without_scale, "operand 12: TENSOR_QUANT8_ASYMM needs a scale above 0"),
    RULE(negative_scale, "operand 12: TENSOR_QUANT8_ASYMM needs a scale above 0"),
    RULE(nan_scale, "operand 12: the scale of TENSOR_QUANT8_ASYMM must be a finite"),
    RULE(infinite_scale, "operand 12: the scale of TENSOR_QUANT8_ASYMM must be a finite"),
    RULE(negative_int32_scale, "operand 10: the scale of TENSOR_INT32 is negative"),
    RULE(float_with_zero_point, "operand 0: the zero point of TENSOR_FLOAT32 is 1"),
    RULE(zero_point_too_large, "operand 12: the zero point of TENSOR_QUANT8_ASYMM is 256"),
    RULE(zero_point_too_small, "operand 12: the zero point of TENSOR_QUANT8_ASYMM is -1"),
    RULE(extension_with_scale, "operand 18: extension type takes no scale"),
    RULE(channel_quant_elsewhere, "operand 0: TENSOR_FLOAT32 takes no extra parameters"),
    RULE(channel_quant_missing, "operand 16: TENSOR_QUANT8_SYMM_PER_CHANNEL needs channel"),
    RULE(channel_dim_out_of_range, "operand 16: the channel dimension is 2, the rank is 2"),
    RULE(channel_scales_missing, "operand 16: there are 1 channel scales for 2 channels"),
    RULE(channel_scale_zero, "operand 16: channel scale 1 is not above 0"),
    RULE(channel_scale_nan, "operand 16: channel scale 1 is not above 0"),
    RULE(extension_data_on_base_type, "operand 0: TENSOR_FLOAT32 takes no extra parameters"),
    RULE(unknown_extra_params, "operand 18: extension type takes no extra parameters of kind 3"),
    RULE(copy_with_pool, "operand 2: a copied constant has pool 1"),
    RULE(copy_beyond_values, "operand 2: bytes"),
    RULE(copy_wraps, "operand 2: bytes"),
    RULE(reference_without_pool, "operand 1: the constant lies in pool 1, there are 1"),
    RULE(reference_beyond_pool, "operand 1: bytes 17 to 17 + 16 of a constant are beyond 32"),
    RULE(reference_wraps, "operand 1: bytes"),
    RULE(reference_into_opaque_pool, "operand 1: a constant cannot lie in pool 0"),
    RULE(constant_too_short, "operand 1: the constant has 12 bytes, the operand 16"),
    RULE(constant_of_unknown_rank, "operand 1: a constant's rank and dimensions must be known"),
    RULE(constant_of_unknown_dimension, "operand 1: a constant's rank and dimensions"),
    RULE(padding_in_model, "operand 1: a location in a model has no padding"),
    RULE(temporary_with_location, "operand 3: an operand without a constant value"),
    RULE(no_value_with_location, "operand 14: an operand without a constant value"),
    RULE(reference_with_length, "operand 5: a reference to a subgraph has no pool"),
    RULE(reference_out_of_range, "operand 5: subgraph 4 is referred to, there are 4"),
    RULE(reference_far_out_of_range, "operand 5: subgraph 4294967296 is referred to"),
    RULE(input_out_of_range, "input 0 is operand 20, there are 20"),
    RULE(input_twice, "operand 0 is listed twice as input"),
    RULE(input_of_other_lifetime, "input 0 is operand 3, which has another lifetime"),
    RULE(input_not_listed, "operand 18 is an input that is not listed"),
    RULE(output_twice, "operand 11 is listed twice as output"),
    RULE(output_of_other_lifetime, "output 0 is operand 0, which has another lifetime"),
    RULE(output_not_listed, "operand 19 is an output that is not listed"),
    RULE(unknown_operation, "operation 3: there is no operation with code 106"),
    RULE(operation_input_out_of_range, "operation 3: RELU: input 0 refers to operand 1000"),
    RULE(operation_output_out_of_range, "operation 3: RELU: output 0 refers to operand 42949672"),
    RULE(operation_with_too_few_inputs, "operation 0: ADD has 2 inputs and 1 outputs"),
    RULE(operation_with_wrong_type, "operation 0: ADD input 1 is TENSOR_QUANT8_ASYMM, it must "
                                    "be TENSOR_FLOAT32"),
    RULE(operation_rank, "operation 3: RELU input 0 has rank 5, the limit is 4"),
    RULE(writes_input, "operation 0: operand 0 is written, but is not a result"),
    RULE(writes_constant, "operation 0: operand 1 is written, but is not a result"),
    RULE(read_before_write, "operation 0: operand 3 is read before it is written"),
    RULE(reads_its_own_output, "operation 0: operand 3 is read before it is written"),
    RULE(written_twice, "operation 4: operand 3 is written twice"),
    RULE(never_written, "operand 20 is never written"),
    RULE(no_operations, "subgraph 1: there are no operations"),
    RULE(no_operands, "subgraph 1: there are no operands"),
    RULE(branch_with_other_type, "operation 1: IF: input 3 does not fit input 0 of the then "
                                 "branch: the types are"),
    RULE(branch_with_other_dimension, "operation 1: IF: input 3 does not fit input 0 of the else "
                                      "branch: dimension 1 is 2 and 3"),
    RULE(branch_with_more_inputs, "operation 1: IF: the then branch takes 2 inputs, 1 are given"),
    RULE(branch_with_more_outputs, "operation 1: IF: the else branch has 2 outputs"),
    RULE(condition_of_two, "operation 1: IF: the condition must be a TENSOR_BOOL8"),
    RULE(loop_condition_of_two, "operation 2: WHILE: the condition's output must be a "
                                "TENSOR_BOOL8"),
    RULE(loop_condition_not_boolean, "operation 2: WHILE: the condition has 2 outputs"),
    RULE(body_with_too_few_outputs, "operation 2: WHILE: output 0 does not fit that of the body"),
    RULE(body_output_unlike_its_input, "operation 2: WHILE: output 1 of the body does not fit"),
    RULE(cycle_through_itself, "subgraphs refer to each other in a cycle"),
    RULE(cycle_of_two, "subgraphs refer to each other in a cycle"),
    RULE(prefix_name_without_dot, "the name of extension 0 is not well formed"),
    RULE(prefix_name_in_capitals, "the name of extension 0 is not well formed"),
    RULE(prefix_too_large, "extension com.example.test has prefix 65536"),
    RULE(prefix_zero, "extension com.example.test has prefix 0"),
    RULE(prefix_twice, "extension com.example.b or its prefix 5 is there twice"),
    RULE(prefix_name_twice, "extension com.example.test or its prefix 6 is there twice"),
    RULE(relaxed_is_two, "relaxed computation is 2"),
#undef RULE
};

TEST(every_rule_refuses_with_its_sentence)
{
    static struct maker maker;
    struct nn_model_facts facts;
    struct nn_why why;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        maker_make_full(&maker);
        rules[i].spoil(&maker);
        ck_assert_msg(validate(&maker, &facts, &why) == NN_REFUSED, "%s was accepted",
                      rules[i].name);
        ck_assert_msg(strncmp(why.text, rules[i].sentence, strlen(rules[i].sentence)) == 0 ||
                          strstr(why.text, rules[i].sentence),
                      "%s: '%s', expected '%s'", rules[i].name, why.text, rules[i].sentence);
    }
}
TEST_END

TEST(a_refusal_needs_no_sentence)
{
    static struct maker maker;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    maker_make_full(&maker);
    float_with_scale(&maker);
    ck_assert_int_eq(nn_model_validate(maker_bind(&maker), maker.pool_sizes, &arena, NULL, NULL),
                     NN_REFUSED);
    nn_arena_done(&arena);
}
TEST_END

TEST(short_memory_is_an_error_not_a_refusal)
{
    static struct maker maker;
    struct nn_arena arena;
    struct nn_why why = {0};

    nn_arena_init(&arena, 16);
    maker_make_full(&maker);
    ck_assert_int_eq(nn_model_validate(maker_bind(&maker), maker.pool_sizes, &arena, NULL, &why),
                     -ENOMEM);
    nn_arena_done(&arena);
}
TEST_END

/* -- nesting -- */

#define MAX_CHAIN 1000

/* A chain: subgraph i runs subgraph i + 1 as both branches of an IF. */
struct chain {
    struct nnhal_subgraph subgraphs[MAX_CHAIN + 1];
    struct nnhal_operand operands[MAX_CHAIN + 1][4];
    struct nnhal_model model;
};

static const uint32_t one = 1;
static const uint32_t if_inputs[] = {0, 2, 2}, list_0[] = {0}, list_1[] = {1};
static const struct nnhal_operation if_operation = {
    .type = NNHAL_OP_IF, .n_inputs = 3, .inputs = if_inputs, .n_outputs = 1, .outputs = list_1};
static const uint32_t not_inputs[] = {2};
static const struct nnhal_operation not_operation = {.type = NNHAL_OP_LOGICAL_NOT,
                                                     .n_inputs = 1,
                                                     .inputs = not_inputs,
                                                     .n_outputs = 1,
                                                     .outputs = list_1};

/* A link takes nothing, since IF has no inputs beyond its condition, which is a constant. */
static void make_link(struct chain *chain, uint32_t i, bool is_last)
{
    struct nnhal_operand *operands = chain->operands[i];

    for (int k = 0; k < 2; k++) {
        operands[k].type = NNHAL_TENSOR_BOOL8;
        operands[k].n_dimensions = 1;
        operands[k].dimensions = &one;
    }
    operands[0].lifetime = NNHAL_CONSTANT_COPY;
    operands[0].location.length = 1;
    operands[1].lifetime = NNHAL_SUBGRAPH_OUTPUT;
    operands[2] = operands[0];
    if (!is_last) {
        operands[2] = (struct nnhal_operand){
            .type = NNHAL_SUBGRAPH, .lifetime = NNHAL_SUBGRAPH_VALUE, .location.offset = i};
    }
    chain->subgraphs[i] = (struct nnhal_subgraph){
        .n_operands = 3,
        .n_operations = 1,
        .n_output_indexes = 1,
        .operands = operands,
        .operations = is_last ? &not_operation : &if_operation,
        .input_indexes = list_0,
        .output_indexes = list_1,
    };
}

static int validate_chain(struct chain *chain, uint32_t n_referenced, struct nn_why *why)
{
    static const uint8_t values[4] = {1};
    struct nn_arena arena;
    int r;

    for (uint32_t i = 0; i <= n_referenced; i++)
        make_link(chain, i, i == n_referenced);
    chain->model.main = chain->subgraphs[0];
    chain->model.n_referenced = n_referenced;
    chain->model.referenced = &chain->subgraphs[1];
    chain->model.operand_values = (struct nnhal_bytes){sizeof(values), values};
    nn_arena_init(&arena, 0);
    r = nn_model_validate(&chain->model, NULL, &arena, NULL, why);
    nn_arena_done(&arena);
    return r;
}

TEST(nesting_ends_at_its_limit)
{
    static struct chain chain;
    struct nn_why why = {0};

    ck_assert_msg(validate_chain(&chain, 1, &why) == 0, "%s", why.text);
    ck_assert_msg(validate_chain(&chain, NN_MODEL_MAX_NESTING, &why) == 0, "%s", why.text);
    ck_assert_int_eq(validate_chain(&chain, NN_MODEL_MAX_NESTING + 1, &why), NN_REFUSED);
    ck_assert_str_eq(why.text, "subgraphs are nested more than 64 deep");
    ck_assert_int_eq(validate_chain(&chain, MAX_CHAIN, &why), NN_REFUSED);
}
TEST_END

/* -- copies -- */

TEST(a_copy_shares_nothing)
{
    static struct maker maker;
    struct nn_model_facts facts;
    struct nn_arena arena, scratch;
    struct nnhal_model copy;
    struct nn_why why = {0};

    nn_arena_init(&arena, 0);
    nn_arena_init(&scratch, 0);
    maker_make_full(&maker);
    ck_assert_int_eq(nn_model_copy(&copy, maker_bind(&maker), &arena), 0);
    memset(&maker, 0xff, sizeof(maker));
    ck_assert_msg(nn_model_validate(&copy, (const uint64_t[]){32}, &scratch, &facts, &why) == 0,
                  "%s", why.text);
    ck_assert_uint_eq(facts.level, 4);
    ck_assert_str_eq(copy.extension_prefixes[0].name, "com.example.test");
    ck_assert_uint_eq(copy.pools[0], 77);
    nn_arena_done(&scratch);
    nn_arena_done(&arena);
}
TEST_END

TEST(a_copy_survives_short_memory)
{
    static struct maker maker;
    struct nnhal_model copy;

    maker_make_full(&maker);
    for (size_t limit = 64; limit < 65536; limit *= 2) {
        struct nn_arena arena;
        int r;

        nn_arena_init(&arena, limit);
        r = nn_model_copy(&copy, maker_bind(&maker), &arena);
        ck_assert(r == 0 || r == -ENOMEM);
        nn_arena_done(&arena);
    }
}
TEST_END

CHECK_MAIN("validate", full_model_is_valid, every_rule_refuses_with_its_sentence,
           a_refusal_needs_no_sentence, short_memory_is_an_error_not_a_refusal,
           nesting_ends_at_its_limit, a_copy_shares_nothing, a_copy_survives_short_memory)
