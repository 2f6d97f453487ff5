/* SPDX-License-Identifier: Apache-2.0 */
#include "rt.h"

#include "runtime/builtin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint32_t picky_prepare_status;
bool rt_picky_extensions = true;

static struct nnhal_driver picky;

static uint32_t picky_supported(void *device, const struct nnhal_driver_model *model,
                                uint8_t *supported)
{
    for (uint32_t i = 0; i < model->model->main.n_operations; i++)
        supported[i] = model->model->main.operations[i].type != NNHAL_OP_MUL;
    return NNHAL_NONE;
}

static uint32_t picky_prepare(void *device, const struct nnhal_prepare *prepare, void **ret)
{
    if (picky_prepare_status != NNHAL_NONE)
        return picky_prepare_status;
    return fake.driver.prepare(device, prepare, ret);
}

static const struct nnhal_driver *picky_main(const char *configuration)
{
    picky = fake.driver;
    picky.name = "picky";
    if (!rt_picky_extensions)
        picky.n_extensions = 0;
    picky.get_supported_operations = picky_supported;
    picky.prepare = picky_prepare;
    return &picky;
}

const struct nn_builtin nn_builtins[] = {{fake_main, NULL}, {picky_main, NULL}, {NULL, NULL}};

void rt_init(void)
{
    setenv("NNHAL_MODE", "embedded", 1);
    setenv("NNHAL_DRIVER_PATH", "", 1);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    fake_reset();
    picky_prepare_status = NNHAL_NONE;
}

ANeuralNetworksDevice *rt_device(uint32_t index)
{
    ANeuralNetworksDevice *device = NULL;

    OK(ANeuralNetworks_getDevice(index, &device));
    return device;
}

ANeuralNetworksOperandType rt_tensor(int32_t type, uint32_t rank, const uint32_t *dims)
{
    return (ANeuralNetworksOperandType){.type = type, .dimensionCount = rank, .dimensions = dims};
}

ANeuralNetworksOperandType rt_scalar(int32_t type)
{
    return (ANeuralNetworksOperandType){.type = type};
}

void rt_add_tensor(ANeuralNetworksModel *model, uint32_t n)
{
    ANeuralNetworksOperandType type = rt_tensor(ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n);

    OK(ANeuralNetworksModel_addOperand(model, &type));
}

void rt_add_fuse(ANeuralNetworksModel *model)
{
    ANeuralNetworksOperandType type = rt_scalar(ANEURALNETWORKS_INT32);

    OK(ANeuralNetworksModel_addOperand(model, &type));
}

int rt_binary(ANeuralNetworksModel *model, int32_t operation, uint32_t a, uint32_t b, uint32_t fuse,
              uint32_t out)
{
    const uint32_t inputs[] = {a, b, fuse};

    return ANeuralNetworksModel_addOperation(model, operation, 3, inputs, 1, &out);
}

static ANeuralNetworksModel *open_model(int32_t operation, uint32_t n)
{
    const uint32_t inputs[] = {0, 1}, outputs[] = {3};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    rt_add_tensor(model, n);
    rt_add_tensor(model, n);
    rt_add_fuse(model);
    rt_add_tensor(model, n);
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(rt_binary(model, operation, 0, 1, 2, 3));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    return model;
}

ANeuralNetworksModel *rt_open_model(uint32_t n)
{
    return open_model(ANEURALNETWORKS_ADD, n);
}

ANeuralNetworksModel *rt_model_of(int32_t operation, uint32_t n)
{
    ANeuralNetworksModel *model = open_model(operation, n);

    OK(ANeuralNetworksModel_finish(model));
    return model;
}

ANeuralNetworksCompilation *rt_compilation_of(ANeuralNetworksModel *model)
{
    const ANeuralNetworksDevice *device = RT_FAKE;
    ANeuralNetworksCompilation *compilation = NULL;

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksModel_free(model);
    return compilation;
}

ANeuralNetworksMemory *rt_memory(size_t n, void **ret_bytes)
{
    ANeuralNetworksMemory *memory = NULL;
    int fd = memfd_create("test", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)n), 0);
    if (ret_bytes) {
        *ret_bytes = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ck_assert_ptr_ne(*ret_bytes, MAP_FAILED);
    }
    OK(ANeuralNetworksMemory_createFromFd(n, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    return memory;
}

void rt_run_create(struct rt_run *run)
{
    *run = (struct rt_run){.x = {1, 2, 3, 4}, .y = {5, 6, 7, 8}};
    run->compilation = rt_compilation();
    OK(ANeuralNetworksExecution_create(run->compilation, &run->execution));
}

void rt_run_init(struct rt_run *run)
{
    rt_run_create(run);
    OK(ANeuralNetworksExecution_setInput(run->execution, 0, NULL, run->x, sizeof(run->x)));
    OK(ANeuralNetworksExecution_setInput(run->execution, 1, NULL, run->y, sizeof(run->y)));
    OK(ANeuralNetworksExecution_setOutput(run->execution, 0, NULL, run->z, sizeof(run->z)));
}

void rt_run_done(struct rt_run *run)
{
    ANeuralNetworksExecution_free(run->execution);
    ANeuralNetworksCompilation_free(run->compilation);
}
