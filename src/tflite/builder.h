/* SPDX-License-Identifier: Apache-2.0 */
/* builder.h - operands and operations of the NNAPI model being built
 *
 * Operands are made when they are first needed. A function that makes one
 * returns its index, or NO_OPERAND after something failed; the builder keeps the
 * first failure and its sentence, every later call does nothing, and an
 * operation that lists NO_OPERAND is not added. So a mapping reads as the list of
 * what it emits, and the loop over the operations looks at the failure once.
 *
 * States (variable tensors) are zeros that every execution starts with, or, where the builder
 * keeps them, inputs of the model, which then has one more output for what each of them becomes. */
#ifndef NN_TFLITE_BUILDER_H
#define NN_TFLITE_BUILDER_H

#include "tflite/graph.h"

#include <android/NeuralNetworks.h>

enum { TFL_NO_OPERAND = UINT32_MAX };

/* A file of some bytes may declare states of gigabytes, all of them zeros to be made. */
enum { TFL_MAX_STATE_BYTES = 64 << 20 };

/* The type of an operand to be made. */
struct tfl_form {
    int32_t type; /* ANEURALNETWORKS_TENSOR_..., or tfl_extension_type() */
    uint32_t n_dimensions;
    uint32_t dimensions[TFL_MAX_RANK];
    float scale;
    int32_t zero_point;
};

/* A state that is kept: the operands that it comes in and goes out by. */
struct tfl_state {
    int32_t tensor;
    uint32_t from, to; /* to: TFL_NO_OPERAND until an operation gives it */
};

struct tfl_builder {
    struct tfl_graph *graph;
    ANeuralNetworksModel *model;
    ANeuralNetworksMemory *constants; /* borrowed: what file_offset is in; NULL: none has one */
    uint32_t *operands;               /* by tensor; TFL_NO_OPERAND: not made yet */
    uint32_t n_operands;
    void **blocks; /* values that the model refers to until it is finished */
    size_t n_blocks;
    size_t n_state_bytes; /* of all states of zeros so far */
    bool keeps_states, allows_fp16;
    struct tfl_state *states;
    uint32_t n_states;
    uint32_t *origins; /* by operation of the model: the one in the graph that it is of */
    uint32_t n_operations;
    const struct tfl_operator *op; /* the one being mapped */
    int result;                    /* 0, or the first failure: -errno */
    char *message;
    size_t message_size;
    size_t reason_at; /* in message: behind the name of the operation */
};

