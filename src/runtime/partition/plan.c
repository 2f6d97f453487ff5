/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/plan.h"

#include "base/error.h"
#include "model/ops.h"
#include "runtime/partition/record.h"
#include "runtime/partition/wave-time.h"
#include "runtime/result.h"

#include <string.h>

#define NONE NN_RT_PLAN_NONE

/* What is known of an operand while parts are laid out. */
struct use {
    uint32_t maker;  /* the part that writes it, NONE: it comes from outside */
    uint32_t value;  /* its number between parts */
    uint32_t input;  /* of the model, NONE: it is none */
    uint32_t output; /* the same */
    uint32_t marked; /* the last part that has it as an input */
};

struct plan_layout {
    struct nn_rt_plan *plan;
    const struct nn_rt_partition_problem *problem;
    const struct nn_rt_partitioning *partitioning;
    const struct nnhal_subgraph *graph;
    struct use *uses;
};

/* -- what crosses from part to part ------------------------------------------------ */

static int find_uses(struct plan_layout *layout)
{
    const struct nnhal_subgraph *graph = layout->graph;

    layout->uses = nn_arena_new_n(&layout->plan->arena, struct use, graph->n_operands);
    if (!layout->uses)
        return nn_error_origin(-ENOMEM);
    memset(layout->uses, 0xff, graph->n_operands * sizeof(*layout->uses));
    for (uint32_t i = 0; i < graph->n_input_indexes; i++)
        layout->uses[graph->input_indexes[i]].input = i;
    for (uint32_t i = 0; i < graph->n_output_indexes; i++)
        layout->uses[graph->output_indexes[i]].output = i;
    for (uint32_t i = 0; i < graph->n_operations; i++)
        for (uint32_t j = 0; j < graph->operations[i].n_outputs; j++)
            layout->uses[graph->operations[i].outputs[j]].maker =
                layout->partitioning->partitions[i];
    return 0;
}

/* Whether a part gets this operand from the application or another part. */
static bool comes_from_outside(const struct plan_layout *layout, uint32_t part, uint32_t operand)
{
    const struct use *use = &layout->uses[operand];

    return use->maker != NONE ? use->maker != part : use->input != NONE;
}

/* Numbers the values, and counts what each part gets. */
static void count_values(struct plan_layout *layout)
{
    for (uint32_t i = 0; i < layout->graph->n_operations; i++) {
        const struct nnhal_operation *operation = &layout->graph->operations[i];
        uint32_t part = layout->partitioning->partitions[i];

        layout->plan->parts[part].n_operations++;
        for (uint32_t j = 0; j < operation->n_inputs; j++) {
            struct use *use = &layout->uses[operation->inputs[j]];

            if (!comes_from_outside(layout, part, operation->inputs[j]))
                continue;
            if (use->maker != NONE && use->value == NONE)
                use->value = layout->plan->n_values++;
            layout->plan->parts[part].n_inputs++; /* at most: readings */
        }
        for (uint32_t j = 0; j < operation->n_outputs; j++)
            layout->plan->parts[part].n_outputs++; /* at most */
    }
}

static int make_lists(struct plan_layout *layout)
{
    struct nn_rt_plan *plan = layout->plan;

    plan->values = nn_arena_new_n(&plan->arena, struct nn_rt_plan_value, plan->n_values);
    if (!plan->values)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        struct nn_rt_plan_part *part = &plan->parts[i];

        part->operations = nn_arena_new_n(&plan->arena, uint32_t, part->n_operations);
        part->input_operands = nn_arena_new_n(&plan->arena, uint32_t, part->n_inputs);
        part->output_operands = nn_arena_new_n(&plan->arena, uint32_t, part->n_outputs);
        part->sources = nn_arena_new_n(&plan->arena, struct nn_rt_plan_source, part->n_inputs);
        part->targets = nn_arena_new_n(&plan->arena, struct nn_rt_plan_target, part->n_outputs);
        if (!part->operations || !part->input_operands || !part->output_operands ||
            !part->sources || !part->targets)
            return nn_error_origin(-ENOMEM);
        part->n_operations = part->n_inputs = part->n_outputs = 0;
    }
    return 0;
}

