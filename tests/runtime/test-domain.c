/* SPDX-License-Identifier: Apache-2.0 */
/* test-domain.c - memories made from descriptors: in shared memory, where a device has none
 * to give or must not, and in the device */
#include "rt.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where the memories of a test lie. */
enum where { SHARED, DEVICE };

/* A test of both places. */
#define EACH(name)                                                                                 \
    static void name##_in(enum where where);                                                       \
    TEST(name)                                                                                     \
    {                                                                                              \
        name##_in(SHARED);                                                                         \
        name##_in(DEVICE);                                                                         \
    }                                                                                              \
    TEST_END                                                                                       \
    static void name##_in(enum where where)

static const uint32_t four = 4;

static ANeuralNetworksCompilation *compile_model(enum where where, uint32_t n)
{
    ANeuralNetworksModel *model = rt_model_of(ANEURALNETWORKS_ADD, n);
    ANeuralNetworksCompilation *compilation = NULL;

    if (where == DEVICE)
        return rt_compilation_of(model);
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksModel_free(model);
    return compilation;
}

/* Input 0 and output 0 of a compilation, of n floats if n is not 0. */
static ANeuralNetworksMemory *memory_for(ANeuralNetworksCompilation *compilation, uint32_t n)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 0.5f));
    if (n)
        OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &n));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

/* One execution of z = x in memories; y is of no account. type NULL: as the model says. */
static int run_with(ANeuralNetworksCompilation *compilation, const ANeuralNetworksMemory *from,
                    const ANeuralNetworksMemory *to, const ANeuralNetworksOperandType *type)
{
    ANeuralNetworksExecution *execution = NULL;
    static const float y[8] = {0};
    int r;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, type, from, 0, 0));
    OK(ANeuralNetworksExecution_setInput(execution, 1, type, y,
                                         type ? type->dimensions[0] * sizeof(*y) : 16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, to, 0, 0));
    r = ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    return r;
}

static void check_floats(const float *found, const float *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_float_eq(found[i], expected[i]);
}

/* -- descriptors -------------------------------------------------------------------- */

TEST(descriptors_say_what_they_do_not_take)
{
    ANeuralNetworksCompilation *compilation, *open = NULL, *other;
    ANeuralNetworksModel *model;
    ANeuralNetworksMemoryDesc *desc = NULL;
    const uint32_t five = 5, matrix[] = {2, 2}, unknown = 0;

    rt_init();
    compilation = rt_compilation();
    other = compile_model(DEVICE, 5);
    model = rt_model();
    OK(ANeuralNetworksCompilation_create(model, &open));
    NULLED(ANeuralNetworksMemoryDesc_create(NULL));
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    NULLED(ANeuralNetworksMemoryDesc_addInputRole(NULL, compilation, 0, 1.0f));
    NULLED(ANeuralNetworksMemoryDesc_addInputRole(desc, NULL, 0, 1.0f));
    NULLED(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, NULL));
    NULLED(ANeuralNetworksMemoryDesc_finish(NULL));
    BAD_DATA(ANeuralNetworksMemoryDesc_finish(desc));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, open, 0, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 2, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 1, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 0.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.5f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, -0.0f / 0.0f));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, other, 0, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &five));
    BAD_DATA(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, matrix));
    OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &unknown));
    OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &four));
    OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 0, NULL));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    BAD_STATE(ANeuralNetworksMemoryDesc_finish(desc));
    BAD_STATE(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1.0f));
    BAD_STATE(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &four));
    ANeuralNetworksMemoryDesc_free(desc);
    ANeuralNetworksMemoryDesc_free(NULL);
    ANeuralNetworksCompilation_free(open);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksCompilation_free(other);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

/* z = x + x with the fused activation as an input, which is a scalar. */
static ANeuralNetworksCompilation *compile_with_scalar(void)
{
    const ANeuralNetworksOperandType scalar = rt_scalar(ANEURALNETWORKS_INT32);
    const uint32_t inputs[] = {0, 1}, outputs[] = {2};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    rt_add_tensor(model, 4);
    OK(ANeuralNetworksModel_addOperand(model, &scalar));
    rt_add_tensor(model, 4);
    OK(rt_binary(model, ANEURALNETWORKS_ADD, 0, 0, 1, 2));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    OK(ANeuralNetworksModel_finish(model));
    return rt_compilation_of(model);
}

