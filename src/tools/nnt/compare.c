/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <android/NeuralNetworks.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tolerance {
    double absolute;
    double relative;
    bool is_boolean;
};

static struct tolerance find_tolerance(const struct nnt_model *model, uint32_t type)
{
    struct tolerance half = {.absolute = 5.0 / 1024, .relative = 5.0 / 1024};

    if (nnt_is_int64(type))
        return (struct tolerance){.absolute = 0};
    switch (type) {
    case ANEURALNETWORKS_TENSOR_FLOAT16:
    case ANEURALNETWORKS_FLOAT16:
        return half;
    case ANEURALNETWORKS_TENSOR_FLOAT32:
    case ANEURALNETWORKS_FLOAT32:
        if (model->flags & (NNT_RELAXED | NNT_FP16))
            return half;
        return (struct tolerance){.absolute = 1e-5f, .relative = 5.0 / (1 << 23)};
    case ANEURALNETWORKS_TENSOR_BOOL8:
    case ANEURALNETWORKS_BOOL:
        return (struct tolerance){.is_boolean = true};
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
        return (struct tolerance){.absolute = model->quant8_tolerance};
    default:
        return (struct tolerance){.absolute = 1};
    }
}

static double half_to_double(uint16_t half)
{
    int exponent = (half >> 10) & 0x1f;
    double fraction = half & 0x3ff, value;

    if (exponent == 0x1f)
        value = half & 0x3ff ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(fraction + 1024, exponent - 25);
    return half & 0x8000 ? -value : value;
}

double nnt_element(uint32_t type, const uint8_t *data, uint32_t i)
{
    const uint8_t *at = data + (size_t)i * nnt_element_bytes(type);
    uint16_t half;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;

    if (nnt_is_int64(type)) {
        memcpy(&i64, at, sizeof(i64));
        return (double)i64;
    }
    switch (type) {
    case ANEURALNETWORKS_FLOAT32:
    case ANEURALNETWORKS_TENSOR_FLOAT32:
        memcpy(&f32, at, sizeof(f32));
        return (double)f32;
    case ANEURALNETWORKS_FLOAT16:
    case ANEURALNETWORKS_TENSOR_FLOAT16:
        memcpy(&half, at, sizeof(half));
        return half_to_double(half);
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
        memcpy(&half, at, sizeof(half));
        return half;
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
        memcpy(&i16, at, sizeof(i16));
        return i16;
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
        return (int8_t)at[0];
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_BOOL8:
    case ANEURALNETWORKS_BOOL:
        return at[0];
    default:
        memcpy(&i32, at, sizeof(i32));
        return i32;
    }
}

double nnt_allowed(const struct nnt_model *model, uint32_t type, double expected)
{
    struct tolerance tolerance = find_tolerance(model, type);

    return tolerance.absolute + tolerance.relative * fabs(expected);
}

bool nnt_compare(const struct nnt_model *model, const struct nnt_operand *output,
                 const uint8_t *actual, struct nnt_difference *ret)
{
    struct tolerance tolerance = find_tolerance(model, output->type);
    uint32_t n = output->n_bytes / nnt_element_bytes(output->type);

    for (uint32_t i = 0; i < n; i++) {
        double got = nnt_element(output->type, actual, i);
        double expected = nnt_element(output->type, output->data, i);
        double allowed = nnt_allowed(model, output->type, expected);
        bool agrees = tolerance.is_boolean ? (got != 0) == (expected != 0)
                                           : fabs(got - expected) <= allowed;

        /* A NaN that is produced compares false, and so differs. */
        if (!agrees) {
            *ret = (struct nnt_difference){i, got, expected, allowed};
            return false;
        }
    }
    return true;
}

/* Samples of one batch, and where its logits begin. */
struct batch {
    const struct nnt_operand *logits;
    uint32_t first_logit, n_classes;
    const int32_t *samples;
    uint32_t n_samples;
};

/* compare_batch() - the samples of one batch against its logits. */
static bool compare_batch(const struct batch *batch, double tolerance, struct nnt_difference *ret)
{
    const struct nnt_operand *logits = batch->logits;
    const int32_t *samples = batch->samples;
    uint32_t n_classes = batch->n_classes, n = batch->n_samples;
    double total = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (samples[i] < 0 || samples[i] >= (int64_t)n_classes) {
            *ret = (struct nnt_difference){i, samples[i], 0, n_classes - 1};
            return false;
        }
    }
    for (uint32_t c = 0; c < n_classes; c++)
        total += exp(nnt_element(logits->type, logits->data, batch->first_logit + c));
    for (uint32_t c = 0; c < n_classes; c++) {
        double wanted = exp(nnt_element(logits->type, logits->data, batch->first_logit + c)) /
                        total;
        double observed = 0;

        for (uint32_t i = 0; i < n; i++)
            observed += samples[i] == (int32_t)c;
        observed /= n;
        if (!(fabs(observed - wanted) <= tolerance)) {
            *ret = (struct nnt_difference){c, observed, wanted, tolerance};
            return false;
        }
    }
    return true;
}

/* has_matrix() - whether an operand has the data of its two dimensions. */
static bool has_matrix(const struct nnt_operand *operand)
{
    return operand->rank == 2 && operand->n_bytes > 0 &&
           (uint64_t)operand->expected[0] * operand->expected[1] ==
               operand->n_bytes / nnt_element_bytes(operand->type);
}

bool nnt_compare_distribution(const struct nnt_model *model, const struct nnt_operand *logits,
                              const struct nnt_operand *output, const uint8_t *actual,
                              struct nnt_difference *ret)
{
    uint32_t n_batches, n_samples, n_classes;
    bool agrees = true;
    int32_t *samples;

    if (!has_matrix(logits) || !has_matrix(output) || output->expected[0] != logits->expected[0])
        return false;
    n_batches = output->expected[0];
    n_samples = output->expected[1];
    n_classes = logits->expected[1];
    samples = calloc(n_samples + 1u, sizeof(*samples));
    if (!samples)
        return false;
    for (uint32_t b = 0; agrees && b < n_batches; b++) {
        memcpy(samples, actual + (size_t)b * n_samples * sizeof(*samples),
               n_samples * sizeof(*samples));
        agrees = compare_batch(
            &(struct batch){logits, b * n_classes, n_classes, samples, n_samples},
            (double)model->distribution_tolerance, ret);
    }
    free(samples);
    return agrees;
}
