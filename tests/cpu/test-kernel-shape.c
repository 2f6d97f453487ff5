/* SPDX-License-Identifier: Apache-2.0 */
/* Each operation is checked element by element: a function says from which
 * element of the input an element of the output must come. */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "model/types.h"

#include "support/check-main.h"

#include <string.h>

static const uint32_t types[] = {NNHAL_TENSOR_FLOAT32, NNHAL_TENSOR_FLOAT16,
                                 NNHAL_TENSOR_QUANT8_ASYMM, NNHAL_TENSOR_QUANT8_ASYMM_SIGNED};

static struct kernel_case c;

static uint32_t pick_type(uint64_t *seed)
{
    return types[kernel_case_below(seed, 4)];
}

static uint32_t pick_shape(uint64_t *seed, uint32_t max_rank, uint32_t *dims)
{
    uint32_t rank = 1 + kernel_case_below(seed, max_rank);

    for (uint32_t d = 0; d < rank; d++)
        dims[d] = 1 + kernel_case_below(seed, rank > 4 ? 3 : 9);
    return rank;
}

/* Input 0 with random elements; zero point 3 if it is quantized. */
static void add_random(uint32_t type, uint32_t rank, const uint32_t *dims, uint64_t *seed)
{
    size_t n = 1;
    void *elements;

    for (uint32_t d = 0; d < rank; d++)
        n *= dims[d];
    elements = kernel_case_random(type, n, seed);
    kernel_case_tensor(&c, type, rank, dims, elements);
    free(elements);
    if (nn_type_is_quantized(type))
        c.inputs[c.n_inputs - 1].zero_point = 3;
}

static void add_output(uint32_t type)
{
    kernel_case_output(&c, type);
    if (nn_type_is_quantized(type))
        c.outputs[c.n_outputs - 1].zero_point = 3;
}

/* Where the input's element for an output index lies; -1: in a margin. */
typedef int64_t (*source_fn)(const uint32_t *index, const void *ctx);

static int64_t at(const uint32_t *dims, uint32_t rank, const int64_t *index)
{
    int64_t offset = 0;

    for (uint32_t d = 0; d < rank; d++)
        offset = offset * dims[d] + index[d];
    return offset;
}

static int64_t input_at(const int64_t *index)
{
    return at(c.inputs[0].dims, c.inputs[0].n_dims, index);
}

static void expect_sources(source_fn source, const void *ctx, const void *margin)
{
    const struct kernel_operand *output = &c.outputs[0];
    size_t bytes = nn_type_bytes(output->type), n = kernel_case_count(output);
    uint32_t index[NNHAL_MAX_RANK] = {0};

    for (size_t i = 0; i < n; i++) {
        int64_t from = source(index, ctx);
        const void *wanted = from < 0 ? margin : c.inputs[0].data + (size_t)from * bytes;

        if (memcmp(output->data + i * bytes, wanted, bytes))
            ck_abort_msg("element %zu of %zu is not element %ld", i, n, (long)from);
        for (uint32_t d = output->n_dims; d-- > 0;) {
            if (++index[d] < output->dims[d])
                break;
            index[d] = 0;
        }
    }
}

static int64_t same_source(const uint32_t *index, const void *ctx)
{
    const struct kernel_operand *output = &c.outputs[0];
    int64_t offset = 0;

    for (uint32_t d = 0; d < output->n_dims; d++)
        offset = offset * output->dims[d] + index[d];
    return offset;
}

TEST(copies_keep_the_elements)
{
    uint64_t seed = 1;

    kernel_case_init(&c, NNHAL_OP_RESHAPE, &nn_kernels_shape);
    add_random(NNHAL_TENSOR_INT32, 3, (uint32_t[]){2, 3, 4}, &seed);
    kernel_case_i32s(&c, 2, (int32_t[]){-1, 8});
    add_output(NNHAL_TENSOR_INT32);
    kernel_case_run(&c);
    expect_sources(same_source, NULL, NULL);
    kernel_case_done(&c);

    kernel_case_init(&c, NNHAL_OP_SQUEEZE, &nn_kernels_shape);
    add_random(NNHAL_TENSOR_FLOAT32, 3, (uint32_t[]){2, 1, 4}, &seed);
    kernel_case_omit(&c, NNHAL_TENSOR_INT32);
    add_output(NNHAL_TENSOR_FLOAT32);
    kernel_case_run(&c);
    expect_sources(same_source, NULL, NULL);
    kernel_case_done(&c);

    kernel_case_init(&c, NNHAL_OP_EXPAND_DIMS, &nn_kernels_shape);
    add_random(NNHAL_TENSOR_FLOAT16, 2, (uint32_t[]){2, 4}, &seed);
    kernel_case_i32(&c, -1);
    add_output(NNHAL_TENSOR_FLOAT16);
    kernel_case_run(&c);
    expect_sources(same_source, NULL, NULL);
    kernel_case_done(&c);
}
TEST_END