TEST(a_scalar_has_no_dimensions)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemoryDesc *after = NULL, *before = NULL;

    rt_init();
    compilation = compile_with_scalar();
    OK(ANeuralNetworksMemoryDesc_create(&after));
    OK(ANeuralNetworksMemoryDesc_addInputRole(after, compilation, 1, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_setDimensions(after, 1, &four));
    OK(ANeuralNetworksMemoryDesc_setDimensions(after, 0, NULL));
    OK(ANeuralNetworksMemoryDesc_finish(after));
    OK(ANeuralNetworksMemoryDesc_create(&before));
    OK(ANeuralNetworksMemoryDesc_setDimensions(before, 1, &four));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(before, compilation, 1, 1.0f));
    OK(ANeuralNetworksMemoryDesc_addInputRole(before, compilation, 0, 1.0f));
    /* The two roles of one memory are of one type. */
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(before, compilation, 1, 1.0f));
    ANeuralNetworksMemoryDesc_free(after);
    ANeuralNetworksMemoryDesc_free(before);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

/* DEQUANTIZE of inputs that differ in one thing each from input 0; the last two are channels. */
static ANeuralNetworksCompilation *compile_codes(void)
{
    enum { N = 6 };
    const float one[] = {1, 2, 3, 4}, other[] = {1, 2, 3, 5};
    const ANeuralNetworksSymmPerChannelQuantParams params[] = {{0, 4, one}, {0, 4, other}};
    const ANeuralNetworksOperandType types[N] = {
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, &four, 0.5f, 10},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, &four, 1.0f, 10},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, &four, 0.5f, 11},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, 1, &four, 0.5f, 10},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, &four, 0, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, &four, 0, 0},
    };
    uint32_t inputs[N], outputs[N];
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i < N; i++) {
        inputs[i] = 2 * i;
        outputs[i] = 2 * i + 1;
        OK(ANeuralNetworksModel_addOperand(model, &types[i]));
        rt_add_tensor(model, 4);
        if (i >= N - 2)
            OK(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, (int32_t)inputs[i],
                                                                        &params[i - (N - 2)]));
        OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_DEQUANTIZE, 1, &inputs[i], 1,
                                             &outputs[i]));
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, N, inputs, N, outputs));
    OK(ANeuralNetworksModel_finish(model));
    return rt_compilation_of(model);
}

