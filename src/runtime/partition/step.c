/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/step.h"

#include "runtime/compilation/preparation.h"
#include "runtime/partition/place-argument.h"
#include "runtime/partition/record.h"

static int execution_new(const struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                         struct nn_why *why, ANeuralNetworksExecution **ret_execution)
{
    int r = nn_rt_execution_new(part->compilation, why, ret_execution);

    if (r)
        return r;
    /* Control flow goes on where it lacked room (is_continued). */
    (*ret_execution)->is_reusable = exchange->whole->is_reusable || part->is_control;
    (*ret_execution)->loop_timeout_ns = exchange->whole->loop_timeout_ns;
    (*ret_execution)->measure = true; /* for the plan's record */
    return 0;
}

/* On any thread: nothing but the step is touched. */
static void step_run(struct nn_rt_errand *errand)
{
    struct nn_rt_step *step = NN_CONTAINER_OF(errand, struct nn_rt_step, errand);
    bool is_remnant = step->part != step->planned;

    step->result = step->calls->compute(
        step->calls->ctx, is_remnant ? NN_RT_PLAN_NONE : step->number, step->execution, &step->why);
}

int nn_rt_step_init(struct nn_rt_step *step, const struct nn_rt_exchange *exchange, uint32_t number,
                    struct nn_why *why)
{
    step->number = number;
    step->planned = &exchange->plan->parts[number];
    step->errand.run = step_run;
    if (!step->planned->compilation)
        return 0;
    return execution_new(exchange, step->planned, why, &step->whole);
}

void nn_rt_step_done(struct nn_rt_step *step)
{
    nn_rt_execution_unref(step->whole);
    nn_rt_remnant_done(&step->remnant);
}

void nn_rt_step_rest(struct nn_rt_step *step)
{
    nn_rt_place_arguments_drop(step->whole);
    nn_rt_place_arguments_drop(step->remnant.execution);
}

void nn_rt_step_renew(struct nn_rt_step *step)
{
    step->is_made = false;
    if (step->whole)
        step->whole->is_reusable = true;
}

/* -- beginning --------------------------------------------------------------------- */

/* Whether nothing is to be made: shapes are all that the outputs have. */
static bool makes_nothing(const struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++)
        if (!nn_rt_value_is_empty(&exchange->knowledge.values[part->output_operands[i]]))
            return false;
    return true;
}

static bool has_empty_input(const struct nn_rt_exchange *exchange,
                            const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_inputs; i++)
        if (part->sources[i].is_value &&
            nn_rt_value_is_empty(&exchange->knowledge.values[part->input_operands[i]]))
            return true;
    return false;
}

static int fail_empty(struct nn_rt_step *step, const struct nn_rt_exchange *exchange,
                      struct nn_why *why)
{
    step->needs_whole_model = true;
    return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                   "%s: a value between two parts of the model is empty, which no device can be "
                   "given as an input",
                   exchange->plan->devices[step->planned->device].name);
}

/* From the whole of a part to what is left of it. */
static int reduce_step(struct nn_rt_step *step, const struct nn_rt_exchange *exchange,
                       struct nn_why *why)
{
    struct nn_rt_remnant *remnant = &step->remnant;
    int r = nn_rt_remnant_reduce(remnant, &exchange->plan->model->main, step->planned,
                                 exchange->knowledge.values);

    if (r == NN_RT_REMNANT_E_NONE)
        return fail_empty(step, exchange, why);
    if (!r && !remnant->part.compilation)
        r = nn_rt_compilation_prepare_part(exchange->whole->compilation, exchange->plan,
                                           &remnant->part, why);
    if (!r && !remnant->execution)
        r = execution_new(exchange, &remnant->part, why, &remnant->execution);
    if (r) {
        nn_rt_remnant_done(remnant);
        return r;
    }
    step->part = &remnant->part;
    step->execution = remnant->execution;
    return 0;
}

static bool reads_resident(const struct nn_rt_exchange *exchange,
                           const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_inputs; i++)
        if (part->sources[i].is_value &&
            nn_rt_exchange_is_resident(exchange, part->sources[i].index))
            return true;
    return false;
}

int nn_rt_step_begin(struct nn_rt_step *step, struct nn_rt_exchange *exchange,
                     const struct nn_rt_steps_calls *calls, struct nn_why *why)
{
    int r;

    step->part = step->planned;
    step->execution = step->whole;
    step->calls = calls;
    step->needs_whole_model = false;
    nn_why_clear(&step->why);
    if (!step->execution)
        return 0;
    r = nn_rt_knowledge_infer(&exchange->knowledge, step->part);
    if (r)
        return r;
    nn_rt_exchange_tell_empty(exchange, step->part);
    if (makes_nothing(exchange, step->part)) {
        step->execution = NULL;
        return 0;
    }
    if (has_empty_input(exchange, step->part))
        r = reduce_step(step, exchange, why);
    if (r)
        return r;
    /* What lies in a device cannot be hashed: the whole's inputs tell which request it is. */
    step->execution->known_by = reads_resident(exchange, step->part) ? exchange->whole : NULL;
    return nn_rt_exchange_set_arguments(exchange, step->part, step->execution);
}

