/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/refusals.h"

#include "base/plain.h"

#include <stdbool.h>
#include <string.h>

_Static_assert(NNHAL_MAX_REASONS <= UINT8_MAX, "a reason's number is a byte");

void nn_refusals_init(struct nn_refusals *refusals, uint32_t n_operations, struct nn_arena *arena)
{
    *refusals = (struct nn_refusals){.arena = arena, .n_operations = n_operations};
}

static bool has_room(struct nn_refusals *refusals)
{
    if (!refusals->whys) {
        refusals->reasons = nn_arena_new_n(refusals->arena, struct nnhal_reason, NNHAL_MAX_REASONS);
        if (refusals->reasons)
            refusals->whys = nn_arena_new_n(refusals->arena, uint8_t, refusals->n_operations);
    }
    return refusals->whys != NULL;
}

/* Returns: the number of the reason, which is new or not; 0: there is no room. */
static uint8_t number_reason(struct nn_refusals *refusals, const char *text)
{
    char line[NNHAL_MAX_REASON_BYTES + 1];
    uint32_t i = refusals->n_reasons;

    nn_plain_line(text, line, sizeof(line));
    /* From the last one on: operations in a row tend to share it. */
    while (i && strcmp(refusals->reasons[i - 1].text, line) != 0)
        i--;
    if (i || refusals->n_reasons == NNHAL_MAX_REASONS)
        return (uint8_t)i;
    refusals->reasons[refusals->n_reasons].text = nn_arena_dup(refusals->arena, line,
                                                               strlen(line) + 1);
    return refusals->reasons[refusals->n_reasons].text ? (uint8_t)++refusals->n_reasons : 0;
}

void nn_refusals_add(struct nn_refusals *refusals, uint32_t operation, const char *text)
{
    if (operation < refusals->n_operations && text && *text && has_room(refusals))
        refusals->whys[operation] = number_reason(refusals, text);
}

const char *nn_refusals_find(const struct nn_refusals *refusals, uint32_t operation)
{
    uint8_t why = refusals->whys ? refusals->whys[operation] : 0;

    return why ? refusals->reasons[why - 1].text : NULL;
}

void nn_refusals_tell(struct nn_refusals *refusals,
                      struct nn_hal_get_supported_operations_reply *reply)
{
    if (!refusals->n_reasons)
        return;
    for (uint32_t i = 0; i < refusals->n_operations; i++)
        if (reply->supported[i])
            refusals->whys[i] = 0;
    reply->n_whys = refusals->n_operations;
    reply->whys = refusals->whys;
    reply->n_reasons = refusals->n_reasons;
    reply->reasons = refusals->reasons;
}
