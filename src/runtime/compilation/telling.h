/* SPDX-License-Identifier: Apache-2.0 */
/* telling.h - finish() for those who listen */
#ifndef NN_RUNTIME_COMPILATION_TELLING_H
#define NN_RUNTIME_COMPILATION_TELLING_H

#include "runtime/compilation/preparation.h"

enum { NN_RT_DEVICE_ID_BYTES = 2 * NNHAL_MAX_NAME_BYTES + 2 };

/* nn_rt_device_format_id() - "name=version"; "" for NULL. */
void nn_rt_device_format_id(const ANeuralNetworksDevice *device,
                            char ret_text[NN_RT_DEVICE_ID_BYTES]);

/* nn_rt_compilation_finish_telling() - nn_rt_compilation_finish(), whose end is told unless it was
 * called twice (diagnostic.h). */
int nn_rt_compilation_finish_telling(ANeuralNetworksCompilation *compilation, struct nn_why *why);

#endif
