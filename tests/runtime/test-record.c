/* SPDX-License-Identifier: Apache-2.0 */
/* What the executions of a plan have shown: sizes and medians, noted by several threads. */
#include "rt.h"

#include "runtime/partition/record.h"

#include <pthread.h>

enum { N_THREADS = 4, N_NOTES = 2000, KEPT = 15 };

static struct nn_rt_record *make_record(void)
{
    struct nn_rt_record *record;

    OK(nn_rt_record_new(2, 3, &record));
    return record;
}

static void note(struct nn_rt_record *record, uint64_t total_ns, uint64_t driver_ns,
                 uint64_t device_ns)
{
    nn_rt_record_note_duration(record, 1, &(struct nn_rt_duration){total_ns, driver_ns, device_ns});
}

static struct nnhal_part_cost find_cost(struct nn_rt_record *record)
{
    struct nnhal_part_cost cost;

    nn_rt_record_get_cost(record, 1, &cost);
    return cost;
}

static void check_cost(struct nn_rt_record *record, uint64_t n, const uint64_t expected[4])
{
    const struct nnhal_part_cost cost = find_cost(record);
    const uint64_t found[] = {cost.total_ns, cost.compute_ns, cost.move_ns, cost.launch_ns};

    ck_assert_uint_eq(cost.n_computations, n);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(found[i], expected[i]);
}

TEST(one_that_was_disturbed_does_not_show)
{
    struct nn_rt_record *record = make_record();

    check_cost(record, 0, (uint64_t[]){0, 0, 0, 0});
    note(record, 100, 70, 60);
    check_cost(record, 1, (uint64_t[]){100, 60, 10, 30});
    note(record, 90000, 80000, 70000);
    note(record, 102, 72, 61);
    check_cost(record, 3, (uint64_t[]){102, 61, 11, 30});
    nn_rt_record_free(record);
}
TEST_END

TEST(the_last_ones_count)
{
    struct nn_rt_record *record = make_record();

    for (uint32_t i = 0; i < 100; i++)
        note(record, 9000, 8000, 7000);
    for (uint32_t i = 0; i < KEPT; i++)
        note(record, 100, 70, 60);
    check_cost(record, 100 + KEPT, (uint64_t[]){100, 60, 10, 30});
    nn_rt_record_free(record);
}
TEST_END

TEST(what_a_device_does_not_tell_is_zero)
{
    struct nn_rt_record *record = make_record();

    note(record, 100, NNHAL_NO_TIME, NNHAL_NO_TIME);
    check_cost(record, 1, (uint64_t[]){100, 0, 0, 0});
    nn_rt_record_free(record);
    record = make_record();
    note(record, 100, 70, NNHAL_NO_TIME);
    check_cost(record, 1, (uint64_t[]){100, 0, 0, 30});
    nn_rt_record_free(record);
    record = make_record();
    note(record, 100, 120, 120); /* another clock */
    check_cost(record, 1, (uint64_t[]){100, 120, 0, 0});
    nn_rt_record_free(record);
}
TEST_END

static void *note_much(void *ctx)
{
    struct nn_rt_record *record = ctx;

    for (uint32_t i = 1; i <= N_NOTES; i++) {
        note(record, 3 * i, 2 * i, i);
        nn_rt_record_note_size(record, 2, i);
        find_cost(record);
    }
    return NULL;
}

TEST(several_threads_note_at_once)
{
    struct nn_rt_record *record = make_record();
    pthread_t threads[N_THREADS];

    for (uint32_t i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, note_much, record), 0);
    for (uint32_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(find_cost(record).n_computations, N_THREADS * N_NOTES);
    ck_assert_uint_eq(nn_rt_record_get_size(record, 2), N_NOTES);
    ck_assert_uint_eq(nn_rt_record_get_size(record, 1), 0);
    nn_rt_record_note_size(record, 2, 5);
    ck_assert_uint_eq(nn_rt_record_get_size(record, 2), N_NOTES);
    nn_rt_record_free(record);
}
TEST_END

CHECK_MAIN("record", one_that_was_disturbed_does_not_show, the_last_ones_count,
           what_a_device_does_not_tell_is_zero, several_threads_note_at_once)
