/* SPDX-License-Identifier: Apache-2.0 */
/* Devices are measured, the figures are kept, and they decide. */
#include "drivers/split.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* partial-0 is slow and boasts. Few operations, so that little is measured. */
#define BOASTER "*:only=ADD+EXP;0:time=0.001,delay-us=20000;1:time=0.9"

static char folder[64], printed[80];

/* A state folder of this test's own, and a file for what the library prints. */
static void folder_init(void)
{
    strcpy(folder, "/tmp/nnhal-calibration-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(printed, sizeof(printed), "%s/printed", folder);
    setenv("NNHAL_STATE_PATH", folder, 1);
    setenv("NNHAL_LOG", "runtime:warning", 1);
    setenv("NNHAL_DEVICES", "partial-0,partial-1", 1);
    ck_assert_ptr_nonnull(freopen(printed, "w", stderr));
}

static void folder_done(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void calibrate(const char *name)
{
    OK(nnhal_device_calibrate(find_device(name)));
}

/* In a process of its own, which ends. */
static void calibrate_before(void)
{
    pid_t child = fork();
    int status = -1;

    if (!child) {
        calibrate("partial-0");
        calibrate("partial-1");
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* Of both devices, which are equals: whichever order they were listed in. */
static void expect_plan(const char *chosen, enum nnhal_figure_source source)
{
    const ANeuralNetworksDevice *devices[] = {find_device("partial-0"), find_device("partial-1")};
    struct nnhal_plan plan = {.size = sizeof(plan)};
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = split_exp_model();
    const char *name = NULL;

    OK(ANeuralNetworksCompilation_createForDevices(model, devices, 2, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    OK(nnhal_compilation_get_plan(compilation, &plan));
    ck_assert_uint_eq(plan.n_parts, 1);
    OK(ANeuralNetworksDevice_getName(plan.parts[0].device, &name));
    ck_assert_str_eq(name, chosen);
    ck_assert_uint_eq(plan.n_devices, 2);
    for (uint32_t i = 0; i < plan.n_devices; i++)
        ck_assert_uint_eq(plan.devices[i].source, source);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void expect_printed(const char *text)
{
    char bytes[4096] = "";
    FILE *file = fopen(printed, "r");

    fflush(stderr);
    ck_assert_ptr_nonnull(file);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
    fclose(file);
    ck_assert_msg(strstr(bytes, text) != NULL, "%s", bytes);
}

/* The file with the figures of a device. */
static void find_file(const char *device, char ret_path[static PATH_MAX])
{
    char figures[80], bytes[256];
    struct dirent *entry;
    DIR *dir;

    snprintf(figures, sizeof(figures), "%s/figures", folder);
    snprintf(bytes, sizeof(bytes), "device %s\n", device);
    dir = opendir(figures);
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL) {
        char text[256] = "";
        FILE *file;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(ret_path, PATH_MAX, "%s/%s", figures, entry->d_name);
        file = fopen(ret_path, "r");
        ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, file), 0);
        fclose(file);
        if (strstr(text, bytes))
            break;
    }
    closedir(dir);
    ck_assert_ptr_nonnull(entry);
}

/* -- what is measured ---------------------------------------------------------------------- */

TEST(a_slow_device_that_declares_itself_fast_is_found_out)
{
    split_rules(BOASTER);
    folder_init();
    expect_plan("partial-0", NNHAL_FIGURE_DECLARED);
    calibrate("partial-0");
    calibrate("partial-1");
    expect_plan("partial-1", NNHAL_FIGURE_MEASURED);
    folder_done();
}
TEST_END

/* That a device has n figures, all with names that begin so, or as "launch". Returns: how many there
 * could be. */
static uint32_t expect_figures(const ANeuralNetworksDevice *device, const char *names, uint32_t n)
{
    struct nnhal_figure figure = {.size = sizeof(figure)};
    uint32_t i, n_measured = 0;

    for (i = 0; nnhal_device_get_figure(device, i, &figure) == ANEURALNETWORKS_NO_ERROR; i++) {
        if (!figure.value)
            continue;
        ck_assert_msg(strcmp(figure.name, "launch") == 0 ||
                          strncmp(figure.name, names, strlen(names)) == 0,
                      "%s", figure.name);
        n_measured++;
    }
    ck_assert_uint_eq(n_measured, n);
    return i;
}

TEST(what_a_device_does_not_take_has_no_figure)
{
    struct nnhal_figure figure = {.size = sizeof(figure)};
    ANeuralNetworksDevice *device;
    uint32_t n;

    split_rules("0:only=ADD");
    folder_init();
    device = find_device("partial-0");
    ck_assert_int_eq(nnhal_device_get_figure(device, 0, &figure), ANEURALNETWORKS_BAD_STATE);
    calibrate("partial-0");
    n = expect_figures(device, "other-", 4);
    ck_assert_int_eq(nnhal_device_get_figure(device, n, &figure), ANEURALNETWORKS_BAD_DATA);
    figure.size = sizeof(figure.size);
    ck_assert_int_eq(nnhal_device_get_figure(device, 0, &figure), ANEURALNETWORKS_BAD_DATA);
    folder_done();
}
TEST_END

/* What a call costs is measured with an addition. */
TEST(a_device_that_takes_convolutions_alone_is_measured)
{
    split_rules("0:only=CONV_2D");
    folder_init();
    calibrate("partial-0");
    expect_figures(find_device("partial-0"), "conv-", 3);
    folder_done();
}
TEST_END

TEST(a_device_that_computes_nothing_is_not_measured)
{
    struct nnhal_figure figure = {.size = sizeof(figure)};
    ANeuralNetworksDevice *device;

    split_rules("0:fail=execute");
    folder_init();
    device = find_device("partial-0");
    ck_assert_int_eq(nnhal_device_calibrate(device), ANEURALNETWORKS_OP_FAILED);
    ck_assert_int_eq(nnhal_device_get_figure(device, 0, &figure), ANEURALNETWORKS_BAD_STATE);
    folder_done();
}
TEST_END

/* -- what is kept ------------------------------------------------------------------------------ */

TEST(figures_of_an_earlier_process_decide)
{
    split_rules(BOASTER);
    folder_init();
    calibrate_before();
    expect_plan("partial-1", NNHAL_FIGURE_MEASURED);
    folder_done();
}
TEST_END

TEST(figures_that_cannot_be_kept_serve_this_process)
{
    char why[512];

    split_rules(BOASTER);
    folder_init();
    setenv("NNHAL_STATE_PATH", "/proc/none", 1);
    ck_assert_int_eq(nnhal_device_calibrate(find_device("partial-0")), ANEURALNETWORKS_OP_FAILED);
    nnhal_get_last_error(why, sizeof(why));
    ck_assert_ptr_nonnull(strstr(why, "NNHAL_STATE_PATH"));
    ck_assert_int_eq(nnhal_device_calibrate(find_device("partial-1")), ANEURALNETWORKS_OP_FAILED);
    expect_plan("partial-1", NNHAL_FIGURE_MEASURED);
    folder_done();
}
TEST_END

TEST(figures_of_another_version_are_ignored)
{
    split_rules("*:version=1;" BOASTER);
    folder_init();
    calibrate_before();
    split_rules("*:version=2;" BOASTER);
    expect_plan("partial-0", NNHAL_FIGURE_DECLARED);
    expect_printed("is of another version of the driver");
    folder_done();
}
TEST_END

/* Changes the files of both devices by a command of the shell, in which each is $FILE. */
static void change_files(const char *command)
{
    static const char *const devices[] = {"partial-0", "partial-1"};

    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        char path[PATH_MAX];

        find_file(devices[i], path);
        setenv("FILE", path, 1);
        ck_assert_int_eq(system(command), 0);
    }
}

static void expect_ignored(const char *change, const char *reason)
{
    split_rules(BOASTER);
    folder_init();
    calibrate_before();
    change_files(change);
    expect_plan("partial-0", NNHAL_FIGURE_DECLARED);
    expect_printed(reason);
    folder_done();
}

TEST(a_digit_that_changed_is_damage)
{
    expect_ignored("sed -i '/^launch /y/0123456789/1234567890/' $FILE", "it is damaged");
}
TEST_END

TEST(a_file_that_ends_early_is_damage)
{
    expect_ignored("truncate -s 20 $FILE", "it is damaged");
}
TEST_END

TEST(an_empty_file_is_damage)
{
    expect_ignored("truncate -s 0 $FILE", "it is damaged");
}
TEST_END

TEST(a_file_that_is_too_large_is_not_read)
{
    expect_ignored("head -c 5000 /dev/zero >> $FILE", "it cannot be read");
}
TEST_END

TEST(a_file_that_others_can_write_is_ignored)
{
    expect_ignored("chmod 666 $FILE", "other users can write it");
}
TEST_END

TEST(a_file_of_another_user_is_ignored)
{
    if (geteuid() != 0) {
        printf("SKIPPED: only root can give a file to another user\n");
        return;
    }
    expect_ignored("chown 12345 $FILE", "other users can write it");
}
TEST_END

TEST(a_link_is_not_followed)
{
    expect_ignored("mv $FILE $FILE.away; ln -s $FILE.away $FILE", "it is no file that can be read");
}
TEST_END

CHECK_MAIN("calibration", a_slow_device_that_declares_itself_fast_is_found_out,
           what_a_device_does_not_take_has_no_figure,
           a_device_that_takes_convolutions_alone_is_measured,
           a_device_that_computes_nothing_is_not_measured, figures_of_an_earlier_process_decide,
           figures_that_cannot_be_kept_serve_this_process, figures_of_another_version_are_ignored,
           a_digit_that_changed_is_damage, a_file_that_ends_early_is_damage,
           an_empty_file_is_damage, a_file_that_is_too_large_is_not_read,
           a_file_that_others_can_write_is_ignored, a_file_of_another_user_is_ignored,
           a_link_is_not_followed)
