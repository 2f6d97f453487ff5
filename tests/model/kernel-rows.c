/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of kernels for checklist.py: operation, instruction sets, types of input 0,
 * name. The table is made of macros, so that only the compiled one tells what it holds. */
#include "drivers/cpu/kernels/kernel.h"

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    const struct nn_kernel *row;

    for (uint32_t i = 0; (row = nn_kernel_at(i)); i++)
        printf("%" PRIu32 " %" PRIu32 " %" PRIu32 " %s\n", row->operation, row->isa, row->in0,
               row->name);
    return 0;
}
