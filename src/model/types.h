/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - operand types: names, element sizes, levels, byte sizes
 *
 * Inside model/ a feature level is a small number, 1 to 8, as in
 * NNHAL_FEATURE_LEVEL_1 to _8; nn_level_to_feature() gives the number that
 * devices and applications see. Types at or above 0x10000 belong to extensions:
 * their upper 16 bits are a prefix of the model's table, and nothing but the
 * extension's owner knows their size. */
#ifndef NN_MODEL_TYPES_H
#define NN_MODEL_TYPES_H

#include <nnhal/tflite-extension.h>
#include <nnhal/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_LEVEL_MIN 1
#define NN_LEVEL_MAX 8

/* nn_level_to_feature() - 3 -> NNHAL_FEATURE_LEVEL_3. level in 1..8. */
int64_t nn_level_to_feature(unsigned level);

/* nn_level_from_feature() - the highest level that a device of this feature
 * level has: 29 -> 3, 1000006 -> 6, 1000099 -> 8, below 27 -> 0. */
unsigned nn_level_from_feature(int64_t feature_level);

/* nn_type_is_extension() - whether an operand or operation type belongs to an extension. */
static inline bool nn_type_is_extension(uint32_t type)
{
    return type > UINT16_MAX;
}

/* Types of nnhal.tflite as a driver has them inside (compiler/own-extension.h), behind Android's. No
 * model has these codes: nn_type_is_base() is false for them, so that validation refuses them. */
enum {
    NN_TYPE_TENSOR_INT64 = NNHAL_OPERAND_TYPE_N + NNHAL_TFLITE_TENSOR_INT64,
    NN_TYPE_N = NNHAL_OPERAND_TYPE_N + NNHAL_TFLITE_OPERAND_TYPE_N,
};

/* nn_type_is_base() - one of Android's types, the two OEM types included. */
bool nn_type_is_base(uint32_t type);

/* nn_type_is_oem() - OEM_SCALAR or TENSOR_OEM_BYTE. */
bool nn_type_is_oem(uint32_t type);

/* nn_type_is_tensor(), nn_type_is_scalar() - of a base type; both are false
 * for extension types and unknown ones. SUBGRAPH counts as a scalar. */
bool nn_type_is_tensor(uint32_t type);
bool nn_type_is_scalar(uint32_t type);

/* nn_type_is_quantized() - whether the type needs a scale above 0. (QUANT8_SYMM_PER_CHANNEL has
 * its scales elsewhere and is not one of them.) */
bool nn_type_is_quantized(uint32_t type);

/* nn_type_bytes() - of an element; 0 where there is none (SUBGRAPH, OEM, extension, unknown). */
uint32_t nn_type_bytes(uint32_t type);

/* nn_type_level() - the level that brought the type, 1..8; 0 for extension and unknown types. */
unsigned nn_type_level(uint32_t type);

/* nn_type_name() - "TENSOR_FLOAT32"; "extension type" and "unknown type" for others. */
const char *nn_type_name(uint32_t type);

/* nn_type_zero_point_range() - the zero points that the type allows. */
void nn_type_zero_point_range(uint32_t type, int32_t *ret_min, int32_t *ret_max);

/* nn_dims_known() - whether a tensor's rank and every dimension is known
 * as the model states it (rank 0: unknown rank; 0: unknown dimension). Always
 * true for scalars. */
bool nn_dims_known(uint32_t type, uint32_t n_dimensions, const uint32_t *dimensions);

/* nn_dims_product() - number of elements; 1 for rank 0; zero counts as zero.
 * Returns: false on overflow of 64 bits. */
bool nn_dims_product(uint32_t n_dimensions, const uint32_t *dimensions, uint64_t *ret);

/* nn_operand_bytes() - bytes of a value of type and dimensions; 0 while a
 * dimension is unknown (0), and for types without a size.
 * Returns: false if it does not fit 32 bits, NNAPI's limit. */
bool nn_operand_bytes(uint32_t type, uint32_t n_dimensions, const uint32_t *dimensions,
                      uint64_t *ret_bytes);

#endif
