/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation, or the n-th system call, fails: a client that does what
 * clients do gets a code that says so, or the right result; nothing crashes,
 * leaks or stays locked, and what comes next works. */
#include "rt.h"

#include "base/sys.h"
#include "support/fail-alloc.h"
#include "support/fds.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int memory_fd;
static float *shared; /* x at 0, z at 64 bytes */

/* One client's life; code is the first that was not NO_ERROR. No assertions
 * here: they allocate. */
struct story {
    ANeuralNetworksMemory *memory;
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *once, *again;
    ANeuralNetworksEvent *event;
    ANeuralNetworksBurst *burst;
    float x[64], z[64];
    int code;
};

/* Makes the call unless an earlier one failed; whether all went well so far. */
#define STEP(call)                                                                                 \
    __extension__({                                                                                \
        if (story->code == 0)                                                                      \
            story->code = (call);                                                                  \
        story->code == 0;                                                                          \
    })

static void add_operands(struct story *story)
{
    const uint32_t n = 64;
    const ANeuralNetworksOperandType tensor = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n);
    const ANeuralNetworksOperandType scalar = rt_scalar(ANEURALNETWORKS_INT32);
    const int32_t none = 0;

    STEP(ANeuralNetworksModel_addOperand(story->model, &tensor));
    STEP(ANeuralNetworksModel_addOperand(story->model, &tensor));
    STEP(ANeuralNetworksModel_addOperand(story->model, &scalar));
    STEP(ANeuralNetworksModel_addOperand(story->model, &tensor));
    STEP(ANeuralNetworksModel_setOperandValue(story->model, 1, story->x, sizeof(story->x)));
    STEP(ANeuralNetworksModel_setOperandValue(story->model, 2, &none, sizeof(none)));
}

static void build_model(struct story *story)
{
    const uint32_t inputs[] = {0, 1, 2}, input = 0, output = 3;

    if (STEP(ANeuralNetworksModel_create(&story->model)))
        add_operands(story);
    STEP(ANeuralNetworksModel_addOperation(story->model, ANEURALNETWORKS_ADD, 3, inputs, 1,
                                           &output));
    STEP(ANeuralNetworksModel_identifyInputsAndOutputs(story->model, 1, &input, 1, &output));
    STEP(ANeuralNetworksModel_finish(story->model));
}

static void compile_model(struct story *story)
{
    if (STEP(ANeuralNetworksCompilation_create(story->model, &story->compilation)))
        STEP(ANeuralNetworksCompilation_finish(story->compilation));
}

static void compute_by_pointer(struct story *story)
{
    if (!STEP(ANeuralNetworksExecution_create(story->compilation, &story->once)))
        return;
    STEP(ANeuralNetworksExecution_setInput(story->once, 0, NULL, story->x, sizeof(story->x)));
    STEP(ANeuralNetworksExecution_setOutput(story->once, 0, NULL, story->z, sizeof(story->z)));
    if (STEP(ANeuralNetworksExecution_startCompute(story->once, &story->event)))
        STEP(ANeuralNetworksEvent_wait(story->event));
    if (!story->code && memcmp(story->x, story->z, sizeof(story->x)))
        story->code = -1;
}

static void compute_in_memory(struct story *story)
{
    STEP(ANeuralNetworksMemory_createFromFd(512, PROT_READ | PROT_WRITE, memory_fd, 0,
                                            &story->memory));
    if (!STEP(ANeuralNetworksExecution_create(story->compilation, &story->again)))
        return;
    STEP(ANeuralNetworksExecution_setReusable(story->again, true));
    STEP(ANeuralNetworksExecution_setInputFromMemory(story->again, 0, NULL, story->memory, 0, 256));
    STEP(ANeuralNetworksExecution_setOutputFromMemory(story->again, 0, NULL, story->memory, 256,
                                                      256));
    for (int i = 0; i < 2; i++)
        STEP(ANeuralNetworksExecution_compute(story->again));
    if (STEP(ANeuralNetworksBurst_create(story->compilation, &story->burst)))
        STEP(ANeuralNetworksExecution_burstCompute(story->again, story->burst));
    if (!story->code && memcmp(shared, shared + 64, 256))
        story->code = -1;
}

