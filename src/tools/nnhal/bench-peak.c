/* SPDX-License-Identifier: Apache-2.0 */
#include "bench-peak.h"

#include "session.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    N_ROUNDS = 20000,
    N_TRIES = 20, /* the best counts: others take of the machine, too */
    N_SUMS = 12,  /* as many as hide how long one takes */
    BLOCK_BYTES = 64 << 20,
};

/* A value that the compiler does not know from here on, in memory or in a register. */
#define USE(x) __asm__ volatile("" : "+m"(x))
#if defined(__x86_64__)
#define USE_REGISTER(x) __asm__ volatile("" : "+x"(x))
#elif defined(__aarch64__)
#define USE_REGISTER(x) __asm__ volatile("" : "+w"(x))
#else
#define USE_REGISTER(x) USE(x)
#endif

/* A loop of products; returns how many operations it has made. */
typedef double (*peak_loop)(void);

/* What a loop of N_SUMS independent chains of STEP(sum) does, each of n_products products. */
#define DEFINE_LOOP(name, attributes, type, STEP, n_products)                                      \
    static attributes double name(void)                                                            \
    {                                                                                              \
        type sums[N_SUMS] = {0};                                                                   \
                                                                                                   \
        for (int round = 0; round < N_ROUNDS; round++) {                                           \
            _Pragma("GCC unroll 12") for (int i = 0; i < N_SUMS; i++)                              \
            {                                                                                      \
                sums[i] = STEP(sums[i]);                                                           \
                USE_REGISTER(sums[i]);                                                             \
            }                                                                                      \
        }                                                                                          \
        return 2.0 * N_ROUNDS * N_SUMS * (n_products);                                             \
    }

#define ADD_ONE(sum) ((sum)*0.5f + 1.0f)
DEFINE_LOOP(float_plain, , float, ADD_ONE, 1)

#if defined(__x86_64__)
#define TARGET(names)    __attribute__((target(names)))
#define FLOAT_256(sum)   _mm256_fmadd_ps(sum, _mm256_set1_ps(0.5f), _mm256_set1_ps(1.0f))
#define FLOAT_512(sum)   _mm512_fmadd_ps(sum, _mm512_set1_ps(0.5f), _mm512_set1_ps(1.0f))
#define INTEGER_256(sum) _mm256_add_epi32(sum, products_256())
#define INTEGER_512(sum) _mm512_add_epi32(sum, products_512())
#define VNNI_512(sum)    _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(3), _mm512_set1_epi8(5))

/* Products that are the same each time, in assembler: compilers would make them once. */
static inline TARGET("avx2") __m256i products_256(void)
{
    __m256i x = _mm256_set1_epi16(3), products;

    __asm__ volatile("vpmaddwd %1, %1, %0" : "=x"(products) : "x"(x));
    return products;
}

static inline TARGET("avx512f,avx512bw") __m512i products_512(void)
{
    __m512i x = _mm512_set1_epi16(3), products;

    __asm__ volatile("vpmaddwd %1, %1, %0" : "=v"(products) : "v"(x));
    return products;
}

DEFINE_LOOP(float_256, TARGET("avx2,fma"), __m256, FLOAT_256, 8)
DEFINE_LOOP(float_512, TARGET("avx512f"), __m512, FLOAT_512, 16)
DEFINE_LOOP(integer_256, TARGET("avx2"), __m256i, INTEGER_256, 16)
DEFINE_LOOP(integer_512, TARGET("avx512f,avx512bw"), __m512i, INTEGER_512, 32)
DEFINE_LOOP(vnni_512, TARGET("avx512f,avx512vnni"), __m512i, VNNI_512, 64)
#endif

static void choose_loops(peak_loop *ret_float, peak_loop *ret_integer)
{
    *ret_float = *ret_integer = float_plain;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *ret_float = float_256;
        *ret_integer = integer_256;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
        *ret_float = float_512;
        *ret_integer = __builtin_cpu_supports("avx512vnni") ? vnni_512 : integer_512;
    }
#endif
}

static void try_loop(peak_loop loop, double *best)
{
    uint64_t begin_ns = session_now_ns();
    double n = loop(), rate = n / (double)(session_now_ns() - begin_ns);

    *best = rate > *best ? rate : *best;
}

static double measure_reading(void)
{
    uint64_t *block = malloc(BLOCK_BYTES), sum = 0;
    double best = 0.0;

    if (!block)
        return 0.0;
    memset(block, 1, BLOCK_BYTES);
    for (int i = 0; i < N_TRIES / 4; i++) {
        uint64_t begin_ns = session_now_ns();
        double rate;

        for (size_t k = 0; k < BLOCK_BYTES / sizeof(*block); k++)
            sum += block[k];
        USE(sum);
        rate = (double)BLOCK_BYTES / (double)(session_now_ns() - begin_ns);
        best = rate > best ? rate : best;
    }
    free(block);
    return best;
}

struct bench_peak bench_measure_peak(void)
{
    struct bench_peak peak = {.read_gbs = measure_reading()};
    peak_loop float_loop, integer_loop;

    choose_loops(&float_loop, &integer_loop);
    /* In turns: what others take of the machine, they take from both. */
    for (int i = 0; i < N_TRIES; i++) {
        try_loop(float_loop, &peak.float_gops);
        try_loop(integer_loop, &peak.int8_gops);
    }
    return peak;
}
