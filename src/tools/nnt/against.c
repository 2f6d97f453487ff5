/* SPDX-License-Identifier: Apache-2.0 */
#include "against.h"

#include "compare.h"

#include <math.h>
#include <string.h>

#define MAX_RANK 64

static bool is_float(uint32_t type)
{
    return type == ANEURALNETWORKS_FLOAT32 || type == ANEURALNETWORKS_TENSOR_FLOAT32 ||
           type == ANEURALNETWORKS_FLOAT16 || type == ANEURALNETWORKS_TENSOR_FLOAT16;
}

/* Returns: the rank, UINT32_MAX if there is none to be had. */
static uint32_t get_dimensions(const struct nnt_attempt *attempt, uint32_t i,
                               uint32_t dimensions[MAX_RANK])
{
    uint32_t rank;

    if (ANeuralNetworksExecution_getOutputOperandRank(attempt->execution, (int32_t)i, &rank) ||
        rank > MAX_RANK)
        return UINT32_MAX;
    if (rank > 0 && ANeuralNetworksExecution_getOutputOperandDimensions(attempt->execution,
                                                                        (int32_t)i, dimensions))
        return UINT32_MAX;
    return rank;
}

static bool dimensions_agree(const struct nnt_attempt *attempt, const struct nnt_attempt *reference,
                             uint32_t i)
{
    uint32_t a[MAX_RANK] = {0}, b[MAX_RANK] = {0};

    return get_dimensions(attempt, i, a) == get_dimensions(reference, i, b) &&
           memcmp(a, b, sizeof(a)) == 0;
}

static double find_allowed(const struct nnt_run *run, const struct nnt_model *model, uint32_t type,
                           double expected)
{
    if (run->is_exact || !is_float(type))
        return 0;
    return nnt_allowed(model, type, expected);
}

static bool output_agrees(struct nnt_attempt *attempt, const struct nnt_attempt *reference,
                          uint32_t i)
{
    const struct nnt_operand *operand = &attempt->main->operands[attempt->main->outputs[i]];
    uint32_t element_bytes = nnt_element_bytes(operand->type);
    uint32_t n = element_bytes ? operand->n_bytes / element_bytes : 0;

    if (!dimensions_agree(attempt, reference, i))
        return nnt_report(attempt->run, "output %u has other dimensions", i);
    for (uint32_t k = 0; k < n; k++) {
        double got = nnt_element(operand->type, attempt->outputs[i], k);
        double expected = nnt_element(operand->type, reference->outputs[i], k);
        double allowed = find_allowed(attempt->run, attempt->model, operand->type, expected);

        if (got == expected || fabs(got - expected) <= allowed || (isnan(got) && isnan(expected)))
            continue;
        return nnt_report(attempt->run,
                          "output %u (operand %u) element %u: got %.9g, the other device %.9g, "
                          "allowed %.3g",
                          i, attempt->main->outputs[i], k, got, expected, allowed);
    }
    return true;
}

bool nnt_check_against(struct nnt_attempt *attempt, const struct nnt_attempt *reference)
{
    for (uint32_t i = 0; i < attempt->main->n_outputs; i++) {
        const struct nnt_operand *operand = &attempt->main->operands[attempt->main->outputs[i]];

        if (!(operand->flags & NNT_IGNORED) && !output_agrees(attempt, reference, i))
            return false;
    }
    return true;
}
