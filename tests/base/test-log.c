/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "support/check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Standard error as a pipe; what was printed is read back at the end. */
static int capture(void)
{
    int fds[2];

    ck_assert_int_eq(pipe2(fds, O_NONBLOCK), 0);
    dup2(fds[1], STDERR_FILENO);
    close(fds[1]);
    return fds[0];
}

static const char *printed(int fd)
{
    static char text[16384];
    ssize_t n = read(fd, text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

TEST(nothing_is_printed_unless_asked)
{
    int fd = capture();

    unsetenv("NNHAL_LOG");
    unsetenv("NNHAL_TRACE");
    nn_log("ipc", NN_LOG_ERROR, "not seen");
    ck_assert_str_eq(printed(fd), "");
    ck_assert(!nn_trace_enabled("wire"));
    nn_log_set_default(NN_LOG_WARNING);
    nn_log("ipc", NN_LOG_INFO, "not seen either");
    errno = EDOM;
    nn_log("ipc", NN_LOG_WARNING, "seen %d", 5);
    ck_assert_int_eq(errno, EDOM);
    ck_assert_str_eq(printed(fd), "nnhal ipc warning: seen 5\n");
}
TEST_END

static size_t count(const char *text, const char *words)
{
    size_t n = 0;

    for (; (text = strstr(text, words)); text++)
        n++;
    return n;
}

TEST(lines_that_nobody_reads_are_counted_and_do_not_block)
{
    enum { N_LINES = 2000 };
    int fd = capture();
    unsigned n_left_out = 0;
    size_t n_read = 0;
    const char *text;

    setenv("NNHAL_LOG", "info", 1);
    for (int i = 0; i < N_LINES; i++)
        nn_log("ipc", NN_LOG_INFO, "%d: a line of a flood that does not fit into a pipe", i);
    while (*(text = printed(fd)))
        n_read += count(text, "\n");
    ck_assert_uint_lt(n_read, N_LINES);
    nn_log("ipc", NN_LOG_INFO, "and on");
    nn_log("ipc", NN_LOG_INFO, "and on");
    text = printed(fd);
    ck_assert_int_eq(sscanf(text, "nnhal log warning: %u lines were left out", &n_left_out), 1);
    ck_assert_uint_eq(n_read + n_left_out, N_LINES);
    ck_assert_uint_eq(count(text, "info: and on\n"), 2);
    ck_assert_uint_eq(count(text, "\n"), 3);
}
TEST_END

/* Standard error as a file that JOURNAL_STREAM names, or not. */
static void log_to_stream(const char *more, const char *wanted)
{
    FILE *file = tmpfile();
    struct stat status;
    char stream[64], text[256] = "";

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    ck_assert_int_eq(fstat(STDERR_FILENO, &status), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju%s", (uintmax_t)status.st_dev,
             (uintmax_t)status.st_ino, more);
    setenv("JOURNAL_STREAM", stream, 1);
    setenv("NNHAL_LOG", "debug", 1);
    nn_log("ipc", NN_LOG_ERROR, "a");
    nn_log("ipc", NN_LOG_WARNING, "b");
    nn_log("ipc", NN_LOG_INFO, "c");
    nn_log("ipc", NN_LOG_DEBUG, "d");
    ck_assert_int_ge(pread(STDERR_FILENO, text, sizeof(text) - 1, 0), 0);
    ck_assert_str_eq(text, wanted);
    fclose(file);
}

TEST(lines_of_the_journal_have_priorities)
{
    log_to_stream("", "<3>nnhal ipc error: a\n<4>nnhal ipc warning: b\n"
                      "<6>nnhal ipc info: c\n<7>nnhal ipc debug: d\n");
}
TEST_END

/* What a service starts with another standard error inherits the variable. */
TEST(lines_of_another_stream_have_none)
{
    log_to_stream("0", "nnhal ipc error: a\nnnhal ipc warning: b\n"
                       "nnhal ipc info: c\nnnhal ipc debug: d\n");
}
TEST_END

TEST(topics_have_levels_of_their_own)
{
    setenv("NNHAL_LOG", "info,ipc:debug,,cache:error,bad:loud,:x,nonsense", 1);
    ck_assert(nn_log_enabled("ipc", NN_LOG_DEBUG));
    ck_assert(nn_log_enabled("host", NN_LOG_INFO));
    ck_assert(!nn_log_enabled("host", NN_LOG_DEBUG));
    ck_assert(nn_log_enabled("cache", NN_LOG_ERROR));
    ck_assert(!nn_log_enabled("cache", NN_LOG_WARNING));
    ck_assert(nn_log_enabled("bad", NN_LOG_INFO));
}
TEST_END

TEST(a_line_is_one_line)
{
    char huge[8000];
    int fd = capture();
    const char *text;

    setenv("NNHAL_LOG", "debug", 1);
    nn_log("ipc", NN_LOG_DEBUG, "%s", "two\nlines\x1b[31m");
    ck_assert_str_eq(printed(fd), "nnhal ipc debug: two?lines?[31m\n");
    nn_log("ipc", NN_LOG_DEBUG, "%s", "K\xc3\xb6ln \xc2\x9b[31m \x9b[31m");
    ck_assert_str_eq(printed(fd), "nnhal ipc debug: K\xc3\xb6ln \xc2?[31m ?[31m\n");
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    nn_log("ipc", NN_LOG_DEBUG, "%s", huge);
    text = printed(fd);
    ck_assert_uint_lt(strlen(text), sizeof(huge));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
TEST_END

TEST(traces_are_named)
{
    int fd = capture();
    unsigned s, us;
    char rest[32];

    setenv("NNHAL_TRACE", "wire,plan", 1);
    ck_assert(nn_trace_enabled("wire"));
    ck_assert(nn_trace_enabled("plan"));
    ck_assert(!nn_trace_enabled("wir"));
    nn_trace("hello");
    ck_assert_int_eq(sscanf(printed(fd), "%u.%6u %31s", &s, &us, rest), 3);
    ck_assert_str_eq(rest, "hello");
}
TEST_END

CHECK_MAIN("log", nothing_is_printed_unless_asked,
           lines_that_nobody_reads_are_counted_and_do_not_block,
           lines_of_the_journal_have_priorities, lines_of_another_stream_have_none,
           topics_have_levels_of_their_own, a_line_is_one_line, traces_are_named)
