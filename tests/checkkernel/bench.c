/* SPDX-License-Identifier: Apache-2.0 */
#include "checkkernel/bench.h"

#include "checkkernel/check-row.h"
#include "checkkernel/peak.h"
#include "checkkernel/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double peak_measure(const char *isa, bool is_float)
{
#ifdef __x86_64__
    if (strcmp(isa, "avx2") == 0)
        return is_float ? peak_f32__avx2() : peak_i8__avx2();
    if (strcmp(isa, "avx512") == 0)
        return is_float ? peak_f32__avx512() : peak_i8__avx512();
    if (strcmp(isa, "vnni") == 0)
        return is_float ? peak_f32__vnni() : peak_i8__vnni();
#endif
    return 0;
}

/* Bytes per nanosecond that memcpy() reads and writes, n of them at a time. */
static double measure_copy(size_t n)
{
    enum { REPEATS = 50 };
    uint8_t *from = calloc(1, n), *to = calloc(1, n);
    double best = 1e18;

    for (int i = 0; i < REPEATS; i++) {
        struct timespec begin, end;
        double took;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        memcpy(to, from, n / 2);
        __asm__ volatile("" : : "r"(to) : "memory");
        clock_gettime(CLOCK_MONOTONIC, &end);
        took = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        best = took < best ? took : best;
    }
    free(from);
    free(to);
    return (double)n / (best + 1);
}

static void print_share(double part, double whole)
{
    if (whole > 0)
        printf(" %4.0f %%", 100.0 * part / whole);
    else
        printf("      -");
}

bool bench_print(const struct nn_kernel *row)
{
    bool is_float = row->in0 & (NN_T_F32 | NN_T_F16);
    double ns, products, bytes, plain_ns, ignored;

    if (!bench_row(row, &ns, &products, &bytes))
        return false;
    printf("%-36s %10.1f us", row->name, ns / 1000);
    if (products > 0) {
        printf(" %8.1f GOP/s", 2 * products / ns);
        print_share(products / ns, peak_measure(rows_isa(row), is_float));
    } else {
        printf(" %8.1f GB/s ", bytes / ns);
        print_share(bytes / ns, measure_copy((size_t)bytes));
    }
    if (check_plain(row) && bench_row(check_plain(row), &plain_ns, &ignored, &ignored))
        printf(" %7.2f x plain C", plain_ns / ns);
    printf("\n");
    return true;
}
