/* SPDX-License-Identifier: Apache-2.0 */
/* soak DEVICE PATH EXECUTIONS SEED [CACHE]: an application that compiles and computes so many times,
 * and prints what it held meanwhile, and how long computations took: of each tenth of them the
 * descriptors, threads, KiB that are its own, and the 50th and 99th of 100 in ns. Run by soak.py.
 * PATH is pointers, memory, event, fenced, burst, buffer or all. */
#include "attack/user.h"
#include "support/fds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TENTHS = 10,
    COMPUTATIONS = 1000, /* of a compilation */
    BUCKETS = 1024,      /* sixteen for each doubling */
};

struct tenth {
    size_t n_fds, n_threads;
    uint64_t anonymous_kib, p50_ns, p99_ns;
};

static struct tenth tenths[TENTHS];
static uint64_t n_all, n_noted, buckets[BUCKETS];

static uint32_t bucket_of(uint64_t ns)
{
    uint32_t log = ns < 16 ? 4 : 63 - (uint32_t)__builtin_clzll(ns);

    return log * 16 + (uint32_t)(ns >> (log - 4) & 15);
}

static uint64_t percentile(uint64_t n, uint64_t of_100)
{
    uint64_t sum = 0;
    uint32_t i = 0;

    while (i < BUCKETS - 1 && (sum += buckets[i]) * 100 < n * of_100)
        i++;
    return (UINT64_C(16) + i % 16) << (i / 16 - 4);
}

static uint64_t own_kib(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    uint64_t n_kib = 0;
    char line[256];

    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "RssAnon:", 8))
            n_kib = strtoull(line + 8, NULL, 10);
    if (file)
        fclose(file);
    return n_kib;
}

static void note(uint64_t took_ns)
{
    uint64_t n = n_all / TENTHS;

    buckets[bucket_of(took_ns)]++;
    if (++n_noted % n != 0 || n_noted / n > TENTHS)
        return;
    tenths[n_noted / n - 1] = (struct tenth){.n_fds = count_fds(),
                                             .n_threads = count_threads(),
                                             .anonymous_kib = own_kib(),
                                             .p50_ns = percentile(n, 50),
                                             .p99_ns = percentile(n, 99)};
    memset(buckets, 0, sizeof(buckets));
}

static uint32_t parse_path(const char *name)
{
    static const char *const names[] = {"pointers", "memory", "event", "fenced", "burst", "buffer"};

    for (uint32_t i = 0; i < USER_PATHS; i++)
        if (!strcmp(name, names[i]))
            return 1U << i;
    return 0;
}

int main(int argc, char **argv)
{
    struct user_count count = {.n_hits = 0};
    struct user_wish wish = {.n_computations = COMPUTATIONS, .must_succeed = true, .note = note};

    if (argc < 5)
        return 2;
    wish.device = argv[1];
    wish.paths = parse_path(argv[2]);
    wish.n_compilations = (uint32_t)((strtoull(argv[3], NULL, 10) + COMPUTATIONS - 1) /
                                     COMPUTATIONS);
    wish.seed = strtoull(argv[4], NULL, 10);
    wish.cache = argv[5];
    n_all = (uint64_t)wish.n_compilations * COMPUTATIONS;
    user_main(&wish, &count);
    if (n_noted != n_all)
        return 1;
    for (int i = 0; i < TENTHS; i++)
        printf("%zu %zu %llu %llu %llu\n", tenths[i].n_fds, tenths[i].n_threads,
               (unsigned long long)tenths[i].anonymous_kib, (unsigned long long)tenths[i].p50_ns,
               (unsigned long long)tenths[i].p99_ns);
    return 0;
}
