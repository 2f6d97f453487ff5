/* SPDX-License-Identifier: Apache-2.0 */
/* test-request.c - every rule of requests, broken one at a time */
#include "model/validate.h"

#include "support/check-main.h"

#include <string.h>

#define MEMORY_BYTES 256

/* A model with inputs float [2,3], INT32 scalar, float of unknown rank, and outputs
 * float [2,3], float [0,4] (first dimension unknown); and a valid request. */
struct fixture {
    uint32_t dimensions[5][4];
    struct nnhal_operand inputs[3];
    struct nnhal_operand outputs[2];
    struct nn_model_io io;
    uint32_t argument_dimensions[5][NNHAL_MAX_RANK + 1];
    struct nnhal_request_argument in[4];
    struct nnhal_request_argument out[3];
    struct nnhal_request_pool pools[3];
    struct nn_request_pool_info infos[3];
    struct nnhal_request request;
    unsigned flags;
};

static void set_operand(struct nnhal_operand *operand, uint32_t *dimensions, uint32_t type,
                        uint32_t n, uint32_t d0, uint32_t d1)
{
    dimensions[0] = d0;
    dimensions[1] = d1;
    *operand = (struct nnhal_operand){.type = type, .n_dimensions = n, .dimensions = dimensions};
}

static void set_argument(struct nnhal_request_argument *argument, uint32_t *dimensions,
                         uint64_t offset, uint64_t length)
{
    *argument = (struct nnhal_request_argument){.dimensions = dimensions};
    argument->location.offset = offset;
    argument->location.length = length;
}

static void make(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    set_operand(&f->inputs[0], f->dimensions[0], NNHAL_TENSOR_FLOAT32, 2, 2, 3);
    set_operand(&f->inputs[1], f->dimensions[1], NNHAL_INT32, 0, 0, 0);
    set_operand(&f->inputs[2], f->dimensions[2], NNHAL_TENSOR_FLOAT32, 0, 0, 0);
    set_operand(&f->outputs[0], f->dimensions[3], NNHAL_TENSOR_FLOAT32, 2, 2, 3);
    set_operand(&f->outputs[1], f->dimensions[4], NNHAL_TENSOR_FLOAT32, 2, 0, 4);
    f->io = (struct nn_model_io){3, 2, f->inputs, f->outputs};
    set_argument(&f->in[0], f->argument_dimensions[0], 0, 24);
    set_argument(&f->in[1], f->argument_dimensions[1], 24, 4);
    set_argument(&f->in[2], f->argument_dimensions[2], 32, 8);
    f->in[2].n_dimensions = 1;
    f->argument_dimensions[2][0] = 2;
    set_argument(&f->out[0], f->argument_dimensions[3], 64, 24);
    set_argument(&f->out[1], f->argument_dimensions[4], 128, 100);
    f->pools[0].memory = 5;
    f->infos[0].size = MEMORY_BYTES;
    f->pools[1].token = 9;
    f->infos[1].is_buffer = true;
    f->pools[2].memory = 6;
    f->infos[2].size = UINT64_MAX;
    f->request = (struct nnhal_request){.n_inputs = 3,
                                        .n_outputs = 2,
                                        .n_pools = 3,
                                        .inputs = f->in,
                                        .outputs = f->out,
                                        .pools = f->pools};
}

static int validate(struct fixture *f, struct nn_why *why)
{
    struct nn_arena arena;
    int r;

    memset(why, 0, sizeof(*why));
    nn_arena_init(&arena, 0);
    r = nn_request_validate(&f->io, &f->request, f->infos, f->flags, &arena, why);
    nn_arena_done(&arena);
    return r;
}

#define CASE(name) static void name(struct fixture *f)

/* -- accepted -- */

CASE(as_made)
{
    (void)f;
}

CASE(omitted_input)
{
    memset(&f->in[2], 0, sizeof(f->in[2]));
    f->in[2].has_no_value = 1;
}

CASE(same_dimensions_given)
{
    f->in[0].n_dimensions = 2;
    f->argument_dimensions[0][0] = 2;
    f->argument_dimensions[0][1] = 3;
}

CASE(partial_dimensions_given)
{
    f->in[0].n_dimensions = 2;
    f->argument_dimensions[0][1] = 3;
}

CASE(output_fully_given)
{
    f->out[1].n_dimensions = 2;
    f->argument_dimensions[4][0] = 5;
    f->argument_dimensions[4][1] = 4;
    f->out[1].location.length = 80;
}

