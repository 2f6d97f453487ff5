/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"
#include "host/quota.h"
#include "host/session.h"

#include "support/check-main.h"

#include <errno.h>

static void open_account(struct nn_quota *quota, uint32_t uid, struct nn_quota_account *account)
{
    ck_assert_int_eq(nn_quota_account_open(quota, uid, account), 0);
    for (int slot = 0; slot < NN_QUOTA_SLOT_N; slot++) {
        account->limits[slot] = 10;
        account->uid_limits[slot] = 15;
    }
}

TEST(an_account_holds_its_limit)
{
    struct nn_quota quota;
    struct nn_quota_account account;
    struct nn_quota_charge a = {0}, b = {0};

    nn_quota_init(&quota);
    open_account(&quota, 1, &account);
    ck_assert_int_eq(nn_quota_charge(&account, NN_QUOTA_MEMORIES, 10, &a), 0);
    ck_assert_int_eq(nn_quota_charge(&account, NN_QUOTA_MEMORIES, 1, &b), NN_QUOTA_E_SESSION);
    ck_assert_int_eq(nn_quota_charge(&account, NN_QUOTA_FENCED, UINT64_MAX, &b),
                     NN_QUOTA_E_SESSION);
    ck_assert_ptr_null(b.account);
    ck_assert_int_eq(nn_quota_charge(&account, NN_QUOTA_MEMORIES, 0, &b), 0); /* nothing fits */
    nn_quota_release(&b);
    nn_quota_release(&a);
    nn_quota_release(&a);
    ck_assert_int_eq(nn_quota_charge(&account, NN_QUOTA_MEMORIES, 10, &b), 0);
    nn_quota_release(&b);
    nn_quota_account_close(&account);
    nn_quota_done(&quota);
}
TEST_END

TEST(accounts_of_one_uid_share_a_purse)
{
    struct nn_quota quota;
    struct nn_quota_account accounts[3]; /* the first two of one user */
    struct nn_quota_charge a = {0}, b = {0}, c = {0};

    nn_quota_init(&quota);
    for (uint32_t i = 0; i < 3; i++)
        open_account(&quota, i < 2 ? 1 : 2, &accounts[i]);
    ck_assert_int_eq(nn_quota_charge(&accounts[0], NN_QUOTA_EXECUTIONS, 10, &a), 0);
    ck_assert_int_eq(nn_quota_charge(&accounts[1], NN_QUOTA_EXECUTIONS, 6, &b), NN_QUOTA_E_UID);
    ck_assert_int_eq(nn_quota_charge(&accounts[1], NN_QUOTA_EXECUTIONS, 5, &b), 0);
    ck_assert_int_eq(nn_quota_charge(&accounts[2], NN_QUOTA_EXECUTIONS, 10, &c), 0);
    nn_quota_release(&a);
    /* What an account that closes has given back is its user's again. */
    nn_quota_account_close(&accounts[0]);
    ck_assert_int_eq(nn_quota_extend(&b, 6), NN_QUOTA_E_SESSION);
    ck_assert_int_eq(nn_quota_extend(&b, 5), 0);
    nn_quota_release(&b);
    nn_quota_release(&c);
    nn_quota_account_close(&accounts[1]);
    nn_quota_account_close(&accounts[2]);
    ck_assert_ptr_null(quota.purses);
    nn_quota_done(&quota);
}
TEST_END

/* Sums of all slots that cost memory, for one user and for all. */
TEST(memory_is_one_sum)
{
    struct nn_quota quota;
    struct nn_quota_account first, second, stranger;
    struct nn_quota_charge a = {0}, b = {0}, c = {0};
    struct nn_meter meter;
    char text[512];

    nn_quota_init(&quota);
    nn_quota_limit_memory(&quota, 5000, 8000);
    open_account(&quota, 1000, &first);
    open_account(&quota, 1000, &second);
    open_account(&quota, 1001, &stranger);
    first.limits[NN_QUOTA_BYTES] = first.uid_limits[NN_QUOTA_BYTES] = UINT64_MAX;
    second.limits[NN_QUOTA_BYTES] = second.uid_limits[NN_QUOTA_BYTES] = UINT64_MAX;
    stranger.limits[NN_QUOTA_BYTES] = stranger.uid_limits[NN_QUOTA_BYTES] = UINT64_MAX;
    ck_assert_int_eq(nn_quota_charge(&first, NN_QUOTA_MEMORIES, 1, &a), 0); /* 2048 bytes */
    ck_assert_int_eq(nn_quota_charge(&second, NN_QUOTA_BYTES, 2953, &b), NN_QUOTA_E_USER_MEMORY);
    ck_assert_int_eq(nn_quota_charge(&stranger, NN_QUOTA_MEMORIES, 1, &c), 0);
    ck_assert_int_eq(nn_quota_look(&second, 2953), NN_QUOTA_E_USER_MEMORY);
    ck_assert_int_eq(nn_quota_look(&second, 2952), NN_QUOTA_E_ALL_MEMORY);
    nn_quota_explain(&second, NN_QUOTA_E_USER_MEMORY, 2953, text, sizeof(text));
    ck_assert_str_eq(text,
                     "this needs 2.9 KiB; user 1000 may have 4.9 KiB of the service's memory, 2.0 "
                     "KiB are in use: free something that is not needed, or let "
                     "NNHAL_USER_MEMORY of the service be raised");
    nn_quota_explain(&second, NN_QUOTA_E_ALL_MEMORY, 4000, text, sizeof(text));
    ck_assert_str_eq(text, "this needs 3.9 KiB; all users together may have 7.8 KiB of the "
                           "service's memory, you have 2.0 KiB: try again later, or let "
                           "NNHAL_SERVICE_MEMORY of the service be raised");
    nn_quota_release(&c);
    ck_assert_int_eq(nn_quota_charge(&second, NN_QUOTA_BYTES, 2000, &b), 0);
    ck_assert_int_eq(nn_quota_extend(&b, 953), NN_QUOTA_E_USER_MEMORY);
    ck_assert_int_eq(nn_quota_extend(&b, 952), 0);
    /* The user is full; another one is not, until all together are. */
    meter = nn_quota_meter(&stranger);
    ck_assert_int_eq(nn_meter_charge(&meter, 3001), -EDQUOT);
    ck_assert_int_eq(nn_quota_look(&stranger, 3001), NN_QUOTA_E_ALL_MEMORY);
    ck_assert_int_eq(nn_meter_charge(&meter, 3000), 0);
    ck_assert_int_eq(nn_quota_charge(&stranger, NN_QUOTA_BYTES, 1, &c), NN_QUOTA_E_ALL_MEMORY);
    nn_quota_reduce(&b, 1);
    ck_assert_int_eq(nn_quota_charge(&stranger, NN_QUOTA_BYTES, 1, &c), 0);
    nn_quota_reduce(&b, UINT64_MAX);
    nn_meter_uncharge(&meter, 3000);
    nn_quota_release(&a);
    nn_quota_release(&b);
    nn_quota_release(&c);
    ck_assert_uint_eq(quota.memory, 0);
    nn_quota_account_close(&first);
    nn_quota_account_close(&second);
    nn_quota_account_close(&stranger);
    nn_quota_done(&quota);
}
TEST_END

