/* SPDX-License-Identifier: Apache-2.0 */
/* Memories that several devices use: in one device where all of it takes place there, else shared.
 *
 * Bytes that are copied into a memory of a device are not counted by nnhal_get_copied_bytes(). */
#include "drivers/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 4, BYTES = N * sizeof(float) };

static const float values[N] = {0, -1, -2, 0.5f};

/* Of one operation for each letter: e EXP, a ABS, in a chain; every result is an output. */
static ANeuralNetworksModel *make_chain(const char *operations)
{
    const uint32_t n = N, input = 0, outputs[] = {1, 2, 3};
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    for (uint32_t i = 0; operations[i]; i++) {
        OK(ANeuralNetworksModel_addOperand(model, &type));
        OK(ANeuralNetworksModel_addOperation(
            model, operations[i] == 'e' ? ANEURALNETWORKS_EXP : ANEURALNETWORKS_ABS, 1, &i, 1,
            &outputs[i]));
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, (uint32_t)strlen(operations),
                                                     outputs));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* What a memory is used for. */
struct use {
    const ANeuralNetworksCompilation *compilation;
    bool is_output;
    uint32_t index;
};

static ANeuralNetworksMemory *make_memory(const struct use *uses, uint32_t n_uses)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    for (uint32_t i = 0; i < n_uses; i++)
        if (uses[i].is_output)
            OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, uses[i].compilation, uses[i].index,
                                                       1.0f));
        else
            OK(ANeuralNetworksMemoryDesc_addInputRole(desc, uses[i].compilation, uses[i].index,
                                                      1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

/* Bytes that an application can reach, with values in them. */
struct own {
    float *data;
    ANeuralNetworksMemory *memory;
};

static void own_init(struct own *own)
{
    int fd = memfd_create("values", 0);

    ck_assert_int_eq(ftruncate(fd, BYTES), 0);
    own->data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(own->data, MAP_FAILED);
    memcpy(own->data, values, BYTES);
    own->memory = NULL;
    OK(ANeuralNetworksMemory_createFromFd(BYTES, PROT_READ | PROT_WRITE, fd, 0, &own->memory));
    close(fd);
}

static void own_done(struct own *own)
{
    ANeuralNetworksMemory_free(own->memory);
    munmap(own->data, BYTES);
}

/* Fills a memory with values. Returns: whether it lies in a device. */
static bool fill(const ANeuralNetworksMemory *memory)
{
    uint64_t before = nnhal_get_copied_bytes();
    struct own own;

    own_init(&own);
    OK(ANeuralNetworksMemory_copy(own.memory, memory));
    own_done(&own);
    return nnhal_get_copied_bytes() == before;
}

static void expect(const ANeuralNetworksMemory *memory, const char *operations)
{
    struct own own;

    own_init(&own);
    OK(ANeuralNetworksMemory_copy(memory, own.memory));
    for (uint32_t i = 0; i < N; i++) {
        float value = values[i];

        for (const char *at = operations; *at; at++)
            value = *at == 'e' ? expf(value) : fabsf(value);
        ck_assert_float_eq_tol(own.data[i], value, 1e-4f);
    }
    own_done(&own);
}

/* With the input in one memory and one of n outputs in another. */
static void compute(ANeuralNetworksCompilation *compilation, const ANeuralNetworksMemory *input,
                    const ANeuralNetworksMemory *output, uint32_t index, uint32_t n)
{
    ANeuralNetworksExecution *execution = NULL;
    float rest[3][N];

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, input, 0, 0));
    for (uint32_t i = 0; i < n; i++)
        if (i != index)
            OK(ANeuralNetworksExecution_setOutput(execution, (int32_t)i, NULL, rest[i], BYTES));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, (int32_t)index, NULL, output, 0, 0));
    OK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
}

/* A chain whose EXP partial-0 computes and whose ABS partial-1, and the memories of its ends. */
struct chain {
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *input, *output;
};

static void chain_init(struct chain *chain, const char *operations)
{
    split_rules("0:only=EXP;1:only=ABS");
    chain->model = make_chain(operations);
    chain->compilation = split_compile(chain->model, 2);
}

static void chain_done(struct chain *chain)
{
    ANeuralNetworksMemory_free(chain->input);
    ANeuralNetworksMemory_free(chain->output);
    ANeuralNetworksCompilation_free(chain->compilation);
    ANeuralNetworksModel_free(chain->model);
}

