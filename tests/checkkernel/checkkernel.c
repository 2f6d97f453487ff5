/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel - every row of the kernel table beside plain C
 *
 * usage: checkkernel [--isa NAME] [--emulated] [--seed N] [--rounds N] [--bench] [PATTERN]
 *
 * Prints a line for each row: ok, FAILED with the shape and the seed that shows it again, or
 * skipped with the reason. Rows whose instruction set this CPU lacks are run with emulated
 * instructions instead, with --emulated all that need one. Exit status: 0; 1 if a row failed or
 * none matched; 2 for wrong arguments. */
#include "base/isa.h"
#include "checkkernel/bench.h"
#include "checkkernel/check-row.h"
#include "checkkernel/rows.h"
#include "checkkernel/shapes.h"

#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *isa; /* NULL: all */
    const char *pattern;
    bool is_emulated, is_bench;
    uint64_t seed;
    unsigned n_rounds;
};

struct totals {
    unsigned n_ok, n_failed, n_skipped;
};

static const char *const isa_names[] = {"c", "avx2", "avx512", "vnni", "neon"};
enum { N_ISA_NAMES = sizeof(isa_names) / sizeof(isa_names[0]) };

const char *rows_isa(const struct nn_kernel *row)
{
    for (size_t i = 0; i < N_ISA_NAMES; i++) {
        uint32_t isa;

        if (nn_isa_named(isa_names[i], &isa) && !(row->isa & ~(isa | NN_ISA_FMA)))
            return isa_names[i];
    }
    return "unknown";
}

static bool is_native(const struct nn_kernel *row)
{
    return !(row->isa & ~(nn_isa_of_cpu() | NN_ISA_FMA));
}

static bool is_wanted(const struct options *options, const struct nn_kernel *row)
{
    if (options->isa && strcmp(options->isa, rows_isa(row)) != 0)
        return false;
    return !options->pattern || strstr(row->name, options->pattern) ||
           fnmatch(options->pattern, row->name, 0) == 0;
}

/* ---- one row ---- */

static void skip(struct totals *totals, const struct nn_kernel *row, const char *why)
{
    printf("skipped  %s: %s\n", row->name, why);
    totals->n_skipped++;
}

static void check(const struct options *options, struct totals *totals, const struct nn_kernel *row)
{
    struct check check = {.seed = options->seed, .n_rounds = options->n_rounds};

    if (!shapes_find(row->operation)) {
        skip(totals, row, "its operation has no shape generator");
        return;
    }
    if (check_row(row, &check)) {
        printf("ok       %s: %u cases\n", row->name, check.n_checked);
        totals->n_ok++;
        return;
    }
    printf("FAILED   %s: %s; again with --seed %" PRIu64 " --rounds 1\n", row->name, check.why,
           check.failed);
    totals->n_failed++;
}

/* A row of the driver: natively, or left to its emulation. */
static void check_native(const struct options *options, struct totals *totals,
                         const struct nn_kernel *row)
{
    bool has_isa = (row->isa & ~(uint32_t)NN_ISA_FMA) != NN_ISA_C;

    if (!is_native(row))
        skip(totals, row,
             emulated_families[0] ? "this CPU lacks it, its emulation is checked"
                                  : "this CPU lacks it, and this build has no emulation (SIMDe)");
    else if (has_isa && options->is_emulated)
        skip(totals, row, "its emulation is checked");
    else
        check(options, totals, row);
}

static void check_emulated(const struct options *options, struct totals *totals,
                           const struct nn_kernel *row)
{
    if (is_native(row) && !options->is_emulated)
        skip(totals, row, "this CPU has it");
    else
        check(options, totals, row);
}

static void bench_native(const struct options *options, struct totals *totals,
                         const struct nn_kernel *row)
{
    if (!is_native(row))
        skip(totals, row, "this CPU lacks it, and an emulation's time says nothing");
    else if (!shapes_find(row->operation) || !bench_print(row))
        skip(totals, row, "it has no typical shape");
    else
        totals->n_ok++;
}

static void for_rows(const struct nn_kernel_family *const *families, const struct options *options,
                     struct totals *totals,
                     void (*fn)(const struct options *, struct totals *, const struct nn_kernel *))
{
    for (; *families; families++)
        for (size_t i = 0; i < (*families)->n_kernels; i++)
            if (is_wanted(options, &(*families)->kernels[i]))
                fn(options, totals, &(*families)->kernels[i]);
}

/* ---- the command ---- */

static int usage(void)
{
    fprintf(stderr, "usage: checkkernel [--isa c|avx2|avx512|vnni|neon] [--emulated] [--seed N] "
                    "[--rounds N] [--bench] [PATTERN]\n");
    return 2;
}

/* Returns: whether it is one. */
static bool read_number(const char *text, uint64_t *ret)
{
    char *end;

    *ret = strtoull(text, &end, 0);
    return *text && !*end;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"isa", required_argument, NULL, 'i'},  {"emulated", no_argument, NULL, 'e'},
        {"seed", required_argument, NULL, 's'}, {"rounds", required_argument, NULL, 'r'},
        {"bench", no_argument, NULL, 'b'},      {NULL, 0, NULL, 0},
    };
    uint64_t n_rounds = options->n_rounds;
    uint32_t isa;
    int letter;

    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (letter == 'i' && nn_isa_named(optarg, &isa))
            options->isa = optarg;
        else if (letter == 'e')
            options->is_emulated = true;
        else if (letter == 'b')
            options->is_bench = true;
        else if (!(letter == 's' && read_number(optarg, &options->seed)) &&
                 !(letter == 'r' && read_number(optarg, &n_rounds) && n_rounds))
            return false;
    }
    options->n_rounds = (unsigned)n_rounds;
    if (optind < argc)
        options->pattern = argv[optind++];
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1, .n_rounds = 40};
    struct totals totals = {0};

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_options(argc, argv, &options))
        return usage();
    if (options.is_bench) {
        for_rows(checked_families, &options, &totals, bench_native);
    } else {
        for_rows(checked_families, &options, &totals, check_native);
        for_rows(emulated_families, &options, &totals, check_emulated);
    }
    printf("%u rows ok, %u failed, %u skipped; seed %" PRIu64 "\n", totals.n_ok, totals.n_failed,
           totals.n_skipped, options.seed);
    return totals.n_failed || totals.n_ok + totals.n_skipped == 0;
}
