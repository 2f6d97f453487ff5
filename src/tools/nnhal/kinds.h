/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - how often each name stands in a list of operations */
#ifndef NN_TOOLS_NNHAL_KINDS_H
#define NN_TOOLS_NNHAL_KINDS_H

#include <stdint.h>

struct kind {
    const char *name; /* the list's */
    uint32_t n;
};

/* kinds_count() - name_of(ctx, i) is the i-th of n names. Returns: how many differ, with
 * *ret_kinds in the order of the first of each, malloc'ed; 0 and NULL if memory is short. */
uint32_t kinds_count(const char *(*name_of)(const void *ctx, uint32_t i), const void *ctx,
                     uint32_t n, struct kind **ret_kinds);

#endif