/* The input and the output concern one part each. */
TEST(a_memory_that_one_part_uses_lies_in_its_device)
{
    struct chain chain;

    chain_init(&chain, "ea");
    ck_assert_uint_eq(split_count_parts(chain.compilation), 2);
    chain.input = make_memory(&(const struct use){chain.compilation, false, 0}, 1);
    chain.output = make_memory(&(const struct use){chain.compilation, true, 1}, 1);
    ck_assert(fill(chain.input));
    compute(chain.compilation, chain.input, chain.output, 1, 2);
    expect(chain.output, "ea");
    ck_assert(fill(chain.output));
    chain_done(&chain);
}
TEST_END

/* The result of EXP is an output, and ABS reads it on the other device. */
TEST(a_memory_that_two_parts_use_is_shared)
{
    struct chain chain;

    chain_init(&chain, "ea");
    chain.input = make_memory(&(const struct use){chain.compilation, false, 0}, 1);
    chain.output = make_memory(&(const struct use){chain.compilation, true, 0}, 1);
    fill(chain.input);
    compute(chain.compilation, chain.input, chain.output, 0, 2);
    expect(chain.output, "e");
    ck_assert(!fill(chain.output));
    chain_done(&chain);
}
TEST_END

/* Android refuses that: each of them had asked for a device of its own. */
TEST(a_memory_between_two_listed_devices_is_shared)
{
    ANeuralNetworksMemory *input, *between, *output;
    ANeuralNetworksCompilation *first, *second;
    ANeuralNetworksModel *model;

    split_rules("*:time=1");
    model = make_chain("e");
    first = split_compile_on(model, 1, &(const uint32_t){0});
    second = split_compile_on(model, 1, &(const uint32_t){1});
    input = make_memory(&(const struct use){first, false, 0}, 1);
    between = make_memory((const struct use[]){{first, true, 0}, {second, false, 0}}, 2);
    output = make_memory(&(const struct use){second, true, 0}, 1);
    ck_assert(fill(input));
    compute(first, input, between, 0, 1);
    compute(second, between, output, 0, 1);
    expect(output, "ee");
    ck_assert(!fill(between));
    ANeuralNetworksMemory_free(input);
    ANeuralNetworksMemory_free(between);
    ANeuralNetworksMemory_free(output);
    ANeuralNetworksCompilation_free(first);
    ANeuralNetworksCompilation_free(second);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* partial-0 computes before and after partial-1: both of its parts have the memory. */
TEST(two_parts_of_one_device_share_its_memory)
{
    struct chain chain;

    chain_init(&chain, "eae");
    ck_assert_uint_eq(split_count_parts(chain.compilation), 3);
    chain.input = make_memory(
        (const struct use[]){{chain.compilation, false, 0}, {chain.compilation, true, 2}}, 2);
    chain.output = make_memory(
        (const struct use[]){{chain.compilation, false, 0}, {chain.compilation, true, 2}}, 2);
    ck_assert(fill(chain.input));
    compute(chain.compilation, chain.input, chain.output, 2, 3);
    expect(chain.output, "eae");
    ck_assert(fill(chain.output));
    chain_done(&chain);
}
TEST_END

/* The device's failure is the part's: the reference computes it, on copies of what the device has. */
TEST(a_part_that_fails_is_computed_elsewhere_from_its_memory)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksMemory *input, *output;
    ANeuralNetworksModel *model;

    setenv("NNHAL_DEVICES", "partial-0,partial-1", 1);
    split_rules("0:only=EXP;1:only=ABS");
    model = make_chain("ea");
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_uint_eq(split_count_parts(compilation), 2);
    input = make_memory(&(const struct use){compilation, false, 0}, 1);
    output = make_memory(&(const struct use){compilation, true, 1}, 1);
    ck_assert(fill(input));
    split_rules("*:fail=execute");
    compute(compilation, input, output, 1, 2);
    expect(output, "ea");
    ANeuralNetworksMemory_free(input);
    ANeuralNetworksMemory_free(output);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

CHECK_MAIN("roles", a_memory_that_one_part_uses_lies_in_its_device,
           a_memory_that_two_parts_use_is_shared, a_memory_between_two_listed_devices_is_shared,
           two_parts_of_one_device_share_its_memory,
           a_part_that_fails_is_computed_elsewhere_from_its_memory)
