/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "runtime/execution/computation.h"

_public_ int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation,
                                         ANeuralNetworksBurst **burst)
{
    struct nn_why why = {0};

    if (burst)
        *burst = NULL;
    if (!compilation || !burst)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object, nn_rt_burst_new(compilation, &why, burst),
                      &why);
}

_public_ void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst)
{
    nn_rt_burst_unref(burst);
}

_public_ int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution *execution,
                                                   ANeuralNetworksBurst *burst)
{
    struct nn_why why = {0};

    if (!execution || !burst)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &execution->object, nn_rt_burst_compute(burst, execution, &why),
                      &why);
}
