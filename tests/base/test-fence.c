/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fence.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "support/check-main.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

TEST(a_new_fence_is_active)
{
    int signaller, fence;

    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    ck_assert_int_eq(nn_fence_check(fence), NN_FENCE_E_ACTIVE);
    ck_assert_int_eq(nn_fence_wait(fence, nn_sys_now_ns() + 1000000), NN_FENCE_E_ACTIVE);
    ck_assert(fcntl(fence, F_GETFD) & FD_CLOEXEC);
    ck_assert(fcntl(signaller, F_GETFD) & FD_CLOEXEC);
    close(signaller);
    close(fence);
}
TEST_END

TEST(a_signalled_fence_stays_signalled_on_every_duplicate)
{
    int signaller, fence, copy;

    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    copy = dup(fence);
    nn_fence_signal(signaller);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(nn_fence_check(fence), 0);
        ck_assert_int_eq(nn_fence_check(copy), 0);
    }
    close(fence);
    ck_assert_int_eq(nn_fence_wait(copy, UINT64_MAX), 0);
    close(copy);
}
TEST_END

TEST(a_closed_signaller_is_an_error)
{
    int signaller, fence;

    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    close(signaller);
    ck_assert_int_eq(nn_fence_check(fence), NN_FENCE_E_ERROR);
    ck_assert_int_eq(nn_fence_wait(fence, UINT64_MAX), NN_FENCE_E_ERROR);
    close(fence);
}
TEST_END

TEST(a_signaller_that_dies_is_an_error)
{
    int signaller, fence;
    pid_t child;

    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    child = fork();
    if (child == 0)
        _exit(0);
    ck_assert_int_gt(child, 0);
    close(signaller);
    ck_assert_int_eq(nn_fence_wait(fence, UINT64_MAX), NN_FENCE_E_ERROR);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(fence);
}
TEST_END

static void *signal_later(void *ctx)
{
    nn_fence_signal(*(int *)ctx);
    return NULL;
}

TEST(a_waiter_is_woken)
{
    int signaller, fence;
    pthread_t thread;

    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, signal_later, &signaller), 0);
    ck_assert_int_eq(nn_fence_wait(fence, UINT64_MAX), 0);
    pthread_join(thread, NULL);
    close(fence);
}
TEST_END

TEST(what_is_no_fence_is_invalid)
{
    int closed = dup(0);

    close(closed);
    ck_assert_int_eq(nn_fence_check(-1), NN_FENCE_E_INVALID);
    ck_assert_int_eq(nn_fence_check(closed), NN_FENCE_E_INVALID);
}
TEST_END

TEST(signalling_a_fence_that_nobody_holds_is_harmless)
{
    int signaller, fence;

    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    close(fence);
    nn_fence_signal(signaller);
}
TEST_END

CHECK_MAIN("fence", a_new_fence_is_active, a_signalled_fence_stays_signalled_on_every_duplicate,
           a_closed_signaller_is_an_error, a_signaller_that_dies_is_an_error, a_waiter_is_woken,
           what_is_no_fence_is_invalid, signalling_a_fence_that_nobody_holds_is_harmless)
