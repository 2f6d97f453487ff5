/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about clients: what has no room is left out, counted, and the count is said. */
#include "host/journal.h"

#include "base/sys.h"
#include "support/check-main.h"

#include <nnhal/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

enum { N_LINES = 1000, N_USERS = 100000, N_ROOMS = NN_JOURNAL_N_ROOMS };

static struct nn_journal journal;
static FILE *errors;
static char text[1 << 20];

static void begin(const char *level)
{
    errors = tmpfile();
    ck_assert_ptr_nonnull(errors);
    ck_assert_int_ge(dup2(fileno(errors), STDERR_FILENO), 0);
    setenv("NNHAL_LOG", level, 1);
    memset(&journal, 0, sizeof(journal));
    nn_journal_init(&journal);
}

static void end(void)
{
    nn_journal_done(&journal);
    fclose(errors);
}

static void say(uint32_t uid, size_t n)
{
    for (size_t i = 0; i < n; i++)
        nn_journal_say(&journal, uid, NN_LOG_INFO, "client of user %u", (unsigned)uid);
}

static void read_text(void)
{
    ssize_t n = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
}

/* How often the log has these words. */
static size_t count(const char *words)
{
    size_t n_found = 0;

    read_text();
    for (const char *at = text; (at = strstr(at, words)); at++)
        n_found++;
    return n_found;
}

/* The sum of the counts that were said. */
static size_t count_left_out(void)
{
    static const char words[] = " lines about clients were left out";
    size_t sum = 0;

    read_text();
    for (char *at = text; (at = strstr(at, words)); at++) {
        char *number = at;

        while (number > text && number[-1] >= '0' && number[-1] <= '9')
            number--;
        sum += strtoul(number, NULL, 10);
    }
    return sum;
}

TEST(a_flood_of_one_user_is_counted_and_hides_no_other)
{
    uint64_t begin_ns = nn_sys_now_ns(), now_ns, n_said;

    begin("info");
    say(1000, N_LINES);
    n_said = count("client of user 1000");
    ck_assert_uint_ge(n_said, NN_JOURNAL_LINES);
    ck_assert_uint_le(n_said, NN_JOURNAL_LINES + 1 + (nn_sys_now_ns() - begin_ns) / SECOND_NS);
    /* Others keep theirs, also those with numbers that have much in common with it. */
    for (uint32_t i = 1; i < N_ROOMS; i++)
        say(1000 + i * N_ROOMS, 1);
    ck_assert_uint_eq(count("client of user"), n_said + N_ROOMS - 1);
    /* Nothing is lost without a word. */
    ck_assert(nn_journal_owes(&journal));
    now_ns = nn_sys_now_ns() + 2 * SECOND_NS;
    ck_assert_uint_eq(nn_journal_settle(&journal, now_ns), NNHAL_NO_TIME);
    ck_assert(!nn_journal_owes(&journal));
    ck_assert_uint_eq(count("client of user 1000") + count_left_out(), N_LINES);
    ck_assert_uint_eq(count("the last one about user 1000"), count("were left out"));
    end();
}
TEST_END

/* Counts are lines as well. */
TEST(a_flood_that_goes_on_makes_one_line_a_second)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    uint64_t begin_ns = nn_sys_now_ns(), end_ns = begin_ns + 4 * SECOND_NS;
    size_t n_before;

    begin("info");
    say(1000, N_LINES);
    n_before = count("client of user 1000");
    /* Until there were some of both. */
    while (nn_sys_now_ns() < end_ns || count("were left out") == 0 ||
           count("client of user 1000") == n_before) {
        say(1000, 1);
        nn_journal_settle(&journal, nn_sys_now_ns());
        ck_assert_uint_le(count("\n"), NN_JOURNAL_LINES + (nn_sys_now_ns() - begin_ns) / SECOND_NS);
        nanosleep(&pause, NULL);
    }
    end();
}
TEST_END

TEST(it_says_when_there_will_be_room)
{
    uint64_t now_ns = nn_sys_now_ns(), next_ns;

    begin("info");
    ck_assert_uint_eq(nn_journal_settle(&journal, now_ns), NNHAL_NO_TIME);
    do
        say(7, 1);
    while (!nn_journal_owes(&journal));
    /* As of the beginning, to which no line can have come in the meantime. */
    next_ns = nn_journal_settle(&journal, now_ns);
    ck_assert_uint_gt(next_ns, now_ns);
    ck_assert(nn_journal_owes(&journal));
    ck_assert_uint_eq(nn_journal_settle(&journal, next_ns), NNHAL_NO_TIME);
    ck_assert_uint_eq(count_left_out(), 1);
    end();
}
TEST_END

/* No number of users makes more than the rooms hold. */
TEST(many_users_do_not_make_more)
{
    uint64_t begin_ns = nn_sys_now_ns();

    begin("info");
    for (uint32_t i = 0; i < N_USERS; i++)
        say(i, 1);
    ck_assert_uint_le(count("client of user"),
                      N_ROOMS * (NN_JOURNAL_LINES + 1 + (nn_sys_now_ns() - begin_ns) / SECOND_NS));
    end();
}
TEST_END

TEST(what_is_usual_takes_no_room_of_a_warning)
{
    begin("info");
    say(1000, N_LINES);
    nn_journal_say(&journal, 1000, NN_LOG_WARNING, "a warning");
    nn_journal_say(&journal, 1000, NN_LOG_ERROR, "an error");
    ck_assert_uint_eq(count("warning: a warning\n"), 1);
    ck_assert_uint_eq(count("error: an error\n"), 1);
    end();
}
TEST_END

TEST(what_is_not_asked_for_takes_no_room)
{
    begin("warning");
    say(5, N_LINES);
    ck_assert(!nn_journal_owes(&journal));
    nn_journal_say(&journal, 5, NN_LOG_WARNING, "a warning");
    ck_assert_uint_eq(count("nnhal service warning: a warning\n"), 1);
    end();
}
TEST_END

CHECK_MAIN("journal", a_flood_of_one_user_is_counted_and_hides_no_other,
           a_flood_that_goes_on_makes_one_line_a_second, it_says_when_there_will_be_room,
           many_users_do_not_make_more, what_is_usual_takes_no_room_of_a_warning,
           what_is_not_asked_for_takes_no_room)
