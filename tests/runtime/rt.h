/* SPDX-License-Identifier: Apache-2.0 */
/* rt.h - small models and executions for the tests of Android's API
 *
 * The devices are the two of rt.c, linked in: "fake" (support/fake-driver.h),
 * which supports everything, and "picky", which runs like it but supports no
 * MUL and can be told to fail. Calls that must succeed are made through OK(). */
#ifndef NN_TESTS_RUNTIME_RT_H
#define NN_TESTS_RUNTIME_RT_H

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include "support/check-main.h"
#include "support/fake-driver.h"

#define OK(call)         ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)
#define NULLED(call)     ck_assert_int_eq((call), ANEURALNETWORKS_UNEXPECTED_NULL)
#define BAD_DATA(call)   ck_assert_int_eq((call), ANEURALNETWORKS_BAD_DATA)
#define BAD_STATE(call)  ck_assert_int_eq((call), ANEURALNETWORKS_BAD_STATE)
#define FAILS(call)      ck_assert_int_eq((call), ANEURALNETWORKS_OP_FAILED)
#define IS(code, call)   ck_assert_int_eq((call), ANEURALNETWORKS_##code)
#define N_ELEMENTS(list) (sizeof(list) / sizeof((list)[0]))

extern uint32_t picky_prepare_status;

/* Whether picky has the extensions that fake has. */
extern bool rt_picky_extensions;

/* rt_init() - the environment (nothing but what is linked in) and an honest
 * fake. First thing in a test. */
void rt_init(void);

/* The devices, by place in the list. */
ANeuralNetworksDevice *rt_device(uint32_t index);
#define RT_FAKE  rt_device(0)
#define RT_PICKY rt_device(1)

/* Operand types; dims are borrowed. */
ANeuralNetworksOperandType rt_tensor(int32_t type, uint32_t rank, const uint32_t *dims);
ANeuralNetworksOperandType rt_scalar(int32_t type);

/* rt_add_operand() - float tensor of rank 1. */
void rt_add_tensor(ANeuralNetworksModel *model, uint32_t n);

/* rt_add_fuse() - an INT32 constant: fused activation NONE. */
void rt_add_fuse(ANeuralNetworksModel *model);

/* rt_binary() - operation (ADD, MUL) on operands a, b, fuse -> out. */
int rt_binary(ANeuralNetworksModel *model, int32_t operation, uint32_t a, uint32_t b, uint32_t fuse,
              uint32_t out);

/* rt_model() - finished: operand 3 = operation(0, 1), n floats each; n 0: unknown. */
ANeuralNetworksModel *rt_model_of(int32_t operation, uint32_t n);
#define rt_model() rt_model_of(ANEURALNETWORKS_ADD, 4)

/* rt_open_model() - the same before finish(), operands 0, 1, 2 = fuse, 3. */
ANeuralNetworksModel *rt_open_model(uint32_t n);

/* rt_compilation() - finished, of that model, which it frees, for fake alone. */
ANeuralNetworksCompilation *rt_compilation_of(ANeuralNetworksModel *model);
#define rt_compilation() rt_compilation_of(rt_model())

/* rt_memory() - a memfd of n bytes; mapped to *ret_bytes for the life of the process. */
ANeuralNetworksMemory *rt_memory(size_t n, void **ret_bytes);

/* An execution of rt_compilation() with buffers of its own. */
struct rt_run {
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    float x[4], y[4], z[4];
};

/* rt_run_init() - creates and sets all arguments; fake computes z = x. */
void rt_run_init(struct rt_run *run);
void rt_run_create(struct rt_run *run); /* without arguments */
void rt_run_done(struct rt_run *run);

#endif
