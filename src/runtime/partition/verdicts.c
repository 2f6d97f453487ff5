/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/verdicts.h"

#include "base/error.h"
#include "runtime/partition/level-slice.h"

#include <string.h>

/* The device is asked about the operations that are no newer than it is. */
static int query_older(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       struct nn_why *why, uint8_t *verdicts)
{
    struct nn_rt_level_slice slice;
    struct nn_arena arena;
    uint8_t *answers;
    int r;

    memset(verdicts, NNHAL_VERDICT_TOO_OLD, finished->model.main.n_operations);
    nn_arena_init(&arena, 0);
    r = nn_rt_level_slice_init(&slice, finished, nn_level_from_feature(device->feature_level),
                               &arena, why);
    if (!r && slice.n_operations) {
        answers = nn_arena_new_n(&arena, uint8_t, slice.n_operations);
        r = answers ? nn_rt_model_query(slice.model, device, why, answers)
                    : nn_error_origin(-ENOMEM);
        for (uint32_t i = 0; !r && i < slice.n_operations; i++)
            verdicts[slice.operations[i]] = answers[i];
    }
    nn_rt_level_slice_done(&slice);
    nn_arena_done(&arena);
    return r;
}

int nn_rt_verdicts_get(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       struct nn_why *why, const uint8_t **ret_verdicts)
{
    const uint8_t *kept;
    uint8_t *verdicts;
    int r;

    if (nn_rt_device_is_foreign(device))
        return nn_fail_forked(why, device->name);
    kept = nn_rt_model_find_verdicts(finished, device);
    if (!kept) {
        verdicts = calloc(1, finished->model.main.n_operations);
        if (!verdicts)
            return nn_error_origin(-ENOMEM);
        r = nn_rt_model_is_newer(finished, device)
                ? query_older(finished, device, why, verdicts)
                : nn_rt_model_query(finished, device, why, verdicts);
        if (r) {
            free(verdicts);
            return r;
        }
        r = nn_rt_model_keep_verdicts(finished, device, verdicts, &kept);
        if (r)
            return r;
    }
    *ret_verdicts = kept;
    return 0;
}
