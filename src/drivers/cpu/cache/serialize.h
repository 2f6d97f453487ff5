/* SPDX-License-Identifier: Apache-2.0 */
/* serialize.h - a program as two blocks of bytes, and back: the compilation cache
 *
 * Two forms. A closed program has one plan for all executions: its shapes are
 * known, nothing is decided by values or omissions, and there is no IF or WHILE. Its
 * plan is all that is kept. An open program makes plans as it goes, or is to be
 * optimized later: its model is kept (model-codec.h), and the plan that it begins with if
 * that could be made.
 *
 *   model cache: struct header
 *                closed: a type for each value of the graph, struct argument for
 *                        each input and output
 *                open:   the model
 *                padding to 64, the plan's block
 *   data cache:  the plan's weights, the large constants of the model; nothing else
 *
 * The model's pools are gone when a program comes back. Constants that a closed
 * program used in place are copied behind its weights before it is kept, so that
 * the compiled program and the one from the cache are the same, byte for byte;
 * an open one finds them in the data cache.
 *
 * A closed program that was kept has a graph that knows its values' types and its arguments,
 * and no nodes; an open one is made from its model again, as far as graphs go.
 * The writer of the bytes (the hash has said that it was this driver):
 * nn_deserialize() looks at every index and offset again. */
#ifndef NN_DRIVERS_CPU_CACHE_SERIALIZE_H
#define NN_DRIVERS_CPU_CACHE_SERIALIZE_H

#include "drivers/cpu/executor/program.h"

struct nn_compile_options;

enum {
    NN_SERIALIZE_E_UNFIT = 1,   /* not a program that can be kept */
    NN_SERIALIZE_E_INVALID = 2, /* not what nn_serialize() makes, or for another CPU */
    NN_SERIALIZE_E_STOPPED = 4, /* the caller's deadline has passed, or it was cancelled */
};

/* The blocks, aligned to 64. */
struct nn_kept {
    uint8_t *model;
    uint64_t model_bytes;
    const uint8_t *weights;
    uint64_t weights_bytes;
    uint8_t *own_weights; /* make: to be freed; NULL if weights belong to the program */
    uint64_t charged;     /* for model and own_weights, to the meter of the program */
};

/* nn_serialize() - of a program that is not executed yet, which is changed (see
 * above), and its model. is_final: there will be no better one. kept->model is to be freed.
 * Returns: 0, NN_SERIALIZE_E_UNFIT, -ENOMEM. */
int nn_serialize(struct nn_program *program, const struct nnhal_driver_model *model, bool is_final,
                 struct nn_kept *ret_kept);

/* nn_deserialize() - a program that uses both blocks where they are, until it is freed.
 * Which passes an open one gets stands in kept, not in options.
 * Returns: 0, NN_SERIALIZE_E_INVALID, NN_SERIALIZE_E_STOPPED, -ENOMEM. */
int nn_deserialize(const struct nn_kept *kept, const struct nn_compile_options *options,
                   struct nn_program **ret_program);

/* nn_deserialize_model() - the model of an open program that nn_deserialize() has accepted; it lives in
 * arena, its constants in the data cache. Returns: 0, NN_SERIALIZE_E_UNFIT (it is closed), -ENOMEM. */
int nn_deserialize_model(const struct nn_kept *kept, struct nn_arena *arena,
                         struct nnhal_driver_model *ret_model);

#endif
