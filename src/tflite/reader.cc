/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/reader.h"

#include "tflite/reader-options.h"
#include "tflite/reader-tensors.h"

#include <flatbuffers/flexbuffers.h>

#include <cstdlib>
#include <cstring>

namespace fb = nnhal::tflite;

namespace
{

enum { MAX_TENSORS = 1 << 20, MAX_OPERATORS = 1 << 18, MAX_DEPTH = 64, MAX_TABLES = 1 << 22 };

int read_tensors(const fb::Model *model, const fb::SubGraph *graph, struct tfl_file *file,
                 tfl_complaint &complain)
{
    int r = 0;

    file->graph.n_tensors = graph->tensors() ? graph->tensors()->size() : 0;
    if (!file->graph.n_tensors || file->graph.n_tensors > MAX_TENSORS)
        return complain("the model has %u tensors", file->graph.n_tensors);
    file->graph.tensors = static_cast<struct tfl_tensor *>(
        calloc(file->graph.n_tensors, sizeof(*file->graph.tensors)));
    if (!file->graph.tensors)
        return -ENOMEM;
    for (uint32_t i = 0; !r && i < file->graph.n_tensors; i++)
        r = tfl_tensor_read(model, graph->tensors()->Get(i), file, &file->graph.tensors[i], i,
                            complain);
    return r;
}

/* What DENSIFY makes of a constant is the constant. */
void fold_densify(struct tfl_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_operators; i++) {
        const struct tfl_operator *op = &graph->operators[i];
        const struct tfl_tensor *from;
        struct tfl_tensor *to;

        if (op->code != fb::BuiltinOperator_DENSIFY || op->n_inputs != 1 || op->n_outputs != 1 ||
            op->inputs[0] < 0 || op->outputs[0] < 0)
            continue;
        from = &graph->tensors[op->inputs[0]];
        to = &graph->tensors[op->outputs[0]];
        if (!from->data || from->type != to->type || from->n_dimensions != to->n_dimensions ||
            memcmp(from->dimensions, to->dimensions, sizeof(to->dimensions)) != 0)
            continue;
        to->data = from->data;
        to->n_bytes = from->n_bytes;
        to->file_offset = from->file_offset;
    }
}

/* Borrows a list of tensor numbers; -1 is legal where may_omit. */
int read_indexes(const flatbuffers::Vector<int32_t> *from, const struct tfl_file *file,
                 bool may_omit, const char *what, uint32_t number, const int32_t **to, uint32_t *n,
                 tfl_complaint &complain)
{
    *n = from ? from->size() : 0;
    *to = from ? from->data() : nullptr;
    for (uint32_t i = 0; i < *n; i++) {
        int32_t index = from->Get(i);

        if (index == -1 && may_omit)
            continue;
        if (index < 0 || static_cast<uint32_t>(index) >= file->graph.n_tensors)
            return complain("%s %u names the tensor %d, which is not there", what, number, index);
    }
    return 0;
}

int read_operator(const fb::Model *model, const fb::Operator *from, struct tfl_file *file,
                  uint32_t number, tfl_complaint &complain)
{
    struct tfl_operator *to = &file->graph.operators[number];
    auto codes = model->operator_codes();
    int r;

    if (!codes || from->opcode_index() >= codes->size())
        return complain("operation %u has no operation code", number);
    auto code = codes->Get(from->opcode_index());

    to->number = number;
    to->code = code->builtin_code() > code->deprecated_builtin_code()
                   ? static_cast<int32_t>(code->builtin_code())
                   : code->deprecated_builtin_code();
    to->name = tfl_code_name(to->code);
    if (to->code == fb::BuiltinOperator_CUSTOM)
        to->name = code->custom_code() ? code->custom_code()->c_str() : "";
    if (from->custom_options()) {
        to->custom_options = from->custom_options()->data();
        to->n_custom_options = from->custom_options()->size();
    }
    tfl_options_read(from, &to->options);
    r = read_indexes(from->inputs(), file, true, "operation", number, &to->inputs, &to->n_inputs,
                     complain);
    if (!r)
        r = read_indexes(from->intermediates(), file, true, "operation", number, &to->intermediates,
                         &to->n_intermediates, complain);
    if (r)
        return r;
    return read_indexes(from->outputs(), file, true, "operation", number, &to->outputs,
                        &to->n_outputs, complain);
}

