/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - sessions as they were recorded, said again
 *
 * A stream (tests/hal/streams) is what crossed the wire in one session with the
 * sample driver: every call and reply byte for byte, and what the memories
 * held. Those of a released version are kept for ever: the service
 * of today must give an old client what it got then.
 *
 *     "nnstream", u32 major, u32 minor of the wire, then records, little-endian:
 *     u32 FILE    u64 size                              a memory, numbered from 0
 *     u32 WRITE   u32 file, u64 offset, u32 n, bytes    the client writes
 *     u32 CALL    u32 number, u32 n_fds, u32 file..., u32 n, bytes
 *     u32 REPLY   u32 status, u32 n_fds, u32 n, bytes   of the call before it
 *     u32 EXPECT  u32 file, u64 offset, u32 n, bytes    what the reply changed
 *
 * When it is said again, ids and tokens that the service chose differently are exchanged
 * for those of today; sentences, versions, performance, process ids and times
 * may differ; all else must be the same. */
#ifndef NN_TESTS_HAL_STREAM_H
#define NN_TESTS_HAL_STREAM_H

#include "hal/channel.h"
#include "support/loopback.h"

enum stream_record {
    STREAM_FILE = 1,
    STREAM_WRITE = 2,
    STREAM_CALL = 3,
    STREAM_REPLY = 4,
    STREAM_EXPECT = 5,
};

#define STREAM_MAGIC     "nnstream"
#define STREAM_MAX_FILES 16

struct stream_recorder;

/* stream_recorder_new() - records what its observer sees into a file. Memories
 * are found by the descriptors of calls; what changed in them, by looking. */
struct stream_recorder *stream_recorder_new(const char *path);
struct loopback_observer stream_recorder_observer(struct stream_recorder *recorder);
void stream_recorder_free(struct stream_recorder *recorder);

/* stream_minor() - the minor version that a stream was recorded at. */
uint16_t stream_minor(const char *path);

/* stream_replay() - says a stream to a channel, at the minor version of the
 * stream; what differs is a failure of the test. Returns how many calls there
 * were. */
int stream_replay(const char *path, struct nn_hal_channel *channel);

#endif
