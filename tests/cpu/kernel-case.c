/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernel-case.h"

#include "drivers/cpu/kernels/common/float16.h"
#include "model/infer.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RED_ZONE      64
#define N_WORKERS     3
#define RED_ZONE_FILL 0xa5

/* ---- building ---- */

void kernel_case_init(struct kernel_case *c, uint32_t operation,
                      const struct nn_kernel_family *family)
{
    memset(c, 0, sizeof(*c));
    c->operation = operation;
    c->family = family;
}

void kernel_case_done(struct kernel_case *c)
{
    for (uint32_t i = 0; i < c->n_inputs; i++)
        free(c->inputs[i].data);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        free(c->outputs[i].data);
    c->n_inputs = c->n_outputs = 0;
}

static void allocate(struct kernel_operand *operand)
{
    uint64_t size;

    ck_assert(nn_dims_product(operand->n_dims, operand->dims, &size));
    operand->size = size * nn_type_bytes(operand->type);
    free(operand->data);
    operand->data = malloc(operand->size + RED_ZONE);
    ck_assert_ptr_nonnull(operand->data);
    memset(operand->data, RED_ZONE_FILL, operand->size + RED_ZONE);
}

struct kernel_operand *kernel_case_tensor(struct kernel_case *c, uint32_t type, uint32_t n_dims,
                                          const uint32_t *dims, const void *elements)
{
    struct kernel_operand *operand = &c->inputs[c->n_inputs++];

    ck_assert_uint_le(c->n_inputs, KERNEL_CASE_MAX);
    *operand = (struct kernel_operand){.type = type, .n_dims = n_dims};
    if (n_dims)
        memcpy(operand->dims, dims, n_dims * sizeof(dims[0]));
    if (nn_type_is_quantized(type))
        operand->scale = 1.0f;
    allocate(operand);
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

/* ---- what the core does for kernels, as little as is needed ---- */

struct nn_lower_private {
    struct kernel_case *c;
    uint8_t *weights;
};

struct nn_run {
    struct kernel_case *c;
};

void *nn_lower_weights(struct nn_lower *lower, uint64_t n_bytes)
{
    ck_assert_ptr_null(lower->private->weights);
    ck_assert_uint_gt(n_bytes, 0);
    ck_assert_int_eq(posix_memalign((void **)&lower->private->weights, 64, n_bytes), 0);
    memset(lower->private->weights, 0, n_bytes);
    return lower->private->weights;
}

int nn_lower_refuse(struct nn_lower *lower, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(lower->private->c->why, sizeof(lower->private->c->why), format, args);
    va_end(args);
    return NN_KERNEL_E_REFUSED;
}

bool nn_lower_is_omitted(const struct nn_lower *lower, uint32_t input)
{
    return input >= lower->n_inputs || lower->inputs[input].is_omitted;
}

int32_t nn_lower_i32(const struct nn_lower *lower, uint32_t input, int32_t fallback)
{
    if (!nn_lower_is_omitted(lower, input))
        memcpy(&fallback, lower->inputs[input].value, sizeof(fallback));
    return fallback;
}

bool nn_lower_bool(const struct nn_lower *lower, uint32_t input, bool fallback)
{
    if (!nn_lower_is_omitted(lower, input))
        fallback = *(const uint8_t *)lower->inputs[input].value != 0;
    return fallback;
}

float nn_lower_f32(const struct nn_lower *lower, uint32_t input, float fallback)
{
    uint16_t half;

    if (nn_lower_is_omitted(lower, input))
        return fallback;
    if (lower->inputs[input].type == NNHAL_FLOAT16) {
        memcpy(&half, lower->inputs[input].value, sizeof(half));
        return nn_f16_to_f32(half);
    }
    memcpy(&fallback, lower->inputs[input].value, sizeof(fallback));
    return fallback;
}

size_t nn_lower_count(const struct nn_lower_operand *operand)
{
    uint64_t n = 0;

    ck_assert(nn_dims_product(operand->n_dims, operand->dims, &n));
    return n;
}

size_t nn_tensor_count(const struct nn_tensor *tensor)
{
    uint64_t n = 0;

    ck_assert(nn_dims_product(tensor->n_dims, tensor->dims, &n));
    return n;
}

/* Ranges from the last to the first: nothing may depend on their order. */
void nn_parallel_for(const struct nn_kernel_args *args, size_t n_items, size_t item_cost,
                     nn_range_fn fn, void *ctx)
{
    size_t step = n_items / N_WORKERS + 1;

    ck_assert_uint_gt(item_cost, 0);
    for (size_t i = N_WORKERS; i-- > 0;) {
        size_t begin = i * step, end = begin + step < n_items ? begin + step : n_items;

        if (begin < end)
            fn(ctx, begin, end, (unsigned)i);
    }
}

bool nn_kernel_stopped(const struct nn_kernel_args *args)
{
    return nn_stop_look(args->stop) != 0;
}

int nn_kernel_refuse(const struct nn_kernel_args *args, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(args->run->c->why, sizeof(args->run->c->why), format, list);
    va_end(list);
    return NN_KERNEL_E_REFUSED;
}

int nn_output_resize(const struct nn_kernel_args *args, uint32_t output, uint32_t n_dims,
                     const uint32_t *dims)
{
    struct kernel_operand *operand = &args->run->c->outputs[output];

    operand->n_dims = n_dims;
    memcpy(operand->dims, dims, n_dims * sizeof(dims[0]));
    allocate(operand);
    args->outputs[output] = (struct nn_tensor){.data = operand->data,
                                               .size = operand->size,
                                               .type = operand->type,
                                               .n_dims = n_dims,
                                               .dims = operand->dims,
                                               .scale = operand->scale,
                                               .zero_point = operand->zero_point};
    return 0;
}

/* ---- running ---- */

static void make_infer_operand(const struct kernel_operand *operand, struct nn_infer_operand *ret)
{
    *ret = (struct nn_infer_operand){.type = operand->type,
                                     .n_dims = operand->n_dims,
                                     .scale = operand->scale,
                                     .zero_point = operand->zero_point,
                                     .value = operand->data,
                                     .is_omitted = operand->is_omitted,
                                     .is_known = true};
    memcpy(ret->dims, operand->dims, sizeof(operand->dims));
}

/* Shapes and quantization of the outputs. */
static int infer_outputs(struct kernel_case *c)
{
    struct nn_infer_operand *inputs = calloc(c->n_inputs, sizeof(*inputs));
    struct nn_infer_operand *outputs = calloc(c->n_outputs, sizeof(*outputs));
    struct nn_why why = {0};
    struct nn_infer infer = {.op = nn_op_find(c->operation),
                             .n_inputs = c->n_inputs,
                             .n_outputs = c->n_outputs,
                             .inputs = inputs,
                             .outputs = outputs,
                             .why = &why};
    int r;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        make_infer_operand(&c->inputs[i], &inputs[i]);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        outputs[i] = (struct nn_infer_operand){.type = c->outputs[i].type,
                                               .scale = c->outputs[i].scale,
                                               .zero_point = c->outputs[i].zero_point};
    r = nn_infer(&infer);
    for (uint32_t i = 0; r == 0 && i < c->n_outputs; i++) {
        c->outputs[i].n_dims = outputs[i].n_dims;
        memcpy(c->outputs[i].dims, outputs[i].dims, sizeof(outputs[i].dims));
        c->outputs[i].scale = outputs[i].scale;
        c->outputs[i].zero_point = outputs[i].zero_point;
        allocate(&c->outputs[i]);
    }
    snprintf(c->why, sizeof(c->why), "%s", why.text);
    free(inputs);
    free(outputs);
    ck_assert_int_ge(r, 0);
    return r ? NN_KERNEL_E_REFUSED : 0;
}

static bool set_has(uint32_t set, const struct kernel_operand *operands, uint32_t n, uint32_t i)
{
    return set == NN_T_ANY || (i < n && (set >> operands[i].type & 1));
}

static const struct nn_kernel *find_row(const struct kernel_case *c, size_t first)
{
    for (size_t i = first; i < c->family->n_kernels; i++) {
        const struct nn_kernel *row = &c->family->kernels[i];

        if (row->operation == c->operation && row->isa == NN_ISA_C &&
            set_has(row->in0, c->inputs, c->n_inputs, 0) &&
            set_has(row->in1, c->inputs, c->n_inputs, 1) &&
            set_has(row->out0, c->outputs, c->n_outputs, 0))
            return row;
    }
    ck_abort_msg("no kernel takes these types");
    return NULL;
}

static void make_lower_operand(const struct kernel_operand *operand, bool has_value,
                               struct nn_lower_operand *ret)
{
    *ret = (struct nn_lower_operand){.type = operand->type,
                                     .is_omitted = operand->is_omitted,
                                     .n_dims = operand->n_dims,
                                     .scale = operand->scale,
                                     .zero_point = operand->zero_point,
                                     .value = has_value ? operand->data : NULL,
                                     .size = operand->size};
    memcpy(ret->dims, operand->dims, sizeof(operand->dims));
}

static void make_tensor(const struct kernel_operand *operand, struct nn_tensor *ret)
{
    *ret = (struct nn_tensor){.data = operand->is_omitted ? NULL : operand->data,
                              .size = operand->size,
                              .type = operand->type,
                              .n_dims = operand->n_dims,
                              .dims = operand->dims,
                              .scale = operand->scale,
                              .zero_point = operand->zero_point};
}

static void check_red_zones(const struct kernel_operand *operands, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (size_t j = 0; operands[i].data && j < RED_ZONE; j++)
            ck_assert_uint_eq(operands[i].data[operands[i].size + j], RED_ZONE_FILL);
}

static int lower_row(struct kernel_case *c, const struct nn_kernel *row, struct nn_lower *lower,
                     struct nn_lower_operand *operands)
{
    for (uint32_t i = 0; i < c->n_inputs; i++)
        make_lower_operand(&c->inputs[i],
                           c->inputs[i].n_dims == 0 || c->inputs[i].is_constant ||
                               (row->needs_value >> (i % 64) & 1),
                           &operands[i]);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        make_lower_operand(&c->outputs[i], false, &operands[c->n_inputs + i]);
    lower->operation = c->operation;
    lower->n_inputs = c->n_inputs;
    lower->n_outputs = c->n_outputs;
    lower->inputs = operands;
    lower->outputs = operands + c->n_inputs;
    return row->lower ? row->lower(lower) : 0;
}

static int run_row(struct kernel_case *c, const struct nn_kernel *row, const struct nn_lower *lower)
{
    struct nn_tensor tensors[2 * KERNEL_CASE_MAX];
    struct nn_run run = {c};
    struct nn_stop stop = {.deadline_ns = c->is_stopped ? 0 : UINT64_MAX};
    struct nn_kernel_args args = {.params = lower->params,
                                  .weights = lower->private->weights,
                                  .n_inputs = c->n_inputs,
                                  .n_outputs = c->n_outputs,
                                  .inputs = tensors,
                                  .outputs = tensors + c->n_inputs,
                                  .stop = &stop,
                                  .run = &run};
    struct nn_kernel_step step = {.params = lower->params,
                                  .weights_bytes = UINT64_MAX,
                                  .n_inputs = c->n_inputs,
                                  .n_outputs = c->n_outputs,
                                  .inputs = args.inputs,
                                  .outputs = args.outputs};
    struct nn_kernel_scratch scratch = {0};
    uint64_t stride;
    int r;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        make_tensor(&c->inputs[i], &tensors[i]);
    for (uint32_t i = 0; i < c->n_outputs; i++)
        make_tensor(&c->outputs[i], &tensors[c->n_inputs + i]);
    if (row->check)
        ck_assert(row->check(&step));
    if (row->find_scratch)
        ck_assert(row->find_scratch(&step, &scratch));
    stride = args.worker_scratch_stride = (scratch.worker_bytes + 63) / 64 * 64;
    ck_assert_int_eq(posix_memalign((void **)&args.scratch, 64, scratch.bytes + 1), 0);
    ck_assert_int_eq(posix_memalign((void **)&args.worker_scratch, 64, N_WORKERS * stride + 1), 0);
    r = nn_kernel_run(row, &args);
    free(args.scratch);
    free(args.worker_scratch);
    return nn_stop_outcome(&stop) ? NN_KERNEL_E_CANCELLED : r;
}

static bool all_empty(const struct kernel_case *c)
{
    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].size)
            return false;
    return true;
}