TEST(roles_of_one_memory_are_of_one_type)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemoryDesc *codes = NULL, *channels = NULL;

    rt_init();
    compilation = compile_codes();
    OK(ANeuralNetworksMemoryDesc_create(&codes));
    OK(ANeuralNetworksMemoryDesc_addInputRole(codes, compilation, 0, 1.0f));
    for (uint32_t i = 1; i < 6; i++)
        BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(codes, compilation, i, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addOutputRole(codes, compilation, 0, 1.0f)); /* a float */
    OK(ANeuralNetworksMemoryDesc_finish(codes));
    OK(ANeuralNetworksMemoryDesc_create(&channels));
    OK(ANeuralNetworksMemoryDesc_addInputRole(channels, compilation, 4, 1.0f));
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(channels, compilation, 5, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(channels));
    ANeuralNetworksMemoryDesc_free(codes);
    ANeuralNetworksMemoryDesc_free(channels);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(dimensions_set_twice_add_up)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemoryDesc *desc = NULL;
    const uint32_t two_open[] = {2, 0}, open_three[] = {0, 3}, contradiction[] = {2, 4};

    rt_init();
    compilation = compile_model(SHARED, 4);
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, two_open));
    OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, open_three));
    BAD_DATA(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, contradiction));
    /* The role is a vector. */
    BAD_DATA(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    ANeuralNetworksMemoryDesc_free(desc);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(a_memory_needs_a_finished_descriptor)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = (ANeuralNetworksMemory *)&desc;

    rt_init();
    compilation = rt_compilation();
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    BAD_STATE(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ck_assert_ptr_null(memory);
    NULLED(ANeuralNetworksMemory_createFromDesc(desc, NULL));
    NULLED(ANeuralNetworksMemory_createFromDesc(NULL, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

/* -- use -------------------------------------------------------------------------------- */

EACH(state_goes_from_execution_to_execution)
{
    static const float values[] = {1, 2, 3, 4};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *in, *out, *bytes;
    void *mapped = NULL;

    rt_init();
    compilation = compile_model(where, 4);
    in = memory_for(compilation, 0);
    out = memory_for(compilation, 0);
    bytes = rt_memory(sizeof(values), &mapped);
    memcpy(mapped, values, sizeof(values));
    FAILS(run_with(compilation, in, out, NULL));
    OK(ANeuralNetworksMemory_copy(bytes, in));
    OK(run_with(compilation, in, out, NULL));
    OK(run_with(compilation, out, in, NULL));
    memset(mapped, 0, sizeof(values));
    OK(ANeuralNetworksMemory_copy(in, bytes));
    check_floats(mapped, values, 4);
    ANeuralNetworksMemory_free(in);
    ANeuralNetworksMemory_free(out);
    ANeuralNetworksMemory_free(bytes);
    ANeuralNetworksCompilation_free(compilation);
}

EACH(a_memory_is_used_in_its_roles_and_as_a_whole)
{
    ANeuralNetworksCompilation *compilation, *other;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksMemory *memory;
    ANeuralNetworksModel *model;
    const uint32_t five = 5;
    const ANeuralNetworksOperandType of_five = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &five);

    rt_init();
    compilation = compile_model(where, 4);
    other = compile_model(where, 4);
    memory = memory_for(compilation, 0);
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    BAD_DATA(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, memory, 0, 0));
    BAD_DATA(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 16));
    BAD_DATA(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 4, 0));
    BAD_DATA(ANeuralNetworksExecution_setInputFromMemory(execution, 0, &of_five, memory, 0, 0));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 0));
    ANeuralNetworksExecution_free(execution);
    OK(ANeuralNetworksExecution_create(other, &execution));
    BAD_DATA(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 0));
    ANeuralNetworksExecution_free(execution);
    model = rt_open_model(4);
    BAD_DATA(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, 16));
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksCompilation_free(other);
    ANeuralNetworksCompilation_free(compilation);
}

EACH(a_failure_leaves_it_uninitialized)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *in, *out, *bytes, *too_large;

    rt_init();
    compilation = compile_model(where, 4);
    in = memory_for(compilation, 0);
    out = memory_for(compilation, 0);
    bytes = rt_memory(16, NULL);
    too_large = rt_memory(20, NULL);
    OK(ANeuralNetworksMemory_copy(bytes, in));
    OK(run_with(compilation, in, out, NULL));
    OK(ANeuralNetworksMemory_copy(out, bytes));
    fake.execute_status = NNHAL_GENERAL_FAILURE;
    FAILS(run_with(compilation, in, out, NULL));
    fake.execute_status = NNHAL_NONE;
    BAD_DATA(ANeuralNetworksMemory_copy(out, bytes));
    /* The input of it is as it was. */
    OK(ANeuralNetworksMemory_copy(in, bytes));
    BAD_DATA(ANeuralNetworksMemory_copy(in, too_large));
    BAD_DATA(ANeuralNetworksMemory_copy(too_large, in));
    FAILS(run_with(compilation, in, out, NULL));
    ANeuralNetworksMemory_free(in);
    ANeuralNetworksMemory_free(out);
    ANeuralNetworksMemory_free(bytes);
    ANeuralNetworksMemory_free(too_large);
    ANeuralNetworksCompilation_free(compilation);
}

