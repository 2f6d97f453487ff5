/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fake-driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake fake;
bool fake_holds_buffers;
bool fake_charges_memory;
void (*fake_on_reset)(void);

/* A buffer of its own; the value is inverted. */
struct buffer {
    unsigned char *bytes;
    uint64_t size;
};

static const struct nnhal_driver_services *services;
static _Atomic uint32_t gate_is_closed;

const struct nnhal_driver_services *fake_services(void)
{
    return services;
}

static const struct nnhal_operand_performance performances[] = {
    {NNHAL_TENSOR_FLOAT32, {0.5f, 0.5f}},
    {NNHAL_TENSOR_INT32, {0.5f, 0.5f}},
};

static const struct nnhal_capabilities capabilities = {
    .relaxed_scalar = {0.5f, 0.5f},
    .relaxed_tensor = {0.5f, 0.5f},
    .if_performance = {0.5f, 0.5f},
    .while_performance = {0.5f, 0.5f},
    .n_operand_performance = 2,
    .operand_performance = performances,
};

/* Of the models that tests make. */
static const struct nnhal_extension_operand_type types[] = {
    {.type = 0, .is_tensor = 1, .byte_size = 4}, {.type = 1, .is_tensor = 1, .byte_size = 4}};
static const struct nnhal_extension extensions[] = {{"com.example", 2, 0, types},
                                                    {"com.example.test", 2, 0, types}};

static uint32_t answer(uint32_t status)
{
    if (status != NNHAL_NONE && fake.explanation)
        services->explain(services->ctx, fake.explanation);
    return status;
}

static uint32_t fake_open(const struct nnhal_driver_services *given, void **ret_device)
{
    services = given;
    if (fake.open_status == NNHAL_NONE) {
        fake.n_opened++;
        *ret_device = &fake;
    }
    return answer(fake.open_status);
}

static void fake_close(void *device)
{
    fake.n_closed++;
}

static uint32_t fake_get_supported_operations(void *device, const struct nnhal_driver_model *model,
                                              uint8_t *supported)
{
    /* 7: every value but 0 counts as yes. */
    memset(supported, 7, model->model->main.n_operations);
    if (fake.on_supported)
        fake.on_supported(model, supported);
    return answer(fake.supported_status);
}

static uint32_t fake_prepare(void *device, const struct nnhal_prepare *prepare, void **ret_prepared)
{
    if (fake.on_prepare)
        fake.on_prepare(prepare);
    if (fake.prepare_status == NNHAL_NONE) {
        fake.n_prepared++;
        *ret_prepared = malloc(1); /* so that a leak or a double release is seen */
        fake.preference = prepare->preference;
        fake.priority = prepare->priority;
    }
    return answer(fake.prepare_status);
}

static void fake_release(void *prepared)
{
    fake.n_released++;
    free(prepared);
}

static uint32_t element_bytes(const struct nnhal_input *input)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < input->n_dimensions; i++)
        n *= input->dimensions[i];
    return (uint32_t)(input->size / n);
}

static unsigned char get_byte(const struct nnhal_input *input, uint64_t i)
{
    const struct buffer *buffer = input->buffer;

    return buffer ? (unsigned char)~buffer->bytes[i] : ((const unsigned char *)input->data)[i];
}

static void resize(struct buffer *buffer, uint64_t n_bytes)
{
    if (buffer->size == n_bytes)
        return;
    free(buffer->bytes);
    buffer->bytes = malloc(n_bytes);
    buffer->size = n_bytes;
}

static void put_byte(const struct nnhal_output *output, uint64_t i, unsigned char byte)
{
    struct buffer *buffer = output->buffer;

    if (buffer)
        buffer->bytes[i] = (unsigned char)~byte;
    else
        ((unsigned char *)output->data)[i] = byte;
}

/* The honest work: shapes like input 0, bytes of input 0. */
static uint32_t fill_output(const struct nnhal_input *input, struct nnhal_output *output)
{
    uint64_t n_bytes = element_bytes(input);

    if (output->is_omitted)
        return NNHAL_NONE;
    if (output->n_dimensions == 0)
        output->n_dimensions = input->n_dimensions;
    for (uint32_t i = 0; i < output->n_dimensions; i++) {
        if (output->dimensions[i] == 0)
            output->dimensions[i] = i < input->n_dimensions ? input->dimensions[i] : 1;
        n_bytes *= output->dimensions[i];
    }
    if (n_bytes > output->capacity) {
        output->is_insufficient = 1;
        return NNHAL_OUTPUT_INSUFFICIENT_SIZE;
    }
    if (output->buffer)
        resize(output->buffer, n_bytes);
    for (uint64_t i = 0; i < n_bytes; i++)
        put_byte(output, i, get_byte(input, i % input->size));
    return NNHAL_NONE;
}

static uint32_t fill_outputs(struct nnhal_execution *execution)
{
    uint32_t status = NNHAL_NONE;

    for (uint32_t i = 0; i < execution->n_outputs && !execution->inputs[0].is_omitted; i++)
        if (fill_output(&execution->inputs[0], &execution->outputs[i]) != NNHAL_NONE)
            status = NNHAL_OUTPUT_INSUFFICIENT_SIZE;
    return status;
}

