/* SPDX-License-Identifier: Apache-2.0 */
/* CONCATENATION, PACK, SPLIT, plain C (variant.h). One item of work is one part.
 *
 * Along the axis, every tensor contributes a run of bytes to each row of the
 * whole: row r of the whole is run r of the first tensor, then run r of the
 * second, and so on. A quantized tensor whose parameters differ from the
 * whole's is translated by a table of 256 codes on the way. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/lut.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/round.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/operands.h"

struct join_params {
    uint32_t axis; /* of the whole; PACK: of the parts, where the new dimension goes */
};

static int lower_concatenation(struct nn_lower *lower)
{
    struct join_params *params = lower->params;

    params->axis = (uint32_t)nn_lower_i32(lower, lower->n_inputs - 1, 0);
    return 0;
}

static int lower_pack(struct nn_lower *lower)
{
    struct join_params *params = lower->params;

    params->axis = (uint32_t)nn_lower_i32(lower, 0, 0);
    return 0;
}

static int lower_split(struct nn_lower *lower)
{
    struct join_params *params = lower->params;

    params->axis = nn_lower_axis(lower, NN_SPLIT_AXIS, lower->inputs[0].n_dims);
    return 0;
}

struct concat_job {
    const struct nn_tensor *parts;
    const struct nn_tensor *whole;
    size_t n_rows; /* of the whole, and runs of each part */
    struct nn_stop *stop;
};

static struct concat_job make_job(const struct nn_kernel_args *args, const struct nn_tensor *parts,
                                  const struct nn_tensor *whole)
{
    const struct join_params *params = args->params;

    return (struct concat_job){parts, whole, nn_dims_count(parts->dims, 0, params->axis),
                               args->stop};
}

/* Where part i begins in a row, bytes. */
static size_t part_offset(const struct concat_job *job, size_t i)
{
    size_t offset = 0;

    for (size_t j = 0; j < i; j++)
        offset += job->parts[j].size / job->n_rows;
    return offset;
}

/* Equal parameters, equal codes: then runs are only copied. Codes of 16 bits always are, as in
 * TensorFlow Lite. */
static bool needs_table(const struct nn_tensor *part, const struct nn_tensor *whole)
{
    return nn_type_bytes(part->type) == 1 && nn_type_is_quantized(part->type) &&
           (part->scale != whole->scale || part->zero_point != whole->zero_point);
}

/* Codes of the part to codes of the whole, as the reference of CONCATENATION does it, in
 * single precision. */
static void make_table(const struct nn_tensor *part, const struct nn_tensor *whole,
                       uint8_t table[256])
{
    /* A signed code is the unsigned one of zero point + 128, less 128. */
    const int shift = part->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED ? 128 : 0;
    const float factor = part->scale * (1.0f / whole->scale);
    const float bias = (float)-(part->zero_point + shift) * factor;
    const int zero_point = whole->zero_point + shift;

    for (int byte = 0; byte < 256; byte++) {
        float value = (float)(byte ^ shift) * factor + bias;

        /* What is no number, of a factor without end, becomes the lowest code. */
        value = value > -1000.0f ? value : -1000.0f;
        value = value < 1000.0f ? value : 1000.0f;
        table[byte] = (uint8_t)(nn_clamp_i32(nn_round_near(value) + zero_point, 0, 255) ^ shift);
    }
}

/* Runs of bytes, one in each row, from here to there. */
struct runs {
    size_t n_rows, run_bytes;
    size_t from_step, to_step; /* from one run to the next */
    struct nn_stop *stop;
};

NN_INLINE void copy_runs_of(size_t run_bytes, const struct runs *runs, const char *from, char *to)
{
    struct nn_pace pace = nn_pace(runs->stop);

    for (size_t i = 0; i < runs->n_rows && !nn_pace_ends(&pace, 2 + run_bytes / 8);
         i++, from += runs->from_step, to += runs->to_step)
        nn_pace_copy(&pace, to, from, run_bytes);
}

/* Runs of few channels are shorter than a call of memcpy(): with a constant size there is none. */
static void copy_runs(const struct runs *runs, const char *from, char *to)
{
    switch (runs->run_bytes) {
    case 1:
        return copy_runs_of(1, runs, from, to);
    case 2:
        return copy_runs_of(2, runs, from, to);
    case 3:
        return copy_runs_of(3, runs, from, to);
    case 4:
        return copy_runs_of(4, runs, from, to);
    case 8:
        return copy_runs_of(8, runs, from, to);
    case 16:
        return copy_runs_of(16, runs, from, to);
    default:
        return copy_runs_of(runs->run_bytes, runs, from, to);
    }
}

