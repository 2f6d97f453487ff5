/* SPDX-License-Identifier: Apache-2.0 */
/* round.h - rounding that compilers turn into vector code: roundf() is a call */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_ROUND_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_ROUND_H

#include "drivers/cpu/kernels/common/vector.h"

/* nn_round_near() - half away from zero, of an x that fits an int32_t. The bias is the largest float
 * below 1/2: adding it and truncating rounds every float right. */
NN_INLINE int32_t nn_round_near(float x)
{
    return (int32_t)(x + (x < 0.0f ? -0x1.fffffep-2f : 0x1.fffffep-2f));
}

#endif
