/* SPDX-License-Identifier: Apache-2.0 */
/* variant.h - the forms in which a model of vectors is run */
#ifndef NN_TOOLS_NNT_VARIANT_H
#define NN_TOOLS_NNT_VARIANT_H

#include "file.h"

enum nnt_variant {
    NNT_PLAIN = 0,
    NNT_DYNAMIC_OUTPUT = 1, /* the dimensions of every output are left open */
    NNT_SIGNED = 2,         /* unsigned quantized operands and data become signed */
    NNT_OPEN_SHAPES = 3,    /* every rank is left open, those of inputs until execution */
    NNT_VARIANT_N = 4,
};

/* nnt_variant_apply() - changes a model that was just read into its variant.
 * Returns: 1; 0 if the model has no such variant; -1 if memory is short. */
int nnt_variant_apply(enum nnt_variant variant, struct nnt_file *file, struct nnt_model *model);

#endif
