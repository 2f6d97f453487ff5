/* SPDX-License-Identifier: Apache-2.0 */
/* first.c - z = relu(x * y + x) on any device, and which one it was */
#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>
#include <stdio.h>

int main(void)
{
    const uint32_t shape[] = {4}, inputs[] = {0, 1}, outputs[] = {5};
    const uint32_t factors[] = {0, 1, 2}, product[] = {3}, summands[] = {3, 0, 4};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, shape, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE, relu = ANEURALNETWORKS_FUSED_RELU;
    const float x[] = {1, -2, 3, -4}, y[] = {1, 1, -2, -3};
    struct nnhal_where where = {.size = sizeof(where)};
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksDevice *device;
    const char *name;
    float z[4];

    ANeuralNetworksModel_create(&model);
    for (int i = 0; i < 6; i++) /* x, y, none, x * y, relu, z */
        ANeuralNetworksModel_addOperand(model, i == 2 || i == 4 ? &scalar : &tensor);
    ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none));
    ANeuralNetworksModel_setOperandValue(model, 4, &relu, sizeof(relu));
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, factors, 1, product);
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, summands, 1, outputs);
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs);
    ANeuralNetworksModel_finish(model);
    ANeuralNetworksCompilation_create(model, &compilation);
    ANeuralNetworksCompilation_finish(compilation);
    ANeuralNetworksExecution_create(compilation, &execution);
    ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x));
    ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y));
    ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z));
    if (ANeuralNetworksExecution_compute(execution) != ANEURALNETWORKS_NO_ERROR)
        return 1;
    nnhal_compilation_get_device(compilation, &device);
    nnhal_device_get_where(device, &where);
    ANeuralNetworksDevice_getName(device, &name);
    printf("z = %g %g %g %g, by %s (%s, pid %d)\n", z[0], z[1], z[2], z[3], name, where.way_name,
           where.pid);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
