/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernel-core.h"

#include "compiler/internal-op.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "model/infer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

void kernel_case_init(struct kernel_case *c, uint32_t operation,
                      const struct nn_kernel_family *family)
{
    memset(c, 0, sizeof(*c));
    c->operation = operation;
    c->family = family;
}

static void operand_done(struct kernel_operand *operand)
{
    guard_done(&operand->guard);
    free(operand->channel_scales);
}

void kernel_case_done(struct kernel_case *c)
{
    for (uint32_t i = 0; i < c->n_inputs; i++)
        operand_done(&c->inputs[i]);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        operand_done(&c->outputs[i]);
    c->n_inputs = c->n_outputs = 0;
}

struct kernel_operand *kernel_case_tensor(struct kernel_case *c, uint32_t type, uint32_t n_dims,
                                          const uint32_t *dims, const void *elements)
{
    struct kernel_operand *operand = &c->inputs[c->n_inputs++];

    assert(c->n_inputs <= KERNEL_CASE_MAX);
    *operand = (struct kernel_operand){.type = type, .n_dims = n_dims};
    if (n_dims)
        memcpy(operand->dims, dims, n_dims * sizeof(dims[0]));
    if (nn_type_is_quantized(type))
        operand->scale = 1.0f;
    kernel_core_allocate(c, operand);
    if (operand->size)
        memcpy(operand->data, elements, operand->size);
    return operand;
}

struct kernel_operand *kernel_case_i32s(struct kernel_case *c, uint32_t n, const int32_t *values)
{
    return kernel_case_tensor(c, NNHAL_TENSOR_INT32, 1, &n, values);
}

struct kernel_operand *kernel_case_i32(struct kernel_case *c, int32_t value)
{
    return kernel_case_tensor(c, NNHAL_INT32, 0, NULL, &value);
}

struct kernel_operand *kernel_case_bool(struct kernel_case *c, bool value)
{
    return kernel_case_tensor(c, NNHAL_BOOL, 0, NULL, &value);
}

struct kernel_operand *kernel_case_f32(struct kernel_case *c, float value)
{
    return kernel_case_tensor(c, NNHAL_FLOAT32, 0, NULL, &value);
}

struct kernel_operand *kernel_case_omit(struct kernel_case *c, uint32_t type)
{
    struct kernel_operand *operand = &c->inputs[c->n_inputs++];

    *operand = (struct kernel_operand){.type = type, .is_omitted = true};
    if (nn_type_is_quantized(type))
        operand->scale = 1.0f;
    return operand;
}

struct kernel_operand *kernel_case_output(struct kernel_case *c, uint32_t type)
{
    struct kernel_operand *operand = &c->outputs[c->n_outputs++];

    *operand = (struct kernel_operand){.type = type};
    if (nn_type_is_quantized(type))
        operand->scale = 1.0f;
    return operand;
}

/* ---- inference ---- */

static void make_infer_operand(const struct kernel_operand *operand,
                               struct nnhal_channel_quant *channels, struct nn_infer_operand *ret)
{
    *ret = (struct nn_infer_operand){.type = operand->type,
                                     .n_dims = operand->n_dims,
                                     .scale = operand->scale,
                                     .zero_point = operand->zero_point,
                                     .value = operand->data,
                                     .is_omitted = operand->is_omitted,
                                     .is_known = true};
    memcpy(ret->dims, operand->dims, sizeof(operand->dims));
    if (!operand->n_channel_scales)
        return;
    *channels = (struct nnhal_channel_quant){.channel_dim = operand->channel_dim,
                                             .n_scales = operand->n_channel_scales,
                                             .scales = operand->channel_scales};
    ret->channel_quant = channels;
}

static void take_inferred(struct kernel_operand *operand, const struct nn_infer_operand *inferred)
{
    operand->n_dims = inferred->n_dims;
    memcpy(operand->dims, inferred->dims, sizeof(inferred->dims));
    operand->scale = inferred->scale;
    operand->zero_point = inferred->zero_point;
}

int kernel_case_infer(struct kernel_case *c)
{
    struct nn_infer_operand *inputs = calloc(c->n_inputs + 1, sizeof(*inputs));
    struct nnhal_channel_quant *channels = calloc(c->n_inputs + 1, sizeof(*channels));
    struct nn_infer_operand outputs[KERNEL_CASE_MAX] = {0};
    struct nn_why why = {0};
    struct nn_infer infer = {.op = nn_op_find(c->operation),
                             .n_inputs = c->n_inputs,
                             .n_outputs = c->n_outputs,
                             .inputs = inputs,
                             .outputs = outputs,
                             .why = &why};
    int r;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        make_infer_operand(&c->inputs[i], &channels[i], &inputs[i]);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        outputs[i] = (struct nn_infer_operand){.type = c->outputs[i].type,
                                               .scale = c->outputs[i].scale,
                                               .zero_point = c->outputs[i].zero_point};
    r = nn_is_internal_op(c->operation) ? nn_internal_op_infer(&infer) : nn_infer(&infer);
    assert(r >= 0);
    for (uint32_t i = 0; r == 0 && i < c->n_outputs; i++)
        take_inferred(&c->outputs[i], &outputs[i]);
    snprintf(c->why, sizeof(c->why), "%s", why.text);
    free(inputs);
    free(channels);
    return r ? NN_KERNEL_E_REFUSED : 0;
}

