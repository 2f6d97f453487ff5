/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/cpu.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "base/variable.h"
#include "compiler/own-extension.h"
#include "drivers/cpu/executor/exec.h"
#include "drivers/cpu/lowering/support.h"
#include "drivers/cpu/executor/reoptimize.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct cpu_device {
    const struct nnhal_driver_services *services;
    struct nn_team *team;
    uint32_t isa;
    enum nn_pass_set passes;
    bool is_reference; /* takes any valid model, as NNAPI's own device does */
};

/* What prepare() returns. */
struct prepared {
    struct cpu_device *device;
    void *account; /* of the host: whom to charge */
    struct nn_meter meter;
    struct nn_compiled *staged;
};

static void device_explain(const struct cpu_device *device, const struct nn_why *why)
{
    if (why->text[0] && device->services->explain)
        device->services->explain(device->services->ctx, why->text);
}

/* ---- the machine ---- */

/* What NNHAL_CPU_ISA leaves of the CPU's, and NNHAL_CPU_EXACT=float of that: float results are
 * those of plain C then, for who compares machines. Values that make no sense were refused before
 * (nn_variables_check()). */
static uint32_t allowed_isa(void)
{
    const char *wanted = nn_variable_get(NN_VARIABLE_CPU_ISA);
    uint32_t isa = nn_isa_of_cpu(), named;

    if (wanted && nn_isa_named(wanted, &named))
        isa &= named;
    return nn_variable_is(NN_VARIABLE_CPU_EXACT, "float") ? isa & ~(uint32_t)NN_ISA_FMA : isa;
}

/* NNHAL_CPU_PASSES=quick leaves out the passes that optimize. */
static enum nn_pass_set allowed_passes(void)
{
    return nn_variable_is(NN_VARIABLE_CPU_PASSES, "quick") ? NN_PASSES_QUICK : NN_PASSES_ALL;
}

/* As many threads as CPUs that this process may use: a container has fewer than the machine. */
static unsigned team_size(const struct nnhal_driver_services *services)
{
    const char *text = nn_variable_get(NN_VARIABLE_CPU_THREADS);
    unsigned long wanted = text ? strtoul(text, NULL, 10) : 0;

    return wanted > 0 && wanted < 1024 ? (unsigned)wanted : services->n_cpus;
}

static uint32_t open_device(const struct nnhal_driver_services *services, uint32_t isa,
                            enum nn_pass_set passes, void **ret_device)
{
    struct cpu_device *device = calloc(1, sizeof(*device));

    if (!device)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    device->services = services;
    device->isa = isa;
    device->passes = passes;
    if (nn_team_new(team_size(services), &device->team)) {
        free(device);
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    }
    *ret_device = device;
    return NNHAL_NONE;
}

static uint32_t open_cpu(const struct nnhal_driver_services *services, void **ret_device)
{
    return open_device(services, allowed_isa(), allowed_passes(), ret_device);
}

static uint32_t open_reference(const struct nnhal_driver_services *services, void **ret_device)
{
    uint32_t status = open_device(services, NN_ISA_C, NN_PASSES_QUICK, ret_device);

    if (status == NNHAL_NONE)
        ((struct cpu_device *)*ret_device)->is_reference = true;
    return status;
}

static void close_device(void *opaque)
{
    struct cpu_device *device = opaque;

    nn_team_free(device->team);
    free(device);
}

/* ---- what can be executed ---- */

#define HAS(request, member) ((request)->size > offsetof(__typeof__(*(request)), member))

static void device_refuse(void *opaque, uint32_t operation, const char *text)
{
    const struct nnhal_driver_services *services = ((const struct cpu_device *)opaque)->services;

    if (HAS(services, refuse) && services->refuse)
        services->refuse(services->ctx, operation, text);
}

static uint32_t get_supported_operations(void *opaque, const struct nnhal_driver_model *model,
                                         uint8_t *supported)
{
    const struct cpu_device *device = opaque;
    const struct nn_support_request request = {.isa = device->isa,
                                               .takes_invalid = device->is_reference,
                                               .refuse = device_refuse,
                                               .ctx = opaque};

    return nn_support_judge(model, &request, supported) ? NNHAL_RESOURCE_EXHAUSTED_TRANSIENT
                                                        : NNHAL_NONE;
}

/* ---- prepared models ---- */

/* The host keeps the books, for all that a prepared model takes from its first block on. */
static int account_charge(void *ctx, uint64_t n_bytes)
{
    const struct prepared *prepared = ctx;
    const struct nnhal_driver_services *services = prepared->device->services;

    return services->charge(services->ctx, prepared->account, n_bytes) == NNHAL_NONE
               ? 0
               : nn_error_origin(-EDQUOT);
}

