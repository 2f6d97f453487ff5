/* SPDX-License-Identifier: Apache-2.0 */
/* A store in several threads of a process that forks. */
#include "temp-folder.h"
#include "support/check-main.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[TEMP_FOLDER_BYTES];

/* Check's own lock may be held when a thread forks: neither threads nor children assert. */
static int n_wrong;

static void *use_often(void *ctx)
{
    struct nnhal_store *store = ctx;
    uint8_t value[3000], read[3000];
    size_t n;

    for (uint32_t i = 0; i < 100; i++) {
        uint32_t key = i % 10;
        int r;

        make_value(key, value, sizeof(value));
        r = nnhal_store_get(store, &key, sizeof(key), read, sizeof(read), &n);
        if ((r != 0 && r != NNHAL_STORE_E_NONE) ||
            (r == 0 && memcmp(read, value, sizeof(value)) != 0) ||
            nnhal_store_set(store, &key, sizeof(key), value, sizeof(value)) != 0)
            __atomic_add_fetch(&n_wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Returns: what the child is to exit with. */
static int use_in_child(void)
{
    struct nnhal_store *own;
    uint8_t value[100] = {7}, read[100];
    size_t n;
    int is_wrong;

    if (nnhal_store_open(path, NULL, &own) != 0)
        return 1;
    is_wrong = nnhal_store_set(own, "x", 1, value, sizeof(value)) != 0 ||
               nnhal_store_get(own, "x", 1, read, sizeof(read), &n) != 0 ||
               memcmp(read, value, sizeof(value)) != 0;
    nnhal_store_close(own);
    return is_wrong;
}

TEST(threads_share_a_store)
{
    struct nnhal_store *store;
    pthread_t threads[4];
    int status;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_often, store), 0);
    /* A child finds SQLite usable while the other threads use it. */
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();

        /* Not _exit(): ThreadSanitizer would ask the child for threads of the parent. */
        if (pid == 0)
            syscall(SYS_exit_group, use_in_child());
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(n_wrong, 0);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

CHECK_MAIN("store-threads", threads_share_a_store)
