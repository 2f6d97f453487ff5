/* SPDX-License-Identifier: Apache-2.0 */
/* variant.h - sources for wider vectors, and plain C compiled again for them
 *
 * <family>-simd.c is written with vectors (vector-i32.h) and compiled for AVX2, AVX-512 and
 * AVX-512 with VNNI. The loops of many other sources are plain C that the compiler vectorizes: they
 * are compiled three times, for the machine's base instruction set, AVX2 and AVX-512. meson.build
 * lists both with their flags. Tables of the former stand before the latter, plain C last.
 *
 * Sums keep their order, and nothing is contracted but where a kernel says so: rows of
 * NN_VARIANT_FMA_ROW() use nn_madd_f32() (vector-f32.h). All other variants give the same bits.
 *
 * Rows begin with NN_VARIANT_ROW("add_f32", ADD), and the source ends with
 *     NN_VARIANT_FAMILY(elementwise, kernels);
 *
 * Every function's symbol carries the variant, so that a profile tells AVX2 from
 * C: variant-symbols.h, which is generated, does it for static functions, the
 * header for functions of several sources:
 *     #define nn_gemm_run_f32 NN_VARIANT_SYMBOL(nn_gemm_run_f32)
 * and NN_VARIANT_SYMBOL() in place for those that a macro defines. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_VARIANT_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_VARIANT_H

#include "drivers/cpu/kernels/kernel.h"

#if defined(NN_VARIANT_VNNI)
#define NN_VARIANT_ISA          (NN_ISA_AVX512 | NN_ISA_AVX512_VNNI)
#define NN_VARIANT_VECTOR_BYTES 64
#define NN_VARIANT_FMA          NN_ISA_FMA
#elif defined(NN_VARIANT_AVX512)
#define NN_VARIANT_ISA          NN_ISA_AVX512
#define NN_VARIANT_VECTOR_BYTES 64
#define NN_VARIANT_FMA          NN_ISA_FMA
#elif defined(NN_VARIANT_AVX2)
#define NN_VARIANT_ISA          NN_ISA_AVX2
#define NN_VARIANT_VECTOR_BYTES 32
#define NN_VARIANT_FMA          NN_ISA_FMA
#else
#define NN_VARIANT_ISA          NN_ISA_C
#define NN_VARIANT_VECTOR_BYTES 16
#define NN_VARIANT_FMA          0
#endif

/* The variant's name in rows and symbols: avx2, c, or avx2_emulated, where tests compile a variant
 * for any CPU. */
#ifndef NN_VARIANT
#define NN_VARIANT c
#endif
#define NN_VARIANT_TEXT_OF(variant)     #variant
#define NN_VARIANT_TEXT(variant)        NN_VARIANT_TEXT_OF(variant)
#define NN_VARIANT_JOIN_TO(prefix, end) prefix##end
#define NN_VARIANT_JOIN(prefix, end)    NN_VARIANT_JOIN_TO(prefix, end)

#define NN_VARIANT_NAME(name)   name "__" NN_VARIANT_TEXT(NN_VARIANT)
#define NN_VARIANT_SYMBOL(name) NN_VARIANT_JOIN(name##__, NN_VARIANT)

/* Plain C's table has the family's name alone. */
#if NN_VARIANT_VECTOR_BYTES > 16
#define NN_VARIANT_FAMILY(family, table)                                                           \
    NN_VARIANT_FAMILY_OF(NN_VARIANT_JOIN(family##_, NN_VARIANT), table)
#define NN_VARIANT_FAMILY_OF(family, table) NN_KERNEL_FAMILY(family, table)
#else
#define NN_VARIANT_FAMILY(family, table) NN_KERNEL_FAMILY(family, table)
#endif

/* NN_ROW() of this variant. */
#define NN_VARIANT_ROW(row_name, op)                                                               \
    .name = NN_VARIANT_NAME(row_name), .isa = NN_VARIANT_ISA, .operation = NNHAL_OP_##op

/* NN_TFLITE_ROW() of this variant. */
#define NN_VARIANT_TFLITE_ROW(row_name, op)                                                        \
    .name = NN_VARIANT_NAME(row_name), .isa = NN_VARIANT_ISA, .operation = NN_TFLITE_OP(op)

/* NN_VARIANT_ROW() of a row that fuses multiplications and additions. */
#define NN_VARIANT_FMA_ROW(row_name, op)                                                           \
    .name = NN_VARIANT_NAME(row_name), .isa = NN_VARIANT_ISA | NN_VARIANT_FMA,                     \
    .operation = NNHAL_OP_##op

#include "drivers/cpu/kernels/variant-symbols.h"

#endif
