/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/suspect.h"

#include "runtime/execution/request-hash.h"

static uint64_t hash_execution(const ANeuralNetworksExecution *execution)
{
    return nn_rt_request_hash(&execution->compilation->finished->model, &execution->arguments);
}

int nn_rt_suspect_check(const ANeuralNetworksExecution *execution, ANeuralNetworksDevice *device,
                        struct nn_why *why)
{
    if (!nn_rt_device_has_suspects(device))
        return 0;
    return nn_rt_device_check_request(device, hash_execution(execution), why);
}

void nn_rt_suspect_note(const ANeuralNetworksExecution *execution,
                        const struct nn_rt_prepared *prepared, int result)
{
    ANeuralNetworksDevice *device = prepared->device;
    bool has_died = result == ANEURALNETWORKS_DEAD_OBJECT;

    if ((has_died && !nn_rt_device_may_recover(device)) ||
        (result == 0 && nn_rt_device_has_suspects(device)))
        nn_rt_device_note_request(device, prepared->session, hash_execution(execution), has_died);
}
