/* SPDX-License-Identifier: Apache-2.0 */
#include "extension.h"

#include <android/NeuralNetworksExtensions.h>
#include <nnhal/tflite-extension.h>

#define OK ANEURALNETWORKS_NO_ERROR

enum { NUMBER = 0xffff };

static int name_operand(ANeuralNetworksModel *model, struct nnt_operand *operand)
{
    int32_t type = (int32_t)operand->type;
    int r = OK;

    if (operand->type > NUMBER)
        r = ANeuralNetworksModel_getExtensionOperandType(model, NNHAL_TFLITE_EXTENSION,
                                                         operand->type & NUMBER, &type);
    operand->type = (uint32_t)type;
    return r;
}

static int name_operation(ANeuralNetworksModel *model, struct nnt_operation *operation)
{
    ANeuralNetworksOperationType type = (ANeuralNetworksOperationType)operation->type;
    int r = OK;

    if (operation->type > NUMBER)
        r = ANeuralNetworksModel_getExtensionOperationType(model, NNHAL_TFLITE_EXTENSION,
                                                           operation->type & NUMBER, &type);
    operation->type = (uint32_t)type;
    return r;
}

/* Any model gives the process's codes. */
int nnt_extension_name(const struct nnt_model *model)
{
    ANeuralNetworksModel *any = NULL;
    int r = ANeuralNetworksModel_create(&any);

    for (uint32_t i = 0; i < model->n_subgraphs; i++) {
        struct nnt_subgraph *subgraph = &model->subgraphs[i];

        for (uint32_t k = 0; r == OK && k < subgraph->n_operands; k++)
            r = name_operand(any, &subgraph->operands[k]);
        for (uint32_t k = 0; r == OK && k < subgraph->n_operations; k++)
            r = name_operation(any, &subgraph->operations[k]);
    }
    ANeuralNetworksModel_free(any);
    return r;
}
