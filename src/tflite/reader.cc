/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/reader.h"

#include "tflite/densify.h"

#include "schema_generated.h"

#include <flatbuffers/flexbuffers.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fb = nnhal::tflite;

namespace
{

enum { MAX_TENSORS = 1 << 20, MAX_OPERATORS = 1 << 18, MAX_DEPTH = 64, MAX_TABLES = 1 << 22 };

/* A file of some bytes may declare sparse constants of gigabytes. */
enum { MAX_BLOCK_BYTES = 1 << 28 };

/* The first thing that is wrong, in words. */
class Complaint
{
  public:
    Complaint(char *message, size_t size) : message_(message), size_(size)
    {
    }

    __attribute__((__format__(__printf__, 2, 3))) int operator()(const char *format, ...)
    {
        va_list args;

        va_start(args, format);
        if (size_)
            vsnprintf(message_, size_, format, args);
        va_end(args);
        return -EINVAL;
    }

  private:
    char *message_;
    size_t size_;
};

size_t element_bytes(int32_t type)
{
    switch (type) {
    case fb::TensorType_FLOAT32:
    case fb::TensorType_INT32:
        return 4;
    case fb::TensorType_FLOAT16:
    case fb::TensorType_INT16:
        return 2;
    case fb::TensorType_INT64:
        return 8;
    case fb::TensorType_UINT8:
    case fb::TensorType_INT8:
    case fb::TensorType_BOOL:
        return 1;
    default:
        return 0;
    }
}

template <typename Options> void read_window(const Options *from, struct tfl_options *to)
{
    to->padding = from->padding();
    to->stride_w = from->stride_w();
    to->stride_h = from->stride_h();
    to->activation = from->fused_activation_function();
}

template <typename Options> void read_lstm(const Options *from, struct tfl_options *to)
{
    to->activation = from->fused_activation_function();
    to->cell_clip = from->cell_clip();
    to->proj_clip = from->proj_clip();
}

void read_strided_slice(const fb::StridedSliceOptions *from, struct tfl_options *to)
{
    to->begin_mask = from->begin_mask();
    to->end_mask = from->end_mask();
    to->ellipsis_mask = from->ellipsis_mask();
    to->new_axis_mask = from->new_axis_mask();
    to->shrink_axis_mask = from->shrink_axis_mask();
    to->has_offset = from->offset();
}

void read_convolution(const fb::Operator *op, struct tfl_options *to)
{
    if (auto conv = op->builtin_options_as_Conv2DOptions()) {
        read_window(conv, to);
        to->dilation_w = conv->dilation_w_factor();
        to->dilation_h = conv->dilation_h_factor();
    } else if (auto depthwise = op->builtin_options_as_DepthwiseConv2DOptions()) {
        read_window(depthwise, to);
        to->dilation_w = depthwise->dilation_w_factor();
        to->dilation_h = depthwise->dilation_h_factor();
    } else if (auto transposed = op->builtin_options_as_TransposeConvOptions()) {
        read_window(transposed, to);
    } else if (auto pool = op->builtin_options_as_Pool2DOptions()) {
        read_window(pool, to);
        to->filter_w = pool->filter_width();
        to->filter_h = pool->filter_height();
    } else if (auto dense = op->builtin_options_as_FullyConnectedOptions()) {
        to->activation = dense->fused_activation_function();
        to->keep_dims = dense->keep_num_dims();
        to->is_shuffled = dense->weights_format() != 0;
    } else if (auto matmul = op->builtin_options_as_BatchMatMulOptions()) {
        to->adj_x = matmul->adj_x();
        to->adj_y = matmul->adj_y();
    }
}

void read_recurrent(const fb::Operator *op, struct tfl_options *to)
{
    if (auto svdf = op->builtin_options_as_SVDFOptions()) {
        to->rank = svdf->rank();
        to->activation = svdf->fused_activation_function();
    } else if (auto rnn = op->builtin_options_as_RNNOptions()) {
        to->activation = rnn->fused_activation_function();
    } else if (auto sequence = op->builtin_options_as_SequenceRNNOptions()) {
        to->activation = sequence->fused_activation_function();
        to->time_major = sequence->time_major();
    } else if (auto both = op->builtin_options_as_BidirectionalSequenceRNNOptions()) {
        to->activation = both->fused_activation_function();
        to->time_major = both->time_major();
        to->merge_outputs = both->merge_outputs();
    } else if (auto lstm = op->builtin_options_as_LSTMOptions()) {
        read_lstm(lstm, to);
        to->kernel_type = lstm->kernel_type();
    } else if (auto unidirectional = op->builtin_options_as_UnidirectionalSequenceLSTMOptions()) {
        read_lstm(unidirectional, to);
        to->time_major = unidirectional->time_major();
    } else if (auto bidirectional = op->builtin_options_as_BidirectionalSequenceLSTMOptions()) {
        read_lstm(bidirectional, to);
        to->time_major = bidirectional->time_major();
        to->merge_outputs = bidirectional->merge_outputs();
    }
}

void read_elementwise(const fb::Operator *op, struct tfl_options *to)
{
    if (auto add = op->builtin_options_as_AddOptions()) {
        to->activation = add->fused_activation_function();
        to->may_shift = add->pot_scale_int16();
    } else if (auto sub = op->builtin_options_as_SubOptions()) {
        to->activation = sub->fused_activation_function();
        to->may_shift = sub->pot_scale_int16();
    } else if (auto mul = op->builtin_options_as_MulOptions())
        to->activation = mul->fused_activation_function();
    else if (auto div = op->builtin_options_as_DivOptions())
        to->activation = div->fused_activation_function();
    else if (auto l2 = op->builtin_options_as_L2NormOptions())
        to->activation = l2->fused_activation_function();
    else if (auto softmax = op->builtin_options_as_SoftmaxOptions())
        to->beta = softmax->beta();
    else if (auto leaky = op->builtin_options_as_LeakyReluOptions())
        to->alpha = leaky->alpha();
    else if (auto lrn = op->builtin_options_as_LocalResponseNormalizationOptions()) {
        to->radius = lrn->radius();
        to->bias = lrn->bias();
        to->alpha = lrn->alpha();
        to->beta = lrn->beta();
    } else if (auto lsh = op->builtin_options_as_LSHProjectionOptions())
        to->mode = lsh->type();
    else if (auto reducer = op->builtin_options_as_ReducerOptions())
        to->keep_dims = reducer->keep_dims();
}

void read_shape_options(const fb::Operator *op, struct tfl_options *to)
{
    if (auto concatenation = op->builtin_options_as_ConcatenationOptions()) {
        to->axis = concatenation->axis();
        to->activation = concatenation->fused_activation_function();
    } else if (auto bilinear = op->builtin_options_as_ResizeBilinearOptions()) {
        to->align_corners = bilinear->align_corners();
        to->half_pixel_centers = bilinear->half_pixel_centers();
    } else if (auto nearest = op->builtin_options_as_ResizeNearestNeighborOptions()) {
        to->align_corners = nearest->align_corners();
        to->half_pixel_centers = nearest->half_pixel_centers();
    } else if (auto to_depth = op->builtin_options_as_SpaceToDepthOptions())
        to->block_size = to_depth->block_size();
    else if (auto to_space = op->builtin_options_as_DepthToSpaceOptions())
        to->block_size = to_space->block_size();
    else if (auto gather = op->builtin_options_as_GatherOptions()) {
        to->axis = gather->axis();
        to->batch_dims = gather->batch_dims();
    } else if (auto pack = op->builtin_options_as_PackOptions())
        to->axis = pack->axis();
    else if (auto unpack = op->builtin_options_as_UnpackOptions())
        to->axis = unpack->axis();
    else if (auto slice = op->builtin_options_as_StridedSliceOptions())
        read_strided_slice(slice, to);
    else if (auto mirror = op->builtin_options_as_MirrorPadOptions())
        to->mode = mirror->mode();
}

int read_shape(const fb::Tensor *from, struct tfl_tensor *to, uint32_t index, Complaint &complain)
{
    auto shape = from->shape();

    to->n_dimensions = shape ? shape->size() : 0;
    if (to->n_dimensions > TFL_MAX_RANK)
        return complain("tensor %u has %u dimensions, more than %d", index, to->n_dimensions,
                        TFL_MAX_RANK);
    for (uint32_t i = 0; i < to->n_dimensions; i++) {
        int32_t n = shape->Get(i);

        if (n < -1)
            return complain("tensor %u has the dimension %d", index, n);
        to->dimensions[i] = n == -1 ? 1 : static_cast<uint32_t>(n);
    }
    return 0;
}

int read_quantization(const fb::Tensor *from, struct tfl_tensor *to, uint32_t index,
                      Complaint &complain)
{
    auto quantization = from->quantization();
    auto scales = quantization ? quantization->scale() : nullptr;
    auto zero_points = quantization ? quantization->zero_point() : nullptr;

    if (!scales || !scales->size())
        return 0;
    to->n_scales = scales->size();
    to->scales = scales->data();
    for (uint32_t i = 0; to->n_scales > 1 && zero_points && i < zero_points->size(); i++) {
        int64_t zero_point;

        std::memcpy(&zero_point, zero_points->Data() + i * sizeof(zero_point), sizeof(zero_point));
        if (zero_point)
            to->zero_point = 1;
    }
    if (to->n_scales == 1) {
        to->scale = scales->Get(0);
        int64_t zero_point = 0;

        if (zero_points && zero_points->size()) /* the verifier lets it lie anywhere */
            std::memcpy(&zero_point, zero_points->Data(), sizeof(zero_point));
        if (zero_point < INT32_MIN || zero_point > INT32_MAX)
            return complain("the zero point of tensor %u is not a 32-bit number", index);
        to->zero_point = static_cast<int32_t>(zero_point);
    }
    int32_t dimension = quantization->quantized_dimension();

    if (dimension < 0 ||
        (to->n_scales > 1 && (static_cast<uint32_t>(dimension) >= to->n_dimensions ||
                              to->dimensions[dimension] != to->n_scales)))
        return complain("tensor %u has scales that do not match its shape", index);
    if (static_cast<uint32_t>(dimension) < to->n_dimensions)
        to->quantized_dimension = static_cast<uint32_t>(dimension);
    return 0;
}

int read_data(const fb::Model *model, const fb::Tensor *from, struct tfl_file *file,
              struct tfl_tensor *to, uint32_t index, Complaint &complain)
{
    size_t expected = element_bytes(to->type);
    const fb::Buffer *buffer;

