/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies between buffers and memories
 *
 * A copy is a reader or the writer of its buffer. The memory is exactly as
 * large as the value. A copy into a buffer that was begun and failed leaves it
 * uninitialized; one that was not admitted leaves it as it is. */
#include "base/error.h"
#include "host/memory/buffer.h"
#include "host/methods.h"
#include "host/services.h"

#include <string.h>

/* One copy, with references to both sides. */
struct copy {
    struct nn_call *call;
    struct nn_buffer *buffer;
    struct nn_memory *memory;
};

/* -- both sides ------------------------------------------------------------------ */

static uint32_t find_buffer(struct copy *copy, uint64_t id)
{
    copy->buffer = (struct nn_buffer *)nn_objects_get(&copy->call->session->objects, id,
                                                      NN_OBJECT_BUFFER);
    if (copy->buffer)
        return NNHAL_NONE;
    return nn_call_fail(copy->call, NNHAL_INVALID_ARGUMENT,
                        "%llu is no buffer of this session, or was freed", (unsigned long long)id);
}

static uint32_t find_memory(struct copy *copy, uint64_t id)
{
    copy->memory = nn_memory_get(copy->call->session, id);
    if (copy->memory)
        return NNHAL_NONE;
    return nn_call_fail(copy->call, NNHAL_INVALID_ARGUMENT,
                        "%llu is no memory of this session: import it first",
                        (unsigned long long)id);
}

static void copy_done(struct copy *copy)
{
    nn_memory_unref(copy->memory);
    nn_buffer_unref(copy->buffer);
}

/* Whether the memory can be used for a value of n_bytes. */
static uint32_t check_memory(const struct copy *copy, uint64_t n_bytes, bool is_written)
{
    const struct nn_memory *memory = copy->memory;

    if (memory->is_opaque)
        return nn_call_fail(
            copy->call, NNHAL_GENERAL_FAILURE,
            "the memory is a hardware buffer that is no BLOB, whose pixels are not copied: "
            "use shared memory or a BLOB buffer");
    if (is_written ? !memory->is_writable : !memory->is_readable)
        return nn_call_fail(
            copy->call, NNHAL_INVALID_ARGUMENT, "the memory is not %s: import it with %s",
            is_written ? "writable" : "readable", is_written ? "PROT_WRITE" : "PROT_READ");
    if (nn_memory_size(memory) != n_bytes)
        return nn_call_fail(
            copy->call, NNHAL_INVALID_ARGUMENT,
            "the memory has %llu bytes and the buffer's value %llu: they must be equal",
            (unsigned long long)nn_memory_size(memory), (unsigned long long)n_bytes);
    return NNHAL_NONE;
}

static uint32_t begin_access(const struct copy *copy, bool is_written)
{
    if (nn_region_begin_access(copy->memory->region, is_written) == 0)
        return NNHAL_NONE;
    return nn_call_fail(copy->call, NNHAL_GENERAL_FAILURE,
                        "the memory cannot be made coherent for the CPU");
}

static void copy_count(const struct copy *copy, uint64_t n_bytes)
{
    __atomic_add_fetch(&copy->call->session->host->copied_bytes, n_bytes, __ATOMIC_RELAXED);
}

/* After the access: what was copied counts only if the memory was there. */
static uint32_t end_access(const struct copy *copy, bool is_written, uint32_t status)
{
    int r = nn_region_end_access(copy->memory->region, is_written);

    if (nn_memory_is_broken(copy->memory))
        return nn_call_fail(
            copy->call, NNHAL_GENERAL_FAILURE,
            "the memory's file was made smaller while it was in use: leave it alone, or "
            "seal it against shrinking");
    if (r < 0 && status == NNHAL_NONE)
        return nn_call_fail(copy->call, NNHAL_GENERAL_FAILURE,
                            "the memory cannot be written back to its file: %s",
                            strerror(-nn_error_fold(r)));
    return status;
}

static uint64_t bytes_of(const struct nn_buffer *buffer, uint32_t n_dimensions,
                         const uint32_t *dimensions)
{
    uint64_t n_bytes = 0;

    nn_operand_bytes(buffer->type, n_dimensions, dimensions, &n_bytes);
    return n_bytes;
}

/* -- copy_to ------------------------------------------------------------------------ */

static uint32_t give_out(const struct copy *copy, uint64_t n_bytes)
{
    const struct nn_host *host = copy->call->session->host;
    const struct nn_buffer_store *store = &copy->buffer->store;
    void *data = nn_region_data(copy->memory->region);

    copy_count(copy, n_bytes);
    if (!store->driver_buffer) {
        memcpy(data, store->bytes, n_bytes);
        return NNHAL_NONE;
    }
    nn_services_clear();
    return nn_call_check_driver(
        copy->call, host->driver.copy_to(store->driver_buffer, data, n_bytes), "copy_to");
}

