/* SPDX-License-Identifier: Apache-2.0 */
#include "host/memory/buffer.h"

#include "base/arith.h"
#include "base/error.h"
#include "base/sys.h"
#include "host/methods.h"
#include "model/infer.h"

#include <string.h>
#include <sys/mman.h>

/* -- tokens ------------------------------------------------------------------ */

void nn_buffers_init(struct nn_buffers *buffers)
{
    *buffers = (struct nn_buffers){.chains = {NULL}};
    pthread_mutex_init(&buffers->lock, NULL);
}

void nn_buffers_done(struct nn_buffers *buffers)
{
    pthread_mutex_destroy(&buffers->lock);
}

static struct nn_buffer **chain_of(struct nn_buffers *buffers, uint32_t token)
{
    return &buffers->chains[token % NN_BUFFER_CHAINS];
}

/* Under the table's lock. */
static struct nn_buffer *buffers_find(struct nn_buffers *buffers, uint32_t token)
{
    struct nn_buffer *buffer = *chain_of(buffers, token);

    while (buffer && buffer->token != token)
        buffer = buffer->next;
    return buffer;
}

struct nn_buffer *nn_buffer_find(struct nn_host_session *session, uint32_t token)
{
    struct nn_buffers *buffers = &session->buffers;
    struct nn_buffer *buffer;

    pthread_mutex_lock(&buffers->lock);
    buffer = buffers_find(buffers, token);
    if (buffer)
        nn_object_ref(&buffer->object);
    pthread_mutex_unlock(&buffers->lock);
    return buffer;
}

/* Returns: false if the token is 0 or taken. */
static bool link_token(struct nn_buffers *buffers, struct nn_buffer *buffer, uint32_t token)
{
    bool is_free;

    pthread_mutex_lock(&buffers->lock);
    is_free = token != 0 && !buffers_find(buffers, token);
    if (is_free) {
        buffer->token = token;
        buffer->next = *chain_of(buffers, token);
        *chain_of(buffers, token) = buffer;
    }
    pthread_mutex_unlock(&buffers->lock);
    return is_free;
}

static void unlink_token(struct nn_buffers *buffers, struct nn_buffer *buffer)
{
    struct nn_buffer **at;

    pthread_mutex_lock(&buffers->lock);
    at = chain_of(buffers, buffer->token);
    while (*at && *at != buffer)
        at = &(*at)->next;
    if (*at)
        *at = buffer->next;
    pthread_mutex_unlock(&buffers->lock);
}

int nn_buffer_publish(struct nn_buffer *buffer)
{
    struct nn_host_session *session = buffer->session;
    uint32_t token;
    int r;

    do {
        r = nn_sys_getrandom(&token, sizeof(token));
        if (r < 0)
            return nn_error_trace(r);
    } while (!link_token(&session->buffers, buffer, token));
    r = nn_objects_add(&session->objects, &buffer->object);
    if (r < 0)
        unlink_token(&session->buffers, buffer);
    return nn_error_trace(r);
}

/* -- the object -------------------------------------------------------------- */

static void store_done(struct nn_buffer_store *store, const struct nn_host *host)
{
    if (store->bytes)
        nn_sys_munmap(store->bytes, store->mapped_bytes);
    if (store->driver_buffer)
        host->driver.release_buffer(store->driver_buffer);
    nn_quota_release(&store->charge);
    *store = (struct nn_buffer_store){.bytes = NULL};
}

static void buffer_destroy(struct nn_object *object)
{
    struct nn_buffer *buffer = (struct nn_buffer *)object;

    store_done(&buffer->store, buffer->session->host);
    nn_quota_release(&buffer->roles_charge);
    nn_quota_release(&buffer->charge);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer->roles);
    free(buffer);
}

struct nn_buffer *nn_buffer_new(struct nn_host_session *session)
{
    struct nn_buffer *buffer = calloc(1, sizeof(*buffer));

    if (!buffer)
        return NULL;
    nn_object_init(&buffer->object, NN_OBJECT_BUFFER, buffer_destroy);
    pthread_mutex_init(&buffer->lock, NULL);
    buffer->session = session;
    return buffer;
}

struct nn_buffer *nn_buffer_unref(struct nn_buffer *buffer)
{
    if (buffer)
        nn_object_unref(&buffer->object);
    return NULL;
}

/* -- roles and shapes ---------------------------------------------------------- */

bool nn_buffer_serves_as(const struct nn_buffer *buffer, const struct nn_prepared *prepared,
                         bool is_output, uint32_t index)
{
    const struct nn_buffer_role role = {
        .prepared_model = prepared->object.id, .is_output = is_output, .index = index};

    return bsearch(&role, buffer->roles, buffer->n_roles, sizeof(role), nn_buffer_compare_roles) !=
           NULL;
}

