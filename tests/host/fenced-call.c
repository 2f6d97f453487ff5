/* SPDX-License-Identifier: Apache-2.0 */
#include "host/fenced-call.h"

#include "base/fence.h"
#include "support/check-main.h"

#include <string.h>
#include <unistd.h>

void fenced_call_begin(struct fenced_call *call, const struct nn_host_session_options *options)
{
    desk_open_with(&call->desk, options);
    call->memory = desk_memory(&call->desk, 4096);
    call->prepared = desk_prepare(&call->desk, desk_formula(&call->desk, DIMS(4)));
    desk_formula_request(&call->desk, call->memory, 16);
    call->args = (struct nn_hal_execute_fenced_args){
        .prepared_model = call->prepared,
        .request = call->desk.request,
        .deadline_ns = NNHAL_NO_TIME,
        .loop_timeout_ns = NNHAL_NO_TIME,
        .timeout_after_fence_ns = NNHAL_NO_TIME,
    };
}

uint32_t fenced_call_launch(struct fenced_call *call)
{
    uint32_t status = nn_hal_execute_fenced(call->desk.hal, &call->args, &call->reply,
                                            &call->desk.arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(call->reply);
    return status;
}

struct nn_hal_get_fenced_info_reply fenced_call_get_info(struct fenced_call *call)
{
    const struct nn_hal_get_fenced_info_args args = {.callback = call->reply.callback};
    struct nn_hal_get_fenced_info_reply info;

    ck_assert_uint_eq(nn_hal_get_fenced_info(call->desk.hal, &args, &info, &call->desk.arena),
                      NNHAL_NONE);
    return info;
}

void fenced_call_free_callback(struct fenced_call *call)
{
    const struct nn_hal_free_fenced_callback_args args = {.callback = call->reply.callback};
    struct nn_hal_free_fenced_callback_reply reply;

    ck_assert_uint_eq(nn_hal_free_fenced_callback(call->desk.hal, &args, &reply, &call->desk.arena),
                      NNHAL_NONE);
}

void fenced_call_expect_error(struct fenced_call *call, uint32_t status, const char *words)
{
    struct nn_hal_get_fenced_info_reply info;

    ck_assert_int_eq(nn_fence_wait(call->reply.sync_fence, NNHAL_NO_TIME), NN_FENCE_E_ERROR);
    close(call->reply.sync_fence);
    info = fenced_call_get_info(call);
    ck_assert_uint_eq(info.status, status);
    ck_assert_msg(info.message && strstr(info.message, words), "\"%s\" does not say \"%s\"",
                  info.message, words);
    fenced_call_free_callback(call);
}

void fenced_call_expect_well(struct fenced_call *call)
{
    ck_assert_int_eq(nn_fence_wait(call->reply.sync_fence, NNHAL_NO_TIME), 0);
    close(call->reply.sync_fence);
    ck_assert_uint_eq(fenced_call_get_info(call).status, NNHAL_NONE);
    fenced_call_free_callback(call);
}
