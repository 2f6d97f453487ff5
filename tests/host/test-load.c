/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and tables that cannot be used, each with its sentence. */
#include "host/host.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SAMPLE NN_TEST_DRIVER_SAMPLE

static struct nn_host_why why;

static void expect(int r, int expected, const char *words)
{
    ck_assert_int_eq(r, expected);
    ck_assert_msg(strstr(why.text, words), "\"%s\" does not say \"%s\"", why.text, words);
}

static void expect_module(const char *path, int expected, const char *words)
{
    struct nn_host *host = NULL;

    expect(nn_host_open_module(path, NULL, &why, &host), expected, words);
    ck_assert_ptr_null(host);
}

/* Opens the fake driver, which has been spoilt. */
static void expect_table(int expected, const char *words)
{
    struct nn_host *host = NULL;

    expect(nn_host_open_builtin(fake_main, NULL, &why, &host), expected, words);
    ck_assert_ptr_null(host);
    ck_assert_uint_eq(fake.n_opened, 0);
    fake_reset();
}

TEST(a_missing_module_is_named)
{
    expect_module("/nonexistent/libnnhal-driver-x.so", -ENOENT,
                  "/nonexistent/libnnhal-driver-x.so");
    expect_module("/nonexistent/libnnhal-driver-x.so", -ENOENT, "install the driver");
}
TEST_END

TEST(what_is_no_library_is_refused)
{
    char path[] = "/tmp/nnhal-test-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, "not a library\n", 14), 14);
    close(fd);
    expect_module(path, -ELIBBAD, "cannot be loaded");
    unlink(path);
}
TEST_END

TEST(a_library_without_the_symbol_is_refused)
{
    expect_module(NN_TEST_MODULE_WITHOUT_SYMBOL, -ELIBBAD, "does not export nnhal_driver_main");
}
TEST_END

TEST(the_sample_is_loaded)
{
    struct nn_host *host = NULL;

    ck_assert_int_eq(nn_host_open_module(SAMPLE, NULL, &why, &host), 0);
    ck_assert_str_eq(nn_host_driver(host)->name, "nnhal-sample");
    ck_assert_ptr_null(nn_host_unref(host));
}
TEST_END

TEST(the_samples_own_sentence_is_passed_on)
{
    struct nn_host *host = NULL;

    expect(nn_host_open_module(SAMPLE, "/nonexistent.conf", &why, &host), -ENODEV,
           "/nonexistent.conf: No such file");
}
TEST_END

TEST(a_driver_that_refuses_its_configuration_is_no_device)
{
    struct nn_host *host = NULL;

    fake_reset();
    fake.refused_configuration = "x";
    expect(nn_host_open_builtin(fake_main, "x", &why, &host), -ENODEV, "configuration \"x\"");
    ck_assert_int_eq(nn_host_open_builtin(fake_main, "y", &why, &host), 0);
    nn_host_unref(host);
}
TEST_END

TEST(a_device_that_cannot_be_opened_says_why)
{
    fake_reset();
    fake.open_status = NNHAL_DEVICE_UNAVAILABLE;
    expect_table(-ENODEV, "does not say why");
    fake.open_status = NNHAL_DEVICE_UNAVAILABLE;
    fake.explanation = "the cable is out";
    expect_table(-ENODEV, "the cable is out");
}
TEST_END

TEST(sizes_and_versions_are_negotiated)
{
    struct nn_host *host = NULL;
    struct {
        struct nnhal_driver driver;
        void *newer;
    } larger;

    fake_reset();
    fake.driver.size = offsetof(struct nnhal_driver, execute);
    expect_table(-EPROTO, "fewer than the first version's");
    fake.driver.abi = NNHAL_DRIVER_ABI + 1;
    expect_table(-EPROTO, "speaks ABI");
    fake.driver.size = sizeof(larger);
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, &why, &host), 0);
    ck_assert_uint_eq(nn_host_driver(host)->size, sizeof(struct nnhal_driver));
    nn_host_unref(host);
}
TEST_END

