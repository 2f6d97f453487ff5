/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the two drivers that this folder makes
 *
 * nnhal-cpu, in a module of its own, uses every kernel that the CPU has
 * (NNHAL_CPU_ISA=c leaves it the plain C ones). nnapi-reference is linked into
 * the runtime and uses plain C only, on every CPU. Both share one team of
 * threads per process (NNHAL_CPU_THREADS=N bounds it). */
#ifndef NN_CPU_CPU_H
#define NN_CPU_CPU_H

#include <nnhal/driver.h>

/* The forms of nnhal_driver_main(); configuration is not used. Never NULL. */
const struct nnhal_driver *nn_cpu_driver_main(const char *configuration);
const struct nnhal_driver *nn_cpu_reference_main(const char *configuration);

#endif
