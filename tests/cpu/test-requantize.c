/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling a vector of sums gives the bits of nn_multiplier_apply(): random sums and multipliers,
 * and sums beside every border between two codes, where float arithmetic could be wrong. */
#include "drivers/cpu/kernels/common/requantize.h"

#include "support/check-main.h"

#include <inttypes.h>
#include <stdio.h>

enum { N = 2 * NN_LANES_I32 };

static uint64_t seed = 1;

static uint32_t random_word(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 32);
}

static _Alignas(64) uint8_t block[N * NN_REQUANTIZE_BYTES];
static struct nn_multiplier multipliers[N];
static int32_t zero_point, low, high;

static void choose_columns(void)
{
    struct nn_requantize r = nn_requantize_at(block, N);

    zero_point = (int32_t)(random_word() % 256);
    low = random_word() % 2 ? 0 : (int32_t)(random_word() % 256);
    high = random_word() % 2 ? 255 : low + (int32_t)(random_word() % (uint32_t)(256 - low));
    for (size_t i = 0; i < N; i++) {
        multipliers[i].mantissa = (int32_t)(UINT32_C(1) << 30 | random_word() >> 2);
        multipliers[i].shift = -(int32_t)(random_word() % 12);
        switch (random_word() % 16) {
        case 0:
            multipliers[i].mantissa = INT32_MAX;
            break;
        case 1:
            multipliers[i].mantissa = 1 << 30;
            break;
        case 2:
            multipliers[i].shift = -(int32_t)(random_word() % 32);
            break;
        case 3:
            multipliers[i] = (struct nn_multiplier){0, 0};
            break;
        default:
            break;
        }
        nn_requantize_set(&r, i, 0, multipliers[i], zero_point);
    }
}

/* A sum of any size, or one that is scaled to the border between two codes, or beside it. */
static int32_t choose_sum(struct nn_multiplier m)
{
    double scale = ldexp((double)m.mantissa, m.shift - 31);
    double code = (double)(int32_t)(random_word() % 600) - 300 + (random_word() % 2 ? 0.5 : 0.0);
    double sum;

    if (random_word() % 8 == 0 || scale == 0.0)
        return (int32_t)(random_word() >> random_word() % 32);
    sum = nearbyint(code / scale) + (double)(random_word() % 9) - 4;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

static nn_vector_i32 codes_of(const struct nn_requantize *r, const nn_vector_i32 sums[4],
                              nn_vector_i32 *least)
{
    const size_t columns[] = {0, N / 2, 0, N / 2};

    return r->has_low ? nn_requantize_four(r, sums, columns, least, true)
                      : nn_requantize_four(r, sums, columns, least, false);
}

TEST(codes_are_exact)
{
    for (int round = 0; round < 20000; round++) {
        struct nn_requantize r, again;

        choose_columns();
        r = nn_requantize_use(block, N, low, high);
        again = nn_requantize_to_again(&r);
        for (int i = 0; i < 8; i++) {
            int32_t sums[N];
            uint8_t codes[2 * N];
            nn_vector_i32 halves[4], least, result;

            for (size_t k = 0; k < N; k++)
                sums[k] = choose_sum(multipliers[k]);
            memcpy(halves, sums, sizeof(sums));
            memcpy(halves + 2, sums, sizeof(sums));
            result = codes_of(&r, halves, &least);
            nn_requantize_clamp(&r, &result, 1);
            memcpy(codes, &result, sizeof(codes));
            ck_assert_mem_eq(codes, codes + N, N);
            if (nn_requantize_is_near(least))
                for (size_t half = 0; half < 2; half++)
                    nn_requantize_again(&again, &halves[half], half * N / 2, codes + half * N / 2,
                                        N / 2, 0);
            for (size_t k = 0; k < N; k++) {
                int32_t scaled = nn_multiplier_apply(sums[k], multipliers[k]);
                int32_t expected = nn_clamp_i32((int32_t)((uint32_t)scaled + (uint32_t)zero_point),
                                                low, high);

                ck_assert_msg(codes[k] == expected,
                              "%" PRId32 " * %" PRId32 " * 2^%" PRId32 " + %" PRId32
                              ": %u, not %" PRId32,
                              sums[k], multipliers[k].mantissa, multipliers[k].shift - 31,
                              zero_point, codes[k], expected);
            }
        }
    }
}
TEST_END

int main(void)
{
    const TTest *const tests[] = {codes_are_exact};

#if NN_VARIANT_VECTOR_BYTES == 64
    bool has_isa = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl");
#else
    bool has_isa = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif

    if (!has_isa) {
        puts("skipped: this CPU does not have the instruction set");
        return 77;
    }
    return check_main("requantize", tests, 1);
}