    if (from->buffer() >= model->buffers()->size())
        return complain("tensor %u names the buffer %u, which is not there", index, from->buffer());
    buffer = model->buffers()->Get(from->buffer());
    if (buffer->data() && buffer->data()->size()) {
        to->data = buffer->data()->data();
        to->n_bytes = buffer->data()->size();
    } else if (buffer->offset() > 1) {
        if (buffer->offset() > file->n_bytes || buffer->size() > file->n_bytes - buffer->offset())
            return complain("the data of tensor %u lies outside of the file", index);
        to->data = file->bytes + buffer->offset();
        to->n_bytes = buffer->size();
    }
    if (!to->data)
        return 0;
    to->file_offset = static_cast<size_t>(to->data - file->bytes);
    for (uint32_t i = 0; i < to->n_dimensions; i++)
        if (__builtin_mul_overflow(expected, size_t{to->dimensions[i]}, &expected))
            return complain("tensor %u is too large", index);
    if (element_bytes(to->type) && !to->is_sparse && expected != to->n_bytes)
        return complain("tensor %u needs %zu bytes of data and has %zu", index, expected,
                        to->n_bytes);
    return 0;
}

/* Zeroed memory that lives as long as the file; NULL: memory is short, or there is too much of it. */
void *keep_block(struct tfl_file *file, size_t n_bytes)
{
    void **blocks;
    void *block;

    if (n_bytes > MAX_BLOCK_BYTES - file->n_block_bytes)
        return nullptr;
    blocks = static_cast<void **>(
        reallocarray(file->blocks, file->n_blocks + 1, sizeof(*file->blocks)));
    if (!blocks)
        return nullptr;
    file->blocks = blocks;
    block = calloc(1, n_bytes ? n_bytes : 1);
    if (!block)
        return nullptr;
    file->n_block_bytes += n_bytes;
    return file->blocks[file->n_blocks++] = block;
}

template <typename Vector>
bool widen(struct tfl_file *file, const Vector *from, const int32_t **ret, uint32_t *ret_n)
{
    uint32_t n = from && from->values() ? from->values()->size() : 0;
    int32_t *numbers = static_cast<int32_t *>(keep_block(file, n * sizeof(int32_t)));

    for (uint32_t i = 0; numbers && i < n; i++)
        numbers[i] = from->values()->Get(i);
    *ret = numbers;
    *ret_n = n;
    return numbers != nullptr;
}

bool read_numbers(struct tfl_file *file, fb::SparseIndexVector kind, const void *from,
                  const int32_t **ret, uint32_t *ret_n)
{
    switch (kind) {
    case fb::SparseIndexVector_Int32Vector:
        return widen(file, static_cast<const fb::Int32Vector *>(from), ret, ret_n);
    case fb::SparseIndexVector_Uint16Vector:
        return widen(file, static_cast<const fb::Uint16Vector *>(from), ret, ret_n);
    case fb::SparseIndexVector_Uint8Vector:
        return widen(file, static_cast<const fb::Uint8Vector *>(from), ret, ret_n);
    default:
        return false;
    }
}

/* The dimension of the tensor that an entry of the traversal order is of; is_block: the inside of its
 * blocks. Returns: false if it is of none. */
bool find_dimension(const fb::SparsityParameters *from, uint32_t n_dimensions, uint32_t level,
                    uint32_t *ret, bool *ret_is_block)
{
    int64_t entry = from->traversal_order()->Get(level);
    int64_t block = entry - n_dimensions;

    *ret_is_block = block >= 0;
    if (block >= 0)
        entry = from->block_map() && block < from->block_map()->size()
                    ? from->block_map()->Get(static_cast<uint32_t>(block))
                    : -1;
    *ret = static_cast<uint32_t>(entry);
    return entry >= 0 && entry < n_dimensions;
}

bool read_level(const fb::DimensionMetadata *from, struct tfl_file *file, struct tfl_level *to)
{
    to->is_sparse = from->format() == fb::DimensionType_SPARSE_CSR;
    to->stride = 1;
    to->size = static_cast<uint32_t>(from->dense_size());
    if (!to->is_sparse)
        return from->dense_size() > 0;
    return read_numbers(file, from->array_segments_type(), from->array_segments(), &to->segments,
                        &to->n_segments) &&
           read_numbers(file, from->array_indices_type(), from->array_indices(), &to->indices,
                        &to->n_indices);
}

/* The levels in the order of their storage. Blocks are dense. */
bool read_levels(const fb::SparsityParameters *from, struct tfl_file *file, uint32_t n_dimensions,
                 struct tfl_sparse *to)
{
    uint32_t block_sizes[TFL_MAX_RANK] = {};
    uint32_t seen[2] = {}; /* dimensions, as themselves and as blocks */
    bool is_block[TFL_MAX_LEVELS];

