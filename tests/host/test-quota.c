/* SPDX-License-Identifier: Apache-2.0 */
#include "host/quota.h"

#include "support/check-main.h"

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

CHECK_MAIN("quota", an_account_holds_its_limit, accounts_of_one_uid_share_a_purse)
