/* SPDX-License-Identifier: Apache-2.0 */
/* check-children.c - what Check is told by processes that a test starts
 *
 * Check learns of a test by messages in a file that the test and all its children share, one for each
 * assertion that holds. Who is killed in the middle of writing one leaves a part of it, if it does
 * not fit the page of the file, and the program then ends with 2, "Bad message type". So
 * children of a test tell of failures alone, of which none is followed by a kill. Linked in front of
 * Check's function (meson.build). */
#include <pthread.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

/* Forks between the program and this process: Check makes one for each test. */
static unsigned n_forks;

static void count_fork(void)
{
    n_forks++;
}

__attribute__((__constructor__)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

void __wrap__mark_point(const char *file, int line)
{
    if (n_forks <= 1)
        __real__mark_point(file, line);
}
