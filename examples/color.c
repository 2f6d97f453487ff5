/* SPDX-License-Identifier: Apache-2.0 */
#include "color.h"

#include <nnhal/ext.h>

#include <stdio.h>

#define OK ANEURALNETWORKS_NO_ERROR

static void print_error(const char *what)
{
    char text[500];

    nnhal_get_last_error(text, sizeof(text));
    fprintf(stderr, "%s: %s\n", what, text);
}

static void add_number(ANeuralNetworksModel *model, int32_t index, int32_t value)
{
    const ANeuralNetworksOperandType number = {.type = ANEURALNETWORKS_INT32};

    ANeuralNetworksModel_addOperand(model, &number);
    ANeuralNetworksModel_setOperandValue(model, index, &value, sizeof(value));
}

/* AVERAGE_POOL_2D whose window is the frame. */
static int build(ANeuralNetworksModel *model)
{
    /* Padding VALID, strides, window, no activation. */
    static const int32_t numbers[] = {ANEURALNETWORKS_PADDING_VALID, 1, 1, COLOR_SIDE, COLOR_SIDE,
                                      ANEURALNETWORKS_FUSED_NONE};
    const uint32_t frame[] = {1, COLOR_SIDE, COLOR_SIDE, 3}, mean[] = {1, 1, 1, 3};
    const uint32_t inputs[] = {0, 1, 2, 3, 4, 5, 6}, output = 7;
    ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 4, frame, 1.0f / 255,
                                       0};

    ANeuralNetworksModel_addOperand(model, &type);
    for (int32_t i = 0; i < 6; i++)
        add_number(model, i + 1, numbers[i]);
    type.dimensions = mean;
    ANeuralNetworksModel_addOperand(model, &type);
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_AVERAGE_POOL_2D, 7, inputs, 1,
                                      &output);
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output);
    return ANeuralNetworksModel_finish(model);
}

ANeuralNetworksCompilation *color_compile(void)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = NULL;

    if (ANeuralNetworksModel_create(&model) != OK || build(model) != OK ||
        ANeuralNetworksCompilation_create(model, &compilation) != OK ||
        ANeuralNetworksCompilation_finish(compilation) != OK) {
        print_error("the model");
        ANeuralNetworksCompilation_free(compilation);
        compilation = NULL;
    }
    ANeuralNetworksModel_free(model);
    return compilation;
}

bool color_of(ANeuralNetworksCompilation *compilation, const ANeuralNetworksMemory *frame,
              size_t length, uint8_t ret_color[3])
{
    ANeuralNetworksExecution *execution = NULL;
    bool is_well = ANeuralNetworksExecution_create(compilation, &execution) == OK &&
                   ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, frame, 0,
                                                               length) == OK &&
                   ANeuralNetworksExecution_setOutput(execution, 0, NULL, ret_color, 3) == OK &&
                   ANeuralNetworksExecution_compute(execution) == OK;

    if (!is_well)
        print_error("a frame");
    ANeuralNetworksExecution_free(execution);
    return is_well;
}