static int64_t transpose_source(const uint32_t *index, const void *ctx)
{
    const int32_t *perm = ctx;
    int64_t from[NNHAL_MAX_RANK];

    for (uint32_t d = 0; d < c.inputs[0].n_dims; d++)
        from[perm[d]] = index[d];
    return input_at(from);
}

TEST(transpose_of_any_permutation)
{
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 4, dims);
        int32_t perm[4] = {0, 1, 2, 3};

        /* Large enough for more than one block now and then. */
        if (i % 10 == 0)
            dims[rank - 1] += 70;
        if (i % 10 == 0 && rank < 4)
            dims[0] += 20;
        for (uint32_t d = rank; d-- > 1;) {
            uint32_t other = kernel_case_below(&seed, d + 1);
            int32_t axis = perm[d];

            perm[d] = perm[other];
            perm[other] = axis;
        }
        kernel_case_init(&c, NNHAL_OP_TRANSPOSE, &nn_kernels_shape);
        add_random(type, rank, dims, &seed);
        kernel_case_i32s(&c, rank, perm);
        add_output(type);
        kernel_case_run(&c);
        expect_sources(transpose_source, perm, NULL);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(transpose_without_permutation_reverses)
{
    uint64_t seed = 9;

    kernel_case_init(&c, NNHAL_OP_TRANSPOSE, &nn_kernels_shape);
    add_random(NNHAL_TENSOR_FLOAT32, 3, (uint32_t[]){2, 3, 4}, &seed);
    kernel_case_omit(&c, NNHAL_TENSOR_INT32);
    add_output(NNHAL_TENSOR_FLOAT32);
    kernel_case_run(&c);
    expect_sources(transpose_source, (int32_t[]){2, 1, 0}, NULL);
    kernel_case_done(&c);
}
TEST_END

TEST(transpose_of_an_empty_tensor)
{
    kernel_case_init(&c, NNHAL_OP_TRANSPOSE, &nn_kernels_shape);
    kernel_case_tensor(&c, NNHAL_TENSOR_FLOAT32, 2, (uint32_t[]){0, 3}, NULL);
    kernel_case_i32s(&c, 2, (int32_t[]){1, 0});
    add_output(NNHAL_TENSOR_FLOAT32);
    kernel_case_run(&c);
    ck_assert_uint_eq(c.outputs[0].dims[0], 3);
    ck_assert_uint_eq(c.outputs[0].dims[1], 0);
    kernel_case_done(&c);
}
TEST_END

struct slices {
    int32_t begin[NNHAL_MAX_RANK], end[NNHAL_MAX_RANK], stride[NNHAL_MAX_RANK];
    int32_t begin_mask, end_mask, shrink_mask;
};

static int64_t slice_source(const uint32_t *index, const void *ctx)
{
    const struct slices *s = ctx;
    int64_t from[NNHAL_MAX_RANK];
    uint32_t out = 0;

    for (uint32_t d = 0; d < c.inputs[0].n_dims; d++)
        from[d] = s->begin[d] +
                  (s->shrink_mask >> d & 1 ? 0 : (int64_t)index[out++] * s->stride[d]);
    return input_at(from);
}

TEST(slice_of_any_part)
{
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 6, dims);
        int32_t sizes[NNHAL_MAX_RANK];
        struct slices s = {{0}, {0}, {0}, 0, 0, 0};

        for (uint32_t d = 0; d < rank; d++) {
            s.begin[d] = (int32_t)kernel_case_below(&seed, dims[d]);
            s.stride[d] = 1;
            sizes[d] = (int32_t)kernel_case_below(&seed, dims[d] - (uint32_t)s.begin[d] + 1);
            if (kernel_case_below(&seed, 3) == 0)
                sizes[d] = -1;
        }
        kernel_case_init(&c, NNHAL_OP_SLICE, &nn_kernels_shape);
        add_random(type, rank, dims, &seed);
        kernel_case_i32s(&c, rank, s.begin);
        kernel_case_i32s(&c, rank, sizes);
        add_output(type);
        kernel_case_run(&c);
        expect_sources(slice_source, &s, NULL);
        kernel_case_done(&c);
    }
}
TEST_END

