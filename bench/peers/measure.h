/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - how another engine is measured
 *
 * The programs of this folder run a model in an engine that they load at run time, and print what
 * `nnhal bench --json` prints, for scripts/bench-peers.py. Inputs are those of nnhal bench --inputs
 * random: floats in [0, 1), bytes of all values, integers of more bits 0, so that they are valid
 * indexes. */
#ifndef NN_BENCH_PEERS_MEASURE_H
#define NN_BENCH_PEERS_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer_options {
    const char *library, *model, *variant; /* variant: a word that the engine knows */
    unsigned n_threads, n_runs;
};

/* peer_parse() - LIBRARY MODEL VARIANT THREADS RUNS. Ends the process with status 2 on others. */
struct peer_options peer_parse(int argc, char **argv);

/* peer_fail() - says why and ends the process with status 1. */
_Noreturn void peer_fail(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* peer_open() - the engine's library. peer_symbol() - one of its functions. Both end the process
 * where it is not there. */
void *peer_open(const char *library);
void *peer_symbol(void *library, const char *name);

enum peer_type { PEER_FLOAT, PEER_BYTES, PEER_OTHER };

/* peer_fill() - n_bytes of an input; the same for every engine and run. */
void peer_fill(void *data, size_t n_bytes, enum peer_type type);

uint64_t peer_now_ns(void);

/* peer_measure() - runs step once, then some times to warm up, then n_runs times, and prints the
 * times as JSON, beside what preparation took. Ends the process when a step fails. */
void peer_measure(const struct peer_options *options, uint64_t prepare_ns, bool (*step)(void *ctx),
                  void *ctx);

#endif
