/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - models with IF and WHILE that partial-0 and partial-1 compute together
 *
 * By CONTROL_SHARED partial-0 has TANH and CONCATENATION, partial-1 the rest, and neither of them IF or
 * WHILE. Inputs are a row of CONTROL_N floats, then a count, at which a loop begins, or a flag, which
 * decides an IF, or both; output 0 is a row. */
#ifndef NN_TESTS_DRIVERS_CONTROL_H
#define NN_TESTS_DRIVERS_CONTROL_H

#include "drivers/split.h"

enum { CONTROL_N = 4, CONTROL_MAX = 64, CONTROL_ROUNDS = 4 };

#define CONTROL_SHARED     "0:only=TANH+CONCATENATION;1:only=ADD+LESS+ABS+LOGICAL_NOT"
#define CONTROL_UNASKED_OF "*:only=LOGISTIC;"

/* What a model is run with, and what becomes of it. */
struct control_trial {
    float in[CONTROL_N];
    float count;     /* where a loop begins */
    uint8_t is_true; /* the condition of IF */
    uint32_t n_out;  /* floats that there is room for */
    uint64_t loop_timeout_ns;
    int result;
    uint32_t n_dims0; /* of output 0 */
    float out[CONTROL_MAX];
};

extern const struct control_trial control_usual;

/* -- models ------------------------------------------------------------------------------ */

typedef void (*control_maker)(struct builder *b);

/* control_if() - TANH of the row, or its ABS. */
void control_if(struct builder *b);

/* control_loop() - row = tanh(row) + row, up to a count of CONTROL_ROUNDS. */
void control_loop(struct builder *b);

/* control_endless_loop() - the same without counting. */
void control_endless_loop(struct builder *b);

/* control_growing_loop() - the row is twice as long after each round. */
void control_growing_loop(struct builder *b);

/* control_nested() - a loop whose body has an IF, which decides otherwise in each round. */
void control_nested(struct builder *b);

/* -- with a compilation -------------------------------------------------------------------- */

struct control_stand {
    struct builder b;
    struct split_models models;
    ANeuralNetworksCompilation *compilation;
};

/* control_stand_init() - for the first devices of the list, which take what rules say; 0: for any. */
void control_stand_init(struct control_stand *stand, control_maker make, const char *rules,
                        uint32_t n_devices);
void control_stand_done(struct control_stand *stand);

/* control_set_rest() - the inputs behind the row. */
void control_set_rest(const struct builder *b, ANeuralNetworksExecution *execution,
                      const struct control_trial *trial);

/* control_set_inputs() - all of them. */
void control_set_inputs(const struct builder *b, ANeuralNetworksExecution *execution,
                        const struct control_trial *trial);

/* control_run() - an execution of its own, with everything at pointers. */
void control_run(const struct builder *b, ANeuralNetworksCompilation *compilation,
                 struct control_trial *trial);

/* control_run_on() - the same with a stand of its own. */
void control_run_on(control_maker make, const char *rules, uint32_t n_devices,
                    struct control_trial *trial);

/* control_trace_plans() - those of a stand of two devices (split_trace_plans()). */
void control_trace_plans(control_maker make, char *ret_text, size_t size);

/* control_count_computed() - by a device, in this process. */
uint64_t control_count_computed(const char *device);

#endif
