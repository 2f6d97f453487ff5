/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h - what operations, calls and moves are expected to cost
 *
 * An operation's work is counted on plain C kernels of one thread: a nanosecond for
 * a multiplication and an addition, a quarter for a byte that is read or written. A
 * device's performance is the ratio for the type of an operation's first input, of time and of
 * energy. That of time was measured (calibration/figures.h), else the
 * device declares it; a device that declares nothing at all is judged by its type. What was not
 * measured of a device that was counts as declared, times what the device is slower or faster than
 * declared elsewhere. Power is declared alone. Energy is told as the nanoseconds of plain C in which
 * a CPU uses it: calls and moves, which are a CPU's work, count the same in time and in energy.
 * Dimensions that are not known count as 1. Pure functions. */
#ifndef NN_RUNTIME_PARTITION_COST_H
#define NN_RUNTIME_PARTITION_COST_H

#include "runtime/calibration/figures.h"

#include <nnhal/ext.h>
#include <nnhal/types.h>

#include <stdbool.h>

/* What a device said of itself, and what was measured. */
struct nn_rt_performance {
    uint32_t type;                          /* enum nnhal_device_type */
    bool is_remote;                         /* reached in another process */
    struct nnhal_capabilities capabilities; /* operand_performance: the owner's */
    bool is_measured;
    struct nn_rt_figures figures;
};

/* nn_rt_cost_source() - where most of what is said of a device comes from. */
enum nnhal_figure_source nn_rt_cost_source(const struct nn_rt_performance *performance);

/* nn_rt_cost_uses_cores() - whether it computes on the CPU's cores, as far as its type tells: all do but GPUs and
 * accelerators. */
bool nn_rt_cost_uses_cores(const struct nn_rt_performance *performance);

/* nn_rt_cost_work() - of an operation of the main graph, in nanoseconds of plain C. */
double nn_rt_cost_work(const struct nnhal_model *model, uint32_t operation);

/* nn_rt_cost_time() - nanoseconds of an operation of the main graph on a device, at least 1.
 * IF and WHILE count as all that they could run, once. */
uint64_t nn_rt_cost_time(const struct nnhal_model *model, uint32_t operation,
                         const struct nn_rt_performance *performance);

/* nn_rt_cost_energy() - its energy, as nanoseconds of a CPU, at least 1. */
uint64_t nn_rt_cost_energy(const struct nnhal_model *model, uint32_t operation,
                           const struct nn_rt_performance *performance);

/* nn_rt_cost_launch() - of one call of the device. */
uint64_t nn_rt_cost_launch(const struct nn_rt_performance *performance);

/* nn_rt_cost_move() - of bringing n_bytes from another partition to one of this device: what was
 * measured, at least what a CPU needs to read them again. */
uint64_t nn_rt_cost_move(const struct nn_rt_performance *performance, uint64_t n_bytes);

#endif
