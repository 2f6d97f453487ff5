/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/cost.h"

#include "model/types.h"

#include <stddef.h>

/* A call of a driver in this process, and one over a socket between two CPUs, as bench/ measures
 * them. A processor of its own has to be woken, too. */
#define CALL_NS        UINT64_C(5000)
#define REMOTE_CALL_NS UINT64_C(75000)
#define ACCELERATOR_NS UINT64_C(50000)
#define OPERATION_NS   200.0
#define MOVE_BYTES_NS  10 /* bytes that a CPU reads again in a nanosecond */

/* Units of figures. */
#define MILLIONTHS 1e6
#define MIB        1048576.0

/* The ratio of a type that a device leaves out of its table: no first choice. */
#define LEFT_OUT 1000.0

static double operand_elements(const struct nnhal_operand *operand)
{
    double n = 1;

    for (uint32_t i = 0; i < operand->n_dimensions; i++)
        n *= operand->dimensions[i] ? operand->dimensions[i] : 1;
    return n;
}

static double operand_size(const struct nnhal_operand *operand)
{
    uint32_t n_bytes = nn_type_bytes(operand->type);

    return operand_elements(operand) * (n_bytes ? n_bytes : 1);
}

static bool has_value(const struct nnhal_operand *operand)
{
    return operand->lifetime != NNHAL_NO_VALUE && operand->lifetime != NNHAL_SUBGRAPH_VALUE;
}

static uint32_t dim_from_end(const struct nnhal_operand *operand, uint32_t i)
{
    uint32_t dim = operand->n_dimensions > i ? operand->dimensions[operand->n_dimensions - 1 - i]
                                             : 1;

    return dim ? dim : 1;
}

/* Products of weights and values. Recurrent layers use each weight once for each step and sequence,
 * which the elements of the output tell about. */
static double count_products(const struct nnhal_subgraph *graph,
                             const struct nnhal_operation *operation)
{
    const struct nnhal_operand *operands = graph->operands;
    const struct nnhal_operand *out = operation->n_outputs ? &operands[operation->outputs[0]]
                                                           : NULL;
    const struct nnhal_operand *filter = operation->n_inputs > 1 ? &operands[operation->inputs[1]]
                                                                 : NULL;
    double n_out = out ? operand_elements(out) : 0;

    if (!filter || !out)
        return 0;
    switch (operation->type) {
    case NNHAL_OP_CONV_2D:
    case NNHAL_OP_GROUPED_CONV_2D:
    case NNHAL_OP_TRANSPOSE_CONV_2D:
        return n_out * operand_elements(filter) /
               (filter->n_dimensions && filter->dimensions[0] ? filter->dimensions[0] : 1);
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        return n_out * operand_elements(filter) / dim_from_end(filter, 0);
    case NNHAL_OP_FULLY_CONNECTED:
        return n_out * dim_from_end(filter, 0);
    case NNHAL_OP_BATCH_MATMUL:
        return n_out * dim_from_end(&operands[operation->inputs[0]], 0);
    default:
        return 0;
    }
}

static double count_work(const struct nnhal_subgraph *graph,
                         const struct nnhal_operation *operation)
{
    double n_bytes = 0;

    for (uint32_t i = 0; i < operation->n_inputs; i++)
        if (has_value(&graph->operands[operation->inputs[i]]))
            n_bytes += operand_size(&graph->operands[operation->inputs[i]]);
    for (uint32_t i = 0; i < operation->n_outputs; i++)
        n_bytes += operand_size(&graph->operands[operation->outputs[i]]);
    return OPERATION_NS + n_bytes / 4 + count_products(graph, operation);
}

/* What IF and WHILE run, one level deep: what lies deeper is counted where it is. */
static double count_branches(const struct nnhal_model *model,
                             const struct nnhal_operation *operation)
{
    double work = 0;

    for (uint32_t i = 0; i < operation->n_inputs; i++) {
        const struct nnhal_operand *operand = &model->main.operands[operation->inputs[i]];
        const struct nnhal_subgraph *branch;

        if (operand->lifetime != NNHAL_SUBGRAPH_VALUE)
            continue;
        branch = &model->referenced[operand->location.offset];
        for (uint32_t j = 0; j < branch->n_operations; j++)
            work += count_work(branch, &branch->operations[j]);
    }
    return work;
}

/* -- performance ----------------------------------------------------------------------- */

static struct nnhal_performance_info ratio_of_type(uint32_t type)
{
    static const struct nnhal_performance_info ratios[] = {
        [NNHAL_DEVICE_OTHER] = {0.8f, 0.8f},
        [NNHAL_DEVICE_CPU] = {0.8f, 0.8f},
        [NNHAL_DEVICE_GPU] = {0.1f, 0.5f},
        [NNHAL_DEVICE_ACCELERATOR] = {0.05f, 0.1f},
    };

    return ratios[type >= NNHAL_DEVICE_OTHER && type <= NNHAL_DEVICE_ACCELERATOR
                      ? type
                      : (uint32_t)NNHAL_DEVICE_OTHER];
}

static const struct nnhal_performance_info *
find_declared(const struct nnhal_capabilities *capabilities, uint32_t type, bool is_relaxed)
{
    if (is_relaxed && type == NNHAL_TENSOR_FLOAT32)
        return &capabilities->relaxed_tensor;
    if (is_relaxed && type == NNHAL_FLOAT32)
        return &capabilities->relaxed_scalar;
    for (uint32_t i = 0; i < capabilities->n_operand_performance; i++)
        if (capabilities->operand_performance[i].type == type)
            return &capabilities->operand_performance[i].info;
    return NULL;
}

