/* SPDX-License-Identifier: Apache-2.0 */
/* extension.h - types and operations of nnhal.tflite in files of vectors
 *
 * A file has them with the prefix 1; in the API the prefix is the process's own choice. */
#ifndef NN_TOOLS_NNT_EXTENSION_H
#define NN_TOOLS_NNT_EXTENSION_H

#include "file.h"

/* nnt_extension_name() - gives the model the API's codes in place of the file's. Returns: a result
 * code; a model without any needs nothing. */
int nnt_extension_name(const struct nnt_model *model);

#endif
