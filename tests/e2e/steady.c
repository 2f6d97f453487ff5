/* SPDX-License-Identifier: Apache-2.0 */
/* An application that computes argv[1] times on a burst, in shared memory, while
 * its system calls are counted. Nothing may be copied. */
#include "ways.h"

int main(int argc, char **argv)
{
    struct ways_formula formula;
    int n = argc > 1 ? atoi(argv[1]) : 0;

    ways_begin();
    OK(ways_formula_compile(&formula));
    ways_formula_bind(&formula, true);
    ways_formula_burst(&formula);
    for (int i = 0; i < n; i++)
        OK(ways_formula_run(&formula, i));
    ck_assert_int_eq(nnhal_get_copied_bytes(), 0);
    ways_formula_done(&formula);
    ways_end();
    return 0;
}
