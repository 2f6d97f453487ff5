/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements without joining tensors, plain C.
 *
 * All but the trivial ones are a loop nest (strided.h) that is worked out when
 * the step is lowered; running it is one function for all of them. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/pad/pad.h"
#include "drivers/cpu/kernels/shape/strided.h"

#include "model/slice.h"
#include "model/operands.h"
#include "model/ops.h"

#include <string.h>

/* ---- copies: RESHAPE, SQUEEZE, EXPAND_DIMS, BITCAST ---- */

/* Bytes of an output that are written together; elements divide it. */
enum { BLOCK_BYTES = 65536, BLOCK_NS = 10000 };

struct blocks_job {
    const struct nn_tensor *output;
    const void *from; /* a copy of it, or the value that fills it */
};

static size_t n_blocks(const struct nn_tensor *output)
{
    return (output->size + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

static size_t blocks_size(const struct nn_tensor *output, size_t begin, size_t end)
{
    return nn_min_size(output->size, end * BLOCK_BYTES) - begin * BLOCK_BYTES;
}

static void copy_blocks(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct blocks_job *job = ctx;

    memcpy((char *)job->output->data + begin * BLOCK_BYTES,
           (const char *)job->from + begin * BLOCK_BYTES, blocks_size(job->output, begin, end));
}

static int nn_copy__c(const struct nn_kernel_args *args)
{
    struct blocks_job job = {&args->outputs[0], args->inputs[0].data};

    if (job.from != job.output->data)
        nn_parallel_for(args, n_blocks(job.output), BLOCK_NS, copy_blocks, &job);
    return 0;
}

static bool check_copy(const struct nn_kernel_step *step)
{
    return step->n_inputs >= 1 && step->n_outputs == 1 &&
           step->inputs[0].size == step->outputs[0].size;
}

/* ---- RANK, FILL ---- */

static int nn_rank__c(const struct nn_kernel_args *args)
{
    int32_t rank = (int32_t)args->inputs[0].n_dims;

    memcpy(args->outputs[0].data, &rank, sizeof(rank));
    return 0;
}

static void fill_blocks(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct blocks_job *job = ctx;
    uint32_t n_bytes = nn_type_bytes(job->output->type);

    nn_fill((char *)job->output->data + begin * BLOCK_BYTES,
            blocks_size(job->output, begin, end) / n_bytes, job->from, n_bytes);
}

static int nn_fill_value__c(const struct nn_kernel_args *args)
{
    struct blocks_job job = {&args->outputs[0], args->inputs[1].data};

    nn_parallel_for(args, n_blocks(job.output), BLOCK_NS, fill_blocks, &job);
    return 0;
}

/* ---- loop nests ---- */

/* The nest that lower() makes, and the input's strides. */
static struct nn_strided *begin_nest(const struct nn_lower *lower, int64_t *ret_strides)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    struct nn_strided *nest = lower->params;

    nn_strided_init(nest, nn_type_bytes(input->type));
    nn_dims_strides(input->n_dims, input->dims, ret_strides);
    return nest;
}

static int lower_transpose(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    bool is_reversed = nn_lower_is_omitted(lower, 1);
    int64_t strides[NNHAL_MAX_RANK];
    struct nn_strided *nest = begin_nest(lower, strides);

    for (uint32_t d = 0; d < input->n_dims; d++) {
        uint32_t from = is_reversed ? input->n_dims - 1 - d
                                    : (uint32_t)nn_lower_i32_at(lower, 1, d);

        nn_strided_add(nest, input->dims[from], strides[from]);
    }
    return 0;
}

static int lower_slice(struct nn_lower *lower)
{
    const struct nn_lower_operand *output = &lower->outputs[0];
    int64_t strides[NNHAL_MAX_RANK];
    struct nn_strided *nest = begin_nest(lower, strides);

    for (uint32_t d = 0; d < output->n_dims; d++) {
        nest->in_first += nn_lower_i32_at(lower, 1, d) * strides[d];
        nn_strided_add(nest, output->dims[d], strides[d]);
    }
    return 0;
}

static int lower_strided_slice(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    int32_t begin_mask = nn_lower_i32(lower, NN_STRIDED_BEGIN_MASK, 0),
            end_mask = nn_lower_i32(lower, NN_STRIDED_END_MASK, 0);
    int64_t strides[NNHAL_MAX_RANK];
    struct nn_strided *nest = begin_nest(lower, strides);

    for (uint32_t d = 0; d < input->n_dims; d++) {
        struct nn_slice slice = {
            .begin = nn_lower_i32_at(lower, NN_STRIDED_BEGINS, d),
            .end = nn_lower_i32_at(lower, NN_STRIDED_ENDS, d),
            .stride = nn_lower_i32_at(lower, NN_STRIDED_STRIDES, d),
            .ignores_begin = begin_mask >> d & 1,
            .ignores_end = end_mask >> d & 1,
        };
        int32_t begin;
        uint32_t n;

        if (!nn_slice_range(&slice, input->dims[d], &begin, &n))
            return nn_lower_refuse(lower, "the stride of dimension %u is 0", d);
        nest->in_first += begin * strides[d];
        nn_strided_add(nest, n, slice.stride * strides[d]);
    }
    return 0;
}

static int lower_tile(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    int64_t strides[NNHAL_MAX_RANK];
    struct nn_strided *nest = begin_nest(lower, strides);

    for (uint32_t d = 0; d < input->n_dims; d++) {
        nn_strided_add(nest, lower->outputs[0].dims[d] / input->dims[d], 0);
        nn_strided_add(nest, input->dims[d], strides[d]);
    }
    return 0;
}

static int lower_reverse(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    uint32_t axis = (uint32_t)nn_lower_i32_at(lower, 1, 0);
    int64_t strides[NNHAL_MAX_RANK];
    struct nn_strided *nest = begin_nest(lower, strides);

    nest->in_first = (int64_t)(input->dims[axis] - 1) * strides[axis];
    for (uint32_t d = 0; d < input->n_dims; d++)
        nn_strided_add(nest, input->dims[d], d == axis ? -strides[d] : strides[d]);
    return 0;
}

/* Channels in g groups of k become k groups of g. */
static int lower_channel_shuffle(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    uint32_t axis = nn_lower_axis(lower, NN_SHUFFLE_AXIS, input->n_dims);
    uint32_t n_groups = (uint32_t)nn_lower_i32(lower, NN_SHUFFLE_GROUPS, 1);
    uint32_t group = input->dims[axis] / n_groups;
    int64_t strides[NNHAL_MAX_RANK];
    struct nn_strided *nest = begin_nest(lower, strides);

    for (uint32_t d = 0; d < input->n_dims; d++) {
        if (d != axis) {
            nn_strided_add(nest, input->dims[d], strides[d]);
            continue;
        }
        nn_strided_add(nest, group, strides[d]);
        nn_strided_add(nest, n_groups, group * strides[d]);
    }
    return 0;
}

/* ---- space, depth and batch ---- */

/* The strides and sizes of an image's dimensions by their meaning. */
struct image_dims {
    bool is_nchw;
    uint32_t n_n, n_h, n_w, n_c;
    int64_t n, h, w, c;
};

static void read_image(uint32_t n_dims, const uint32_t *dims, bool is_nchw, struct image_dims *ret)
{
    uint32_t h = is_nchw ? 2 : 1, c = is_nchw ? 1 : 3;
    int64_t strides[NNHAL_MAX_RANK];

    nn_dims_strides(n_dims, dims, strides);
    *ret = (struct image_dims){.is_nchw = is_nchw,
                               .n_n = dims[0],
                               .n_h = dims[h],
                               .n_w = dims[h + 1],
                               .n_c = dims[c],
                               .n = strides[0],
                               .h = strides[h],
                               .w = strides[h + 1],
                               .c = strides[c]};
}

struct nest_loop {
    uint32_t n;
    int64_t step;
};

/* Adds the loops of an output image in the order of its layout; height, width
 * and channels are up to three loops each. */
static void add_image(struct nn_strided *nest, bool is_nchw, const struct nest_loop n[3],
                      const struct nest_loop h[2], const struct nest_loop w[2],
                      const struct nest_loop c[3])
{
    for (uint32_t i = 0; i < 3; i++)
        nn_strided_add(nest, n[i].n, n[i].step);
    for (uint32_t i = 0; is_nchw && i < 3; i++)
        nn_strided_add(nest, c[i].n, c[i].step);
    for (uint32_t i = 0; i < 2; i++)
        nn_strided_add(nest, h[i].n, h[i].step);
    for (uint32_t i = 0; i < 2; i++)
        nn_strided_add(nest, w[i].n, w[i].step);
    for (uint32_t i = 0; !is_nchw && i < 3; i++)
        nn_strided_add(nest, c[i].n, c[i].step);
}

#define NO_LOOP                                                                                    \
    {                                                                                              \
        1, 0                                                                                       \
    }

static int lower_depth_to_space(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    uint32_t block = (uint32_t)nn_lower_i32(lower, NN_SPACE_BLOCK, 1);
    struct nn_strided *nest = lower->params;
    struct image_dims in;
    uint32_t n_c;

    nn_strided_init(nest, nn_type_bytes(input->type));
    read_image(4, input->dims, nn_lower_bool(lower, NN_SPACE_LAYOUT, false), &in);
    n_c = in.n_c / (block * block);
    add_image(nest, in.is_nchw, (struct nest_loop[3]){NO_LOOP, NO_LOOP, {in.n_n, in.n}},
              (struct nest_loop[2]){{in.n_h, in.h}, {block, (int64_t)block * n_c * in.c}},
              (struct nest_loop[2]){{in.n_w, in.w}, {block, n_c * in.c}},
              (struct nest_loop[3]){NO_LOOP, NO_LOOP, {n_c, in.c}});
    return 0;
}

static int lower_space_to_depth(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    uint32_t block = (uint32_t)nn_lower_i32(lower, NN_SPACE_BLOCK, 1);
    struct nn_strided *nest = lower->params;
    struct image_dims in;

    nn_strided_init(nest, nn_type_bytes(input->type));
    read_image(4, input->dims, nn_lower_bool(lower, NN_SPACE_LAYOUT, false), &in);
    add_image(nest, in.is_nchw, (struct nest_loop[3]){NO_LOOP, NO_LOOP, {in.n_n, in.n}},
              (struct nest_loop[2]){NO_LOOP, {in.n_h / block, block * in.h}},
              (struct nest_loop[2]){NO_LOOP, {in.n_w / block, block * in.w}},
              (struct nest_loop[3]){{block, in.h}, {block, in.w}, {in.n_c, in.c}});
    return 0;
}

static int lower_batch_to_space(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    uint32_t block_h = (uint32_t)nn_lower_i32_at(lower, NN_SPACE_BLOCK, 0);
    uint32_t block_w = (uint32_t)nn_lower_i32_at(lower, NN_SPACE_BLOCK, 1);
    struct nn_strided *nest = lower->params;
    struct image_dims in;
    uint32_t n_n;

    nn_strided_init(nest, nn_type_bytes(input->type));
    read_image(4, input->dims, nn_lower_bool(lower, NN_SPACE_LAYOUT, false), &in);
    n_n = in.n_n / (block_h * block_w);
    add_image(nest, in.is_nchw, (struct nest_loop[3]){NO_LOOP, NO_LOOP, {n_n, in.n}},
              (struct nest_loop[2]){{in.n_h, in.h}, {block_h, (int64_t)block_w * n_n * in.n}},
              (struct nest_loop[2]){{in.n_w, in.w}, {block_w, n_n * in.n}},
              (struct nest_loop[3]){NO_LOOP, NO_LOOP, {in.n_c, in.c}});
    return 0;
}

/* With margins, the padded image is made in scratch first. */
struct space_to_batch_params {
    struct nn_strided nest;
    uint32_t before[4], after[4];
};

static bool has_margins(const struct space_to_batch_params *params)
{
    for (uint32_t d = 0; d < 4; d++)
        if (params->before[d] || params->after[d])
            return true;
    return false;
}

static int lower_space_to_batch(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[0];
    uint32_t block_h = (uint32_t)nn_lower_i32_at(lower, NN_SPACE_BLOCK, 0);
    uint32_t block_w = (uint32_t)nn_lower_i32_at(lower, NN_SPACE_BLOCK, 1);
    bool is_nchw = nn_lower_bool(lower, NN_SPACE_TO_BATCH_LAYOUT, false);
    struct space_to_batch_params *params = lower->params;
    uint32_t dims[4], h = is_nchw ? 2 : 1;
    struct image_dims in;

    memcpy(dims, input->dims, sizeof(dims));
    for (uint32_t i = 0; i < 2; i++) {
        params->before[h + i] = (uint32_t)nn_lower_i32_at(lower, NN_SPACE_TO_BATCH_PADDINGS, 2 * i);
        params->after[h + i] = (uint32_t)nn_lower_i32_at(lower, NN_SPACE_TO_BATCH_PADDINGS,
                                                         2 * i + 1);
        dims[h + i] += params->before[h + i] + params->after[h + i];
    }
    nn_strided_init(&params->nest, nn_type_bytes(input->type));
    read_image(4, dims, is_nchw, &in);
    add_image(&params->nest, is_nchw,
              (struct nest_loop[3]){{block_h, in.h}, {block_w, in.w}, {in.n_n, in.n}},
              (struct nest_loop[2]){NO_LOOP, {in.n_h / block_h, block_h * in.h}},
              (struct nest_loop[2]){NO_LOOP, {in.n_w / block_w, block_w * in.w}},
              (struct nest_loop[3]){NO_LOOP, NO_LOOP, {in.n_c, in.c}});
    return 0;
}

/* ---- running a nest ---- */

struct strided_job {
    const struct nn_strided *nest;
    const void *in;
    void *out;
    struct nn_stop *stop;
};

static void copy_rounds(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct strided_job *job = ctx;
    struct nn_pace pace = nn_pace(job->stop);

    nn_strided_copy(job->nest, begin, end, job->in, job->out, &pace);
}

static void run_nest(const struct nn_kernel_args *args, const struct nn_strided *nest,
                     const void *in)
{
    struct strided_job job = {nest, in, args->outputs[0].data, args->stop};
    size_t n_rounds = nn_strided_rounds(nest);
    size_t cost = args->outputs[0].size / nest->element_bytes / (n_rounds ? n_rounds : 1);

    nn_parallel_for(args, n_rounds, cost + 1, copy_rounds, &job);
}

static int nn_strided__c(const struct nn_kernel_args *args)
{
    run_nest(args, args->params, args->inputs[0].data);
    return 0;
}

static bool check_strided(const struct nn_kernel_step *step)
{
    return step->n_inputs >= 1 && step->n_outputs == 1 &&
           nn_strided_fits(step->params, step->inputs[0].size, step->outputs[0].size);
}

static int nn_space_to_batch__c(const struct nn_kernel_args *args)
{
    const struct space_to_batch_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[0];
    uint32_t element_bytes = params->nest.element_bytes;
    struct nn_pad pad = {.rank = 4, .element_bytes = element_bytes};
    /* Zero, in the tensor's quantization; of a float all bytes are 0. */
    uint8_t zero[4] = {element_bytes == 1 ? (uint8_t)input->zero_point : 0};

    if (!has_margins(params)) {
        run_nest(args, &params->nest, input->data);
        return 0;
    }
    for (uint32_t d = 0; d < 4; d++) {
        pad.dims[d] = input->dims[d];
        pad.before[d] = params->before[d];
        pad.after[d] = params->after[d];
    }
    nn_pad_finish(&pad);
    nn_pad_value(args, &pad, zero, element_bytes, input->data, args->scratch);
    run_nest(args, &params->nest, args->scratch);
    return 0;
}

static bool check_space_to_batch(const struct nn_kernel_step *step)
{
    const struct space_to_batch_params *p = step->params;
    uint64_t n_bytes = p->nest.element_bytes;

    if (step->n_inputs < 3 || step->n_outputs != 1 || step->inputs[0].n_dims != 4 ||
        n_bytes != nn_type_bytes(step->inputs[0].type))
        return false;
    for (uint32_t d = 0; d < 4; d++)
        if (__builtin_mul_overflow(
                n_bytes, (uint64_t)p->before[d] + step->inputs[0].dims[d] + p->after[d], &n_bytes))
            return false;
    /* The padded image has the bytes of the output, which is what scratch has. */
    return n_bytes == step->outputs[0].size &&
           nn_strided_fits(&p->nest, n_bytes, step->outputs[0].size);
}

/* The padded image has the bytes of the output. */
static bool find_space_to_batch_scratch(const struct nn_kernel_step *step,
                                        struct nn_kernel_scratch *ret)
{
    ret->bytes = has_margins(step->params) ? step->outputs[0].size : 0;
    return true;
}

/* ---- the table ---- */

#define COPY(head, values)                                                                         \
    {                                                                                              \
        head, .needs_value = (values), .in_place = 1, .run = nn_copy__c, .check = check_copy       \
    }
#define NEST(op, row_name, values)                                                                 \
    {                                                                                              \
        NN_ROW(#row_name "__c", op), .params_bytes = sizeof(struct nn_strided),                    \
                                     .needs_value = (values), .lower = lower_##row_name,           \
                                     .run = nn_strided__c, .check = check_strided                  \
    }

static const struct nn_kernel kernels[] = {
    COPY(NN_ROW("reshape__c", RESHAPE), 1 << 1),
    COPY(NN_ROW("squeeze__c", SQUEEZE), 1 << 1),
    COPY(NN_ROW("expand_dims__c", EXPAND_DIMS), 0),
    COPY(NN_TFLITE_ROW("bitcast__c", BITCAST), 0),
    {NN_ROW("rank__c", RANK), .run = nn_rank__c},
    {NN_ROW("fill__c", FILL), .needs_value = 1 << 0, .run = nn_fill_value__c},
    NEST(TRANSPOSE, transpose, 1 << 1),
    NEST(SLICE, slice, 1 << 1 | 1 << 2),
    NEST(STRIDED_SLICE, strided_slice, 1 << 1 | 1 << 2 | 1 << 3),
    NEST(TILE, tile, 1 << 1),
    NEST(REVERSE, reverse, 1 << 1),
    NEST(CHANNEL_SHUFFLE, channel_shuffle, 0),
    NEST(DEPTH_TO_SPACE, depth_to_space, 0),
    NEST(SPACE_TO_DEPTH, space_to_depth, 0),
    NEST(BATCH_TO_SPACE_ND, batch_to_space, 1 << 1),
    {NN_ROW("space_to_batch__c", SPACE_TO_BATCH_ND),
     .params_bytes = sizeof(struct space_to_batch_params), .needs_value = 1 << 1 | 1 << 2,
     .lower = lower_space_to_batch, .run = nn_space_to_batch__c, .check = check_space_to_batch,
     .find_scratch = find_space_to_batch_scratch},
};
NN_KERNEL_FAMILY(shape, kernels);
