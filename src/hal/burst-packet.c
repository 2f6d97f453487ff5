/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/burst-packet.h"

#include "base/arena.h"
#include "base/error.h"
#include "shm/ring.h"

#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(struct nnhal_fmq_request_datum) == 48, "hal/types.hal");
_Static_assert(sizeof(struct nnhal_fmq_result_datum) == 32, "hal/types.hal");
_Static_assert(offsetof(struct nnhal_fmq_request_datum, sequence) == 4, "take_run");
_Static_assert(offsetof(struct nnhal_fmq_result_datum, sequence) == 4, "take_run");

/* Inputs and outputs have the same fields under two names. */
#define SAME_OFFSET(field)                                                                         \
    _Static_assert(                                                                                \
        offsetof(struct nnhal_fmq_request_datum, of.input_operand_information.field) ==            \
            offsetof(struct nnhal_fmq_request_datum, of.output_operand_information.field),         \
        "hal/types.hal")
SAME_OFFSET(has_no_value);
SAME_OFFSET(n_dimensions);
SAME_OFFSET(pool_index);
SAME_OFFSET(offset);
SAME_OFFSET(length);

/* -- encoding -------------------------------------------------------------- */

/* Elements in the making. Counting goes on when there is no room. */
struct request_writer {
    struct nnhal_fmq_request_datum *data;
    uint32_t n_room;
    uint64_t n;
    uint32_t sequence;
};

static void append_request_datum(struct request_writer *writer,
                                 struct nnhal_fmq_request_datum datum, uint32_t kind)
{
    datum.kind = kind;
    datum.sequence = writer->sequence;
    if (writer->n < writer->n_room)
        writer->data[writer->n] = datum;
    writer->n++;
}

/* kind: of the argument; its dimensions have the next one. */
static int encode_argument(struct request_writer *writer,
                           const struct nnhal_request_argument *argument, uint32_t kind)
{
    const struct nnhal_data_location *location = &argument->location;
    struct nnhal_fmq_request_datum datum = {0};

    if (location->padding || location->reserved || argument->has_no_value > 1 ||
        argument->n_dimensions > NNHAL_MAX_RANK)
        return NN_BURST_E_CANNOT;
    datum.of.input_operand_information.has_no_value = argument->has_no_value;
    datum.of.input_operand_information.n_dimensions = argument->n_dimensions;
    datum.of.input_operand_information.pool_index = location->pool_index;
    datum.of.input_operand_information.offset = location->offset;
    datum.of.input_operand_information.length = location->length;
    append_request_datum(writer, datum, kind);
    for (uint32_t i = 0; i < argument->n_dimensions; i++) {
        struct nnhal_fmq_request_datum dimension = {0};

        dimension.of.input_operand_dimension_value.dimension = argument->dimensions[i];
        append_request_datum(writer, dimension, kind + 1);
    }
    return 0;
}

static void encode_pools_and_end(struct request_writer *writer,
                                 const struct nn_burst_request *request)
{
    struct nnhal_fmq_request_datum end = {0};

    for (uint32_t i = 0; i < request->n_pools; i++) {
        struct nnhal_fmq_request_datum datum = {0};

        datum.of.pool_identifier.slot = request->pools[i].slot;
        datum.of.pool_identifier.token = request->pools[i].token;
        append_request_datum(writer, datum, NNHAL_FMQ_REQUEST_POOL_IDENTIFIER);
    }
    end.of.measure_timing.measure = request->measure;
    end.of.measure_timing.deadline_ns = request->deadline_ns;
    end.of.measure_timing.loop_timeout_ns = request->loop_timeout_ns;
    append_request_datum(writer, end, NNHAL_FMQ_REQUEST_MEASURE_TIMING);
}

