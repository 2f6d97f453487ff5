/* SPDX-License-Identifier: Apache-2.0 */
#include "base/isa.h"

#include <stddef.h>
#include <string.h>

/* The C library has asked the CPU already: in a virtual machine each question takes a microsecond, and
 * the compiler's functions ask some twenty as each library is loaded. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define HAS(feature, name) is_active(x86_cpu_##feature)

enum { REGISTER_BITS = 32, LEAF_BITS = 4 * REGISTER_BITS };

/* What the header has for this shifts a signed 1 in glibc 2.36, which bit 31 (AVX512VL) overflows. */
static bool is_active(unsigned feature)
{
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / LEAF_BITS);

    return leaf->active_array[feature % LEAF_BITS / REGISTER_BITS] >> feature % REGISTER_BITS & 1;
}
#elif defined(__x86_64__)
#define HAS(feature, name) __builtin_cpu_supports(name)
#endif

uint32_t nn_isa_of_cpu(void)
{
    uint32_t isa = NN_ISA_C;

#if defined(__x86_64__)
    if (HAS(AVX2, "avx2") && HAS(FMA, "fma"))
        isa |= NN_ISA_AVX2 | NN_ISA_FMA;
    if (HAS(AVX512F, "avx512f") && HAS(AVX512BW, "avx512bw") && HAS(AVX512DQ, "avx512dq") &&
        HAS(AVX512VL, "avx512vl"))
        isa |= NN_ISA_AVX512;
    if ((isa & NN_ISA_AVX512) && HAS(AVX512_VNNI, "avx512vnni"))
        isa |= NN_ISA_AVX512_VNNI;
#elif defined(__aarch64__)
    isa |= NN_ISA_NEON;
#endif
    return isa;
}

bool nn_isa_named(const char *name, uint32_t *ret_isa)
{
    static const struct {
        const char *name;
        uint32_t isa;
    } names[] = {{"c", NN_ISA_C},
                 {"avx2", NN_ISA_AVX2 | NN_ISA_FMA},
                 {"avx512", NN_ISA_AVX2 | NN_ISA_FMA | NN_ISA_AVX512},
                 {"vnni", NN_ISA_AVX2 | NN_ISA_FMA | NN_ISA_AVX512 | NN_ISA_AVX512_VNNI},
                 {"neon", NN_ISA_NEON}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i].name) == 0) {
            *ret_isa = names[i].isa;
            return true;
        }
    return false;
}
