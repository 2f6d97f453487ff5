/* SPDX-License-Identifier: Apache-2.0 */
/* operand-type.h - an ANeuralNetworksOperandType, as an application passes it */
#ifndef NN_RUNTIME_OPERAND_TYPE_H
#define NN_RUNTIME_OPERAND_TYPE_H

#include "runtime/result.h"

/* nn_rt_operand_type_check_rank() - whether its dims can be read: as many as it says, and no more
 * than NNHAL_MAX_RANK. Returns: 0, BAD_DATA. */
int nn_rt_operand_type_check_rank(const ANeuralNetworksOperandType *type, struct nn_why *why);

#endif
