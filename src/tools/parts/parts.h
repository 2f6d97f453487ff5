/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - which devices compute a model, part by part, and why not others
 *
 * A model that one device computes has one part. Before an execution has succeeded, what is told is
 * the plan. Names and sentences of devices come as they are. Any thread. */
#ifndef NN_TOOLS_PARTS_PARTS_H
#define NN_TOOLS_PARTS_PARTS_H

#include <android/NeuralNetworks.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct part_told {
    uint32_t n_parts;
    uint32_t n_operations;          /* of the model that are in this part */
    ANeuralNetworksDevice *device;  /* that computed it last; before that as planned */
    ANeuralNetworksDevice *planned; /* that was to */
    char why[512];                  /* "nnhal-npu failed: it is too hot", or why nnapi-reference was
                                     * chosen; "": nothing is to be explained */
};

/* part_read() - number counts from 0; of a finished compilation and an execution of it.
 * Returns: whether there is such a part. */
bool part_read(const ANeuralNetworksCompilation *compilation,
               const ANeuralNetworksExecution *execution, uint32_t number,
               struct part_told *ret_part);

/* parts_keep_promise() - an NNHAL_MODE other than auto promises that drivers compute what the
 * library finds devices for. For an execution that has succeeded.
 * Returns: false if nnapi-reference computed a part; text is the complaint, which names who computed
 * each part. */
bool parts_keep_promise(const ANeuralNetworksCompilation *compilation,
                        const ANeuralNetworksExecution *execution, char *text, size_t size);

#endif