/* A range of a dimension, in the operation's words and as plain numbers. */
static void pick_range(uint64_t *seed, uint32_t d, uint32_t dim, struct slices *asked,
                       struct slices *plain)
{
    int32_t n = (int32_t)dim, stride = 1 + (int32_t)kernel_case_below(seed, 3);
    int32_t low = (int32_t)kernel_case_below(seed, dim);
    int32_t high = low + 1 + (int32_t)kernel_case_below(seed, dim - (uint32_t)low);

    if (kernel_case_below(seed, 5) == 0) {
        asked->shrink_mask |= 1 << d;
        asked->begin[d] = plain->begin[d] = low;
        asked->end[d] = low + 1;
        asked->stride[d] = 1;
    } else if (kernel_case_below(seed, 2)) {
        asked->begin[d] = kernel_case_below(seed, 2) ? low : low - n;
        asked->end[d] = high == n ? INT32_MAX : high;
        asked->stride[d] = stride;
        plain->begin[d] = low;
        if (kernel_case_below(seed, 4) == 0) {
            asked->begin_mask |= 1 << d;
            plain->begin[d] = 0;
        }
    } else {
        asked->begin[d] = high - 1;
        asked->end[d] = low ? low - 1 : INT32_MIN;
        asked->stride[d] = -stride;
        plain->begin[d] = high - 1;
        if (kernel_case_below(seed, 4) == 0)
            asked->end_mask |= 1 << d;
    }
    plain->stride[d] = asked->stride[d];
}

TEST(strided_slice_of_any_part)
{
    for (uint64_t i = 0; i < 500; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 4, dims);
        struct slices asked = {{0}, {0}, {0}, 0, 0, 0}, plain = {{0}, {0}, {0}, 0, 0, 0};

        for (uint32_t d = 0; d < rank; d++)
            pick_range(&seed, d, dims[d], &asked, &plain);
        plain.shrink_mask = asked.shrink_mask;
        kernel_case_init(&c, NNHAL_OP_STRIDED_SLICE, &nn_kernels_shape);
        add_random(type, rank, dims, &seed);
        kernel_case_i32s(&c, rank, asked.begin);
        kernel_case_i32s(&c, rank, asked.end);
        kernel_case_i32s(&c, rank, asked.stride);
        kernel_case_i32(&c, asked.begin_mask);
        kernel_case_i32(&c, asked.end_mask);
        kernel_case_i32(&c, asked.shrink_mask);
        add_output(type);
        kernel_case_run(&c);
        expect_sources(slice_source, &plain, NULL);
        kernel_case_done(&c);
    }
}
TEST_END

static int64_t tile_source(const uint32_t *index, const void *ctx)
{
    int64_t from[NNHAL_MAX_RANK];

    for (uint32_t d = 0; d < c.inputs[0].n_dims; d++)
        from[d] = index[d] % c.inputs[0].dims[d];
    return input_at(from);
}

TEST(tile_repeats)
{
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 5, dims);
        int32_t multiples[NNHAL_MAX_RANK];

        for (uint32_t d = 0; d < rank; d++)
            multiples[d] = 1 + (int32_t)kernel_case_below(&seed, 3);
        kernel_case_init(&c, NNHAL_OP_TILE, &nn_kernels_shape);
        add_random(type, rank, dims, &seed);
        kernel_case_i32s(&c, rank, multiples);
        add_output(type);
        kernel_case_run(&c);
        expect_sources(tile_source, NULL, NULL);
        kernel_case_done(&c);
    }
}
TEST_END

static int64_t reverse_source(const uint32_t *index, const void *ctx)
{
    int32_t axis = *(const int32_t *)ctx;
    int64_t from[NNHAL_MAX_RANK];

    for (uint32_t d = 0; d < c.inputs[0].n_dims; d++)
        from[d] = (int32_t)d == axis ? c.inputs[0].dims[d] - 1 - index[d] : index[d];
    return input_at(from);
}

