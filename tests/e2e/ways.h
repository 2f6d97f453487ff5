/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h - an application's view of the sample driver, in each of the three ways
 *
 * Programs are built once per way (-DWAY="embedded", "private", "service") and
 * link libneuralnetworks.so like any application. ways_begin() sets the
 * environment so that there is nothing but the sample driver, and starts its
 * service where the way needs one; it dies with the test. */
#ifndef NN_TESTS_E2E_WAYS_H
#define NN_TESTS_E2E_WAYS_H

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include "support/fds.h"

#ifdef WAYS_WITHOUT_CHECK
/* For a program that is killed: Check's messages must not be cut in the middle. */
#include <stdio.h>
#include <stdlib.h>
#define ck_assert_msg(condition, ...) ((condition) ? (void)0 : abort())
#define ck_assert_int_eq(a, b)        ck_assert_msg((a) == (b), "")
#define ck_assert_int_ge(a, b)        ck_assert_msg((a) >= (b), "")
#define ck_assert_float_eq(a, b)      ck_assert_msg((a) == (b), "")
#define ck_assert_ptr_ne(a, b)        ck_assert_msg((a) != (b), "")
#define ck_assert_ptr_nonnull(a)      ck_assert_msg((a) != NULL, "")
#define ck_assert_str_eq(a, b)        ck_assert_msg(!strcmp((a), (b)), "")
#else
#include "support/check-main.h"
#endif

#include <stdbool.h>
#include <sys/types.h>

#define OK(call)       ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)
#define IS(code, call) ck_assert_int_eq((call), ANEURALNETWORKS_##code)

void ways_begin(void);
void ways_end(void);

bool ways_is(const char *way);

/* ways_start_service(), ways_kill_service() - in the way "service" only. It lives no longer than
 * the thread that started it. */
void ways_start_service(void);
/* ways_spawn_service() - the same, without a wait until it listens. */
void ways_spawn_service(void);
void ways_kill_service(int signal_number);
pid_t ways_service(void);
/* ways_await_service_end() - until it has ended by itself. */
void ways_await_service_end(uint64_t limit_ns);

/* ways_device() - the sample. ways_pid() - the process that it runs in. */
ANeuralNetworksDevice *ways_device(void);
pid_t ways_pid(void);

/* ways_now_ns(), ways_nap() - CLOCK_MONOTONIC. */
uint64_t ways_now_ns(void);
void ways_nap(uint64_t duration_ns);

/* z = relu(x * y + x), by pointer or in a memory of its own. */
struct ways_formula {
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksMemory *memory; /* NULL: by pointer */
    ANeuralNetworksBurst *burst;   /* NULL: with compute() */
    float *x, *y, *z;              /* four each */
    float buffer[12];
};

/* ways_formula_compile() - for the sample, ways_formula_compile_for_any() - for what the library chooses.
 * Return: the code of finish(). */
int ways_formula_compile(struct ways_formula *formula);
int ways_formula_compile_for_any(struct ways_formula *formula);
/* ways_formula_compile_in() - with a cache in that folder; must succeed. Returns: the outcome. */
uint32_t ways_formula_compile_in(struct ways_formula *formula, const char *cache);
/* ways_formula_try_in() - the same, and may fail. Returns: the code of finish(). */
int ways_formula_try_in(struct ways_formula *formula, const char *cache, uint32_t *ret_outcome);
/* ways_formula_bind() - a reusable execution. */
void ways_formula_bind(struct ways_formula *formula, bool in_memory);
/* ways_formula_bind_within() - the same; each computation has so long. */
void ways_formula_bind_within(struct ways_formula *formula, bool in_memory, uint64_t timeout_ns);
/* ways_formula_burst() - from now on it runs on a burst. */
void ways_formula_burst(struct ways_formula *formula);
/* ways_formula_run() - new numbers from seed; whether z is right is asserted.
 * Returns: the code of compute() or burstCompute(). */
int ways_formula_run(struct ways_formula *formula, int seed);
/* ways_formula_run_by() - the same by an event, or started by the device; otherwise as
 * ways_formula_run(). Returns: the code of starting or of waiting. */
enum ways_path { WAYS_COMPUTE, WAYS_BURST, WAYS_EVENT, WAYS_FENCED };
int ways_formula_run_by(enum ways_path path, struct ways_formula *formula, int seed);
/* ways_formula_fill(), ways_formula_check() - the two halves of that around a computation. */
void ways_formula_fill(struct ways_formula *formula, int seed);
void ways_formula_check(const struct ways_formula *formula);
void ways_formula_done(struct ways_formula *formula);

#endif
