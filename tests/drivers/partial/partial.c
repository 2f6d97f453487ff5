/* SPDX-License-Identifier: Apache-2.0 */
/* partial.c - a driver that is the CPU driver in part
 *
 * It computes with nnhal-cpu's table, which is linked in, and takes what NN_TEST_PARTIAL
 * allows: rules separated by ';', each "NUMBER:KEY=VALUE,..." for the device partial-NUMBER, or
 * "*:..." for all. Rules are read at every call, so that a test in the same process can change them;
 * what a device declares of itself is read once.
 *
 *     deal=N,seed=S   each operation to one of N devices, at random
 *     turn=K          which of the N this one is; else its number
 *     more=P          and P of 100 of the others, at random
 *     only=ADD+MUL    these operations, or
 *     not=ADD+MUL     all but these
 *     oem=ABS         OEM_OPERATION, too: it is this operation
 *     time=0.1        performance of all types, and power
 *     time-q8=0.1     of TENSOR_QUANT8_ASYMM alone
 *     power=0.5
 *     type=accelerator  in place of a CPU
 *     version=2       of the driver, else that of nnhal-cpu
 *     level=29        the feature level, else that of nnhal-cpu
 *     open-ms=100     what opening the device takes
 *     delay-us=50     of each execution
 *     fail=WHAT       supported, prepare or execute fail
 *     say=WHY         the sentence of every failure
 *     relaxed=1       prepare() refuses models that are not relaxed
 *     lie=1           prepare() refuses what get_supported_operations() takes
 *     async=1         fenced executions queue at the device; read once
 *     die=1           execute() ends the process
 *     die-at=N        so does the N-th execute() in a process, alone
 *     buffers=N       it has memory of its own, N buffers of it at a time; whether any, read once
 *     fault=WHAT      breaks a rule of the interface on purpose: see faults.c; read once
 *     meet=N          execute() waits until N are in it, and fails after 20 s alone; in one process,
 *                     which has the count in NN_TEST_MEETING, the address of a uint32_t
 *
 * Several modules with numbers of their own are made of this file. */
#include "base/cleanup.h"
#include "drivers/cpu/cpu.h"
#include "drivers/partial/buffers.h"
#include "drivers/partial/faults.h"
#include "drivers/sample/queue.h"
#include "model/ops.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TO_TEXT(number)  #number
#define NAME_OF(number)  "partial-" TO_TEXT(number)
#define PARTIAL_NAME     NAME_OF(PARTIAL_NUMBER)
#define MAX_PERFORMANCES 32

static struct nnhal_driver partial;
static struct nnhal_capabilities capabilities;
static struct nnhal_operand_performance performances[MAX_PERFORMANCES];
static const struct nnhal_driver *cpu;
static const struct nnhal_driver_services *services;
static struct fence_queue queue; /* if it is asynchronous */

/* -- rules ------------------------------------------------------------------------------ */

static bool is_for_me(const char *rule)
{
    return *rule == '*' || strtoul(rule, NULL, 10) == PARTIAL_NUMBER;
}

/* The text behind "key=" in a rule for this device, up to the next ',' or ';'. The last rule
 * counts. Returns: its length; 0 if there is none. */
static size_t find_value(const char *key, const char **ret)
{
    const char *at = getenv("NN_TEST_PARTIAL");
    size_t n = 0, n_key = strlen(key);

    while (at && *at) {
        const char *end = at + strcspn(at, ";"), *item = strchr(at, ':');
        bool is_mine = item && item < end && is_for_me(at);

        for (item = item ? item + 1 : end; is_mine && item < end; item += strcspn(item, ",;")) {
            item += *item == ',';
            if (strncmp(item, key, n_key) != 0 || item[n_key] != '=')
                continue;
            *ret = item + n_key + 1;
            n = strcspn(*ret, ",;");
        }
        at = end + (*end == ';');
    }
    return n;
}

static double find_number(const char *key, double otherwise)
{
    const char *text;

    return find_value(key, &text) ? strtod(text, NULL) : otherwise;
}

static bool is_value(const char *key, const char *wanted)
{
    const char *text;
    size_t n = find_value(key, &text);

    return n == strlen(wanted) && strncmp(text, wanted, n) == 0;
}

/* Whether a list "ADD+MUL" has the operation's name. */
static bool list_has(const char *list, size_t n, const char *name)
{
    size_t n_name = strlen(name);

    for (const char *at = list; at < list + n; at += strcspn(at, "+,;"), at += *at == '+')
        if (strncmp(at, name, n_name) == 0 && strcspn(at, "+,;") == n_name)
            return true;
    return false;
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t hash = a * 2654435761u ^ (b + 0x9e3779b9u + (a << 6) + (a >> 2));

    hash ^= hash >> 15;
    hash *= 2246822519u;
    return hash ^ hash >> 13;
}

