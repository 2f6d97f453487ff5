/* SPDX-License-Identifier: Apache-2.0 */
#include "change.h"

#include <android/NeuralNetworks.h>

#include <math.h>
#include <string.h>

struct nnt_model *cts_copy_model(struct nnt_file *file, const struct nnt_model *model)
{
    struct nnt_model *copy = nnt_file_alloc(file, 1, sizeof(*copy));
    struct nnt_subgraph *subgraphs = nnt_file_alloc(file, model->n_subgraphs, sizeof(*subgraphs));
    struct nnt_operand *operands;

    if (!copy || !subgraphs)
        return NULL;
    *copy = *model;
    memcpy(subgraphs, model->subgraphs, model->n_subgraphs * sizeof(*subgraphs));
    copy->subgraphs = subgraphs;
    operands = nnt_file_alloc(file, subgraphs->n_operands, sizeof(*operands));
    if (!operands)
        return NULL;
    memcpy(operands, subgraphs->operands, subgraphs->n_operands * sizeof(*operands));
    subgraphs->operands = operands;
    return copy;
}

static bool is_fed(const struct nnt_operand *operand)
{
    return operand->lifetime == NNT_INPUT && !(operand->flags & NNT_OMITTED_INPUT) &&
           operand->n_bytes > 0;
}

/* Gives the operand bytes of its own. Returns: NULL if memory is short. */
static uint8_t *copy_data(struct nnt_file *file, struct nnt_operand *operand)
{
    uint8_t *data = nnt_file_alloc(file, operand->n_bytes, 1);

    if (data) {
        memcpy(data, operand->data, operand->n_bytes);
        operand->data = data;
    }
    return data;
}

/* What becomes of an operand's bytes. */
typedef void (*change_fn)(const struct nnt_operand *operand, uint8_t *data, int32_t value);

/* A copy of the model whose inputs have bytes of their own, changed. Returns: NULL if memory is
 * short. */
static struct nnt_model *change_fed(struct nnt_file *file, const struct nnt_model *model,
                                    change_fn change, int32_t value)
{
    struct nnt_model *copy = cts_copy_model(file, model);
    struct nnt_subgraph *main = copy ? copy->subgraphs : NULL;

    for (uint32_t i = 0; main && i < main->n_operands; i++) {
        struct nnt_operand *operand = &main->operands[i];
        uint8_t *data;

        if (!is_fed(operand))
            continue;
        if (!(data = copy_data(file, operand)))
            return NULL;
        change(operand, data, value);
    }
    return copy;
}

/* -- other values -- */

static void change_float(uint8_t *element)
{
    float value;

    memcpy(&value, element, sizeof(value));
    value = 0.25f - 0.5f * value;
    memcpy(element, &value, sizeof(value));
}

/* Integers may be shapes and axes: they stay. Of 16 bits, and of floats with as many, the mantissa changes. */
static void change_data(const struct nnt_operand *operand, uint8_t *data, int32_t value)
{
    uint32_t type = operand->type, step = nnt_element_bytes(type);
    bool is_float = type == ANEURALNETWORKS_TENSOR_FLOAT32 || type == ANEURALNETWORKS_FLOAT32;

    for (uint32_t i = 0; step && i + step <= operand->n_bytes; i += step) {
        if (is_float)
            change_float(data + i);
        else if (step == 2)
            data[i] ^= 0xff;
        else if (step == 1)
            data[i] ^= type == ANEURALNETWORKS_BOOL || type == ANEURALNETWORKS_TENSOR_BOOL8 ? 1
                                                                                            : 0x2a;
    }
}

struct nnt_model *cts_change_inputs(struct nnt_file *file, const struct nnt_model *model)
{
    return change_fed(file, model, change_data, 0);
}

/* -- values that are known late, and strange ones -- */

static bool is_integer(const struct nnt_operand *operand)
{
    return operand->type == ANEURALNETWORKS_INT32 || operand->type == ANEURALNETWORKS_UINT32 ||
           operand->type == ANEURALNETWORKS_TENSOR_INT32 || operand->type == ANEURALNETWORKS_BOOL;
}

static bool is_constant(const struct nnt_operand *operand)
{
    return operand->n_bytes > 0 &&
           (operand->lifetime == NNT_CONSTANT_COPY || operand->lifetime == NNT_CONSTANT_MEMORY);
}

struct nnt_model *cts_feed_integers(struct nnt_file *file, const struct nnt_model *model)
{
    struct nnt_model *copy = cts_copy_model(file, model);
    struct nnt_subgraph *main = copy ? copy->subgraphs : NULL;
    uint32_t n = 0, *inputs;

    inputs = main ? nnt_file_alloc(file, main->n_operands, sizeof(*inputs)) : NULL;
    if (!inputs)
        return NULL;
    memcpy(inputs, main->inputs, main->n_inputs * sizeof(*inputs));
    main->inputs = inputs;
    for (uint32_t i = 0; i < main->n_operands; i++) {
        struct nnt_operand *operand = &main->operands[i];

        n += is_integer(operand) && is_fed(operand);
        if (!is_integer(operand) || !is_constant(operand))
            continue;
        operand->lifetime = NNT_INPUT;
        inputs[main->n_inputs++] = i;
        n++;
    }
    return n > 0 ? copy : NULL;
}

/* Of four bytes each. */
static void fill(const struct nnt_operand *operand, uint8_t *data, int32_t value)
{
    const float no_number = NAN;
    bool is_float = operand->type == ANEURALNETWORKS_TENSOR_FLOAT32 ||
                    operand->type == ANEURALNETWORKS_FLOAT32;

    if (nnt_element_bytes(operand->type) != 4)
        return;
    for (uint32_t i = 0; i + 4 <= operand->n_bytes; i += 4)
        memcpy(data + i, is_float ? (const void *)&no_number : &value, 4);
}

struct nnt_model *cts_feed_strange(struct nnt_file *file, const struct nnt_model *model,
                                   int32_t value)
{
    return change_fed(file, model, fill, value);
}
