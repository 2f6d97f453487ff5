/* SPDX-License-Identifier: Apache-2.0 */
/* ADD and SUB of 8 bits: every pair of codes, against the reference's fixed-point form. */
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/families.h"

#include "support/check-main.h"

#include <string.h>

enum { N_CODES = 256 };

struct quantization {
    float scale;
    int32_t zero; /* of unsigned codes */
};

static struct kernel_case c;

/* An operand, 20 bits finer, brought to twice the coarser scale. What is taken away has a negative
 * multiplier, whose ties are rounded the other way. */
static int32_t rescaled(int32_t code, struct quantization q, float twice, bool negates)
{
    struct nn_multiplier m = nn_multiplier_make((double)q.scale / (double)twice);
    int32_t fine = (code - q.zero) * (1 << 20);

    return nn_rdp(nn_srdhm(fine, negates ? -m.mantissa : m.mantissa), -m.shift);
}

static int32_t reference(int32_t a, int32_t b, const struct quantization q[3], bool negates)
{
    float twice = 2.0f * (q[0].scale > q[1].scale ? q[0].scale : q[1].scale);
    double real = (double)twice / (double)(0x1p20f * q[2].scale);
    int32_t sum = rescaled(a, q[0], twice, false) + rescaled(b, q[1], twice, negates);

    return nn_clamp_i32(nn_multiplier_apply(sum, nn_multiplier_make(real)) + q[2].zero, 0, 255);
}

/* All pairs; signed codes are the unsigned ones less 128. */
static void check_all(const struct quantization q[3], bool negates, bool is_signed)
{
    const uint32_t n = N_CODES * N_CODES;
    const uint8_t flip = is_signed ? 0x80 : 0;
    const uint32_t type = is_signed ? NNHAL_TENSOR_QUANT8_ASYMM_SIGNED : NNHAL_TENSOR_QUANT8_ASYMM;
    const int32_t lower = is_signed ? 128 : 0;
    static uint8_t a[N_CODES * N_CODES], b[N_CODES * N_CODES];
    struct kernel_operand *operand;

    for (uint32_t i = 0; i < n; i++) {
        a[i] = (uint8_t)(i / N_CODES) ^ flip;
        b[i] = (uint8_t)i ^ flip;
    }
    kernel_case_init(&c, negates ? NNHAL_OP_SUB : NNHAL_OP_ADD, &nn_kernels_elementwise_q8);
    for (int i = 0; i < 2; i++) {
        operand = kernel_case_tensor(&c, type, 1, &n, i ? b : a);
        operand->scale = q[i].scale;
        operand->zero_point = q[i].zero - lower;
    }
    kernel_case_i32(&c, 0);
    operand = kernel_case_output(&c, type);
    operand->scale = q[2].scale;
    operand->zero_point = q[2].zero - lower;
    kernel_case_run(&c);
    for (uint32_t i = 0; i < n; i++) {
        int32_t got = c.outputs[0].data[i] ^ flip;
        int32_t wanted = reference(a[i] ^ flip, b[i] ^ flip, q, negates);

        ck_assert_msg(got == wanted, "%d and %d make %d, not %d", a[i] ^ flip, b[i] ^ flip, got,
                      wanted);
    }
    kernel_case_done(&c);
}

TEST(every_pair_of_codes)
{
    static const struct quantization rows[][3] = {
        {{0.05f, 128}, {0.05f, 128}, {0.1f, 128}}, /* every other sum is a tie */
        {{0.5f, 0}, {0.25f, 255}, {0.5f, 100}},
        {{0.0235f, 121}, {0.0197f, 7}, {0.0331f, 130}},
        {{0.9f, 3}, {0.7f, 250}, {0.61f, 128}},
        {{1.5f, 0}, {1.5f, 255}, {1.0f, 255}},
        {{1.51f, 10}, {0.3f, 20}, {1.0f, 30}},
        {{3.0f, 128}, {0.001f, 128}, {2.5f, 0}},
        {{0.001f, 0}, {0.0013f, 0}, {2.0f, 50}},
        /* Halves in the kernel's fixed point: as far from the truth as a factor can be. */
        {{1000001 / 0x1p21f, 0}, {600001 / 0x1p21f, 0}, {1.0f, 0}},
        {{1000001 / 0x1p21f, 255}, {823457 / 0x1p21f, 255}, {1.0f, 255}},
        {{1345677 / 0x1p21f, 13}, {1233455 / 0x1p21f, 200}, {1.0f, 77}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int form = 0; form < 4; form++)
            check_all(rows[i], form % 2, form / 2);
}
TEST_END

CHECK_MAIN("kernel-sum", every_pair_of_codes)
