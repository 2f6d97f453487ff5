/* SPDX-License-Identifier: Apache-2.0 */
/* planner.h - from devices and a model to a plan
 *
 * Asks devices which operations they take, weighs what they were measured to cost, or declare
 * (cost.h), and lets the partitioner decide (partition.h). The device that would be
 * cheapest for the whole model is asked first; if it takes everything and no
 * mixture could be cheaper, no other is asked, but for those that would get branches
 * to compute meanwhile (sharing.h). A device that then fails to prepare its part is
 * told of by nn_rt_planner_refuse(), and the next plan does without it there.
 *
 * nnapi-reference, which is always there, stands behind the others however little it
 * would cost: where the application or the user did not name it, it is asked for what the
 * others leave, and computes that alone; where that makes more parts than a plan may have, others
 * are merged into its own.
 *
 * An IF or WHILE that none of the others takes is run by the runtime itself
 * (control-flow.h), if they take its branches among them (shared-control.h).
 *
 * NNHAL_PARTITION=off: one device computes the whole model. For compilations without
 * a list of devices the user's (device-list.h): those that it names, and the first of
 * them that takes the whole model computes it. */
#ifndef NN_RUNTIME_PARTITION_PLANNER_H
#define NN_RUNTIME_PARTITION_PLANNER_H

#include "runtime/partition/planner-problem.h"

/* nn_rt_planner_init() - devices are borrowed, in the order that decides ties; calls none of them.
 * Returns: 0; BAD_DATA (no device); -ENOMEM. nn_rt_planner_done() in any case. */
int nn_rt_planner_init(struct nn_rt_planner *planner, ANeuralNetworksDevice *const *devices,
                       uint32_t n_devices, struct nn_why *why);
void nn_rt_planner_done(struct nn_rt_planner *planner);

/* nn_rt_planner_plan() - the plan is the caller's. Blocks for devices.
 * Returns: 0; BAD_DATA with the operation that no device takes; what a device answered
 * that was listed; the first failure of others, if they leave operations to no device; -ENOMEM. */
int nn_rt_planner_plan(struct nn_rt_planner *planner, struct nn_why *why,
                       struct nn_rt_plan **ret_plan);

/* nn_rt_planner_list_controls() - asks all devices, and sets controls, without a plan. Blocks for devices.
 * Returns: 0; what a device answered that was listed; -ENOMEM. */
int nn_rt_planner_list_controls(struct nn_rt_planner *planner, struct nn_why *why);

/* nn_rt_planner_refuse() - a part's device failed to prepare it with r, and gets none of its
 * operations any more. */
void nn_rt_planner_refuse(struct nn_rt_planner *planner, const struct nn_rt_plan_part *part, int r,
                          const struct nn_why *why);

#endif
