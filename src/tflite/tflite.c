/* SPDX-License-Identifier: Apache-2.0 */
#include <nnhal/ext.h>
#include <nnhal/tflite.h>

#include "tflite/builder.h"
#include "tflite/file.h"
#include "tflite/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PUBLIC __attribute__((__visibility__("default")))

struct nnhal_tflite {
    ANeuralNetworksModel *model;
    uint32_t n_inputs, n_outputs;
    struct nnhal_tflite_tensor *inputs, *outputs;
    uint32_t n_operations;
    uint32_t *origins; /* by operation of the model */
};

/* What an application needs to know of the tensors in a list. */
static int describe_tensors(struct tfl_builder *b, const int32_t *list, uint32_t n,
                            struct nnhal_tflite_tensor **ret_tensors)
{
    struct nnhal_tflite_tensor *tensors = calloc(n ? n : 1, sizeof(*tensors));

    *ret_tensors = tensors;
    if (!tensors)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        const struct tfl_tensor *from = &b->graph->tensors[list[i]];
        struct tfl_form form = tfl_form_of(b, from);
        uint32_t *dimensions = calloc(TFL_MAX_RANK, sizeof(*dimensions));
        struct nnhal_tflite_tensor *to = &tensors[i];

        to->dimensions = dimensions;
        to->name = strdup(from->name);
        if (!dimensions || !to->name)
            return -ENOMEM;
        to->type = form.type;
        to->scale = form.scale;
        to->zero_point = form.zero_point;
        to->n_dimensions = form.n_dimensions;
        memcpy(dimensions, form.dimensions, sizeof(form.dimensions));
        to->n_bytes = from->type == TFL_INT64 ? 8
                      : from->type == TFL_FLOAT32 || from->type == TFL_INT32 ||
                              from->type == TFL_COMPLEX64 /* counted twice in its dimensions */
                          ? 4
                          : from->type == TFL_INT16 || from->type == TFL_FLOAT16 ? 2 : 1;
        for (uint32_t k = 0; k < form.n_dimensions; k++)
            if (__builtin_mul_overflow(to->n_bytes, (uint64_t)dimensions[k], &to->n_bytes))
                to->n_bytes = 0;
    }
    return 0;
}

static int load_file(int fd, struct nnhal_tflite *model, char *message, size_t size)
{
    struct tfl_file file;
    const struct tfl_graph *graph = &file.graph;
    struct tfl_builder b = {.graph = &file.graph, .message = message, .message_size = size};
    uint8_t *bytes;
    size_t n_bytes;
    int r;

    r = tfl_file_read(fd, &bytes, &n_bytes, message, size);
    if (r < 0)
        return r;
    r = tfl_file_parse(bytes, n_bytes, &file, message, size);
    if (r < 0)
        return r;
    if (ANeuralNetworksMemory_createFromFd(file.n_bytes, PROT_READ, fd, 0, &b.constants) ==
        ANEURALNETWORKS_NO_ERROR)
        tfl_build(&b);
    else
        tfl_fail(&b, -EINVAL, "the file cannot be used as a memory");
    model->n_inputs = graph->n_inputs;
    model->n_outputs = graph->n_outputs;
    if (!b.result && (describe_tensors(&b, graph->inputs, graph->n_inputs, &model->inputs) < 0 ||
                      describe_tensors(&b, graph->outputs, graph->n_outputs, &model->outputs) < 0))
        tfl_fail(&b, -ENOMEM, "out of memory");
    if (!b.result) {
        model->model = b.model;
        model->n_operations = b.n_operations;
        model->origins = b.origins;
        b.model = NULL;
        b.origins = NULL;
    }
    ANeuralNetworksMemory_free(b.constants);
    tfl_done(&b);
    tfl_file_done(&file);
    return b.result;
}

PUBLIC int nnhal_tflite_load(const char *path, struct nnhal_tflite **ret_model, char *message,
                             size_t message_size)
{
    struct nnhal_tflite *model = calloc(1, sizeof(*model));
    int fd, r;

    if (!model) {
        if (message_size)
            snprintf(message, message_size, "out of memory");
        return -ENOMEM;
    }
    fd = tfl_file_open(path, message, message_size);
    r = fd < 0 ? fd : load_file(fd, model, message, message_size);
    if (fd >= 0)
        close(fd);
    if (r < 0)
        nnhal_tflite_free(model);
    else
        *ret_model = model;
    return r;
}

static void free_tensors(struct nnhal_tflite_tensor *tensors, uint32_t n)
{
    for (uint32_t i = 0; tensors && i < n; i++) {
        free((char *)(uintptr_t)tensors[i].name);
        free((uint32_t *)(uintptr_t)tensors[i].dimensions);
    }
    free(tensors);
}

PUBLIC void nnhal_tflite_free(struct nnhal_tflite *model)
{
    if (!model)
        return;
    free_tensors(model->inputs, model->n_inputs);
    free_tensors(model->outputs, model->n_outputs);
    ANeuralNetworksModel_free(model->model);
    free(model->origins);
    free(model);
}

PUBLIC ANeuralNetworksModel *nnhal_tflite_model(const struct nnhal_tflite *model)
{
    return model->model;
}

PUBLIC uint32_t nnhal_tflite_n_inputs(const struct nnhal_tflite *model)
{
    return model->n_inputs;
}

PUBLIC uint32_t nnhal_tflite_n_outputs(const struct nnhal_tflite *model)
{
    return model->n_outputs;
}

PUBLIC const struct nnhal_tflite_tensor *nnhal_tflite_input(const struct nnhal_tflite *model,
                                                            uint32_t index)
{
    return index < model->n_inputs ? &model->inputs[index] : NULL;
}

PUBLIC const struct nnhal_tflite_tensor *nnhal_tflite_output(const struct nnhal_tflite *model,
                                                             uint32_t index)
{
    return index < model->n_outputs ? &model->outputs[index] : NULL;
}

PUBLIC uint32_t nnhal_tflite_n_operations(const struct nnhal_tflite *model)
{
    return model->n_operations;
}

PUBLIC uint32_t nnhal_tflite_origin(const struct nnhal_tflite *model, uint32_t index)
{
    return index < model->n_operations ? model->origins[index] : UINT32_MAX;
}