int nn_burst_request_encode(const struct nn_burst_request *request,
                            struct nnhal_fmq_request_datum *data, uint32_t n_room,
                            uint32_t *ret_n_data)
{
    struct request_writer writer = {.data = data, .n_room = n_room, .sequence = request->sequence};
    struct nnhal_fmq_request_datum first = {0};
    int r = 0;

    if (request->n_inputs > NNHAL_MAX_ARGUMENTS || request->n_outputs > NNHAL_MAX_ARGUMENTS ||
        request->n_pools > NNHAL_MAX_POOLS || request->measure > 1)
        return NN_BURST_E_CANNOT;
    first.of.packet_information.n_inputs = request->n_inputs;
    first.of.packet_information.n_outputs = request->n_outputs;
    first.of.packet_information.n_pools = request->n_pools;
    append_request_datum(&writer, first, NNHAL_FMQ_REQUEST_PACKET_INFORMATION);
    for (uint32_t i = 0; i < request->n_inputs && r == 0; i++)
        r = encode_argument(&writer, &request->inputs[i],
                            NNHAL_FMQ_REQUEST_INPUT_OPERAND_INFORMATION);
    for (uint32_t i = 0; i < request->n_outputs && r == 0; i++)
        r = encode_argument(&writer, &request->outputs[i],
                            NNHAL_FMQ_REQUEST_OUTPUT_OPERAND_INFORMATION);
    if (r != 0)
        return r;
    encode_pools_and_end(&writer, request);
    if (writer.n > n_room)
        return NN_BURST_E_TOO_LONG;
    data[0].of.packet_information.packet_size = (uint32_t)writer.n;
    *ret_n_data = (uint32_t)writer.n;
    return 0;
}

static bool has_shapes(uint32_t status)
{
    return status == NNHAL_NONE || status == NNHAL_OUTPUT_INSUFFICIENT_SIZE;
}

struct result_writer {
    struct nnhal_fmq_result_datum *data;
    uint32_t n_room;
    uint64_t n;
    uint32_t sequence;
};

static void append_result_datum(struct result_writer *writer, struct nnhal_fmq_result_datum datum,
                                uint32_t kind)
{
    datum.kind = kind;
    datum.sequence = writer->sequence;
    if (writer->n < writer->n_room)
        writer->data[writer->n] = datum;
    writer->n++;
}

static int encode_shape(struct result_writer *writer, const struct nnhal_output_shape *shape)
{
    struct nnhal_fmq_result_datum datum = {0};

    if (shape->is_sufficient > 1 || shape->n_dimensions > NNHAL_MAX_RANK)
        return NN_BURST_E_CANNOT;
    datum.of.operand_information.is_sufficient = shape->is_sufficient;
    datum.of.operand_information.n_dimensions = shape->n_dimensions;
    append_result_datum(writer, datum, NNHAL_FMQ_RESULT_OPERAND_INFORMATION);
    for (uint32_t i = 0; i < shape->n_dimensions; i++) {
        struct nnhal_fmq_result_datum dimension = {0};

        dimension.of.operand_dimension_value.dimension = shape->dimensions[i];
        append_result_datum(writer, dimension, NNHAL_FMQ_RESULT_OPERAND_DIMENSION_VALUE);
    }
    return 0;
}

/* What a status must not go with. */
static bool is_consistent(const struct nn_burst_result *result)
{
    if (result->status > NNHAL_DEAD_OBJECT || result->n_output_shapes > NNHAL_MAX_ARGUMENTS)
        return false;
    if (result->n_output_shapes && !has_shapes(result->status))
        return false;
    return result->status == NNHAL_NONE || (result->timing.time_on_device_ns == NNHAL_NO_TIME &&
                                            result->timing.time_in_driver_ns == NNHAL_NO_TIME);
}

