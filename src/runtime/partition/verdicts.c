/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/verdicts.h"

#include "base/error.h"
#include "runtime/partition/level-slice.h"

#include <stdio.h>
#include <string.h>

static int add_newer(struct nn_rt_answer *answer, const ANeuralNetworksDevice *device)
{
    char text[NNHAL_MAX_REASON_BYTES];

    snprintf(
        text, sizeof(text),
        "it, or the model as a whole, is newer than the device, which knows feature level %lld",
        (long long)device->feature_level);
    return nn_rt_answer_explain(answer, NNHAL_VERDICT_TOO_OLD, text);
}

/* The device is asked about the operations that are no newer than it is. */
static int query_older(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       struct nn_why *why, struct nn_rt_answer **ret_answer)
{
    uint32_t n = finished->model.main.n_operations;
    _cleanup_(nn_rt_answer_freep) struct nn_rt_answer *answer = NULL;
    _cleanup_(nn_rt_answer_freep) struct nn_rt_answer *part = NULL;
    struct nn_rt_level_slice slice;
    struct nn_arena arena;
    int r = nn_rt_answer_new(n, &answer);

    if (r)
        return r;
    memset(answer->verdicts, NNHAL_VERDICT_TOO_OLD, n);
    nn_arena_init(&arena, 0);
    r = nn_rt_level_slice_init(&slice, finished, nn_level_from_feature(device->feature_level),
                               &arena, why);
    if (!r && slice.n_operations)
        r = nn_rt_model_query(slice.model, device, why, &part);
    if (!r && part)
        nn_rt_answer_take_part(answer, part, slice.operations);
    nn_rt_level_slice_done(&slice);
    nn_arena_done(&arena);
    if (!r)
        r = add_newer(answer, device);
    if (!r)
        *ret_answer = steal_ptr(&answer);
    return r;
}

int nn_rt_verdicts_get(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       struct nn_why *why, const struct nn_rt_answer **ret_answer)
{
    const struct nn_rt_answer *kept;
    struct nn_rt_answer *answer = NULL;
    int r;

    if (nn_rt_device_is_foreign(device))
        return nn_fail_forked(why, device->name);
    kept = nn_rt_model_find_answer(finished, device);
    if (!kept) {
        r = nn_rt_model_is_newer(finished, device)
                ? query_older(finished, device, why, &answer)
                : nn_rt_model_query(finished, device, why, &answer);
        if (r)
            return r;
        kept = nn_rt_model_keep_answer(finished, device, answer);
    }
    *ret_answer = kept;
    return 0;
}
