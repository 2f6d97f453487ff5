/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - executes the steps of a plan
 *
 * Shapes that the model leaves open are known only now: each step derives its
 * output's shape from its inputs'. Inputs and outputs are used in place;
 * results in between live in blocks that are freed at the end. An output that
 * does not fit is computed into such a block, because later steps may read it. */
#include "sample.h"

#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

/* A value during one execution. */
struct tensor {
    const float *data;
    uint32_t n_dimensions;
    uint32_t dimensions[NNHAL_MAX_RANK];
    uint64_t row; /* floats from row to row: more than a row has in a buffer of our own */
    float *block; /* what must be freed, NULL: nothing */
};

/* So many tensors need no memory of the host's. */
enum { FEW_TENSORS = 8 };

struct run {
    const struct plan *plan;
    struct nnhal_execution *execution;
    struct tensor *tensors; /* one per value */
    bool is_insufficient;
    bool is_short_of_memory;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool deadline_passed(uint64_t deadline_ns)
{
    return deadline_ns != NNHAL_NO_TIME && now_ns() >= deadline_ns;
}

/* -- shapes ------------------------------------------------------------------- */

static uint64_t count_elements(const struct tensor *tensor)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < tensor->n_dimensions; i++)
        if (__builtin_mul_overflow(n, tensor->dimensions[i], &n))
            return UINT64_MAX;
    return n;
}

/* Dimension i of a tensor seen with a rank: missing ones in front are 1. */
static uint32_t dimension_at(const struct tensor *tensor, uint32_t rank, uint32_t i)
{
    uint32_t n_missing = rank - tensor->n_dimensions;

    return i < n_missing ? 1 : tensor->dimensions[i - n_missing];
}

/* Broadcasting: dimensions agree, or one of the two is 1. */
static bool index_broadcast(const struct tensor *a, const struct tensor *b, struct tensor *out)
{
    uint32_t rank = a->n_dimensions > b->n_dimensions ? a->n_dimensions : b->n_dimensions;

    out->n_dimensions = rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t n_a = dimension_at(a, rank, i), n_b = dimension_at(b, rank, i);

        if (n_a != n_b && n_a != 1 && n_b != 1)
            return false;
        out->dimensions[i] = n_a == 1 ? n_b : n_a;
    }
    return true;
}

static bool shape_matches(const struct tensor *tensor, uint32_t n_dimensions,
                          const uint32_t *dimensions)
{
    if (n_dimensions == 0)
        return true;
    if (tensor->n_dimensions != n_dimensions)
        return false;
    for (uint32_t i = 0; i < n_dimensions; i++)
        if (dimensions[i] != 0 && dimensions[i] != tensor->dimensions[i])
            return false;
    return true;
}

/* -- arithmetic --------------------------------------------------------------- */

static float value_activate(uint32_t activation, float x)
{
    switch (activation) {
    case NNHAL_FUSED_RELU:
        return x < 0.0f ? 0.0f : x;
    case NNHAL_FUSED_RELU1:
        return x < -1.0f ? -1.0f : x > 1.0f ? 1.0f : x;
    case NNHAL_FUSED_RELU6:
        return x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x;
    default:
        return x;
    }
}

/* Floats at any address: requests promise no alignment. */
static float element_load(const float *data, uint64_t i)
{
    float x;

    memcpy(&x, (const unsigned char *)data + i * sizeof(x), sizeof(x));
    return x;
}

static void element_store(float *data, uint64_t i, float x)
{
    memcpy((unsigned char *)data + i * sizeof(x), &x, sizeof(x));
}

/* Steps from element to element along each dimension of the output; 0 where
 * the input is repeated. */
static void strides_of(const struct tensor *tensor, uint32_t rank, uint64_t *strides)
{
    uint64_t stride = 1;

    for (uint32_t i = rank; i-- > 0;) {
        uint32_t n = dimension_at(tensor, rank, i);

        strides[i] = n == 1 ? 0 : stride;
        stride = i + 1 == rank ? tensor->row : stride * n;
    }
}

