/* SPDX-License-Identifier: Apache-2.0 */
/* kernel-core.h - what the core keeps for a kernel that runs in a case; kernel-case.c's own
 *
 * kernel-core.c has the functions that kernels call (kernel.h). */
#ifndef NN_TESTS_CPU_KERNEL_CORE_H
#define NN_TESTS_CPU_KERNEL_CORE_H

#include "cpu/kernel-case.h"

struct nn_lower_private {
    struct kernel_case *c;
    struct guard weights;
};

struct nn_run {
    struct kernel_case *c;
    unsigned char *is_after; /* of each element of output 0: whether the epilogue has run */
};

/* kernel_core_broken() - keeps the sentence that says which rule the kernel breaks, if it is the
 * first. Returns: KERNEL_CASE_E_BROKEN. */
int kernel_core_broken(struct kernel_case *c, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* kernel_core_allocate() - room for an operand's elements, of its shape, aligned to them alone. */
void kernel_core_allocate(const struct kernel_case *c, struct kernel_operand *operand);

#endif
