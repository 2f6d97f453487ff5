/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are compiled again for wider vectors give the same bits: each operation
 * runs with the plain table and with those of the instruction sets that this CPU has. */
#include "cpu/kernel-case.h"
#include "model/types.h"

#include "base/cleanup.h"

#include "support/check-main.h"

#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32
#define F16 NNHAL_TENSOR_FLOAT16
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED

static struct kernel_case c;

struct variant {
    uint32_t operation, type;
    const struct nn_kernel_family *plain;
    const struct nn_kernel_family *wide[2]; /* AVX2, AVX-512 */
    void (*arguments)(void);                /* the inputs after input 0, and the output */
    uint32_t dims[4];
};

static void add_tensor(uint32_t type, const uint32_t dims[4])
{
    uint64_t seed = 31 + c.n_inputs, n;
    void *elements;

    ck_assert(nn_dims_product(4, dims, &n));
    elements = kernel_case_random(type, n, &seed);
    kernel_case_tensor(&c, type, 4, dims, elements)->scale = type == Q8 || type == Q8S ? 0.07f : 0;
    free(elements);
}

static void output(void)
{
    uint32_t type = c.inputs[0].type;
    struct kernel_operand *out = kernel_case_output(&c, type);

    if (type == Q8 || type == Q8S)
        out->scale = 0.11f;
}

static void one(void)
{
    output();
}

static void pair(void)
{
    add_tensor(c.inputs[0].type, c.inputs[0].dims);
    output();
}

static void pair_with_activation(void)
{
    const uint32_t row[] = {1, 1, 1, c.inputs[0].dims[3]};

    add_tensor(c.inputs[0].type, row);
    kernel_case_i32(&c, 3);
    output();
}

static void with_beta(void)
{
    kernel_case_f32(&c, 1.25f);
    output();
    if (c.inputs[0].type == Q8)
        c.outputs[0].scale = 1.0f / 256;
}

static void with_axes(void)
{
    const int32_t axes[] = {1, 3};

    kernel_case_i32s(&c, 2, axes)->is_constant = true;
    kernel_case_bool(&c, false);
    output();
}

static void window(void)
{
    static const int32_t arguments[] = {1, 1, 2, 3, 2, 0};

    for (size_t i = 0; i < 6; i++)
        kernel_case_i32(&c, arguments[i]);
    output();
}

static void product(void)
{
    add_tensor(c.inputs[0].type, c.inputs[0].dims);
    kernel_case_bool(&c, false);
    kernel_case_bool(&c, true);
    output();
}

static void grouped(void)
{
    static const int32_t arguments[] = {1, 1, 2, 7, 0};
    const uint32_t filter[] = {14, 3, 2, c.inputs[0].dims[1] / 7};
    uint32_t n_out = 14;
    uint64_t seed = 3;
    bool is_half = c.inputs[0].type == F16, is_float = is_half || c.inputs[0].type == F32;
    void *bias = kernel_case_random(is_float ? c.inputs[0].type : NNHAL_TENSOR_INT32, n_out, &seed);

    add_tensor(c.inputs[0].type, filter);
    kernel_case_tensor(&c, is_float ? c.inputs[0].type : NNHAL_TENSOR_INT32, 1, &n_out, bias);
    free(bias);
    if (!is_float)
        c.inputs[2].scale = c.inputs[0].scale * c.inputs[1].scale;
    for (size_t i = 0; i < 5; i++)
        kernel_case_i32(&c, arguments[i]);
    kernel_case_bool(&c, true);
    output();
}

static void instance(void)
{
    kernel_case_f32(&c, 1.5f);
    kernel_case_f32(&c, 0.5f);
    kernel_case_f32(&c, 0.01f);
    kernel_case_bool(&c, false);
    output();
}

static void to_codes(void)
{
    kernel_case_output(&c, Q8)->scale = 0.013f;
}

#ifdef __x86_64__
#define FAMILY(name)                                                                               \
    &nn_kernels_##name,                                                                            \
    {                                                                                              \
        &nn_kernels_##name##_avx2, &nn_kernels_##name##_avx512                                     \
    }
#else
#define FAMILY(name)                                                                               \
    &nn_kernels_##name,                                                                            \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
#endif

