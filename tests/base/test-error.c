/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "support/check-main.h"

#include <stdio.h>
#include <string.h>

static int born_line, forwarded_line;

static int born(int r)
{
    return born_line = __LINE__, nn_error_origin(r);
}

static int forwarded(int r)
{
    r = born(r);
    return forwarded_line = __LINE__, nn_error_trace(r);
}

TEST(a_chain_names_its_origin_and_who_forwarded_it)
{
    char text[256], born_at[64], forwarded_at[64];

    ck_assert_int_eq(forwarded(-ENOENT), -ENOENT);
    ck_assert_uint_eq(nn_error_last(text, sizeof(text)), 2);
    snprintf(born_at, sizeof(born_at), "test-error.c:%d < ", born_line);
    snprintf(forwarded_at, sizeof(forwarded_at), "test-error.c:%d", forwarded_line);
    ck_assert(!strncmp(text, "-ENOENT ", 8));
    ck_assert_ptr_nonnull(strstr(text, born_at));
    ck_assert_ptr_nonnull(strstr(text, forwarded_at));
}
TEST_END

TEST(what_succeeds_records_nothing)
{
    char text[64];

    ck_assert_uint_eq(nn_error_last(text, sizeof(text)), 0);
    ck_assert_int_eq(forwarded(0), 0);
    ck_assert_int_eq(forwarded(3), 3);
    ck_assert_uint_eq(nn_error_last(text, sizeof(text)), 0);
    ck_assert_str_eq(text, "");
}
TEST_END

TEST(a_new_origin_begins_a_new_chain)
{
    char text[256];

    forwarded(-EIO);
    errno = EBADF;
    ck_assert_int_eq(nn_error_fold(1), -ENOTRECOVERABLE);
    ck_assert_int_eq(errno, EBADF);
    ck_assert_uint_eq(nn_error_last(text, sizeof(text)), 1);
    ck_assert(!strncmp(text, "-ENOTRECOVERABLE ", 17));
}
TEST_END

/* More lines than the ring has room for, into a text that is too short for them. */
TEST(a_long_chain_keeps_its_end_and_text_is_cut)
{
    char text[24];
    int r = born(-ENOMEM);

    for (int i = 0; i < 40; i++)
        r = nn_error_trace(r);
    ck_assert_int_eq(r, -ENOMEM);
    ck_assert_uint_eq(nn_error_last(text, sizeof(text)), 16);
    ck_assert_uint_eq(strlen(text), sizeof(text) - 1);
}
TEST_END

CHECK_MAIN("error", a_chain_names_its_origin_and_who_forwarded_it, what_succeeds_records_nothing,
           a_new_origin_begins_a_new_chain, a_long_chain_keeps_its_end_and_text_is_cut)