EACH(memories_are_copied_to_each_other)
{
    static const float values[] = {5, 6, 7, 8};
    ANeuralNetworksCompilation *compilation, *of_five;
    ANeuralNetworksMemory *a, *b, *five, *bytes, *more;
    void *mapped = NULL, *mapped_more = NULL;

    rt_init();
    compilation = compile_model(where, 4);
    of_five = compile_model(where, 5);
    a = memory_for(compilation, 0);
    b = memory_for(compilation, 0);
    five = memory_for(of_five, 0);
    bytes = rt_memory(sizeof(values), &mapped);
    more = rt_memory(sizeof(values), &mapped_more);
    memcpy(mapped, values, sizeof(values));
    NULLED(ANeuralNetworksMemory_copy(NULL, a));
    NULLED(ANeuralNetworksMemory_copy(a, NULL));
    BAD_DATA(ANeuralNetworksMemory_copy(a, b));
    OK(ANeuralNetworksMemory_copy(a, a));
    BAD_DATA(ANeuralNetworksMemory_copy(a, b)); /* which did not initialize it */
    OK(ANeuralNetworksMemory_copy(bytes, a));
    OK(ANeuralNetworksMemory_copy(a, b));
    OK(ANeuralNetworksMemory_copy(b, more));
    check_floats(mapped_more, values, 4);
    BAD_DATA(ANeuralNetworksMemory_copy(b, five));
    memset(mapped_more, 0, sizeof(values));
    OK(ANeuralNetworksMemory_copy(bytes, more));
    check_floats(mapped_more, values, 4);
    ANeuralNetworksMemory_free(a);
    ANeuralNetworksMemory_free(b);
    ANeuralNetworksMemory_free(five);
    ANeuralNetworksMemory_free(bytes);
    ANeuralNetworksMemory_free(more);
    ANeuralNetworksCompilation_free(of_five);
    ANeuralNetworksCompilation_free(compilation);
}

TEST(a_destination_that_cannot_be_written_is_unmappable)
{
    ANeuralNetworksMemory *bytes, *closed = NULL;
    int fd;

    rt_init();
    bytes = rt_memory(16, NULL);
    fd = memfd_create("test", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(fd, 16), 0);
    OK(ANeuralNetworksMemory_createFromFd(16, PROT_READ, fd, 0, &closed));
    close(fd);
    IS(UNMAPPABLE, ANeuralNetworksMemory_copy(bytes, closed));
    OK(ANeuralNetworksMemory_copy(closed, bytes));
    ANeuralNetworksMemory_free(bytes);
    ANeuralNetworksMemory_free(closed);
}
TEST_END

EACH(all_may_be_freed_in_any_order)
{
    static const float values[] = {1, 2, 3, 4};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksMemory *in, *bytes;
    float y[4] = {0}, z[4] = {0};
    void *mapped = NULL;

    rt_init();
    compilation = compile_model(where, 4);
    in = memory_for(compilation, 0);
    bytes = rt_memory(sizeof(values), &mapped);
    memcpy(mapped, values, sizeof(values));
    OK(ANeuralNetworksMemory_copy(bytes, in));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, in, 0, 0));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksMemory_free(in);
    ANeuralNetworksMemory_free(bytes);
    OK(ANeuralNetworksExecution_compute(execution));
    check_floats(z, values, 4);
    ANeuralNetworksExecution_free(execution);
}

TEST(open_dimensions_are_what_was_computed)
{
    static const float values[] = {1, 2, 3, 4};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *in, *out, *next, *bytes, *more;
    const uint32_t eight = 8;
    const ANeuralNetworksOperandType of_four = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &four);
    const ANeuralNetworksOperandType of_eight = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1,
                                                          &eight);
    void *mapped = NULL;

    rt_init();
    compilation = compile_model(DEVICE, 0);
    in = memory_for(compilation, 4);
    out = memory_for(compilation, 0);
    next = memory_for(compilation, 0);
    bytes = rt_memory(sizeof(values), &mapped);
    more = rt_memory(2 * sizeof(values), NULL);
    memcpy(mapped, values, sizeof(values));
    BAD_DATA(ANeuralNetworksMemory_copy(bytes, out)); /* bytes have no dimensions */
    OK(ANeuralNetworksMemory_copy(bytes, in));
    OK(run_with(compilation, in, out, &of_four));
    FAILS(run_with(compilation, out, next, &of_eight));
    OK(run_with(compilation, out, next, &of_four));
    BAD_DATA(ANeuralNetworksMemory_copy(next, more));
    memset(mapped, 0, sizeof(values));
    OK(ANeuralNetworksMemory_copy(next, bytes));
    check_floats(mapped, values, 4);
    /* A memory that has dimensions gives them to one that has none. */
    OK(ANeuralNetworksMemory_copy(in, out));
    memset(mapped, 0, sizeof(values));
    OK(ANeuralNetworksMemory_copy(out, bytes));
    check_floats(mapped, values, 4);
    ANeuralNetworksMemory_free(in);
    ANeuralNetworksMemory_free(out);
    ANeuralNetworksMemory_free(next);
    ANeuralNetworksMemory_free(bytes);
    ANeuralNetworksMemory_free(more);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