static void add_source(struct plan_layout *layout, struct nn_rt_plan_part *part, uint32_t operand)
{
    uint32_t number = (uint32_t)(part - layout->plan->parts);
    struct use *use = &layout->uses[operand];
    const bool is_value = use->maker != NONE;

    if (!comes_from_outside(layout, number, operand) || use->marked == number)
        return;
    use->marked = number;
    part->input_operands[part->n_inputs] = operand;
    part->sources[part->n_inputs++] = (struct nn_rt_plan_source){is_value, is_value ? use->value
                                                                                    : use->input};
}

static void add_target(struct plan_layout *layout, struct nn_rt_plan_part *part, uint32_t operand)
{
    const struct use *use = &layout->uses[operand];
    bool is_open = layout->plan->known[operand].state != NN_RT_VALUE_EXACT;

    if (use->value == NONE && use->output == NONE)
        return;
    part->output_operands[part->n_outputs] = operand;
    part->targets[part->n_outputs++] = (struct nn_rt_plan_target){use->value, use->output};
    if (use->output != NONE)
        layout->plan->has_open_outputs |= is_open;
    if (use->value == NONE)
        return;
    layout->plan->values[use->value] = (struct nn_rt_plan_value){
        .operand = operand,
        .type = layout->graph->operands[operand].type,
        .maker = use->maker,
        .output = use->output,
    };
    layout->plan->is_open |= is_open;
}

static void list_operations(struct plan_layout *layout)
{
    for (uint32_t i = 0; i < layout->graph->n_operations; i++) {
        struct nn_rt_plan_part *part = &layout->plan->parts[layout->partitioning->partitions[i]];

        part->operations[part->n_operations++] = i;
    }
}

/* Part by part, so that marks of one part are not overwritten by another. */
static void list_operands(struct plan_layout *layout, struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_operations; i++) {
        const struct nnhal_operation *operation = &layout->graph->operations[part->operations[i]];

        for (uint32_t j = 0; j < operation->n_inputs; j++)
            add_source(layout, part, operation->inputs[j]);
        for (uint32_t j = 0; j < operation->n_outputs; j++)
            add_target(layout, part, operation->outputs[j]);
    }
}

/* -- order and costs --------------------------------------------------------------- */

/* Partitions are in order, so that what a part needs has a wave already. */
static void find_waves(struct nn_rt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        struct nn_rt_plan_part *part = &plan->parts[i];

        for (uint32_t j = 0; j < part->n_inputs; j++) {
            const struct nn_rt_plan_part *maker;

            if (!part->sources[j].is_value)
                continue;
            maker = &plan->parts[plan->values[part->sources[j].index].maker];
            if (part->wave <= maker->wave)
                part->wave = maker->wave + 1;
        }
        if (plan->n_waves <= part->wave)
            plan->n_waves = part->wave + 1;
        for (uint32_t j = 0; j < part->n_inputs; j++)
            if (part->sources[j].is_value &&
                plan->values[part->sources[j].index].last_wave < part->wave)
                plan->values[part->sources[j].index].last_wave = part->wave;
    }
    for (uint32_t i = 0; i < plan->n_values; i++)
        plan->values[i].first_wave = plan->parts[plan->values[i].maker].wave;
}

/* Wave by wave. */
static void order_parts(struct nn_rt_plan *plan)
{
    uint32_t n = 0;

    for (uint32_t wave = 0; wave < plan->n_waves; wave++)
        for (uint32_t i = 0; i < plan->n_parts; i++)
            if (plan->parts[i].wave == wave)
                plan->order[n++] = i;
}

/* What all of it takes, by its parts as wave-time.h sees them. */
static void plan_time(struct nn_rt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        const struct nn_rt_plan_part *part = &plan->parts[plan->order[i]];

        plan->timed[i] = (struct nn_rt_timed_part){
            .wave = part->wave,
            .place = part->place,
            .compute_ns = part->compute_ns,
            .launch_ns = part->launch_ns,
            .move_ns = part->move_ns,
        };
    }
    plan->expected_ns = nn_rt_waves_time(plan->n_parts, plan->timed);
}

