/* SPDX-License-Identifier: Apache-2.0 */
#include "support/sequential-random.h"

#include <stdint.h>
#include <string.h>

static uint32_t last;

void sequential_random_reset(void)
{
    last = 0;
}

/* The linker puts this in nn_sys_getrandom()'s place. */
int __wrap_nn_sys_getrandom(void *bytes, size_t n_bytes);

int __wrap_nn_sys_getrandom(void *bytes, size_t n_bytes)
{
    last++;
    memset(bytes, 0, n_bytes);
    memcpy(bytes, &last, n_bytes < sizeof(last) ? n_bytes : sizeof(last));
    return 0;
}
