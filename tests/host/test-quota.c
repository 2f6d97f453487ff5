/* SPDX-License-Identifier: Apache-2.0 */
#include "host/quota.h"

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
    struct nn_quota_account first, second, stranger;
    struct nn_quota_charge a = {0}, b = {0}, c = {0};

    nn_quota_init(&quota);
    open_account(&quota, 1, &first);
    open_account(&quota, 1, &second);
    open_account(&quota, 2, &stranger);
    ck_assert_int_eq(nn_quota_charge(&first, NN_QUOTA_EXECUTIONS, 10, &a), 0);
    ck_assert_int_eq(nn_quota_charge(&second, NN_QUOTA_EXECUTIONS, 6, &b), NN_QUOTA_E_UID);
    ck_assert_int_eq(nn_quota_charge(&second, NN_QUOTA_EXECUTIONS, 5, &b), 0);
    ck_assert_int_eq(nn_quota_charge(&stranger, NN_QUOTA_EXECUTIONS, 10, &c), 0);
    nn_quota_release(&a);
    nn_quota_release(&b);
    nn_quota_release(&c);
    nn_quota_account_close(&first);
    nn_quota_account_close(&second);
    nn_quota_account_close(&stranger);
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
    nn_quota_explain(&second, NN_QUOTA_E_USER_MEMORY, 2953, text, sizeof(text));
    ck_assert_str_eq(text,
                     "this needs 2.9 KiB; user 1000 may have 4.9 KiB of the service's memory, 2.0 "
                     "KiB are in use: free something that is not needed, or let "
                     "NNHAL_USER_MEMORY of the service be raised");
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

CHECK_MAIN("quota", an_account_holds_its_limit, accounts_of_one_uid_share_a_purse,
           memory_is_one_sum)
