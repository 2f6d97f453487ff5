/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the module's one exported symbol */
#include "drivers/cpu/cpu.h"

#include "base/cleanup.h"

_public_ const struct nnhal_driver *nnhal_driver_main(const char *configuration)
{
    return nn_cpu_driver_main(configuration);
}