/* tfl_fail() - keeps the first failure: -ENOTSUP for what cannot be mapped. */
void tfl_fail(struct tfl_builder *b, int result, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* tfl_need() - refuses the operation with a reason unless is_met. */
#define tfl_need(b, is_met, ...)                                                                   \
    do {                                                                                           \
        if (!(is_met)) {                                                                           \
            tfl_fail((b), -ENOTSUP, __VA_ARGS__);                                                  \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* tfl_keep() - memory that lives until the model is finished. */
void *tfl_keep(struct tfl_builder *b, size_t n_bytes);

/* -- tensors of the graph -- */

/* tfl_in() - the tensor that is input i of the operation; NULL: left out. */
const struct tfl_tensor *tfl_in(const struct tfl_builder *b, uint32_t i);
const struct tfl_tensor *tfl_out(const struct tfl_builder *b, uint32_t i);

/* tfl_form_of() - the operand type that a tensor becomes. */
struct tfl_form tfl_form_of(struct tfl_builder *b, const struct tfl_tensor *tensor);

/* tfl_extension_type(), tfl_extension_operation() - the model's codes of an operand type and an
 * operation of nnhal.tflite; they refuse where no device has the extension. */
int32_t tfl_extension_type(struct tfl_builder *b, uint16_t number);
int32_t tfl_extension_operation(struct tfl_builder *b, uint16_t number);

/* tfl_float_form_of() - the same in float32, for what is computed of the real numbers. */
struct tfl_form tfl_float_form_of(struct tfl_builder *b, const struct tfl_tensor *tensor);

/* tfl_input(), tfl_output() - the operand of the operation's i-th input or output;
 * a constant gets its value. An input that is left out becomes an operand of
 * type without value. */
uint32_t tfl_input(struct tfl_builder *b, uint32_t i);
uint32_t tfl_input_or_omitted(struct tfl_builder *b, uint32_t i, int32_t type);
uint32_t tfl_output(struct tfl_builder *b, uint32_t i);

/* tfl_symmetric() - a constant input of int8 and zero point 0 as TENSOR_QUANT8_SYMM, an
 * operand of its own. */
uint32_t tfl_symmetric(struct tfl_builder *b, uint32_t i);

/* tfl_per_channel() - a constant input of int8 and zero point 0 as TENSOR_QUANT8_SYMM_PER_CHANNEL, an
 * operand of its own: tfl_input() makes that of more than one scale only. */
uint32_t tfl_per_channel(struct tfl_builder *b, uint32_t i);

/* tfl_wide() - a constant input of int64 as TENSOR_INT64, an operand of its own: tfl_input() makes
 * TENSOR_INT32 of it. */
uint32_t tfl_wide(struct tfl_builder *b, uint32_t i);

/* tfl_set_output_shape() - what an output's shape is, where the file does not say;
 * before the operand is made. */
void tfl_set_output_shape(struct tfl_builder *b, uint32_t i, uint32_t n_dimensions,
                          const uint32_t *dimensions);

/* tfl_operand() - the operand of a tensor by its number in the graph. */
uint32_t tfl_operand(struct tfl_builder *b, int32_t tensor);

/* tfl_read_i32() - the values of a constant tensor of integers, at most max.
 * Returns: whether input i is one; *ret_n how many. */
bool tfl_read_i32(const struct tfl_builder *b, uint32_t i, int32_t *values, uint32_t max,
                  uint32_t *ret_n);

/* tfl_read_f32() - the values of a constant as floats, dequantized, also by a scale for each channel;
 * kept by b. Returns: NULL if it cannot be read so. */
const float *tfl_read_f32(struct tfl_builder *b, const struct tfl_tensor *tensor, size_t *ret_n);

/* tfl_is_float() - float32 or float16. */
bool tfl_is_float(const struct tfl_tensor *tensor);
bool tfl_is_quantized(const struct tfl_tensor *tensor);
bool tfl_is_sixteen(const struct tfl_tensor *tensor); /* quantized, of 16 bits */

/* tfl_scale_of() - the scale of a quantized tensor; one without counts in steps of 1. */
float tfl_scale_of(const struct tfl_tensor *tensor);

/* tfl_set_next_state() - operand is what input i becomes by the operation, if that is a state. */
void tfl_set_next_state(struct tfl_builder *b, uint32_t i, uint32_t operand);

/* -- operands that the graph does not have -- */

uint32_t tfl_i32(struct tfl_builder *b, int32_t value);
uint32_t tfl_f32(struct tfl_builder *b, float value);
uint32_t tfl_bool(struct tfl_builder *b, bool value);
uint32_t tfl_i32s(struct tfl_builder *b, const int32_t *values, uint32_t n);
uint32_t tfl_f32s(struct tfl_builder *b, const float *values, const struct tfl_form *form);
uint32_t tfl_constant(struct tfl_builder *b, const struct tfl_form *form, const void *value,
                      size_t n_bytes);
uint32_t tfl_temporary(struct tfl_builder *b, const struct tfl_form *form);
uint32_t tfl_omitted(struct tfl_builder *b, int32_t type);

/* tfl_add() - adds an operation. */
void tfl_add(struct tfl_builder *b, int32_t type, const uint32_t *inputs, uint32_t n_inputs,
             const uint32_t *outputs, uint32_t n_outputs);

/* tfl_add1() - one with one output: tfl_add1(b, TYPE, output, input, ...). */
#define tfl_add1(b, type, output, ...)                                                             \
    tfl_add((b), (type), (const uint32_t[]){__VA_ARGS__},                                          \
            sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                            \
            (const uint32_t[]){output}, 1)

/* tfl_build() - the whole model: every operation of the graph mapped, its inputs, the states, its
 * outputs and the next states identified in that order, and finished. b has graph, constants,
 * keeps_states, allows_fp16 and message; b->result says how it went. */
void tfl_build(struct tfl_builder *b);

/* tfl_done() - frees what the builder holds, the model too. */
void tfl_done(struct tfl_builder *b);

#endif
