/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/suspect.h"

#include "runtime/execution/request-hash.h"

/* inputs_of: the execution, or what it is known by. */
static uint64_t hash_execution(const ANeuralNetworksExecution *execution,
                               const ANeuralNetworksExecution *inputs_of)
{
    return nn_rt_request_hash(&execution->compilation->finished->model, &inputs_of->arguments);
}

int nn_rt_suspect_check(const ANeuralNetworksExecution *execution, ANeuralNetworksDevice *device,
                        struct nn_why *why)
{
    const ANeuralNetworksExecution *known_by = execution->known_by;

    if (!nn_rt_device_has_suspects(device))
        return 0;
    return nn_rt_device_check_request(
        device, hash_execution(execution, known_by ? known_by : execution), why);
}

void nn_rt_suspect_note(const ANeuralNetworksExecution *execution,
                        const struct nn_rt_prepared *prepared, int result)
{
    ANeuralNetworksDevice *device = prepared->device;
    bool has_died = result == ANEURALNETWORKS_DEAD_OBJECT;
    bool has_reason = (has_died && !nn_rt_device_may_recover(device)) ||
                      (result == 0 && nn_rt_device_has_suspects(device));

    if (has_reason)
        nn_rt_device_note_request(device, prepared->session, hash_execution(execution, execution),
                                  has_died);
    if (has_reason && execution->known_by)
        nn_rt_device_note_request(device, prepared->session,
                                  hash_execution(execution, execution->known_by), has_died);
}
