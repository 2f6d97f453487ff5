/* SPDX-License-Identifier: Apache-2.0 */
/* nnt-build.h - models of vectors as NNAPI models */
#ifndef NN_TOOLS_NNT_BUILD_H
#define NN_TOOLS_NNT_BUILD_H

#include "nnt-file.h"

#include <android/NeuralNetworks.h>

/* The NNAPI models of all subgraphs, and the memory of constants. */
struct nnt_built {
    uint32_t n_models;
    ANeuralNetworksModel **models; /* the first is the main one */
    ANeuralNetworksMemory *memory;
    int fd;
    const char *call; /* after a failure: the function that failed */
    uint32_t subject; /* the operand or operation that it was about */
};

/* nnt_build() - builds and finishes every subgraph, referenced ones first. Free it also after a
 * failure. Returns: an ANeuralNetworks result code. */
int nnt_build(struct nnt_built *built, const struct nnt_model *model);

void nnt_built_free(struct nnt_built *built);

#endif