/* How many parts from this place in the order on are computed together: a whole wave, if another
 * thread has something to gain by it. */
static uint32_t count_batch(uint32_t n_left, const struct nn_rt_timed_part *timed)
{
    uint32_t n = 1;

    while (n < n_left && timed[n].wave == timed[0].wave)
        n++;
    return nn_rt_wave_is_shared(n, timed) ? n : 1;
}

static int find_order(struct nn_rt_plan *plan)
{
    plan->order = nn_arena_new_n(&plan->arena, uint32_t, plan->n_parts);
    plan->batches = nn_arena_new_n(&plan->arena, uint32_t, plan->n_parts);
    plan->timed = nn_arena_new_n(&plan->arena, struct nn_rt_timed_part, plan->n_parts);
    if (!plan->order || !plan->batches || !plan->timed)
        return nn_error_origin(-ENOMEM);
    order_parts(plan);
    plan_time(plan);
    for (uint32_t i = 0; i < plan->n_parts; i += plan->batches[plan->n_batches++])
        plan->batches[plan->n_batches] = count_batch(plan->n_parts - i, plan->timed + i);
    return 0;
}

/* Whether shapes of values between parts depend on nothing, and none of them is empty. */
static bool has_plain_values(const struct nn_rt_plan *plan)
{
    bool is_plain = !plan->is_open;

    for (uint32_t i = 0; is_plain && i < plan->n_values; i++)
        is_plain = !nn_rt_value_is_empty(&plan->known[plan->values[i].operand]);
    return is_plain;
}

/* What its device keeps, and no other reads. */
static void find_residents(struct plan_layout *layout)
{
    struct nn_rt_plan *plan = layout->plan;
    const struct nn_rt_partition_problem *problem = layout->problem;

    if (!problem->keeps || !has_plain_values(plan))
        return;
    for (uint32_t i = 0; i < plan->n_values; i++) {
        struct nn_rt_plan_value *value = &plan->values[i];
        size_t at = (size_t)plan->parts[value->maker].device * layout->graph->n_operands +
                    value->operand;

        value->is_resident = problem->keeps[at] && value->output == NONE;
        value->move_ns = problem->move_ns[at];
    }
    for (uint32_t i = 0; i < plan->n_parts; i++)
        for (uint32_t j = 0; j < plan->parts[i].n_inputs; j++) {
            const struct nn_rt_plan_source *source = &plan->parts[i].sources[j];
            struct nn_rt_plan_value *value = source->is_value ? &plan->values[source->index] : NULL;

            if (value && plan->parts[value->maker].device != plan->parts[i].device)
                value->is_resident = false;
        }
    for (uint32_t i = 0, n = 0; i < plan->n_values; i++) {
        n += plan->values[i].is_resident;
        plan->values[i].is_resident &= n <= NN_RT_PLAN_MAX_RESIDENTS;
    }
}

static void add_move(struct nn_rt_plan *plan, struct nn_rt_plan_part *part, uint32_t operand,
                     uint64_t move_ns)
{
    uint64_t n_bytes = 0;

    nn_rt_value_bytes(&plan->known[operand], plan->model->main.operands[operand].type, &n_bytes);
    part->move_bytes += n_bytes;
    part->move_ns += move_ns;
}

static void set_costs(struct plan_layout *layout)
{
    struct nn_rt_plan *plan = layout->plan;

    for (uint32_t i = 0; i < plan->n_parts; i++) {
        struct nn_rt_plan_part *part = &plan->parts[i];

        part->place = layout->problem->places ? layout->problem->places[part->device]
                                              : (uint32_t)NN_RT_PLACE_CORES;
        part->launch_ns = layout->problem->launch_ns[part->device];
        for (uint32_t j = 0; j < part->n_operations; j++)
            part->compute_ns +=
                layout->problem->costs_ns[(size_t)part->device * layout->graph->n_operations +
                                          part->operations[j]];
        for (uint32_t j = 0; j < part->n_inputs; j++) {
            uint32_t operand = part->input_operands[j];

            if (!part->sources[j].is_value || plan->values[part->sources[j].index].is_resident)
                continue;
            add_move(plan, part, operand,
                     layout->problem
                         ->move_ns[(size_t)part->device * layout->graph->n_operands + operand]);
        }
    }
    plan->cost_ns = layout->partitioning->cost_ns;
}