    if (!from->traversal_order() || !from->dim_metadata() ||
        from->traversal_order()->size() > TFL_MAX_LEVELS ||
        from->traversal_order()->size() != from->dim_metadata()->size())
        return false;
    to->n_levels = from->traversal_order()->size();
    for (uint32_t i = 0; i < to->n_levels; i++) {
        struct tfl_level *level = &to->levels[i];

        if (!find_dimension(from, n_dimensions, i, &level->dimension, &is_block[i]) ||
            !read_level(from->dim_metadata()->Get(i), file, level) ||
            (is_block[i] && level->is_sparse) || (seen[is_block[i]] >> level->dimension & 1))
            return false;
        seen[is_block[i]] |= 1U << level->dimension;
        if (is_block[i])
            block_sizes[level->dimension] = level->size;
    }
    for (uint32_t i = 0; i < to->n_levels; i++)
        if (!is_block[i] && block_sizes[to->levels[i].dimension])
            to->levels[i].stride = block_sizes[to->levels[i].dimension];
    return true;
}

/* A constant that is sparse in the file, as a dense one. */
int read_sparse(const fb::Tensor *from, struct tfl_file *file, struct tfl_tensor *to,
                uint32_t index, Complaint &complain)
{
    struct tfl_sparse sparse = {};
    size_t n_bytes = element_bytes(to->type);
    uint8_t *dense;

    if (!to->data || !n_bytes)
        return 0;
    sparse.element_bytes = n_bytes;
    sparse.values = to->data;
    sparse.n_values = to->n_bytes / n_bytes;
    for (uint32_t i = 0; i < to->n_dimensions; i++)
        n_bytes *= to->dimensions[i]; /* read_data() has looked that it fits */
    dense = static_cast<uint8_t *>(keep_block(file, n_bytes));
    if (!dense)
        return complain("the sparse tensor %u is too large", index);
    if (!read_levels(from->sparsity(), file, to->n_dimensions, &sparse) ||
        !tfl_densify(&sparse, to->n_dimensions, to->dimensions, dense))
        return complain("the sparse tensor %u contradicts itself", index);
    to->data = dense;
    to->n_bytes = n_bytes;
    to->file_offset = TFL_NO_OFFSET;
    to->is_sparse = false;
    return 0;
}

int read_tensors(const fb::Model *model, const fb::SubGraph *graph, struct tfl_file *file,
                 Complaint &complain)
{
    file->graph.n_tensors = graph->tensors() ? graph->tensors()->size() : 0;
    if (!file->graph.n_tensors || file->graph.n_tensors > MAX_TENSORS)
        return complain("the model has %u tensors", file->graph.n_tensors);
    file->graph.tensors = static_cast<struct tfl_tensor *>(
        calloc(file->graph.n_tensors, sizeof(*file->graph.tensors)));
    if (!file->graph.tensors)
        return -ENOMEM;
    for (uint32_t i = 0; i < file->graph.n_tensors; i++) {
        const fb::Tensor *from = graph->tensors()->Get(i);
        struct tfl_tensor *to = &file->graph.tensors[i];
        int r;

        to->name = from->name() ? from->name()->c_str() : "";
        to->type = from->type();
        to->is_variable = from->is_variable();
        to->is_sparse = from->sparsity() != nullptr;
        r = read_shape(from, to, i, complain);
        if (!r)
            r = read_quantization(from, to, i, complain);
        if (!r)
            r = read_data(model, from, file, to, i, complain);
        if (!r && to->is_sparse)
            r = read_sparse(from, file, to, i, complain);
        if (r)
            return r;
    }
    return 0;
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
                 Complaint &complain)
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
                  uint32_t number, Complaint &complain)
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
    to->options.dilation_w = to->options.dilation_h = 1;
    read_convolution(from, &to->options);
    read_recurrent(from, &to->options);
    read_elementwise(from, &to->options);
    read_shape_options(from, &to->options);
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

int read_graph(const fb::Model *model, struct tfl_file *file, Complaint &complain)
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

int file_parse(struct tfl_file *file, Complaint &complain)
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
    Complaint complain(message, message_size);
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
