/* SPDX-License-Identifier: Apache-2.0 */
/* What tools and a service do before there is a client. */
#include "failure/scenario-list.h"
#include "failure/world.h"

#include "drivers/cpu/cpu.h"
#include "ipc/sock.h"
#include "service/grants.h"
#include "service/service.h"

#include <nnhal/tflite.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int code_of(int r)
{
    return r == -ENOMEM ? ANEURALNETWORKS_OUT_OF_MEMORY : r < 0 ? ANEURALNETWORKS_OP_FAILED : r;
}

/* A file of the corpus that has some operations. */
int scenario_tflite(void)
{
    struct story all, *story = &all;
    struct nnhal_tflite *file = NULL;
    char path[512], message[256];

    story_begin(story);
    snprintf(path, sizeof(path), "%s/fuzz/corpus/tflite/small-ops.tflite",
             getenv("NNHAL_SOURCE_ROOT"));
    if (STEP(code_of(nnhal_tflite_load(path, &file, message, sizeof(message))))) {
        const ANeuralNetworksDevice *device = world_device;

        STEP(ANeuralNetworksCompilation_createForDevices(nnhal_tflite_model(file), &device, 1,
                                                         &story->compilation));
    }
    STEP(ANeuralNetworksCompilation_finish(story->compilation));
    nnhal_tflite_free(file);
    return story_end(story);
}

static const char granted[] = "# of a driver\n"
                              "read /usr/share\n"
                              "device /dev/null\n"
                              "call sched_yield\n";

/* The declarations beside a driver. */
int scenario_grants(void)
{
    struct nn_host_why why = {0};
    struct nn_grants grants;
    char path[96];
    int fd, r;

    snprintf(path, sizeof(path), "%s/driver.so", world_folder);
    close(open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    snprintf(path, sizeof(path), "%s/driver.sandbox", world_folder);
    fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    r = write(fd, granted, sizeof(granted) - 1) == sizeof(granted) - 1 ? 0 : -EIO;
    close(fd);
    snprintf(path, sizeof(path), "%s/driver.so", world_folder);
    if (r == 0)
        r = nn_grants_read(path, NULL, &grants, &why);
    if (r == 0 && (grants.n_paths != 2 || grants.n_calls != 1))
        r = SCENARIO_WRONG;
    else if (r == 0)
        nn_grants_done(&grants);
    return r == SCENARIO_WRONG ? r : code_of(r);
}

/* A service that is stopped before a client connected. */
int scenario_service(void)
{
    struct nn_service *service = NULL;
    struct nn_host *host = NULL;
    char path[96];
    int fd = -1, r;

    snprintf(path, sizeof(path), "%s/service.sock", world_folder);
    r = nn_host_open_builtin(nn_cpu_driver_main, NULL, NULL, &host);
    if (r == 0)
        r = nn_service_new(host, &service);
    if (r == 0)
        r = nn_sock_listen(path, 0600, &fd);
    if (r == 0)
        r = nn_service_listen(service, fd);
    if (r == 0) {
        nn_service_stop(service);
        r = nn_service_run(service);
    }
    nn_service_free(service);
    if (host)
        nn_host_unref(host);
    unlink(path);
    return r > 0 ? ANEURALNETWORKS_OP_FAILED : code_of(r);
}
