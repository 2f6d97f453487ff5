/* SPDX-License-Identifier: Apache-2.0 */
/* place-argument.h - arguments of executions that the runtime makes itself
 *
 * They lie at places (places.h), with the shape that is known of their value, or are those of the
 * application. None owns its memory until an execution has it. Pure, but for the replacement, which
 * belongs to the thread that owns the execution. */
#ifndef NN_RUNTIME_PARTITION_PLACE_ARGUMENT_H
#define NN_RUNTIME_PARTITION_PLACE_ARGUMENT_H

#include "runtime/execution/execution.h"
#include "runtime/partition/places.h"
#include "runtime/partition/value.h"

/* nn_rt_place_read() - a value as its readers see it. */
struct nn_rt_argument nn_rt_place_read(const struct nn_rt_place *place,
                                       const struct nn_rt_value *value, uint32_t type);

/* nn_rt_place_write() - a value as its maker gets it: all of the place where the size is not known. */
struct nn_rt_argument nn_rt_place_write(const struct nn_rt_place *place,
                                        const struct nn_rt_value *value, uint32_t type);

/* nn_rt_place_argument_describe() - gives an input the shape of a value, and the length of that. */
void nn_rt_place_argument_describe(struct nn_rt_argument *argument, const struct nn_rt_value *value,
                                   uint32_t type);

/* nn_rt_place_argument_replace() - makes one of the execution's arguments what by says. What is the
 * same stays bound; else all is bound anew. by is copied; its memory is referenced. */
void nn_rt_place_argument_replace(ANeuralNetworksExecution *execution,
                                  struct nn_rt_argument *argument, const struct nn_rt_argument *by);

/* nn_rt_place_arguments_drop() - no argument of the execution, nor of what is below it, refers to a place
 * any more. Accepts NULL. */
void nn_rt_place_arguments_drop(ANeuralNetworksExecution *execution);

#endif
