/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - models of the builder through the NNAPI, on devices that take them in part
 *
 * The devices are partial/partial.c's, "partial-0" and on; split_rules() tells them what to take.
 * A call that must succeed and does not ends the test. */
#ifndef NN_TESTS_DRIVERS_SPLIT_H
#define NN_TESTS_DRIVERS_SPLIT_H

#include "cpu/builder.h"
#include "support/check-main.h"
#include "support/find-device.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <stdbool.h>
#include <stddef.h>

#define OK(call) ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)

/* split_rules() - NN_TEST_PARTIAL from now on. */
void split_rules(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* The graphs of a builder as finished models; the first is the main one. */
struct split_models {
    uint32_t n_graphs;
    ANeuralNetworksModel *graphs[BUILDER_MAX_GRAPHS];
};

/* split_models_init() - graphs refer to later ones only. is_open: the first dimension of every image
 * that is no constant is unknown. */
void split_models_init(struct split_models *models, const struct builder *b, bool is_open);
void split_models_done(struct split_models *models);

/* split_row() - a row of floats in a graph of the builder, which is listed if it is an input or an output. */
uint32_t split_row(struct builder *b, uint32_t graph, uint32_t lifetime, const uint32_t dims[1]);

/* split_exp_model() - EXP of four floats; finished. */
ANeuralNetworksModel *split_exp_model(void);

/* split_chain() - RELU, EXP, FLOOR, ABS of SPLIT_CHAIN_FLOATS floats: levels 1, 3, 1, 3; finished.
 * is_backwards: the last one is added first. */
enum { SPLIT_CHAIN_FLOATS = 4, SPLIT_CHAIN_N = 4 };
ANeuralNetworksModel *split_chain(bool is_relaxed, bool is_backwards);

/* split_compile() - for devices partial-0 to partial-(n - 1); finished. */
ANeuralNetworksCompilation *split_compile(ANeuralNetworksModel *model, uint32_t n_devices);

/* split_compile_on() - the same for the devices with these numbers. */
ANeuralNetworksCompilation *split_compile_on(ANeuralNetworksModel *model, uint32_t n_devices,
                                             const uint32_t *numbers);

/* split_count_parts() - of its plan. */
uint32_t split_count_parts(const ANeuralNetworksCompilation *compilation);

/* split_count_residents() - values that parts of its plan read where they stay, in memory of their device. */
uint32_t split_count_residents(const ANeuralNetworksCompilation *compilation);

/* split_trace_plans() - from now on plans go to a file in place of stderr. Once in a process.
 * split_take_plans() - what NNHAL_TRACE=plan has printed, without times, rules and figures: "plan: 1 of 1
 * parts", "part 0  wave 0  partial-1 and others  operation 0", "partial-0 does not support 0 (IF)", a line
 * for each; removes the file. */
void split_trace_plans(void);
void split_take_plans(char *ret_text, size_t size);

/* split_input_type() - the type of input i of graph 0 with all dimensions. */
ANeuralNetworksOperandType split_input_type(const struct builder *b, uint32_t i);

#endif
