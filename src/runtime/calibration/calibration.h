/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.h - measuring what a device costs
 *
 * Computes the probes (probe.h) on the device alone, in the way in which applications reach it, with
 * memories and reusable executions, and takes the median time of each. A device that does not
 * take a probe, or fails it, or whose work does not show beside the call has no figure there. One that
 * hangs is left, in a private child also if it knows no deadlines. It lasts a second or so for a device,
 * 15 s at most, and is done when an application asks for it, never while one compiles. What else runs on the machine
 * counts as the device's. One thread per device at a time, any thread. */
#ifndef NN_RUNTIME_CALIBRATION_CALIBRATION_H
#define NN_RUNTIME_CALIBRATION_CALIBRATION_H

#include "runtime/device.h"

/* nn_rt_calibration_run() - the figures count from then on, and are kept (device-performance.h).
 * Returns: 0; what the device answered to the first probe, if it computes none of them; OP_FAILED: they are
 * not kept; -ENOMEM. */
int nn_rt_calibration_run(ANeuralNetworksDevice *device, struct nn_why *why);

#endif
