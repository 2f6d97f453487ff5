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

TEST(what_makes_no_sense_counts_as_auto)
{
    ways_begin();
    setenv("NNHAL_MODE", "nonsense", 1);
    ck_assert_str_eq(list_devices(), "nnhal-sample/service " REFERENCE);
    ways_end();
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
           what_makes_no_sense_counts_as_auto, private_needs_the_host_program,
           no_places_mean_no_devices_but_what_is_linked_in)
