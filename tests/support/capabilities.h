/* SPDX-License-Identifier: Apache-2.0 */
/* capabilities.h - the least that a driver's table needs, for drivers that are there for what they
 * do, and not for their speed: no operand type is said to be fast */
#ifndef NN_TESTS_CAPABILITIES_H
#define NN_TESTS_CAPABILITIES_H

#include <nnhal/driver.h>

static const struct nnhal_capabilities least_capabilities = {
    .relaxed_scalar = {1, 1},
    .relaxed_tensor = {1, 1},
    .if_performance = {1, 1},
    .while_performance = {1, 1},
};

#endif
