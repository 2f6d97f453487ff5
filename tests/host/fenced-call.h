/* SPDX-License-Identifier: Apache-2.0 */
/* fenced-call.h - a fenced execution of the desk's formula, launched and waited for
 *
 * What a test changes of the call lies in args; what came of the last launch in reply, whose
 * fence is the test's to close. */
#ifndef NN_TESTS_HOST_FENCED_CALL_H
#define NN_TESTS_HOST_FENCED_CALL_H

#include "host/desk.h"

struct fenced_call {
    struct desk desk;
    uint64_t memory, prepared;
    struct nn_hal_execute_fenced_args args;
    struct nn_hal_execute_fenced_reply reply;
};

/* fenced_call_begin() - opens the desk; inputs and output lie in memory, four floats each. */
void fenced_call_begin(struct fenced_call *call, const struct nn_host_session_options *options);

/* fenced_call_launch() - Returns: the status; a failure has a sentence. */
uint32_t fenced_call_launch(struct fenced_call *call);

struct nn_hal_get_fenced_info_reply fenced_call_get_info(struct fenced_call *call);
void fenced_call_free_callback(struct fenced_call *call);

/* fenced_call_expect_error() - waits for the end, which must be an error with this status and a
 * sentence with these words. fenced_call_expect_well() - which must be none. Both close the fence. */
void fenced_call_expect_error(struct fenced_call *call, uint32_t status, const char *words);
void fenced_call_expect_well(struct fenced_call *call);

#endif
