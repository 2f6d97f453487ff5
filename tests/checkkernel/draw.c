/* SPDX-License-Identifier: Apache-2.0 */
#include "checkkernel/draw.h"

#include "drivers/cpu/kernels/common/float16.h"
#include "model/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 20000 };

static uint32_t below(struct draw *draw, uint32_t n)
{
    return kernel_case_below(&draw->seed, n);
}

uint32_t draw_below(struct draw *draw, uint32_t n)
{
    return draw->is_bench ? 0 : below(draw, n);
}

bool draw_coin(struct draw *draw, uint32_t n)
{
    return !draw->is_bench && below(draw, n) == 0;
}

uint32_t draw_size(struct draw *draw, uint32_t most, uint32_t typical)
{
    uint32_t size;

    if (draw->is_bench)
        return typical;
    size = 1 + below(draw, most);
    if (below(draw, 3) == 0) {
        uint32_t power = 1u << below(draw, 8);

        size = power + below(draw, 3);
        size -= size > 1;
    }
    return size > most ? most : size;
}

void draw_dims(struct draw *draw, uint32_t n, uint32_t most, const uint32_t *typical,
               uint32_t *ret_dims)
{
    uint32_t left = MAX_ELEMENTS;

    for (uint32_t i = n; i-- > 0;) { /* the last one is drawn first: it may be long */
        ret_dims[i] = draw_size(draw, most < left ? most : left, typical[i]);
        if (!draw->is_bench)
            left = left / ret_dims[i] ? left / ret_dims[i] : 1;
    }
}

uint32_t draw_type(struct draw *draw, uint32_t set)
{
    uint32_t types[32], n = 0;

    if (set == NN_T_ANY)
        set = NN_T_F32 | NN_T_F16 | NN_T_I32 | NN_T_U8 | NN_T_S8;
    for (uint32_t i = 0; i < 32; i++)
        if (set >> i & 1)
            types[n++] = i;
    return types[draw_below(draw, n)];
}

/* ---- elements ---- */

enum style { ORDINARY, ENDS, SAME, MIXED };

static float ordinary_real(struct draw *draw)
{
    return (float)below(draw, 4096) / 1024.0f - 2.0f;
}

/* The ends of what a float can be, within which no sum of products overflows if the row is fused. */
static float extreme_real(struct draw *draw, bool is_half)
{
    static const float reals[] = {0.0f, -0.0f, 1.0f, -1.0f, 0x1p50f, -0x1p50f, 0x1p-60f, 0x1p-140f};
    static const float halves[] = {0.0f,     -0.0f,     1.0f,     -1.0f,
                                   65504.0f, -65504.0f, 0x1p-14f, 0x1p-24f};

    return is_half ? halves[below(draw, 8)] : reals[below(draw, 8)];
}

static float special_real(struct draw *draw)
{
    static const float reals[] = {INFINITY, -INFINITY, NAN, 0x1.fffffep127f, -0x1.fffffep127f};

    return reals[below(draw, draw->is_fused ? 3 : 5)];
}

static float draw_real(struct draw *draw, enum style style, bool is_half)
{
    if (style == MIXED && !draw->is_finite && below(draw, 16) == 0)
        return special_real(draw);
    if (style == ENDS || (style == MIXED && below(draw, 4) == 0))
        return extreme_real(draw, is_half);
    return ordinary_real(draw);
}

static uint32_t draw_word(struct draw *draw, enum style style, int32_t zero_point)
{
    static const uint32_t ends[] = {UINT32_C(0x80000000), INT32_MAX, 0, UINT32_C(0xffffffff), 1};

    if (style == ENDS || (style == MIXED && below(draw, 4) == 0))
        return below(draw, 4) ? ends[below(draw, 5)] : (uint32_t)zero_point;
    return below(draw, UINT32_C(1) << 31) << 1 ^ below(draw, 4);
}

/* The codes of 8 and 16 bits that lie at the ends are those of words with their low bits alone. */
static uint32_t draw_code(struct draw *draw, enum style style, uint32_t n_bytes, bool is_signed,
                          int32_t zero_point)
{
    uint32_t sign = UINT32_C(1) << (8 * n_bytes - 1), all = 2 * sign - 1;

    if (style == ENDS || (style == MIXED && below(draw, 4) == 0))
        switch (below(draw, 3)) {
        case 0:
            return is_signed ? sign : 0;
        case 1:
            return is_signed ? sign - 1 : all;
        default:
            return (uint32_t)zero_point;
        }
    return below(draw, UINT32_C(1) << 31);
}