static const struct variant variants[] = {
    {NNHAL_OP_ADD, F32, FAMILY(elementwise), pair_with_activation, {1, 5, 7, 301}},
    {NNHAL_OP_MUL, F16, FAMILY(elementwise), pair_with_activation, {1, 5, 7, 301}},
    {NNHAL_OP_DIV, F32, FAMILY(elementwise), pair_with_activation, {1, 5, 7, 301}},
    {NNHAL_OP_PRELU, F32, FAMILY(elementwise), pair, {1, 5, 7, 301}},
    {NNHAL_OP_ADD, Q8, FAMILY(elementwise_q8), pair_with_activation, {1, 5, 7, 301}},
    {NNHAL_OP_SUB, Q8S, FAMILY(elementwise_q8), pair_with_activation, {1, 5, 7, 301}},
    {NNHAL_OP_MUL, Q8S, FAMILY(elementwise_q8), pair_with_activation, {1, 5, 7, 301}},
    {NNHAL_OP_MAXIMUM, Q8S, FAMILY(elementwise_q8), pair, {1, 5, 7, 301}},
    {NNHAL_OP_EXP, F32, FAMILY(unary), one, {1, 5, 7, 301}},
    {NNHAL_OP_SIN, F32, FAMILY(unary), one, {1, 5, 7, 301}},
    {NNHAL_OP_SQRT, F16, FAMILY(unary), one, {1, 5, 7, 301}},
    {NNHAL_OP_TANH, F32, FAMILY(activation), one, {1, 5, 7, 301}},
    {NNHAL_OP_LOGISTIC, F16, FAMILY(activation), one, {1, 5, 7, 301}},
    {NNHAL_OP_HARD_SWISH, F32, FAMILY(activation), one, {1, 5, 7, 301}},
    {NNHAL_OP_ELU, F32, FAMILY(activation), with_beta, {1, 5, 7, 301}},
    {NNHAL_OP_QUANTIZE, F32, FAMILY(quantize), to_codes, {1, 5, 7, 301}},
    {NNHAL_OP_SOFTMAX, F32, FAMILY(softmax), with_beta, {1, 5, 7, 301}},
    {NNHAL_OP_SOFTMAX, Q8, FAMILY(softmax), with_beta, {1, 5, 7, 301}},
    {NNHAL_OP_L2_NORMALIZATION, F32, FAMILY(normalize), one, {1, 5, 7, 301}},
    {NNHAL_OP_REDUCE_SUM, F32, FAMILY(reduce), with_axes, {3, 5, 7, 301}},
    {NNHAL_OP_REDUCE_PROD, F32, FAMILY(reduce), with_axes, {3, 5, 7, 301}},
    {NNHAL_OP_AVERAGE_POOL_2D, F32, FAMILY(pool), window, {1, 9, 7, 301}},
    {NNHAL_OP_L2_POOL_2D, F16, FAMILY(pool), window, {1, 9, 7, 301}},
    {NNHAL_OP_AVERAGE_POOL_2D, Q8S, FAMILY(pool), window, {1, 9, 7, 301}},
    {NNHAL_OP_GROUPED_CONV_2D, F32, FAMILY(direct_conv), grouped, {1, 7 * 19, 9, 7}},
    {NNHAL_OP_GROUPED_CONV_2D, Q8, FAMILY(direct_conv), grouped, {1, 7 * 19, 9, 7}},
    {NNHAL_OP_INSTANCE_NORMALIZATION,
     F32,
     FAMILY(instance_normalization),
     instance,
     {2, 9, 7, 301}},
    {NNHAL_OP_BATCH_MATMUL, Q8S, FAMILY(matmul), product, {1, 2, 37, 101}},
};

/* The output's bytes with one table; the caller frees. */
static uint8_t *run_with(const struct variant *variant, const struct nn_kernel_family *family,
                         size_t *ret_size)
{
    struct nn_kernel *rows = malloc(family->n_kernels * sizeof(*rows));
    struct nn_kernel_family table = {family->name, rows, family->n_kernels};
    uint8_t *bytes;

    /* A case takes rows that need no instruction set; that this CPU has it is known. */
    memcpy(rows, family->kernels, family->n_kernels * sizeof(*rows));
    for (size_t i = 0; i < family->n_kernels; i++)
        rows[i].isa = NN_ISA_C;
    kernel_case_init(&c, variant->operation, &table);
    add_tensor(variant->type, variant->dims);
    variant->arguments();
    kernel_case_run(&c);
    *ret_size = c.outputs[0].size;
    bytes = malloc(*ret_size);
    memcpy(bytes, c.outputs[0].data, *ret_size);
    kernel_case_done(&c);
    free(rows);
    return bytes;
}

static bool has_isa(int i)
{
#ifdef __x86_64__
    if (i == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

TEST(wider_vectors_give_the_same_bits)
{
    for (size_t v = 0; v < NN_N_ELEMENTS(variants); v++) {
        size_t n_plain;
        uint8_t *plain = run_with(&variants[v], variants[v].plain, &n_plain);

        for (int i = 0; i < 2; i++) {
            size_t n;
            uint8_t *wide;

            if (!has_isa(i))
                continue;
            wide = run_with(&variants[v], variants[v].wide[i], &n);
            ck_assert_uint_eq(n, n_plain);
            if (memcmp(wide, plain, n))
                ck_abort_msg("operation %u of type %u differs in set %d", variants[v].operation,
                             variants[v].type, i);
            free(wide);
        }
        free(plain);
    }
}
TEST_END

CHECK_MAIN("kernel-variants", wider_vectors_give_the_same_bits)
