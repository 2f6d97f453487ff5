/* SPDX-License-Identifier: Apache-2.0 */
#include "checkkernel/rows.h"

#include "drivers/cpu/kernels/families.h"

#define NN_FAMILY(family) extern const struct nn_kernel_family nn_kernels_##family;
#include "checkkernel/emulated-families.def"
#undef NN_FAMILY

#define NN_FAMILY(family) &nn_kernels_##family,
const struct nn_kernel_family *const checked_families[] = {
#include "drivers/cpu/kernels/families.def"
    NULL};
const struct nn_kernel_family *const emulated_families[] = {
#include "checkkernel/emulated-families.def"
    NULL};
#undef NN_FAMILY
