/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caching/weights.h"

#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

struct nn_weights {
    struct nn_weights *next;
    struct nn_weights_table *table; /* NULL: in none yet */
    uint32_t n_refs;                /* under the table's lock */
    uint32_t uid;
    uint64_t size;
    struct nn_hash hash;
    void *data;
    /* Of its own, since the session that brought it may end before the others that use it. */
    struct nn_quota_account account;
    struct nn_quota_charge charge;
};

void nn_weights_table_init(struct nn_weights_table *table, struct nn_quota *quota)
{
    table->quota = quota;
    pthread_mutex_init(&table->lock, NULL);
    table->first = NULL;
}

void nn_weights_table_done(struct nn_weights_table *table)
{
    pthread_mutex_destroy(&table->lock);
}

/* -- sealed memory ----------------------------------------------------------------------- */

static struct nn_weights *weights_free(struct nn_weights *weights)
{
    if (!weights)
        return NULL;
    if (weights->data)
        nn_sys_munmap(weights->data, weights->size ? weights->size : 1);
    nn_quota_release(&weights->charge);
    if (weights->account.quota)
        nn_quota_account_close(&weights->account);
    free(weights);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_weights, weights_free)

/* No mapping can write any more, and none can be made that does. */
static int weights_seal(int fd, struct nn_weights *weights)
{
    size_t n_bytes = weights->size ? weights->size : 1;

    /* Sealed before it is mapped: no defect of a driver can change what several clients compute
     * with. */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return nn_error_origin(-errno);
    return nn_error_trace(
        nn_sys_mmap(n_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0, &weights->data));
}

/* From a file; the mapping for it is gone when it is sealed. */
static int fill_from_file(int fd, int from, uint64_t size)
{
    void *data;
    ssize_t n;
    int r = nn_sys_mmap(size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0, &data);

    if (r < 0)
        return nn_error_trace(r);
    /* Into the memory itself: read() into a buffer and write() would copy twice. */
    n = nn_sys_pread(from, data, size, 0);
    nn_sys_munmap(data, size);
    if (n < 0)
        return nn_error_trace((int)n);
    return (uint64_t)n == size ? 0 : NN_WEIGHTS_E_NONE;
}

static int weights_charge(struct nn_weights_table *table, uint32_t uid, struct nn_weights *weights)
{
    int r = nn_quota_account_open(table->quota, uid, &weights->account);

    if (r < 0)
        return nn_error_trace(r);
    weights->account.limits[NN_QUOTA_BYTES] = UINT64_MAX;
    weights->account.uid_limits[NN_QUOTA_BYTES] = UINT64_MAX;
    r = nn_quota_charge(&weights->account, NN_QUOTA_BYTES, weights->size, &weights->charge);
    return r ? nn_error_origin(-EDQUOT) : 0;
}

/* Where they come from: bytes, or else a file. */
struct weights_source {
    const void *bytes;
    int fd;
    uint64_t size;
};

static int weights_make(struct nn_weights_table *table, uint32_t uid,
                        const struct weights_source *from, struct nn_weights **ret_weights)
{
    _cleanup_(weights_freep) struct nn_weights *weights = calloc(1, sizeof(*weights));
    _cleanup_(closep) int fd = nn_sys_memfd_create("nnhal-weights", true);
    uint64_t size = from->size;
    int r;

    if (!weights)
        return nn_error_origin(-ENOMEM);
    if (fd < 0)
        return nn_error_trace(fd);
    weights->size = size;
    r = weights_charge(table, uid, weights);
    if (r < 0)
        return nn_error_trace(r);
    r = nn_sys_ftruncate(fd, (off_t)(size ? size : 1));
    if (r == 0 && size)
        r = from->bytes ? nn_sys_pwrite(fd, from->bytes, size, 0)
                        : fill_from_file(fd, from->fd, size);
    if (r == 0)
        r = weights_seal(fd, weights);
    if (r)
        return r;
    *ret_weights = steal_ptr(&weights);
    return 0;
}

