/* SPDX-License-Identifier: Apache-2.0 */
/* An application that computes until it is killed. The environment says
 * where its driver is. */
#include "ways.h"

#include <signal.h>
#include <sys/prctl.h>

int main(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0;; i++) {
        struct ways_formula formula;

        OK(ways_formula_compile(&formula));
        ways_formula_bind(&formula, i & 1);
        if (i & 2)
            ways_formula_burst(&formula);
        for (int j = 0; j < 5; j++)
            OK(ways_formula_run(&formula, j));
        ways_formula_done(&formula);
    }
}
