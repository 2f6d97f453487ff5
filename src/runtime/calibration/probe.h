/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - the small models that a device is measured with
 *
 * One for each figure: a single operation (or one with its branches) that makes as much work
 * of that kind as a CPU computes in a millisecond or less, with one input and one output. Any
 * input does whose floats are below 1; where they are 0 or more, WHILE turns NN_RT_PROBE_TURNS times.
 * Any thread. */
#ifndef NN_RUNTIME_CALIBRATION_PROBE_H
#define NN_RUNTIME_CALIBRATION_PROBE_H

#include "runtime/calibration/figures.h"
#include "runtime/model/builder.h"

/* How often WHILE's probe turns. */
#define NN_RT_PROBE_TURNS 64

/* What the probe of moving brings. */
#define NN_RT_PROBE_MOVED_MIB 4

struct nn_rt_probe {
    ANeuralNetworksModel *branches[2]; /* of IF and WHILE; NULL: none */
    ANeuralNetworksModel *model;       /* finished */
    uint32_t n_input_bytes;
    uint32_t n_output_bytes;
};

/* nn_rt_probe_init() - nn_rt_probe_done() in any case. Returns: 0, -ENOMEM, BAD_DATA (never). */
int nn_rt_probe_init(struct nn_rt_probe *probe, enum nn_rt_figure figure, struct nn_why *why);
void nn_rt_probe_done(struct nn_rt_probe *probe);

#endif
