/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-file.h - inputs and outputs of a model as files
 *
 * A file whose name ends in .npy is an array of numpy, with a type and a shape. Any other file has the bytes
 * of the tensor, as they lie in memory. */
#ifndef NN_TOOLS_NNHAL_TENSOR_FILE_H
#define NN_TOOLS_NNHAL_TENSOR_FILE_H

#include "session.h"

/* tensor_read() - fills an input. An array must have its type, and its shape but for dimensions of 1.
 * Returns: TOOL_OK, or TOOL_BAD_FILE with the complaint printed. */
int tensor_read(struct session *session, uint32_t input, const char *path);

/* tensor_write() - writes what an output has. Returns: as tensor_read(). */
int tensor_write(const struct session *session, uint32_t output, const char *path);

/* tensor_describe() - "float32 [1, 224, 224, 3]" into text. */
void tensor_describe(int32_t type, const struct session_buffer *buffer, char *text, size_t size);

#endif
