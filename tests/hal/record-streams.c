/* SPDX-License-Identifier: Apache-2.0 */
/* NN_STREAMS=FOLDER record-streams: the scripted sessions with the sample
 * driver that tests/hal/streams keeps. Run when a version is released; the
 * files of earlier versions stay. No test, but Check runs it, because desk.h
 * asserts. */
#include "hal/stream.h"
#include "host/desk.h"
#include "support/check-main.h"
#include "support/sequential-random.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static struct desk desk;
static uint64_t memory;
static float *floats; /* the bytes of memory */

static void fill(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        floats[i] = (float)(i + 1) * (i % 2 ? -1.0f : 1.0f);
        floats[n + i] = 0.5f * (float)(i + 1);
    }
}

static uint32_t get_supported(const struct nnhal_model *model)
{
    const struct nn_hal_get_supported_operations_args args = {.model = *model};
    struct nn_hal_get_supported_operations_reply reply;

    return nn_hal_get_supported_operations(desk.hal, &args, &reply, &desk.arena);
}

static void get_info(void)
{
    const struct nn_hal_get_device_info_args args = {.reserved = 0};
    struct nn_hal_get_device_info_reply reply;

    nn_hal_get_device_info(desk.hal, &args, &reply, &desk.arena);
}

static void free_memory(uint64_t id)
{
    const struct nn_hal_free_memory_args args = {.memory = id};
    struct nn_hal_free_memory_reply reply;

    nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena);
}

/* What every client does: look, compile, run, go. */
static void formula(void)
{
    uint64_t prepared;

    get_info();
    memory = desk_memory(&desk, 4096);
    floats = desk_bytes(&desk, memory);
    get_supported(desk_formula(&desk, DIMS(2, 3)));
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 3)));
    fill(6);
    desk_formula_request(&desk, memory, 24);
    desk_execute(&desk, prepared);
    floats[0] = 42.0f;
    desk.measure = 1;
    desk_execute(&desk, prepared);
    desk_free_prepared(&desk, prepared);
    free_memory(memory);
}

/* Shapes that become known when the model runs, and memory that is too small. */
static void shapes(void)
{
    const uint32_t open[] = {0, 3};
    uint64_t prepared;

    memory = desk_memory(&desk, 4096);
    floats = desk_bytes(&desk, memory);
    for (int with_rank = 0; with_rank < 2; with_rank++) {
        prepared = desk_prepare(&desk, desk_formula(&desk, with_rank ? 2 : 0, open));
        for (uint32_t n = 1; n < 4; n++) {
            fill(3 * n);
            desk_begin(&desk);
            desk_input(&desk, DIMS(n, 3), memory, 0, 12ULL * n);
            desk_input(&desk, DIMS(n, 3), memory, 12ULL * n, 12ULL * n);
            desk_output(&desk, 0, NULL, memory, 24ULL * n, n == 2 ? 8 : 1000);
            desk_execute(&desk, prepared);
        }
        desk_free_prepared(&desk, prepared);
    }
}

/* An execution that is bound once and run again and again. */
static void reusable(void)
{
    uint64_t prepared, execution;

    memory = desk_memory(&desk, 4096);
    floats = desk_bytes(&desk, memory);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    desk_create_execution(&desk, prepared, &execution);
    desk.execution = execution;
    for (uint32_t i = 0; i < 3; i++) {
        fill(4);
        floats[i] += 100.0f;
        desk_execute(&desk, 0);
    }
    desk_free_prepared(&desk, prepared);
    desk_execute(&desk, 0); /* of a model that is gone */
    desk_free_execution(&desk, execution);
    desk_execute(&desk, 0);
}

static void run_fenced(uint64_t prepared)
{
    const struct nn_hal_execute_fenced_args args = {.prepared_model = prepared,
                                                    .request = desk.request,
                                                    .deadline_ns = NNHAL_NO_TIME,
                                                    .loop_timeout_ns = NNHAL_NO_TIME,
                                                    .timeout_after_fence_ns = NNHAL_NO_TIME};
    struct nn_hal_execute_fenced_reply reply;
    struct nn_hal_get_fenced_info_args info_args;
    struct nn_hal_get_fenced_info_reply info;
    struct nn_hal_free_fenced_callback_args free_args;
    struct nn_hal_free_fenced_callback_reply freed;

    if (nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena) != NNHAL_NONE)
        return;
    if (reply.sync_fence >= 0)
        close(reply.sync_fence);
    info_args.callback = free_args.callback = reply.callback;
    nn_hal_get_fenced_info(desk.hal, &info_args, &info, &desk.arena);
    nn_hal_free_fenced_callback(desk.hal, &free_args, &freed, &desk.arena);
    nn_hal_get_fenced_info(desk.hal, &info_args, &info, &desk.arena);
}

