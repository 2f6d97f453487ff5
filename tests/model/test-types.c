/* SPDX-License-Identifier: Apache-2.0 */
#include "model/types.h"

#include "model/why.h"

#include "support/check-main.h"

#include <string.h>

TEST(levels_and_features_agree)
{
    for (unsigned level = NN_LEVEL_MIN; level <= NN_LEVEL_MAX; level++)
        ck_assert_uint_eq(nn_level_from_feature(nn_level_to_feature(level)), level);
    ck_assert_int_eq(nn_level_to_feature(3), 29);
    ck_assert_int_eq(nn_level_to_feature(8), 1000008);
    ck_assert_uint_eq(nn_level_from_feature(26), 0);
    ck_assert_uint_eq(nn_level_from_feature(32), 5);
    ck_assert_uint_eq(nn_level_from_feature(1000005), 5);
    ck_assert_uint_eq(nn_level_from_feature(INT64_MAX), 8);
}
TEST_END

TEST(types_have_their_kinds)
{
    ck_assert(nn_type_is_tensor(NNHAL_TENSOR_BOOL8));
    ck_assert(!nn_type_is_tensor(NNHAL_BOOL));
    ck_assert(nn_type_is_scalar(NNHAL_SUBGRAPH));
    ck_assert(nn_type_is_tensor(NNHAL_TENSOR_OEM_BYTE));
    ck_assert(nn_type_is_scalar(NNHAL_OEM_SCALAR));
    ck_assert(!nn_type_is_tensor(1 << 16 | 3));
    ck_assert(!nn_type_is_scalar(1 << 16 | 3));
    ck_assert(!nn_type_is_base(NN_TYPE_TENSOR_INT64));
    ck_assert(!nn_type_is_base(NN_TYPE_N));
    ck_assert(!nn_type_is_base(UINT32_MAX));
    ck_assert(nn_type_is_quantized(NNHAL_TENSOR_QUANT16_SYMM));
    ck_assert(!nn_type_is_quantized(NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL));
    ck_assert(!nn_type_is_quantized(NNHAL_TENSOR_INT32));
    ck_assert_uint_eq(nn_type_bytes(NNHAL_TENSOR_QUANT16_ASYMM), 2);
    ck_assert_uint_eq(nn_type_bytes(NNHAL_SUBGRAPH), 0);
    ck_assert_uint_eq(nn_type_level(NNHAL_TENSOR_QUANT8_ASYMM_SIGNED), 4);
    ck_assert_uint_eq(nn_type_level(NNHAL_BOOL), 3);
    ck_assert_str_eq(nn_type_name(NNHAL_TENSOR_FLOAT16), "TENSOR_FLOAT16");
    ck_assert_str_eq(nn_type_name(77), "unknown type");
    ck_assert_str_eq(nn_type_name(1 << 16), "extension type");
}
TEST_END

TEST(sizes_do_not_overflow)
{
    uint64_t n;

    ck_assert(nn_operand_bytes(NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){3, 5}, &n));
    ck_assert_uint_eq(n, 60);
    ck_assert(nn_operand_bytes(NNHAL_FLOAT16, 0, NULL, &n));
    ck_assert_uint_eq(n, 2);
    ck_assert(nn_operand_bytes(NNHAL_TENSOR_FLOAT32, 0, NULL, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert(nn_operand_bytes(NNHAL_TENSOR_BOOL8, 1, (uint32_t[]){UINT32_MAX}, &n));
    ck_assert_uint_eq(n, UINT32_MAX);
    ck_assert(!nn_operand_bytes(NNHAL_TENSOR_FLOAT16, 1, (uint32_t[]){1u << 31}, &n));
    ck_assert(!nn_operand_bytes(NNHAL_TENSOR_BOOL8, 2, (uint32_t[]){65536, 65536}, &n));
    ck_assert(!nn_operand_bytes(NNHAL_TENSOR_BOOL8, 3,
                                (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX}, &n));
    /* A zero makes it zero, wherever it stands. */
    ck_assert(nn_operand_bytes(NNHAL_TENSOR_BOOL8, 4,
                               (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX, 0}, &n));
    ck_assert_uint_eq(n, 0);
}
TEST_END

TEST(unknown_dimensions_are_seen)
{
    ck_assert(nn_dims_known(NNHAL_INT32, 0, NULL));
    ck_assert(!nn_dims_known(NNHAL_TENSOR_INT32, 0, NULL));
    ck_assert(nn_dims_known(NNHAL_TENSOR_INT32, 1, (uint32_t[]){1}));
    ck_assert(!nn_dims_known(NNHAL_TENSOR_INT32, 2, (uint32_t[]){1, 0}));
}
TEST_END

TEST(long_sentences_are_cut)
{
    struct nn_why why;
    char words[2 * NN_WHY_BYTES];

    memset(words, 'w', sizeof(words));
    words[sizeof(words) - 1] = '\0';
    ck_assert_int_eq(nn_refuse(&why, "%s", words), NN_REFUSED);
    ck_assert_uint_eq(strlen(why.text), NN_WHY_BYTES - 1);
    ck_assert_int_eq(nn_refuse(&why, "end"), NN_REFUSED);
    ck_assert_int_eq(nn_why_prefix(&why, "operation %d: ", 7), NN_REFUSED);
    ck_assert_str_eq(why.text, "operation 7: end");
    nn_why_prefix(&why, "%s", words);
    ck_assert_uint_eq(strlen(why.text), NN_WHY_BYTES - 1);
    ck_assert_int_eq(nn_refuse(NULL, "not kept"), NN_REFUSED);
}
TEST_END

CHECK_MAIN("types", levels_and_features_agree, types_have_their_kinds, sizes_do_not_overflow,
           unknown_dimensions_are_seen, long_sentences_are_cut)