static int print_fault(void)
{
    struct story all = {.x = {1, 2, 3}}, *story = &all;

    memset(shared + 64, 0, 256);
    build_model(story);
    if (!story->code)
        compile_model(story);
    if (!story->code)
        compute_by_pointer(story);
    if (!story->code)
        compute_in_memory(story);
    ANeuralNetworksMemory_free(story->memory); /* TensorFlow Lite's order */
    ANeuralNetworksBurst_free(story->burst);
    ANeuralNetworksExecution_free(story->again);
    ANeuralNetworksExecution_free(story->once);
    ANeuralNetworksEvent_free(story->event);
    ANeuralNetworksCompilation_free(story->compilation);
    ANeuralNetworksModel_free(story->model);
    return story->code;
}

static void scenario_begin(void)
{
    rt_init();
    memory_fd = memfd_create("faults", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(memory_fd, 4096), 0);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    shared[0] = 42;
    ck_assert_int_eq(print_fault(), 0); /* what is made once is made now */
}

static bool is_honest(int code)
{
    return code == ANEURALNETWORKS_OUT_OF_MEMORY || code == ANEURALNETWORKS_OP_FAILED ||
           code == ANEURALNETWORKS_UNMAPPABLE ||
           code == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT ||
           /* a device that fails to answer supports nothing */
           code == ANEURALNETWORKS_BAD_DATA;
}

/* In a child, whose list has not been made: the n-th allocation fails while it is.
 * Returns: whether the fault was never reached. */
static bool list_with_fault(long n)
{
    int status;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        uint32_t n_devices = 0;
        bool is_over;

        fail_alloc_arm(n);
        ANeuralNetworks_getDeviceCount(&n_devices);
        is_over = fail_alloc_disarm();
        if (ANeuralNetworks_getDeviceCount(&n_devices) || n_devices != 2)
            _exit(100);
        _exit(is_over);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) != 100,
                  "after allocation %ld failed a device is missing", n);
    return WEXITSTATUS(status) == 1;
}

TEST(a_list_of_devices_is_whole_though_an_allocation_failed)
{
    long n = 1;

    rt_init();
    while (!list_with_fault(n))
        n++;
    ck_assert_int_gt(n, 5);
}
TEST_END

TEST(any_allocation_may_fail)
{
    size_t n_fds, n_mappings;
    int n_failed = 0;

    scenario_begin();
    n_fds = count_fds();
    n_mappings = count_mappings("memfd:");
    for (long n = 1;; n++) {
        int code;
        bool is_over;

        fail_alloc_arm(n);
        code = print_fault();
        is_over = fail_alloc_disarm();
        if (is_over) {
            ck_assert_int_eq(code, 0);
            break;
        }
        ck_assert_msg(code == 0 || is_honest(code), "allocation %ld: %d", n, code);
        n_failed += code != 0;
        ck_assert_msg(count_fds() == n_fds, "allocation %ld leaks a descriptor", n);
        ck_assert_uint_eq(count_mappings("memfd:"), n_mappings);
    }
    ck_assert_int_gt(n_failed, 20);
    ck_assert_uint_eq(fake.n_prepared, fake.n_released);
}
TEST_END

TEST(any_system_call_may_fail)
{
    static const int errors[] = {ENOMEM, EMFILE};
    size_t n_fds;
    int n_failed = 0;

    scenario_begin();
    n_fds = count_fds();
    for (size_t i = 0; i < N_ELEMENTS(errors); i++)
        for (long n = 1;; n++) {
            int code;

            nn_sys_fault_errno = errors[i];
            nn_sys_fault = n;
            code = print_fault();
            if (nn_sys_fault > 0) { /* was never reached */
                nn_sys_fault = 0;
                ck_assert_int_eq(code, 0);
                break;
            }
            nn_sys_fault = 0;
            ck_assert_msg(code == 0 || is_honest(code), "call %ld: %d", n, code);
            n_failed += code != 0;
            ck_assert_msg(count_fds() == n_fds, "call %ld leaks a descriptor", n);
        }
    ck_assert_int_gt(n_failed, 2);
    ck_assert_uint_eq(fake.n_prepared, fake.n_released);
}
TEST_END

CHECK_MAIN("faults", any_allocation_may_fail, any_system_call_may_fail,
           a_list_of_devices_is_whole_though_an_allocation_failed)
