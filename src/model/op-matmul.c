/* SPDX-License-Identifier: Apache-2.0 */
#include "model/infer.h"

const struct nn_op_family nn_op_family_matmul = {.name = "matmul"};
