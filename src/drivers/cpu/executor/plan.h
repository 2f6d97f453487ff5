/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what the executor runs: one relocatable block, and packed weights
 *
 * A plan is a run of nodes of one graph, lowered for concrete shapes: a list
 * of steps, each a kernel of the table with its parameters and its operands.
 * It is one block of memory without a pointer in it: everything is an index or
 * an offset from the block's beginning, so that it can be written to a file
 * and used where it is read to. What it refers to outside:
 *
 *   ARENA    one piece of scratch memory per execution
 *   SLOT     a value of the frame (frame.h): inputs, outputs, and what passes from plan to plan
 *   POOL     a mapped pool of the model: large constants, in place
 *   WEIGHTS  the second block, 64-byte aligned: packed weights and small constants
 *
 * The block steers every address that is computed, so it is not trusted after
 * it has been out of our hands: nn_plan_verify() checks that every index and
 * offset stays inside, that steps write only to the arena and to slots that
 * the plan says it writes, that operands are such as the operation takes and
 * makes, and that params have the kernel's size and pass its check(). What is valid and yet not
 * what was kept, the cache's hash finds (doc/design/caching.md).
 *
 * A plan is good for the frames that nn_plan_matches(): the same shapes of the
 * values it reads, and the same bytes of those that decided something. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_PLAN_H
#define NN_DRIVERS_CPU_EXECUTOR_PLAN_H

#include "drivers/cpu/kernels/kernel.h"
#include "base/stop.h"
#include "compiler/frame.h"
#include "model/why.h"

#include <stdio.h>

#define NN_PLAN_MAGIC     UINT64_C(0x324e414c504e4e) /* "NNPLAN2" */
#define NN_PLAN_ALIGNMENT 64
#define NN_PLAN_NO_VALUE  UINT32_MAX

enum {
    NN_PLAN_E_INVALID = 1, /* nn_plan_verify(): not a plan for this model and this driver */
};

/* What stands at end_node. */
enum nn_plan_end {
    NN_PLAN_DONE = 0,    /* nothing: the graph has been executed */
    NN_PLAN_CUT = 1,     /* the next plan begins there */
    NN_PLAN_CONTROL = 2, /* an IF or WHILE; the next plan begins behind it */
    NN_PLAN_END_N = 3,
};

enum nn_space {
    NN_SPACE_NONE = 0, /* omitted */
    NN_SPACE_ARENA = 1,
    NN_SPACE_SLOT = 2,
    NN_SPACE_POOL = 3,
    NN_SPACE_WEIGHTS = 4,
    NN_SPACE_N = 5,
};

struct nn_plan_value {
    uint32_t space; /* enum nn_space */
    uint32_t index; /* SLOT: value of the graph; POOL: pool; else 0 */
    uint64_t offset;
    uint64_t size;
    uint32_t type;
    uint32_t n_dims;
    uint32_t first_dim; /* in dims */
    int32_t zero_point;
    float scale;
    uint32_t reserved;
};

struct nn_plan_step {
    uint32_t kernel;    /* row of the table */
    uint32_t node;      /* of the graph, for messages */
    uint32_t first_ref; /* refs: n_inputs values, then n_outputs */
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t is_fused; /* it runs inside the step before (epilogue.h) */
    uint64_t params;   /* offset in the block, aligned to 16 */
    uint64_t weights;  /* offset in the weights */
    uint64_t weights_bytes;
};

/* A slot that the plan writes: its shape is that of the plan's value, which
 * lies at the slot's beginning and has all of it. */
struct nn_plan_write {
    uint32_t value; /* of the graph */
    uint32_t plan_value;
    uint32_t is_late; /* the step gives it its shape, by nn_output_resize() */
    uint32_t reserved;
};

/* A slot that must look as it did when the plan was made. */
struct nn_plan_condition {
    uint32_t value; /* of the graph */
    uint32_t is_omitted;
    uint32_t n_dims;
    uint32_t first_dim;
    uint64_t bytes;   /* offset in the block of what its bytes must be */
    uint64_t n_bytes; /* 0: any bytes will do */
};

/* n elements at an offset in the block. */
struct nn_plan_array {
    uint64_t offset;
    uint32_t n;
    uint32_t reserved;
};

struct nn_plan_header {
    uint64_t magic;
    uint64_t n_bytes; /* of the block */
    uint64_t table;   /* nn_plan_table_id() */
    uint32_t isa;     /* what the chosen kernels need */
    uint32_t end;     /* enum nn_plan_end */
    uint32_t first_node;
    uint32_t end_node;
    uint64_t arena_bytes; /* of values; scratch comes behind */
    uint64_t scratch_bytes;
    uint64_t worker_scratch_bytes; /* of each worker */
    uint64_t weights_bytes;
    struct nn_plan_array values;     /* struct nn_plan_value */
    struct nn_plan_array steps;      /* struct nn_plan_step */
    struct nn_plan_array refs;       /* uint32_t */
    struct nn_plan_array dims;       /* uint32_t */
    struct nn_plan_array writes;     /* struct nn_plan_write */
    struct nn_plan_array conditions; /* struct nn_plan_condition */
};

struct nn_plan {
    uint8_t *block; /* a struct nn_plan_header first; aligned to NN_PLAN_ALIGNMENT */
    uint8_t *weights;
    uint64_t weights_bytes;
    bool is_borrowed;             /* both blocks are borrowed from their owner */
    const struct nn_meter *meter; /* NULL: none; of what was charged for the two */
    uint64_t block_charged, weights_charged;
};

static inline const struct nn_plan_header *nn_plan_header(const struct nn_plan *plan)
{
    return (const struct nn_plan_header *)(const void *)plan->block;
}

/* nn_plan_at() - an array of the block. */
static inline const void *nn_plan_at(const struct nn_plan *plan, const struct nn_plan_array *array)
{
    return plan->block + array->offset;
}

/* For whom a plan is made: when to stop, where a refusal is explained, who is charged. */
struct nn_plan_caller {
    struct nn_stop *stop;
    struct nn_why *why;
    const struct nn_meter *meter; /* NULL: none */
};

/* What a plan may refer to. */
struct nn_plan_world {
    uint32_t n_values; /* slots of the graph */
    uint32_t n_nodes;
    uint32_t n_pools;
    const uint64_t *pool_bytes;
    uint32_t isa;
};

/* nn_plan_verify() - block and weights came from outside. block must be aligned and have n_bytes.
 * Returns: 0, NN_PLAN_E_INVALID. */
int nn_plan_verify(const struct nn_plan *plan, uint64_t n_bytes, const struct nn_plan_world *world);

/* nn_plan_matches() - whether the plan is good for the frame as it is now. */
bool nn_plan_matches(const struct nn_plan *plan, const struct nn_frame *frame);

/* nn_plan_done() - frees both blocks, unless they are borrowed. */
void nn_plan_done(struct nn_plan *plan);

/* nn_plan_table_id() - changes with every change of the kernel table. */
uint64_t nn_plan_table_id(void);

/* nn_plan_print() - steps, one per line, with where their operands lie. */
void nn_plan_print(const struct nn_plan *plan, FILE *file);

#endif
