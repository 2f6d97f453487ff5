/* SPDX-License-Identifier: Apache-2.0 */
/* The files of figures, when several threads keep those of one device. */
#include "runtime/calibration/figures-file.h"

#include "rt.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_THREADS 4
#define N_SAVES   50

static char folder[64];

static const struct nn_rt_figures_owner owner = {"npu", "1", "service"};

/* Where writing to the disk costs nothing, if there is such a place. */
static void folder_init(void)
{
    strcpy(folder, "/dev/shm/nnhal-figures-XXXXXX");
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/nnhal-figures-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
    }
    setenv("NNHAL_STATE_PATH", folder, 1);
}

static void folder_done(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* All figures of one save are the same number. Returns: how many saves failed. */
static void *save_some(void *ctx)
{
    uintptr_t n_failed = 0, value = (uintptr_t)ctx;

    for (int i = 0; i < N_SAVES; i++) {
        struct nn_rt_figures figures;
        struct nn_why why = {0};

        for (int k = 0; k < NN_RT_FIGURE_N; k++)
            figures.values[k] = value;
        n_failed += nn_rt_figures_save(&owner, &figures, &why) != 0;
    }
    return (void *)n_failed;
}

static uint32_t count_files(void)
{
    char figures[80];
    uint32_t n = 0;
    DIR *dir;

    snprintf(figures, sizeof(figures), "%s/figures", folder);
    dir = opendir(figures);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

TEST(threads_that_keep_figures_of_one_device_do_not_meet)
{
    pthread_t threads[N_THREADS];
    struct nn_rt_figures figures;
    struct nn_why why = {0};
    void *n_failed;

    folder_init();
    for (uintptr_t i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, save_some, (void *)(i + 1)), 0);
    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &n_failed), 0);
        ck_assert_ptr_null(n_failed);
    }
    ck_assert_int_eq(nn_rt_figures_load(&owner, &why, &figures), 0);
    for (int k = 1; k < NN_RT_FIGURE_N; k++)
        ck_assert_uint_eq(figures.values[k], figures.values[0]);
    ck_assert_uint_eq(count_files(), 1); /* nothing is left of them */
    folder_done();
}
TEST_END

CHECK_MAIN("figures", threads_that_keep_figures_of_one_device_do_not_meet)