static void fenced(void)
{
    uint64_t prepared;

    memory = desk_memory(&desk, 4096);
    floats = desk_bytes(&desk, memory);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2)));
    fill(4);
    desk_formula_request(&desk, memory, 16);
    run_fenced(prepared);
    run_fenced(prepared + 1000); /* no such model */
}

/* What clients get wrong, and the answers that they have come to rely on. */
static void mistakes(void)
{
    uint64_t prepared, ignored;
    const struct nnhal_model *model;
    int fd = memfd_create("mapped", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    memory = desk_memory(&desk, 4096);
    floats = desk_bytes(&desk, memory);
    if (ftruncate(fd, 10000) == 0) {
        desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ | PROT_WRITE, 5000, 100, &ignored);
        desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 20000, 0, &ignored);
        desk_import(&desk, fd, 77, 0, 100, 0, &ignored);
        desk_import(&desk, fd, NNHAL_MEMORY_ASHMEM, 0, 0, 0, &ignored);
    }
    close(fd);
    model = desk_formula(&desk, DIMS(2, 2));
    desk.maker.graphs[0].operations[0].type = 9999;
    get_supported(model);
    desk_try_prepare(&desk, model, &ignored);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 2)));
    desk_formula_request(&desk, memory, 16);
    desk_execute(&desk, prepared + 1000);
    desk.inputs[0].location.pool_index = 9;
    desk_execute(&desk, prepared);
    desk_formula_request(&desk, memory, 16);
    desk.inputs[0].location.offset = 5000;
    desk_execute(&desk, prepared);
    desk_formula_request(&desk, memory, 16);
    desk.request.n_outputs = 0;
    desk_execute(&desk, prepared);
    free_memory(memory + 1000);
}

/* State that stays in the device: two buffers in turn, then what is refused. */
static void buffers(void)
{
    struct desk_buffer one, other, third;
    struct desk_wish wish;
    uint64_t prepared, execution, value;

    memory = desk_memory(&desk, 4096);
    value = desk_memory(&desk, 16);
    floats = desk_bytes(&desk, memory);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    wish = desk_wish(prepared, 0, 0);
    one = desk_allocate(&desk, &wish);
    other = desk_allocate(&desk, &wish);
    fill(4);
    memcpy(desk_bytes(&desk, value), floats, 16);
    desk_copy_to(&desk, one.id, value); /* it holds nothing yet */
    desk_copy_from(&desk, one.id, value, 0, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        desk_begin(&desk);
        desk_input_token(&desk, 0, NULL, i % 2 ? other.token : one.token);
        desk_input(&desk, 0, NULL, memory, 16, 16);
        desk_output_token(&desk, 0, NULL, i % 2 ? one.token : other.token);
        desk_execute(&desk, prepared);
    }
    desk_create_execution(&desk, prepared, &execution);
    desk.execution = execution;
    desk_execute(&desk, 0);
    desk_copy_to(&desk, one.id, value);
    desk_copy_from(&desk, one.id, memory, 0, NULL); /* of another size */
    desk_execute(&desk, 0);
    wish.inputs[0].io_index = 9;
    desk_try_allocate(&desk, &wish, &third);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(0)));
    wish = desk_wish(prepared, -1, 0);
    third = desk_allocate(&desk, &wish);
    desk_begin(&desk);
    desk_input(&desk, DIMS(4), memory, 0, 16);
    desk_input(&desk, DIMS(4), memory, 16, 16);
    desk_output_token(&desk, 0, NULL, third.token);
    desk_execute(&desk, prepared);
    desk_copy_to(&desk, third.id, value);
    desk_free_buffer(&desk, other.id);
    desk_execute(&desk, 0); /* with a buffer that is gone */
    desk_free_buffer(&desk, one.id);
}

static const struct {
    const char *name;
    void (*run)(void);
} sessions[] = {
    {"formula", formula}, {"shapes", shapes},     {"reusable", reusable},
    {"fenced", fenced},   {"mistakes", mistakes}, {"buffers", buffers},
};

TEST(record)
{
    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        struct stream_recorder *recorder;
        struct loopback_observer observer;
        char path[4096];

        ck_assert_msg(getenv("NN_STREAMS"), "set NN_STREAMS to the folder to write to");
        snprintf(path, sizeof(path), "%s/%d.%d-%s.bin", getenv("NN_STREAMS"), NN_HAL_MAJOR,
                 NN_HAL_MINOR, sessions[i].name);
        sequential_random_reset();
        recorder = stream_recorder_new(path);
        observer = stream_recorder_observer(recorder);
        desk_open_sample(&desk, NULL);
        desk.hal = loopback_hal(desk.hal, &observer);
        sessions[i].run();
        desk_close(&desk);
        stream_recorder_free(recorder);
    }
}
TEST_END

CHECK_MAIN("record", record)