/* Admitted as a reader. The size is judged first, as far as it is known. */
static uint32_t copy_to(struct copy *copy, const struct nn_hal_copy_to_args *args)
{
    const struct nn_buffer *buffer = copy->buffer;
    uint32_t status = find_memory(copy, args->memory);
    uint64_t n_bytes;

    if (buffer->is_initialized)
        n_bytes = bytes_of(buffer, buffer->n_present, buffer->present);
    else
        n_bytes = bytes_of(buffer, buffer->n_dimensions, buffer->dimensions);
    if (status == NNHAL_NONE && (buffer->is_initialized || n_bytes > 0))
        status = check_memory(copy, n_bytes, true);
    if (status != NNHAL_NONE)
        return status;
    if (!buffer->is_initialized)
        return nn_call_fail(
            copy->call, NNHAL_GENERAL_FAILURE,
            "the buffer holds no value: nothing was written to it, or what wrote to it "
            "failed");
    status = begin_access(copy, true);
    if (status != NNHAL_NONE)
        return status;
    return end_access(copy, true, give_out(copy, n_bytes));
}

uint32_t nn_host_copy_to(struct nn_call *call, const struct nn_hal_copy_to_args *args,
                         struct nn_hal_copy_to_reply *reply)
{
    struct copy copy = {.call = call};
    uint32_t status = find_buffer(&copy, args->buffer);

    if (status == NNHAL_NONE)
        status = nn_buffer_begin(call, copy.buffer, false);
    if (status == NNHAL_NONE) {
        status = copy_to(&copy, args);
        nn_buffer_end_read(copy.buffer);
    }
    copy_done(&copy);
    return status;
}

/* -- copy_from ------------------------------------------------------------------------ */

/* The dimensions that the buffer gets: those given, or its own if it has them all. */
static uint32_t check_dimensions(const struct copy *copy, const struct nn_hal_copy_from_args *args,
                                 uint32_t *ret_n, uint32_t *ret)
{
    const struct nn_buffer *buffer = copy->buffer;

    if (args->n_dimensions > NNHAL_MAX_RANK || (args->n_dimensions && !args->dimensions) ||
        !nn_buffer_fits(buffer, args->n_dimensions, args->dimensions))
        return nn_call_fail(copy->call, NNHAL_INVALID_ARGUMENT,
                            "the dimensions contradict those that the buffer was allocated with");
    *ret_n = args->n_dimensions ? args->n_dimensions : buffer->n_dimensions;
    memcpy(ret, args->n_dimensions ? args->dimensions : buffer->dimensions, *ret_n * sizeof(*ret));
    if (!nn_dims_known(buffer->type, *ret_n, ret))
        return nn_call_fail(
            copy->call, NNHAL_INVALID_ARGUMENT,
            "the dimensions must all be given, above 0: the buffer's shape is open");
    return NNHAL_NONE;
}

static uint32_t take_in(const struct copy *copy, uint32_t n, const uint32_t *dimensions,
                        uint64_t n_bytes)
{
    const struct nn_host *host = copy->call->session->host;
    const struct nn_buffer_store *store = &copy->buffer->store;
    const void *data = nn_region_data(copy->memory->region);

    copy_count(copy, n_bytes);
    if (!store->driver_buffer) {
        memcpy(store->bytes, data, n_bytes);
        return NNHAL_NONE;
    }
    nn_services_clear();
    return nn_call_check_driver(
        copy->call, host->driver.copy_from(store->driver_buffer, n, dimensions, data, n_bytes),
        "copy_from");
}

/* Admitted as the writer. */
static uint32_t copy_from(struct copy *copy, const struct nn_hal_copy_from_args *args,
                          uint32_t *ret_n, uint32_t *ret)
{
    uint32_t status = find_memory(copy, args->memory);
    uint64_t n_bytes;

    if (status == NNHAL_NONE)
        status = check_dimensions(copy, args, ret_n, ret);
    if (status != NNHAL_NONE)
        return status;
    n_bytes = bytes_of(copy->buffer, *ret_n, ret);
    status = check_memory(copy, n_bytes, false);
    if (status == NNHAL_NONE)
        status = nn_buffer_reserve(copy->call, copy->buffer, n_bytes);
    if (status == NNHAL_NONE)
        status = begin_access(copy, false);
    if (status != NNHAL_NONE)
        return status;
    return end_access(copy, false, take_in(copy, *ret_n, ret, n_bytes));
}

uint32_t nn_host_copy_from(struct nn_call *call, const struct nn_hal_copy_from_args *args,
                           struct nn_hal_copy_from_reply *reply)
{
    struct copy copy = {.call = call};
    uint32_t n = 0, dimensions[NNHAL_MAX_RANK];
    uint32_t status = find_buffer(&copy, args->buffer);

    if (status == NNHAL_NONE)
        status = nn_buffer_begin(call, copy.buffer, true);
    if (status == NNHAL_NONE) {
        status = copy_from(&copy, args, &n, dimensions);
        nn_buffer_end_write(copy.buffer, status == NNHAL_NONE, n, dimensions);
    }
    copy_done(&copy);
    return status;
}
