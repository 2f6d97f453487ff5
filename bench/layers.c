/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - what each layer adds to a one-element ADD, embedded
 *
 *     layers DRIVER.so
 *
 * The same execution, first by the driver's own execute(), then through the host
 * (a reusable execution of struct nn_hal). What the runtime adds to that is the
 * row "embedded" of roundtrip. Medians of batches. */
#include "base/arena.h"
#include "base/sys.h"
#include "hal/hal.h"
#include "host/host.h"

#include <nnhal/driver.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_BATCHES = 101, N_CALLS = 1000, MEMORY_BYTES = 4096, SLOT_BYTES = 64 };

static const uint32_t one = 1, inputs[] = {0, 1}, operands[] = {0, 1, 2}, outputs[] = {3};
static const int32_t no_activation = NNHAL_FUSED_NONE;

#define TENSOR(life)                                                                               \
    {                                                                                              \
        .type = NNHAL_TENSOR_FLOAT32, .lifetime = (life), .n_dimensions = 1, .dimensions = &one    \
    }

static const struct nnhal_operand all[] = {
    TENSOR(NNHAL_SUBGRAPH_INPUT),
    TENSOR(NNHAL_SUBGRAPH_INPUT),
    {.type = NNHAL_INT32, .lifetime = NNHAL_CONSTANT_COPY, .location = {.length = 4}},
    TENSOR(NNHAL_SUBGRAPH_OUTPUT),
};

static const struct nnhal_operation add = {
    .type = NNHAL_OP_ADD, .n_inputs = 3, .inputs = operands, .n_outputs = 1, .outputs = outputs};

static const struct nnhal_model model = {
    .main = {.n_operands = 4,
             .n_operations = 1,
             .n_input_indexes = 2,
             .n_output_indexes = 1,
             .operands = all,
             .operations = &add,
             .input_indexes = inputs,
             .output_indexes = outputs},
    .operand_values = {.size = 4, .data = (const uint8_t *)&no_activation},
};

