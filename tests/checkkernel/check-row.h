/* SPDX-License-Identifier: Apache-2.0 */
/* check-row.h - a row beside plain C: many random cases, and the first that differs
 *
 * A case is drawn by the row's shape generator, run with the row and with the row of plain C that
 * takes its types, in another way (struct kernel_way), and compared: integers and floats bit for bit,
 * but for rows that fuse multiplications and additions, which differ by no more than the roundings
 * of so many products do. A row of plain C is compared with itself, run in the simplest way. */
#ifndef NN_TESTS_CHECKKERNEL_CHECK_ROW_H
#define NN_TESTS_CHECKKERNEL_CHECK_ROW_H

#include "drivers/cpu/kernels/kernel.h"

struct check {
    uint64_t seed;      /* of the first case; the next one has the next number */
    unsigned n_rounds;  /* cases that the row takes */
    unsigned n_checked; /* of them, how many have been run */
    uint64_t failed;    /* the seed that shows the failure */
    char why[1024];     /* what is wrong, with the shape */
};

/* check_row() - draws cases until the row has taken n_rounds.
 * Returns: whether all is well; else check->failed and why tell the first case that is not. */
bool check_row(const struct nn_kernel *row, struct check *check);

/* bench_row() - the fewest nanoseconds that the row's typical case takes, on one thread.
 * products: what it multiplies, 0 for a row that only moves and maps; bytes: of all its tensors.
 * Returns: false if the row does not take it. */
bool bench_row(const struct nn_kernel *row, double *ret_ns, double *ret_products,
               double *ret_bytes);

/* check_plain() - the row of plain C for the row's operation and types, or NULL. */
const struct nn_kernel *check_plain(const struct nn_kernel *row);

#endif
