/* SPDX-License-Identifier: Apache-2.0 */
/* device-list.h - the devices that the user of a machine, and who runs it, order, allow and deny
 *
 * The list is NNHAL_DEVICES; where that is not set, the first file devices.conf in the
 * folders of NNHAL_CONFIG_PATH; where that is not set, the user's own
 * ($XDG_CONFIG_HOME/nnhal, or ~/.config/nnhal), then the machine's (/etc/nnhal). One source
 * counts, as a whole. It concerns applications that list no devices.
 *
 * Each line of a file has what NNHAL_DEVICES has between two commas, and # begins a
 * comment:
 *
 *     # the NPU first, the rest as it comes, but never that one
 *     npu
 *     -old-npu
 *
 * A file is read for each compilation, so that a change needs no restart. One that cannot be read
 * or has a line that is no name is an error, never a list without it. Any thread. */
#ifndef NN_RUNTIME_PARTITION_DEVICE_LIST_H
#define NN_RUNTIME_PARTITION_DEVICE_LIST_H

#include "base/arena.h"
#include "runtime/result.h"

struct nn_rt_device_list {
    const char *names;  /* separated by commas; NULL: no source is there */
    const char *source; /* the name of the variable, or the path of the file */
};

/* nn_rt_device_list_read() - the texts are from arena, or the environment's.
 * Returns: 0; BAD_DATA with the file and the line; OP_FAILED (the disk fails); -ENOMEM. */
int nn_rt_device_list_read(struct nn_arena *arena, struct nn_why *why,
                           struct nn_rt_device_list *ret_list);

#endif
