/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - a driver for one operation: FULLY_CONNECTED of floats, by OpenBLAS
 *
 * doc/driver/one-operation.md tells how it came about from the null driver. */
#include <nnhal/driver.h>

#include <cblas.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The inputs of FULLY_CONNECTED, as doc/operations.md lists them. */
enum { INPUT, WEIGHTS, BIAS, ACTIVATION };

/* So many rows are computed between two looks at the deadline and at the client. */
enum { ROWS = 16 };

struct dense_model {
    uint32_t n_units, n_inputs, activation;
    float *weights; /* [n_units, n_inputs]: a copy, as the application may change its bytes */
    float *bias;    /* [n_units], behind the weights */
};

/* Of the process: there is one device. */
static const struct nnhal_driver_services *services;

static uint32_t dense_open(const struct nnhal_driver_services *host, void **ret_device)
{
    services = host;
    openblas_set_num_threads(1); /* the host has a thread for each client */
    *ret_device = &services;
    return NNHAL_NONE;
}

static void dense_close(void *device)
{
}

/* -- what is supported ------------------------------------------------------------------ */

static const struct nnhal_operand *operand_of(const struct nnhal_driver_model *model,
                                              const struct nnhal_operation *operation,
                                              uint32_t which)
{
    return &model->model->main.operands[operation->inputs[which]];
}

/* The bytes of a constant, in the model or in a memory of the application; NULL: it is none. */
static const void *constant_of(const struct nnhal_driver_model *model,
                               const struct nnhal_operation *operation, uint32_t which)
{
    const struct nnhal_operand *operand = operand_of(model, operation, which);
    uint64_t offset = operand->location.offset;

    if (operand->lifetime == NNHAL_CONSTANT_COPY)
        return model->model->operand_values.data + offset;
    if (operand->lifetime == NNHAL_CONSTANT_REFERENCE)
        return model->pools[operand->location.pool_index].data + offset;
    return NULL;
}

/* Its weights are constant. */
static bool is_supported(const struct nnhal_driver_model *model,
                         const struct nnhal_operation *operation)
{
    return operation->type == NNHAL_OP_FULLY_CONNECTED &&
           operand_of(model, operation, INPUT)->type == NNHAL_TENSOR_FLOAT32 &&
           constant_of(model, operation, WEIGHTS) && constant_of(model, operation, BIAS) &&
           constant_of(model, operation, ACTIVATION);
}

/* Asked about a whole model, with an answer for each operation. The library gives this device what
 * it supports of it as a model, and other devices the rest; as dense_prepare() takes one operation,
 * one is supported: of several, some would come together. */
static uint32_t dense_get_supported_operations(void *device, const struct nnhal_driver_model *model,
                                               uint8_t *supported)
{
    const struct nnhal_subgraph *graph = &model->model->main;

    for (uint32_t i = 0; i < graph->n_operations; i++)
        if (is_supported(model, &graph->operations[i])) {
            supported[i] = 1;
            break;
        }
    return NNHAL_NONE;
}

/* -- a model ------------------------------------------------------------------------------- */

static void dense_release(void *prepared)
{
    struct dense_model *dense = prepared;

    free(dense->weights);
    free(dense);
}

static uint32_t dense_fill(struct dense_model *dense, const struct nnhal_driver_model *model)
{
    const struct nnhal_operation *operation = &model->model->main.operations[0];
    size_t n_weights = (size_t)dense->n_units * dense->n_inputs;

    dense->weights = malloc((n_weights + dense->n_units) * sizeof(float));
    if (!dense->weights)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    dense->bias = dense->weights + n_weights;
    memcpy(dense->weights, constant_of(model, operation, WEIGHTS), n_weights * sizeof(float));
    memcpy(dense->bias, constant_of(model, operation, BIAS), dense->n_units * sizeof(float));
    memcpy(&dense->activation, constant_of(model, operation, ACTIVATION),
           sizeof(dense->activation));
    return NNHAL_NONE;
}

static uint32_t dense_prepare(void *device, const struct nnhal_prepare *prepare,
                              void **ret_prepared)
{
    const struct nnhal_subgraph *graph = &prepare->model.model->main;
    const uint32_t *shape;
    struct dense_model *dense;
    uint32_t status;

    if (graph->n_operations != 1 || !is_supported(&prepare->model, &graph->operations[0]))
        return NNHAL_INVALID_ARGUMENT;
    shape = operand_of(&prepare->model, &graph->operations[0], WEIGHTS)->dimensions;
    /* Asked for before it is taken; given back by the host when the model is released. */
    status = services->charge(services->ctx, prepare->account,
                              sizeof(*dense) +
                                  ((uint64_t)shape[0] * shape[1] + shape[0]) * sizeof(float));
    if (status != NNHAL_NONE)
        return status;
    dense = calloc(1, sizeof(*dense));
    if (!dense)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    dense->n_units = shape[0];
    dense->n_inputs = shape[1];
    status = dense_fill(dense, &prepare->model);
    if (status != NNHAL_NONE)
        dense_release(dense);
    else
        *ret_prepared = dense;
    return status;
}

