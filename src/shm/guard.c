/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/guard.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CHUNK_RECORDS = 1024,
    MAX_CHUNKS = 1024,
};

/* A range. sequence is odd while the record is being changed. */
struct record {
    uint32_t sequence;
    int prot;
    uintptr_t start;
    size_t n_bytes; /* 0: unused */
    uint32_t *broken;
    uint32_t next_free; /* under the lock */
};

/* Chunks are published one by one and never freed: the handler may be looking. */
static struct record *chunks[MAX_CHUNKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_records, first_free = UINT32_MAX;
static struct sigaction before;
static bool is_installed;

static struct record *record_at(uint32_t i)
{
    return &__atomic_load_n(&chunks[i / CHUNK_RECORDS], __ATOMIC_ACQUIRE)[i % CHUNK_RECORDS];
}

/* A stable copy of a record; false if it is unused or being changed. */
static bool record_read(const struct record *record, struct record *ret_copy)
{
    uint32_t sequence = __atomic_load_n(&record->sequence, __ATOMIC_ACQUIRE);

    /* Each acquire pairs with that field's release in record_write(): a field of a
     * later version is not seen together with the earlier sequence. */
    ret_copy->start = __atomic_load_n(&record->start, __ATOMIC_ACQUIRE);
    ret_copy->n_bytes = __atomic_load_n(&record->n_bytes, __ATOMIC_ACQUIRE);
    ret_copy->prot = __atomic_load_n(&record->prot, __ATOMIC_ACQUIRE);
    ret_copy->broken = __atomic_load_n(&record->broken, __ATOMIC_ACQUIRE);
    return sequence % 2 == 0 && ret_copy->n_bytes > 0 &&
           __atomic_load_n(&record->sequence, __ATOMIC_RELAXED) == sequence;
}

/* Under the lock. */
static void record_write(struct record *record, uintptr_t start, size_t n_bytes, int prot,
                         uint32_t *broken)
{
    uint32_t sequence = record->sequence;

    __atomic_store_n(&record->sequence, sequence + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&record->start, start, __ATOMIC_RELEASE);
    __atomic_store_n(&record->n_bytes, n_bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&record->prot, prot, __ATOMIC_RELEASE);
    __atomic_store_n(&record->broken, broken, __ATOMIC_RELEASE);
    /* Pairs with the acquire in record_read(). */
    __atomic_store_n(&record->sequence, sequence + 2, __ATOMIC_RELEASE);
}

/* -- the handler: no locks, no allocation ----------------------------------- */

static bool range_repair(uintptr_t address)
{
    uint32_t n = __atomic_load_n(&n_records, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n; i++) {
        struct record range;
        void *start;

        if (!record_read(record_at(i), &range) || address - range.start >= range.n_bytes)
            continue;
        /* Before the pages are replaced: a thread that has read zeros finds it set when it
         * asks. */
        __atomic_store_n(range.broken, 1, __ATOMIC_SEQ_CST);
        start = (void *)range.start;
        return nn_sys_mmap(range.n_bytes, range.prot,
                           MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0,
                           &start) == 0;
    }
    return false;
}

/* What would have happened without us. */
static void handler_chain(int number, siginfo_t *info, void *context)
{
    bool is_fault = info->si_code > 0;
    const struct nn_sys_action action = {.handler = SIG_DFL};

    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler == SIG_IGN && !is_fault) {
        return;
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        /* A fault comes again at once; a sent signal has to be sent again. */
        nn_sys_sigaction(SIGBUS, &action, NULL);
        if (!is_fault)
            raise(SIGBUS);
    }
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    int saved = errno;

    /* A signal that a process sent (0 or less) carries no address of a fault. */
    if (info->si_code <= 0 || !range_repair((uintptr_t)info->si_addr))
        handler_chain(number, info, context);
    errno = saved;
}

/* -- outside of it ----------------------------------------------------------- */

int nn_guard_install(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_RESTART};
    int r = 0;

    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    if (!is_installed) {
        if (sigaction(SIGBUS, NULL, &before) < 0 || sigaction(SIGBUS, &action, NULL) < 0)
            r = nn_error_origin(-errno);
        __atomic_store_n(&is_installed, r == 0, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

bool nn_guard_is_installed(void)
{
    return __atomic_load_n(&is_installed, __ATOMIC_ACQUIRE);
}

/* An unused record; under the lock. */
static int record_new(uint32_t *ret_record)
{
    uint32_t i = first_free;
    struct record *chunk;

    if (i != UINT32_MAX) {
        first_free = record_at(i)->next_free;
        *ret_record = i;
        return 0;
    }
    i = n_records;
    if (i % CHUNK_RECORDS == 0) {
        if (i / CHUNK_RECORDS == MAX_CHUNKS)
            return nn_error_origin(-ENOMEM);
        chunk = calloc(CHUNK_RECORDS, sizeof(*chunk));
        if (!chunk)
            return nn_error_origin(-ENOMEM);
        __atomic_store_n(&chunks[i / CHUNK_RECORDS], chunk, __ATOMIC_RELEASE);
    }
    /* Pairs with the acquire in range_repair(): the chunk is seen with the count. */
    __atomic_store_n(&n_records, i + 1, __ATOMIC_RELEASE);
    *ret_record = i;
    return 0;
}

int nn_guard_add(void *address, size_t n_bytes, int prot, uint32_t *broken, uint32_t *ret_record)
{
    uint32_t i = 0;
    int r;

    pthread_mutex_lock(&lock);
    r = record_new(&i);
    if (r == 0) {
        record_write(record_at(i), (uintptr_t)address, n_bytes, prot, broken);
        *ret_record = i;
    }
    pthread_mutex_unlock(&lock);
    return nn_error_trace(r);
}

void nn_guard_remove(uint32_t i)
{
    struct record *record;

    pthread_mutex_lock(&lock);
    record = record_at(i);
    record_write(record, 0, 0, 0, NULL);
    record->next_free = first_free;
    first_free = i;
    pthread_mutex_unlock(&lock);
}