static bool is_dealt(const struct nnhal_operation *operation, uint32_t i)
{
    uint32_t n_devices = (uint32_t)find_number("deal", 0);
    uint32_t turn = (uint32_t)find_number("turn", PARTIAL_NUMBER);
    uint32_t hash = mix(mix((uint32_t)find_number("seed", 0), i), operation->type);

    return !n_devices || hash % n_devices == turn ||
           mix(hash, turn) % 100 < (uint32_t)find_number("more", 0);
}

/* Returns: whether an operation is not taken, and which rule says so. */
static bool is_left_out(const struct nnhal_operation *operation, uint32_t i, char *text,
                        size_t n_text)
{
    const char *list, *name = nn_op_name(operation->type);
    size_t n = find_value("only", &list);

    if (n && !list_has(list, n, name)) {
        snprintf(text, n_text, "told to take %.*s alone", (int)n, list);
        return true;
    }
    n = find_value("not", &list);
    if (n && list_has(list, n, name)) {
        snprintf(text, n_text, "told to take all but %.*s", (int)n, list);
        return true;
    }
    snprintf(text, n_text, "it was dealt to another device");
    return !is_dealt(operation, i);
}

/* A model in which OEM_OPERATION is what the rule says; the rest is the original's. Owns operations. */
struct translation {
    struct nnhal_model model;
    struct nnhal_operation *operations;
};

static void translation_done(struct translation *translation)
{
    free(translation->operations);
}

static uint32_t find_operation(const char *list, size_t n)
{
    uint32_t type = 0;

    while (nn_op_find(type) && !list_has(list, n, nn_op_name(type)))
        type++;
    return type;
}

/* Returns: the model that the CPU driver is to see; memory is not short in a test. */
static const struct nnhal_model *translate(const struct nnhal_model *model,
                                           struct translation *ret_translation)
{
    size_t n_bytes = model->main.n_operations * sizeof(*model->main.operations);
    const char *name;
    size_t n = find_value("oem", &name);

    *ret_translation = (struct translation){.model = *model};
    if (!n)
        return model;
    ret_translation->operations = malloc(n_bytes);
    memcpy(ret_translation->operations, model->main.operations, n_bytes);
    for (uint32_t i = 0; i < model->main.n_operations; i++)
        if (ret_translation->operations[i].type == NNHAL_OP_OEM_OPERATION)
            ret_translation->operations[i].type = find_operation(name, n);
    ret_translation->model.main.operations = ret_translation->operations;
    return &ret_translation->model;
}

/* -- the table ---------------------------------------------------------------------------- */

static uint32_t partial_fail(const char *what)
{
    const char *text;
    size_t n = find_value("say", &text);
    char said[256];

    snprintf(said, sizeof(said), "%.*s", (int)n, n ? text : "");
    services->explain(services->ctx, n ? said : what);
    return NNHAL_GENERAL_FAILURE;
}

static void rest(double duration_us)
{
    uint64_t us = (uint64_t)duration_us;
    const struct timespec nap = {.tv_sec = (time_t)(us / 1000000),
                                 .tv_nsec = (long)(us % 1000000) * 1000};

    if (us)
        nanosleep(&nap, NULL);
}

static uint32_t partial_supported(void *device, const struct nnhal_driver_model *model,
                                  uint8_t *supported)
{
    _cleanup_(translation_done) struct translation translation = {.operations = NULL};
    struct nnhal_driver_model translated = *model;
    char text[256];
    uint32_t status;

    translated.model = translate(model->model, &translation);
    status = cpu->get_supported_operations(device, &translated, supported);
    if (is_value("fail", "supported"))
        return partial_fail("told not to answer");
    for (uint32_t i = 0; status == NNHAL_NONE && i < model->model->main.n_operations; i++)
        if (is_left_out(&model->model->main.operations[i], i, text, sizeof(text))) {
            supported[i] = 0;
            services->refuse(services->ctx, i, text);
        }
    return status;
}

static uint32_t partial_prepare(void *device, const struct nnhal_prepare *prepare,
                                void **ret_prepared)
{
    _cleanup_(translation_done) struct translation translation = {.operations = NULL};
    struct nnhal_prepare translated = *prepare;

    if (is_value("fail", "prepare"))
        return partial_fail("told not to prepare");
    if (is_value("relaxed", "1") && !prepare->model.model->relax_computation_float32_to_float16)
        return partial_fail("told to prepare relaxed models alone");
    if (is_value("lie", "1"))
        return partial_fail("these operations are too many together");
    translated.model.model = translate(prepare->model.model, &translation);
    return cpu->prepare(device, &translated, ret_prepared);
}

