/* SPDX-License-Identifier: Apache-2.0 */
/* builder.h - a model while the application builds it
 *
 *     OPEN --finish()--> FINISHED
 *       |                    what was built is a nn_rt_model now (model.h)
 *       +---finish() refused--> INVALID: can only be freed
 *
 * Everything that the application passes is copied before a call returns, values
 * of any size included, so that no pointer of its is kept. An operand has one
 * value, the last that was set. A call that fails has changed nothing.
 * One thread at a time, as NNAPI has it. */
#ifndef NN_RUNTIME_MODEL_BUILDER_H
#define NN_RUNTIME_MODEL_BUILDER_H

#include "base/arena.h"
#include "runtime/model/model.h"
#include "runtime/object.h"
#include "runtime/result.h"

#include <android/NeuralNetworksTypes.h>

enum nn_rt_builder_state {
    NN_BUILDER_OPEN,
    NN_BUILDER_FINISHED,
    NN_BUILDER_INVALID,
};

/* What an operand's constant value is made of; which member counts says the
 * operand's lifetime (pool_index 0 in CONSTANT_REFERENCE: see memory). */
struct nn_rt_builder_value {
    uint8_t *bytes; /* copied, CONSTANT_COPY or, if large, CONSTANT_REFERENCE */
    uint64_t n_bytes;
    ANeuralNetworksMemory *memory; /* CONSTANT_REFERENCE */
    uint64_t offset;
    struct nn_rt_model *model; /* SUBGRAPH_VALUE */
};

struct ANeuralNetworksModel {
    struct nn_rt_object object;
    enum nn_rt_builder_state state;
    bool is_relaxed;
    bool has_arguments; /* identifyInputsAndOutputs was called */
    struct nn_arena arena;
    uint32_t n_operands;
    uint32_t n_operands_allocated;
    struct nnhal_operand *operands;
    struct nn_rt_builder_value *values;
    uint32_t n_operations;
    uint32_t n_operations_allocated;
    struct nnhal_operation *operations;
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t *inputs;
    uint32_t *outputs;
    struct nn_rt_model *finished; /* when FINISHED */
};

/* One function per call of the API; Returns: as NeuralNetworks.h says, or -ENOMEM. */
int nn_rt_builder_new(ANeuralNetworksModel **ret_model);
ANeuralNetworksModel *nn_rt_builder_free(ANeuralNetworksModel *model);
int nn_rt_builder_add_operand(ANeuralNetworksModel *model, const ANeuralNetworksOperandType *type,
                              struct nn_why *why);
int nn_rt_builder_set_value(ANeuralNetworksModel *model, int32_t index, const void *bytes,
                            size_t n_bytes, struct nn_why *why);
int nn_rt_builder_set_value_from_memory(ANeuralNetworksModel *model, int32_t index,
                                        ANeuralNetworksMemory *memory, uint64_t offset,
                                        uint64_t n_bytes, struct nn_why *why);
int nn_rt_builder_set_value_from_model(ANeuralNetworksModel *model, int32_t index,
                                       const ANeuralNetworksModel *value, struct nn_why *why);
int nn_rt_builder_set_channel_quant(ANeuralNetworksModel *model, int32_t index,
                                    const ANeuralNetworksSymmPerChannelQuantParams *params,
                                    struct nn_why *why);
int nn_rt_builder_set_extension_data(ANeuralNetworksModel *model, int32_t index, const void *data,
                                     size_t n_bytes, struct nn_why *why);
int nn_rt_builder_add_operation(ANeuralNetworksModel *model,
                                const struct nnhal_operation *operation, struct nn_why *why);
int nn_rt_builder_identify(ANeuralNetworksModel *model, uint32_t n_inputs, const uint32_t *inputs,
                           uint32_t n_outputs, const uint32_t *outputs, struct nn_why *why);
int nn_rt_builder_relax(ANeuralNetworksModel *model, bool is_relaxed, struct nn_why *why);

/* nn_rt_builder_check_open() - whether it can be changed. Returns: 0, BAD_STATE. */
int nn_rt_builder_check_open(const ANeuralNetworksModel *model, struct nn_why *why);

/* nn_rt_builder_set_finished() - what was built is finished, which is consumed; the parts are
 * freed. Called by nn_rt_builder_finish() (assembly.h). */
void nn_rt_builder_set_finished(ANeuralNetworksModel *model, struct nn_rt_model *finished);

/* nn_rt_builder_get_finished() - what a finished model is; borrowed.
 * Returns: 0, BAD_STATE. */
int nn_rt_builder_get_finished(const ANeuralNetworksModel *model, struct nn_why *why,
                               struct nn_rt_model **ret_finished);

NN_DEFINE_CLEANUP(ANeuralNetworksModel, nn_rt_builder_free)

#endif
