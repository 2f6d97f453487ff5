/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - what devices were measured to cost: measuring, and showing it */
#ifndef NN_TOOLS_NNHAL_FIGURES_H
#define NN_TOOLS_NNHAL_FIGURES_H

#include <android/NeuralNetworks.h>

#include <cjson/cJSON.h>

#include <stdbool.h>

/* figures_measure() - of all devices, or of those that have none that count. Goes on after one that
 * fails, which is told of. Returns: TOOL_OK, TOOL_FAILED. */
int figures_measure(bool is_missing_alone);

/* figures_print() - of all devices that were measured, in columns. */
void figures_print(void);

/* figures_to_json() - an object with a member for each figure; NULL: the device was not measured. */
cJSON *figures_to_json(const ANeuralNetworksDevice *device);

#endif