static void translate_run(const struct nn_lut *lut, const struct runs *runs, const uint8_t *from,
                          uint8_t *to, struct nn_pace *pace)
{
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, runs->run_bytes, 1, &part);)
        nn_lut_codes(lut, from + part.begin, to + part.begin, part.end - part.begin);
}

static void translate_runs(const struct runs *runs, const uint8_t table[256], const uint8_t *from,
                           uint8_t *to)
{
    const struct nn_lut lut = nn_lut(table);
    struct nn_pace pace = nn_pace(runs->stop);

    for (size_t i = 0; i < runs->n_rows && !nn_pace_ends(&pace, 2);
         i++, from += runs->from_step, to += runs->to_step)
        translate_run(&lut, runs, from, to, &pace);
}

static void join_parts(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct concat_job *job = ctx;
    const struct nn_tensor *whole = job->whole;
    char *to = (char *)whole->data + part_offset(job, begin);

    for (size_t i = begin; i < end; i++) {
        const struct nn_tensor *part = &job->parts[i];
        size_t run_bytes = part->size / job->n_rows;
        struct runs runs = {job->n_rows, run_bytes, run_bytes, whole->size / job->n_rows,
                            job->stop};
        uint8_t table[256];

        if (part->size == 0)
            continue;
        if (!needs_table(part, whole)) {
            copy_runs(&runs, part->data, to);
        } else {
            make_table(part, whole, table);
            translate_runs(&runs, table, part->data, (uint8_t *)to);
        }
        to += run_bytes;
    }
}

static int run_join(const struct nn_kernel_args *args, const struct nn_tensor *parts,
                    size_t n_parts)
{
    struct concat_job job = make_job(args, parts, &args->outputs[0]);

    nn_parallel_for(args, n_parts, 1 + args->outputs[0].size / n_parts / 4, join_parts, &job);
    return 0;
}

static int nn_concatenation(const struct nn_kernel_args *args)
{
    return run_join(args, args->inputs, args->n_inputs - 1);
}

static int nn_pack(const struct nn_kernel_args *args)
{
    return run_join(args, args->inputs + 1, args->n_inputs - 1);
}

static void split_parts(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct concat_job *job = ctx;
    size_t run_bytes = job->parts->size / job->n_rows;
    struct runs runs = {job->n_rows, run_bytes, job->whole->size / job->n_rows, run_bytes,
                        job->stop};

    for (size_t i = begin; i < end; i++)
        copy_runs(&runs, (const char *)job->whole->data + i * run_bytes, job->parts[i].data);
}

static int nn_split(const struct nn_kernel_args *args)
{
    struct concat_job job = make_job(args, args->outputs, &args->inputs[0]);

    nn_parallel_for(args, args->n_outputs, 1 + args->inputs[0].size / args->n_outputs / 4,
                    split_parts, &job);
    return 0;
}

/* The axis must exist, and the parts must be the whole. */
static bool check_parts(const void *params, const struct nn_tensor *parts, uint32_t n_parts,
                        const struct nn_tensor *whole)
{
    const struct join_params *p = params;
    uint64_t n_bytes = 0, n_rows;

    if (p->axis > parts[0].n_dims)
        return false;
    n_rows = nn_dims_count(parts[0].dims, 0, p->axis);
    for (uint32_t i = 0; i < n_parts; i++) {
        if (n_rows == 0 || parts[i].size % n_rows)
            return false;
        n_bytes += parts[i].size;
    }
    return n_bytes == whole->size;
}

static bool check_join(const struct nn_kernel_step *step)
{
    return step->n_inputs >= 2 && step->n_outputs == 1 &&
           check_parts(step->params, step->inputs, step->n_inputs - 1, step->outputs);
}

static bool check_pack(const struct nn_kernel_step *step)
{
    return step->n_inputs >= 2 && step->n_outputs == 1 &&
           check_parts(step->params, step->inputs + 1, step->n_inputs - 1, step->outputs);
}

static bool check_split(const struct nn_kernel_step *step)
{
    if (step->n_inputs != 3 || step->n_outputs == 0)
        return false;
    for (uint32_t i = 1; i < step->n_outputs; i++)
        if (step->outputs[i].size != step->outputs[0].size)
            return false;
    return check_parts(step->params, step->outputs, step->n_outputs, step->inputs);
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("concatenation", CONCATENATION), .params_bytes = sizeof(struct join_params),
     .lower = lower_concatenation, .run = nn_concatenation, .check = check_join},
    {NN_VARIANT_ROW("pack", PACK), .params_bytes = sizeof(struct join_params), .lower = lower_pack,
     .run = nn_pack, .check = check_pack},
    {NN_VARIANT_ROW("split", SPLIT), .params_bytes = sizeof(struct join_params),
     .lower = lower_split, .run = nn_split, .check = check_split},
};
NN_VARIANT_FAMILY(concat, kernels);