int nn_rt_plan_lay_out(struct nn_rt_plan *plan, const struct nn_rt_partition_problem *problem,
                       const struct nn_rt_partitioning *partitioning)
{
    struct plan_layout layout = {
        .plan = plan, .problem = problem, .partitioning = partitioning, .graph = problem->graph};
    int r;

    plan->parts = nn_arena_new_n(&plan->arena, struct nn_rt_plan_part, partitioning->n_partitions);
    if (!plan->parts)
        return nn_error_origin(-ENOMEM);
    plan->n_parts = partitioning->n_partitions;
    plan->n_before = partitioning->n_before;
    for (uint32_t i = 0; i < plan->n_parts; i++)
        plan->parts[i].device = partitioning->devices[i];
    r = find_uses(&layout);
    if (r)
        return r;
    count_values(&layout);
    r = make_lists(&layout);
    if (r)
        return r;
    list_operations(&layout);
    for (uint32_t i = 0; i < plan->n_parts; i++)
        list_operands(&layout, &plan->parts[i]);
    find_waves(plan);
    find_residents(&layout);
    set_costs(&layout);
    r = find_order(plan);
    return r ? r : nn_rt_record_new(plan->n_parts, plan->n_values, &plan->record);
}

bool nn_rt_plan_has_residents(const struct nn_rt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].is_resident)
            return true;
    return false;
}

static void tell_moves(struct nn_rt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        plan->told_parts[i].move_ns = plan->parts[i].move_ns;
        plan->told_parts[i].move_bytes = plan->parts[i].move_bytes;
    }
    plan->told.expected_ns = plan->expected_ns;
}

void nn_rt_plan_share(struct nn_rt_plan *plan, uint32_t value)
{
    plan->values[value].is_resident = false;
    for (uint32_t i = 0; i < plan->n_parts; i++)
        for (uint32_t j = 0; j < plan->parts[i].n_inputs; j++)
            if (plan->parts[i].sources[j].is_value && plan->parts[i].sources[j].index == value)
                add_move(plan, &plan->parts[i], plan->values[value].operand,
                         plan->values[value].move_ns);
    plan_time(plan);
    tell_moves(plan);
}

struct nn_rt_plan *nn_rt_plan_free(struct nn_rt_plan *plan)
{
    if (!plan)
        return NULL;
    for (uint32_t i = 0; i < plan->n_parts; i++)
        if (plan->parts[i].compilation)
            plan->unref_part(plan->parts[i].compilation);
    nn_rt_record_free(plan->record);
    nn_arena_done(&plan->arena);
    free(plan);
    return NULL;
}

/* -- for the application --------------------------------------------------------------- */

static int tell_part(struct nn_rt_plan *plan, const struct nn_rt_plan_part *part,
                     const uint32_t *original, struct nnhal_plan_part *ret)
{
    uint32_t *operations = nn_arena_new_n(&plan->arena, uint32_t, part->n_operations);

    for (uint32_t i = 0; operations && i < part->n_operations; i++)
        operations[i] = original[part->operations[i]];
    *ret = (struct nnhal_plan_part){
        .device = plan->devices[part->device].device,
        .wave = part->wave,
        .n_operations = part->n_operations,
        .operations = operations,
        .compute_ns = part->compute_ns,
        .launch_ns = part->launch_ns,
        .move_ns = part->move_ns,
        .move_bytes = part->move_bytes,
    };
    return operations ? 0 : nn_error_origin(-ENOMEM);
}

