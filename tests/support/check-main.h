/* SPDX-License-Identifier: Apache-2.0 */
/* check-main.h - one Check suite per file: list the tests, and that is the program
 *
 *     TEST(arena_gives_zeroed_blocks) { ck_assert(...); }
 *     CHECK_MAIN("arena", TESTS(arena_gives_zeroed_blocks, ...), NULL)
 *
 * Every test runs in a process of its own with a time limit of 60 s (times 5
 * under sanitizers), or CHECK_TIMEOUT_S where a file defines it before. */
#ifndef NN_TESTS_CHECK_MAIN_H
#define NN_TESTS_CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

#ifdef CHECK_TIMEOUT_S
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_TIMEOUT_S 300
#else
#define CHECK_TIMEOUT_S 60
#endif

/* The tests of this file, in the order in which they were defined. */
#define TEST(test_name) START_TEST(test_name)
#define TEST_END        END_TEST

static inline int check_main(const char *name, const TTest *const *tests, size_t n_tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tcase, CHECK_TIMEOUT_S);
    for (size_t i = 0; i < n_tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define CHECK_MAIN(name, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return check_main(name, tests, sizeof(tests) / sizeof(tests[0]));                          \
    }

#endif