int nn_buffer_compare_roles(const void *a, const void *b)
{
    const struct nn_buffer_role *x = a, *y = b;

    if (x->prepared_model != y->prepared_model)
        return x->prepared_model < y->prepared_model ? -1 : 1;
    if (x->is_output != y->is_output)
        return x->is_output < y->is_output ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

bool nn_buffer_fits(const struct nn_buffer *buffer, uint32_t n_dimensions,
                    const uint32_t *dimensions)
{
    uint32_t n, merged[NNHAL_MAX_RANK];

    return nn_dims_merge(buffer->n_dimensions, buffer->dimensions, n_dimensions, dimensions, &n,
                         merged);
}

/* -- admission ------------------------------------------------------------------ */

static uint32_t buffer_admit(struct nn_buffer *buffer, bool is_write)
{
    if (buffer->is_freed)
        return NNHAL_INVALID_ARGUMENT;
    if (buffer->has_writer || (is_write && buffer->n_readers > 0))
        return NNHAL_GENERAL_FAILURE;
    if (is_write)
        buffer->has_writer = true;
    else
        buffer->n_readers++;
    return NNHAL_NONE;
}

uint32_t nn_buffer_begin(struct nn_call *call, struct nn_buffer *buffer, bool is_write)
{
    uint32_t status;

    pthread_mutex_lock(&buffer->lock);
    status = buffer_admit(buffer, is_write);
    pthread_mutex_unlock(&buffer->lock);
    if (status == NNHAL_INVALID_ARGUMENT)
        return nn_call_fail(call, status, "the buffer of token %u was freed", buffer->token);
    if (status != NNHAL_NONE)
        return nn_call_fail(
            call, status,
            "the buffer of token %u is in use: it has several readers or one writer at a "
            "time, so wait for the other execution or copy to end",
            buffer->token);
    return NNHAL_NONE;
}

/* Lets go of the lock, and of the bytes if no admission can follow. */
static void buffer_leave(struct nn_buffer *buffer)
{
    struct nn_buffer_store last = {.bytes = NULL};

    if (buffer->is_freed && buffer->n_readers == 0 && !buffer->has_writer) {
        last = buffer->store;
        buffer->store = (struct nn_buffer_store){.bytes = NULL};
    }
    pthread_mutex_unlock(&buffer->lock);
    store_done(&last, buffer->session->host);
}

void nn_buffer_end_read(struct nn_buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->n_readers--;
    buffer_leave(buffer);
}

void nn_buffer_end_write(struct nn_buffer *buffer, bool is_success, uint32_t n_dimensions,
                         const uint32_t *dimensions)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->has_writer = false;
    buffer->is_initialized = is_success;
    if (is_success) {
        buffer->n_present = n_dimensions;
        memcpy(buffer->present, dimensions, n_dimensions * sizeof(*dimensions));
    }
    buffer_leave(buffer);
}

void nn_buffer_cancel_write(struct nn_buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->has_writer = false;
    buffer_leave(buffer);
}

uint32_t nn_host_free_buffer(struct nn_call *call, const struct nn_hal_free_buffer_args *args,
                             struct nn_hal_free_buffer_reply *reply)
{
    _cleanup_(nn_buffer_unrefp) struct nn_buffer *buffer = (struct nn_buffer *)nn_objects_get(
        &call->session->objects, args->buffer, NN_OBJECT_BUFFER);

    if (!buffer)
        return NNHAL_NONE;
    unlink_token(&call->session->buffers, buffer);
    nn_objects_remove(&call->session->objects, args->buffer, NN_OBJECT_BUFFER);
    pthread_mutex_lock(&buffer->lock);
    buffer->is_freed = true;
    buffer_leave(buffer);
    return NNHAL_NONE;
}

/* -- bytes ----------------------------------------------------------------------- */

/* The pages are zero, so that no data of another client shows through; the
 * first n_kept bytes are those of before. */
static int buffer_map(struct nn_buffer_store *store, uint64_t n_bytes, uint64_t n_kept)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped_bytes;
    void *bytes = NULL;
    int r;

    if (n_bytes > SIZE_MAX || !nn_align_up((size_t)n_bytes, page, &mapped_bytes))
        return nn_error_origin(-ENOMEM);
    r = nn_sys_mmap(mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
                    &bytes);
    if (r < 0)
        return nn_error_trace(r);
    if (n_kept)
        memcpy(bytes, store->bytes, n_kept);
    if (store->bytes)
        nn_sys_munmap(store->bytes, store->mapped_bytes);
    store->bytes = bytes;
    store->mapped_bytes = mapped_bytes;
    return 0;
}

uint32_t nn_buffer_charge(struct nn_call *call, struct nn_buffer *buffer, uint64_t n_bytes)
{
    return nn_call_charge(call, NN_QUOTA_BUFFER_BYTES, n_bytes, "bytes of buffers",
                          &buffer->store.charge);
}

/* Moves the store; while a value is copied there are two of it. */
static uint32_t store_move(struct nn_call *call, struct nn_buffer *buffer, uint64_t n_bytes)
{
    struct nn_buffer_store *store = &buffer->store;
    uint64_t n_kept = buffer->is_initialized ? store->capacity : 0;
    struct nn_quota_charge twice = {.account = NULL};
    uint32_t status = NNHAL_NONE;

    if (n_kept)
        status = nn_call_charge_memory(call, n_kept, &twice);
    if (status == NNHAL_NONE && buffer_map(store, n_bytes, n_kept) < 0)
        status = nn_call_fail_no_memory(call);
    nn_quota_release(&twice);
    return status;
}

uint32_t nn_buffer_reserve(struct nn_call *call, struct nn_buffer *buffer, uint64_t n_bytes)
{
    struct nn_buffer_store *store = &buffer->store;
    uint64_t n_charged = store->charge.account ? store->charge.n : 0;
    struct nn_quota_charge more = {.account = NULL};
    uint32_t status = NNHAL_NONE;

    if (n_bytes <= store->capacity)
        return NNHAL_NONE;
    if (n_bytes > n_charged)
        status = nn_call_charge(call, NN_QUOTA_BUFFER_BYTES, n_bytes - n_charged,
                                "bytes of buffers", &more);
    if (status == NNHAL_NONE && !store->driver_buffer)
        status = store_move(call, buffer, n_bytes);
    if (status != NNHAL_NONE) {
        nn_quota_release(&more);
        return status;
    }
    if (more.account) {
        more.n = n_bytes;
        store->charge = more;
    }
    store->capacity = n_bytes;
    return NNHAL_NONE;
}