static int tell_device(struct nn_rt_plan *plan, const struct nn_rt_plan_device *device,
                       const uint32_t *original, struct nnhal_plan_device *ret)
{
    uint32_t n = plan->model->main.n_operations;
    uint8_t *verdicts = nn_arena_new_n(&plan->arena, uint8_t, n);

    for (uint32_t i = 0; verdicts && i < n; i++)
        verdicts[original[i]] = device->verdicts[i];
    *ret = (struct nnhal_plan_device){
        .device = device->device,
        .verdicts = verdicts,
        .why = device->why.text,
        .source = (uint32_t)device->source,
    };
    return verdicts ? 0 : nn_error_origin(-ENOMEM);
}

/* What it said when it was asked, where that still holds; "": nothing. */
static const char *find_answer(const struct nn_rt_plan_device *device, uint32_t operation)
{
    uint8_t verdict = device->verdicts[operation];

    return device->answer && device->answer->verdicts[operation] == verdict
               ? nn_rt_answer_why(device->answer, operation)
               : "";
}

const char *nn_rt_plan_device_why(const struct nn_rt_plan_device *device, uint32_t operation)
{
    uint8_t verdict = device->verdicts[operation];

    return verdict == NNHAL_VERDICT_UNREACHED || verdict == NNHAL_VERDICT_REFUSED
               ? device->why.text
               : find_answer(device, operation);
}

int nn_rt_plan_get_verdict(const struct nn_rt_plan *plan, const ANeuralNetworksDevice *device,
                           uint32_t operation, struct nn_why *why,
                           struct nnhal_operation_verdict *ret_verdict)
{
    uint32_t n = plan->model->main.n_operations, d = 0, position;

    while (d < plan->n_devices && plan->devices[d].device != device)
        d++;
    if (d == plan->n_devices)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the device was not considered");
    if (operation >= n)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no operation %u: the model has %u",
                       operation, n);
    position = plan->positions[operation];
    *ret_verdict = (struct nnhal_operation_verdict){
        .verdict = plan->devices[d].verdicts[position],
        .why = nn_rt_plan_device_why(&plan->devices[d], position),
    };
    return 0;
}

int nn_rt_plan_tell(struct nn_rt_plan *plan, const uint32_t *original)
{
    uint32_t n = plan->model->main.n_operations;
    struct nnhal_plan_part *parts = nn_arena_new_n(&plan->arena, struct nnhal_plan_part,
                                                   plan->n_parts);
    struct nnhal_plan_device *devices = nn_arena_new_n(&plan->arena, struct nnhal_plan_device,
                                                       plan->n_devices);
    int r;

    plan->positions = nn_arena_new_n(&plan->arena, uint32_t, n);
    r = parts && devices && plan->positions ? 0 : nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < n; i++)
        plan->positions[original[i]] = i;
    for (uint32_t i = 0; !r && i < plan->n_parts; i++)
        r = tell_part(plan, &plan->parts[i], original, &parts[i]);
    for (uint32_t i = 0; !r && i < plan->n_devices; i++)
        r = tell_device(plan, &plan->devices[i], original, &devices[i]);
    plan->told_parts = parts;
    plan->told = (struct nnhal_plan){
        .n_parts = plan->n_parts,
        .n_devices = plan->n_devices,
        .parts = parts,
        .devices = devices,
        .n_operations = n,
        .n_before = plan->n_before,
        .expected_ns = plan->expected_ns,
    };
    return r;
}

bool nn_rt_plan_tell_move(const struct nn_rt_plan *plan, uint32_t index,
                          struct nnhal_part_move *ret_move)
{
    *ret_move = (struct nnhal_part_move){0};
    for (uint32_t i = 0; i < plan->n_parts; i++)
        for (uint32_t j = 0; j < plan->parts[i].n_inputs; j++) {
            const struct nn_rt_plan_source *source = &plan->parts[i].sources[j];
            const struct nn_rt_plan_value *value;

            if (!source->is_value || ret_move->n_moves++ != index)
                continue;
            value = &plan->values[source->index];
            ret_move->from = value->maker;
            ret_move->to = i;
            ret_move->is_resident = value->is_resident;
            if (!value->is_resident)
                nn_rt_value_bytes(&plan->known[value->operand], value->type, &ret_move->n_bytes);
        }
    return index < ret_move->n_moves;
}

/* -- for people ---------------------------------------------------------------------- */