CASE(padding_up_to_the_end)
{
    f->out[1].location.padding = MEMORY_BYTES - 228;
}

CASE(inputs_may_overlap)
{
    f->in[1].location.offset = 0;
}

CASE(whole_buffer)
{
    f->out[0].location = (struct nnhal_data_location){.pool_index = 1};
}

CASE(buffer_input_of_unknown_shape)
{
    f->in[2].location = (struct nnhal_data_location){.pool_index = 1};
    f->in[2].n_dimensions = 0;
}

CASE(opaque_memory)
{
    f->in[0].location = (struct nnhal_data_location){.pool_index = 2};
}

CASE(fenced_and_complete)
{
    output_fully_given(f);
    f->flags = NN_REQUEST_FENCED;
}

static void (*const accepted[])(struct fixture *f) = {
    as_made,
    omitted_input,
    same_dimensions_given,
    partial_dimensions_given,
    output_fully_given,
    padding_up_to_the_end,
    inputs_may_overlap,
    whole_buffer,
    buffer_input_of_unknown_shape,
    opaque_memory,
    fenced_and_complete,
};

TEST(valid_requests_pass)
{
    struct fixture f;
    struct nn_why why;

    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
        make(&f);
        accepted[i](&f);
        ck_assert_msg(validate(&f, &why) == 0, "case %zu: %s", i, why.text);
    }
}
TEST_END

/* -- refused -- */

CASE(input_dropped)
{
    f->request.n_inputs--;
}

CASE(output_dropped)
{
    f->request.n_outputs--;
}

CASE(output_added)
{
    f->request.n_outputs++;
}

CASE(too_many_pools)
{
    f->request.n_pools = NNHAL_MAX_POOLS + 1;
}

CASE(omitted_with_length)
{
    f->in[2].has_no_value = 1;
    f->in[2].n_dimensions = 0;
}

CASE(omitted_with_dimensions)
{
    omitted_input(f);
    f->in[2].dimensions = f->argument_dimensions[2];
    f->in[2].n_dimensions = 1;
}

CASE(omitted_is_two)
{
    f->in[2].has_no_value = 2;
}

CASE(pool_out_of_range)
{
    f->in[0].location.pool_index = 3;
}

CASE(beyond_pool)
{
    f->in[0].location.offset = MEMORY_BYTES - 23;
}

CASE(offset_wraps)
{
    f->in[0].location.offset = UINT64_MAX - 11;
}

CASE(padding_beyond_pool)
{
    f->out[1].location.padding = MEMORY_BYTES - 227;
}

CASE(padding_wraps)
{
    f->out[1].location.padding = UINT64_MAX - 99;
}

CASE(no_length)
{
    f->in[0].location.length = 0;
}

CASE(buffer_with_offset)
{
    f->in[0].location = (struct nnhal_data_location){.pool_index = 1, .offset = 4};
}

CASE(buffer_with_length)
{
    f->in[0].location = (struct nnhal_data_location){.pool_index = 1, .length = 24};
}

CASE(opaque_with_length)
{
    f->in[0].location = (struct nnhal_data_location){.pool_index = 2, .length = 24};
}

CASE(other_rank)
{
    f->in[0].n_dimensions = 3;
}

CASE(rank_above_limit)
{
    f->in[2].n_dimensions = NNHAL_MAX_RANK + 1;
}

CASE(other_dimension)
{
    same_dimensions_given(f);
    f->argument_dimensions[0][1] = 4;
}

CASE(scalar_with_dimensions)
{
    f->in[1].n_dimensions = 1;
    f->argument_dimensions[1][0] = 1;
}

CASE(input_of_unknown_rank)
{
    f->in[2].n_dimensions = 0;
}

CASE(input_of_unknown_dimension)
{
    f->argument_dimensions[2][0] = 0;
}

CASE(wrong_length)
{
    f->in[0].location.length = 20;
}

CASE(longer_output)
{
    f->out[0].location.length = 28;
}

CASE(size_overflow)
{
    f->in[2].n_dimensions = 4;
    for (int i = 0; i < 4; i++)
        f->argument_dimensions[2][i] = UINT32_MAX;
}

CASE(fenced_and_open)
{
    f->flags = NN_REQUEST_FENCED;
}

CASE(output_over_input)
{
    f->out[0].location.offset = 20;
}

