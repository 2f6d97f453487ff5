/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h - instruction sets, as bits: what the CPU has, and their names in NNHAL_CPU_ISA */
#ifndef NN_BASE_ISA_H
#define NN_BASE_ISA_H

#include <stdbool.h>
#include <stdint.h>

/* 0 is plain C. */
enum nn_isa {
    NN_ISA_C = 0,
    NN_ISA_AVX2 = 1 << 0,   /* with FMA and F16C */
    NN_ISA_AVX512 = 1 << 1, /* F, BW, DQ, VL */
    NN_ISA_AVX512_VNNI = 1 << 2,
    /* A permission, not an instruction set: float multiplications and additions may be fused. */
    NN_ISA_FMA = 1 << 3,
    NN_ISA_NEON = 1 << 8,
};

/* nn_isa_of_cpu() - all that this CPU has. */
uint32_t nn_isa_of_cpu(void);

/* nn_isa_named() - the instruction set of this name ("c", "avx2", "avx512", "vnni", "neon") with
 * all that it builds on. Returns: whether there is one. */
bool nn_isa_named(const char *name, uint32_t *ret_isa);

#endif