static void need(bool is_met, const char *what)
{
    if (is_met)
        return;
    fprintf(stderr, "layers: %s\n", what);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median over batches of the time of one step, microseconds. */
static double median_us(void (*step)(void *ctx), void *ctx)
{
    static double times[N_BATCHES];

    for (int batch = 0; batch < N_BATCHES; batch++) {
        uint64_t began = nn_sys_now_ns();

        for (int i = 0; i < N_CALLS; i++)
            step(ctx);
        times[batch] = (double)(nn_sys_now_ns() - began) / 1e3 / N_CALLS;
    }
    qsort(times, N_BATCHES, sizeof(times[0]), compare);
    return times[N_BATCHES / 2];
}

/* -- the driver alone -- */

struct driver_call {
    const struct nnhal_driver *driver;
    void *prepared;
    float x, y, z;
};

static void driver_step(void *ctx)
{
    static const uint32_t not_cancelled;
    struct driver_call *call = ctx;
    struct nnhal_input in[2] = {
        {.data = &call->x, .size = 4, .n_dimensions = 1, .dimensions = {1}},
        {.data = &call->y, .size = 4, .n_dimensions = 1, .dimensions = {1}}};
    struct nnhal_output out = {
        .data = &call->z, .capacity = 4, .n_dimensions = 1, .dimensions = {1}};
    struct nnhal_execution execution = {.size = sizeof(execution),
                                        .n_inputs = 2,
                                        .n_outputs = 1,
                                        .inputs = in,
                                        .outputs = &out,
                                        .deadline_ns = NNHAL_NO_TIME,
                                        .loop_timeout_ns = NNHAL_DEFAULT_LOOP_TIMEOUT_NS,
                                        .is_cancelled = &not_cancelled};

    need(call->driver->execute(call->prepared, &execution) == NNHAL_NONE, "the driver fails");
}

static void no_log(void *ctx, uint32_t level, const char *text)
{
}

static void no_explanation(void *ctx, const char *text)
{
}

static void *allocate(void *ctx, size_t n_bytes)
{
    return aligned_alloc(64, (n_bytes + 63) & ~(size_t)63);
}

static void release(void *ctx, void *block)
{
    free(block);
}

static double measure_driver(const char *path)
{
    static const struct nnhal_driver_services services = {.size = sizeof(services),
                                                          .log = no_log,
                                                          .explain = no_explanation,
                                                          .allocate = allocate,
                                                          .release = release,
                                                          .n_cpus = 1};
    struct nnhal_prepare prepare = {.size = sizeof(prepare),
                                    .model = {.model = &model},
                                    .preference = NNHAL_SUSTAINED_SPEED,
                                    .priority = NNHAL_PRIORITY_MEDIUM,
                                    .deadline_ns = NNHAL_NO_TIME};
    struct driver_call call = {.x = 1, .y = 2};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *device = NULL;
    const struct nnhal_driver *(*driver_main)(const char *);
    double result;

    need(library, "the driver cannot be loaded");
    driver_main = (__typeof__(driver_main))dlsym(library, "nnhal_driver_main");
    need(driver_main && (call.driver = driver_main(NULL)), "the driver gives no table");
    need(call.driver->open(&services, &device) == NNHAL_NONE, "the driver does not open");
    need(call.driver->prepare(device, &prepare, &call.prepared) == NNHAL_NONE,
         "the driver does not prepare");
    result = median_us(driver_step, &call);
    need(call.z == 3, "the driver adds wrongly");
    call.driver->release(call.prepared);
    call.driver->close(device);
    return result;
}

/* -- through the host -- */

struct host_call {
    struct nn_hal *hal;
    struct nn_arena arena;
    uint64_t execution;
};

static void host_step(void *ctx)
{
    struct host_call *call = ctx;
    struct nn_hal_execute_synchronously_args args = {.execution = call->execution,
                                                     .deadline_ns = NNHAL_NO_TIME,
                                                     .loop_timeout_ns = NNHAL_NO_TIME};
    struct nn_hal_execute_synchronously_reply reply;

    nn_arena_reset(&call->arena);
    need(nn_hal_execute_synchronously(call->hal, &args, &reply, &call->arena) == NNHAL_NONE,
         "the host fails");
}

/* x, y and z in slots of one memory. */
static uint64_t create_execution(struct host_call *call, uint64_t prepared, uint64_t memory)
{
    const struct nnhal_request_pool pool = {.memory = memory};
    struct nnhal_request_argument arguments[3] = {{0}};
    struct nn_hal_create_execution_args args = {.prepared_model = prepared,
                                                .loop_timeout_ns = NNHAL_NO_TIME,
                                                .request = {.n_inputs = 2,
                                                            .n_outputs = 1,
                                                            .n_pools = 1,
                                                            .inputs = arguments,
                                                            .outputs = arguments + 2,
                                                            .pools = &pool}};
    struct nn_hal_create_execution_reply reply;

    for (uint32_t i = 0; i < 3; i++)
        arguments[i].location = (struct nnhal_data_location){.offset = i * SLOT_BYTES,
                                                             .length = sizeof(float)};
    need(nn_hal_create_execution(call->hal, &args, &reply, &call->arena) == NNHAL_NONE,
         "the host makes no execution");
    return reply.execution;
}

static double measure_host(const char *path)
{
    struct nn_hal_prepare_model_args prepare = {.model = model,
                                                .preference = NNHAL_SUSTAINED_SPEED,
                                                .priority = NNHAL_PRIORITY_MEDIUM,
                                                .deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_import_memory_args import = {.kind = NNHAL_MEMORY_ASHMEM,
                                               .size = MEMORY_BYTES,
                                               .fd = nn_sys_memfd_create("layers", true)};
    struct nn_hal_prepare_model_reply prepared;
    struct nn_hal_import_memory_reply memory;
    struct nn_host *host = NULL;
    struct host_call call;
    float values[2] = {1, 2}, z = 0;
    double result;

    nn_arena_init(&call.arena, 0);
    need(import.fd >= 0 && ftruncate(import.fd, MEMORY_BYTES) == 0 &&
             fcntl(import.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0,
         "no memory");
    need(nn_host_open_module(path, NULL, NULL, &host) == 0 &&
             nn_host_open_session(host, NULL, &call.hal) == 0,
         "no session");
    need(nn_hal_prepare_model(call.hal, &prepare, &prepared, &call.arena) == NNHAL_NONE &&
             nn_hal_import_memory(call.hal, &import, &memory, &call.arena) == NNHAL_NONE,
         "the host does not prepare");
    need(pwrite(import.fd, &values[0], 4, 0) == 4 &&
             pwrite(import.fd, &values[1], 4, SLOT_BYTES) == 4,
         "no memory");
    call.execution = create_execution(&call, prepared.prepared_model, memory.memory);
    result = median_us(host_step, &call);
    need(pread(import.fd, &z, 4, 2 * SLOT_BYTES) == 4 && z == 3, "the host adds wrongly");
    nn_hal_close(call.hal);
    nn_host_unref(host);
    nn_arena_done(&call.arena);
    close(import.fd);
    return result;
}

int main(int argc, char **argv)
{
    need(argc == 2, "usage: layers DRIVER.so");
    puts("a one-element ADD in this process, median");
    printf("  driver    %8.3f us\n", measure_driver(argv[1]));
    printf("  host      %8.3f us, the driver in it\n", measure_host(argv[1]));
    return 0;
}