CASE(output_over_output)
{
    f->out[0].location.offset = 124;
}

CASE(input_over_output)
{
    f->in[2].location.offset = 84;
}

CASE(input_within_output)
{
    f->in[1].location.offset = 140;
}

CASE(overlap_by_another_pool_index)
{
    f->pools[2].memory = 5;
    f->infos[2].size = MEMORY_BYTES;
    f->out[0].location.pool_index = 2;
    f->out[0].location.offset = 0;
}

static const struct {
    const char *name;
    void (*spoil)(struct fixture *f);
    const char *sentence;
} refused[] = {
#define RULE(name, sentence)                                                                       \
    {                                                                                              \
#name, name, sentence                                                                      \
    }
    RULE(input_dropped, "the request has 2 inputs, the model 3"),
    RULE(output_dropped, "the request has 1 outputs, the model 2"),
    RULE(output_added, "the request has 3 outputs, the model 2"),
    RULE(too_many_pools, "the request has 4097 pools"),
    RULE(omitted_with_length, "input 2: an omitted argument has no location"),
    RULE(omitted_with_dimensions, "input 2: an omitted argument has no location"),
    RULE(omitted_is_two, "input 2: has_no_value is 2"),
    RULE(pool_out_of_range, "input 0: it lies in pool 3, there are 3"),
    RULE(beyond_pool, "input 0: offset 233, length 24 and padding 0 are beyond the 256 bytes"),
    RULE(offset_wraps, "input 0: offset"),
    RULE(padding_beyond_pool, "output 1: offset 128, length 100 and padding 29 are beyond"),
    RULE(padding_wraps, "output 1: offset"),
    RULE(no_length, "input 0: its length is 0"),
    RULE(buffer_with_offset, "input 0: pool 1 is used as a whole"),
    RULE(buffer_with_length, "input 0: pool 1 is used as a whole"),
    RULE(opaque_with_length, "input 0: pool 2 is used as a whole"),
    RULE(other_rank, "input 0: its dimensions contradict the model's"),
    RULE(rank_above_limit, "input 2: its dimensions contradict the model's"),
    RULE(other_dimension, "input 0: its dimensions contradict the model's"),
    RULE(scalar_with_dimensions, "input 1: its dimensions contradict the model's"),
    RULE(input_of_unknown_rank, "input 2: its dimensions must all be known"),
    RULE(input_of_unknown_dimension, "input 2: its dimensions must all be known"),
    RULE(wrong_length, "input 0: it has 20 bytes, its dimensions need 24"),
    RULE(longer_output, "output 0: it has 28 bytes, its dimensions need 24"),
    RULE(size_overflow, "input 2: its size does not fit 32 bits"),
    RULE(fenced_and_open, "output 1: its dimensions must all be known in a fenced execution"),
    RULE(output_over_input, "overlaps"),
    RULE(output_over_output, "output 1 overlaps another argument in the same memory"),
    RULE(input_over_output, "input 2 overlaps an output in the same memory"),
    RULE(input_within_output, "input 1 overlaps an output in the same memory"),
    RULE(overlap_by_another_pool_index, "overlaps"),
#undef RULE
};

TEST(every_rule_refuses_with_its_sentence)
{
    struct fixture f;
    struct nn_why why;

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        make(&f);
        refused[i].spoil(&f);
        ck_assert_msg(validate(&f, &why) == NN_REFUSED, "%s was accepted", refused[i].name);
        ck_assert_msg(strstr(why.text, refused[i].sentence), "%s: '%s', expected '%s'",
                      refused[i].name, why.text, refused[i].sentence);
    }
}
TEST_END

TEST(dimensions_are_merged)
{
    struct fixture f;
    uint32_t n, dimensions[NNHAL_MAX_RANK];

    make(&f);
    ck_assert(nn_request_dims(&f.outputs[1], &f.out[1], &n, dimensions));
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(dimensions[0], 0);
    ck_assert_uint_eq(dimensions[1], 4);
    output_fully_given(&f);
    ck_assert(nn_request_dims(&f.outputs[1], &f.out[1], &n, dimensions));
    ck_assert_uint_eq(dimensions[0], 5);
    f.argument_dimensions[4][1] = 3;
    ck_assert(!nn_request_dims(&f.outputs[1], &f.out[1], &n, dimensions));
}
TEST_END

CHECK_MAIN("request", valid_requests_pass, every_rule_refuses_with_its_sentence,
           dimensions_are_merged)
