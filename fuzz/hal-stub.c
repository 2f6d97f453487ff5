/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a request to a HAL that does nothing, and as an event to a
 * listener. The first byte is the number, the second the minor version. */
#include "fuzz.h"

#include "codec/codec.h"
#include "hal/messages.h"
#include "hal/proxy.h"
#include "hal/stub.h"

#include <string.h>

static uint32_t answer(const void *args)
{
    uint8_t first;

    memcpy(&first, args, 1);
    return first % (NNHAL_DEAD_OBJECT + 2); /* one that does not exist, too */
}

#define X(number, method)                                                                          \
    static uint32_t do_##method(struct nn_hal *hal, const struct nn_hal_##method##_args *args,     \
                                struct nn_hal_##method##_reply *reply, struct nn_arena *arena)     \
    {                                                                                              \
        return answer(args);                                                                       \
    }
NN_HAL_NUMBERED_METHODS(X)
#undef X

static const struct nn_hal_ops ops = {
#define X(number, method) .method = do_##method,
    NN_HAL_NUMBERED_METHODS(X)
#undef X
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    const struct nn_hal_listener listener = {.ctx = NULL};
    struct nn_hal hal = {.ops = &ops};
    struct nn_codec_buffer reply = {.bytes = NULL};
    struct nn_codec_message message;
    uint32_t status;
    int r;

    if (n_bytes < 2)
        return 0;
    message = (struct nn_codec_message){
        .number = bytes[0], .bytes = bytes + 2, .n_bytes = n_bytes - 2};
    r = nn_hal_stub_call(&hal, bytes[1], &message, NULL, &status, &reply);
    FUZZ_CHECK(r == 0 || r == NN_HAL_STUB_E_VIOLATION);
    if (r == 0)
        FUZZ_CHECK(status <= NNHAL_DEAD_OBJECT && reply.n_bytes > 0);
    nn_codec_buffer_done(&reply);
    r = nn_hal_proxy_event(&listener, bytes[1], &message);
    FUZZ_CHECK(r == 0 || r == NN_HAL_PROXY_E_VIOLATION);
    return 0;
}