static bool is_signed_code(uint32_t type)
{
    return type != NNHAL_TENSOR_QUANT8_ASYMM && type != NNHAL_TENSOR_QUANT16_ASYMM;
}

static void draw_element(struct draw *draw, const struct kernel_operand *operand, enum style style,
                         void *to)
{
    uint32_t n_bytes = nn_type_bytes(operand->type), word;
    int64_t wide;

    switch (operand->type) {
    case NNHAL_TENSOR_FLOAT32:
        word = nn_f32_bits(draw_real(draw, style, false));
        break;
    case NNHAL_TENSOR_FLOAT16:
        word = nn_f32_to_f16(draw_real(draw, style, true));
        break;
    case NNHAL_TENSOR_INT32:
        word = draw_word(draw, style, 0);
        break;
    case NN_TYPE_TENSOR_INT64: /* sums and their products with multipliers fit */
        wide = (int64_t)(int32_t)draw_word(draw, style, 0) * (1 << 14);
        memcpy(to, &wide, sizeof(wide));
        return;
    case NNHAL_TENSOR_BOOL8:
        word = below(draw, 2);
        break;
    case NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL:
        word = draw_code(draw, style, 1, true, 0);
        word = (word & 0xff) == 0x80 ? 0x81 : word;
        break;
    default:
        word = draw_code(draw, style, n_bytes, is_signed_code(operand->type), operand->zero_point);
    }
    memcpy(to, &word, n_bytes);
}

static void draw_elements(struct draw *draw, struct kernel_operand *operand)
{
    static const enum style styles[] = {ORDINARY, ORDINARY, ENDS, SAME, MIXED};
    enum style style = styles[draw_below(draw, 5)];
    size_t n_bytes = nn_type_bytes(operand->type);

    for (size_t i = 0; i < operand->size; i += n_bytes)
        if (style == SAME && i)
            memcpy(operand->data + i, operand->data, n_bytes);
        else
            draw_element(draw, operand, style == SAME ? MIXED : style, operand->data + i);
}

/* ---- operands ---- */

static void draw_quantization(struct draw *draw, struct kernel_operand *operand)
{
    int32_t low, high;

    if (!nn_type_is_quantized(operand->type))
        return;
    nn_type_zero_point_range(operand->type, &low, &high);
    operand->scale = ldexpf(1.0f + (float)below(draw, 1024) / 1024.0f, -(int)draw_below(draw, 10));
    operand->zero_point = draw_coin(draw, 4) ? low
                          : draw_coin(draw, 4)
                              ? high
                              : low + (int32_t)below(draw, (uint32_t)(high - low) + 1);
}

static struct kernel_operand *empty_tensor(struct kernel_case *c, uint32_t type, uint32_t n_dims,
                                           const uint32_t *dims)
{
    uint64_t n = 0;
    void *zeros = nn_dims_product(n_dims, dims, &n) ? calloc(n + 1, nn_type_bytes(type)) : NULL;
    struct kernel_operand *operand = kernel_case_tensor(c, type, n_dims, dims, zeros);

    free(zeros);
    return operand;
}

struct kernel_operand *draw_tensor(struct draw *draw, struct kernel_case *c, uint32_t type,
                                   uint32_t n_dims, const uint32_t *dims)
{
    struct kernel_operand *operand = empty_tensor(c, type, n_dims, dims);

    draw_quantization(draw, operand);
    draw_elements(draw, operand);
    return operand;
}

struct kernel_operand *draw_constant(struct draw *draw, struct kernel_case *c, uint32_t type,
                                     uint32_t n_dims, const uint32_t *dims, uint32_t n_unknown)
{
    struct kernel_operand *operand = draw_tensor(draw, c, type, n_dims, dims);

    operand->is_constant = n_unknown == 0 || !draw_coin(draw, n_unknown);
    return operand;
}

