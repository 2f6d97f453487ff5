/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - how a model is computed: by which devices, in which parts, and why
 *
 * A part is a partition as it is executed: the operations, the values that it gets from
 * the application and from other parts, those that it makes for them, and the
 * compilation that its device has made of them. A value between parts is made
 * once, by one part, and read by parts of later waves: a wave is a set of parts
 * that need nothing of each other. A batch is what is computed at a time: a wave, where threads share it
 * (wave-time.h), else one part.
 *
 *     input 0 --> part 0 (npu) --value 0--> part 1 (cpu) --> output 0
 *                      +-------value 1------> part 2 (npu) --> output 1
 *
 * A value is resident where parts of one device make and read it, that device has memory of its own, and
 * the model tells its shape: value 1 stays in a buffer there (residents.h), and its moves cost nothing. A
 * plan with values that depend on the arguments, or are empty, has none: what is left of a part
 * (remnant.h) is in no role of a buffer.
 *
 * A plan of one part is a whole model on one device, and has no values. What each
 * device said of each operation is part of the plan.
 * A plan does not change once it is made. Threads: any. */
#ifndef NN_RUNTIME_PARTITION_PLAN_H
#define NN_RUNTIME_PARTITION_PLAN_H

#include "base/arena.h"
#include "model/why.h"
#include "runtime/model/answer.h"
#include "runtime/partition/partition.h"
#include "runtime/partition/value.h"

#include <nnhal/ext.h>

#include <stdio.h>

#define NN_RT_PLAN_NONE UINT32_MAX

/* How many values of a plan are residents at most: a device's driver and its host bound the buffers of a
 * client, who has use for some itself. */
#define NN_RT_PLAN_MAX_RESIDENTS 16

/* Where a part's input comes from. */
struct nn_rt_plan_source {
    bool is_value;
    uint32_t index; /* of the plan's values, or of the model's inputs */
};

/* Where a part's output goes: to other parts, to the application, or both. */
struct nn_rt_plan_target {
    uint32_t value;  /* NN_RT_PLAN_NONE: no other part reads it */
    uint32_t output; /* of the model, NN_RT_PLAN_NONE: it is none */
};

struct nn_rt_plan_part {
    uint32_t device; /* of the plan's */
    bool is_control; /* an IF or WHILE that the runtime runs itself: device has most of its work */
    uint32_t wave;
    uint32_t place; /* of its device (wave-time.h) */
    uint32_t n_operations;
    uint32_t n_inputs;
    uint32_t n_outputs; /* 0: nothing reads what it makes, and it is not computed */
    uint32_t *operations;
    uint32_t *input_operands;
    uint32_t *output_operands;
    struct nn_rt_plan_source *sources;
    struct nn_rt_plan_target *targets;
    uint64_t compute_ns; /* expected */
    uint64_t launch_ns;
    uint64_t move_ns;
    uint64_t move_bytes;
    ANeuralNetworksCompilation *compilation; /* NULL: not computed, or the only part */
    const bool *is_empty; /* per operand: operations do without it (remnant.h); NULL: none is */
};

struct nn_rt_plan_value {
    uint32_t operand;
    uint32_t type;
    uint32_t maker;      /* the part */
    uint32_t first_wave; /* of its maker */
    uint32_t last_wave;  /* of the last that reads it */
    uint32_t output;     /* of the model, NN_RT_PLAN_NONE: it is none */
    bool is_resident;    /* in the device of its parts */
    uint64_t move_ns;    /* of a resident: what it would take each part that reads it elsewhere */
};

/* A device that was considered. */
struct nn_rt_plan_device {
    ANeuralNetworksDevice *device;
    const char *name;
    bool is_last_resort;               /* asked for what the others leave (planner.h) */
    enum nnhal_figure_source source;   /* of what it was expected to cost */
    uint8_t *verdicts;                 /* enum nnhal_verdict, per operation */
    const struct nn_rt_answer *answer; /* lent by the model; NULL: there is none */
    uint32_t n_refusals;
    struct nn_why why; /* the last sentence about what it refused; "": none */
};