int nn_burst_result_encode(const struct nn_burst_result *result,
                           struct nnhal_fmq_result_datum *data, uint32_t n_room,
                           uint32_t *ret_n_data)
{
    struct result_writer writer = {.data = data, .n_room = n_room, .sequence = result->sequence};
    struct nnhal_fmq_result_datum first = {0}, last = {0};
    int r = 0;

    if (!is_consistent(result))
        return NN_BURST_E_CANNOT;
    first.of.packet_information.error_status = result->status;
    first.of.packet_information.n_operands = result->n_output_shapes;
    append_result_datum(&writer, first, NNHAL_FMQ_RESULT_PACKET_INFORMATION);
    for (uint32_t i = 0; i < result->n_output_shapes && r == 0; i++)
        r = encode_shape(&writer, &result->output_shapes[i]);
    if (r != 0)
        return r;
    last.of.execution_timing.time_on_device_ns = result->timing.time_on_device_ns;
    last.of.execution_timing.time_in_driver_ns = result->timing.time_in_driver_ns;
    append_result_datum(&writer, last, NNHAL_FMQ_RESULT_EXECUTION_TIMING);
    if (writer.n > n_room)
        return NN_BURST_E_TOO_LONG;
    data[0].of.packet_information.packet_size = (uint32_t)writer.n;
    *ret_n_data = (uint32_t)writer.n;
    return 0;
}

struct nn_burst_result nn_burst_refusal(uint32_t sequence, uint32_t status)
{
    return (struct nn_burst_result){
        .sequence = sequence,
        .status = status,
        .timing = {NNHAL_NO_TIME, NNHAL_NO_TIME},
    };
}

/* -- decoding -------------------------------------------------------------- */

/* Elements yet to be read, of either queue: kind, sequence, words. */
struct datum_reader {
    const uint8_t *next;
    uint32_t n_left;
    uint32_t datum_bytes;
    uint32_t sequence;
};

/* The words of the next element, which must be of this kind and may use only
 * the first n_used_bytes of them. Returns: NULL if it is not so. */
static const void *next_datum(struct datum_reader *reader, uint32_t kind, size_t n_used_bytes)
{
    const struct nnhal_fmq_request_datum *datum = (const void *)reader->next;
    const uint8_t *words = reader->next + offsetof(struct nnhal_fmq_request_datum, of);
    size_t n_bytes = reader->datum_bytes - offsetof(struct nnhal_fmq_request_datum, of);

    if (reader->n_left == 0 || datum->kind != kind || datum->sequence != reader->sequence)
        return NULL;
    for (size_t i = n_used_bytes; i < n_bytes; i++)
        if (words[i] != 0)
            return NULL;
    reader->next += reader->datum_bytes;
    reader->n_left--;
    return words;
}

/* n dimensions of 4 bytes each. Returns: 0, VIOLATION, MEMORY. */
static int decode_dims(struct datum_reader *reader, uint32_t kind, uint32_t n,
                       struct nn_arena *arena, const uint32_t **ret_dimensions)
{
    uint32_t *dimensions;

    *ret_dimensions = NULL;
    if (n == 0)
        return 0;
    if (n > NNHAL_MAX_RANK || n > reader->n_left)
        return NN_BURST_E_VIOLATION;
    dimensions = nn_arena_new_n(arena, uint32_t, n);
    if (!dimensions)
        return NN_BURST_E_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *value = next_datum(reader, kind, sizeof(*value));

        if (!value)
            return NN_BURST_E_VIOLATION;
        dimensions[i] = *value;
    }
    *ret_dimensions = dimensions;
    return 0;
}

static int decode_argument(struct datum_reader *reader, uint32_t kind, struct nn_arena *arena,
                           struct nnhal_request_argument *ret_argument)
{
    typedef __typeof__(((struct nnhal_fmq_request_datum *)0)->of.input_operand_information) info_of;
    const info_of *information = next_datum(reader, kind, sizeof(*information));

    if (!information || information->has_no_value > 1 || information->reserved)
        return NN_BURST_E_VIOLATION;
    ret_argument->has_no_value = information->has_no_value;
    ret_argument->n_dimensions = information->n_dimensions;
    ret_argument->location.pool_index = information->pool_index;
    ret_argument->location.offset = information->offset;
    ret_argument->location.length = information->length;
    return decode_dims(reader, kind + 1, information->n_dimensions, arena,
                       &ret_argument->dimensions);
}

