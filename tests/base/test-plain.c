/* SPDX-License-Identifier: Apache-2.0 */
#include "base/plain.h"

#include "support/check-main.h"

#include <string.h>

#define EURO "\xe2\x82\xac"

TEST(a_line_has_whole_characters_and_nothing_that_steers)
{
    static const struct {
        const char *text;
        size_t n_bytes;
        const char *line;
    } rows[] = {
        {"", 1, ""},
        {"abc", 1, ""},
        {"abc", 3, "ab"},
        {"abc", 4, "abc"},
        {"a\nb\tc\rd", 16, "a b c?d"},
        {"\033[2J\x7f", 16, "?[2J?"},
        {"1 " EURO, 5, "1 "},
        {"1 " EURO, 6, "1 " EURO},
        {EURO EURO, 5, EURO},
        {"\xe2\x82"
         "x",
         16, "??x"},
        {"\xe2\x82" EURO, 16, "??" EURO},
        {"\xe2\xe2" EURO, 5, "??"},
        {"\xc2\x9b"
         "2J",
         16, "??2J"},
        {"\x9b"
         "2J\xff",
         16, "?2J?"},
        {"end \xf0\x9f", 16, "end "},
        {"\xe0\xa0\x80 \xed\x9f\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", 20,
         "\xe0\xa0\x80 \xed\x9f\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"},
        {"\xe0\x82\x9b \xed\xa0\x80 \xf0\x82\x82\xac \xf4\x90\x80\x80", 20, "??? ??? ???? ????"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[32];

        memset(line, '#', sizeof(line));
        nn_plain_line(rows[i].text, line, rows[i].n_bytes);
        ck_assert_msg(strcmp(line, rows[i].line) == 0, "row %zu: %s", i, line);
        ck_assert_int_eq(line[rows[i].n_bytes], '#');
    }
}
TEST_END

CHECK_MAIN("plain", a_line_has_whole_characters_and_nothing_that_steers)
