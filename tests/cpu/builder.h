/* SPDX-License-Identifier: Apache-2.0 */
/* builder.h - small models for tests of the CPU driver, and running them
 *
 *     struct builder b;
 *     builder_init(&b);
 *     uint32_t x = builder_input(&b, 0, NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){1, 4}, 0, 0);
 *     uint32_t y = builder_temporary(...);
 *     builder_operation(&b, 0, NNHAL_OP_RELU, 1, &x, 1, &y);
 *     void *prepared = builder_prepare(&b);
 *
 * Subgraph 0 is the main one, others are referenced ones. A failure ends the test. */
#ifndef NN_TESTS_CPU_BUILDER_H
#define NN_TESTS_CPU_BUILDER_H

#include "base/arena.h"
#include "drivers/cpu/cpu.h"

#include <nnhal/driver.h>
#include <nnhal/tflite-extension.h>

#define BUILDER_MAX_GRAPHS   8
#define BUILDER_MAX_OPERANDS 256
#define BUILDER_MAX_NODES    64
#define BUILDER_MAX_IO       80

/* The code of an operation of nnhal.tflite; every model has the prefix. */
#define BUILDER_PREFIX       UINT32_C(1)
#define BUILDER_TFLITE(name) (BUILDER_PREFIX << 16 | NNHAL_TFLITE_##name)

struct builder_graph {
    uint32_t n_operands, n_operations, n_inputs, n_outputs;
    struct nnhal_operand operands[BUILDER_MAX_OPERANDS];
    struct nnhal_operation operations[BUILDER_MAX_NODES];
    uint32_t inputs[BUILDER_MAX_IO], outputs[BUILDER_MAX_IO];
};

struct builder {
    struct nn_arena arena;
    uint32_t n_graphs;
    struct builder_graph *graphs;
    uint8_t *values; /* of CONSTANT_COPY */
    size_t n_values;
    uint8_t *pool; /* of CONSTANT_REFERENCE: one pool */
    size_t n_pool;
    struct nnhal_model model;
    struct nnhal_subgraph referenced[BUILDER_MAX_GRAPHS];
    struct nnhal_mapped_pool mapped;
    uint64_t pool_id;
    char why[512];     /* what the driver explained last */
    char refusal[512]; /* and what it refused last: "1: " and the sentence on operation 1 */
    const struct nnhal_driver *driver;
    struct nnhal_driver_services services;
    void *device;
};

/* builder_init() - an empty model for the driver; n_threads is the size of its team. */
void builder_init(struct builder *b, unsigned n_threads);
void builder_done(struct builder *b);

/* Operands; each returns its index in the graph. */
uint32_t builder_operand(struct builder *b, uint32_t graph, uint32_t type, uint32_t lifetime,
                         uint32_t rank, const uint32_t *dims, float scale, int32_t zero_point);
uint32_t builder_input(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                       const uint32_t *dims, float scale, int32_t zero_point);
uint32_t builder_output(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                        const uint32_t *dims, float scale, int32_t zero_point);
uint32_t builder_temporary(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                           const uint32_t *dims, float scale, int32_t zero_point);
/* A constant with these bytes: in operand_values, or in the pool if in_pool. */
uint32_t builder_constant(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                          const uint32_t *dims, float scale, int32_t zero_point, const void *bytes,
                          size_t n_bytes, int in_pool);
uint32_t builder_i32(struct builder *b, uint32_t graph, int32_t number);
uint32_t builder_f32(struct builder *b, uint32_t graph, float number);
uint32_t builder_bool(struct builder *b, uint32_t graph, int truth);
uint32_t builder_subgraph(struct builder *b, uint32_t graph, uint32_t referred);
uint32_t builder_add_graph(struct builder *b);

void builder_operation(struct builder *b, uint32_t graph, uint32_t type, uint32_t n_inputs,
                       const uint32_t *inputs, uint32_t n_outputs, const uint32_t *outputs);

/* builder_model() - what the driver gets. */
struct nnhal_driver_model builder_model(struct builder *b);

/* builder_prepare() - a prepared model, which must succeed; release with b->driver->release(). */
void *builder_prepare(struct builder *b);

/* An execution with up to BUILDER_MAX_IO arguments, shapes as the model says. */
struct builder_run {
    struct nnhal_execution execution;
    struct nnhal_input inputs[BUILDER_MAX_IO];
    struct nnhal_output outputs[BUILDER_MAX_IO];
    uint32_t is_cancelled;
};

void builder_run_init(struct builder_run *run, const struct builder *b);
void builder_run_input(struct builder_run *run, uint32_t i, const void *data, size_t size);
void builder_run_shape(struct builder_run *run, uint32_t i, uint32_t rank, const uint32_t *dims);
void builder_run_output(struct builder_run *run, uint32_t i, void *data, size_t capacity);

/* Deterministic numbers: a linear congruence, the same on every machine. */
uint32_t builder_random(uint32_t *state);
float builder_random_float(uint32_t *state, float low, float high);
int32_t builder_random_int(uint32_t *state, int32_t low, int32_t high); /* both included */

#endif
