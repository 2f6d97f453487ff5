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

/* Of composites in composites, and of all tensors that they add: a file of some bytes may have them
 * multiply. */
enum { MAX_NESTED = 8, MAX_ADDED_TENSORS = 1 << 16 };

/* One file that is read. room: elements that the arrays of its graph have. */
struct reading {
    const fb::Model *model;
    struct tfl_file *file;
    tfl_complaint &complain;
    uint32_t tensors_room, operators_room, n_added;
};

/* A subgraph in the graph. */
struct scope {
    const fb::SubGraph *from;
    uint32_t n_tensors;
    const int32_t
        *numbers;   /* by tensor of the subgraph: which of the graph it is; NULL: the same */
    uint32_t depth; /* of composites around it */
};

/* Makes room for n elements, twice as much as there was if need be. New ones are zero. */
template <typename Element> int grow(Element **array, uint32_t *room, uint32_t n)
{
    uint32_t wanted = n < 2 * *room ? 2 * *room : n;
    Element *grown;

    if (n <= *room)
        return 0;
    grown = static_cast<Element *>(reallocarray(*array, wanted, sizeof(**array)));
    if (!grown)
        return -ENOMEM;
    std::memset(grown + *room, 0, (wanted - *room) * sizeof(*grown));
    *array = grown;
    *room = wanted;
    return 0;
}

