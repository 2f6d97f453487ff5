/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/builder.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_BYTES = 1 << 25 };

/* Fuzz targets and tools use this file too: it knows no test framework. */
static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "builder: %s\n", what);
    abort();
}

static void keep_why(void *ctx, const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct builder *b = ctx;

    pthread_mutex_lock(&lock);
    snprintf(b->why, sizeof(b->why), "%s", text);
    pthread_mutex_unlock(&lock);
}

static void keep_refusal(void *ctx, uint32_t operation, const char *text)
{
    struct builder *b = ctx;

    snprintf(b->refusal, sizeof(b->refusal), "%u: %s", operation, text);
}

static void ignore_log(void *ctx, uint32_t level, const char *text)
{
}

/* MAX_BYTES of zeroes; what is not used is not touched. Not malloc()'s, which tests make fill what it gives. */
static uint8_t *new_pages(void)
{
    void *pages = mmap(NULL, MAX_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    must(pages != MAP_FAILED, "out of memory");
    return pages;
}

void builder_init(struct builder *b, unsigned n_threads)
{
    char text[16];

    memset(b, 0, sizeof(*b));
    nn_arena_init(&b->arena, 0);
    b->graphs = calloc(BUILDER_MAX_GRAPHS, sizeof(*b->graphs));
    must(b->graphs, "out of memory");
    b->values = new_pages();
    b->pool = new_pages();
    b->n_graphs = 1;
    snprintf(text, sizeof(text), "%u", n_threads);
    setenv("NNHAL_CPU_THREADS", text, 1);
    b->services = (struct nnhal_driver_services){.size = sizeof(b->services),
                                                 .ctx = b,
                                                 .log = ignore_log,
                                                 .explain = keep_why,
                                                 .n_cpus = n_threads,
                                                 .refuse = keep_refusal};
    b->driver = nn_cpu_driver_main(NULL);
    must(b->driver->open(&b->services, &b->device) == NNHAL_NONE, "the driver does not open");
}

void builder_done(struct builder *b)
{
    b->driver->close(b->device);
    free(b->graphs);
    munmap(b->values, MAX_BYTES);
    munmap(b->pool, MAX_BYTES);
    nn_arena_done(&b->arena);
}

uint32_t builder_operand(struct builder *b, uint32_t graph, uint32_t type, uint32_t lifetime,
                         uint32_t rank, const uint32_t *dims, float scale, int32_t zero_point)
{
    struct builder_graph *g = &b->graphs[graph];

    must(g->n_operands < BUILDER_MAX_OPERANDS, "too many operands");
    g->operands[g->n_operands] = (struct nnhal_operand){
        .type = type,
        .lifetime = lifetime,
        .scale = scale,
        .zero_point = zero_point,
        .n_dimensions = rank,
        .dimensions = rank ? nn_arena_dup(&b->arena, dims, rank * sizeof(*dims)) : NULL};
    return g->n_operands++;
}

uint32_t builder_input(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                       const uint32_t *dims, float scale, int32_t zero_point)
{
    struct builder_graph *g = &b->graphs[graph];
    uint32_t index = builder_operand(b, graph, type, NNHAL_SUBGRAPH_INPUT, rank, dims, scale,
                                     zero_point);

    must(g->n_inputs < BUILDER_MAX_IO, "too many inputs");
    g->inputs[g->n_inputs++] = index;
    return index;
}

uint32_t builder_output(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                        const uint32_t *dims, float scale, int32_t zero_point)
{
    struct builder_graph *g = &b->graphs[graph];
    uint32_t index = builder_operand(b, graph, type, NNHAL_SUBGRAPH_OUTPUT, rank, dims, scale,
                                     zero_point);

    must(g->n_outputs < BUILDER_MAX_IO, "too many outputs");
    g->outputs[g->n_outputs++] = index;
    return index;
}

uint32_t builder_temporary(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                           const uint32_t *dims, float scale, int32_t zero_point)
{
    return builder_operand(b, graph, type, NNHAL_TEMPORARY_VARIABLE, rank, dims, scale, zero_point);
}

uint32_t builder_constant(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                          const uint32_t *dims, float scale, int32_t zero_point, const void *bytes,
                          size_t n_bytes, int in_pool)
{
    uint32_t index = builder_operand(b, graph, type,
                                     in_pool ? NNHAL_CONSTANT_REFERENCE : NNHAL_CONSTANT_COPY, rank,
                                     dims, scale, zero_point);
    struct nnhal_data_location *at = &b->graphs[graph].operands[index].location;
    uint8_t *to = in_pool ? b->pool : b->values;
    size_t *n = in_pool ? &b->n_pool : &b->n_values;

    must(*n + n_bytes + 16 <= MAX_BYTES, "constants are too large");
    memcpy(to + *n, bytes, n_bytes);
    at->offset = *n;
    at->length = n_bytes;
    *n = (*n + n_bytes + 15) / 16 * 16;
    return index;
}

uint32_t builder_i32(struct builder *b, uint32_t graph, int32_t number)
{
    return builder_constant(b, graph, NNHAL_INT32, 0, NULL, 0, 0, &number, sizeof(number), 0);
}

uint32_t builder_f32(struct builder *b, uint32_t graph, float number)
{
    return builder_constant(b, graph, NNHAL_FLOAT32, 0, NULL, 0, 0, &number, sizeof(number), 0);
}

uint32_t builder_bool(struct builder *b, uint32_t graph, int truth)
{
    uint8_t byte = truth != 0;

    return builder_constant(b, graph, NNHAL_BOOL, 0, NULL, 0, 0, &byte, 1, 0);
}

uint32_t builder_subgraph(struct builder *b, uint32_t graph, uint32_t referred)
{
    uint32_t index = builder_operand(b, graph, NNHAL_SUBGRAPH, NNHAL_SUBGRAPH_VALUE, 0, NULL, 0, 0);

    b->graphs[graph].operands[index].location.offset = referred - 1;
    return index;
}

uint32_t builder_add_graph(struct builder *b)
{
    must(b->n_graphs < BUILDER_MAX_GRAPHS, "too many graphs");
    return b->n_graphs++;
}

void builder_operation(struct builder *b, uint32_t graph, uint32_t type, uint32_t n_inputs,
                       const uint32_t *inputs, uint32_t n_outputs, const uint32_t *outputs)
{
    struct builder_graph *g = &b->graphs[graph];

    must(g->n_operations < BUILDER_MAX_NODES, "too many operations");
    g->operations[g->n_operations++] = (struct nnhal_operation){
        .type = type,
        .n_inputs = n_inputs,
        .inputs = nn_arena_dup(&b->arena, inputs, n_inputs * sizeof(*inputs)),
        .n_outputs = n_outputs,
        .outputs = nn_arena_dup(&b->arena, outputs, n_outputs * sizeof(*outputs))};
}

static struct nnhal_subgraph subgraph_of(const struct builder_graph *g)
{
    return (struct nnhal_subgraph){.n_operands = g->n_operands,
                                   .n_operations = g->n_operations,
                                   .n_input_indexes = g->n_inputs,
                                   .n_output_indexes = g->n_outputs,
                                   .operands = g->operands,
                                   .operations = g->operations,
                                   .input_indexes = g->inputs,
                                   .output_indexes = g->outputs};
}

struct nnhal_driver_model builder_model(struct builder *b)
{
    static const struct nnhal_extension_prefix tflite = {.name = NNHAL_TFLITE_EXTENSION,
                                                         .prefix = BUILDER_PREFIX};

    b->pool_id = 1;
    b->mapped = (struct nnhal_mapped_pool){b->pool, MAX_BYTES};
    b->model = (struct nnhal_model){.main = subgraph_of(&b->graphs[0]),
                                    .n_referenced = b->n_graphs - 1,
                                    .referenced = b->referenced,
                                    .n_pools = 1,
                                    .pools = &b->pool_id,
                                    .operand_values = {b->n_values, b->values},
                                    .n_extension_prefixes = 1,
                                    .extension_prefixes = &tflite};
    for (uint32_t i = 1; i < b->n_graphs; i++)
        b->referenced[i - 1] = subgraph_of(&b->graphs[i]);
    return (struct nnhal_driver_model){&b->model, 1, &b->mapped};
}

void *builder_prepare(struct builder *b)
{
    struct nnhal_prepare request = {.size = sizeof(request),
                                    .model = builder_model(b),
                                    .preference = NNHAL_FAST_SINGLE_ANSWER,
                                    .priority = NNHAL_PRIORITY_MEDIUM,
                                    .deadline_ns = NNHAL_NO_TIME};
    void *prepared = NULL;

    must(b->driver->prepare(b->device, &request, &prepared) == NNHAL_NONE, b->why);
    return prepared;
}

void builder_run_init(struct builder_run *run, const struct builder *b)
{
    const struct builder_graph *g = &b->graphs[0];

    memset(run, 0, sizeof(*run));
    run->execution = (struct nnhal_execution){.size = sizeof(run->execution),
                                              .n_inputs = g->n_inputs,
                                              .n_outputs = g->n_outputs,
                                              .inputs = run->inputs,
                                              .outputs = run->outputs,
                                              .deadline_ns = NNHAL_NO_TIME,
                                              .loop_timeout_ns = NNHAL_DEFAULT_LOOP_TIMEOUT_NS,
                                              .is_cancelled = &run->is_cancelled};
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct nnhal_operand *operand = &g->operands[g->inputs[i]];

        builder_run_shape(run, i, operand->n_dimensions, operand->dimensions);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const struct nnhal_operand *operand = &g->operands[g->outputs[i]];

        run->outputs[i].n_dimensions = operand->n_dimensions;
        for (uint32_t d = 0; d < operand->n_dimensions; d++)
            run->outputs[i].dimensions[d] = operand->dimensions[d];
    }
}

void builder_run_input(struct builder_run *run, uint32_t i, const void *data, size_t size)
{
    run->inputs[i].data = data;
    run->inputs[i].size = size;
}

void builder_run_shape(struct builder_run *run, uint32_t i, uint32_t rank, const uint32_t *dims)
{
    run->inputs[i].n_dimensions = rank;
    for (uint32_t d = 0; d < rank; d++)
        run->inputs[i].dimensions[d] = dims[d];
}

void builder_run_output(struct builder_run *run, uint32_t i, void *data, size_t capacity)
{
    run->outputs[i].data = data;
    run->outputs[i].capacity = capacity;
}

uint32_t builder_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

float builder_random_float(uint32_t *state, float low, float high)
{
    return low + (high - low) * (float)builder_random(state) / 16777216.0f;
}

int32_t builder_random_int(uint32_t *state, int32_t low, int32_t high)
{
    return low + (int32_t)(builder_random(state) % (uint32_t)(high - low + 1));
}
