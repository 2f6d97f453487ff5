/* SPDX-License-Identifier: Apache-2.0 */
/* concat.h - tensors side by side: CONCATENATION, PACK, and SPLIT the other way
 *
 * Along the axis, every tensor contributes a run of bytes to each row of the
 * whole: row r of the whole is run r of the first tensor, then run r of the
 * second, and so on. A quantized tensor whose parameters differ from the
 * whole's is translated by a table of 256 codes on the way. */
#ifndef NN_DRIVERS_CPU_KERNELS_CONCAT_CONCAT_H
#define NN_DRIVERS_CPU_KERNELS_CONCAT_CONCAT_H

#include <stddef.h>
#include <stdint.h>

/* nn_concat_part() - writes one part's runs into the whole. n_rows runs of
 * run_bytes; row_bytes of the whole; offset of the part in a row. */
void nn_concat_part(size_t n_rows, size_t run_bytes, size_t row_bytes, size_t offset,
                    const void *part, void *whole);

/* nn_concat_part_u8() - the same through a table. */
void nn_concat_part_u8(size_t n_rows, size_t run_bytes, size_t row_bytes, size_t offset,
                       const uint8_t table[256], const uint8_t *part, uint8_t *whole);

/* nn_concat_table() - codes of (in_scale, in_zero_point) to codes of (out_scale,
 * out_zero_point), as the reference of CONCATENATION does it in single
 * precision. is_signed: both are QUANT8_ASYMM_SIGNED; the table's index and
 * values are the bytes. */
void nn_concat_table(float in_scale, int32_t in_zero_point, float out_scale, int32_t out_zero_point,
                     int is_signed, uint8_t table[256]);

/* nn_split_part() - reads one part's runs out of the whole. */
void nn_split_part(size_t n_rows, size_t run_bytes, size_t row_bytes, size_t offset,
                   const void *whole, void *part);

#endif
