/* SPDX-License-Identifier: Apache-2.0 */
/* explanation.h - the plan of a compiled model, as nnhal explain tells it
 *
 * Operations are those of the NNAPI model and count from 0, as in the library's sentences; each is
 * called what the file calls the operation that it is of. Parts and waves count from 1, as in those of
 * the other commands. Names and sentences of files and drivers are plain where they are printed. */
#ifndef NN_TOOLS_NNHAL_EXPLANATION_H
#define NN_TOOLS_NNHAL_EXPLANATION_H

#include "session.h"

#include <nnhal/tflite-info.h>

struct explanation {
    const struct session *session;
    const struct nnhal_tflite_info *info;
    struct nnhal_plan plan;
    uint32_t n_runs;
    uint64_t run_ns; /* the median, of n_runs */
};

/* Operations by number. */
struct operations {
    uint32_t n;
    uint32_t *numbers;
};

/* explanation_name() - of an operation, not yet plain. */
const char *explanation_name(const struct explanation *e, uint32_t operation);

/* explanation_kinds() - "CONV_2D x3, SOFTMAX" with this separator, plain; malloc'ed, NULL if memory is
 * short. */
char *explanation_kinds(const struct explanation *e, struct operations list, const char *separator);

/* What a device said of operations, ascending, and why it does not compute them. */
struct said {
    uint8_t verdict;
    const char *why; /* not yet plain; "": there is no sentence */
    struct operations list;
};

/* explanation_said() - all that a device said. Returns: how much, with *ret_said in the order of the
 * first operation of each, for explanation_said_free(). */
uint32_t explanation_said(const struct explanation *e, const struct nnhal_plan_device *device,
                          struct said **ret_said);
void explanation_said_free(struct said *said, uint32_t n);

/* explanation_cost() - what a part takes. Returns: false if nothing was measured. */
bool explanation_cost(const struct explanation *e, uint32_t part, struct nnhal_part_cost *ret_cost);

/* explanation_moves() - what one part reads of another, all values together. Returns: how many pairs of
 * parts do, with *ret_moves malloc'ed. */
uint32_t explanation_moves(const struct explanation *e, struct nnhal_part_move **ret_moves);

/* explanation_device_name(), explanation_source() - for JSON, and as "what it declares". */
const char *explanation_device_name(const ANeuralNetworksDevice *device);
const char *explanation_source(uint32_t source, bool is_json);

void explanation_print(const struct explanation *e);
void explanation_print_json(const struct explanation *e);
void explanation_print_dot(const struct explanation *e);

#endif
