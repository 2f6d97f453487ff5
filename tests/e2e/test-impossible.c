/* SPDX-License-Identifier: Apache-2.0 */
/* Valid models that no execution can compute, in each of the three ways: as on Android they are
 * finished, and the computation fails. A device memory that was its output has no value then. */
#include "ways.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 2, N_BYTES = 4 * N, UNUSED = INT32_MAX };

/* z of two floats is computed from x of two floats and what follows. */
static const struct row {
    const char *what; /* in the sentence that the failure has */
    int32_t operation;
    uint32_t n_more;     /* floats of a constant behind x; 0: there is none */
    uint32_t n_axes;     /* integers of a constant tensor behind that: axis each; 0: none */
    int32_t axis;        /* of the tensor, else a scalar behind all other operands */
    int32_t more_scalar; /* behind that, or UNUSED */
} rows[] = {
    {"activation is 999", ANEURALNETWORKS_ADD, 2, 0, 999, UNUSED},
    {"cannot be broadcast", ANEURALNETWORKS_ADD, 3, 0, 0, UNUSED},
    {"axis 5", ANEURALNETWORKS_CONCATENATION, 0, 0, 5, UNUSED},
    {"axis 7", ANEURALNETWORKS_MEAN, 0, 1, 7, 1},
};

static ANeuralNetworksModel *model;
static ANeuralNetworksCompilation *compilation;
static ANeuralNetworksExecution *execution;

static uint32_t n_operands;

/* A constant if there is data, which is copied. */
static uint32_t add_operand(int32_t type, uint32_t n, const void *data, size_t n_bytes)
{
    const ANeuralNetworksOperandType operand = {
        .type = type, .dimensionCount = n ? 1 : 0, .dimensions = n ? &n : NULL};

    OK(ANeuralNetworksModel_addOperand(model, &operand));
    if (data)
        OK(ANeuralNetworksModel_setOperandValue(model, (int32_t)n_operands, data, n_bytes));
    return n_operands++;
}

static void build(const struct row *row)
{
    static const float more[3] = {1, 2, 3};
    uint32_t inputs[4], n = 0, output;

    n_operands = 0;
    OK(ANeuralNetworksModel_create(&model));
    inputs[n++] = add_operand(ANEURALNETWORKS_TENSOR_FLOAT32, N, NULL, 0);
    if (row->n_more)
        inputs[n++] = add_operand(ANEURALNETWORKS_TENSOR_FLOAT32, row->n_more, more,
                                  row->n_more * sizeof(*more));
    inputs[n++] = add_operand(row->n_axes ? ANEURALNETWORKS_TENSOR_INT32 : ANEURALNETWORKS_INT32,
                              row->n_axes, &row->axis, sizeof(row->axis));
    if (row->more_scalar != UNUSED)
        inputs[n++] = add_operand(ANEURALNETWORKS_INT32, 0, &row->more_scalar,
                                  sizeof(row->more_scalar));
    output = add_operand(ANEURALNETWORKS_TENSOR_FLOAT32, N, NULL, 0);
    OK(ANeuralNetworksModel_addOperation(model, row->operation, n, inputs, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
}

static void discard(void)
{
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* With a sentence that says why. */
static void expect_failure(const struct row *row)
{
    char why[400] = "";

    IS(OP_FAILED, ANeuralNetworksExecution_compute(execution));
    nnhal_execution_get_error(execution, why, sizeof(why));
    ck_assert_msg(strstr(why, row->what), "%s: \"%s\"", row->what, why);
}

TEST(what_cannot_be_computed_is_finished_and_fails_to_compute)
{
    const float x[N] = {1, 2};
    float z[N];

    ways_begin();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        build(&rows[i]);
        OK(ANeuralNetworksExecution_create(compilation, &execution));
        OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
        OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
        expect_failure(&rows[i]);
        discard();
    }
    ways_end();
}
TEST_END

static bool is_promised_by(const ANeuralNetworksDevice *device)
{
    bool is_supported;

    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, &is_supported));
    return is_supported;
}

/* The reference is the last one. */
static ANeuralNetworksDevice *find_reference(void)
{
    ANeuralNetworksDevice *device = NULL;
    const char *name = NULL;
    uint32_t n = 0;

    OK(ANeuralNetworks_getDeviceCount(&n));
    OK(ANeuralNetworks_getDevice(n - 1, &device));
    OK(ANeuralNetworksDevice_getName(device, &name));
    ck_assert_str_eq(name, "nnapi-reference");
    return device;
}

/* The sample driver looks at no shapes: it would take the second. */
TEST(no_driver_supports_it_and_the_reference_does)
{
    ways_begin();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        build(&rows[i]);
        ck_assert(!is_promised_by(ways_device()));
        ck_assert(is_promised_by(find_reference()));
        ANeuralNetworksCompilation_free(compilation);
        ANeuralNetworksModel_free(model);
    }
    ways_end();
}
TEST_END

/* -- a device memory --------------------------------------------------------------------- */

static ANeuralNetworksMemory *new_state(void)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

static ANeuralNetworksMemory *new_shared(void)
{
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("impossible", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, N_BYTES), 0);
    OK(ANeuralNetworksMemory_createFromFd(N_BYTES, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    return memory;
}

TEST(a_device_memory_has_no_value_after_the_failure)
{
    const float x[N] = {1, 2};

    ways_begin();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ANeuralNetworksMemory *state, *shared = new_shared();

        build(&rows[i]);
        state = new_state();
        OK(ANeuralNetworksMemory_copy(shared, state));
        OK(ANeuralNetworksMemory_copy(state, shared));
        OK(ANeuralNetworksExecution_create(compilation, &execution));
        OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
        OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, state, 0, 0));
        expect_failure(&rows[i]);
        IS(BAD_DATA, ANeuralNetworksMemory_copy(state, shared));
        discard();
        ANeuralNetworksMemory_free(state);
        ANeuralNetworksMemory_free(shared);
    }
    ways_end();
}
TEST_END

CHECK_MAIN("impossible", what_cannot_be_computed_is_finished_and_fails_to_compute,
           no_driver_supports_it_and_the_reference_does,
           a_device_memory_has_no_value_after_the_failure)
