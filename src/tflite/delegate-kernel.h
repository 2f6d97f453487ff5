/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-kernel.h - a node that computes what several nodes of an interpreter did
 *
 * A kernel is a compiled model with the tensors that it is bound to. It outlives the delegate that
 * made it: the interpreter frees it with the node that it belongs to. When the application resizes
 * an input, the model is built and compiled anew for the new shapes.
 *
 * Inputs and outputs are where the interpreter has them; the execution is made for their places, and
 * used again as long as they stay. The library copies each of them once (nnhal_get_copied_bytes), and
 * makes a burst of executions that follow each other. States (variable tensors) are inputs, too; what
 * they become is written back when the computation has succeeded.
 *
 * Threads: one at a time, as the interpreter is used. */
#ifndef NN_TFLITE_DELEGATE_KERNEL_H
#define NN_TFLITE_DELEGATE_KERNEL_H

#include "tflite/delegate-graph.h"
#include "tflite/delegate-options.h"

struct tfl_kernel;

/* A sentence about a failure, or about what was done. */
struct tfl_message {
    char text[512];
};

/* tfl_kernel_new() - builds and compiles a part of a graph, is_late: when it is first prepared.
 * Consumes part, also on failure.
 * Returns: 0, -ENOTSUP with a sentence, -ENOMEM. */
int tfl_kernel_new(struct tfl_settings *settings, struct tfl_view *part, bool is_late,
                   struct tfl_kernel **ret_kernel, struct tfl_message *message);

/* tfl_kernel_free() - NULL is left alone. */
void tfl_kernel_free(struct tfl_kernel *kernel);

/* tfl_kernel_get_cache() - "", or in words how the cache was used when it was compiled. */
void tfl_kernel_get_cache(const struct tfl_kernel *kernel, struct tfl_message *message);

/* tfl_kernel_prepare() - after shapes may have changed.
 * Returns: 0; -ENOTSUP with a sentence, also if it failed before; -ENOMEM. */
int tfl_kernel_prepare(struct tfl_kernel *kernel, struct lite_context *context,
                       struct tfl_message *message);

/* tfl_kernel_invoke() - computes. Blocks. A device that failed is asked once more, since a process
 * that died is there again then.
 * Returns: 0, -EIO with a sentence, -ENOMEM. */
int tfl_kernel_invoke(struct tfl_kernel *kernel, struct lite_context *context,
                      struct tfl_message *message);

#endif
