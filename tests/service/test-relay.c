/* SPDX-License-Identifier: Apache-2.0 */
#include "service/relay.h"

#include "support/check-main.h"

#include <string.h>
#include <unistd.h>

/* text as it comes out, given in pieces of n bytes. */
/* What becomes of a text, in pieces of any length. */
static void expect(bool is_journal, const char *text, const char *wanted)
{
    size_t n_bytes = strlen(text);

    for (size_t n = 1; n <= n_bytes; n++) {
        struct nn_relay relay = {.is_journal = is_journal};
        char bytes[256];

        memcpy(bytes, text, n_bytes + 1);
        for (size_t i = 0; i < n_bytes; i += n)
            nn_relay_clean(&relay, (uint8_t *)bytes + i, n < n_bytes - i ? n : n_bytes - i);
        ck_assert_str_eq(bytes, wanted);
    }
}

static void expect_clean(const char *text, const char *wanted)
{
    expect(false, text, wanted);
}

TEST(text_stays)
{
    expect_clean("a line\n\tand another ~\n", "a line\n\tand another ~\n");
    expect_clean("K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0.",
                 "K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0.");
}
TEST_END

TEST(what_a_terminal_obeys_does_not)
{
    expect_clean("\x1b]0;title\x07\x1b[6n", "?]0;title??[6n");
    expect_clean("a\rb\x7f\x08", "a?b??");
    expect_clean("\xc2\x9b"
                 "6n \xc2\x85.",
                 "\xc2?6n \xc2?."); /* the same, in UTF-8 */
    expect_clean("\x9b"
                 "6n \x90",
                 "?6n ?");                             /* in one byte */
    expect_clean("\xe2\x1b[c \xff\xf8", "\xe2?[c ??"); /* a character that is cut */
}
TEST_END

static void expect_journal(const char *text, const char *wanted)
{
    expect(true, text, wanted);
}

/* The journal writes emergencies onto every terminal. */
TEST(no_line_is_an_emergency_for_the_journal)
{
    expect_journal("<3>error\n<4>warning\n<7>debug\n", "<3>error\n<4>warning\n<7>debug\n");
    expect_journal("<0>wall\n<1>a<2>b", "<0?wall\n<1?a<2?b");
    expect_journal("<00>a<002>b<<0>c<003>", "<00?a<002?b<<0?c<003>");
    expect_journal("x <12 items> <> <0002> <0 > <10>", "x <12 items> <> <0002> <0 > <10>");
    expect_clean("<0>on a terminal", "<0>on a terminal");
}
TEST_END

TEST(it_passes_on_until_the_end)
{
    struct nn_relay relay = {0};
    char bytes[16] = "";
    int from[2], to[2];

    ck_assert_int_eq(pipe(from), 0);
    ck_assert_int_eq(pipe(to), 0);
    ck_assert_int_eq(write(from[1], "one\x1b\n", 5), 5);
    ck_assert_int_eq(nn_relay_pass(&relay, from[0], to[1]), 5);
    ck_assert_int_eq(read(to[0], bytes, sizeof(bytes)), 5);
    ck_assert_str_eq(bytes, "one?\n");
    close(from[1]);
    ck_assert_int_eq(nn_relay_pass(&relay, from[0], to[1]), 0);
    close(to[1]);
    close(from[0]);
    ck_assert_int_lt(nn_relay_pass(&relay, from[0], to[1]), 0);
    close(to[0]);
}
TEST_END

CHECK_MAIN("relay", text_stays, what_a_terminal_obeys_does_not,
           no_line_is_an_emergency_for_the_journal, it_passes_on_until_the_end)
