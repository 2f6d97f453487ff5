/* SPDX-License-Identifier: Apache-2.0 */
/* What an application gives an IF or WHILE that devices share, and how it has it computed: every kind of
 * memory, at both ends, in each way. The bits are those that one device computes from pointers. */
#include "drivers/control.h"

#include <android/hardware_buffer.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = CONTROL_N * sizeof(float), OFFSET = 64, SIZE = 4096 };

#define CPU (AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN)

/* Where a row of four floats lies. */
enum kind {
    KIND_POINTER,
    KIND_FILE,
    KIND_BLOB,
    KIND_PICTURE, /* of four pixels */
    KIND_ROLE,    /* a memory of a descriptor */
    KIND_N,
};

/* The first or the last row of a compilation. */
struct end {
    enum kind kind;
    bool is_output;
    float row[CONTROL_N]; /* POINTER, or what is copied from and to a ROLE */
    uint8_t *data;        /* FILE */
    AHardwareBuffer *buffer;
    ANeuralNetworksMemory *memory;
};

/* -- ends --------------------------------------------------------------------------------- */

static ANeuralNetworksMemory *make_file(uint8_t **ret_data)
{
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("row", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, SIZE), 0);
    *ret_data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(*ret_data, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(SIZE, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    return memory;
}

static void make_buffer(struct end *end)
{
    const AHardwareBuffer_Desc desc = {
        .width = end->kind == KIND_BLOB ? SIZE : CONTROL_N,
        .height = 1,
        .layers = 1,
        .format = end->kind == KIND_BLOB ? AHARDWAREBUFFER_FORMAT_BLOB
                                         : AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM,
        .usage = CPU,
    };

    ck_assert_int_eq(AHardwareBuffer_allocate(&desc, &end->buffer), 0);
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(end->buffer, &end->memory));
}

static void make_role(struct end *end, const ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksMemoryDesc *desc = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(end->is_output ? ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1)
                      : ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &end->memory));
    ANeuralNetworksMemoryDesc_free(desc);
}

static void end_init(struct end *end, enum kind kind, bool is_output,
                     const ANeuralNetworksCompilation *compilation)
{
    *end = (struct end){.kind = kind, .is_output = is_output};
    if (kind == KIND_FILE)
        end->memory = make_file(&end->data);
    else if (kind == KIND_BLOB || kind == KIND_PICTURE)
        make_buffer(end);
    else if (kind == KIND_ROLE)
        make_role(end, compilation);
}

static void end_done(struct end *end)
{
    ANeuralNetworksMemory_free(end->memory);
    if (end->buffer)
        AHardwareBuffer_release(end->buffer);
    if (end->data)
        munmap(end->data, SIZE);
}

/* Between the row and where the bytes are. */
static void copy_buffer(struct end *end, bool is_read)
{
    uint8_t *data = NULL;

    ck_assert_int_eq(AHardwareBuffer_lock(end->buffer, CPU, -1, NULL, (void **)&data), 0);
    data += end->kind == KIND_BLOB ? OFFSET : 0;
    memcpy(is_read ? (uint8_t *)end->row : data, is_read ? data : (uint8_t *)end->row, BYTES);
    ck_assert_int_eq(AHardwareBuffer_unlock(end->buffer, NULL), 0);
}

static void copy_role(struct end *end, bool is_read)
{
    uint8_t *data;
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("copy", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, BYTES), 0);
    data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(data, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(BYTES, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    memcpy(data, end->row, BYTES);
    OK(is_read ? ANeuralNetworksMemory_copy(end->memory, memory)
               : ANeuralNetworksMemory_copy(memory, end->memory));
    memcpy(end->row, data, BYTES);
    ANeuralNetworksMemory_free(memory);
    munmap(data, BYTES);
}

static void end_copy(struct end *end, bool is_read)
{
    if (end->kind == KIND_FILE)
        memcpy(is_read ? (uint8_t *)end->row : end->data + OFFSET,
               is_read ? end->data + OFFSET : (uint8_t *)end->row, BYTES);
    else if (end->buffer)
        copy_buffer(end, is_read);
    else if (end->kind == KIND_ROLE)
        copy_role(end, is_read);
}

static void end_set(struct end *end, ANeuralNetworksExecution *execution)
{
    bool is_part = end->kind == KIND_FILE || end->kind == KIND_BLOB;
    size_t offset = is_part ? OFFSET : 0, length = is_part ? BYTES : 0;

    if (!end->memory && end->is_output)
        OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, end->row, BYTES));
    else if (!end->memory)
        OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, end->row, BYTES));
    else if (end->is_output)
        OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, end->memory, offset,
                                                        length));
    else
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, end->memory, offset,
                                                       length));
}

/* -- ways ----------------------------------------------------------------------------------- */

enum way {
    WAY_ONCE,
    WAY_AGAIN,
    WAY_BURST,
    WAY_EVENT,
    WAY_N,
};

static int compute(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution *execution,
                   enum way way)
{
    ANeuralNetworksBurst *burst = NULL;
    ANeuralNetworksEvent *event = NULL;
    int result;

