/* SPDX-License-Identifier: Apache-2.0 */
#include "model/types.h"

#include "base/arith.h"
#include "base/cleanup.h"

enum {
    TENSOR = 1,
    QUANTIZED = 2,
};

struct type_facts {
    const char *name;
    uint8_t bytes;
    uint8_t level;
    uint8_t flags;
    int32_t zero_point_min;
    int32_t zero_point_max;
};

static const struct type_facts types[NN_TYPE_N] = {
    [NNHAL_FLOAT32] = {"FLOAT32", 4, 1, 0, 0, 0},
    [NNHAL_INT32] = {"INT32", 4, 1, 0, 0, 0},
    [NNHAL_UINT32] = {"UINT32", 4, 1, 0, 0, 0},
    [NNHAL_TENSOR_FLOAT32] = {"TENSOR_FLOAT32", 4, 1, TENSOR, 0, 0},
    [NNHAL_TENSOR_INT32] = {"TENSOR_INT32", 4, 1, TENSOR, 0, 0},
    [NNHAL_TENSOR_QUANT8_ASYMM] = {"TENSOR_QUANT8_ASYMM", 1, 1, TENSOR | QUANTIZED, 0, 255},
    [NNHAL_BOOL] = {"BOOL", 1, 3, 0, 0, 0},
    [NNHAL_TENSOR_QUANT16_SYMM] = {"TENSOR_QUANT16_SYMM", 2, 3, TENSOR | QUANTIZED, 0, 0},
    [NNHAL_TENSOR_FLOAT16] = {"TENSOR_FLOAT16", 2, 3, TENSOR, 0, 0},
    [NNHAL_TENSOR_BOOL8] = {"TENSOR_BOOL8", 1, 3, TENSOR, 0, 0},
    [NNHAL_FLOAT16] = {"FLOAT16", 2, 3, 0, 0, 0},
    [NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL] = {"TENSOR_QUANT8_SYMM_PER_CHANNEL", 1, 3, TENSOR, 0, 0},
    [NNHAL_TENSOR_QUANT16_ASYMM] = {"TENSOR_QUANT16_ASYMM", 2, 3, TENSOR | QUANTIZED, 0, 65535},
    [NNHAL_TENSOR_QUANT8_SYMM] = {"TENSOR_QUANT8_SYMM", 1, 3, TENSOR | QUANTIZED, 0, 0},
    [NNHAL_TENSOR_QUANT8_ASYMM_SIGNED] = {"TENSOR_QUANT8_ASYMM_SIGNED", 1, 4, TENSOR | QUANTIZED,
                                          -128, 127},
    [NNHAL_SUBGRAPH] = {"SUBGRAPH", 0, 4, 0, 0, 0},
    [NN_TYPE_TENSOR_INT64] = {"TENSOR_INT64", 8, 1, TENSOR, 0, 0},
};

static const int64_t features[NN_LEVEL_MAX + 1] = {
    0,
    NNHAL_FEATURE_LEVEL_1,
    NNHAL_FEATURE_LEVEL_2,
    NNHAL_FEATURE_LEVEL_3,
    NNHAL_FEATURE_LEVEL_4,
    NNHAL_FEATURE_LEVEL_5,
    NNHAL_FEATURE_LEVEL_6,
    NNHAL_FEATURE_LEVEL_7,
    NNHAL_FEATURE_LEVEL_8,
};

int64_t nn_level_to_feature(unsigned level)
{
    return features[level <= NN_LEVEL_MAX ? level : NN_LEVEL_MAX];
}

/* From above: numbers of features between two levels are of the lower one. */
unsigned nn_level_from_feature(int64_t feature_level)
{
    unsigned level = NN_LEVEL_MAX;

    while (level > 0 && features[level] > feature_level)
        level--;
    return level;
}

bool nn_type_is_oem(uint32_t type)
{
    return type == NNHAL_OEM_SCALAR || type == NNHAL_TENSOR_OEM_BYTE;
}

bool nn_type_is_base(uint32_t type)
{
    return type < NNHAL_OPERAND_TYPE_N || nn_type_is_oem(type);
}

bool nn_type_is_tensor(uint32_t type)
{
    if (type < NN_TYPE_N)
        return types[type].flags & TENSOR;
    return type == NNHAL_TENSOR_OEM_BYTE;
}

bool nn_type_is_scalar(uint32_t type)
{
    return nn_type_is_base(type) && !nn_type_is_tensor(type);
}

bool nn_type_is_quantized(uint32_t type)
{
    return type < NN_TYPE_N && (types[type].flags & QUANTIZED);
}

uint32_t nn_type_bytes(uint32_t type)
{
    return type < NN_TYPE_N ? types[type].bytes : 0;
}

unsigned nn_type_level(uint32_t type)
{
    if (type < NN_TYPE_N)
        return types[type].level;
    return nn_type_is_oem(type) ? 1 : 0;
}

const char *nn_type_name(uint32_t type)
{
    if (type < NN_TYPE_N)
        return types[type].name;
    if (type == NNHAL_OEM_SCALAR)
        return "OEM_SCALAR";
    if (type == NNHAL_TENSOR_OEM_BYTE)
        return "TENSOR_OEM_BYTE";
    return nn_type_is_extension(type) ? "extension type" : "unknown type";
}

/* Symmetric types have no zero point, floats and integers none either: 0 to 0. */
void nn_type_zero_point_range(uint32_t type, int32_t *ret_min, int32_t *ret_max)
{
    bool is_known = type < NN_TYPE_N;

    *ret_min = is_known ? types[type].zero_point_min : 0;
    *ret_max = is_known ? types[type].zero_point_max : 0;
}

bool nn_dims_known(uint32_t type, uint32_t n_dimensions, const uint32_t *dimensions)
{
    if (n_dimensions == 0)
        return !nn_type_is_tensor(type);
    for (uint32_t i = 0; i < n_dimensions; i++)
        if (dimensions[i] == 0)
            return false;
    return true;
}

bool nn_dims_product(uint32_t n_dimensions, const uint32_t *dimensions, uint64_t *ret)
{
    uint64_t product = 1;
    bool is_empty = false, fits = true;

    /* A zero anywhere makes the product zero, however large the others are. */
    for (uint32_t i = 0; i < n_dimensions; i++) {
        is_empty |= dimensions[i] == 0;
        fits &= nn_mul_u64(product, dimensions[i], &product);
    }
    if (is_empty || fits)
        *ret = is_empty ? 0 : product;
    return is_empty || fits;
}

/* NNAPI counts bytes in 32 bits, so that a larger tensor could not be passed on anyway. */
bool nn_operand_bytes(uint32_t type, uint32_t n_dimensions, const uint32_t *dimensions,
                      uint64_t *ret_bytes)
{
    uint64_t count, n_bytes;

    if (nn_type_is_tensor(type) && n_dimensions == 0) {
        *ret_bytes = 0;
        return true;
    }
    if (!nn_dims_product(n_dimensions, dimensions, &count))
        return false;
    if (!nn_mul_u64(count, nn_type_bytes(type), &n_bytes) || n_bytes > UINT32_MAX)
        return false;
    *ret_bytes = n_bytes;
    return true;
}