void draw_channels(struct draw *draw, struct kernel_operand *operand, uint32_t dim)
{
    uint32_t n = operand->dims[dim];

    operand->channel_dim = dim;
    operand->n_channel_scales = n;
    operand->channel_scales = calloc(n + 1, sizeof(float));
    for (uint32_t i = 0; i < n; i++)
        operand->channel_scales[i] = ldexpf(1.0f + (float)below(draw, 1024) / 1024.0f,
                                            -(int)draw_below(draw, 6));
    operand->is_constant = true;
}

struct kernel_operand *draw_reals(struct draw *draw, struct kernel_case *c, uint32_t type,
                                  uint32_t n_dims, const uint32_t *dims, float low, float high)
{
    struct kernel_operand *operand = empty_tensor(c, type, n_dims, dims);

    for (size_t i = 0; i < kernel_case_count(operand); i++) {
        float real = low + (high - low) * (float)below(draw, 65536) / 65536.0f;
        uint16_t half = nn_f32_to_f16(real);

        if (type == NNHAL_TENSOR_FLOAT32)
            memcpy(operand->data + 4 * i, &real, 4);
        else
            memcpy(operand->data + 2 * i, &half, 2);
    }
    return operand;
}

struct kernel_operand *draw_indices(struct draw *draw, struct kernel_case *c, uint32_t n_dims,
                                    const uint32_t *dims, int32_t low, int32_t high)
{
    struct kernel_operand *operand = empty_tensor(c, NNHAL_TENSOR_INT32, n_dims, dims);

    for (size_t i = 0; i < kernel_case_count(operand); i++) {
        uint32_t range = (uint32_t)high - (uint32_t)low; /* up to 2^31 */
        int32_t index = (int32_t)((uint32_t)low + below(draw, range));

        memcpy(operand->data + 4 * i, &index, sizeof(index));
    }
    return operand;
}

static bool is_float(uint32_t type)
{
    return type == NNHAL_TENSOR_FLOAT32 || type == NNHAL_TENSOR_FLOAT16;
}

uint32_t draw_weights_type(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT16_SYMM ? NNHAL_TENSOR_QUANT8_SYMM : type;
}

/* Beside 16 bits a bias has 64, or, but for DEPTHWISE_CONV_2D, 32. */
static bool has_wide_bias(struct draw *draw, const struct kernel_case *c)
{
    return c->inputs[0].type == NNHAL_TENSOR_QUANT16_SYMM &&
           (c->operation == NNHAL_OP_DEPTHWISE_CONV_2D || draw_coin(draw, 2));
}

void draw_bias(struct draw *draw, struct kernel_case *c, uint32_t n)
{
    const struct kernel_operand *in = &c->inputs[0], *weights = &c->inputs[1];
    struct kernel_operand *bias;
    int32_t most = draw_coin(draw, 4) ? 1 << 30
                                      : 1 << 16; /* beside which a sum does not overflow */

    if (is_float(in->type))
        draw_tensor(draw, c, in->type, 1, &n);
    else if (has_wide_bias(draw, c))
        draw_tensor(draw, c, NN_TYPE_TENSOR_INT64, 1, &n);
    else
        draw_indices(draw, c, 1, &n, -most, most)->scale = weights->n_channel_scales
                                                               ? 0
                                                               : in->scale * weights->scale;
    bias = &c->inputs[c->n_inputs - 1];
    bias->is_constant = !draw_coin(draw, 8);
}

struct kernel_operand *draw_output(struct draw *draw, struct kernel_case *c, uint32_t type)
{
    struct kernel_operand *output = kernel_case_output(c, type);

    draw_quantization(draw, output);
    return output;
}

struct kernel_operand *draw_sum_output(struct draw *draw, struct kernel_case *c, uint32_t type)
{
    struct kernel_operand *output = draw_output(draw, c, type);
    const struct kernel_operand *weights = &c->inputs[1];
    float scale = weights->n_channel_scales ? weights->channel_scales[0] : weights->scale;

    /* From a few codes to more than there are, for each sum. */
    if (nn_type_is_quantized(type))
        output->scale *= c->inputs[0].scale * scale * ldexpf(1.0f, (int)draw_below(draw, 20));
    return output;
}

void draw_scalar(struct kernel_case *c, float value)
{
    uint16_t half = nn_f32_to_f16(value);

    if (c->inputs[0].type == NNHAL_TENSOR_FLOAT16)
        kernel_case_tensor(c, NNHAL_FLOAT16, 0, NULL, &half);
    else
        kernel_case_f32(c, value);
}
