/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers in private children that take long to start, or do not answer. */
#include "drivers/split.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOW    "0:open-ms=2000"
#define SLOW_NS UINT64_C(2000000000)

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns: the code of finish(). */
static int compile_within(const ANeuralNetworksModel *model, const ANeuralNetworksDevice *device,
                          uint64_t timeout_ns)
{
    ANeuralNetworksCompilation *compilation = NULL;
    int r;

    OK(ANeuralNetworksCompilation_createForDevices((ANeuralNetworksModel *)model, &device, 1,
                                                   &compilation));
    OK(ANeuralNetworksCompilation_setTimeout(compilation, timeout_ns));
    r = ANeuralNetworksCompilation_finish(compilation);
    ANeuralNetworksCompilation_free(compilation);
    return r;
}

static pid_t pid_of(ANeuralNetworksDevice *device)
{
    struct nnhal_where where = {.size = sizeof(where)};

    OK(nnhal_device_get_where(device, &where));
    return where.pid;
}

/* -- deadlines -------------------------------------------------------------------------- */

/* More than three of them: if each killed what it has started, the device would be in quarantine. On a
 * machine that is so slow that the process is there meanwhile some may succeed. */
TEST(a_deadline_does_not_end_the_start_of_a_process)
{
    ANeuralNetworksModel *model = split_exp_model();
    ANeuralNetworksDevice *device;
    uint64_t begin_ns;

    split_rules("0:version=1");
    device = find_device("partial-0");
    ck_assert_ptr_nonnull(device);
    split_rules("0:version=1;" SLOW);
    begin_ns = now_ns();
    ck_assert_int_eq(kill(pid_of(device), SIGKILL), 0);
    while (pid_of(device))
        usleep(1000);
    for (int i = 0; i < 5; i++) {
        int r = compile_within(model, device, 20000000);

        ck_assert(r == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT || now_ns() - begin_ns >= SLOW_NS);
    }
    OK(ANeuralNetworksDevice_wait(device));
    OK(compile_within(model, device, UINT64_C(100000000000)));
    ANeuralNetworksModel_free(model);
}
TEST_END

/* -- the list of devices ------------------------------------------------------------------ */

/* The drivers of the test's folder under as many names more, so that a part of 20 s would be short. */
static void fill_folder(char folder[static 64])
{
    const char *drivers = getenv("NNHAL_DRIVER_PATH");

    strcpy(folder, "/tmp/nnhal-starts-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < 7; i++) {
        char target[512], path[128];

        snprintf(target, sizeof(target), "%s/libnnhal-driver-partial-%d.so", drivers, i ? 1 : 0);
        snprintf(path, sizeof(path), "%s/libnnhal-driver-partial-%d.so", folder, i);
        ck_assert_int_eq(symlink(target, path), 0);
    }
    setenv("NNHAL_DRIVER_PATH", folder, 1);
}

TEST(a_driver_that_opens_slowly_has_the_time_whatever_its_place)
{
    char folder[64], command[128];

    fill_folder(folder);
    split_rules("0:open-ms=4000");
    ck_assert_ptr_nonnull(find_device("partial-0"));
    ck_assert_ptr_nonnull(find_device("partial-1"));
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
TEST_END

/* -- measuring ------------------------------------------------------------------------------ */

/* Below level 4 there are no deadlines to give. */
TEST(measuring_a_device_that_hangs_has_an_end)
{
    ANeuralNetworksDevice *device;

    split_rules("0:level=29,delay-us=600000000");
    device = find_device("partial-0");
    ck_assert_ptr_nonnull(device);
    ck_assert_int_ne(nnhal_device_calibrate(device), ANEURALNETWORKS_NO_ERROR);
}
TEST_END

CHECK_MAIN("starts", a_deadline_does_not_end_the_start_of_a_process,
           a_driver_that_opens_slowly_has_the_time_whatever_its_place,
           measuring_a_device_that_hangs_has_an_end)