/* "0-3, 7": numbers that follow each other are drawn together. */
static void print_ranges(FILE *file, uint32_t n, const uint32_t *numbers)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t last = i;

        while (last + 1 < n && numbers[last + 1] == numbers[last] + 1)
            last++;
        fprintf(file, "%s%u", i ? ", " : "", numbers[i]);
        if (last > i)
            fprintf(file, "-%u", numbers[last]);
        i = last + 1;
    }
}

static void print_part(const struct nn_rt_plan *plan, uint32_t i, FILE *file)
{
    const struct nn_rt_plan_part *part = &plan->parts[i];

    fprintf(file, "  part %u  wave %u  %s%s  %s ", i, part->wave, plan->devices[part->device].name,
            part->is_control ? " and others" : "",
            part->n_operations == 1 ? "operation" : "operations");
    print_ranges(file, part->n_operations, part->operations);
    fprintf(file, "  computes %llu ns, starts %llu ns, moves %llu bytes\n",
            (unsigned long long)part->compute_ns, (unsigned long long)part->launch_ns,
            (unsigned long long)part->move_bytes);
}

static const char *verdict_text(uint8_t verdict)
{
    static const char *const texts[] = {
        [NNHAL_VERDICT_TAKEN] = "takes",
        [NNHAL_VERDICT_UNSUPPORTED] = "does not support",
        [NNHAL_VERDICT_TOO_OLD] = "is too old for",
        [NNHAL_VERDICT_UNREACHED] = "did not answer for",
        [NNHAL_VERDICT_REFUSED] = "failed to prepare",
        [NNHAL_VERDICT_UNASKED] = "was not asked for",
    };

    return texts[verdict];
}

static const char *source_text(enum nnhal_figure_source source)
{
    static const char *const texts[] = {
        [NNHAL_FIGURE_CONSTANT] = "constants of its type",
        [NNHAL_FIGURE_DECLARED] = "what it declares",
        [NNHAL_FIGURE_MEASURED] = "what was measured",
    };

    return texts[source];
}

static bool said_same(const struct nn_rt_plan_device *device, uint32_t a, uint32_t b)
{
    return device->verdicts[a] == device->verdicts[b] &&
           strcmp(find_answer(device, a), find_answer(device, b)) == 0;
}

/* What it said of the operations from i to last. */
static void print_row(const struct nn_rt_plan *plan, const struct nn_rt_plan_device *device,
                      uint32_t i, uint32_t last, FILE *file)
{
    const char *answer = find_answer(device, i);

    fprintf(file, "  %s %s %u", device->name, verdict_text(device->verdicts[i]), i);
    if (last > i)
        fprintf(file, "-%u", last);
    else
        fprintf(file, " (%s)", nn_op_name(plan->model->main.operations[i].type));
    fprintf(file, "%s%s\n", *answer ? ": " : "", answer);
}

/* One line for each row of operations of which a device said the same. */
static void print_device(const struct nn_rt_plan *plan, uint32_t d, FILE *file)
{
    const struct nn_rt_plan_device *device = &plan->devices[d];
    uint32_t n = plan->model->main.n_operations;

    fprintf(file, "  %s is judged by %s\n", device->name, source_text(device->source));
    for (uint32_t i = 0; i < n;) {
        uint32_t last = i;

        while (last + 1 < n && said_same(device, i, last + 1))
            last++;
        if (device->verdicts[i] != NNHAL_VERDICT_TAKEN)
            print_row(plan, device, i, last, file);
        i = last + 1;
    }
    if (device->why.text[0])
        fprintf(file, "  %s: %s\n", device->name, device->why.text);
}

void nn_rt_plan_print(const void *opaque, FILE *file)
{
    const struct nn_rt_plan *plan = opaque;

    fprintf(file, "plan: %u of %u parts after merging, %llu ns expected\n", plan->n_parts,
            plan->n_before, (unsigned long long)plan->expected_ns);
    for (uint32_t i = 0; i < plan->n_parts; i++)
        print_part(plan, i, file);
    for (uint32_t i = 0; i < plan->n_devices; i++)
        print_device(plan, i, file);
}
