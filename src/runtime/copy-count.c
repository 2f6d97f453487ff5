/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/copy-count.h"

static uint64_t n_copied_bytes;

void nn_rt_copy_count_add(uint64_t n_bytes)
{
    __atomic_add_fetch(&n_copied_bytes, n_bytes, __ATOMIC_RELAXED);
}

uint64_t nn_rt_copy_count_get(void)
{
    return __atomic_load_n(&n_copied_bytes, __ATOMIC_RELAXED);
}
