/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver declares in the file beside it: every word, and what is refused. */
#include "service/grants.h"

#include "support/check-main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], module[100], file[100];
static struct nn_grants grants;
static struct nn_host_why why;

static void lay_module(void)
{
    FILE *stream;

    snprintf(folder, sizeof(folder), "/tmp/nnhal-grants-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(module, sizeof(module), "%s/libx.so", folder);
    snprintf(file, sizeof(file), "%s/libx.sandbox", folder);
    stream = fopen(module, "we");
    ck_assert_ptr_nonnull(stream);
    fclose(stream);
}

static void remove_module(void)
{
    unlink(file);
    unlink(module);
    rmdir(folder);
}

static void declare(const char *text, size_t n)
{
    FILE *stream = fopen(file, "we");

    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(text, 1, n, stream), n);
    fclose(stream);
}

static int read_declared(const char *text, const char *configuration)
{
    declare(text, strlen(text));
    why.text[0] = '\0';
    return nn_grants_read(module, configuration, &grants, &why);
}

TEST(without_a_file_nothing_is_granted)
{
    lay_module();
    ck_assert_int_eq(nn_grants_read(module, NULL, &grants, &why), 0);
    ck_assert_uint_eq(grants.n_paths, 0);
    ck_assert_uint_eq(grants.n_calls, 0);
    ck_assert(!grants.has_executable_memory);
    nn_grants_done(&grants);
    remove_module();
}
TEST_END

TEST(all_words_are_read)
{
    lay_module();
    setenv("NN_TEST_TABLES", "/srv/tables", 1);
    unsetenv("NN_TEST_ABSENT");
    ck_assert_int_eq(read_declared("# a comment\n"
                                   "\n"
                                   "read /etc/a name with spaces\n"
                                   "read $NN_TEST_TABLES\n"
                                   "read $NN_TEST_ABSENT\n"
                                   "read $CONFIGURATION\n"
                                   "device /dev/dri/card..0\n"
                                   "call process_madvise\n"
                                   "executable-memory",
                                   "/etc/x.conf"),
                     0);
    ck_assert_uint_eq(grants.n_paths, 4);
    ck_assert_str_eq(grants.paths[0].path, "/etc/a name with spaces");
    ck_assert_str_eq(grants.paths[1].path, "/srv/tables");
    ck_assert_str_eq(grants.paths[2].path, "/etc/x.conf");
    ck_assert_int_eq(grants.paths[2].access, NN_GRANT_READ);
    ck_assert_str_eq(grants.paths[3].path, "/dev/dri/card..0");
    ck_assert_int_eq(grants.paths[3].access, NN_GRANT_DEVICE);
    ck_assert_uint_eq(grants.n_calls, 1);
    ck_assert_str_eq(grants.calls[0], "process_madvise");
    ck_assert(grants.has_executable_memory);
    nn_grants_done(&grants);
    remove_module();
}
TEST_END

/* A driver's name may be followed by words that are no path. */
TEST(a_configuration_that_is_no_path_grants_nothing)
{
    lay_module();
    ck_assert_int_eq(read_declared("read $CONFIGURATION\n", "threads=2"), 0);
    ck_assert_uint_eq(grants.n_paths, 0);
    nn_grants_done(&grants);
    ck_assert_int_eq(read_declared("read $CONFIGURATION\n", NULL), 0);
    ck_assert_uint_eq(grants.n_paths, 0);
    nn_grants_done(&grants);
    remove_module();
}
TEST_END