/* -- the table --------------------------------------------------------------------------- */

static struct nn_weights *find_locked(struct nn_weights_table *table, uint32_t uid, uint64_t size,
                                      const struct nn_hash *hash)
{
    /* A list: a service has some dozens of models, and a search beside a read of megabytes. */
    for (struct nn_weights *w = table->first; w; w = w->next)
        if (w->uid == uid && w->size == size && memcmp(&w->hash, hash, sizeof(*hash)) == 0) {
            w->n_refs++;
            return w;
        }
    return NULL;
}

int nn_weights_find(struct nn_weights_table *table, uint32_t uid, uint64_t size,
                    const struct nn_hash *hash, struct nn_weights **ret_weights)
{
    struct nn_weights *found;

    pthread_mutex_lock(&table->lock);
    found = find_locked(table, uid, size, hash);
    pthread_mutex_unlock(&table->lock);
    if (!found)
        return NN_WEIGHTS_E_NONE;
    *ret_weights = found;
    return 0;
}

/* Takes what is new into the table, unless the same has come in between. */
static struct nn_weights *table_enter(struct nn_weights_table *table, uint32_t uid,
                                      const struct nn_hash *hash, struct nn_weights *weights)
{
    struct nn_weights *found;

    pthread_mutex_lock(&table->lock);
    found = find_locked(table, uid, weights->size, hash);
    if (!found) {
        weights->table = table;
        weights->uid = uid;
        weights->hash = *hash;
        weights->n_refs = 1;
        weights->next = table->first;
        table->first = weights;
    }
    pthread_mutex_unlock(&table->lock);
    /* Two clients may have made the same at once, outside the lock: the first stays. */
    if (!found)
        return weights;
    weights_free(weights);
    return found;
}

int nn_weights_add(struct nn_weights_table *table, uint32_t uid, const void *bytes, uint64_t size,
                   const struct nn_hash *hash, struct nn_weights **ret_weights)
{
    const struct weights_source from = {.bytes = bytes ? bytes : "", .fd = -1, .size = size};
    struct nn_weights *weights;
    int r;

    if (nn_weights_find(table, uid, size, hash, ret_weights) == 0)
        return 0;
    r = weights_make(table, uid, &from, &weights);
    if (r)
        return nn_error_trace(r);
    *ret_weights = table_enter(table, uid, hash, weights);
    return 0;
}

int nn_weights_read(struct nn_weights_table *table, uint32_t uid, int fd, uint64_t size,
                    uint64_t sum, struct nn_weights **ret_weights)
{
    const struct weights_source from = {.fd = fd, .size = size};
    _cleanup_(weights_freep) struct nn_weights *weights = NULL;
    struct nn_hash_part part = {.size = size};
    struct nn_hash hash;
    int r = weights_make(table, uid, &from, &weights);

    if (r)
        return r;
    part.bytes = weights->data;
    if (nn_hash_checksum(part.bytes, size) != sum)
        return NN_WEIGHTS_E_NONE;
    /* The head's hash may be zeroes (its saver did not share) and is not taken for this one. */
    nn_hash_compute(&part, 1, &hash);
    *ret_weights = table_enter(table, uid, &hash, steal_ptr(&weights));
    return 0;
}

struct nn_weights *nn_weights_unref(struct nn_weights *weights)
{
    struct nn_weights_table *table = weights ? weights->table : NULL;
    bool is_last;

    if (!weights)
        return NULL;
    pthread_mutex_lock(&table->lock);
    is_last = --weights->n_refs == 0;
    for (struct nn_weights **at = &table->first; is_last && *at; at = &(*at)->next)
        if (*at == weights) {
            *at = weights->next;
            break;
        }
    pthread_mutex_unlock(&table->lock);
    if (is_last)
        weights_free(weights);
    return NULL;
}

const void *nn_weights_data(const struct nn_weights *weights)
{
    return weights->data;
}

const struct nn_hash *nn_weights_hash(const struct nn_weights *weights)
{
    return &weights->hash;
}
