/* SPDX-License-Identifier: Apache-2.0 */
/* desk.h - a session with a driver, memory and a model, ready to be tried
 *
 * desk_open() takes the fake driver, desk_open_sample() the real one. Memories
 * are sealed memfds; desk_bytes() is the test's own view of one. The model is
 * z = relu(x * y + x), floats, of any shape.
 * Requests are written like this:
 *
 *     desk_begin(&desk);
 *     desk_input(&desk, DIMS(2, 2), memory, 0, 16);   dimensions, place
 *     desk_input(&desk, 0, NULL, memory, 16, 16);
 *     desk_output(&desk, 0, NULL, memory, 32, 16);
 *     ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE); */
#ifndef NN_TESTS_HOST_DESK_H
#define NN_TESTS_HOST_DESK_H

#include "base/arena.h"
#include "host/host.h"
#include "model/maker.h"

#include <check.h>

#define DESK_ARGUMENTS 8
#define DESK_MEMORIES  64

struct desk {
    struct nn_host *host;
    struct nn_hal *hal;
    struct nn_arena arena;
    struct maker maker;
    uint32_t n_memories;
    struct {
        uint64_t id;
        void *bytes;
        size_t size;
    } memories[DESK_MEMORIES];

    struct nnhal_request_argument inputs[DESK_ARGUMENTS], outputs[DESK_ARGUMENTS];
    struct nnhal_request_pool pools[DESK_ARGUMENTS];
    uint32_t dimensions[2 * DESK_ARGUMENTS][NNHAL_MAX_RANK + 1];
    uint32_t n_dimensions;
    struct nnhal_request request;

    /* Arguments of desk_execute(), and what it answered. */
    uint64_t execution;
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns;
    uint32_t measure;
    struct nn_hal_execute_synchronously_reply reply;
};

void desk_open(struct desk *desk);
void desk_open_sample(struct desk *desk, const char *configuration);

/* desk_sample() - the sample driver's path: NNHAL_TEST_SAMPLE, or the one of this build. */
const char *desk_sample(void);

void desk_open_with(struct desk *desk, const struct nn_host_session_options *options);

/* desk_close() - closes the session and the host; checks that all that the
 * driver has made was released. */
void desk_close(struct desk *desk);

/* desk_memory() - a new memory of the session, zeroed. */
uint64_t desk_memory(struct desk *desk, size_t n_bytes);
void *desk_bytes(struct desk *desk, uint64_t memory);

/* desk_import() - the status of importing fd, which stays the test's. A hardware
 * buffer is a blob of size bytes. */
uint32_t desk_import(struct desk *desk, int fd, uint32_t kind, uint32_t prot, uint64_t size,
                     uint64_t offset, uint64_t *ret_memory);

/* desk_import_buffer() - the same of a hardware buffer; size is 0 or a blob's width. */
uint32_t desk_import_buffer(struct desk *desk, int fd, const struct nnhal_hardware_buffer *buffer,
                            uint64_t size, uint64_t *ret_memory);

/* desk_buffer() - a hardware buffer of n pixels of 4 bytes, over a memfd of its
 * own; with a modifier other than 0 in an unknown order. */
uint64_t desk_buffer(struct desk *desk, uint32_t n, uint64_t modifier);

/* desk_padded() - the same of rows that begin stride pixels after each other. */
uint64_t desk_padded(struct desk *desk, uint32_t width, uint32_t height, uint32_t stride);

/* desk_formula() - the model, x, y and z with these dimensions. */
const struct nnhal_model *desk_formula(struct desk *desk, uint32_t n_dimensions,
                                       const uint32_t *dimensions);

/* desk_try_prepare() - the status; desk_prepare() - the prepared model. */
uint32_t desk_try_prepare(struct desk *desk, const struct nnhal_model *model,
                          uint64_t *ret_prepared);
uint64_t desk_prepare(struct desk *desk, const struct nnhal_model *model);
void desk_free_prepared(struct desk *desk, uint64_t prepared);

/* Requests. memory 0: the argument is omitted. */
void desk_begin(struct desk *desk);
struct nnhal_request_argument *desk_input(struct desk *desk, uint32_t n_dimensions,
                                          const uint32_t *dimensions, uint64_t memory,
                                          uint64_t offset, uint64_t length);
struct nnhal_request_argument *desk_output(struct desk *desk, uint32_t n_dimensions,
                                           const uint32_t *dimensions, uint64_t memory,
                                           uint64_t offset, uint64_t length);

/* The same in a buffer. */
struct nnhal_request_argument *desk_input_token(struct desk *desk, uint32_t n_dimensions,
                                                const uint32_t *dimensions, uint32_t token);
struct nnhal_request_argument *desk_output_token(struct desk *desk, uint32_t n_dimensions,
                                                 const uint32_t *dimensions, uint32_t token);

/* desk_formula_request() - x, y and z of n_bytes each, one after the other. */
void desk_formula_request(struct desk *desk, uint64_t memory, uint64_t n_bytes);

/* desk_execute() - of a prepared model, or of desk->execution if prepared is 0. */
uint32_t desk_execute(struct desk *desk, uint64_t prepared);
uint32_t desk_create_execution(struct desk *desk, uint64_t prepared, uint64_t *ret_execution);
void desk_free_execution(struct desk *desk, uint64_t execution);

/* A fence is waited for: the status of a fenced execution of prepared, or of
 * desk->execution if it is 0, from its launch or from its end. */
uint32_t desk_execute_fenced(struct desk *desk, uint64_t prepared);

/* -- buffers -------------------------------------------------------------------- */

#define DESK_ROLES 8

/* What to allocate: filled with desk_wish_*(), freely spoilt. */
struct desk_wish {
    uint32_t n_dimensions;
    const uint32_t *dimensions;
    uint32_t n_prepared;
    uint64_t prepared[DESK_ROLES];
    uint32_t n_inputs, n_outputs;
    struct nnhal_buffer_role inputs[DESK_ROLES], outputs[DESK_ROLES];
};

/* desk_wish() - one input and one output of a prepared model; -1: no such role. */
struct desk_wish desk_wish(uint64_t prepared, int input, int output);

struct desk_buffer {
    uint64_t id;
    uint32_t token;
};

uint32_t desk_try_allocate(struct desk *desk, const struct desk_wish *wish,
                           struct desk_buffer *ret_buffer);
struct desk_buffer desk_allocate(struct desk *desk, const struct desk_wish *wish);
void desk_free_buffer(struct desk *desk, uint64_t buffer);
uint32_t desk_copy_to(struct desk *desk, uint64_t buffer, uint64_t memory);
uint32_t desk_copy_from(struct desk *desk, uint64_t buffer, uint64_t memory, uint32_t n_dimensions,
                        const uint32_t *dimensions);

/* desk_sum() - the model z = x + y, operands of that type and these dimensions. */
const struct nnhal_model *desk_sum(struct desk *desk, uint32_t type, uint32_t n_dimensions,
                                   const uint32_t *dimensions);

/* desk_expect_failure() - what a failed call leaves: nothing but a sentence. */
#define desk_expect_failure(reply)                                                                 \
    do {                                                                                           \
        __typeof__(reply) silent_;                                                                 \
        memset(&silent_, 0, sizeof(silent_));                                                      \
        silent_.message = (reply).message;                                                         \
        ck_assert_ptr_nonnull((reply).message);                                                    \
        ck_assert_uint_gt(strlen((reply).message), 10);                                            \
        ck_assert_mem_eq(&silent_, &(reply), sizeof(silent_));                                     \
    } while (0)

#endif
