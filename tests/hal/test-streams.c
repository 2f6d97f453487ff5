/* SPDX-License-Identifier: Apache-2.0 */
/* Every recorded session, against the stub and the host of today. */
#include "hal/stream.h"

#include "host/host.h"
#include "support/check-main.h"
#include "support/fds.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static int replay(const char *path)
{
    struct nn_host_why why = {.text = ""};
    struct nn_hal_channel *channel;
    struct nn_host *host;
    struct nn_hal *hal;
    int n_calls;

    ck_assert_msg(nn_host_open_module(NN_TEST_DRIVER_SAMPLE, NULL, &why, &host) == 0, "%s",
                  why.text);
    ck_assert_int_eq(nn_host_open_session(host, NULL, &hal), 0);
    channel = loopback_channel(hal, NULL);
    n_calls = stream_replay(path, channel);
    channel->ops->close(channel);
    nn_host_unref(host);
    return n_calls;
}

TEST(recorded_sessions_get_what_they_got)
{
    char folder[4000], path[4300];
    size_t n_streams = 0, n_memfds = count_mappings("memfd:");
    struct dirent *entry;
    DIR *dir;

    snprintf(folder, sizeof(folder), "%s/tests/hal/streams", getenv("NNHAL_SOURCE_ROOT"));
    dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir))) {
        if (!strstr(entry->d_name, ".bin"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        ck_assert_int_gt(replay(path), 5);
        n_streams++;
    }
    closedir(dir);
    ck_assert_uint_ge(n_streams, 5);
    ck_assert_uint_eq(count_mappings("memfd:"), n_memfds);
}
TEST_END

CHECK_MAIN("streams", recorded_sessions_get_what_they_got)
