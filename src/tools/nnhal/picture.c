/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include "image.h"
#include "tool.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float USUAL = 127.5f; /* 0 to 255 becomes -1 to 1 */

void picture_choose_norm(const struct session *session, const struct nnhal_tflite_info *info,
                         struct picture_norm *norm)
{
    const struct nnhal_tflite_tensor *tensor = nnhal_tflite_input(session->net, 0);
    const struct nnhal_tflite_description *input = nnhal_tflite_info_input(info, 0);
    bool is_given = !isnan(norm->mean) || !isnan(norm->deviation);

    if (!tensor || tensor->type != ANEURALNETWORKS_TENSOR_FLOAT32)
        return;
    if (!is_given && input && input->n_means &&
        (input->n_means == 1 || input->n_means == tensor->dimensions[tensor->n_dimensions - 1])) {
        norm->from = "metadata";
        norm->n = input->n_means;
        norm->means = input->means;
        norm->deviations = input->deviations;
        return;
    }
    norm->from = is_given ? "options" : "assumed";
    norm->mean = isnan(norm->mean) ? USUAL : norm->mean;
    norm->deviation = isnan(norm->deviation) ? USUAL : norm->deviation;
    norm->n = 1;
    norm->means = &norm->mean;
    norm->deviations = &norm->deviation;
}

/* A pixel's channel as the bytes of a tensor's type. */
static void store_pixel(const struct nnhal_tflite_tensor *tensor, const struct picture_norm *norm,
                        float pixel, uint8_t *data, size_t i)
{
    size_t channel = norm->n > 1 ? i % norm->n : 0;
    float value;

    switch (tensor->type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
        value = (pixel - norm->means[channel]) / norm->deviations[channel];
        memcpy(data + 4 * i, &value, sizeof(value));
        break;
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
        data[i] = (uint8_t)(int8_t)(lrintf(pixel) - 128);
        break;
    default:
        data[i] = (uint8_t)lrintf(pixel);
        break;
    }
}

static bool is_picture(const struct nnhal_tflite_tensor *tensor)
{
    return tensor && tensor->n_dimensions == 4 && tensor->dimensions[0] == 1 &&
           (tensor->dimensions[3] == 1 || tensor->dimensions[3] == 3) &&
           (tensor->type == ANEURALNETWORKS_TENSOR_FLOAT32 ||
            tensor->type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
            tensor->type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED);
}

int picture_use(struct session *session, const struct picture_norm *norm, const char *path)
{
    const struct nnhal_tflite_tensor *tensor = nnhal_tflite_input(session->net, 0);
    struct image image;
    char message[256];
    float *pixels;
    size_t n;

    if (!is_picture(tensor))
        return tool_error(TOOL_USAGE, "the model's first input is no picture: use --input");
    if (image_read(path, &image, message, sizeof(message)) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, message);
    n = (size_t)tensor->dimensions[1] * tensor->dimensions[2] * tensor->dimensions[3];
    pixels = calloc(n, sizeof(*pixels));
    if (pixels) {
        image_resize(&image, tensor->dimensions[2], tensor->dimensions[1], tensor->dimensions[3],
                     pixels);
        for (size_t i = 0; i < n; i++)
            store_pixel(tensor, norm, pixels[i], session->inputs[0].data, i);
    }
    image_done(&image);
    free(pixels);
    return pixels ? TOOL_OK : tool_error(TOOL_FAILED, "out of memory");
}

cJSON *picture_norm_to_json(const struct picture_norm *norm)
{
    cJSON *entry;

    if (!norm->from)
        return NULL;
    entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "from", norm->from);
    cJSON_AddItemToObject(entry, "mean", cJSON_CreateFloatArray(norm->means, (int)norm->n));
    cJSON_AddItemToObject(entry, "deviation",
                          cJSON_CreateFloatArray(norm->deviations, (int)norm->n));
    return entry;
}
