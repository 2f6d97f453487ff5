/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/record.h"

#include "base/error.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Medians are of as many computations: one that was disturbed does not show, and a change soon does. */
enum { N_KEPT = 15 };

/* The last computations of a part. */
struct history {
    uint64_t n; /* that were noted: number i is at i % N_KEPT */
    struct nn_rt_duration kept[N_KEPT];
};

struct nn_rt_record {
    pthread_mutex_t lock; /* of the parts */
    struct history *parts;
    uint64_t *sizes; /* atomic */
    uint32_t n_parts;
};

int nn_rt_record_new(uint32_t n_parts, uint32_t n_values, struct nn_rt_record **ret_record)
{
    struct nn_rt_record *record = calloc(1, sizeof(*record));

    if (!record)
        return nn_error_origin(-ENOMEM);
    pthread_mutex_init(&record->lock, NULL);
    record->n_parts = n_parts;
    record->parts = calloc(n_parts, sizeof(*record->parts));
    record->sizes = calloc((size_t)n_values + 1, sizeof(*record->sizes));
    if (!record->parts || !record->sizes) {
        nn_rt_record_free(record);
        return nn_error_origin(-ENOMEM);
    }
    *ret_record = record;
    return 0;
}

struct nn_rt_record *nn_rt_record_free(struct nn_rt_record *record)
{
    if (!record)
        return NULL;
    pthread_mutex_destroy(&record->lock);
    free(record->parts);
    free(record->sizes);
    free(record);
    return NULL;
}

/* -- sizes ----------------------------------------------------------------------------- */

void nn_rt_record_note_size(struct nn_rt_record *record, uint32_t value, uint64_t n_bytes)
{
    uint64_t most = nn_rt_record_get_size(record, value);

    /* A failed exchange reads again what another thread has noted. */
    while (n_bytes > most &&
           !__atomic_compare_exchange_n(&record->sizes[value], &most, n_bytes, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

uint64_t nn_rt_record_get_size(const struct nn_rt_record *record, uint32_t value)
{
    return __atomic_load_n(&record->sizes[value], __ATOMIC_RELAXED);
}

/* -- durations ------------------------------------------------------------------------- */

void nn_rt_record_note_duration(struct nn_rt_record *record, uint32_t part,
                                const struct nn_rt_duration *duration)
{
    struct history *history = &record->parts[part];

    pthread_mutex_lock(&record->lock);
    history->kept[history->n++ % N_KEPT] = *duration;
    pthread_mutex_unlock(&record->lock);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Of one member of the durations, where it is known. Returns: NNHAL_NO_TIME if it never is. */
static uint64_t find_median(const struct history *history, size_t offset)
{
    uint64_t values[N_KEPT];
    uint32_t n = 0;

    for (uint32_t i = 0; i < N_KEPT && i < history->n; i++) {
        memcpy(&values[n], (const uint8_t *)&history->kept[i] + offset, sizeof(values[n]));
        n += values[n] != NNHAL_NO_TIME;
    }
    if (!n)
        return NNHAL_NO_TIME;
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

/* What an outer one took beside an inner one; 0: one of them is not known. */
static uint64_t take_off(uint64_t outer_ns, uint64_t inner_ns)
{
    return outer_ns != NNHAL_NO_TIME && inner_ns < outer_ns ? outer_ns - inner_ns : 0;
}

void nn_rt_record_get_cost(struct nn_rt_record *record, uint32_t part,
                           struct nnhal_part_cost *ret_cost)
{
    struct history history;
    uint64_t total_ns, driver_ns, device_ns;

    pthread_mutex_lock(&record->lock);
    history = record->parts[part];
    pthread_mutex_unlock(&record->lock);
    *ret_cost = (struct nnhal_part_cost){.n_computations = history.n};
    if (!history.n)
        return;
    total_ns = find_median(&history, offsetof(struct nn_rt_duration, total_ns));
    driver_ns = find_median(&history, offsetof(struct nn_rt_duration, driver_ns));
    device_ns = find_median(&history, offsetof(struct nn_rt_duration, device_ns));
    ret_cost->total_ns = total_ns;
    ret_cost->compute_ns = device_ns == NNHAL_NO_TIME ? 0 : device_ns;
    ret_cost->move_ns = take_off(driver_ns, device_ns);
    ret_cost->launch_ns = take_off(total_ns, driver_ns);
}
