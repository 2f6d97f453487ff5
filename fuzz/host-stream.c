/* SPDX-License-Identifier: Apache-2.0 */
/* Whole sessions: any bytes as a recorded stream (tests/hal/stream.h), said to
 * the stub, the host and the sample driver. What is answered does not matter;
 * that all of it is answered or refused, and that nothing stays, does.
 * The recorded streams are seeds. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "codec/codec.h"
#include "hal/hal.h"
#include "hal/stub.h"
#include "host/host.h"
#include "support/sequential-random.h"

#include <nnhal/driver.h>

#include <endian.h>
#include <fcntl.h>
#include <string.h>

enum {
    RECORD_FILE = 1,
    RECORD_WRITE = 2,
    RECORD_CALL = 3,
    RECORD_REPLY = 4,
    RECORD_EXPECT = 5,

    HEAD_BYTES = 16,
    MAX_FILES = 8,
    MAX_FILE_BYTES = 65536,
    MAX_CALLS = 64,
    MAX_MEMORY_BYTES = 64 << 20,
};

struct session {
    const uint8_t *bytes;
    size_t n_left;
    struct nn_hal *hal;
    int files[MAX_FILES];
    size_t n_files;
    int n_calls;
};

static const uint8_t *take(struct session *session, size_t n)
{
    const uint8_t *taken = session->bytes;

    if (n > session->n_left)
        return NULL;
    session->bytes += n;
    session->n_left -= n;
    return taken;
}

static uint64_t take_number(struct session *session, size_t n)
{
    const uint8_t *bytes = take(session, n);
    uint64_t value = 0;

    if (bytes)
        memcpy(&value, bytes, n);
    return le64toh(value);
}

static bool do_file(struct session *session)
{
    size_t size = take_number(session, 8) % (MAX_FILE_BYTES + 1);
    int fd;

    if (session->n_files == MAX_FILES)
        return false;
    fd = nn_sys_memfd_create("fuzz", true);
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    FUZZ_CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    session->files[session->n_files++] = fd;
    return true;
}

static bool do_write(struct session *session, bool is_done)
{
    size_t file = take_number(session, 4), offset = take_number(session, 8) % MAX_FILE_BYTES;
    size_t n = take_number(session, 4);
    const uint8_t *bytes = take(session, n);

    if (!bytes || file >= session->n_files)
        return false;
    /* Beyond its end a sealed file takes nothing. */
    if (is_done && pwrite(session->files[file], bytes, n, (off_t)offset) < 0)
        return true;
    return true;
}

static bool do_call(struct session *session)
{
    struct nn_codec_message message = {.serial = (uint64_t)++session->n_calls};
    struct nn_codec_buffer reply = {.bytes = NULL};
    int fds[NNHAL_MAX_FDS];
    uint32_t status = 0;
    int r;

    message.number = (uint32_t)take_number(session, 4);
    message.n_fds = take_number(session, 4) % (MAX_FILES + 1);
    for (size_t i = 0; i < message.n_fds; i++) {
        size_t file = take_number(session, 4);

        fds[i] = file < session->n_files ? fcntl(session->files[file], F_DUPFD_CLOEXEC, 0)
                                         : open("/dev/null", O_RDWR | O_CLOEXEC);
        FUZZ_CHECK(fds[i] >= 0);
    }
    message.fds = fds;
    message.n_bytes = take_number(session, 4) % (session->n_left + 1);
    message.bytes = take(session, message.n_bytes);
    r = nn_hal_stub_call(session->hal, 0, &message, NULL, &status, &reply);
    FUZZ_CHECK(r == 0 || r == NN_HAL_STUB_E_VIOLATION);
    FUZZ_CHECK(r != 0 || status <= NNHAL_DEAD_OBJECT);
    nn_codec_buffer_close(&reply);
    nn_codec_buffer_done(&reply);
    return session->n_calls < MAX_CALLS;
}

static bool do_reply(struct session *session)
{
    take_number(session, 4);
    take_number(session, 4);
    return take(session, take_number(session, 4)) != NULL;
}

static bool do_record(struct session *session)
{
    switch (take_number(session, 4)) {
    case RECORD_FILE:
        return do_file(session);
    case RECORD_WRITE:
        return do_write(session, true);
    case RECORD_CALL:
        return do_call(session);
    case RECORD_REPLY:
        return do_reply(session);
    case RECORD_EXPECT:
        return do_write(session, false);
    default:
        return false;
    }
}

static int first_free_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    FUZZ_CHECK(fd >= 0);
    close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static struct nn_host *host;
    const struct nn_host_session_options options = {
        .limits = {.memory_bytes = MAX_MEMORY_BYTES, .buffer_bytes = MAX_MEMORY_BYTES},
        .uid_limits = {.memory_bytes = 0}};
    struct session session = {.bytes = bytes, .n_left = n_bytes};
    int before;

    if (!host)
        FUZZ_CHECK(nn_host_open_builtin(nnhal_driver_main, NULL, NULL, &host) == 0);
    if (!take(&session, HEAD_BYTES))
        return 0;
    before = first_free_fd();
    sequential_random_reset(); /* so that an input does the same each time */
    FUZZ_CHECK(nn_host_open_session(host, &options, &session.hal) == 0);
    while (session.n_left && do_record(&session))
        ;
    nn_hal_close(session.hal);
    for (size_t i = 0; i < session.n_files; i++)
        close(session.files[i]);
    /* Fenced executions start threads with descriptors of their own, once. */
    FUZZ_CHECK(first_free_fd() <= before + 4);
    return 0;
}