static void account_uncharge(void *ctx, uint64_t n_bytes)
{
    const struct prepared *prepared = ctx;
    const struct nnhal_driver_services *services = prepared->device->services;

    services->uncharge(services->ctx, prepared->account, n_bytes);
}

static struct prepared *prepared_new(struct cpu_device *device, void *account)
{
    struct prepared *prepared = calloc(1, sizeof(*prepared));

    if (!prepared)
        return NULL;
    prepared->device = device;
    prepared->account = account;
    prepared->meter = (struct nn_meter){account_charge, account_uncharge, prepared};
    return prepared;
}

static struct prepared *prepared_free(struct prepared *prepared)
{
    if (!prepared)
        return NULL;
    nn_compiled_free(prepared->staged);
    free(prepared);
    return NULL;
}

NN_DEFINE_CLEANUP(struct prepared, prepared_free)

static struct nn_compiled_options options_of(const struct prepared *prepared)
{
    const struct cpu_device *device = prepared->device;
    const struct nnhal_driver_services *services = device->services;
    bool is_metered = prepared->account && HAS(services, uncharge) && services->charge;

    return (struct nn_compiled_options){.team = device->team,
                                        .isa = device->isa,
                                        .passes = device->passes,
                                        .meter = is_metered ? &prepared->meter : NULL};
}

/* What a preparation that failed returns. */
static uint32_t prepare_status(int r, const struct nn_stop *stop)
{
    if (r == NN_COMPILED_E_STOPPED && nn_stop_outcome(stop) == NN_STOP_E_DEADLINE)
        return NNHAL_MISSED_DEADLINE_TRANSIENT;
    return r > 0 ? NNHAL_GENERAL_FAILURE : NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
}

static uint32_t cpu_prepare(void *opaque, const struct nnhal_prepare *request, void **ret_prepared)
{
    struct cpu_device *device = opaque;
    _cleanup_(prepared_freep) struct prepared *prepared = prepared_new(
        device, HAS(request, account) ? request->account : NULL);
    struct nn_stop stop = {.deadline_ns = request->deadline_ns,
                           .is_cancelled = HAS(request, is_cancelled) ? request->is_cancelled
                                                                      : NULL,
                           .turn = HAS(request, turn) ? request->turn : NULL};
    struct nn_compiled_options options;
    struct nn_why why = {0};
    int r;

    if (!prepared)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    options = options_of(prepared);
    options.is_quick = HAS(request, is_quick) && request->is_quick;
    r = nn_compiled_new(&request->model, &options, &stop,
                        HAS(request, cache) ? request->cache : NULL, &why, &prepared->staged);
    if (r) {
        device_explain(device, &why);
        return prepare_status(r, &stop);
    }
    *ret_prepared = steal_ptr(&prepared);
    return NNHAL_NONE;
}

/* Any refusal means that the entry is of no use; the host compiles instead. */
static uint32_t prepare_from_cache(void *opaque, const struct nnhal_prepare_from_cache *request,
                                   void **ret_prepared)
{
    struct cpu_device *device = opaque;
    _cleanup_(prepared_freep) struct prepared *prepared = prepared_new(
        device, HAS(request, account) ? request->account : NULL);
    struct nn_stop stop = {.deadline_ns = request->deadline_ns,
                           .is_cancelled = HAS(request, is_cancelled) ? request->is_cancelled
                                                                      : NULL,
                           .turn = HAS(request, turn) ? request->turn : NULL};
    struct nn_compiled_options options;
    struct nn_why why = {0};
    int r;

    if (!prepared)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    options = options_of(prepared);
    r = nn_compiled_load(request->cache, &options, &stop, &prepared->staged);
    if (r == NN_COMPILED_E_INVALID)
        nn_refuse(&why, "the plan in the cache is for another processor, or malformed");
    if (r) {
        device_explain(device, &why);
        return prepare_status(r, &stop);
    }
    *ret_prepared = steal_ptr(&prepared);
    return NNHAL_NONE;
}

static void cpu_release(void *opaque)
{
    prepared_free(opaque);
}

static uint32_t cpu_optimize(void *opaque, const struct nnhal_optimize *request)
{
    struct prepared *prepared = opaque;
    struct nn_stop stop = {.deadline_ns = NNHAL_NO_TIME, .is_cancelled = request->is_cancelled};
    int r = nn_compiled_reoptimize(prepared->staged, request->cache, &stop);

    return r < 0 ? NNHAL_RESOURCE_EXHAUSTED_TRANSIENT : r ? NNHAL_GENERAL_FAILURE : NNHAL_NONE;
}