int kernel_case_try(struct kernel_case *c)
{
    struct nn_lower_operand *operands = calloc(c->n_inputs + c->n_outputs, sizeof(*operands));
    struct nn_lower_private private = {.c = c};
    struct nn_lower lower = {.private = &private};
    const struct nn_kernel *row = NULL;
    size_t first = 0;
    int r;

    r = infer_outputs(c);
    while (r == 0) {
        row = find_row(c, first);
        free(lower.params);
        ck_assert_int_eq(posix_memalign(&lower.params, 16, NN_KERNEL_MAX_PARAMS_BYTES), 0);
        memset(lower.params, 0, NN_KERNEL_MAX_PARAMS_BYTES);
        ck_assert_uint_le(row->params_bytes, NN_KERNEL_MAX_PARAMS_BYTES);
        if (all_empty(c) && !row->is_dynamic)
            break;
        r = lower_row(c, row, &lower, operands);
        if (r == 0)
            r = run_row(c, row, &lower);
        else if (r == NN_KERNEL_E_PASS) {
            first = (size_t)(row - c->family->kernels) + 1;
            r = 0;
            continue;
        }
        break;
    }
    check_red_zones(c->inputs, c->n_inputs);
    check_red_zones(c->outputs, c->n_outputs);
    free(private.weights);
    free(lower.params);
    free(operands);
    ck_assert(r == 0 || r == NN_KERNEL_E_REFUSED || r == NN_KERNEL_E_CANCELLED);
    return r;
}

void kernel_case_run(struct kernel_case *c)
{
    if (kernel_case_try(c))
        ck_abort_msg("refused: %s", c->why);
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

    ck_assert_ptr_nonnull(bytes);
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