    switch (way) {
    case WAY_BURST:
        OK(ANeuralNetworksBurst_create(compilation, &burst));
        ANeuralNetworksExecution_burstCompute(execution, burst);
        result = ANeuralNetworksExecution_burstCompute(execution, burst);
        ANeuralNetworksBurst_free(burst);
        return result;
    case WAY_EVENT:
        OK(ANeuralNetworksExecution_startCompute(execution, &event));
        result = ANeuralNetworksEvent_wait(event);
        ANeuralNetworksEvent_free(event);
        return result;
    case WAY_AGAIN:
        ANeuralNetworksExecution_compute(execution);
        return ANeuralNetworksExecution_compute(execution);
    default:
        return ANeuralNetworksExecution_compute(execution);
    }
}

/* Returns: the result, with the row that came out. */
static int run(const struct control_stand *stand, enum kind from, enum kind to, enum way way,
               float ret_row[CONTROL_N])
{
    ANeuralNetworksExecution *execution = NULL;
    struct end first, last;
    int result;

    end_init(&first, from, false, stand->compilation);
    end_init(&last, to, true, stand->compilation);
    memcpy(first.row, control_usual.in, BYTES);
    end_copy(&first, false);
    OK(ANeuralNetworksExecution_create(stand->compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, way == WAY_AGAIN || way == WAY_BURST));
    end_set(&first, execution);
    control_set_rest(&stand->b, execution, &control_usual);
    end_set(&last, execution);
    result = compute(stand->compilation, execution, way);
    if (result == ANEURALNETWORKS_NO_ERROR)
        end_copy(&last, true);
    memcpy(ret_row, last.row, BYTES);
    ANeuralNetworksExecution_free(execution);
    end_done(&first);
    end_done(&last);
    return result;
}

/* -- tests -------------------------------------------------------------------------------- */

/* Pictures come out of an IF alone: what a loop ends with lies in its state. */
static void check_all(control_maker make, const char *rules, uint32_t n_devices, bool has_pictures)
{
    struct control_trial alone = control_usual;
    struct control_stand stand;
    float row[CONTROL_N];

    control_run_on(make, " ", 1, &alone);
    OK(alone.result);
    control_stand_init(&stand, make, rules, n_devices);
    for (uint32_t i = 0; i < KIND_N * KIND_N * WAY_N; i++) {
        enum kind from = i % KIND_N, to = i / KIND_N % KIND_N;
        enum way way = i / KIND_N / KIND_N;
        int result = run(&stand, from, to, way, row);

        if (to == KIND_PICTURE && !has_pictures) {
            ck_assert_int_eq(result, ANEURALNETWORKS_OP_FAILED);
            continue;
        }
        ck_assert_msg(result == ANEURALNETWORKS_NO_ERROR && memcmp(row, alone.out, BYTES) == 0,
                      "%d: kind %u to kind %u, way %u", result, from, to, way);
    }
    control_stand_done(&stand);
}

TEST(if_takes_and_gives_every_kind_of_memory)
{
    check_all(control_if, CONTROL_SHARED, 2, true);
}
TEST_END

TEST(a_loop_takes_every_kind_of_memory_and_gives_all_but_pictures)
{
    check_all(control_loop, CONTROL_SHARED, 2, false);
}
TEST_END

/* nnapi-reference computes the whole loop. */
TEST(a_picture_comes_out_of_a_loop_that_need_not_be_shared)
{
    setenv("NNHAL_DEVICES", "partial-0,partial-1,nnapi-reference", 1);
    setenv("NNHAL_PARTITION", "auto", 1);
    check_all(control_loop, CONTROL_SHARED, 0, true);
}
TEST_END

TEST(what_is_nested_takes_every_kind_of_memory)
{
    check_all(control_nested, CONTROL_SHARED, 2, false);
}
TEST_END

/* What one loop leaves in a memory of a descriptor the next one begins with. */
TEST(a_memory_of_a_descriptor_goes_from_loop_to_loop)
{
    struct control_trial alone = control_usual;
    ANeuralNetworksExecution *executions[2] = {NULL};
    ANeuralNetworksMemoryDesc *desc = NULL;
    struct control_stand stand;
    struct end between = {.kind = KIND_ROLE}, last = {.kind = KIND_POINTER, .is_output = true};

    control_run_on(control_loop, " ", 1, &alone);
    memcpy(alone.in, alone.out, BYTES);
    control_run_on(control_loop, " ", 1, &alone);
    control_stand_init(&stand, control_loop, CONTROL_SHARED, 2);
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, stand.compilation, 0, 1));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, stand.compilation, 0, 1));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &between.memory));
    ANeuralNetworksMemoryDesc_free(desc);
    for (uint32_t i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_create(stand.compilation, &executions[i]));
    control_set_inputs(&stand.b, executions[0], &control_usual);
    between.is_output = true;
    end_set(&between, executions[0]);
    between.is_output = false;
    end_set(&between, executions[1]);
    control_set_rest(&stand.b, executions[1], &control_usual);
    end_set(&last, executions[1]);
    for (uint32_t i = 0; i < 2; i++)
        OK(ANeuralNetworksExecution_compute(executions[i]));
    ck_assert_mem_eq(last.row, alone.out, BYTES);
    for (uint32_t i = 0; i < 2; i++)
        ANeuralNetworksExecution_free(executions[i]);
    end_done(&between);
    control_stand_done(&stand);
}
TEST_END

CHECK_MAIN("control arguments", if_takes_and_gives_every_kind_of_memory,
           a_loop_takes_every_kind_of_memory_and_gives_all_but_pictures,
           a_picture_comes_out_of_a_loop_that_need_not_be_shared,
           what_is_nested_takes_every_kind_of_memory,
           a_memory_of_a_descriptor_goes_from_loop_to_loop)