static void nap(void)
{
    const struct timespec duration = {.tv_nsec = 100000};

    nanosleep(&duration, NULL);
}

/* Returns: whether the execution was cancelled. */
static bool pass_gate(const struct nnhal_execution *execution)
{
    while (gate_is_closed) {
        if (__atomic_load_n(execution->is_cancelled, __ATOMIC_SEQ_CST)) {
            fake.was_cancelled = 1;
            return true;
        }
        nap();
    }
    return false;
}

static void remember(const struct nnhal_execution *execution)
{
    fake.deadline_ns = execution->deadline_ns;
    fake.loop_timeout_ns = execution->loop_timeout_ns;
    fake.measure = execution->measure;
    if (execution->n_inputs)
        fake.input_data = execution->inputs[0].buffer ? execution->inputs[0].buffer
                                                      : execution->inputs[0].data;
    if (execution->n_outputs)
        fake.output_data = execution->outputs[0].buffer ? execution->outputs[0].buffer
                                                        : execution->outputs[0].data;
}

static uint32_t work(struct nnhal_execution *execution)
{
    uint32_t status = NNHAL_NONE;

    remember(execution);
    if (pass_gate(execution))
        return NNHAL_GENERAL_FAILURE;
    if (!fake.writes_nothing)
        status = fill_outputs(execution);
    if (fake.on_execute)
        fake.on_execute(execution);
    return fake.execute_status != NNHAL_NONE ? answer(fake.execute_status) : status;
}

static uint32_t fake_execute(void *prepared, struct nnhal_execution *execution)
{
    uint32_t status;

    fake.n_executing++;
    status = work(execution);
    fake.n_executing--;
    fake.n_executed++;
    return status;
}

/* -- buffers -- */

static uint32_t fake_allocate_buffer(void *device, const struct nnhal_allocate *allocate,
                                     void **ret_buffer)
{
    struct buffer *buffer;

    if (fake.allocate_status != NNHAL_NONE || fake.leaves_buffer)
        return answer(fake.allocate_status);
    buffer = calloc(1, sizeof(*buffer));
    fake.n_buffers++;
    *ret_buffer = buffer;
    return NNHAL_NONE;
}

static void fake_release_buffer(void *ctx)
{
    struct buffer *buffer = ctx;

    fake.n_released_buffers++;
    free(buffer->bytes);
    free(buffer);
}

static uint32_t fake_copy_to(void *ctx, void *data, uint64_t n_bytes)
{
    const struct buffer *buffer = ctx;

    if (fake.copy_status != NNHAL_NONE)
        return answer(fake.copy_status);
    for (uint64_t i = 0; i < n_bytes; i++)
        ((unsigned char *)data)[i] = (unsigned char)~buffer->bytes[i];
    return NNHAL_NONE;
}

static uint32_t fake_copy_from(void *ctx, uint32_t n_dimensions, const uint32_t *dimensions,
                               const void *data, uint64_t n_bytes)
{
    struct buffer *buffer = ctx;

    if (fake.copy_status != NNHAL_NONE)
        return answer(fake.copy_status);
    resize(buffer, n_bytes);
    for (uint64_t i = 0; i < n_bytes; i++)
        buffer->bytes[i] = (unsigned char)~((const unsigned char *)data)[i];
    return NNHAL_NONE;
}

void fake_reset(void)
{
    gate_is_closed = 0;
    fake = (struct fake){
        .driver =
            {
                .size = sizeof(struct nnhal_driver),
                .abi = NNHAL_DRIVER_ABI,
                .type = NNHAL_DEVICE_OTHER,
                .name = "fake",
                .version = "1",
                .feature_level = NNHAL_FEATURE_LEVEL_8,
                .capabilities = &capabilities,
                .n_extensions = 2,
                .extensions = extensions,
                .open = fake_open,
                .close = fake_close,
                .get_supported_operations = fake_get_supported_operations,
                .prepare = fake_prepare,
                .release = fake_release,
                .execute = fake_execute,
                .charges_memory = fake_charges_memory,
            },
    };
    if (fake_holds_buffers) {
        fake.driver.allocate_buffer = fake_allocate_buffer;
        fake.driver.release_buffer = fake_release_buffer;
        fake.driver.copy_to = fake_copy_to;
        fake.driver.copy_from = fake_copy_from;
    }
    if (fake_on_reset)
        fake_on_reset();
}

const struct nnhal_driver *fake_main(const char *configuration)
{
    if (configuration && fake.refused_configuration &&
        strcmp(configuration, fake.refused_configuration) == 0)
        return NULL;
    return &fake.driver;
}

void fake_gate_close(void)
{
    gate_is_closed = 1;
}

void fake_gate_open(void)
{
    gate_is_closed = 0;
}

void fake_gate_wait(uint32_t n)
{
    while (fake.n_executing < n)
        nap();
}