/* -- finishing --------------------------------------------------------------------- */

/* What the computation came to. */
static int learn_result(struct nn_rt_step *step, struct nn_rt_exchange *exchange)
{
    step->is_made = step->result == 0;
    if (step->result == 0 || step->result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
        nn_rt_exchange_learn_shapes(exchange, step->part, step->execution);
    if (step->is_made)
        nn_rt_exchange_note_sizes(exchange, step->part);
    return step->result;
}

static bool has_short_output(const struct nn_rt_exchange *exchange,
                             const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++)
        if (nn_rt_exchange_find_output(exchange, part->targets[i].output) &&
            !exchange->whole->shapes[part->targets[i].output].is_sufficient)
            return true;
    return false;
}

/* With arguments that have changed. */
static int run_again(struct nn_rt_step *step, struct nn_rt_exchange *exchange)
{
    bool is_reusable = step->execution->is_reusable;
    int r = nn_rt_exchange_set_arguments(exchange, step->part, step->execution);

    if (r)
        return r;
    step->execution->is_reusable = true; /* for once more */
    step_run(&step->errand);
    step->execution->is_reusable = is_reusable;
    return learn_result(step, exchange);
}

/* Values that did fit stay where they are: so does a process that was given up, and may write there. */
static int run_with_room(struct nn_rt_step *step, struct nn_rt_exchange *exchange)
{
    bool is_haunted = step->execution->is_haunted;
    int r = nn_rt_exchange_widen(exchange, step->part, step->execution);

    step->execution->is_continued = true;
    if (!r)
        r = run_again(step, exchange);
    step->execution->is_continued = false;
    step->execution->is_haunted |= is_haunted;
    return r;
}

/* Nothing of what another device did in its place. */
static void note_duration(const struct nn_rt_step *step, const struct nn_rt_exchange *exchange)
{
    const ANeuralNetworksExecution *execution = step->execution;

    if (step->part == step->planned && !nn_rt_execution_find_failure(execution)[0])
        nn_rt_record_note_duration(exchange->plan->record, step->number,
                                   &(struct nn_rt_duration){execution->took_ns,
                                                            execution->timing.time_in_driver_ns,
                                                            execution->timing.time_on_device_ns});
}

/* Where a value did not fit, its shape is known now, and it fits the second time. */
int nn_rt_step_finish(struct nn_rt_step *step, struct nn_rt_exchange *exchange)
{
    int r = learn_result(step, exchange);

    if (!r)
        note_duration(step, exchange);
    for (uint32_t i = 1;
         i < NN_RT_PLACE_ATTEMPTS && r == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE &&
         !has_short_output(exchange, step->part);
         i++)
        r = run_with_room(step, exchange);
    return r;
}

bool nn_rt_step_is_haunted(const struct nn_rt_step *step, const struct nn_rt_exchange *exchange)
{
    bool has_values = false;

    if (!step->execution || !step->execution->is_haunted)
        return false;
    for (uint32_t i = 0; i < step->part->n_outputs; i++) {
        const struct nn_rt_plan_target *target = &step->part->targets[i];
        bool is_output = nn_rt_exchange_find_output(exchange, target->output);

        exchange->whole->is_haunted |= is_output;
        has_values |= !is_output && !nn_rt_exchange_is_resident(exchange, target->value);
    }
    return has_values;
}

int nn_rt_step_repeat(struct nn_rt_step *step, struct nn_rt_exchange *exchange)
{
    int r = step->execution ? run_again(step, exchange) : 0;

    return r == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE ? nn_rt_step_finish(step, exchange) : r;
}

void nn_rt_step_tell(const struct nn_rt_step *step, const struct nn_rt_exchange *exchange)
{
    ANeuralNetworksDevice *planned = exchange->plan->devices[step->planned->device].device;
    const ANeuralNetworksExecution *execution = step->execution;

    exchange->whole->parts[step->number] = (struct nnhal_part_info){
        .n_parts = exchange->plan->n_parts,
        .device = execution && execution->device ? execution->device : planned,
        .planned = planned,
        .why = execution ? nn_rt_execution_find_failure(execution) : "",
    };
    if (execution)
        nn_rt_execution_tell_inner(exchange->whole, execution);
}