/* ---- a family's row ---- */

static bool set_has(uint32_t set, const struct kernel_operand *operands, uint32_t n, uint32_t i)
{
    return set == NN_T_ANY || (i < n && (set >> operands[i].type & 1));
}

/* The next of the family's rows for plain C that takes the types, or NULL. */
static const struct nn_kernel *find_row(const struct kernel_case *c, const struct nn_kernel *after)
{
    size_t first = after ? (size_t)(after - c->family->kernels) + 1 : 0;

    for (size_t i = first; i < c->family->n_kernels; i++) {
        const struct nn_kernel *row = &c->family->kernels[i];

        if (row->operation == c->operation && row->isa == NN_ISA_C &&
            set_has(row->in0, c->inputs, c->n_inputs, 0) &&
            set_has(row->in1, c->inputs, c->n_inputs, 1) &&
            set_has(row->out0, c->outputs, c->n_outputs, 0))
            return row;
    }
    return NULL;
}

static void fail(const struct kernel_case *c, const char *what)
{
    fprintf(stderr, "%s, operation %u: %s: %s\n", c->family->name, c->operation, what, c->why);
    abort();
}

int kernel_case_try(struct kernel_case *c)
{
    const struct nn_kernel *row = NULL;
    int r = kernel_case_infer(c);

    while (r == 0 || r == NN_KERNEL_E_PASS) {
        row = find_row(c, row);
        if (!row)
            fail(c, "no kernel takes it");
        r = kernel_case_try_row(c, row);
        if (r == 0)
            return r;
    }
    if (r != NN_KERNEL_E_REFUSED && r != NN_KERNEL_E_CANCELLED)
        fail(c, r == KERNEL_CASE_E_BROKEN ? row->name : "an outcome that kernels have not");
    return r;
}

void kernel_case_run(struct kernel_case *c)
{
    if (kernel_case_try(c))
        fail(c, "refused");
}

/* ---- elements ---- */

uint32_t kernel_case_below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % n);
}

void *kernel_case_random(uint32_t type, size_t n, uint64_t *seed)
{
    size_t element_bytes = nn_type_bytes(type);
    uint8_t *bytes = malloc(n * element_bytes + 1);

    assert(bytes);
    for (size_t i = 0; i < n; i++) {
        float real = (float)kernel_case_below(seed, 4096) / 1024.0f - 2.0f;
        uint16_t half = nn_f32_to_f16(real);
        uint32_t word = kernel_case_below(seed, UINT32_C(0x7fffffff)) * 2 ^
                        kernel_case_below(seed, 4);

        if (type == NNHAL_TENSOR_FLOAT32)
            memcpy(bytes + i * 4, &real, 4);
        else if (type == NNHAL_TENSOR_FLOAT16)
            memcpy(bytes + i * 2, &half, 2);
        else
            memcpy(bytes + i * element_bytes, &word, element_bytes);
    }
    return bytes;
}

size_t kernel_case_count(const struct kernel_operand *operand)
{
    return operand->size / nn_type_bytes(operand->type);
}

double kernel_case_real(const struct kernel_operand *operand, size_t i)
{
    const void *at = operand->data + i * nn_type_bytes(operand->type);
    uint16_t u16;
    int32_t i32;
    float f32;

    memcpy(&u16, at, nn_type_bytes(operand->type) >= 2 ? 2 : 1);
    switch (operand->type) {
    case NNHAL_TENSOR_FLOAT32:
        memcpy(&f32, at, sizeof(f32));
        return (double)f32;
    case NNHAL_TENSOR_FLOAT16:
        return (double)nn_f16_to_f32(u16);
    case NNHAL_TENSOR_INT32:
        memcpy(&i32, at, sizeof(i32));
        return i32;
    case NNHAL_TENSOR_QUANT8_ASYMM:
        return (*(const uint8_t *)at - operand->zero_point) * (double)operand->scale;
    case NNHAL_TENSOR_QUANT8_ASYMM_SIGNED:
    case NNHAL_TENSOR_QUANT8_SYMM:
        return (*(const int8_t *)at - operand->zero_point) * (double)operand->scale;
    case NNHAL_TENSOR_QUANT16_ASYMM:
        return (u16 - operand->zero_point) * (double)operand->scale;
    case NNHAL_TENSOR_QUANT16_SYMM:
        return (int16_t)u16 * (double)operand->scale;
    default:
        return *(const uint8_t *)at;
    }
}