TEST(reverse_of_any_axis)
{
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 8, dims);
        int32_t axis = (int32_t)kernel_case_below(&seed, rank);

        kernel_case_init(&c, NNHAL_OP_REVERSE, &nn_kernels_shape);
        add_random(type, rank, dims, &seed);
        kernel_case_i32s(&c, 1, &axis);
        add_output(type);
        kernel_case_run(&c);
        expect_sources(reverse_source, &axis, NULL);
        kernel_case_done(&c);
    }
}
TEST_END

struct shuffle {
    uint32_t axis, n_groups;
};

static int64_t shuffle_source(const uint32_t *index, const void *ctx)
{
    const struct shuffle *s = ctx;
    uint32_t group = c.inputs[0].dims[s->axis] / s->n_groups;
    int64_t from[NNHAL_MAX_RANK];

    for (uint32_t d = 0; d < c.inputs[0].n_dims; d++)
        from[d] = d != s->axis ? index[d]
                               : index[d] % s->n_groups * (int64_t)group + index[d] / s->n_groups;
    return input_at(from);
}

TEST(channel_shuffle_of_any_axis)
{
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 4, dims);
        struct shuffle s = {kernel_case_below(&seed, rank), 1 + kernel_case_below(&seed, 4)};

        dims[s.axis] = s.n_groups * (1 + kernel_case_below(&seed, 5));
        kernel_case_init(&c, NNHAL_OP_CHANNEL_SHUFFLE, &nn_kernels_shape);
        add_random(type, rank, dims, &seed);
        kernel_case_i32(&c, (int32_t)s.n_groups);
        kernel_case_i32(&c, (int32_t)s.axis - (i % 2 ? (int32_t)rank : 0));
        add_output(type);
        kernel_case_run(&c);
        expect_sources(shuffle_source, &s, NULL);
        kernel_case_done(&c);
    }
}
TEST_END

/* Blocks of the four conversions, and margins. */
struct blocks {
    uint32_t operation;
    bool is_nchw;
    int32_t size[2];
    int32_t margin[4];
};

static int64_t block_source(const uint32_t *index, const void *ctx)
{
    const struct blocks *b = ctx;
    const uint32_t *in = c.inputs[0].dims, *out = c.outputs[0].dims;
    uint32_t hi = b->is_nchw ? 2 : 1, ci = b->is_nchw ? 1 : 3;
    int64_t n = index[0], h = index[hi], w = index[hi + 1], k = index[ci], bh = b->size[0],
            bw = b->size[1];
    int64_t from[4];

    switch (b->operation) {
    case NNHAL_OP_DEPTH_TO_SPACE:
        k += (h % bh * bh + w % bh) * out[ci];
        h /= bh;
        w /= bh;
        break;
    case NNHAL_OP_SPACE_TO_DEPTH:
        h = h * bh + k / in[ci] / bh;
        w = w * bh + k / in[ci] % bh;
        k %= in[ci];
        break;
    case NNHAL_OP_BATCH_TO_SPACE_ND:
        n += (h % bh * bw + w % bw) * out[0];
        h /= bh;
        w /= bw;
        break;
    default:
        h = h * bh + n / in[0] / bw - b->margin[0];
        w = w * bw + n / in[0] % bw - b->margin[2];
        n %= in[0];
        if (h < 0 || w < 0 || h >= in[hi] || w >= in[hi + 1])
            return -1;
    }
    from[0] = n;
    from[hi] = h;
    from[hi + 1] = w;
    from[ci] = k;
    return input_at(from);
}

