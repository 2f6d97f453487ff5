/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/concat/concat.h"

#include <math.h>
#include <string.h>

void nn_concat_part(size_t n_rows, size_t run_bytes, size_t row_bytes, size_t offset,
                    const void *part, void *whole)
{
    const char *from = part;
    char *to = (char *)whole + offset;

    for (size_t i = 0; i < n_rows; i++, from += run_bytes, to += row_bytes)
        memcpy(to, from, run_bytes);
}

void nn_concat_part_u8(size_t n_rows, size_t run_bytes, size_t row_bytes, size_t offset,
                       const uint8_t table[256], const uint8_t *part, uint8_t *whole)
{
    whole += offset;
    for (size_t i = 0; i < n_rows; i++, part += run_bytes, whole += row_bytes)
        for (size_t j = 0; j < run_bytes; j++)
            whole[j] = table[part[j]];
}

void nn_concat_table(float in_scale, int32_t in_zero_point, float out_scale, int32_t out_zero_point,
                     int is_signed, uint8_t table[256])
{
    /* A signed code is the unsigned one of zero point + 128, less 128. */
    const int shift = is_signed ? 128 : 0;
    const float factor = in_scale * (1.0f / out_scale);
    const float bias = (float)-(in_zero_point + shift) * factor;

    for (int code = 0; code < 256; code++) {
        float value = roundf((float)code * factor + bias);
        float clamped = fminf(fmaxf(value + (float)(out_zero_point + shift), 0.0f), 255.0f);

        table[code ^ shift] = (uint8_t)((int)clamped ^ shift);
    }
}

void nn_split_part(size_t n_rows, size_t run_bytes, size_t row_bytes, size_t offset,
                   const void *whole, void *part)
{
    const char *from = (const char *)whole + offset;
    char *to = part;

    for (size_t i = 0; i < n_rows; i++, from += row_bytes, to += run_bytes)
        memcpy(to, from, run_bytes);
}
