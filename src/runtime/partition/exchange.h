/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - what the parts of an execution give each other, and what they have of the application
 *
 * A part is an execution of its own, whose arguments are made here: those of the application as it
 * has set them, and the values between parts, at places in shared memory (places.h). A place that is
 * planned lies in one arena; that of a value whose size nothing tells has room to spare, and is widened
 * where that was not enough. What a part has made tells shapes (knowledge.h) to those after it.
 *
 *     begin --> fits? --no--> place --> set_arguments, learn_shapes, widen: part by part
 *
 * Values that are residents of a device (residents.h) lie there, where the caller wants that: a set of
 * buffers is the exchange's from nn_rt_exchange_settle() until nn_rt_exchange_clear(). When a process ends, what
 * it held is lost. Then the caller has all values made again, in shared memory (nn_rt_exchange_evacuate()).
 *
 * No argument may refer to a place that goes: parts let go of theirs before nn_rt_exchange_place(),
 * nn_rt_exchange_evacuate() and nn_rt_exchange_clear(). One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_EXCHANGE_H
#define NN_RUNTIME_PARTITION_EXCHANGE_H

#include "runtime/execution/execution.h"
#include "runtime/partition/knowledge.h"
#include "runtime/partition/places.h"
#include "runtime/partition/residents.h"

struct nn_rt_exchange {
    ANeuralNetworksExecution *whole;
    const struct nn_rt_plan *plan;
    struct nn_arena *memory;
    struct nn_rt_knowledge knowledge;
    struct nn_rt_places places;
    uint64_t *sizes;  /* per value, that are known before anything is computed */
    uint8_t **copies; /* of small values between parts, made when needed */
    struct nn_rt_resident_set *residents; /* NULL: all values lie in shared memory */
};

/* nn_rt_exchange_init() - of an execution whose compilation is split, which is borrowed; arrays are taken
 * from memory. Returns: 0, -ENOMEM. */
int nn_rt_exchange_init(struct nn_rt_exchange *exchange, ANeuralNetworksExecution *whole,
                        struct nn_arena *memory);

/* nn_rt_exchange_clear() - gives the memory of values back. Accepts a zeroed one. */
void nn_rt_exchange_clear(struct nn_rt_exchange *exchange);

/* nn_rt_exchange_settle() - unless values have places already, takes buffers for residents of devices, if
 * there are any. May block for devices. */
void nn_rt_exchange_settle(struct nn_rt_exchange *exchange);

/* nn_rt_exchange_begin() - what the arguments tell of sizes. Returns: 0, -ENOMEM. */
int nn_rt_exchange_begin(struct nn_rt_exchange *exchange);

/* nn_rt_exchange_fits() - whether values of these sizes have their places already. */
bool nn_rt_exchange_fits(const struct nn_rt_exchange *exchange);

/* nn_rt_exchange_place() - gives values of these sizes new ones. Returns: 0, -ENOMEM, -errno. */
int nn_rt_exchange_place(struct nn_rt_exchange *exchange);

/* nn_rt_exchange_is_resident() - whether a value, or none, lies in its device. */
bool nn_rt_exchange_is_resident(const struct nn_rt_exchange *exchange, uint32_t value);

/* nn_rt_exchange_has_lost() - whether a resident went with its device's process. */
bool nn_rt_exchange_has_lost(const struct nn_rt_exchange *exchange);

/* nn_rt_exchange_evacuate() - new places in shared memory for all values, without their contents.
 * Returns: 0, -ENOMEM, -errno. */
int nn_rt_exchange_evacuate(struct nn_rt_exchange *exchange);

/* nn_rt_exchange_move() - moves values out of the reach of processes that were given up, with their
 * bytes (nn_rt_places_move()). Returns: 0, -ENOMEM, -errno. */
int nn_rt_exchange_move(struct nn_rt_exchange *exchange);

/* nn_rt_exchange_expose() - a device may write to values even when the parts have ended: their memory is
 * used for nothing else. */
void nn_rt_exchange_expose(struct nn_rt_exchange *exchange);

/* nn_rt_exchange_find_output() - the application's argument for an output of the model. Returns:
 * NULL if it does not want it, or output is NN_RT_PLAN_NONE. */
const struct nn_rt_argument *nn_rt_exchange_find_output(const struct nn_rt_exchange *exchange,
                                                        uint32_t output);

/* nn_rt_exchange_set_arguments() - of the part's execution. Returns: 0, -ENOMEM, -errno. */
int nn_rt_exchange_set_arguments(struct nn_rt_exchange *exchange,
                                 const struct nn_rt_plan_part *part,
                                 ANeuralNetworksExecution *step);

/* nn_rt_exchange_learn_shapes() - what a part has made, or would have. */
void nn_rt_exchange_learn_shapes(struct nn_rt_exchange *exchange,
                                 const struct nn_rt_plan_part *part,
                                 const ANeuralNetworksExecution *step);

/* nn_rt_exchange_note_sizes() - of what a part has made, for those who make it again. What would have been
 * made is of a size that the device claims. */
void nn_rt_exchange_note_sizes(const struct nn_rt_exchange *exchange,
                               const struct nn_rt_plan_part *part);

/* nn_rt_exchange_widen() - more room for values that did not fit, and of which the device has not
 * said how large they are. Returns: 0, -ENOMEM, -errno. */
int nn_rt_exchange_widen(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                         const ANeuralNetworksExecution *step);

/* nn_rt_exchange_tell_empty() - the shapes of the model's outputs for which nothing is computed. */
void nn_rt_exchange_tell_empty(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part);

#endif
