/* SPDX-License-Identifier: Apache-2.0 */
/* test-infer.c - the frame of inference: merging, late dimensions, omitted and unknown inputs */
#include "model/infer.h"

#include "support/check-main.h"

#include <string.h>

struct fixture {
    struct nn_infer_operand in[3];
    struct nn_infer_operand out[1];
    struct nn_infer infer;
    struct nn_why why;
    int32_t activation;
};

static void set(struct nn_infer_operand *operand, uint32_t type, uint32_t n, uint32_t d0,
                uint32_t d1)
{
    *operand = (struct nn_infer_operand){.type = type, .n_dims = n, .is_known = true};
    operand->dims[0] = d0;
    operand->dims[1] = d1;
}

/* ADD of [2,3] and [1,3]. */
static void make(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    set(&f->in[0], NNHAL_TENSOR_FLOAT32, 2, 2, 3);
    set(&f->in[1], NNHAL_TENSOR_FLOAT32, 2, 1, 3);
    set(&f->in[2], NNHAL_INT32, 0, 0, 0);
    f->in[2].value = &f->activation;
    set(&f->out[0], NNHAL_TENSOR_FLOAT32, 0, 0, 0);
    f->infer = (struct nn_infer){.op = nn_op_find(NNHAL_OP_ADD),
                                 .n_inputs = 3,
                                 .n_outputs = 1,
                                 .inputs = f->in,
                                 .outputs = f->out,
                                 .why = &f->why};
}

TEST(an_unknown_output_takes_what_is_computed)
{
    struct fixture f;

    make(&f);
    ck_assert_msg(nn_infer(&f.infer) == 0, "%s", f.why.text);
    ck_assert_uint_eq(f.out[0].n_dims, 2);
    ck_assert_uint_eq(f.out[0].dims[0], 2);
    ck_assert_uint_eq(f.out[0].dims[1], 3);
    ck_assert(f.out[0].is_known);
    ck_assert_uint_eq(f.out[0].late_dims, 0);
}
TEST_END

TEST(declared_dimensions_must_agree)
{
    struct fixture f;

    make(&f);
    set(&f.out[0], NNHAL_TENSOR_FLOAT32, 2, 0, 3);
    ck_assert_int_eq(nn_infer(&f.infer), 0);
    make(&f);
    set(&f.out[0], NNHAL_TENSOR_FLOAT32, 2, 0, 4);
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
    ck_assert_str_eq(f.why.text, "ADD: dimension 1 of output 0 is 3, the model says 4");
    make(&f);
    set(&f.out[0], NNHAL_TENSOR_FLOAT32, 1, 0, 0);
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
    ck_assert_str_eq(f.why.text, "ADD: output 0 has rank 2, the model says 1");
}
TEST_END

TEST(a_zero_sized_result_does_not_take_a_declared_number)
{
    struct fixture f;

    make(&f);
    f.in[0].dims[0] = 0;
    ck_assert_int_eq(nn_infer(&f.infer), 0);
    ck_assert_uint_eq(f.out[0].dims[0], 0);
    ck_assert(f.out[0].is_known);
    make(&f);
    f.in[0].dims[0] = 0;
    set(&f.out[0], NNHAL_TENSOR_FLOAT32, 2, 2, 3);
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
}
TEST_END

TEST(unknown_inputs_are_asked_for_again)
{
    struct fixture f;

    make(&f);
    f.in[1].is_known = false;
    ck_assert_int_eq(nn_infer(&f.infer), NN_INFER_E_UNKNOWN);
    /* The activation decides no shape. */
    make(&f);
    f.in[2].value = NULL;
    ck_assert_int_eq(nn_infer(&f.infer), 0);
}
TEST_END

TEST(omitted_inputs_are_refused_where_they_must_not_be)
{
    struct fixture f;

    make(&f);
    f.in[1].is_omitted = true;
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
    ck_assert_str_eq(f.why.text, "ADD: input 1 must not be omitted");
    /* TRANSPOSE without a permutation turns its dimensions round. */
    make(&f);
    set(&f.in[1], NNHAL_TENSOR_INT32, 1, 2, 0);
    f.in[1].is_omitted = true;
    f.infer.op = nn_op_find(NNHAL_OP_TRANSPOSE);
    f.infer.n_inputs = 2;
    ck_assert_msg(nn_infer(&f.infer) == 0, "%s", f.why.text);
    ck_assert_uint_eq(f.out[0].dims[0], 3);
    ck_assert_uint_eq(f.out[0].dims[1], 2);
}
TEST_END