static ANeuralNetworksExecution *bind_memories(ANeuralNetworksCompilation *compilation,
                                               const ANeuralNetworksMemory *from,
                                               const ANeuralNetworksMemory *other,
                                               const ANeuralNetworksMemory *to)
{
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, from, 0, 0));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, other, 0, 16));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, to, 0, 0));
    return execution;
}

EACH(a_chain_of_fences_passes_it_on)
{
    static const float values[] = {9, 8, 7, 6};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *a, *b, *c, *bytes, *other;
    ANeuralNetworksExecution *first, *second;
    ANeuralNetworksEvent *done_first = NULL, *done = NULL;
    void *mapped = NULL;

    rt_init();
    compilation = compile_model(where, 4);
    a = memory_for(compilation, 0);
    b = memory_for(compilation, 0);
    c = memory_for(compilation, 0);
    bytes = rt_memory(sizeof(values), &mapped);
    other = rt_memory(sizeof(values), NULL);
    memcpy(mapped, values, sizeof(values));
    OK(ANeuralNetworksMemory_copy(bytes, a));
    first = bind_memories(compilation, a, other, b);
    second = bind_memories(compilation, b, other, c);
    OK(ANeuralNetworksExecution_startComputeWithDependencies(first, NULL, 0, 0, &done_first));
    OK(ANeuralNetworksExecution_startComputeWithDependencies(
        second, (const ANeuralNetworksEvent *const *)&done_first, 1, 0, &done));
    OK(ANeuralNetworksEvent_wait(done));
    OK(ANeuralNetworksEvent_wait(done_first));
    memset(mapped, 0, sizeof(values));
    OK(ANeuralNetworksMemory_copy(c, bytes));
    check_floats(mapped, values, 4);
    ANeuralNetworksEvent_free(done);
    ANeuralNetworksEvent_free(done_first);
    ANeuralNetworksExecution_free(first);
    ANeuralNetworksExecution_free(second);
    /* A failure takes the contents away, also behind a fence. */
    fake.execute_status = NNHAL_GENERAL_FAILURE;
    first = bind_memories(compilation, a, other, b);
    OK(ANeuralNetworksExecution_startComputeWithDependencies(first, NULL, 0, 0, &done));
    FAILS(ANeuralNetworksEvent_wait(done));
    BAD_DATA(ANeuralNetworksMemory_copy(b, bytes));
    ANeuralNetworksEvent_free(done);
    ANeuralNetworksExecution_free(first);
    ANeuralNetworksMemory_free(a);
    ANeuralNetworksMemory_free(b);
    ANeuralNetworksMemory_free(c);
    ANeuralNetworksMemory_free(bytes);
    ANeuralNetworksMemory_free(other);
    ANeuralNetworksCompilation_free(compilation);
}

/* -- where it lies ------------------------------------------------------------------------ */

TEST(open_dimensions_need_a_device)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    rt_init();
    fake.driver.feature_level = NNHAL_FEATURE_LEVEL_3;
    compilation = compile_model(SHARED, 0);
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    FAILS(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ck_assert_ptr_null(memory);
    ANeuralNetworksMemoryDesc_free(desc);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(a_listed_device_gets_no_substitute)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    rt_init();
    fake.driver.feature_level = NNHAL_FEATURE_LEVEL_3;
    compilation = compile_model(DEVICE, 4);
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    FAILS(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

CHECK_MAIN("domain", descriptors_say_what_they_do_not_take, a_scalar_has_no_dimensions,
           dimensions_set_twice_add_up, roles_of_one_memory_are_of_one_type,
           a_memory_needs_a_finished_descriptor, state_goes_from_execution_to_execution,
           a_memory_is_used_in_its_roles_and_as_a_whole, a_failure_leaves_it_uninitialized,
           memories_are_copied_to_each_other, a_destination_that_cannot_be_written_is_unmappable,
           all_may_be_freed_in_any_order, open_dimensions_are_what_was_computed,
           a_chain_of_fences_passes_it_on, open_dimensions_need_a_device,
           a_listed_device_gets_no_substitute)
