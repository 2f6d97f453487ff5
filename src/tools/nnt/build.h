/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - models of vectors as NNAPI models */
#ifndef NN_TOOLS_NNT_BUILD_H
#define NN_TOOLS_NNT_BUILD_H

#include "file.h"
#include "memory.h"

#include <android/NeuralNetworks.h>

/* The NNAPI models of all subgraphs, and the memory of constants. */
struct nnt_built {
    uint32_t n_models;
    ANeuralNetworksModel **models; /* the first is the main one */
    struct nnt_memory constants;
    const char *call; /* after a failure: the function that failed */
    uint32_t subject; /* the operand or operation that it was about */
};

/* nnt_build() - builds and finishes every subgraph, referenced ones first. In an
 * NNT_MEMORY_PLAIN lie the constants that the vectors put into memory; in another
 * kind all that have bytes. Free it also after a failure.
 * Returns: an ANeuralNetworks result code. */
int nnt_build(struct nnt_built *built, const struct nnt_model *model, enum nnt_memory_kind kind);

void nnt_built_free(struct nnt_built *built);

#endif