/* n is held against what is left before anything is allocated. */
static int decode_arguments(struct datum_reader *reader, uint32_t kind, uint32_t n,
                            struct nn_arena *arena,
                            const struct nnhal_request_argument **ret_arguments)
{
    struct nnhal_request_argument *arguments;
    int r = 0;

    *ret_arguments = NULL;
    if (n > NNHAL_MAX_ARGUMENTS || n > reader->n_left)
        return NN_BURST_E_VIOLATION;
    arguments = nn_arena_new_n(arena, struct nnhal_request_argument, n);
    if (!arguments)
        return NN_BURST_E_MEMORY;
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = decode_argument(reader, kind, arena, &arguments[i]);
    *ret_arguments = arguments;
    return r;
}

static int decode_pools(struct datum_reader *reader, uint32_t n, struct nn_arena *arena,
                        const struct nn_burst_pool **ret_pools)
{
    struct nn_burst_pool *pools;

    *ret_pools = NULL;
    if (n > NNHAL_MAX_POOLS || n > reader->n_left)
        return NN_BURST_E_VIOLATION;
    pools = nn_arena_new_n(arena, struct nn_burst_pool, n);
    if (!pools)
        return NN_BURST_E_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        const struct nn_burst_pool *pool = next_datum(reader, NNHAL_FMQ_REQUEST_POOL_IDENTIFIER,
                                                      sizeof(*pool));

        /* A slot or a token, not both and not neither. */
        if (!pool || pool->slot < -1 || (pool->slot == -1) != (pool->token != 0))
            return NN_BURST_E_VIOLATION;
        pools[i] = *pool;
    }
    *ret_pools = pools;
    return 0;
}

static int decode_end(struct datum_reader *reader, struct nn_burst_request *request)
{
    typedef __typeof__(((struct nnhal_fmq_request_datum *)0)->of.measure_timing) end_of;
    const end_of *end = next_datum(reader, NNHAL_FMQ_REQUEST_MEASURE_TIMING, sizeof(*end));

    if (!end || end->measure > 1 || end->reserved || reader->n_left)
        return NN_BURST_E_VIOLATION;
    request->measure = end->measure;
    request->deadline_ns = end->deadline_ns;
    request->loop_timeout_ns = end->loop_timeout_ns;
    return 0;
}

int nn_burst_request_decode(const struct nnhal_fmq_request_datum *data, uint32_t n_data,
                            struct nn_arena *arena, struct nn_burst_request *ret_request)
{
    typedef __typeof__(data->of.packet_information) first_of;
    struct datum_reader reader = {.next = (const void *)data,
                                  .n_left = n_data,
                                  .datum_bytes = sizeof(*data),
                                  .sequence = n_data ? data->sequence : 0};
    struct nn_burst_request request = {.sequence = reader.sequence};
    const first_of *first = next_datum(&reader, NNHAL_FMQ_REQUEST_PACKET_INFORMATION,
                                       sizeof(*first));
    int r;

    if (!first || first->packet_size != n_data)
        return NN_BURST_E_VIOLATION;
    request.n_inputs = first->n_inputs;
    request.n_outputs = first->n_outputs;
    request.n_pools = first->n_pools;
    r = decode_arguments(&reader, NNHAL_FMQ_REQUEST_INPUT_OPERAND_INFORMATION, request.n_inputs,
                         arena, &request.inputs);
    if (r == 0)
        r = decode_arguments(&reader, NNHAL_FMQ_REQUEST_OUTPUT_OPERAND_INFORMATION,
                             request.n_outputs, arena, &request.outputs);
    if (r == 0)
        r = decode_pools(&reader, request.n_pools, arena, &request.pools);
    if (r == 0)
        r = decode_end(&reader, &request);
    if (r == 0)
        *ret_request = request;
    return r;
}

