/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "runtime/execution/computation.h"

_public_ int ANeuralNetworksExecution_create(ANeuralNetworksCompilation *compilation,
                                             ANeuralNetworksExecution **execution)
{
    struct nn_why why = {0};

    if (execution)
        *execution = NULL;
    if (!compilation || !execution)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_execution_new(compilation, &why, execution), &why);
}

_public_ void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution)
{
    nn_rt_execution_unref(execution);
}

/* -- arguments ---------------------------------------------------------------------- */

_public_ int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
                                               const ANeuralNetworksOperandType *type,
                                               const void *buffer, size_t length)
{
    const struct nn_rt_argument_selector selector = {true, index, type};
    struct nn_why why = {0};

    if (!execution || (!buffer && length))
        return nn_api_null(__func__);
    return nn_api_end(
        __func__, &execution->object,
        nn_rt_execution_set_pointer(execution, &selector, (void *)buffer, length, &why), &why);
}

_public_ int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution *execution,
                                                         int32_t index,
                                                         const ANeuralNetworksOperandType *type,
                                                         const ANeuralNetworksMemory *memory,
                                                         size_t offset, size_t length)
{
    const struct nn_rt_argument_selector selector = {true, index, type};
    struct nn_why why = {0};

    if (!execution || !memory)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_memory(execution, &selector,
                                                 (ANeuralNetworksMemory *)memory, offset, length,
                                                 &why),
                      &why);
}

_public_ int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
                                                const ANeuralNetworksOperandType *type,
                                                void *buffer, size_t length)
{
    const struct nn_rt_argument_selector selector = {false, index, type};
    struct nn_why why = {0};

    if (!execution || (!buffer && length))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_pointer(execution, &selector, buffer, length, &why),
                      &why);
}

_public_ int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution *execution,
                                                          int32_t index,
                                                          const ANeuralNetworksOperandType *type,
                                                          const ANeuralNetworksMemory *memory,
                                                          size_t offset, size_t length)
{
    const struct nn_rt_argument_selector selector = {false, index, type};
    struct nn_why why = {0};

    if (!execution || !memory)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_memory(execution, &selector,
                                                 (ANeuralNetworksMemory *)memory, offset, length,
                                                 &why),
                      &why);
}

/* -- settings ----------------------------------------------------------------------- */

_public_ int
ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution,
                                                     bool enable)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_padding(execution, enable, &why), &why);
}

_public_ int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution,
                                                  bool reusable)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_reusable(execution, reusable, &why), &why);
}

_public_ int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution,
                                                       bool measure)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_measure(execution, measure, &why), &why);
}

_public_ int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution,
                                                 uint64_t duration)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_timeout(execution, duration, &why), &why);
}

_public_ int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution,
                                                     uint64_t duration)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_set_loop_timeout(execution, duration, &why), &why);
}

/* -- computing and results ---------------------------------------------------------- */

_public_ int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object, nn_rt_execution_compute(execution, &why), &why);
}

_public_ int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution,
                                                           int32_t index, uint32_t *rank)
{
    struct nn_why why = {0};

    if (!execution || !rank)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_get_rank(execution, index, &why, rank), &why);
}

_public_ int
ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution,
                                                    int32_t index, uint32_t *dimensions)
{
    struct nn_why why = {0};

    if (!execution || !dimensions)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_get_dims(execution, index, &why, dimensions), &why);
}

_public_ int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *execution,
                                                  int32_t durationCode, uint64_t *duration)
{
    struct nn_why why = {0};

    if (!execution || !duration)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_get_duration((ANeuralNetworksExecution *)execution,
                                                   durationCode, &why, duration),
                      &why);
}