/* Each module has statics of its own: the count is the test's. */
static bool meet(uint32_t n_wanted)
{
    const char *text = getenv("NN_TEST_MEETING");
    uint32_t *n_there = text ? (uint32_t *)strtoull(text, NULL, 16) : NULL;
    const struct timespec nap = {.tv_nsec = 1000000};

    if (!n_there)
        return false;
    __atomic_add_fetch(n_there, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < 20000; i++) {
        if (__atomic_load_n(n_there, __ATOMIC_SEQ_CST) >= n_wanted)
            return true;
        nanosleep(&nap, NULL);
    }
    return false;
}

/* Whether this is the computation that ends the process. */
static bool is_last(void)
{
    static uint32_t n_executed;

    return is_value("die", "1") || __atomic_add_fetch(&n_executed, 1, __ATOMIC_RELAXED) ==
                                       (uint32_t)find_number("die-at", 0);
}

static uint32_t partial_execute(void *prepared, struct nnhal_execution *execution)
{
    uint32_t n_wanted = (uint32_t)find_number("meet", 0);

    rest(find_number("delay-us", 0));
    if (is_last())
        _exit(1);
    if (is_value("fail", "execute"))
        return partial_fail("told not to execute");
    if (n_wanted && !meet(n_wanted))
        return partial_fail("no other device came");
    return buffers_execute(prepared, execution, cpu->execute);
}

/* -- the device ----------------------------------------------------------------------------- */

static uint32_t partial_open(const struct nnhal_driver_services *given, void **ret_device)
{
    uint32_t status;

    rest(1000 * find_number("open-ms", 0));
    services = given;
    status = cpu->open(given, ret_device);
    if (status != NNHAL_NONE || !partial.execute_fenced ||
        queue_open(&queue, given, partial_execute))
        return status;
    cpu->close(*ret_device);
    return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
}

static void partial_close(void *device)
{
    if (partial.execute_fenced)
        queue_close(&queue);
    cpu->close(device);
}

static uint32_t partial_execute_fenced(void *prepared, struct nnhal_fenced *fenced)
{
    return queue_add(&queue, prepared, fenced);
}

static void partial_cancel_fenced(void *prepared, uint64_t id)
{
    queue_wake(&queue); /* it looks at all of them */
}

static bool may_have_buffer(uint32_t n_held)
{
    return n_held < (uint32_t)find_number("buffers", 0);
}

/* -- what it declares ---------------------------------------------------------------------- */

static void declare_performance(void)
{
    double time = find_number("time", 0.5);
    const struct nnhal_performance_info info = {(float)time, (float)find_number("power", time)};
    double time_q8 = find_number("time-q8", time);

    capabilities = *cpu->capabilities;
    for (uint32_t i = 0; i < capabilities.n_operand_performance && i < MAX_PERFORMANCES; i++)
        performances[i] = (struct nnhal_operand_performance){
            capabilities.operand_performance[i].type, info};
    for (uint32_t i = 0; i < capabilities.n_operand_performance && i < MAX_PERFORMANCES; i++)
        if (performances[i].type == NNHAL_TENSOR_QUANT8_ASYMM)
            performances[i].info.exec_time = (float)time_q8;
    capabilities.operand_performance = performances;
    capabilities.relaxed_scalar = capabilities.relaxed_tensor = info;
    capabilities.if_performance = capabilities.while_performance = info;
}

static const char *choose_version(void)
{
    static char version[16];
    const char *text;
    size_t n = find_value("version", &text);

    snprintf(version, sizeof(version), "%.*s", (int)n, n ? text : "");
    return n ? version : cpu->version;
}

/* A copy of the table, with what is forwarded in part in its place. */
_public_ const struct nnhal_driver *nnhal_driver_main(const char *configuration)
{
    const char *fault;
    size_t n_fault;

    cpu = nn_cpu_driver_main(configuration);
    declare_performance();
    partial = *cpu;
    partial.name = PARTIAL_NAME;
    if (is_value("type", "accelerator"))
        partial.type = NNHAL_DEVICE_ACCELERATOR;
    partial.version = choose_version();
    partial.feature_level = (int64_t)find_number("level", (double)cpu->feature_level);
    partial.capabilities = &capabilities;
    partial.open = partial_open;
    partial.close = partial_close;
    partial.get_supported_operations = partial_supported;
    partial.prepare = partial_prepare;
    partial.execute = partial_execute;
    if (is_value("async", "1")) {
        partial.execute_fenced = partial_execute_fenced;
        partial.cancel_fenced = partial_cancel_fenced;
    }
    if (find_number("buffers", 0) > 0)
        buffers_add(&partial, may_have_buffer);
    n_fault = find_value("fault", &fault);
    if (n_fault)
        return faults_plant(&partial, fault, n_fault);
    return &partial;
}