/* -- threads ---------------------------------------------------------------------------- */

static struct nn_quota_account shared;

/* A charge of its own, in every way in which one changes. */
static void *charge_often(void *argument)
{
    const struct nn_meter meter = nn_quota_meter(&shared);
    struct nn_quota_charge charge = {0};

    for (int i = 0; i < 5000; i++) {
        ck_assert_int_eq(nn_quota_charge(&shared, NN_QUOTA_BYTES, 1, &charge), 0);
        ck_assert_int_eq(nn_quota_extend(&charge, 1), 0);
        nn_quota_reduce(&charge, 1);
        ck_assert_int_eq(nn_meter_charge(&meter, 1), 0);
        nn_meter_uncharge(&meter, 1);
        nn_quota_release(&charge);
    }
    return argument;
}

TEST(nothing_is_lost_between_threads)
{
    struct nn_quota quota;
    pthread_t threads[4];

    nn_quota_init(&quota);
    open_account(&quota, 1, &shared);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, charge_often, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(shared.used[NN_QUOTA_BYTES], 0);
    ck_assert_uint_eq(quota.memory, 0);
    nn_quota_account_close(&shared);
    nn_quota_done(&quota);
}
TEST_END

/* Tests of what lies beyond a limit set lower ones; a service and a session without any have these. */
TEST(the_standard_limits_are_those_that_are_promised)
{
    const struct nn_host_limits standard = NN_HOST_DEFAULT_LIMITS;

    ck_assert_uint_eq(standard.n_memories, 65536);
    ck_assert_uint_eq(standard.n_prepared_models, 4096);
    ck_assert_uint_eq(standard.n_executions, 65536);
    ck_assert_uint_eq(standard.n_fenced, 1024);
    ck_assert_uint_eq(standard.n_fences, 512);
    ck_assert_uint_eq(standard.n_buffers, 4096);
    ck_assert_uint_eq(standard.buffer_bytes, UINT64_C(4) << 30);
    ck_assert_uint_eq(standard.n_bursts, 256);
    ck_assert_uint_eq(standard.burst_bytes, UINT64_C(256) << 20);
    ck_assert_uint_eq(standard.memory_bytes, UINT64_C(1) << 40);
    ck_assert_uint_eq(standard.model_bytes, UINT64_C(64) << 30);
}
TEST_END

static void expect_shares(bool is_shared, uint64_t of_user, uint64_t of_all)
{
    struct nn_host host = {.n_refs = 0};

    nn_quota_init(&host.quota);
    nn_host_limit_memory(&host, is_shared, 4000);
    ck_assert_uint_eq(host.quota.user_memory_limit, of_user);
    ck_assert_uint_eq(host.quota.all_memory_limit, of_all);
    nn_quota_done(&host.quota);
}

TEST(a_quarter_is_for_one_user_and_three_are_for_all)
{
    unsetenv("NNHAL_USER_MEMORY");
    unsetenv("NNHAL_SERVICE_MEMORY");
    expect_shares(true, 1000, 3000);
    expect_shares(false, UINT64_MAX, UINT64_MAX); /* an application's own */
    setenv("NNHAL_USER_MEMORY", "10%", 1);
    expect_shares(true, 400, 3000);
    expect_shares(false, 400, UINT64_MAX);
    setenv("NNHAL_USER_MEMORY", "much", 1);
    setenv("NNHAL_SERVICE_MEMORY", "2K", 1);
    expect_shares(true, 1000, 2048);
}
TEST_END

CHECK_MAIN("quota", an_account_holds_its_limit, accounts_of_one_uid_share_a_purse,
           memory_is_one_sum, nothing_is_lost_between_threads,
           the_standard_limits_are_those_that_are_promised,
           a_quarter_is_for_one_user_and_three_are_for_all)
