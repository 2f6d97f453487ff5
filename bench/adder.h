/* SPDX-License-Identifier: Apache-2.0 */
/* adder.h - what benchmarks of round trips share
 *
 * A one-element ADD, mostly on the sample driver, so that all there is to measure is the
 * way there and back, and services in a folder of its own.
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

/* adder_device() - by its name; ends the program if it is not there. */
ANeuralNetworksDevice *adder_device(const char *name);

/* adder_compile() - z = x + y, inputs 0 and 1, output 0, one float each, for that device. */
ANeuralNetworksCompilation *adder_compile(const char *device, ANeuralNetworksModel **ret_model);

/* adder_start_service() - of a driver ("sample", "cpu") on that CPU (-1: any), listening when this
 * returns. configuration: a line for the driver, NULL: none. */
pid_t adder_start_service(const char *driver, const char *configuration, int cpu);

/* adder_share() - other users reach the services, too; after adder_begin(). */
void adder_share(void);

#endif