struct nn_rt_record;

struct nn_rt_plan {
    struct nn_arena arena; /* of everything here */
    const struct nnhal_model *model;
    uint32_t n_devices;
    uint32_t n_parts;
    uint32_t n_values;
    uint32_t n_waves;
    uint32_t n_batches;
    uint32_t n_before;              /* parts before any were merged */
    uint32_t *order;                /* of the parts as they are computed: by wave */
    uint32_t *batches;              /* how many of that order each batch has; of one wave */
    struct nn_rt_timed_part *timed; /* in that order */
    struct nn_rt_plan_device *devices;
    struct nn_rt_plan_part *parts;
    struct nn_rt_plan_value *values;
    struct nn_rt_value *known;   /* per operand of the model */
    bool is_open;                /* the shape of a value depends on the arguments */
    bool has_open_outputs;       /* that of an output of the model does */
    uint64_t cost_ns;            /* what it was chosen for: time, or energy (weights.h) */
    uint64_t expected_ns;        /* its time: of its waves, one after the other (wave-time.h) */
    struct nn_rt_record *record; /* what its executions have shown, which changes */
    /* Of parts' compilations, by who makes them. */
    ANeuralNetworksCompilation *(*unref_part)(ANeuralNetworksCompilation *compilation);
    struct nnhal_plan told; /* as an application sees it, but for size */
    struct nnhal_plan_part *told_parts;
    uint32_t
        *positions; /* of operations as the application added them, in the order of execution */
};

/* nn_rt_plan_lay_out() - parts and values from a partitioning; devices and known are set already.
 * problem: the one that was solved, with times as its costs.
 * Returns: 0, -ENOMEM. */
int nn_rt_plan_lay_out(struct nn_rt_plan *plan, const struct nn_rt_partition_problem *problem,
                       const struct nn_rt_partitioning *partitioning);

/* nn_rt_plan_has_residents() - whether any of its values is one. */
bool nn_rt_plan_has_residents(const struct nn_rt_plan *plan);

/* nn_rt_plan_share() - a resident value lies in shared memory after all; of a plan that no execution has yet. */
void nn_rt_plan_share(struct nn_rt_plan *plan, uint32_t value);

/* nn_rt_plan_device_why() - the sentence on what the device said of an operation; "": there is none. */
const char *nn_rt_plan_device_why(const struct nn_rt_plan_device *device, uint32_t operation);

/* nn_rt_plan_get_verdict() - all of it but size. operation: as the application added it.
 * Returns: 0; BAD_DATA (no such device in the plan, no such operation). */
int nn_rt_plan_get_verdict(const struct nn_rt_plan *plan, const ANeuralNetworksDevice *device,
                           uint32_t operation, struct nn_why *why,
                           struct nnhal_operation_verdict *ret_verdict);

/* nn_rt_plan_tell() - sets told and positions. original: of each operation, its number as the application added it.
 * Returns: 0, -ENOMEM. */
int nn_rt_plan_tell(struct nn_rt_plan *plan, const uint32_t *original);

/* nn_rt_plan_tell_move() - the index-th value that a part reads of another: all of it but size.
 * Returns: whether there is one; n_moves is set in any case. */
bool nn_rt_plan_tell_move(const struct nn_rt_plan *plan, uint32_t index,
                          struct nnhal_part_move *ret_move);

/* nn_rt_plan_free() - with the compilations of its parts. Accepts NULL; returns NULL. */
struct nn_rt_plan *nn_rt_plan_free(struct nn_rt_plan *plan);

/* nn_rt_plan_print() - for people: the parts, then what devices refused. */
void nn_rt_plan_print(const void *plan, FILE *file);

NN_DEFINE_CLEANUP(struct nn_rt_plan, nn_rt_plan_free)

#endif
