/* SPDX-License-Identifier: Apache-2.0 */
/* RANDOM_MULTINOMIAL, plain C: samples of classes by their log-probabilities.
 *
 * The generator is Philox4x32-10, a counter that is scrambled: the same seeds
 * give the same samples on every machine. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/dequantize.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct philox {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t words[4]; /* of the block that is being used */
    unsigned n_used;   /* words of it */
};

static void philox_round(uint32_t counter[4], const uint32_t key[2])
{
    uint64_t a = (uint64_t)counter[0] * UINT32_C(0xd2511f53);
    uint64_t b = (uint64_t)counter[2] * UINT32_C(0xcd9e8d57);

    counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ key[0];
    counter[1] = (uint32_t)b;
    counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ key[1];
    counter[3] = (uint32_t)a;
}

static void philox_refill(struct philox *philox)
{
    uint32_t key[2] = {philox->key[0], philox->key[1]};

    memcpy(philox->words, philox->counter, sizeof(philox->words));
    for (int i = 0; i < 10; i++) {
        philox_round(philox->words, key);
        key[0] += UINT32_C(0x9e3779b9);
        key[1] += UINT32_C(0xbb67ae85);
    }
    for (int i = 0; i < 4 && ++philox->counter[i] == 0; i++)
        continue;
    philox->n_used = 0;
}

static uint32_t philox_word(struct philox *philox)
{
    if (philox->n_used == 4)
        philox_refill(philox);
    return philox->words[philox->n_used++];
}

/* Uniform in [0, 1): 52 bits of mantissa. */
static double philox_double(struct philox *philox)
{
    uint64_t high = philox_word(philox) & UINT32_C(0xfffff), low = philox_word(philox);
    uint64_t bits = UINT64_C(1023) << 52 | high << 32 | low;
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value - 1.0;
}

/* Seeds of 0 ask for other samples each time. */
static void make_seeds(const struct nn_tensor *tensor, uint64_t ret[2])
{
    int32_t seeds[2];
    struct timespec now;

    memcpy(seeds, tensor->data, sizeof(seeds));
    ret[0] = (uint64_t)(int64_t)seeds[0];
    ret[1] = (uint64_t)(int64_t)seeds[1];
    if (seeds[0] || seeds[1])
        return;
    if (getrandom(ret, 2 * sizeof(ret[0]), GRND_NONBLOCK) == (ssize_t)(2 * sizeof(ret[0])))
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ret[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
    ret[1] = (uint64_t)(uintptr_t)&now ^ (uint64_t)now.tv_nsec;
}

static void philox_init(struct philox *philox, const uint64_t seeds[2])
{
    *philox = (struct philox){
        .key = {(uint32_t)seeds[0], (uint32_t)(seeds[0] >> 32)},
        .counter = {0, 0, (uint32_t)seeds[1], (uint32_t)(seeds[1] >> 32)},
        .n_used = 4,
    };
}

/* Sums of exp(logit - largest); a logit that is not finite adds nothing. */
static void make_sums(const float *logits, size_t n, double *sums, struct nn_pace *pace)
{
    double largest = -INFINITY, sum = 0.0;

    for (size_t i = 0; i < n && !nn_pace_ends(pace, 2); i++)
        if (isfinite(logits[i]) && (double)logits[i] > largest)
            largest = (double)logits[i];
    for (size_t i = 0; i < n && !nn_pace_ends(pace, 20); i++) {
        if (isfinite(logits[i]))
            sum += exp((double)logits[i] - largest);
        sums[i] = sum;
    }
}

/* The first class whose sum is above x; the last one if none is. */
static size_t find_class(const double *sums, size_t n, double x)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sums[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool find_multinomial_scratch(const struct nn_kernel_step *step,
                                     struct nn_kernel_scratch *ret)
{
    ret->bytes = step->inputs[0].dims[1] * (sizeof(double) + sizeof(float));
    return true;
}

static int nn_random_multinomial__c(const struct nn_kernel_args *args)
{
    size_t n_batches = args->inputs[0].dims[0], n_classes = args->inputs[0].dims[1];
    size_t n_samples = args->outputs[0].dims[1];
    double *sums = (double *)(void *)args->scratch;
    float *logits = (float *)(void *)(sums + n_classes);
    int32_t *out = args->outputs[0].data;
    struct nn_pace pace = nn_pace(args->stop);
    struct philox philox;
    uint64_t seeds[2];

    make_seeds(&args->inputs[2], seeds);
    philox_init(&philox, seeds);
    for (size_t b = 0; b < n_batches; b++) {
        nn_dequantize_load_long(&args->inputs[0], b * n_classes, n_classes, logits, args->stop);
        make_sums(logits, n_classes, sums, &pace);
        for (size_t i = 0; i < n_samples; i++) {
            double x = philox_double(&philox) * sums[n_classes - 1];

            if (nn_pace_ends(&pace, 100))
                return NN_KERNEL_E_CANCELLED;
            *out++ = (int32_t)find_class(sums, n_classes, x);
        }
    }
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("random_multinomial__c", RANDOM_MULTINOMIAL), .find_scratch = find_multinomial_scratch,
     .run = nn_random_multinomial__c},
};
NN_KERNEL_FAMILY(random, kernels);
