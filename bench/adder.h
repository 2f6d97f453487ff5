/* SPDX-License-Identifier: Apache-2.0 */
/* adder.h - what benchmarks of round trips share
 *
 * A one-element ADD on the sample driver, so that all there is to measure is the
 * way there and back, and a service of that driver in a folder of its own.
 * Failures end the program. NNHAL_HOST says where nnhal-host is; by default it is
 * beside this program's folder. */
#ifndef NN_BENCH_ADDER_H
#define NN_BENCH_ADDER_H

#include <android/NeuralNetworks.h>

#include <stdint.h>
#include <sys/types.h>

/* adder_begin() - says where services are; first thing. adder_end() removes it. */
void adder_begin(void);
void adder_end(void);

/* adder_die() - ends the program with errno's sentence. */
void adder_die(const char *what);

/* adder_now_ns() - CLOCK_MONOTONIC. adder_pin() - this thread, to one CPU. */
uint64_t adder_now_ns(void);
void adder_pin(int cpu);

/* adder_compile() - z = x + y, inputs 0 and 1, output 0, one float each. */
ANeuralNetworksCompilation *adder_compile(ANeuralNetworksModel **ret_model);

/* adder_start_service() - on that CPU, listening when this returns. configuration:
 * a line for the sample driver, NULL: none. */
pid_t adder_start_service(int cpu, const char *configuration);

#endif
