/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

uint32_t kinds_count(const char *(*name_of)(const void *ctx, uint32_t i), const void *ctx,
                     uint32_t n, struct kind **ret_kinds)
{
    struct kind *kinds = calloc(n ? n : 1, sizeof(*kinds));
    uint32_t n_kinds = 0;

    for (uint32_t i = 0; kinds && i < n; i++) {
        const char *name = name_of(ctx, i);
        uint32_t k = 0;

        while (k < n_kinds && strcmp(kinds[k].name, name) != 0)
            k++;
        kinds[k].name = name;
        kinds[k].n++;
        n_kinds += k == n_kinds;
    }
    *ret_kinds = kinds;
    return n_kinds;
}