static void pick_blocks(uint64_t *seed, uint32_t operation, struct blocks *b, uint32_t dims[4])
{
    uint32_t h, k, sizes[4];

    *b = (struct blocks){.operation = operation, .is_nchw = kernel_case_below(seed, 2)};
    for (uint32_t i = 0; i < 4; i++)
        sizes[i] = 1 + kernel_case_below(seed, 4);
    b->size[0] = 1 + (int32_t)kernel_case_below(seed, 3);
    b->size[1] = 1 + (int32_t)kernel_case_below(seed, 3);
    h = b->is_nchw ? 2 : 1;
    k = b->is_nchw ? 1 : 3;
    memcpy(dims, sizes, sizeof(sizes));
    if (operation == NNHAL_OP_DEPTH_TO_SPACE)
        dims[k] *= (uint32_t)(b->size[0] * b->size[0]);
    if (operation == NNHAL_OP_BATCH_TO_SPACE_ND)
        dims[0] *= (uint32_t)(b->size[0] * b->size[1]);
    if (operation == NNHAL_OP_SPACE_TO_DEPTH)
        b->size[1] = b->size[0];
    for (uint32_t i = 0; i < 2; i++) {
        if (operation == NNHAL_OP_SPACE_TO_DEPTH || operation == NNHAL_OP_SPACE_TO_BATCH_ND)
            dims[h + i] *= (uint32_t)b->size[i];
        /* Some of a dimension becomes margin. */
        if (operation == NNHAL_OP_SPACE_TO_BATCH_ND && kernel_case_below(seed, 2)) {
            uint32_t margin = kernel_case_below(seed, dims[h + i]);

            dims[h + i] -= margin;
            b->margin[2 * i] = (int32_t)kernel_case_below(seed, margin + 1);
            b->margin[2 * i + 1] = (int32_t)margin - b->margin[2 * i];
        }
    }
}

static void run_blocks(uint32_t operation)
{
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t seed = i;
        uint32_t dims[4], type = pick_type(&seed);
        uint8_t margin[4] = {0};
        struct blocks b;

        pick_blocks(&seed, operation, &b, dims);
        kernel_case_init(&c, operation, &nn_kernels_shape);
        add_random(type, 4, dims, &seed);
        if (operation == NNHAL_OP_DEPTH_TO_SPACE || operation == NNHAL_OP_SPACE_TO_DEPTH)
            kernel_case_i32(&c, b.size[0]);
        else
            kernel_case_i32s(&c, 2, b.size);
        if (operation == NNHAL_OP_SPACE_TO_BATCH_ND)
            kernel_case_tensor(&c, NNHAL_TENSOR_INT32, 2, (uint32_t[]){2, 2}, b.margin);
        if (b.is_nchw || i % 2)
            kernel_case_bool(&c, b.is_nchw);
        add_output(type);
        if (nn_type_is_quantized(type))
            margin[0] = 3;
        kernel_case_run(&c);
        expect_sources(block_source, &b, margin);
        kernel_case_done(&c);
    }
}

TEST(depth_to_space)
{
    run_blocks(NNHAL_OP_DEPTH_TO_SPACE);
}
TEST_END

TEST(space_to_depth)
{
    run_blocks(NNHAL_OP_SPACE_TO_DEPTH);
}
TEST_END

TEST(batch_to_space)
{
    run_blocks(NNHAL_OP_BATCH_TO_SPACE_ND);
}
TEST_END

TEST(space_to_batch)
{
    run_blocks(NNHAL_OP_SPACE_TO_BATCH_ND);
}
TEST_END

TEST(rank_and_fill)
{
    uint64_t seed = 1;
    int32_t rank;

    kernel_case_init(&c, NNHAL_OP_RANK, &nn_kernels_shape);
    add_random(NNHAL_TENSOR_FLOAT32, 3, (uint32_t[]){2, 1, 4}, &seed);
    kernel_case_output(&c, NNHAL_INT32);
    kernel_case_run(&c);
    memcpy(&rank, c.outputs[0].data, sizeof(rank));
    ck_assert_int_eq(rank, 3);
    kernel_case_done(&c);

    kernel_case_init(&c, NNHAL_OP_FILL, &nn_kernels_shape);
    kernel_case_i32s(&c, 2, (int32_t[]){3, 5});
    kernel_case_f32(&c, 0.25f);
    kernel_case_output(&c, NNHAL_TENSOR_FLOAT32);
    kernel_case_run(&c);
    for (size_t i = 0; i < 15; i++)
        ck_assert(kernel_case_real(&c.outputs[0], i) == 0.25);
    kernel_case_done(&c);
}
TEST_END

/* ---- the families pad and join ---- */

struct margins {
    int32_t paddings[2 * NNHAL_MAX_RANK];
    int32_t mode; /* MIRROR_PAD's, or -1 */
};

