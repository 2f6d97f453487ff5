/* SPDX-License-Identifier: Apache-2.0 */
/* test-defaults.c - which trailing arguments can be left out */
#include "model/defaults.h"

#include "support/check-main.h"

#include <string.h>

#define MAX_INPUTS 16

/* Scalars behind n_before operands without values. */
struct fixture {
    struct nnhal_operand operands[MAX_INPUTS + 1];
    uint32_t indexes[MAX_INPUTS + 1];
    int32_t values[MAX_INPUTS + 1];
    bool has_value[MAX_INPUTS + 1];
    struct nnhal_operation operation;
};

static const void *value_of(const void *ctx, uint32_t operand)
{
    const struct fixture *f = ctx;

    return f->has_value[operand] ? &f->values[operand] : NULL;
}

/* make() - types as in patterns; the values are those of the last n_values inputs. */
static void make(struct fixture *f, uint32_t type, const char *types, uint32_t n_values,
                 const int32_t *values)
{
    uint32_t n = (uint32_t)strlen(types);

    memset(f, 0, sizeof(*f));
    for (uint32_t i = 0; i <= n; i++) {
        char c = i < n ? types[i] : 'F';

        f->indexes[i] = i;
        f->operands[i].type = c == 'F'   ? NNHAL_TENSOR_FLOAT32
                              : c == 'I' ? NNHAL_TENSOR_INT32
                              : c == 'i' ? NNHAL_INT32
                              : c == 'f' ? NNHAL_FLOAT32
                                         : NNHAL_BOOL;
    }
    for (uint32_t i = 0; i < n_values; i++) {
        f->values[n - n_values + i] = values[i];
        f->has_value[n - n_values + i] = true;
    }
    f->operation = (struct nnhal_operation){.type = type,
                                            .n_inputs = n,
                                            .inputs = f->indexes,
                                            .n_outputs = 1,
                                            .outputs = f->indexes + n};
}

static uint32_t left(struct fixture *f)
{
    struct nn_operation_facts facts;
    struct nn_why why = {0};

    ck_assert_msg(nn_operation_validate(f->operands, f->operation.n_inputs + 1, &f->operation,
                                        &facts, &why) == 0,
                  "%s", why.text);
    return nn_operation_count_without_defaults(&f->operation, facts.signature, value_of, f);
}

#define VALUES(...)                                                                                \
    sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (const int32_t[])                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const struct {
    uint32_t type;
    const char *types;
    int32_t last[3]; /* defaults */
    uint32_t n_last;
    uint32_t n_left;
} forms[] = {
    {NNHAL_OP_AVERAGE_POOL_2D, "Fiiiiiib", {0}, 1, 7},
    {NNHAL_OP_AVERAGE_POOL_2D, "Fiiiiiiiiib", {0}, 1, 10},
    {NNHAL_OP_L2_POOL_2D, "Fiiiiiib", {0}, 1, 7},
    {NNHAL_OP_MAX_POOL_2D, "Fiiiiiib", {0}, 1, 7},
    {NNHAL_OP_CONV_2D, "FFFiiiib", {0}, 1, 7},
    {NNHAL_OP_CONV_2D, "FFFiiiibii", {0, 1, 1}, 3, 7},
    {NNHAL_OP_CONV_2D, "FFFiiiiiiibii", {0, 1, 1}, 3, 10},
    {NNHAL_OP_DEPTHWISE_CONV_2D, "FFFiiiiibii", {0, 1, 1}, 3, 8},
    {NNHAL_OP_DEPTHWISE_CONV_2D, "FFFiiiiiiiibii", {0, 1, 1}, 3, 11},
    {NNHAL_OP_DEPTH_TO_SPACE, "Fib", {0}, 1, 2},
    {NNHAL_OP_SPACE_TO_DEPTH, "Fib", {0}, 1, 2},
    {NNHAL_OP_BATCH_TO_SPACE_ND, "FIb", {0}, 1, 2},
    {NNHAL_OP_SPACE_TO_BATCH_ND, "FIIb", {0}, 1, 3},
    {NNHAL_OP_L2_NORMALIZATION, "Fi", {-1}, 1, 1},
    {NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION, "Fifffi", {-1}, 1, 5},
    {NNHAL_OP_SOFTMAX, "Ffi", {-1}, 1, 2},
    {NNHAL_OP_RESIZE_BILINEAR, "Fiibbb", {0, 0, 0}, 3, 3},
    {NNHAL_OP_RESIZE_BILINEAR, "Fffbbb", {0, 0, 0}, 3, 3},
    {NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, "Fiibbb", {0, 0, 0}, 3, 4},
};

TEST(defaults_are_left_out)
{
    struct fixture f;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        make(&f, forms[i].type, forms[i].types, forms[i].n_last, forms[i].last);
        ck_assert_msg(left(&f) == forms[i].n_left, "%s %s", nn_op_name(forms[i].type),
                      forms[i].types);
    }
}
TEST_END

TEST(other_and_unknown_values_stay)
{
    struct fixture f;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        uint32_t n = (uint32_t)strlen(forms[i].types);
        int32_t other[3];

        memcpy(other, forms[i].last, sizeof(other));
        other[forms[i].n_last - 1] = forms[i].last[forms[i].n_last - 1] == 1 ? 2 : 1;
        make(&f, forms[i].type, forms[i].types, forms[i].n_last, other);
        ck_assert_uint_eq(left(&f), n);
        make(&f, forms[i].type, forms[i].types, 0, NULL);
        ck_assert_uint_eq(left(&f), n);
    }
}
TEST_END

TEST(arguments_are_left_out_from_the_end_only)
{
    struct fixture f;

    make(&f, NNHAL_OP_CONV_2D, "FFFiiiibii", VALUES(1, 1, 1));
    ck_assert_uint_eq(left(&f), 8);
    make(&f, NNHAL_OP_CONV_2D, "FFFiiiibii", VALUES(0, 2, 1));
    ck_assert_uint_eq(left(&f), 10);
    make(&f, NNHAL_OP_CONV_2D, "FFFiiiibii", VALUES(0, 1, 2));
    ck_assert_uint_eq(left(&f), 10);
    make(&f, NNHAL_OP_RESIZE_BILINEAR, "Fiibbb", VALUES(0, 1, 0));
    ck_assert_uint_eq(left(&f), 5);
    make(&f, NNHAL_OP_RESIZE_BILINEAR, "Fiibbb", VALUES(1, 0, 0));
    ck_assert_uint_eq(left(&f), 4);
}
TEST_END

TEST(required_arguments_stay)
{
    struct fixture f;

    /* The layout of a grouped convolution is no default; a pool's last number is no axis. */
    make(&f, NNHAL_OP_GROUPED_CONV_2D, "FFFiiiiib", VALUES(0));
    ck_assert_uint_eq(left(&f), 9);
    make(&f, NNHAL_OP_AVERAGE_POOL_2D, "Fiiiiii", VALUES(0, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(left(&f), 7);
    make(&f, NNHAL_OP_INSTANCE_NORMALIZATION, "Ffffb", VALUES(0));
    ck_assert_uint_eq(left(&f), 5);
}
TEST_END

CHECK_MAIN("defaults", defaults_are_left_out, other_and_unknown_values_stay,
           arguments_are_left_out_from_the_end_only, required_arguments_stay)
