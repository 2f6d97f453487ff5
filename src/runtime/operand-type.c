/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/operand-type.h"

#include <nnhal/types.h>

int nn_rt_operand_type_check_rank(const ANeuralNetworksOperandType *type, struct nn_why *why)
{
    if (!type->dimensions != !type->dimensionCount)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%u dimensions, but the pointer to them %s",
                       type->dimensionCount, type->dimensions ? "is not NULL" : "is NULL");
    if (type->dimensionCount > NNHAL_MAX_RANK)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "rank %u: at most %d is possible",
                       type->dimensionCount, NNHAL_MAX_RANK);
    return 0;
}
