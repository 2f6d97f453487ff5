/* SPDX-License-Identifier: Apache-2.0 */
/* fake-lite.h - plays TensorFlow Lite for a delegate
 *
 * A subgraph of a few nodes, with the structs of one release: 2.9.0, or 2026, in which some are longer.
 * What a release has ends where a page ends that cannot be read beyond: a delegate that reads a
 * member that the release does not have is killed. Partitions are runs of nodes that follow each
 * other. Custom operations that stay copy their input. */
#ifndef NN_TESTS_TFLITE_FAKE_LITE_H
#define NN_TESTS_TFLITE_FAKE_LITE_H

#include "tflite/abi.h"

enum fake_release { FAKE_2_9, FAKE_2026 };

enum { FAKE_MAX_TENSORS = 32, FAKE_MAX_NODES = 16, FAKE_MAX_PAGES = 256 };

struct fake_node {
    struct lite_node *node;
    struct lite_registration *registration; /* of 2.9 it has the first members alone */
};

struct fake_lite {
    enum fake_release release;
    struct lite_context *context;
    struct fake_node nodes[FAKE_MAX_NODES];
    int n_nodes;
    struct lite_ints *plan, *first_plan;
    struct lite_delegate_params partitions[FAKE_MAX_NODES];
    int n_partitions;
    int last_output; /* the tensor that leaves the subgraph */
    void *pages[FAKE_MAX_PAGES];
    size_t n_page_bytes[FAKE_MAX_PAGES];
    int n_pages;
    char log[8192];
};

void fake_lite_init(struct fake_lite *lite, enum fake_release release);
void fake_lite_done(struct fake_lite *lite);

/* fake_lite_tensor() - adds a tensor of float32; values: a constant. Returns its number. */
int fake_lite_tensor(struct fake_lite *lite, int n_dims, const int *dims, const float *values);

/* fake_lite_node() - adds a node; its params end where a page ends. Its last output is the subgraph's.
 * Tensors are listed until -2. */
void fake_lite_node(struct fake_lite *lite, int code, int version, const char *custom_name,
                    const void *params, size_t n_params, const int *inputs, const int *outputs);

/* fake_lite_apply() - what ModifyGraphWithDelegate() does with a delegate that takes dynamic
 * tensors. */
int fake_lite_apply(struct fake_lite *lite, struct lite_delegate *delegate);

/* fake_lite_undo() - frees the delegate's nodes, and the plan is the first one again. */
void fake_lite_undo(struct fake_lite *lite);

/* fake_lite_allocate() - gives tensors new places, and prepares the delegate's nodes. */
int fake_lite_allocate(struct fake_lite *lite);

int fake_lite_invoke(struct fake_lite *lite);

/* fake_lite_reshape() - a tensor as the interpreter's own preparation would leave it. */
void fake_lite_reshape(struct fake_lite *lite, int tensor, int n_dims, const int *dims);

float *fake_lite_data(struct fake_lite *lite, int tensor);

/* fake_lite_n_delegated() - nodes that stand for several, and how many those are. */
int fake_lite_n_delegated(const struct fake_lite *lite, int *ret_n_nodes);

#endif