/* Adds the tensors of a subgraph behind those that are there. */
int read_tensors(struct reading &reading, const fb::SubGraph *from)
{
    struct tfl_graph *graph = &reading.file->graph;
    uint32_t first = graph->n_tensors, n = from->tensors() ? from->tensors()->size() : 0;
    int r;

    if (!n || n > MAX_TENSORS)
        return reading.complain("the model has %u tensors", n);
    r = grow(&graph->tensors, &reading.tensors_room, first + n);
    for (uint32_t i = 0; !r && i < n; i++)
        r = tfl_tensor_read(reading.model, from->tensors()->Get(i), reading.file,
                            &graph->tensors[first + i], i, reading.complain);
    graph->n_tensors = first + n;
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

/* Room for n numbers that live as long as the file. Returns: 0, -EINVAL with a sentence, -ENOMEM. */
int keep_numbers(struct reading &reading, uint32_t n, int32_t **ret)
{
    size_t n_bytes = n * sizeof(**ret);

    if (!tfl_file_has_room(reading.file, n_bytes))
        return reading.complain("sparse constants and composites take more than %d MiB",
                                TFL_MAX_BLOCK_MIB);
    *ret = static_cast<int32_t *>(tfl_file_keep(reading.file, n_bytes));
    return *ret ? 0 : -ENOMEM;
}

/* A list of tensor numbers, borrowed where they are the graph's; -1 is legal where may_omit. */
int read_indexes(struct reading &reading, const struct scope *scope,
                 const flatbuffers::Vector<int32_t> *from, bool may_omit, const char *what,
                 uint32_t number, const int32_t **to, uint32_t *n)
{
    int32_t *numbers = nullptr;
    int r;

    *n = from ? from->size() : 0;
    *to = from ? from->data() : nullptr;
    r = tfl_file_count(reading.file, *n, reading.complain);
    if (!r && scope->numbers && *n) {
        r = keep_numbers(reading, *n, &numbers);
        *to = numbers;
    }
    if (r)
        return r;
    for (uint32_t i = 0; i < *n; i++) {
        int32_t index = from->Get(i);

        if ((index != -1 || !may_omit) &&
            (index < 0 || static_cast<uint32_t>(index) >= scope->n_tensors))
            return reading.complain("%s %u names the tensor %d, which is not there", what, number,
                                    index);
        if (numbers)
            numbers[i] = index < 0 ? index : scope->numbers[index];
    }
    return 0;
}

int read_operator(struct reading &reading, const struct scope *scope, const fb::Operator *from,
                  uint32_t number, struct tfl_operator *to)
{
    auto codes = reading.model->operator_codes();
    int r;

    if (!codes || from->opcode_index() >= codes->size())
        return reading.complain("operation %u has no operation code", number);
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
    r = read_indexes(reading, scope, from->inputs(), true, "operation", number, &to->inputs,
                     &to->n_inputs);
    if (!r)
        r = read_indexes(reading, scope, from->intermediates(), true, "operation", number,
                         &to->intermediates, &to->n_intermediates);
    if (r)
        return r;
    return read_indexes(reading, scope, from->outputs(), true, "operation", number, &to->outputs,
                        &to->n_outputs);
}

/* -- composites -- */

/* An operator that the file computes by a subgraph, too, becomes that subgraph's operators: its inputs
 * and outputs are the operator's, its other tensors new ones. */

bool same_form(const struct tfl_tensor *a, const struct tfl_tensor *b)
{
    return a->type == b->type && a->n_dimensions == b->n_dimensions &&
           memcmp(a->dimensions, b->dimensions, a->n_dimensions * sizeof(a->dimensions[0])) == 0 &&
           a->n_scales == b->n_scales && a->scale == b->scale && a->zero_point == b->zero_point;
}

/* Lets a list of the subgraph's tensors, which lie from first on, be the operator's, each once.
 * Returns: false if they differ. */
bool join_tensors(const struct tfl_graph *graph, const struct scope *scope,
                  const flatbuffers::Vector<int32_t> *inside, const int32_t *outside, uint32_t n,
                  int32_t first, int32_t *numbers)
{
    if ((inside ? inside->size() : 0) != n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        int32_t tensor = inside->Get(i);

        if (outside[i] < 0 || tensor < 0 || static_cast<uint32_t>(tensor) >= scope->n_tensors ||
            numbers[tensor] != first + tensor || graph->tensors[first + tensor].data ||
            !same_form(&graph->tensors[first + tensor], &graph->tensors[outside[i]]))
            return false;
        numbers[tensor] = outside[i];
    }
    return true;
}

int read_operators(struct reading &reading, const struct scope *scope, const uint32_t *number);

/* *ret_is_read: its subgraph's operators stand in place of it. */
int read_composite(struct reading &reading, const struct scope *around,
                   const struct tfl_operator *op, bool *ret_is_read)
{
    const struct tfl_graph *graph = &reading.file->graph;
    auto subgraphs = reading.model->subgraphs();
    int32_t index = op->options.decomposition, first = static_cast<int32_t>(graph->n_tensors);
    int32_t *numbers;
    int r;

    *ret_is_read = false;
    if (index <= 0 || static_cast<uint32_t>(index) >= subgraphs->size())
        return reading.complain("operation %u names the subgraph %d, which is not there",
                                op->number, index);
    struct scope scope = {subgraphs->Get(static_cast<uint32_t>(index)), 0, nullptr,
                          around->depth + 1};

    scope.n_tensors = scope.from->tensors() ? scope.from->tensors()->size() : 0;
    if (scope.depth > MAX_NESTED || scope.n_tensors > MAX_ADDED_TENSORS - reading.n_added)
        return reading.complain(
            "operation %u: composites in more than %d others, or with more than "
            "%d tensors together",
            op->number, MAX_NESTED, MAX_ADDED_TENSORS);
    reading.n_added += scope.n_tensors;
    r = read_tensors(reading, scope.from);
    if (r)
        return r;
    r = keep_numbers(reading, scope.n_tensors, &numbers);
    if (r)
        return r;
    for (uint32_t i = 0; i < scope.n_tensors; i++)
        numbers[i] = first + static_cast<int32_t>(i);
    scope.numbers = numbers;
    *ret_is_read = join_tensors(graph, &scope, scope.from->inputs(), op->inputs, op->n_inputs,
                                first, numbers) &&
                   join_tensors(graph, &scope, scope.from->outputs(), op->outputs, op->n_outputs,
                                first, numbers);
    return *ret_is_read ? read_operators(reading, &scope, &op->number) : 0;
}

/* Adds the operators of a subgraph. number: of all of them, for people; NULL: they are counted. */
int read_operators(struct reading &reading, const struct scope *scope, const uint32_t *number)
{
    struct tfl_graph *graph = &reading.file->graph;
    uint32_t n = scope->from->operators() ? scope->from->operators()->size() : 0;

    if (!n || n > MAX_OPERATORS - graph->n_operators)
        return reading.complain("the model has %u operations", n + graph->n_operators);
    for (uint32_t i = 0; i < n; i++) {
        struct tfl_operator op = {};
        bool is_read = false;
        int r = read_operator(reading, scope, scope->from->operators()->Get(i),
                              number ? *number : i, &op);

        if (!r && op.code == fb::BuiltinOperator_STABLEHLO_COMPOSITE)
            r = read_composite(reading, scope, &op, &is_read);
        if (!r && !is_read && graph->n_operators == MAX_OPERATORS)
            return reading.complain("the model has more than %d operations", MAX_OPERATORS);
        if (!r && !is_read)
            r = grow(&graph->operators, &reading.operators_room, graph->n_operators + 1);
        if (r)
            return r;
        if (!is_read)
            graph->operators[graph->n_operators++] = op;
    }
    return 0;
}

int read_graph(struct reading &reading)
{
    struct tfl_graph *graph = &reading.file->graph;
    auto subgraphs = reading.model->subgraphs();
    int r;

    if (!subgraphs || !subgraphs->size() || !reading.model->buffers())
        return reading.complain("the file holds no network");
    struct scope scope = {subgraphs->Get(0), 0, nullptr, 0};

    r = read_tensors(reading, scope.from);
    scope.n_tensors = graph->n_tensors;
    if (!r)
        r = read_operators(reading, &scope, nullptr);
    if (r)
        return r;
    fold_densify(graph);
    r = read_indexes(reading, &scope, scope.from->inputs(), false, "the list of inputs, subgraph",
                     0, &graph->inputs, &graph->n_inputs);
    if (r)
        return r;
    return read_indexes(reading, &scope, scope.from->outputs(), false,
                        "the list of outputs, subgraph", 0, &graph->outputs, &graph->n_outputs);
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
    struct reading reading = {model, file, complain, 0, 0, 0};

    return read_graph(reading);
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
    if (r == -ENOMEM)
        complain("out of memory");
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