TEST(too_large_outputs_are_refused)
{
    struct fixture f;

    make(&f);
    set(&f.in[0], NNHAL_TENSOR_FLOAT32, 2, 65536, 1);
    set(&f.in[1], NNHAL_TENSOR_FLOAT32, 2, 1, 65536);
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
    ck_assert_str_eq(f.why.text, "ADD: output 0 is larger than 4 GiB");
}
TEST_END

TEST(a_fixed_output_keeps_its_quantization)
{
    struct fixture f;

    make(&f);
    for (int i = 0; i < 2; i++) {
        f.in[i].type = NNHAL_TENSOR_QUANT8_ASYMM;
        f.in[i].scale = 0.5f;
        f.in[i].zero_point = 7;
    }
    f.out[0].type = NNHAL_TENSOR_QUANT8_ASYMM;
    f.out[0].scale = 0.25f;
    f.infer.op = nn_op_find(NNHAL_OP_RELU);
    f.infer.n_inputs = 1;
    ck_assert_msg(nn_infer(&f.infer) == 0, "%s", f.why.text);
    ck_assert(f.out[0].scale == 0.5f);
    ck_assert_int_eq(f.out[0].zero_point, 7);
    f.out[0].n_dims = 0;
    f.out[0].scale = 0.25f;
    f.out[0].is_fixed = true;
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
    ck_assert_str_eq(f.why.text,
                     "RELU: output 0 must have scale 0.5 and zero point 7, not 0.25 and 7");
}
TEST_END

TEST(types_that_fit_no_row_are_refused)
{
    struct fixture f;

    make(&f);
    f.in[1].type = NNHAL_TENSOR_FLOAT16;
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
    ck_assert_str_eq(f.why.text, "ADD: these operand types cannot be executed");
}
TEST_END

TEST(control_flow_has_no_inference)
{
    struct fixture f;

    make(&f);
    f.infer.op = nn_op_find(NNHAL_OP_IF);
    ck_assert_int_eq(nn_infer(&f.infer), NN_REFUSED);
    ck_assert_str_eq(f.why.text, "IF has no shape inference");
}
TEST_END

TEST(half_scalars_are_read)
{
    static const uint16_t half = 0xc100; /* -2.5 */
    struct fixture f;
    float value;

    make(&f);
    set(&f.in[0], NNHAL_FLOAT16, 0, 0, 0);
    f.in[0].value = &half;
    ck_assert_int_eq(nn_infer_float(&f.infer, 0, &value), 0);
    ck_assert(value == -2.5f);
    f.in[0].value = NULL;
    ck_assert_int_eq(nn_infer_float(&f.infer, 0, &value), NN_INFER_E_UNKNOWN);
}
TEST_END

TEST(dimensions_merge_both_ways)
{
    uint32_t n, ret[3];

    ck_assert(nn_dims_merge(0, NULL, 2, (uint32_t[]){0, 4}, &n, ret));
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(ret[1], 4);
    ck_assert(nn_dims_merge(2, (uint32_t[]){3, 0}, 2, (uint32_t[]){0, 4}, &n, ret));
    ck_assert_uint_eq(ret[0], 3);
    ck_assert_uint_eq(ret[1], 4);
    ck_assert(!nn_dims_merge(2, (uint32_t[]){3, 0}, 2, (uint32_t[]){2, 4}, &n, ret));
    ck_assert(!nn_dims_merge(1, (uint32_t[]){3}, 2, (uint32_t[]){3, 4}, &n, ret));
    ck_assert(nn_dims_merge(0, NULL, 0, NULL, &n, ret));
    ck_assert_uint_eq(n, 0);
}
TEST_END

CHECK_MAIN("infer", an_unknown_output_takes_what_is_computed, declared_dimensions_must_agree,
           a_zero_sized_result_does_not_take_a_declared_number, unknown_inputs_are_asked_for_again,
           omitted_inputs_are_refused_where_they_must_not_be, too_large_outputs_are_refused,
           a_fixed_output_keeps_its_quantization, types_that_fit_no_row_are_refused,
           control_flow_has_no_inference, half_scalars_are_read, dimensions_merge_both_ways)
