/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/answer.h"

#include "base/error.h"
#include "base/plain.h"

#include <nnhal/ext.h>

#include <stdlib.h>

/* One more than a device may give: our own. */
_Static_assert(NNHAL_MAX_REASONS < UINT8_MAX, "a reason's number is a byte");

int nn_rt_answer_new(uint32_t n_operations, struct nn_rt_answer **ret_answer)
{
    struct nn_rt_answer *answer = calloc(1, sizeof(*answer));

    if (!answer)
        return nn_error_origin(-ENOMEM);
    answer->n_operations = n_operations;
    answer->verdicts = calloc(n_operations, sizeof(*answer->verdicts));
    answer->whys = calloc(n_operations, sizeof(*answer->whys));
    if (!answer->verdicts || !answer->whys) {
        nn_rt_answer_free(answer);
        return nn_error_origin(-ENOMEM);
    }
    *ret_answer = answer;
    return 0;
}

struct nn_rt_answer *nn_rt_answer_free(struct nn_rt_answer *answer)
{
    if (!answer)
        return NULL;
    free(answer->verdicts);
    free(answer->whys);
    free(answer->reasons);
    free(answer);
    return NULL;
}

/* Makes room for n more reasons. */
static int grow_reasons(struct nn_rt_answer *answer, uint32_t n)
{
    void *reasons = n ? reallocarray(answer->reasons, answer->n_reasons + n,
                                     sizeof(*answer->reasons))
                      : answer->reasons;

    if (n && !reasons)
        return nn_error_origin(-ENOMEM);
    answer->reasons = reasons;
    return 0;
}

static void add_reason(struct nn_rt_answer *answer, const char *text)
{
    nn_plain_line(text, answer->reasons[answer->n_reasons++], sizeof(*answer->reasons));
}

int nn_rt_answer_take_reply(struct nn_rt_answer *answer,
                            const struct nn_hal_get_supported_operations_reply *reply)
{
    bool has_whys = reply->n_whys == answer->n_operations;
    uint32_t n = has_whys && reply->n_reasons <= NNHAL_MAX_REASONS ? reply->n_reasons : 0;
    int r = grow_reasons(answer, n);

    if (r)
        return r;
    for (uint32_t i = 0; i < n; i++)
        add_reason(answer, reply->reasons[i].text);
    for (uint32_t i = 0; i < answer->n_operations; i++) {
        answer->verdicts[i] = reply->supported[i] ? NNHAL_VERDICT_TAKEN : NNHAL_VERDICT_UNSUPPORTED;
        if (has_whys && !reply->supported[i] && reply->whys[i] <= n)
            answer->whys[i] = reply->whys[i];
    }
    return 0;
}

void nn_rt_answer_take_part(struct nn_rt_answer *answer, struct nn_rt_answer *part,
                            const uint32_t *operations)
{
    for (uint32_t i = 0; i < part->n_operations; i++) {
        answer->verdicts[operations[i]] = part->verdicts[i];
        answer->whys[operations[i]] = part->whys[i];
    }
    answer->n_reasons = part->n_reasons;
    answer->reasons = steal_ptr(&part->reasons);
    part->n_reasons = 0;
}

int nn_rt_answer_explain(struct nn_rt_answer *answer, uint8_t verdict, const char *text)
{
    int r = grow_reasons(answer, 1);

    if (r)
        return r;
    add_reason(answer, text);
    for (uint32_t i = 0; i < answer->n_operations; i++)
        if (answer->verdicts[i] == verdict)
            answer->whys[i] = (uint8_t)answer->n_reasons;
    return 0;
}

const char *nn_rt_answer_why(const struct nn_rt_answer *answer, uint32_t operation)
{
    uint8_t why = answer->whys[operation];

    return why ? answer->reasons[why - 1] : "";
}
