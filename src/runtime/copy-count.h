/* SPDX-License-Identifier: Apache-2.0 */
/* copy-count.h - bytes of tensors that this process has copied
 *
 * Arguments by pointer, and memories that the runtime copies itself; what
 * nnhal_get_copied_bytes() tells. Threads: any. */
#ifndef NN_RUNTIME_COPY_COUNT_H
#define NN_RUNTIME_COPY_COUNT_H

#include <stdint.h>

void nn_rt_copy_count_add(uint64_t n_bytes);
uint64_t nn_rt_copy_count_get(void);

#endif