/* Of the type that decides, the first input's. */
static uint32_t type_of(const struct nnhal_model *model, const struct nnhal_operation *operation)
{
    return operation->n_inputs ? model->main.operands[operation->inputs[0]].type
                               : (uint32_t)NNHAL_TENSOR_FLOAT32;
}

static struct nnhal_performance_info
find_declared_ratio(const struct nnhal_model *model, const struct nnhal_operation *operation,
                    const struct nn_rt_performance *performance)
{
    const struct nnhal_capabilities *capabilities = &performance->capabilities;
    const struct nnhal_performance_info *declared;

    if (!capabilities->n_operand_performance)
        return ratio_of_type(performance->type);
    if (operation->type == NNHAL_OP_IF)
        return capabilities->if_performance;
    if (operation->type == NNHAL_OP_WHILE)
        return capabilities->while_performance;
    declared = find_declared(capabilities, type_of(model, operation),
                             model->relax_computation_float32_to_float16);
    return declared ? *declared : (struct nnhal_performance_info){LEFT_OUT, LEFT_OUT};
}

/* -- what was measured ------------------------------------------------------------------ */

/* How many times slower the device is than it declares: by the first figure that it has, of
 * what is most alike among devices. */
static double find_distortion(const struct nn_rt_performance *performance)
{
    static const enum nn_rt_figure figures[] = {
        NN_RT_FIGURE_OTHER_FLOAT32, NN_RT_FIGURE_OTHER_QUANT8, NN_RT_FIGURE_OTHER_QUANT8_SIGNED};

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        const struct nnhal_performance_info *declared = find_declared(
            &performance->capabilities, nn_rt_figure_operand_type(figures[i]), false);
        double measured = (double)performance->figures.values[figures[i]] / MILLIONTHS;

        if (measured > 0)
            return measured / (declared ? (double)declared->exec_time
                                        : (double)ratio_of_type(performance->type).exec_time);
    }
    return 1;
}

/* Of time. */
static double find_ratio(const struct nnhal_model *model, const struct nnhal_operation *operation,
                         const struct nn_rt_performance *performance)
{
    double declared = find_declared_ratio(model, operation, performance).exec_time;
    enum nn_rt_figure figure = nn_rt_figure_of(operation->type, type_of(model, operation));

    if (!performance->is_measured)
        return declared;
    if (figure < NN_RT_FIGURE_N && performance->figures.values[figure])
        return (double)performance->figures.values[figure] / MILLIONTHS;
    return declared * find_distortion(performance);
}

enum nnhal_figure_source nn_rt_cost_source(const struct nn_rt_performance *performance)
{
    if (performance->is_measured)
        return NNHAL_FIGURE_MEASURED;
    return performance->capabilities.n_operand_performance ? NNHAL_FIGURE_DECLARED
                                                           : NNHAL_FIGURE_CONSTANT;
}

bool nn_rt_cost_uses_cores(const struct nn_rt_performance *performance)
{
    return performance->type != NNHAL_DEVICE_GPU && performance->type != NNHAL_DEVICE_ACCELERATOR;
}

/* What a device declares may be any number. */
static uint64_t to_ns(double ns)
{
    if (!(ns >= 1))
        return 1;
    return ns < 1e15 ? (uint64_t)ns : UINT64_C(1000000000000000);
}

double nn_rt_cost_work(const struct nnhal_model *model, uint32_t operation)
{
    const struct nnhal_operation *at = &model->main.operations[operation];

    return count_work(&model->main, at) + count_branches(model, at);
}

uint64_t nn_rt_cost_time(const struct nnhal_model *model, uint32_t operation,
                         const struct nn_rt_performance *performance)
{
    const struct nnhal_operation *at = &model->main.operations[operation];

    return to_ns(nn_rt_cost_work(model, operation) * find_ratio(model, at, performance));
}

uint64_t nn_rt_cost_energy(const struct nnhal_model *model, uint32_t operation,
                           const struct nn_rt_performance *performance)
{
    const struct nnhal_operation *at = &model->main.operations[operation];
    double ratio = find_declared_ratio(model, at, performance).power_usage;

    return to_ns(nn_rt_cost_work(model, operation) * ratio);
}

uint64_t nn_rt_cost_launch(const struct nn_rt_performance *performance)
{
    bool is_processor = !nn_rt_cost_uses_cores(performance);

    if (performance->is_measured && performance->figures.values[NN_RT_FIGURE_LAUNCH])
        return performance->figures.values[NN_RT_FIGURE_LAUNCH];
    return (performance->is_remote ? REMOTE_CALL_NS : CALL_NS) +
           (is_processor ? ACCELERATOR_NS : 0);
}

uint64_t nn_rt_cost_move(const struct nn_rt_performance *performance, uint64_t n_bytes)
{
    uint64_t least_ns = n_bytes / MOVE_BYTES_NS;
    double measured_ns = performance->is_measured
                             ? (double)performance->figures.values[NN_RT_FIGURE_MOVE] *
                                   (double)n_bytes / MIB
                             : 0;

    return measured_ns > (double)least_ns ? to_ns(measured_ns) : least_ns;
}
