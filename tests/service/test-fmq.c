/* SPDX-License-Identifier: Apache-2.0 */
/* Queues as a program outside of the tree uses them: libnnhal.so and
 * nnhal/fmq.h alone. Sent to another process, read and answered there. */
#include <nnhal/fmq.h>

#include "support/check-main.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOREVER UINT64_MAX

/* The other process: doubles what it gets, until it gets 0. */
static int double_all(const struct nnhal_fmq_descriptor *requests,
                      const struct nnhal_fmq_descriptor *results)
{
    struct nnhal_fmq *in, *out;
    uint32_t value = 1;

    if (nnhal_fmq_attach(requests, NULL, &in) || nnhal_fmq_attach(results, NULL, &out))
        return 1;
    while (value) {
        if (nnhal_fmq_read_blocking(in, &value, 1, FOREVER))
            return 2;
        value *= 2;
        if (nnhal_fmq_write_blocking(out, &value, 1, FOREVER))
            return 3;
    }
    nnhal_fmq_free(in);
    nnhal_fmq_free(out);
    return 0;
}

TEST(a_round_trip_through_the_public_names)
{
    struct nnhal_fmq_descriptor requests, results;
    struct nnhal_fmq *out, *in;
    int status;
    pid_t child;

    ck_assert_int_eq(nnhal_fmq_new(4, sizeof(uint32_t), NNHAL_FMQ_SYNCHRONIZED, NULL, &out), 0);
    ck_assert_int_eq(nnhal_fmq_new(4, sizeof(uint32_t), NNHAL_FMQ_SYNCHRONIZED, NULL, &in), 0);
    nnhal_fmq_set_spin(in, 20000);
    nnhal_fmq_descriptor(out, &requests);
    nnhal_fmq_descriptor(in, &results);
    child = fork();
    if (child == 0)
        _exit(double_all(&requests, &results));
    ck_assert_int_gt(child, 0);
    for (uint32_t i = 500; i-- > 0;) {
        struct nnhal_fmq_transaction transaction;
        uint32_t doubled;

        ck_assert_int_eq(nnhal_fmq_begin_write(out, 1, &transaction), 0);
        *(uint32_t *)transaction.spans[0].elements = i;
        ck_assert_int_eq(nnhal_fmq_commit_write(out, 1), 0);
        ck_assert_int_eq(nnhal_fmq_wait_to_read(in, 1, FOREVER), 0);
        ck_assert_int_eq(nnhal_fmq_begin_read(in, 1, &transaction), 0);
        doubled = *(uint32_t *)transaction.spans[0].elements;
        ck_assert_int_eq(nnhal_fmq_commit_read(in, 1), 0);
        ck_assert_uint_eq(doubled, 2 * i);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(nnhal_fmq_available_to_read(in), 0);
    ck_assert_uint_eq(nnhal_fmq_available_to_write(out), 4);
    nnhal_fmq_close(in);
    ck_assert_int_eq(nnhal_fmq_wait_to_read(in, 1, FOREVER), NNHAL_FMQ_E_CLOSED);
    nnhal_fmq_free(out);
    nnhal_fmq_free(in);
    nnhal_fmq_free(NULL);
}
TEST_END

static int count_asked(void *ctx)
{
    return ++*(int *)ctx > 3;
}

TEST(a_flag_of_its_own)
{
    struct nnhal_evflag *flag, *same;
    struct nnhal_fmq *queue;
    int n_asked = 0;

    ck_assert_int_eq(nnhal_evflag_new(&flag), 0);
    ck_assert_int_eq(nnhal_evflag_attach(nnhal_evflag_fd(flag), &same), 0);
    ck_assert_int_eq(nnhal_fmq_new(1, 1, NNHAL_FMQ_UNSYNCHRONIZED, flag, &queue), 0);
    ck_assert_int_eq(nnhal_fmq_write(queue, "x", 1), 0);
    nnhal_evflag_wake(same);
    ck_assert_int_eq(nnhal_evflag_wait(flag, count_asked, &n_asked, 1), NNHAL_FMQ_E_TIMED_OUT);
    ck_assert_int_eq(nnhal_evflag_wait(flag, count_asked, &n_asked, 1), 0);
    nnhal_evflag_close(flag);
    n_asked = 0;
    ck_assert_int_eq(nnhal_evflag_wait(flag, count_asked, &n_asked, FOREVER), NNHAL_FMQ_E_CLOSED);
    nnhal_fmq_free(queue);
    nnhal_evflag_free(flag);
    nnhal_evflag_free(same);
}
TEST_END

CHECK_MAIN("fmq", a_round_trip_through_the_public_names, a_flag_of_its_own)