/* An element of an input as a float; those of FROM_FIXED are int16_t. */
static float input_load(const struct sample_step *step, const struct tensor *tensor, uint64_t i)
{
    int16_t fixed;

    if (step->operation != STEP_FROM_FIXED)
        return element_load(tensor->data, i);
    memcpy(&fixed, (const unsigned char *)tensor->data + i * sizeof(fixed), sizeof(fixed));
    return (float)fixed / (float)(1u << step->fraction_bits);
}

static float elements_combine(const struct sample_step *step, float a, float b)
{
    if (step->operation == NNHAL_OP_ADD)
        return value_activate(step->activation, a + b);
    if (step->operation == NNHAL_OP_MUL)
        return value_activate(step->activation, a * b);
    return value_activate(step->activation, a);
}

/* out[i] = activate(a[i] op b[i]), counting through the output's dimensions
 * like an odometer. */
static void operation_compute(const struct sample_step *step, const struct tensor *a,
                              const struct tensor *b, const struct tensor *out, float *data)
{
    uint64_t strides_a[NNHAL_MAX_RANK], strides_b[NNHAL_MAX_RANK], strides_out[NNHAL_MAX_RANK];
    uint32_t at[NNHAL_MAX_RANK] = {0}, rank = out->n_dimensions;
    uint64_t n = count_elements(out), at_a = 0, at_b = 0, at_out = 0;

    strides_of(a, rank, strides_a);
    strides_of(b, rank, strides_b);
    strides_of(out, rank, strides_out);
    for (uint64_t i = 0; i < n; i++) {
        element_store(data, at_out,
                      elements_combine(step, input_load(step, a, at_a), input_load(step, b, at_b)));
        for (uint32_t d = rank; d-- > 0;) {
            at_a += strides_a[d];
            at_b += strides_b[d];
            at_out += strides_out[d];
            if (++at[d] < out->dimensions[d])
                break;
            at_a -= strides_a[d] * at[d];
            at_b -= strides_b[d] * at[d];
            at_out -= strides_out[d] * at[d];
            at[d] = 0;
        }
    }
}

/* -- steps -------------------------------------------------------------------- */

/* An output of the model: its place, unless it is too small or is not to be had. */
static float *place_output(struct run *run, const struct value *value, struct tensor *tensor,
                           uint64_t n_bytes)
{
    struct nnhal_output *output = &run->execution->outputs[value->io_index];
    struct buffer *buffer = output->buffer;

    if (output->is_omitted)
        return NULL;
    output->n_dimensions = tensor->n_dimensions;
    memcpy(output->dimensions, tensor->dimensions, sizeof(output->dimensions));
    if (n_bytes > output->capacity) {
        output->is_insufficient = 1;
        run->is_insufficient = true;
        return NULL;
    }
    if (!buffer)
        return output->data;
    if (!buffer_shape(buffer, tensor->n_dimensions, tensor->dimensions)) {
        run->is_short_of_memory = true;
        return NULL;
    }
    tensor->row = buffer->row;
    return buffer->data;
}

static const uint32_t *declared_shape(const struct run *run, const struct value *value,
                                      uint32_t *ret_n)
{
    if (value->lifetime == NNHAL_SUBGRAPH_OUTPUT) {
        const struct nnhal_output *output = &run->execution->outputs[value->io_index];

        *ret_n = output->n_dimensions;
        return output->dimensions;
    }
    *ret_n = value->n_dimensions;
    return value->dimensions;
}