static uint32_t status_of(int r)
{
    switch (r) {
    case 0:
        return NNHAL_NONE;
    case NN_EXEC_E_DEADLINE:
        return NNHAL_MISSED_DEADLINE_TRANSIENT;
    case NN_EXEC_E_INSUFFICIENT:
        return NNHAL_OUTPUT_INSUFFICIENT_SIZE;
    default:
        return r < 0 ? NNHAL_RESOURCE_EXHAUSTED_TRANSIENT : NNHAL_GENERAL_FAILURE;
    }
}

static uint32_t cpu_execute(void *opaque, struct nnhal_execution *execution)
{
    struct prepared *prepared = opaque;
    uint64_t start = execution->measure ? nn_sys_now_ns() : 0;
    struct nn_why why;
    int r;

    nn_why_clear(&why);
    r = nn_compiled_execute(prepared->staged, execution, &why);
    if (r)
        device_explain(prepared->device, &why);
    if (execution->measure) {
        execution->timing.time_on_device_ns = nn_sys_now_ns() - start;
        execution->timing.time_in_driver_ns = execution->timing.time_on_device_ns;
    }
    return status_of(r);
}

static uint32_t burst_opened(void *opaque)
{
    struct prepared *prepared = opaque;

    return nn_compiled_open_burst(prepared->staged);
}

static void burst_closed(void *opaque)
{
    struct prepared *prepared = opaque;

    nn_compiled_close_burst(prepared->staged);
}

/* ---- the tables ---- */

#define TYPES(X, time)                                                                             \
    X(NNHAL_FLOAT32, time)                                                                         \
    X(NNHAL_INT32, time)                                                                           \
    X(NNHAL_UINT32, time)                                                                          \
    X(NNHAL_TENSOR_FLOAT32, time)                                                                  \
    X(NNHAL_TENSOR_INT32, time)                                                                    \
    X(NNHAL_TENSOR_QUANT8_ASYMM, time)                                                             \
    X(NNHAL_BOOL, time)                                                                            \
    X(NNHAL_TENSOR_QUANT16_SYMM, time)                                                             \
    X(NNHAL_TENSOR_FLOAT16, time)                                                                  \
    X(NNHAL_TENSOR_BOOL8, time)                                                                    \
    X(NNHAL_FLOAT16, time)                                                                         \
    X(NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL, time)                                                  \
    X(NNHAL_TENSOR_QUANT16_ASYMM, time)                                                            \
    X(NNHAL_TENSOR_QUANT8_SYMM, time)                                                              \
    X(NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, time)
#define ROW(operand_type, time) {.type = (operand_type), .info = {(time), (time)}},

static const struct nnhal_operand_performance cpu_performance[] = {TYPES(ROW, 0.5f)};
static const struct nnhal_operand_performance reference_performance[] = {TYPES(ROW, 1.0f)};

#define CAPABILITIES(time, table)                                                                  \
    {                                                                                              \
        .relaxed_scalar = {(time), (time)}, .relaxed_tensor = {(time), (time)},                    \
        .if_performance = {(time), (time)}, .while_performance = {(time), (time)},                 \
        .n_operand_performance = NN_N_ELEMENTS(table), .operand_performance = (table)              \
    }

static const struct nnhal_capabilities cpu_capabilities = CAPABILITIES(0.5f, cpu_performance);
static const struct nnhal_capabilities reference_capabilities = CAPABILITIES(1.0f,
                                                                             reference_performance);

/* Both drivers are the same but for what open() allows. */
#define DRIVER(driver_name, open_function, driver_capabilities)                                    \
    {                                                                                              \
        .size = sizeof(struct nnhal_driver), .abi = NNHAL_DRIVER_ABI, .type = NNHAL_DEVICE_CPU,    \
        .name = (driver_name), .version = "0.1.0", .feature_level = NNHAL_FEATURE_LEVEL_8,         \
        .capabilities = (driver_capabilities), .open = open_function, .close = close_device,       \
        .get_supported_operations = get_supported_operations, .prepare = cpu_prepare,              \
        .release = cpu_release, .execute = cpu_execute, .burst_opened = burst_opened,              \
        .burst_closed = burst_closed, .n_model_cache_files = 1, .n_data_cache_files = 1,           \
        .prepare_from_cache = prepare_from_cache, .optimize = cpu_optimize, .charges_memory = 1,   \
        .n_extensions = 1, .extensions = &nn_own_extension                                         \
    }

static const struct nnhal_driver cpu_driver = DRIVER("nnhal-cpu", open_cpu, &cpu_capabilities);
static const struct nnhal_driver reference_driver = DRIVER("nnapi-reference", open_reference,
                                                           &reference_capabilities);

const struct nnhal_driver *nn_cpu_driver_main(const char *configuration)
{
    return &cpu_driver;
}

const struct nnhal_driver *nn_cpu_reference_main(const char *configuration)
{
    return &reference_driver;
}
