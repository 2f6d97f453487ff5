/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "runtime/execution/computation.h"

#include <android/NeuralNetworksExtensions.h>

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

static int set_pointer(const char *function, ANeuralNetworksExecution *execution,
                       const struct nn_rt_argument_selector *selector, void *buffer, size_t length)
{
    struct nn_why why = {0};

    if (!execution || (!buffer && length))
        return nn_api_null(function);
    return nn_api_end(function, &execution->object,
                      nn_rt_execution_set_pointer(execution, selector, buffer, length, &why), &why);
}

static int set_memory(const char *function, ANeuralNetworksExecution *execution,
                      const struct nn_rt_argument_selector *selector,
                      const ANeuralNetworksMemory *memory, size_t offset, size_t length)
{
    struct nn_why why = {0};

    if (!execution || !memory)
        return nn_api_null(function);
    return nn_api_end(function, &execution->object,
                      nn_rt_execution_set_memory(execution, selector,
                                                 (ANeuralNetworksMemory *)memory, offset, length,
                                                 &why),
                      &why);
}

_public_ int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
                                               const ANeuralNetworksOperandType *type,
                                               const void *buffer, size_t length)
{
    const struct nn_rt_argument_selector selector = {true, index, type};

    return set_pointer(__func__, execution, &selector, (void *)buffer, length);
}

_public_ int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution *execution,
                                                         int32_t index,
                                                         const ANeuralNetworksOperandType *type,
                                                         const ANeuralNetworksMemory *memory,
                                                         size_t offset, size_t length)
{
    const struct nn_rt_argument_selector selector = {true, index, type};

    return set_memory(__func__, execution, &selector, memory, offset, length);
}

_public_ int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
                                                const ANeuralNetworksOperandType *type,
                                                void *buffer, size_t length)
{
    const struct nn_rt_argument_selector selector = {false, index, type};

    return set_pointer(__func__, execution, &selector, buffer, length);
}

_public_ int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution *execution,
                                                          int32_t index,
                                                          const ANeuralNetworksOperandType *type,
                                                          const ANeuralNetworksMemory *memory,
                                                          size_t offset, size_t length)
{
    const struct nn_rt_argument_selector selector = {false, index, type};

    return set_memory(__func__, execution, &selector, memory, offset, length);
}

/* -- settings ----------------------------------------------------------------------- */

typedef int (*set_flag_fn)(ANeuralNetworksExecution *execution, bool flag, struct nn_why *why);
typedef int (*set_time_fn)(ANeuralNetworksExecution *execution, uint64_t time_ns,
                           struct nn_why *why);

static int set_flag(const char *function, ANeuralNetworksExecution *execution, set_flag_fn set,
                    bool flag)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(function);
    return nn_api_end(function, &execution->object, set(execution, flag, &why), &why);
}

static int set_time(const char *function, ANeuralNetworksExecution *execution, set_time_fn set,
                    uint64_t time_ns)
{
    struct nn_why why = {0};

    if (!execution)
        return nn_api_null(function);
    return nn_api_end(function, &execution->object, set(execution, time_ns, &why), &why);
}

_public_ int
ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution,
                                                     bool enable)
{
    return set_flag(__func__, execution, nn_rt_execution_set_padding, enable);
}

_public_ int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution,
                                                  bool reusable)
{
    return set_flag(__func__, execution, nn_rt_execution_set_reusable, reusable);
}

_public_ int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution,
                                                       bool measure)
{
    return set_flag(__func__, execution, nn_rt_execution_set_measure, measure);
}

_public_ int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution,
                                                 uint64_t duration)
{
    return set_time(__func__, execution, nn_rt_execution_set_timeout, duration);
}

_public_ int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution *execution,
                                                            const char *extensionName,
                                                            uint16_t attributeCodeWithinExtension,
                                                            const void *data, size_t length)
{
    const struct nn_rt_attribute attribute = {extensionName, attributeCodeWithinExtension, data,
                                              length};
    struct nn_why why = {0};

    if (!execution || !extensionName || (!data && length))
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object,
                      nn_rt_execution_add_attribute(execution, &attribute, &why), &why);
}

_public_ int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution,
                                                     uint64_t duration)
{
    return set_time(__func__, execution, nn_rt_execution_set_loop_timeout, duration);
}

/* -- computing and results ---------------------------------------------------------- */

typedef int (*get_output_fn)(ANeuralNetworksExecution *execution, int32_t index, struct nn_why *why,
                             uint32_t *ret);

static int get_output(const char *function, ANeuralNetworksExecution *execution, get_output_fn get,
                      int32_t index, uint32_t *ret)
{
    struct nn_why why = {0};

    if (!execution || !ret)
        return nn_api_null(function);
    return nn_api_end(function, &execution->object, get(execution, index, &why, ret), &why);
}

_public_ int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution)
{
    struct nn_why why;

    if (!execution)
        return nn_api_null(__func__);
    nn_why_clear(&why);
    return nn_api_end(__func__, &execution->object, nn_rt_execution_compute(execution, &why), &why);
}

_public_ int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution,
                                                           int32_t index, uint32_t *rank)
{
    return get_output(__func__, execution, nn_rt_execution_get_rank, index, rank);
}

_public_ int
ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution,
                                                    int32_t index, uint32_t *dimensions)
{
    return get_output(__func__, execution, nn_rt_execution_get_dims, index, dimensions);
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