TEST(other_lines_are_refused_with_their_number)
{
    static const struct {
        const char *line, *complaint;
    } cases[] = {
        {"write /etc/x", "begins with none of"},
        {"read", "is no \"read PATH\""},
        {"executable-memory ", "begins with none of"},
        {"read etc/x", "absolute path"},
        {"read ", "absolute path"},
        {"read /etc/../root", ".."},
        {"device /dev/..", ".."},
        {"read $", "no variable's name"},
        {"read /etc/x\ty", "control character"},
        {"read /etc/x\r", "control character"},
        {"read /etc/x\x7fy", "control character"},
        {"call Open", "name of a system call"},
        {"call ", "name of a system call"},
        {"call open close", "name of a system call"},
        {" read /etc/x", "begins with none of"},
    };
    char text[200], place[120];

    lay_module();
    snprintf(place, sizeof(place), "%s:2: ", file);
    for (size_t i = 0; i < NN_N_ELEMENTS(cases); i++) {
        snprintf(text, sizeof(text), "read /etc/good\n%s\nread /etc/good\n", cases[i].line);
        ck_assert_int_eq(read_declared(text, NULL), -EINVAL);
        ck_assert_msg(strstr(why.text, place) == why.text, "%s", why.text);
        ck_assert_msg(strstr(why.text, cases[i].complaint), "\"%s\": %s", cases[i].line, why.text);
    }
    remove_module();
}
TEST_END

TEST(too_much_is_refused)
{
    char text[NN_GRANTS_MAX_BYTES + 2];
    size_t n = 0;

    lay_module();
    memset(text, '#', sizeof(text));
    ck_assert_uint_eq(NN_GRANTS_MAX_BYTES, 64 << 10);
    ck_assert_uint_eq(NN_GRANTS_MAX, 128);
    declare(text, NN_GRANTS_MAX_BYTES + 1);
    ck_assert_int_eq(nn_grants_read(module, NULL, &grants, &why), -EINVAL);
    declare(text, NN_GRANTS_MAX_BYTES);
    ck_assert_int_eq(nn_grants_read(module, NULL, &grants, &why), 0);
    nn_grants_done(&grants);
    declare("read /etc\0x", 11);
    ck_assert_int_eq(nn_grants_read(module, NULL, &grants, &why), -EINVAL);
    for (int i = 0; i < NN_GRANTS_MAX; i++)
        n += (size_t)sprintf(text + n, "read /etc\ncall read\n");
    ck_assert_int_eq(read_declared(text, NULL), 0);
    nn_grants_done(&grants);
    sprintf(text + n, "call read\n");
    ck_assert_int_eq(read_declared(text, NULL), -EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, ":257: the line is one too many"));
    sprintf(text + n, "device /dev/null\n");
    ck_assert_int_eq(read_declared(text, NULL), -EINVAL);
    remove_module();
}
TEST_END

/* The module's link may lie in a folder of links; the file beside the module counts. */
TEST(links_are_followed_to_the_module)
{
    char link[120];

    lay_module();
    snprintf(link, sizeof(link), "%s/liby.so", folder);
    ck_assert_int_eq(symlink(module, link), 0);
    declare("executable-memory\n", 18);
    ck_assert_int_eq(nn_grants_read(link, NULL, &grants, &why), 0);
    ck_assert(grants.has_executable_memory);
    nn_grants_done(&grants);
    unlink(link);
    remove_module();
}
TEST_END

/* What does not end in .so keeps its whole name. */
TEST(a_module_of_another_name_has_a_file_too)
{
    static const char *const names[] = {"libx.so.1", "driver", "s", "xso"};

    lay_module();
    unlink(module);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(module, sizeof(module), "%s/%s", folder, names[i]);
        fclose(fopen(module, "we"));
        snprintf(file, sizeof(file), "%s/%s.sandbox", folder, names[i]);
        ck_assert_int_eq(read_declared("executable-memory\n", NULL), 0);
        ck_assert(grants.has_executable_memory);
        nn_grants_done(&grants);
        unlink(module);
        unlink(file);
    }
    remove_module();
}
TEST_END

CHECK_MAIN("grants", without_a_file_nothing_is_granted, all_words_are_read,
           a_configuration_that_is_no_path_grants_nothing,
           other_lines_are_refused_with_their_number, too_much_is_refused,
           links_are_followed_to_the_module, a_module_of_another_name_has_a_file_too)
