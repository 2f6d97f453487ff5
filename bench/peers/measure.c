/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Noreturn void peer_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

struct peer_options peer_parse(int argc, char **argv)
{
    struct peer_options options;

    if (argc != 6) {
        fprintf(stderr, "usage: %s LIBRARY MODEL VARIANT THREADS RUNS\n", argv[0]);
        exit(2);
    }
    options = (struct peer_options){.library = argv[1],
                                    .model = argv[2],
                                    .variant = argv[3],
                                    .n_threads = (unsigned)strtoul(argv[4], NULL, 10),
                                    .n_runs = (unsigned)strtoul(argv[5], NULL, 10)};
    if (!options.n_threads || !options.n_runs)
        peer_fail("%s %s: a number of threads and of runs is needed", argv[4], argv[5]);
    return options;
}

void *peer_open(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        peer_fail("%s", dlerror());
    return handle;
}

void *peer_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    if (!symbol)
        peer_fail("%s", dlerror());
    return symbol;
}

void peer_fill(void *data, size_t n_bytes, enum peer_type type)
{
    uint32_t state = 1;

    if (type == PEER_OTHER) {
        memset(data, 0, n_bytes);
        return;
    }
    for (size_t i = 0; i < n_bytes / (type == PEER_FLOAT ? sizeof(float) : 1); i++) {
        state = state * 1664525u + 1013904223u;
        if (type == PEER_FLOAT)
            ((float *)data)[i] = (float)(state >> 8) / (float)(1 << 24);
        else
            ((uint8_t *)data)[i] = (uint8_t)(state >> 24);
    }
}

uint64_t peer_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t time_step(const struct peer_options *options, bool (*step)(void *ctx), void *ctx)
{
    uint64_t began = peer_now_ns();

    if (!step(ctx))
        peer_fail("%s: the execution failed", options->model);
    return peer_now_ns() - began;
}

void peer_measure(const struct peer_options *options, uint64_t prepare_ns, bool (*step)(void *ctx),
                  void *ctx)
{
    uint32_t n = options->n_runs, n_warm = n / 10 > 3 ? n / 10 : 3;
    uint64_t *times = calloc(n, sizeof(*times)), first;

    if (!times)
        peer_fail("out of memory");
    first = time_step(options, step, ctx);
    for (uint32_t i = 0; i < n_warm; i++)
        time_step(options, step, ctx);
    for (uint32_t i = 0; i < n; i++)
        times[i] = time_step(options, step, ctx);
    qsort(times, n, sizeof(*times), compare_times);
    printf("{\"prepare_ms\": %.6f, \"first_ms\": %.6f, \"min_ms\": %.6f, \"median_ms\": %.6f, "
           "\"p90_ms\": %.6f}\n",
           (double)prepare_ns / 1e6, (double)first / 1e6, (double)times[0] / 1e6,
           (double)times[n / 2] / 1e6, (double)times[n * 9 / 10] / 1e6);
    free(times);
}