static uint32_t run_step(struct run *run, const struct sample_step *step)
{
    const struct nnhal_driver_services *services = run->plan->device->services;
    const struct value *value = &run->plan->values[step->output];
    const struct tensor *a = &run->tensors[step->inputs[0]], *b = &run->tensors[step->inputs[1]];
    struct tensor *out = &run->tensors[step->output];
    const uint32_t *declared;
    uint32_t n_declared;
    uint64_t n_bytes;
    float *data = NULL;

    if (!a->data || !b->data)
        return explain(run->plan->device, NNHAL_INVALID_ARGUMENT,
                       "an input was omitted that an operation needs");
    declared = declared_shape(run, value, &n_declared);
    if (!index_broadcast(a, b, out) || !shape_matches(out, n_declared, declared))
        return explain(run->plan->device, NNHAL_GENERAL_FAILURE,
                       "the shapes of an operation's operands contradict each other");
    if (__builtin_mul_overflow(count_elements(out), sizeof(float), &n_bytes))
        return explain(run->plan->device, NNHAL_GENERAL_FAILURE,
                       "a result is larger than any memory");
    out->row = row_elements(out->n_dimensions, out->dimensions);
    if (value->lifetime == NNHAL_SUBGRAPH_OUTPUT)
        data = place_output(run, value, out, n_bytes);
    if (run->is_short_of_memory)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    if (!data) {
        data = out->block = services->allocate(services->ctx, n_bytes);
        if (!data)
            return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    }
    operation_compute(step, a, b, out, data);
    out->data = data;
    return NNHAL_NONE;
}

static void bind_input(const struct nnhal_input *input, struct tensor *tensor)
{
    const struct buffer *buffer = input->buffer;

    tensor->n_dimensions = input->n_dimensions;
    memcpy(tensor->dimensions, input->dimensions, sizeof(tensor->dimensions));
    tensor->data = buffer ? buffer->data : input->data;
    tensor->row = buffer ? buffer->row : row_elements(input->n_dimensions, input->dimensions);
}

static void bind_tensors(struct run *run)
{
    for (uint32_t i = 0; i < run->plan->n_values; i++) {
        const struct value *value = &run->plan->values[i];
        struct tensor *tensor = &run->tensors[i];

        if (value->lifetime == NNHAL_SUBGRAPH_INPUT) {
            bind_input(&run->execution->inputs[value->io_index], tensor);
            continue;
        }
        tensor->data = value->constant;
        tensor->n_dimensions = value->n_dimensions;
        memcpy(tensor->dimensions, value->dimensions, sizeof(tensor->dimensions));
        tensor->row = row_elements(value->n_dimensions, value->dimensions);
    }
}

static uint32_t run_steps(struct run *run)
{
    for (uint32_t i = 0; i < run->plan->n_steps; i++) {
        uint32_t status;

        if (__atomic_load_n(run->execution->is_cancelled, __ATOMIC_RELAXED))
            return NNHAL_GENERAL_FAILURE;
        if (deadline_passed(run->execution->deadline_ns))
            return explain(run->plan->device, NNHAL_MISSED_DEADLINE_TRANSIENT,
                           "the deadline passed during the execution");
        status = run_step(run, &run->plan->steps[i]);
        if (status != NNHAL_NONE)
            return status;
    }
    return run->is_insufficient ? NNHAL_OUTPUT_INSUFFICIENT_SIZE : NNHAL_NONE;
}

static uint32_t run_plan(const struct plan *plan, struct nnhal_execution *execution)
{
    const struct nnhal_driver_services *services = plan->device->services;
    size_t n_bytes = (size_t)plan->n_values * sizeof(struct tensor);
    struct run run = {.plan = plan, .execution = execution};
    struct tensor few[FEW_TENSORS];
    void *many = NULL;
    uint32_t status;

    if (plan->n_values > FEW_TENSORS) {
        many = services->allocate(services->ctx, n_bytes);
        if (!many)
            return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    }
    run.tensors = many ? many : few;
    memset(run.tensors, 0, n_bytes);
    bind_tensors(&run);
    status = run_steps(&run);
    for (uint32_t i = 0; i < plan->n_values; i++)
        services->release(services->ctx, run.tensors[i].block);
    services->release(services->ctx, many);
    return status;
}

uint32_t execute_plan(const struct plan *plan, struct nnhal_execution *execution)
{
    uint64_t begin_ns = execution->measure ? now_ns() : 0;
    uint32_t status = run_plan(plan, execution);

    if (execution->measure && status == NNHAL_NONE) {
        execution->timing.time_on_device_ns = now_ns() - begin_ns;
        execution->timing.time_in_driver_ns = execution->timing.time_on_device_ns;
    }
    return status;
}
