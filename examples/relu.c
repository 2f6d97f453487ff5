/* SPDX-License-Identifier: Apache-2.0 */
/* relu.c - z = relu(x * y + x) on whatever device supports it */
#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <stdio.h>
#include <stdlib.h>

#define DO(call)                                                                                   \
    do {                                                                                           \
        char error[512];                                                                           \
        if ((call) != ANEURALNETWORKS_NO_ERROR && nnhal_get_last_error(error, sizeof(error)))      \
            exit((fprintf(stderr, "%s\n", error), EXIT_FAILURE));                                  \
    } while (0)

int main(void)
{
    const float x[4] = {1, -2, 3, -4}, y[4] = {10, 20, -30, -40};
    const uint32_t n = 4, mul[] = {0, 1, 2}, product = 3, add[] = {3, 0, 4}, inputs[] = {0, 1},
                   z = 5;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE, relu = ANEURALNETWORKS_FUSED_RELU;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    const ANeuralNetworksOperandType *types[] = {&tensor, &tensor, &scalar,
                                                 &tensor, &scalar, &tensor};
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksDevice *device;
    struct nnhal_where where = {.size = sizeof(where)};
    const char *name;
    float result[4];

    DO(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 6; i++)
        DO(ANeuralNetworksModel_addOperand(model, types[i]));
    DO(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    DO(ANeuralNetworksModel_setOperandValue(model, 4, &relu, sizeof(relu)));
    DO(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, mul, 1, &product));
    DO(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &z));
    DO(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &z));
    DO(ANeuralNetworksModel_finish(model));
    DO(ANeuralNetworksCompilation_create(model, &compilation));
    DO(ANeuralNetworksCompilation_finish(compilation));
    DO(ANeuralNetworksExecution_create(compilation, &execution));
    DO(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    DO(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    DO(ANeuralNetworksExecution_setOutput(execution, 0, NULL, result, sizeof(result)));
    DO(ANeuralNetworksExecution_compute(execution));
    DO(nnhal_compilation_get_device(compilation, &device));
    DO(ANeuralNetworksDevice_getName(device, &name));
    DO(nnhal_device_get_where(device, &where));
    printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
    printf("computed by %s: %s, process %d, %s\n", name, where.way_name, (int)where.pid,
           where.path);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
