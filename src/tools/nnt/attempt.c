/* SPDX-License-Identifier: Apache-2.0 */
#include "attempt.h"

#include <nnhal/ext.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OK ANEURALNETWORKS_NO_ERROR

/* A loop that never ends is stopped after this. */
#define LOOP_TIMEOUT_NS UINT64_C(10000000)

bool nnt_report(struct nnt_run *run, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(run->what, sizeof(run->what), format, args);
    va_end(args);
    return false;
}

int nnt_check_call(struct nnt_attempt *attempt, const char *call, uint32_t subject, int result)
{
    char why[256] = "";

    attempt->run->result = result;
    if (result == OK)
        return result;
    nnhal_get_last_error(why, sizeof(why));
    nnt_report(attempt->run, "%s (%u) returned %s%s%s", call, subject,
               nnhal_get_result_name(result), *why ? ": " : "", why);
    return result;
}

const ANeuralNetworksDevice *nnt_find_device(const char *wanted)
{
    uint32_t n = 0;

    if (ANeuralNetworks_getDeviceCount(&n) != OK)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = NULL;

        if (ANeuralNetworks_getDevice(i, &device) == OK &&
            ANeuralNetworksDevice_getName(device, &name) == OK && strcmp(name, wanted) == 0)
            return device;
    }
    return NULL;
}

int nnt_create_compilation(struct nnt_attempt *attempt)
{
    ANeuralNetworksModel *model = attempt->built.models[0];
    const ANeuralNetworksDevice *device = attempt->run->device;
    int r;

    if (attempt->run->n_split > 0 && !device)
        r = ANeuralNetworksCompilation_createForDevices(
            model, attempt->run->split, attempt->run->n_split, &attempt->compilation);
    else if (device)
        r = ANeuralNetworksCompilation_createForDevices(model, &device, 1, &attempt->compilation);
    else
        r = ANeuralNetworksCompilation_create(model, &attempt->compilation);
    if (r == OK && device && attempt->run->timeout_ns > 0)
        r = ANeuralNetworksCompilation_setTimeout(attempt->compilation, attempt->run->timeout_ns);
    return nnt_check_call(attempt, "Compilation_create", 0, r);
}

bool nnt_is_shortage(int result)
{
    return result == ANEURALNETWORKS_OUT_OF_MEMORY ||
           (result >= ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT &&
            result <= ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT);
}

static uint64_t loop_timeout(const struct nnt_attempt *attempt)
{
    return attempt->model->flags & NNT_INFINITE_LOOP ? LOOP_TIMEOUT_NS
                                                     : attempt->run->loop_timeout_ns;
}

int nnt_create_execution(struct nnt_attempt *attempt, ANeuralNetworksExecution **ret_execution)
{
    uint64_t loop_timeout_ns = loop_timeout(attempt), timeout_ns = attempt->run->timeout_ns;
    int r = nnt_check_call(attempt, "Execution_create", 0,
                           ANeuralNetworksExecution_create(attempt->compilation, ret_execution));

    if (r == OK && loop_timeout_ns > 0)
        r = nnt_check_call(
            attempt, "Execution_setLoopTimeout", 0,
            ANeuralNetworksExecution_setLoopTimeout(*ret_execution, loop_timeout_ns));
    if (r == OK && timeout_ns > 0)
        r = nnt_check_call(attempt, "Execution_setTimeout", 0,
                           ANeuralNetworksExecution_setTimeout(*ret_execution, timeout_ns));
    return r;
}

ANeuralNetworksOperandType nnt_full_type(const struct nnt_operand *operand)
{
    return (ANeuralNetworksOperandType){
        .type = (int32_t)operand->type,
        .dimensionCount = operand->rank,
        .dimensions = operand->expected,
        .scale = operand->scale,
        .zeroPoint = operand->zero_point,
    };
}

bool nnt_input_type(const struct nnt_operand *operand, ANeuralNetworksOperandType *ret_type)
{
    bool is_omitted = operand->flags & NNT_OMITTED_INPUT;

    if (is_omitted || operand->declared_rank == operand->rank)
        return false;
    *ret_type = nnt_full_type(operand);
    return true;
}
