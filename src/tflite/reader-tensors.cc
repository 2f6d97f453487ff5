/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/reader-tensors.h"

#include "tflite/densify.h"

#include <cstdlib>
#include <cstring>

namespace fb = nnhal::tflite;

enum { MAX_BLOCK_BYTES = TFL_MAX_BLOCK_MIB << 20 };

/* Many tensors and operators may share one long list. */
enum { MAX_ENTRIES = 1 << 24 };

int tfl_file_count(struct tfl_file *file, uint32_t n, tfl_complaint &complain)
{
    if (n > MAX_ENTRIES - file->n_entries)
        return complain("the lists in the file have more than %d entries together", MAX_ENTRIES);
    file->n_entries += n;
    return 0;
}

bool tfl_file_has_room(const struct tfl_file *file, size_t n_bytes)
{
    return n_bytes <= MAX_BLOCK_BYTES - file->n_block_bytes;
}

void *tfl_file_keep(struct tfl_file *file, size_t n_bytes)
{
    void **blocks;
    void *block;

    if (!tfl_file_has_room(file, n_bytes))
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

namespace
{

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

int read_shape(const fb::Tensor *from, struct tfl_tensor *to, uint32_t index,
               tfl_complaint &complain)
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

int read_quantization(const fb::Tensor *from, struct tfl_file *file, struct tfl_tensor *to,
                      uint32_t index, tfl_complaint &complain)
{
    auto quantization = from->quantization();
    auto scales = quantization ? quantization->scale() : nullptr;
    auto zero_points = quantization ? quantization->zero_point() : nullptr;
    uint32_t n_zero_points = zero_points ? zero_points->size() : 0;

    if (!scales || !scales->size())
        return 0;
    to->n_scales = scales->size();
    to->scales = scales->data();
    if (n_zero_points > 1 && n_zero_points != to->n_scales)
        return complain("tensor %u has %u zero points and %u scales", index, n_zero_points,
                        to->n_scales);
    if (tfl_file_count(file, to->n_scales, complain) < 0)
        return -EINVAL;
    for (uint32_t i = 0; to->n_scales > 1 && i < n_zero_points; i++) {
        int64_t zero_point;

        std::memcpy(&zero_point, zero_points->Data() + i * sizeof(zero_point), sizeof(zero_point));
        if (zero_point)
            to->zero_point = 1;
    }
    if (to->n_scales == 1) {
        to->scale = scales->Get(0);
        int64_t zero_point = 0;

        if (n_zero_points) /* the verifier lets it lie anywhere */
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
              struct tfl_tensor *to, uint32_t index, tfl_complaint &complain)
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

template <typename Vector>
bool widen(struct tfl_file *file, const Vector *from, const int32_t **ret, uint32_t *ret_n)
{
    uint32_t n = from && from->values() ? from->values()->size() : 0;
    int32_t *numbers = static_cast<int32_t *>(tfl_file_keep(file, n * sizeof(int32_t)));

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
                uint32_t index, tfl_complaint &complain)
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
    dense = static_cast<uint8_t *>(tfl_file_keep(file, n_bytes));
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

} // namespace

int tfl_tensor_read(const fb::Model *model, const fb::Tensor *from, struct tfl_file *file,
                    struct tfl_tensor *to, uint32_t index, tfl_complaint &complain)
{
    int r;

    to->name = from->name() ? from->name()->c_str() : "";
    to->type = from->type();
    to->is_variable = from->is_variable();
    to->is_sparse = from->sparsity() != nullptr;
    r = read_shape(from, to, index, complain);
    if (!r)
        r = read_quantization(from, file, to, index, complain);
    if (!r)
        r = read_data(model, from, file, to, index, complain);
    if (!r && to->is_sparse)
        r = read_sparse(from, file, to, index, complain);
    return r;
}