static int64_t pad_source(const uint32_t *index, const void *ctx)
{
    const struct margins *m = ctx;
    int64_t from[NNHAL_MAX_RANK];

    for (uint32_t d = 0; d < c.inputs[0].n_dims; d++) {
        int64_t n = c.inputs[0].dims[d], i = (int64_t)index[d] - m->paddings[2 * d];

        if (m->mode < 0 && (i < 0 || i >= n))
            return -1;
        if (i < 0)
            i = m->mode == 0 ? -i : -i - 1;
        if (i >= n)
            i = m->mode == 0 ? 2 * n - 2 - i : 2 * n - 1 - i;
        from[d] = i;
    }
    return input_at(from);
}

static void pick_margins(uint64_t *seed, uint32_t rank, const uint32_t *dims, struct margins *m)
{
    for (uint32_t d = 0; d < 2 * rank; d++) {
        uint32_t most = m->mode < 0 ? 3 : dims[d / 2] - (m->mode == 0 ? 1 : 0);

        m->paddings[d] = (int32_t)kernel_case_below(seed, (most > 3 ? 3 : most) + 1);
        if (kernel_case_below(seed, 3) == 0)
            m->paddings[d] = 0;
    }
}

TEST(pad_with_zero_or_a_value)
{
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 4, dims);
        struct margins m = {.mode = -1};
        float value = 0.0f;
        uint8_t margin[4] = {0};

        pick_margins(&seed, rank, dims, &m);
        kernel_case_init(&c, i % 2 ? NNHAL_OP_PAD_V2 : NNHAL_OP_PAD, &nn_kernels_pad);
        add_random(type, rank, dims, &seed);
        kernel_case_tensor(&c, NNHAL_TENSOR_INT32, 2, (uint32_t[]){rank, 2}, m.paddings);
        add_output(type);
        if (nn_type_is_quantized(type))
            margin[0] = i % 2 ? 200 : 3;
        if (i % 2 && nn_type_is_quantized(type)) {
            kernel_case_i32(&c, 200);
        } else if (i % 2 && type == NNHAL_TENSOR_FLOAT32) {
            value = 1.5f;
            memcpy(margin, &value, sizeof(value));
            kernel_case_f32(&c, value);
        } else if (i % 2) {
            memcpy(margin, (uint16_t[]){0x3e00}, 2);
            kernel_case_tensor(&c, NNHAL_FLOAT16, 0, NULL, margin);
        }
        kernel_case_run(&c);
        expect_sources(pad_source, &m, margin);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(mirror_pad_reflects)
{
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 6, dims);
        struct margins m = {.mode = (int32_t)(i % 2)};

        pick_margins(&seed, rank, dims, &m);
        kernel_case_init(&c, NNHAL_OP_MIRROR_PAD, &nn_kernels_pad);
        add_random(type, rank, dims, &seed);
        kernel_case_tensor(&c, NNHAL_TENSOR_INT32, 2, (uint32_t[]){rank, 2}, m.paddings);
        kernel_case_i32(&c, m.mode);
        add_output(type);
        kernel_case_run(&c);
        expect_sources(pad_source, &m, NULL);
        kernel_case_done(&c);
    }
}
TEST_END

/* The element of a part at an index of the whole must be there. */
static void expect_part(const struct kernel_operand *whole, const struct kernel_operand *part,
                        uint32_t axis, uint32_t begin, bool has_axis)
{
    size_t bytes = nn_type_bytes(whole->type), n = kernel_case_count(part);

    for (size_t i = 0; i < n; i++) {
        int64_t index[NNHAL_MAX_RANK];
        size_t rest = i, offset;

        for (uint32_t d = part->n_dims; d-- > 0;) {
            uint32_t to = has_axis || d < axis ? d : d + 1;

            index[to] = (int64_t)(rest % part->dims[d]);
            rest /= part->dims[d];
        }
        index[axis] = has_axis ? index[axis] + begin : begin;
        offset = (size_t)at(whole->dims, whole->n_dims, index);
        ck_assert_int_eq(memcmp(whole->data + offset * bytes, part->data + i * bytes, bytes), 0);
    }
}

