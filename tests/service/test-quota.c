/* SPDX-License-Identifier: Apache-2.0 */
#include "service/quota.h"

#include "service/service.h"
#include "support/check-main.h"

#include <pthread.h>

static const struct nn_service_quota_limits limits = {
    .n_connections = 5,
    .n_connections_per_user = 3,
    .n_bytes_per_user = 1000,
    .n_fds_per_user = 10,
};

TEST(a_service_has_the_limits_that_it_promises)
{
    ck_assert_uint_eq(NN_SERVICE_MAX_CONNECTIONS, 1024);
    ck_assert_uint_eq(NN_SERVICE_MAX_CONNECTIONS_PER_USER, 256);
    ck_assert_uint_eq(NN_SERVICE_MAX_BYTES_PER_USER, 512 << 20);
    ck_assert_uint_eq(NN_SERVICE_MAX_FDS_PER_USER, 4096);
}
TEST_END

TEST(connections_are_bounded_per_user_and_together)
{
    struct nn_service_quota_user *users[5], *refused = NULL;
    struct nn_service_quota *quota = NULL;

    ck_assert_int_eq(nn_service_quota_new(&limits, &quota), 0);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(nn_service_quota_enter(quota, 1000, &users[i]), 0);
    ck_assert_ptr_eq(users[0], users[2]);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1000, &refused), NN_SERVICE_QUOTA_E_FULL);
    for (size_t i = 3; i < 5; i++)
        ck_assert_int_eq(nn_service_quota_enter(quota, 1001, &users[i]), 0);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1002, &refused), NN_SERVICE_QUOTA_E_FULL);
    ck_assert_ptr_null(refused);
    nn_service_quota_leave(users[0]);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1002, &users[0]), 0);
    for (size_t i = 0; i < 5; i++)
        nn_service_quota_leave(users[i]);
    nn_service_quota_free(quota);
}
TEST_END

TEST(what_is_not_answered_holds_back_that_user_alone)
{
    struct nn_service_quota_user *one = NULL, *other = NULL;
    struct nn_service_quota *quota = NULL;

    ck_assert_int_eq(nn_service_quota_new(&limits, &quota), 0);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1000, &one), 0);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1001, &other), 0);
    nn_service_quota_charge(one, 999, 9);
    ck_assert(nn_service_quota_may_receive(one));
    nn_service_quota_charge(one, 5000, 0); /* one request may go beyond */
    ck_assert(!nn_service_quota_may_receive(one));
    ck_assert(nn_service_quota_may_receive(other));
    nn_service_quota_release(one, 5000, 0);
    ck_assert(nn_service_quota_may_receive(one));
    nn_service_quota_charge(one, 0, 1);
    ck_assert(!nn_service_quota_may_receive(one));
    nn_service_quota_release(one, 999, 10);
    ck_assert(nn_service_quota_may_receive(one));
    nn_service_quota_leave(one);
    nn_service_quota_leave(other);
    nn_service_quota_free(quota);
}
TEST_END

TEST(descriptors_that_are_not_taken_are_bounded)
{
    struct nn_service_quota_user *one = NULL, *same = NULL, *other = NULL;
    struct nn_service_quota *quota = NULL;

    ck_assert_int_eq(nn_service_quota_new(&limits, &quota), 0);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1000, &one), 0);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1000, &same), 0);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1001, &other), 0);
    ck_assert_int_eq(nn_service_quota_pass(one, 6), 0);
    ck_assert_int_eq(nn_service_quota_pass(same, 5), -EDQUOT);
    ck_assert_int_eq(nn_service_quota_pass(same, 4), 0);
    ck_assert_int_eq(nn_service_quota_pass(other, 11), -EDQUOT);
    ck_assert_int_eq(nn_service_quota_pass(other, 10), 0);
    /* Requests have a limit of their own: their answers could not be taken otherwise. */
    ck_assert(nn_service_quota_may_receive(one));
    nn_service_quota_passed(one, 6);
    ck_assert_int_eq(nn_service_quota_pass(same, 6), 0);
    nn_service_quota_passed(same, 10);
    nn_service_quota_passed(other, 10);
    nn_service_quota_leave(one);
    nn_service_quota_leave(same);
    nn_service_quota_leave(other);
    nn_service_quota_free(quota);
}
TEST_END

/* -- threads ---------------------------------------------------------------------------- */

static struct nn_service_quota_user *shared;

static void *charge_often(void *argument)
{
    for (int i = 0; i < 5000; i++) {
        nn_service_quota_charge(shared, 3, 1);
        ck_assert_int_eq(nn_service_quota_pass(shared, 1), 0);
        nn_service_quota_passed(shared, 1);
        nn_service_quota_release(shared, 3, 1);
    }
    return argument;
}

TEST(nothing_is_lost_between_threads)
{
    struct nn_service_quota *quota = NULL;
    pthread_t threads[4];

    ck_assert_int_eq(nn_service_quota_new(&limits, &quota), 0);
    ck_assert_int_eq(nn_service_quota_enter(quota, 1000, &shared), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, charge_often, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    /* All that may be passed may be passed, and one byte or descriptor less than what holds a
     * user back does not. */
    ck_assert_int_eq(nn_service_quota_pass(shared, 10), 0);
    ck_assert_int_eq(nn_service_quota_pass(shared, 1), -EDQUOT);
    nn_service_quota_passed(shared, 10);
    nn_service_quota_charge(shared, 999, 9);
    ck_assert(nn_service_quota_may_receive(shared));
    nn_service_quota_charge(shared, 1, 0);
    ck_assert(!nn_service_quota_may_receive(shared));
    nn_service_quota_release(shared, 1, 0);
    nn_service_quota_charge(shared, 0, 1);
    ck_assert(!nn_service_quota_may_receive(shared));
    nn_service_quota_release(shared, 999, 10);
    nn_service_quota_leave(shared);
    nn_service_quota_free(quota);
}
TEST_END

CHECK_MAIN("quota", a_service_has_the_limits_that_it_promises,
           connections_are_bounded_per_user_and_together,
           what_is_not_answered_holds_back_that_user_alone,
           descriptors_that_are_not_taken_are_bounded, nothing_is_lost_between_threads)
