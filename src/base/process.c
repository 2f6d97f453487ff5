/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <unistd.h>

static pid_t outer_number;

pid_t nn_process_number(void)
{
    return outer_number ? outer_number : getpid();
}

void nn_process_set_number(pid_t number)
{
    outer_number = number;
}