TEST(concatenation_and_split)
{
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed), begin = 0;
        uint32_t rank = pick_shape(&seed, 4, dims), axis = kernel_case_below(&seed, rank);
        uint32_t n_parts = 1 + kernel_case_below(&seed, 4);

        kernel_case_init(&c, NNHAL_OP_CONCATENATION, &nn_kernels_concat);
        for (uint32_t k = 0; k < n_parts; k++) {
            dims[axis] = kernel_case_below(&seed, 4) + (k == 0);
            add_random(type, rank, dims, &seed);
        }
        kernel_case_i32(&c, (int32_t)axis);
        add_output(type);
        kernel_case_run(&c);
        for (uint32_t k = 0; k < n_parts; k++) {
            expect_part(&c.outputs[0], &c.inputs[k], axis, begin, true);
            begin += c.inputs[k].dims[axis];
        }
        kernel_case_done(&c);

        kernel_case_init(&c, NNHAL_OP_SPLIT, &nn_kernels_concat);
        dims[axis] = n_parts * (1 + kernel_case_below(&seed, 3));
        add_random(type, rank, dims, &seed);
        kernel_case_i32(&c, (int32_t)axis - (i % 2 ? (int32_t)rank : 0));
        kernel_case_i32(&c, (int32_t)n_parts);
        for (uint32_t k = 0; k < n_parts; k++)
            add_output(type);
        kernel_case_run(&c);
        for (uint32_t k = 0; k < n_parts; k++)
            expect_part(&c.inputs[0], &c.outputs[k], axis, k * c.outputs[0].dims[axis], true);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(pack_stacks)
{
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t seed = i;
        uint32_t dims[NNHAL_MAX_RANK], type = pick_type(&seed);
        uint32_t rank = pick_shape(&seed, 4, dims), axis = kernel_case_below(&seed, rank + 1);
        uint32_t n_parts = 1 + kernel_case_below(&seed, 4);

        kernel_case_init(&c, NNHAL_OP_PACK, &nn_kernels_concat);
        kernel_case_i32(&c, (int32_t)axis);
        for (uint32_t k = 0; k < n_parts; k++)
            add_random(type, rank, dims, &seed);
        add_output(type);
        kernel_case_run(&c);
        for (uint32_t k = 0; k < n_parts; k++)
            expect_part(&c.outputs[0], &c.inputs[1 + k], axis, k, false);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(concatenation_translates_codes)
{
    const uint8_t codes[2][4] = {{0, 10, 100, 255}, {0, 10, 100, 255}};

    for (int is_signed = 0; is_signed < 2; is_signed++) {
        uint32_t type = is_signed ? NNHAL_TENSOR_QUANT8_ASYMM_SIGNED : NNHAL_TENSOR_QUANT8_ASYMM;
        int32_t low = is_signed ? -128 : 0;
        uint8_t flip = is_signed ? 0x80 : 0, shifted[2][4];

        for (int i = 0; i < 8; i++)
            shifted[i / 4][i % 4] = codes[i / 4][i % 4] ^ flip;
        kernel_case_init(&c, NNHAL_OP_CONCATENATION, &nn_kernels_concat);
        kernel_case_tensor(&c, type, 1, (uint32_t[]){4}, shifted[0])->zero_point = 10 + low;
        kernel_case_tensor(&c, type, 1, (uint32_t[]){4}, shifted[1])->zero_point = 20 + low;
        c.inputs[1].scale = 2.0f;
        kernel_case_i32(&c, 0);
        kernel_case_output(&c, type)->zero_point = 20 + low;
        c.outputs[0].scale = 2.0f;
        kernel_case_run(&c);
        /* (q - 10) / 2 + 20, halves away from zero; and as it is. */
        ck_assert_uint_eq(c.outputs[0].data[0] ^ flip, 15);
        ck_assert_uint_eq(c.outputs[0].data[1] ^ flip, 20);
        ck_assert_uint_eq(c.outputs[0].data[2] ^ flip, 65);
        ck_assert_uint_eq(c.outputs[0].data[3] ^ flip, 143);
        ck_assert_int_eq(memcmp(c.outputs[0].data + 4, shifted[1], 4), 0);
        kernel_case_done(&c);
    }
}
TEST_END

CHECK_MAIN("kernel-shape", copies_keep_the_elements, transpose_of_any_permutation,
           transpose_without_permutation_reverses, transpose_of_an_empty_tensor, slice_of_any_part,
           strided_slice_of_any_part, tile_repeats, reverse_of_any_axis,
           channel_shuffle_of_any_axis, depth_to_space, space_to_depth, batch_to_space,
           space_to_batch, rank_and_fill, pad_with_zero_or_a_value, mirror_pad_reflects,
           concatenation_and_split, pack_stacks, concatenation_translates_codes)
