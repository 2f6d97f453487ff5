/* SPDX-License-Identifier: Apache-2.0 */
/* figures-file.h - figures of a device, kept in the state folder for later processes
 *
 * One file for each device and way of reaching it, text that people can read:
 *
 *     nnhal figures 1
 *     device npu
 *     version 2.1
 *     reached service
 *     cpu 8 x Some CPU, features 3
 *     launch 81000
 *     conv-float32 2100
 *     ...
 *     sum 0123456789abcdef
 *
 * It counts for the version of the driver and the CPUs that it was measured with. It is replaced as a
 * whole, by a rename. Like all state it is not trusted: it is copied, then judged, and one that is not
 * this user's (or root's), that others may write, or that is damaged is ignored. Threads: any. */
#ifndef NN_RUNTIME_CALIBRATION_FIGURES_FILE_H
#define NN_RUNTIME_CALIBRATION_FIGURES_FILE_H

#include "model/why.h"
#include "runtime/calibration/figures.h"

#include <stddef.h>

/* Whose figures they are. */
struct nn_rt_figures_owner {
    const char *device;
    const char *version;
    const char *way; /* as struct nnhal_where has it */
};

enum {
    NN_RT_FIGURES_E_NONE = 1,    /* none were kept; or there is no state folder */
    NN_RT_FIGURES_E_IGNORED = 2, /* with a sentence: some are there, and do not count */
};

/* nn_rt_figures_load() - Returns: 0, NN_RT_FIGURES_E_NONE, NN_RT_FIGURES_E_IGNORED, -ENOMEM. */
int nn_rt_figures_load(const struct nn_rt_figures_owner *owner, struct nn_why *why,
                       struct nn_rt_figures *ret_figures);

/* nn_rt_figures_save() - makes the folder where it lacks. Returns: 0; -errno with a sentence. */
int nn_rt_figures_save(const struct nn_rt_figures_owner *owner, const struct nn_rt_figures *figures,
                       struct nn_why *why);

#endif
