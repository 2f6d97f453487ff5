/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sys.h"

#include "support/check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(the_chosen_call_fails_and_no_other)
{
    void *address = NULL;
    int fd;

    nn_sys_fault_errno = ENFILE;
    nn_sys_fault = 2;
    fd = nn_sys_memfd_create("test", true);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(nn_sys_mmap(4096, PROT_READ, MAP_SHARED, fd, 0, &address), -ENFILE);
    ck_assert_ptr_null(address);
    ck_assert_int_eq(nn_sys_fault, 0);
    ck_assert_int_eq(nn_sys_mmap(4096, PROT_READ, MAP_SHARED, fd, 0, &address), 0);
    ck_assert_int_eq(nn_sys_munmap(address, 4096), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    close(fd);
}
TEST_END

TEST(a_futex_wait_ends_at_its_deadline_or_when_the_word_differs)
{
    uint32_t word = 1;
    uint64_t begin = nn_sys_now_ns();

    ck_assert_int_eq(nn_sys_futex_wait(&word, 0, UINT64_MAX, false), -EAGAIN);
    ck_assert_int_eq(nn_sys_futex_wait(&word, 1, begin + 1000000, true), -ETIMEDOUT);
    ck_assert_uint_ge(nn_sys_now_ns(), begin + 1000000);
}
TEST_END

static void *wake_when_set(void *argument)
{
    uint32_t *word = argument;

    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    ck_assert_int_ge(nn_sys_futex_wake(word, 1, false), 0);
    return NULL;
}

TEST(a_futex_wait_is_woken)
{
    uint32_t word = 0;
    pthread_t thread;

    pthread_create(&thread, NULL, wake_when_set, &word);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
        nn_sys_futex_wait(&word, 0, UINT64_MAX, false);
    pthread_join(thread, NULL);
}
TEST_END

TEST(files_are_opened_under_a_folder)
{
    int dir_fd = nn_sys_openat(AT_FDCWD, "/proc/self", O_RDONLY | O_DIRECTORY, 0), fd;

    ck_assert_int_ge(dir_fd, 0);
    fd = nn_sys_openat(dir_fd, "status", O_RDONLY, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(nn_sys_openat(dir_fd, "absent", O_RDONLY, 0), -ENOENT);
    close(fd);
    close(dir_fd);
}
TEST_END

CHECK_MAIN("sys", the_chosen_call_fails_and_no_other,
           a_futex_wait_ends_at_its_deadline_or_when_the_word_differs, a_futex_wait_is_woken,
           files_are_opened_under_a_folder)
