/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/guard.h"

#include "base/sys.h"
#include "shm/region.h"

#include "support/check-main.h"

#include <nnhal/types.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { SIZE = 1 << 20 };

static int file_of(size_t n_bytes)
{
    int fd = nn_sys_memfd_create("test-guard", true);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    return fd;
}

static struct nn_region *guarded(int fd)
{
    struct nn_region_params params = {.kind = NNHAL_MEMORY_ASHMEM, .size = SIZE};
    struct nn_region *region = NULL;

    ck_assert_int_eq(nn_region_import(fd, &params, NN_REGION_GUARD, &region), 0);
    return region;
}

TEST(a_file_that_shrinks_reads_as_zeroes_and_is_broken)
{
    int fd = file_of(SIZE);
    struct nn_region *region = guarded(dup(fd)), *other = guarded(dup(fd));
    volatile unsigned char *bytes = nn_region_data(region);

    memset(nn_region_data(region), 7, SIZE);
    ck_assert(!nn_region_is_broken(region));
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_uint_eq(bytes[SIZE - 1], 0);
    ck_assert(nn_region_is_broken(region));
    ck_assert_uint_eq(bytes[0], 0); /* the whole of it, not only what is lost */
    bytes[SIZE / 2] = 9;            /* and it can be written, to no effect */
    /* The other mapping of the same file is another region. */
    ck_assert(!nn_region_is_broken(other));
    ck_assert_uint_eq(((volatile unsigned char *)nn_region_data(other))[0], 7);
    nn_region_unref(region);
    nn_region_unref(other);
    close(fd);
}
TEST_END

TEST(a_sealed_file_needs_no_guard)
{
    struct nn_region *region = NULL;
    struct nn_region_params params = {.kind = NNHAL_MEMORY_ASHMEM, .size = 4096};
    int fd;

    ck_assert_int_eq(nn_region_new("test-guard", 4096, &region), 0);
    fd = dup(nn_region_fd(region));
    nn_region_unref(region);
    ck_assert_int_eq(nn_region_import(fd, &params, NN_REGION_GUARD, &region), 0);
    ck_assert(!nn_guard_is_installed());
    nn_region_unref(region);
}
TEST_END

struct race {
    struct nn_region *region;
    pthread_barrier_t barrier;
};

/* What replaces the pages under it is, to a sanitizer, a write of another thread. */
__attribute__((__no_sanitize__("thread"))) static void *touch_all(void *argument)
{
    struct race *race = argument;
    volatile unsigned char *bytes = nn_region_data(race->region);
    unsigned sum = 0;

    pthread_barrier_wait(&race->barrier);
    for (size_t i = 0; i < SIZE; i += 512)
        sum += bytes[i];
    return (void *)(uintptr_t)sum;
}

TEST(many_threads_fall_over_it_at_once)
{
    for (size_t round = 0; round < 20; round++) {
        int fd = file_of(SIZE);
        struct race race = {.region = guarded(dup(fd))};
        pthread_t threads[4];

        pthread_barrier_init(&race.barrier, NULL, 5);
        for (size_t i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, touch_all, &race);
        pthread_barrier_wait(&race.barrier);
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        for (size_t i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        /* A look at the lost pages from now on finds it broken. */
        ck_assert_uint_eq(((volatile unsigned char *)nn_region_data(race.region))[SIZE - 1], 0);
        ck_assert(nn_region_is_broken(race.region));
        nn_region_unref(race.region);
        pthread_barrier_destroy(&race.barrier);
        close(fd);
    }
}
TEST_END

static volatile sig_atomic_t n_foreign;
static void *foreign_page;

/* The application's own handler: makes the page good again and goes on. */
static void on_foreign(int number, siginfo_t *info, void *context)
{
    n_foreign++;
    mmap(foreign_page, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

TEST(faults_elsewhere_go_to_the_handler_before)
{
    struct sigaction action = {.sa_sigaction = on_foreign, .sa_flags = SA_SIGINFO};
    struct nn_region *region;
    int fd = file_of(4096);

    ck_assert_int_eq(sigaction(SIGBUS, &action, NULL), 0);
    region = guarded(file_of(SIZE));
    foreign_page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_uint_eq(*(volatile unsigned char *)foreign_page, 0);
    ck_assert_int_eq(n_foreign, 1);
    ck_assert(!nn_region_is_broken(region));
    raise(SIGBUS);
    ck_assert_int_eq(n_foreign, 2);
    nn_region_unref(region);
}
TEST_END

static int status_of_fault(bool is_sent)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = file_of(4096);
        volatile unsigned char *page;

        signal(SIGBUS, SIG_DFL);
        nn_guard_install();
        page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        if (is_sent)
            raise(SIGBUS);
        if (ftruncate(fd, 0) == 0)
            _exit(page[0]);
        _exit(1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(unguarded_faults_kill_as_they_would_have)
{
    ck_assert_int_eq(WTERMSIG(status_of_fault(false)), SIGBUS);
    ck_assert_int_eq(WTERMSIG(status_of_fault(true)), SIGBUS);
}
TEST_END

TEST(records_are_used_again)
{
    uint32_t broken = 0, first, record;
    char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_int_eq(nn_guard_add(pages, 4096, PROT_READ, &broken, &first), 0);
    for (size_t i = 0; i < 5000; i++) {
        ck_assert_int_eq(nn_guard_add(pages + 4096, 4096, PROT_READ, &broken, &record), 0);
        ck_assert_uint_eq(record, first + 1);
        nn_guard_remove(record);
    }
    nn_guard_remove(first);
    munmap(pages, 8192);
}
TEST_END

CHECK_MAIN("guard", a_file_that_shrinks_reads_as_zeroes_and_is_broken, a_sealed_file_needs_no_guard,
           many_threads_fall_over_it_at_once, faults_elsewhere_go_to_the_handler_before,
           unguarded_faults_kill_as_they_would_have, records_are_used_again)