/* -- an execution ---------------------------------------------------------------------------- */

static float activate(uint32_t activation, float x)
{
    switch (activation) {
    case NNHAL_FUSED_RELU:
        return x < 0 ? 0 : x;
    case NNHAL_FUSED_RELU1:
        return x < -1 ? -1 : x > 1 ? 1 : x;
    case NNHAL_FUSED_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    default:
        return x;
    }
}

/* Whether the result is still wanted. */
static uint32_t check_wanted(const struct nnhal_execution *execution)
{
    struct timespec now;

    if (__atomic_load_n(execution->is_cancelled, __ATOMIC_RELAXED))
        return NNHAL_GENERAL_FAILURE;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return execution->deadline_ns != NNHAL_NO_TIME &&
                   (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >=
                       execution->deadline_ns
               ? NNHAL_MISSED_DEADLINE_TRANSIENT
               : NNHAL_NONE;
}

/* n rows from bytes to bytes, which may lie at any address; room is for the floats of both. */
static void compute_rows(const struct dense_model *dense, int n, const uint8_t *from, uint8_t *to,
                         float *room)
{
    float *results = room + (size_t)ROWS * dense->n_inputs;
    int n_units = (int)dense->n_units, n_inputs = (int)dense->n_inputs;

    memcpy(room, from, (size_t)n * dense->n_inputs * sizeof(float));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n_units, n_inputs, 1, room, n_inputs,
                dense->weights, n_inputs, 0, results, n_units);
    for (size_t i = 0; i < (size_t)n * dense->n_units; i++)
        results[i] = activate(dense->activation, results[i] + dense->bias[i % dense->n_units]);
    memcpy(to, results, (size_t)n * dense->n_units * sizeof(float));
}

static uint32_t compute(const struct dense_model *dense, struct nnhal_execution *execution,
                        uint64_t n_rows)
{
    const uint8_t *from = execution->inputs[0].data;
    uint8_t *to = execution->outputs[0].data;
    float *room = malloc(((size_t)dense->n_inputs + dense->n_units) * ROWS * sizeof(float));
    uint32_t status = room ? NNHAL_NONE : NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;

    for (uint64_t row = 0; row < n_rows && status == NNHAL_NONE; row += ROWS) {
        status = check_wanted(execution);
        if (status == NNHAL_NONE)
            compute_rows(dense, (int)(n_rows - row < ROWS ? n_rows - row : ROWS),
                         from + row * dense->n_inputs * sizeof(float),
                         to + row * dense->n_units * sizeof(float), room);
    }
    free(room);
    return status;
}

static uint32_t dense_execute(void *prepared, struct nnhal_execution *execution)
{
    const struct dense_model *dense = prepared;
    struct nnhal_output *output = &execution->outputs[0];
    uint64_t n_rows = execution->inputs[0].size / sizeof(float) / dense->n_inputs;

    output->n_dimensions = 2;
    output->dimensions[0] = (uint32_t)n_rows;
    output->dimensions[1] = dense->n_units;
    output->is_insufficient = n_rows * dense->n_units * sizeof(float) > output->capacity;
    return output->is_insufficient ? NNHAL_OUTPUT_INSUFFICIENT_SIZE
                                   : compute(dense, execution, n_rows);
}

/* -- the table ---------------------------------------------------------------------------------- */

static const struct nnhal_capabilities capabilities = {
    .relaxed_scalar = {1, 1},
    .relaxed_tensor = {1, 1},
    .if_performance = {1, 1},
    .while_performance = {1, 1},
};

static const struct nnhal_driver driver = {
    .size = sizeof(driver),
    .abi = NNHAL_DRIVER_ABI,
    .type = NNHAL_DEVICE_CPU,
    .name = "nnhal-dense",
    .version = "1",
    .feature_level = NNHAL_FEATURE_LEVEL_8,
    .capabilities = &capabilities,
    .charges_memory = 1,
    .open = dense_open,
    .close = dense_close,
    .get_supported_operations = dense_get_supported_operations,
    .prepare = dense_prepare,
    .release = dense_release,
    .execute = dense_execute,
};

__attribute__((__visibility__("default"))) const struct nnhal_driver *
nnhal_driver_main(const char *configuration);

const struct nnhal_driver *nnhal_driver_main(const char *configuration)
{
    return &driver;
}