int read_graph(const fb::Model *model, struct tfl_file *file, tfl_complaint &complain)
{
    const fb::SubGraph *graph;
    int r;

    if (!model->subgraphs() || !model->subgraphs()->size() || !model->buffers())
        return complain("the file holds no network");
    graph = model->subgraphs()->Get(0);
    r = read_tensors(model, graph, file, complain);
    if (r)
        return r;
    file->graph.n_operators = graph->operators() ? graph->operators()->size() : 0;
    if (!file->graph.n_operators || file->graph.n_operators > MAX_OPERATORS)
        return complain("the model has %u operations", file->graph.n_operators);
    file->graph.operators = static_cast<struct tfl_operator *>(
        calloc(file->graph.n_operators, sizeof(*file->graph.operators)));
    if (!file->graph.operators)
        return -ENOMEM;
    for (uint32_t i = 0; i < file->graph.n_operators; i++) {
        r = read_operator(model, graph->operators()->Get(i), file, i, complain);
        if (r)
            return r;
    }
    fold_densify(&file->graph);
    r = read_indexes(graph->inputs(), file, false, "the list of inputs, subgraph", 0,
                     &file->graph.inputs, &file->graph.n_inputs, complain);
    if (r)
        return r;
    return read_indexes(graph->outputs(), file, false, "the list of outputs, subgraph", 0,
                        &file->graph.outputs, &file->graph.n_outputs, complain);
}

int file_parse(struct tfl_file *file, tfl_complaint &complain)
{
    flatbuffers::Verifier verifier(file->bytes, file->n_bytes, MAX_DEPTH, MAX_TABLES);

    if (file->n_bytes < 8 || !fb::ModelBufferHasIdentifier(file->bytes))
        return complain("this is no .tflite file: its identifier is not TFL3");
    if (!fb::VerifyModelBuffer(verifier))
        return complain("the file is damaged or cut short");
    const fb::Model *model = fb::GetModel(file->bytes);

    if (model->version() != 3)
        return complain("the file's version is %u; only version 3 is known", model->version());
    return read_graph(model, file, complain);
}

} // namespace

int tfl_file_parse(uint8_t *bytes, size_t n_bytes, struct tfl_file *ret_file, char *message,
                   size_t message_size)
{
    struct tfl_file file = {};
    tfl_complaint complain(message, message_size);
    int r;

    file.bytes = bytes;
    file.n_bytes = n_bytes;
    r = file_parse(&file, complain);
    if (r)
        tfl_file_done(&file);
    else
        *ret_file = file;
    return r;
}

void tfl_file_done(struct tfl_file *file)
{
    for (size_t i = 0; i < file->n_blocks; i++)
        free(file->blocks[i]);
    free(file->blocks);
    free(file->bytes);
    free(file->graph.tensors);
    free(file->graph.operators);
    *file = {};
}

const uint8_t *tfl_file_metadata(const struct tfl_file *file, size_t *ret_n_bytes)
{
    const fb::Model *model = fb::GetModel(file->bytes);

    for (uint32_t i = 0; model->metadata() && i < model->metadata()->size(); i++) {
        const fb::Metadata *entry = model->metadata()->Get(i);

        if (!entry->name() || entry->name()->string_view() != "TFLITE_METADATA" ||
            entry->buffer() >= model->buffers()->size() ||
            !model->buffers()->Get(entry->buffer())->data())
            continue;
        *ret_n_bytes = model->buffers()->Get(entry->buffer())->data()->size();
        return model->buffers()->Get(entry->buffer())->data()->data();
    }
    return nullptr;
}

const char *tfl_code_name(int32_t code)
{
    return fb::EnumNameBuiltinOperator(static_cast<fb::BuiltinOperator>(code));
}

bool tfl_detection_parse(const uint8_t *bytes, size_t n_bytes, struct tfl_detection *ret_options)
{
    if (n_bytes < 3 || !flexbuffers::VerifyBuffer(bytes, n_bytes, nullptr))
        return false;
    auto root = flexbuffers::GetRoot(bytes, n_bytes);

    if (!root.IsMap())
        return false;
    auto map = root.AsMap();
    auto number = [&map](const char *key, int32_t otherwise) {
        return map[key].IsNull() ? otherwise : map[key].AsInt32();
    };

    ret_options->max_detections = number("max_detections", 0);
    ret_options->max_classes_per_detection = number("max_classes_per_detection", 1);
    ret_options->detections_per_class = number("detections_per_class", 100);
    ret_options->n_classes = number("num_classes", 0);
    ret_options->use_regular_nms = map["use_regular_nms"].AsBool();
    ret_options->score_threshold = map["nms_score_threshold"].AsFloat();
    ret_options->iou_threshold = map["nms_iou_threshold"].AsFloat();
    ret_options->y_scale = map["y_scale"].AsFloat();
    ret_options->x_scale = map["x_scale"].AsFloat();
    ret_options->h_scale = map["h_scale"].AsFloat();
    ret_options->w_scale = map["w_scale"].AsFloat();
    return true;
}
