/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - the rules of requests */
#include "model/validate.h"

#include "model/copy.h"
#include "model/infer.h"

#include "base/arith.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* -- what is kept of a model -- */

static int copy_side(struct nnhal_operand **ret, const struct nnhal_subgraph *subgraph, uint32_t n,
                     const uint32_t *indexes, struct nn_arena *arena)
{
    struct nnhal_operand *operands = nn_arena_new_n(arena, struct nnhal_operand, n);

    if (!operands)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n; i++) {
        int r = nn_operand_copy(&operands[i], &subgraph->operands[indexes[i]], arena);

        if (r < 0)
            return nn_error_trace(r);
        operands[i].lifetime = 0;
        operands[i].location = (struct nnhal_data_location){.length = 0};
    }
    *ret = operands;
    return 0;
}

int nn_model_io_init(struct nn_model_io *io, const struct nnhal_model *model,
                     struct nn_arena *arena)
{
    const struct nnhal_subgraph *main = &model->main;
    int r;

    memset(io, 0, sizeof(*io));
    r = copy_side(&io->inputs, main, main->n_input_indexes, main->input_indexes, arena);
    if (r == 0)
        r = copy_side(&io->outputs, main, main->n_output_indexes, main->output_indexes, arena);
    if (r < 0)
        return nn_error_trace(r);
    io->n_inputs = main->n_input_indexes;
    io->n_outputs = main->n_output_indexes;
    return 0;
}

static void size_side(uint32_t n, struct nnhal_operand *operands,
                      uint32_t (*size_of)(const void *ctx, uint32_t type), const void *ctx)
{
    for (uint32_t i = 0; i < n; i++)
        if (nn_type_is_extension(operands[i].type))
            operands[i].location.length = size_of(ctx, operands[i].type);
}

void nn_model_io_size_extensions(struct nn_model_io *io,
                                 uint32_t (*size_of)(const void *ctx, uint32_t type),
                                 const void *ctx)
{
    size_side(io->n_inputs, io->inputs, size_of, ctx);
    size_side(io->n_outputs, io->outputs, size_of, ctx);
}

bool nn_io_bytes(const struct nnhal_operand *operand, uint32_t n_dimensions,
                 const uint32_t *dimensions, uint64_t *ret_bytes)
{
    uint64_t count;

    if (!nn_type_is_extension(operand->type))
        return nn_operand_bytes(operand->type, n_dimensions, dimensions, ret_bytes);
    return nn_dims_product(n_dimensions, dimensions, &count) &&
           nn_mul_u64(count, operand->location.length, ret_bytes) && *ret_bytes <= UINT32_MAX;
}

bool nn_request_dims(const struct nnhal_operand *operand,
                     const struct nnhal_request_argument *argument, uint32_t *ret_n, uint32_t *ret)
{
    if (operand->n_dimensions > NNHAL_MAX_RANK || argument->n_dimensions > NNHAL_MAX_RANK)
        return false;
    if (argument->n_dimensions != 0 && nn_type_is_scalar(operand->type))
        return false;
    return nn_dims_merge(operand->n_dimensions, operand->dimensions, argument->n_dimensions,
                         argument->dimensions, ret_n, ret);
}

/* -- one argument -- */

struct request_check {
    const struct nnhal_request *request;
    const struct nn_request_pool_info *pools;
    unsigned flags;
    struct nn_why *why;
};

static int check_no_value(struct request_check *check,
                          const struct nnhal_request_argument *argument)
{
    const struct nnhal_data_location *location = &argument->location;

    if (argument->n_dimensions == 0 && location->pool_index == 0 && location->offset == 0 &&
        location->length == 0 && location->padding == 0)
        return 0;
    return nn_refuse(check->why, "an omitted argument has no location and no dimensions");
}

static int check_location(struct request_check *check, const struct nnhal_data_location *location)
{
    const struct nn_request_pool_info *pool;
    uint64_t n_bytes;

    if (location->pool_index >= check->request->n_pools)
        return nn_refuse(check->why, "it lies in pool %u, there are %u", location->pool_index,
                         check->request->n_pools);
    pool = &check->pools[location->pool_index];
    if (pool->is_buffer || pool->size == UINT64_MAX) {
        if (location->offset == 0 && location->length == 0 && location->padding == 0)
            return 0;
        return nn_refuse(check->why,
                         "pool %u is used as a whole: offset, length and padding "
                         "must be 0",
                         location->pool_index);
    }
    if (location->length == 0)
        return nn_refuse(check->why, "its length is 0");
    if (!nn_add_u64(location->length, location->padding, &n_bytes) ||
        !nn_range_fits(location->offset, n_bytes, pool->size))
        return nn_refuse(check->why,
                         "offset %llu, length %llu and padding %llu are beyond the "
                         "%llu bytes of pool %u",
                         (unsigned long long)location->offset, (unsigned long long)location->length,
                         (unsigned long long)location->padding, (unsigned long long)pool->size,
                         location->pool_index);
    return 0;
}

/* check_shape() - the shape agrees with the model's, is as complete as it must be, and with the
 * length. */
