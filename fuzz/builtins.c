/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a target that calls the API: the CPU driver with all of its kernels, and
 * nnapi-reference. */
#include "drivers/cpu/cpu.h"
#include "runtime/builtin.h"

const struct nn_builtin nn_builtins[] = {
    {nn_cpu_driver_main, NULL}, {nn_cpu_reference_main, NULL}, {NULL, NULL}};
