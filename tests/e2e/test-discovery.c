/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices an application sees, for each NNHAL_MODE and for what lies in
 * the places where they are looked for. */
#include "ways.h"

#include <string.h>
#include <signal.h>
#include <stdlib.h>

/* The devices, "nnhal-sample/service nnapi-reference/embedded". */
static const char *list_devices(void)
{
    static char text[512];
    uint32_t n = 0;

    text[0] = '\0';
    OK(ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n; i++) {
        struct nnhal_where where = {.size = sizeof(where)};
        ANeuralNetworksDevice *device = NULL;
        const char *name = NULL;

        OK(ANeuralNetworks_getDevice(i, &device));
        OK(ANeuralNetworksDevice_getName(device, &name));
        OK(nnhal_device_get_where(device, &where));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s/%s", i ? " " : "", name,
                 where.way_name);
    }
    return text;
}

#define REFERENCE "nnapi-reference/embedded"

TEST(auto_prefers_services)
{
    ways_begin();
    setenv("NNHAL_MODE", "auto", 1);
    ck_assert_str_eq(list_devices(), "nnhal-sample/service " REFERENCE); /* once */
    ways_end();
}
TEST_END

TEST(auto_is_the_default_and_takes_drivers_otherwise)
{
    ways_begin();
    ways_kill_service(SIGKILL); /* its socket stays, without a listener */
    unsetenv("NNHAL_MODE");
    ck_assert_str_eq(list_devices(), "nnhal-sample/embedded " REFERENCE);
    ways_end();
}
TEST_END

TEST(service_means_services_only)
{
    ways_begin();
    ways_kill_service(SIGKILL);
    setenv("NNHAL_MODE", "service", 1);
    ck_assert_str_eq(list_devices(), REFERENCE);
    ways_end();
}
TEST_END

TEST(private_and_embedded_ask_no_service)
{
    ways_begin();
    setenv("NNHAL_MODE", "private", 1);
    ck_assert_str_eq(list_devices(), "nnhal-sample/private " REFERENCE);
    ways_end();
}
TEST_END

TEST(what_makes_no_sense_is_refused_by_the_first_call)
{
    ANeuralNetworksModel *model;
    char why[256];
    uint32_t n = 7;

    ways_begin();
    setenv("NNHAL_MODE", "nonsense", 1);
    ck_assert_int_eq(ANeuralNetworks_getDeviceCount(&n), ANEURALNETWORKS_BAD_DATA);
    ck_assert_uint_eq(n, 0);
    nnhal_get_last_error(why, sizeof(why));
    ck_assert_msg(strstr(why, "NNHAL_MODE=nonsense: it takes `auto`, `service`"), "%s", why);
    ck_assert_int_eq(ANeuralNetworksModel_create(&model), ANEURALNETWORKS_BAD_DATA);
    ways_end();
}
TEST_END

/* A compilation that leaves the choice to the library, or lists the reference. */
static int compile_add(bool lists_reference)
{
    const uint32_t two = 2;
    const ANeuralNetworksOperandType tensor = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &two};
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksDevice *device = NULL;
    int32_t none = 0, code;
    uint32_t n;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &tensor));
    OK(ANeuralNetworksModel_addOperand(model, &scalar));
    OK(ANeuralNetworksModel_addOperand(model, &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, (uint32_t[]){0, 0, 1}, 1,
                                         (uint32_t[]){2}));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, (uint32_t[]){0}, 1,
                                                     (uint32_t[]){2}));
    OK(ANeuralNetworksModel_finish(model));
    OK(ANeuralNetworks_getDeviceCount(&n));
    OK(ANeuralNetworks_getDevice(n - 1, &device));
    if (lists_reference)
        OK(ANeuralNetworksCompilation_createForDevices(
            model, (const ANeuralNetworksDevice *const *)&device, 1, &compilation));
    else
        OK(ANeuralNetworksCompilation_create(model, &compilation));
    code = ANeuralNetworksCompilation_finish(compilation);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return code;
}

/* Asked for isolation, an application must not get the reference in its own process instead. */
static void refuses_the_reference(const char *mode)
{
    char why[512];

    setenv("NNHAL_MODE", mode, 1);
    setenv("NNHAL_DRIVER_PATH", "/nonexistent", 1);
    setenv("NNHAL_SOCKET_PATH", "/nonexistent", 1);
    ck_assert_int_eq(compile_add(false), ANEURALNETWORKS_UNAVAILABLE_DEVICE);
    nnhal_get_last_error(why, sizeof(why));
    ck_assert_msg(strstr(why, mode), "%s", why);
    ck_assert_int_eq(compile_add(true), ANEURALNETWORKS_NO_ERROR);
}

TEST(no_service_means_no_computation)
{
    refuses_the_reference("service");
}
TEST_END

TEST(no_private_driver_means_no_computation)
{
    refuses_the_reference("private");
}
TEST_END

TEST(no_embedded_driver_means_no_computation)
{
    refuses_the_reference("embedded");
}
TEST_END

TEST(auto_takes_the_reference_where_there_is_nothing_else)
{
    setenv("NNHAL_MODE", "auto", 1);
    setenv("NNHAL_DRIVER_PATH", "/nonexistent", 1);
    setenv("NNHAL_SOCKET_PATH", "/nonexistent", 1);
    ck_assert_int_eq(compile_add(false), ANEURALNETWORKS_NO_ERROR);
}
TEST_END

TEST(private_needs_the_host_program)
{
    ways_begin();
    setenv("NNHAL_MODE", "private", 1);
    setenv("NNHAL_HOST", "/nonexistent/nnhal-host", 1);
    ck_assert_str_eq(list_devices(), REFERENCE);
    ways_end();
}
TEST_END

TEST(no_places_mean_no_devices_but_what_is_linked_in)
{
    ways_begin();
    setenv("NNHAL_MODE", "auto", 1);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    setenv("NNHAL_DRIVER_PATH", "/nonexistent", 1);
    ck_assert_str_eq(list_devices(), REFERENCE);
    ways_end();
}
TEST_END

CHECK_MAIN("discovery", auto_prefers_services, auto_is_the_default_and_takes_drivers_otherwise,
           service_means_services_only, private_and_embedded_ask_no_service,
           what_makes_no_sense_is_refused_by_the_first_call, no_service_means_no_computation,
           no_private_driver_means_no_computation, no_embedded_driver_means_no_computation,
           auto_takes_the_reference_where_there_is_nothing_else, private_needs_the_host_program,
           no_places_mean_no_devices_but_what_is_linked_in)