static int decode_shapes(struct datum_reader *reader, uint32_t n, struct nn_arena *arena,
                         const struct nnhal_output_shape **ret_shapes)
{
    typedef __typeof__(((struct nnhal_fmq_result_datum *)0)->of.operand_information) info_of;
    struct nnhal_output_shape *shapes;
    int r = 0;

    *ret_shapes = NULL;
    if (n > NNHAL_MAX_ARGUMENTS || n > reader->n_left)
        return NN_BURST_E_VIOLATION;
    shapes = nn_arena_new_n(arena, struct nnhal_output_shape, n);
    if (!shapes)
        return NN_BURST_E_MEMORY;
    for (uint32_t i = 0; i < n && r == 0; i++) {
        const info_of *information = next_datum(reader, NNHAL_FMQ_RESULT_OPERAND_INFORMATION,
                                                sizeof(*information));

        if (!information || information->is_sufficient > 1)
            return NN_BURST_E_VIOLATION;
        shapes[i].is_sufficient = information->is_sufficient;
        shapes[i].n_dimensions = information->n_dimensions;
        r = decode_dims(reader, NNHAL_FMQ_RESULT_OPERAND_DIMENSION_VALUE, information->n_dimensions,
                        arena, &shapes[i].dimensions);
    }
    *ret_shapes = shapes;
    return r;
}

int nn_burst_result_decode(const struct nnhal_fmq_result_datum *data, uint32_t n_data,
                           struct nn_arena *arena, struct nn_burst_result *ret_result)
{
    typedef __typeof__(data->of.packet_information) first_of;
    struct datum_reader reader = {.next = (const void *)data,
                                  .n_left = n_data,
                                  .datum_bytes = sizeof(*data),
                                  .sequence = n_data ? data->sequence : 0};
    struct nn_burst_result result = {.sequence = reader.sequence};
    const first_of *first = next_datum(&reader, NNHAL_FMQ_RESULT_PACKET_INFORMATION,
                                       sizeof(*first));
    const struct nnhal_timing *timing;
    int r;

    if (!first || first->packet_size != n_data)
        return NN_BURST_E_VIOLATION;
    result.status = first->error_status;
    result.n_output_shapes = first->n_operands;
    r = decode_shapes(&reader, result.n_output_shapes, arena, &result.output_shapes);
    if (r != 0)
        return r;
    timing = next_datum(&reader, NNHAL_FMQ_RESULT_EXECUTION_TIMING, sizeof(*timing));
    if (!timing || reader.n_left)
        return NN_BURST_E_VIOLATION;
    result.timing = *timing;
    if (!is_consistent(&result))
        return NN_BURST_E_VIOLATION;
    *ret_result = result;
    return 0;
}

/* -- receiving --------------------------------------------------------------- */

/* How many of the copied elements have the first one's number. */
static uint32_t measure_run(const uint8_t *data, size_t datum_bytes, uint32_t n_data)
{
    uint32_t n = 1;

    while (n < n_data && memcmp(data + n * datum_bytes + sizeof(uint32_t), data + sizeof(uint32_t),
                                sizeof(uint32_t)) == 0)
        n++;
    return n;
}

/* Copies all that is there and looks at the copy: the run ends where the sequence
 * number changes. */
static int receive_run(struct nn_ring *ring, uint8_t *data, size_t datum_bytes,
                       uint32_t *ret_n_data)
{
    struct nnhal_fmq_transaction transaction;
    uint32_t n_there = nn_ring_available_to_read(ring), n;
    int r = nn_ring_begin_read(ring, n_there, &transaction);

    if (r != 0)
        return NN_BURST_E_BROKEN;
    if (n_there == 0)
        return NN_BURST_E_EMPTY;
    n = transaction.spans[0].n_elements;
    memcpy(data, transaction.spans[0].elements, n * datum_bytes);
    memcpy(data + n * datum_bytes, transaction.spans[1].elements,
           transaction.spans[1].n_elements * datum_bytes);
    n = measure_run(data, datum_bytes, n_there);
    nn_ring_commit_read(ring, n);
    *ret_n_data = n;
    return 0;
}

int nn_burst_receive_request(struct nn_ring *ring, struct nnhal_fmq_request_datum *data,
                             uint32_t *ret_n_data)
{
    return receive_run(ring, (uint8_t *)data, sizeof(*data), ret_n_data);
}

int nn_burst_receive_result(struct nn_ring *ring, struct nnhal_fmq_result_datum *data,
                            uint32_t *ret_n_data)
{
    return receive_run(ring, (uint8_t *)data, sizeof(*data), ret_n_data);
}
