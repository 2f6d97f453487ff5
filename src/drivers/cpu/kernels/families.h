/* SPDX-License-Identifier: Apache-2.0 */
/* families.h - every family's table, nn_kernels_<family>
 *
 * families.def is made by families.py from the sources that meson.build lists. */
#ifndef NN_CPU_KERNELS_FAMILIES_H
#define NN_CPU_KERNELS_FAMILIES_H

#include "drivers/cpu/kernels/kernel.h"

#define NN_FAMILY(family) extern const struct nn_kernel_family nn_kernels_##family;
#include "drivers/cpu/kernels/families.def"
#undef NN_FAMILY

#endif
