/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of parts, and of threads that the process does not wait for. */
#include "cache/hash.h"

#include "support/check-main.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t bytes[1 << 16];

TEST(parts_are_hashed_one_after_the_other)
{
    const struct nn_hash_part whole = {"abcdef", 6};
    const struct nn_hash_part parts[] = {{"ab", 2}, {NULL, 0}, {"cdef", 4}};
    struct nn_hash a, b;

    nn_hash_compute(&whole, 1, &a);
    nn_hash_compute(parts, 3, &b);
    ck_assert_mem_eq(&a, &b, sizeof(a));
    nn_hash_compute(parts, 2, &b);
    ck_assert_mem_ne(&a, &b, sizeof(a));
}
TEST_END

static void *hash_for_ever(void *ctx)
{
    const struct nn_hash_part part = {bytes, sizeof(bytes)};
    struct nn_hash hash;

    for (;;)
        nn_hash_compute(&part, 1, &hash);
    return NULL;
}

TEST(a_process_may_end_while_a_thread_hashes)
{
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        pthread_t thread;
        int status;

        ck_assert_int_ge(child, 0);
        if (child == 0) {
            if (pthread_create(&thread, NULL, hash_for_ever, NULL) != 0)
                _exit(2);
            usleep(1000 + (useconds_t)i * 3);
            exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status), "round %d: signal %d", i, WTERMSIG(status));
    }
}
TEST_END

CHECK_MAIN("hash", parts_are_hashed_one_after_the_other, a_process_may_end_while_a_thread_hashes)