static int check_shape(struct request_check *check, const struct nnhal_operand *operand,
                       const struct nnhal_request_argument *argument, bool is_output)
{
    uint32_t n, dimensions[NNHAL_MAX_RANK];
    bool is_buffer = check->pools[argument->location.pool_index].is_buffer;
    bool is_known;
    uint64_t n_bytes, length = argument->location.length;

    if (!nn_request_dims(operand, argument, &n, dimensions))
        return nn_refuse(check->why, "its dimensions contradict the model's");
    is_known = nn_dims_known(operand->type, n, dimensions);
    if (!is_known && !is_output && !is_buffer)
        return nn_refuse(check->why, "its dimensions must all be known and above 0");
    if (!is_known && is_output && (check->flags & NN_REQUEST_FENCED))
        return nn_refuse(check->why, "its dimensions must all be known in a fenced execution");
    if (!nn_io_bytes(operand, n, dimensions, &n_bytes))
        return nn_refuse(check->why, "its size does not fit 32 bits");
    if (!is_known || length == 0 || length == n_bytes)
        return 0;
    if (nn_type_bytes(operand->type) == 0 && operand->location.length == 0)
        return 0; /* only the type's owner knows */
    return nn_refuse(check->why, "it has %llu bytes, its dimensions need %llu",
                     (unsigned long long)length, (unsigned long long)n_bytes);
}

static int check_argument(struct request_check *check, const struct nnhal_operand *operand,
                          const struct nnhal_request_argument *argument, bool is_output)
{
    int r;

    if (argument->has_no_value > 1)
        return nn_refuse(check->why, "has_no_value is %u, it must be 0 or 1",
                         argument->has_no_value);
    if (argument->has_no_value)
        return check_no_value(check, argument);
    r = check_location(check, &argument->location);
    return r != 0 ? r : check_shape(check, operand, argument, is_output);
}

static int check_side(struct request_check *check, uint32_t n_model,
                      const struct nnhal_operand *operands, uint32_t n,
                      const struct nnhal_request_argument *arguments, bool is_output)
{
    const char *what = is_output ? "output" : "input";

    if (n != n_model)
        return nn_refuse(check->why, "the request has %u %ss, the model %u", n, what, n_model);
    for (uint32_t i = 0; i < n; i++)
        if (check_argument(check, &operands[i], &arguments[i], is_output) != 0)
            return nn_why_prefix(check->why, "%s %u: ", what, i);
    return 0;
}

/* -- outputs that overlap something -- */

struct span {
    uint64_t memory;
    uint64_t begin;
    uint64_t end;
    uint32_t argument;
    bool is_output;
};

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->memory != y->memory)
        return x->memory < y->memory ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static size_t add_spans(const struct request_check *check,
                        const struct nnhal_request_argument *arguments, uint32_t n, bool is_output,
                        struct span *spans)
{
    size_t n_spans = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct nnhal_data_location *location = &arguments[i].location;

        /* The admission of buffers is their owner's affair. */
        if (arguments[i].has_no_value || check->pools[location->pool_index].is_buffer)
            continue;
        spans[n_spans++] = (struct span){
            .memory = check->request->pools[location->pool_index].memory,
            .begin = location->offset,
            /* A memory that is used as a whole has length 0. */
            .end = location->offset + (location->length ? location->length : 1),
            .argument = i,
            .is_output = is_output,
        };
    }
    return n_spans;
}

/* check_sorted() - in order of memory and begin, a span overlaps an earlier one if it begins before
 * the farthest end so far. Inputs may overlap inputs. */
static int check_sorted(struct request_check *check, const struct span *spans, size_t n)
{
    uint64_t end_of_any = 0, end_of_outputs = 0;

    for (size_t i = 0; i < n; i++) {
        const struct span *span = &spans[i];

        if (i == 0 || spans[i - 1].memory != span->memory)
            end_of_any = end_of_outputs = 0;
        if (span->begin < (span->is_output ? end_of_any : end_of_outputs))
            return nn_refuse(check->why, "%s %u overlaps %s in the same memory",
                             span->is_output ? "output" : "input", span->argument,
                             span->is_output ? "another argument" : "an output");
        if (end_of_any < span->end)
            end_of_any = span->end;
        if (span->is_output && end_of_outputs < span->end)
            end_of_outputs = span->end;
    }
    return 0;
}

static int check_overlaps(struct request_check *check, struct nn_arena *arena)
{
    const struct nnhal_request *request = check->request;
    struct span *spans;
    size_t n;

    spans = nn_arena_new_n(arena, struct span, (size_t)request->n_inputs + request->n_outputs);
    if (!spans)
        return nn_error_origin(-ENOMEM);
    n = add_spans(check, request->inputs, request->n_inputs, false, spans);
    n += add_spans(check, request->outputs, request->n_outputs, true, spans + n);
    if (n > 0)
        qsort(spans, n, sizeof(*spans), compare_spans);
    return check_sorted(check, spans, n);
}

int nn_request_validate(const struct nn_model_io *io, const struct nnhal_request *request,
                        const struct nn_request_pool_info *pools, unsigned flags,
                        struct nn_arena *arena, struct nn_why *why)
{
    struct request_check check = {.request = request, .pools = pools, .flags = flags, .why = why};
    int r;

    if (request->n_pools > NNHAL_MAX_POOLS)
        return nn_refuse(why, "the request has %u pools, at most %d are supported",
                         request->n_pools, NNHAL_MAX_POOLS);
    r = check_side(&check, io->n_inputs, io->inputs, request->n_inputs, request->inputs, false);
    if (r == 0)
        r = check_side(&check, io->n_outputs, io->outputs, request->n_outputs, request->outputs,
                       true);
    if (r == 0)
        r = check_overlaps(&check, arena);
    return r;
}