TEST(malformed_identities_are_refused)
{
    char long_name[NNHAL_MAX_NAME_BYTES + 2];

    memset(long_name, 'a', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    fake_reset();
    fake.driver.name = NULL;
    expect_table(-EPROTO, "name");
    fake.driver.name = "";
    expect_table(-EPROTO, "name");
    fake.driver.name = "Upper";
    expect_table(-EPROTO, "name");
    fake.driver.name = long_name;
    expect_table(-EPROTO, "name");
    fake.driver.version = "";
    expect_table(-EPROTO, "version");
    fake.driver.version = "1\033[2J";
    expect_table(-EPROTO, "version");
    fake.driver.type = 0;
    expect_table(-EPROTO, "type");
    fake.driver.feature_level = 32;
    expect_table(-EPROTO, "feature_level");
}
TEST_END

TEST(malformed_capabilities_are_refused)
{
    struct nnhal_capabilities capabilities = *(fake_reset(), fake.driver.capabilities);
    struct nnhal_operand_performance two[2] = {{NNHAL_TENSOR_FLOAT32, {1, 1}},
                                               {NNHAL_TENSOR_FLOAT32, {1, 1}}};
    const struct nnhal_capabilities good = capabilities;
    const float bad[] = {0.0f, -1.0f, NAN, INFINITY};

    fake.driver.capabilities = NULL;
    expect_table(-EPROTO, "capabilities is NULL");
    for (size_t i = 0; i < NN_N_ELEMENTS(bad); i++) {
        capabilities = good;
        capabilities.while_performance.power_usage = bad[i];
        fake.driver.capabilities = &capabilities;
        expect_table(-EPROTO, "not a finite number above 0");
    }
    capabilities = good;
    capabilities.operand_performance = two;
    fake.driver.capabilities = &capabilities;
    expect_table(-EPROTO, "not sorted");
    two[1].type = NNHAL_SUBGRAPH;
    fake.driver.capabilities = &capabilities;
    expect_table(-EPROTO, "SUBGRAPH");
}
TEST_END

TEST(malformed_extensions_are_refused)
{
    struct nnhal_extension_operand_type types[] = {{.type = 1, .byte_size = 4},
                                                   {.type = 1, .byte_size = 4}};
    struct nnhal_extension extensions[] = {{.name = "com.example.one"},
                                           {.name = "com.example.one"}};
    const char *const names[] = {"nodot", "com.Example", "", NULL};

    fake_reset();
    for (size_t i = 0; i < NN_N_ELEMENTS(names); i++) {
        extensions[0].name = names[i];
        fake.driver.extensions = extensions;
        fake.driver.n_extensions = 1;
        expect_table(-EPROTO, "extension's name");
    }
    extensions[0].name = "com.example.one";
    fake.driver.extensions = extensions;
    fake.driver.n_extensions = 2;
    expect_table(-EPROTO, "two extensions of one name");
    extensions[0].operand_types = types;
    extensions[0].n_operand_types = 2;
    fake.driver.extensions = extensions;
    fake.driver.n_extensions = 1;
    expect_table(-EPROTO, "type twice");
    types[1] = (struct nnhal_extension_operand_type){.type = 2};
    fake.driver.extensions = extensions;
    fake.driver.n_extensions = 1;
    expect_table(-EPROTO, "has no size");
}
TEST_END

static void cancel_nothing(void *prepared, uint64_t id)
{
}

TEST(missing_callbacks_are_refused)
{
    fake_reset();
    fake.driver.open = NULL;
    expect_table(-EPROTO, "is NULL");
    fake.driver.prepare = NULL;
    expect_table(-EPROTO, "is NULL");
    fake.driver.release = NULL;
    expect_table(-EPROTO, "is NULL");
    fake.driver.execute = NULL;
    expect_table(-EPROTO, "is NULL");
    fake.driver.get_supported_operations = NULL;
    expect_table(-EPROTO, "is NULL");
    fake_holds_buffers = true;
    fake_reset();
    fake.driver.copy_to = NULL;
    expect_table(-EPROTO, "not all four");
    fake.driver.release_buffer = NULL;
    expect_table(-EPROTO, "not all four");
    fake.driver.cancel_fenced = cancel_nothing;
    expect_table(-EPROTO, "one of execute_fenced and cancel_fenced");
}
TEST_END

TEST(the_device_is_closed_with_the_last_reference)
{
    struct nn_host *host = NULL;
    struct nn_hal *hal = NULL;

    fake_reset();
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, NULL, &host), 0);
    ck_assert_int_eq(nn_host_open_session(host, NULL, &hal), 0);
    nn_host_unref(host);
    ck_assert_uint_eq(fake.n_closed, 0);
    nn_hal_close(hal);
    ck_assert_uint_eq(fake.n_opened, 1);
    ck_assert_uint_eq(fake.n_closed, 1);
    ck_assert_ptr_null(nn_host_unref(NULL));
}
TEST_END

/* The inode of the map that a supervisor hands out. */
static ino_t map_of(const char *module, uint8_t first)
{
    const struct nn_host_tokens tokens = {.epoch = {first}};
    struct stat status;
    int fd = -1;

    ck_assert_int_eq(nn_host_open_tokens_file(module, &tokens, &fd), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    close(fd);
    return status.st_ino;
}

/* Otherwise a hostile driver would choose what another one takes for its own plan. */
TEST(no_module_gets_the_map_of_another)
{
    char folder[] = "/tmp/nnhal-load-XXXXXX", command[64];
    ino_t map;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("NNHAL_STATE_PATH", folder, 1);
    map = map_of("/lib/libnnhal-driver-cpu.so", 1);
    ck_assert_uint_eq(map_of("/lib/libnnhal-driver-cpu.so", 1), map);
    ck_assert_uint_ne(map_of("/tmp/libnnhal-driver-cpu.so", 1), map);
    ck_assert_uint_ne(map_of("/lib/libnnhal-driver-other.so", 1), map);
    /* Nor are its files removed as those of its older builds. */
    for (uint8_t i = 2; i < 40; i++)
        map_of("/tmp/libnnhal-driver-cpu.so", i);
    ck_assert_uint_eq(map_of("/lib/libnnhal-driver-cpu.so", 1), map);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
TEST_END

CHECK_MAIN("load", a_missing_module_is_named, what_is_no_library_is_refused,
           a_library_without_the_symbol_is_refused, the_sample_is_loaded,
           the_samples_own_sentence_is_passed_on,
           a_driver_that_refuses_its_configuration_is_no_device,
           a_device_that_cannot_be_opened_says_why, sizes_and_versions_are_negotiated,
           malformed_identities_are_refused, malformed_capabilities_are_refused,
           malformed_extensions_are_refused, missing_callbacks_are_refused,
           the_device_is_closed_with_the_last_reference, no_module_gets_the_map_of_another)
