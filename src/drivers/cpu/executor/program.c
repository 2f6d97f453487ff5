/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/program.h"

#include "base/error.h"
#include "base/log.h"
#include "drivers/cpu/lowering/lower.h"
#include "model/types.h"

#include <string.h>

static void print_plan(const void *noun, FILE *file)
{
    nn_plan_print(noun, file);
}

/* ---- plans ---- */

void nn_program_unref_plan(struct nn_program_plan *plan)
{
    if (--plan->n_refs > 0)
        return;
    nn_plan_done(&plan->plan);
    free(plan);
}

/* Under the lock: finds a plan, moves it to the front, and takes a reference. */
static struct nn_program_plan *find_plan(struct nn_program_graph *graph, uint32_t first_node,
                                         const struct nn_frame *frame)
{
    for (struct nn_program_plan **at = &graph->plans; *at; at = &(*at)->next) {
        struct nn_program_plan *plan = *at;

        if (nn_plan_header(&plan->plan)->first_node != first_node ||
            !nn_plan_matches(&plan->plan, frame))
            continue;
        *at = plan->next;
        plan->next = graph->plans;
        graph->plans = plan;
        plan->n_refs++;
        return plan;
    }
    return NULL;
}

/* Under the lock: two threads may have made the same plan; both are good. */
static void add_plan(struct nn_program_graph *graph, struct nn_program_plan *plan)
{
    uint32_t n = 0;

    plan->next = graph->plans;
    graph->plans = plan;
    for (struct nn_program_plan **at = &graph->plans; *at; n++) {
        struct nn_program_plan *old = *at;

        if (n < NN_PROGRAM_MAX_PLANS) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        nn_program_unref_plan(old);
    }
}

/* Two references: the table's and the caller's. */
static int make_plan(struct nn_program *program, uint32_t graph, uint32_t first_node,
                     const struct nn_frame *frame, const struct nn_plan_caller *caller,
                     struct nn_program_plan **ret_plan)
{
    _cleanup_(freep) struct nn_program_plan *plan = calloc(1, sizeof(*plan));
    int r;

    if (!plan)
        return nn_error_origin(-ENOMEM);
    r = nn_lower_segment(&program->graphs[graph].graph, first_node, frame, program->isa, caller,
                         &plan->plan);
    if (r)
        return r;
    nn_trace_printed("plan", print_plan, &plan->plan);
    plan->n_refs = 2;
    *ret_plan = steal_ptr(&plan);
    return 0;
}

/* What a failure to lower means for who wanted the plan. */
static int plan_failure(int r)
{
    if (r == NN_LOWER_E_STOPPED)
        return NN_PROGRAM_E_STOPPED;
    return r < 0 ? nn_error_trace(r) : NN_PROGRAM_E_REFUSED;
}

int nn_program_get_plan(struct nn_program *program, uint32_t graph, uint32_t first_node,
                        const struct nn_frame *frame, const struct nn_plan_caller *caller,
                        struct nn_program_plan **ret_plan)
{
    struct nn_program_plan *plan;
    int r;

    pthread_mutex_lock(&program->lock);
    plan = find_plan(&program->graphs[graph], first_node, frame);
    pthread_mutex_unlock(&program->lock);
    if (!plan && program->is_kept) {
        nn_refuse(caller->why, "an input that the model cannot do without was omitted");
        return NN_PROGRAM_E_REFUSED;
    }
    if (!plan) {
        r = make_plan(program, graph, first_node, frame, caller, &plan);
        if (r == NN_LOWER_E_UNKNOWN)
            nn_refuse(caller->why, "a value that decides a shape was not given");
        if (r)
            return plan_failure(r);
        pthread_mutex_lock(&program->lock);
        add_plan(&program->graphs[graph], plan);
        pthread_mutex_unlock(&program->lock);
    }
    *ret_plan = plan;
    return 0;
}

void nn_program_put_plan(struct nn_program *program, struct nn_program_plan *plan)
{
    pthread_mutex_lock(&program->lock);
    nn_program_unref_plan(plan);
    pthread_mutex_unlock(&program->lock);
}

/* ---- frames ---- */

static struct nn_program_frame *frame_free(struct nn_program_frame *frame)
{
    nn_frame_done(&frame->frame);
    free(frame);
    return NULL;
}

int nn_program_get_frame(struct nn_program *program, uint32_t graph,
                         struct nn_program_frame **ret_frame)
{
    struct nn_program_graph *of = &program->graphs[graph];
    struct nn_program_frame *frame;
    int r;

    pthread_mutex_lock(&program->lock);
    frame = of->spare_frames;
    if (frame) {
        of->spare_frames = frame->next;
        of->n_spare_frames--;
    }
    pthread_mutex_unlock(&program->lock);
    if (!frame) {
        frame = calloc(1, sizeof(*frame));
        if (!frame)
            return nn_error_origin(-ENOMEM);
        r = nn_frame_init(&frame->frame, of->graph.n_values, program->meter);
        if (r < 0) {
            free(frame);
            return nn_error_trace(r);
        }
    }
    *ret_frame = frame;
    return 0;
}

/* Slots are reset outside the lock: the frame is not in the list yet. */
void nn_program_put_frame(struct nn_program *program, uint32_t graph,
                          struct nn_program_frame *frame)
{
    struct nn_program_graph *of = &program->graphs[graph];

    for (uint32_t i = 0; i < frame->frame.n_slots; i++)
        nn_slot_reset(&frame->frame.slots[i]);
    pthread_mutex_lock(&program->lock);
    if (of->n_spare_frames < NN_PROGRAM_MAX_SPARE + program->n_bursts) {
        frame->next = of->spare_frames;
        of->spare_frames = frame;
        of->n_spare_frames++;
        frame = NULL;
    }
    pthread_mutex_unlock(&program->lock);
    if (frame)
        frame_free(frame);
}

/* ---- seats ---- */

void nn_workspace_done(struct nn_workspace *workspace, const struct nn_meter *meter)
{
    free(workspace->arena);
    free(workspace->tensors);
    nn_meter_uncharge(meter, workspace->arena_bytes);
    nn_meter_uncharge(meter, workspace->n_tensors * sizeof(*workspace->tensors));
}

/* Under the program's lock if it has a plan. */
static void seat_free(struct nn_seat *seat, const struct nn_meter *meter)
{
    nn_workspace_done(&seat->workspace, meter);
    nn_frame_done(&seat->frame);
    if (seat->plan)
        nn_program_unref_plan(seat->plan);
    free(seat);
}

static int seat_new(const struct nn_program *program, struct nn_seat **ret_seat)
{
    struct nn_seat *seat = calloc(1, sizeof(*seat));
    int r;

    if (!seat)
        return nn_error_origin(-ENOMEM);
    r = nn_frame_init(&seat->frame, program->graphs[0].graph.n_values, program->meter);
    if (r < 0) {
        free(seat);
        return nn_error_trace(r);
    }
    *ret_seat = seat;
    return 0;
}

static struct nn_seat *take_spare(struct nn_program *program)
{
    struct nn_seat *seat;

    pthread_mutex_lock(&program->lock);
    seat = program->spare_seats;
    if (seat) {
        program->spare_seats = seat->next;
        program->n_spare_seats--;
    }
    pthread_mutex_unlock(&program->lock);
    return seat;
}

int nn_program_get_seat(struct nn_program *program, struct nn_seat **ret_seat)
{
    /* Acquire pairs with the release of nn_program_put_seat(): what the last execution did is seen. */
    struct nn_seat *seat = __atomic_exchange_n(&program->warm_seat, NULL, __ATOMIC_ACQUIRE);

    if (!seat)
        seat = take_spare(program);
    if (!seat)
        return nn_error_trace(seat_new(program, ret_seat));
    *ret_seat = seat;
    return 0;
}

/* The warm seat counts, whether it is taken at the moment or not. Under the lock. */
static void trim_seats(struct nn_program *program, uint32_t n)
{
    while (program->n_spare_seats + 1 > n) {
        struct nn_seat *seat = program->spare_seats;

        program->spare_seats = seat->next;
        program->n_spare_seats--;
        seat_free(seat, program->meter);
    }
}

void nn_program_put_seat(struct nn_program *program, struct nn_seat *seat)
{
    struct nn_seat *none = NULL;

    for (uint32_t i = 0; i < seat->frame.n_slots; i++)
        nn_slot_reset(&seat->frame.slots[i]);
    if (__atomic_compare_exchange_n(&program->warm_seat, &none, seat, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&program->lock);
    if (program->n_spare_seats + 1 < NN_PROGRAM_MAX_SPARE + program->n_bursts) {
        seat->next = program->spare_seats;
        program->spare_seats = seat;
        program->n_spare_seats++;
        seat = NULL;
    } else if (seat->plan) {
        nn_program_unref_plan(seat->plan);
        seat->plan = NULL;
    }
    pthread_mutex_unlock(&program->lock);
    if (seat)
        seat_free(seat, program->meter);
}

int nn_program_get_seat_plan(struct nn_program *program, struct nn_seat *seat,
                             const struct nn_plan_caller *caller, struct nn_program_plan **ret_plan)
{
    int r;

    if (!seat->plan || !nn_plan_matches(&seat->plan->plan, &seat->frame)) {
        struct nn_program_plan *plan;

        r = nn_program_get_plan(program, 0, 0, &seat->frame, caller, &plan);
        if (r)
            return r;
        if (seat->plan)
            nn_program_put_plan(program, seat->plan);
        seat->plan = plan;
    }
    *ret_plan = seat->plan;
    return 0;
}

static void free_seats(struct nn_program *program)
{
    trim_seats(program, 1);
    if (program->warm_seat)
        seat_free(program->warm_seat, program->meter);
}

/* ---- limits ---- */

/* A program whose loops were all too small for the team keeps one thread busy. */
unsigned nn_program_n_threads(struct nn_program *program)
{
    return __atomic_load_n(&program->is_split, __ATOMIC_RELAXED) ? nn_team_size(program->team) : 1;
}

/* Frees what is spare beyond the limit, of each graph and of the program. */
static void trim_spares(struct nn_program *program)
{
    uint32_t limit = NN_PROGRAM_MAX_SPARE + program->n_bursts;

    for (uint32_t i = 0; i < program->n_graphs; i++) {
        struct nn_program_graph *graph = &program->graphs[i];

        while (graph->n_spare_frames > limit) {
            struct nn_program_frame *frame = graph->spare_frames;

            graph->spare_frames = frame->next;
            graph->n_spare_frames--;
            frame_free(frame);
        }
    }
    trim_seats(program, limit);
}

void nn_program_set_bursts(struct nn_program *program, uint32_t n_bursts)
{
    pthread_mutex_lock(&program->lock);
    program->n_bursts = n_bursts;
    trim_spares(program);
    pthread_mutex_unlock(&program->lock);
}

/* ---- the whole ---- */

/* A frame that knows of the inputs what the model says of them: enough for the
 * plans of a model without unknowns. */
static int declare_inputs(const struct nn_graph *graph, struct nn_frame *frame)
{
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        const struct nn_value *value = &graph->values[graph->inputs[i]];
        struct nn_slot *slot = &frame->slots[graph->inputs[i]];
        int r;

        slot->scale = value->scale;
        slot->zero_point = value->zero_point;
        if (!nn_dims_known(value->type, value->n_dims, value->dims))
            continue;
        r = nn_slot_shape(slot, value->type, value->n_dims, value->dims);
        if (r)
            return nn_error_trace(r);
    }
    return 0;
}

/* The seat that it is made in is the first execution's. */
int nn_program_make_first_plan(struct nn_program *program, const struct nn_plan_caller *caller)
{
    struct nn_program_plan *plan;
    struct nn_seat *seat;
    int r = nn_program_get_seat(program, &seat);

    if (r)
        return nn_error_trace(r);
    r = declare_inputs(&program->graphs[0].graph, &seat->frame);
    if (!r)
        r = make_plan(program, 0, 0, &seat->frame, caller, &plan);
    if (!r) {
        add_plan(&program->graphs[0], plan);
        seat->plan = plan; /* make_plan() has made two references */
    }
    nn_program_put_seat(program, seat);
    /* What cannot be computed is the execution's failure, as NNAPI has it: the model is valid. */
    if (r == NN_LOWER_E_UNKNOWN || r == NN_LOWER_E_REFUSED) {
        *caller->why = (struct nn_why){0};
        return 0;
    }
    return r ? plan_failure(r) : 0;
}

struct nn_program *nn_program_new_empty(struct nn_team *team, uint32_t isa)
{
    struct nn_program *program = calloc(1, sizeof(*program));

    if (!program)
        return NULL;
    pthread_mutex_init(&program->lock, NULL);
    program->team = team;
    program->isa = isa;
    return program;
}

int nn_program_new_kept(struct nn_team *team, uint32_t isa, struct nn_program **ret_program)
{
    _cleanup_(nn_program_freep) struct nn_program *program = nn_program_new_empty(team, isa);

    if (!program)
        return nn_error_origin(-ENOMEM);
    program->is_kept = true;
    program->graphs = calloc(1, sizeof(*program->graphs));
    if (!program->graphs)
        return nn_error_origin(-ENOMEM);
    program->n_graphs = 1;
    *ret_program = steal_ptr(&program);
    return 0;
}

static void drop_plans(struct nn_program_graph *graph)
{
    while (graph->plans) {
        struct nn_program_plan *plan = graph->plans;

        graph->plans = plan->next;
        nn_program_unref_plan(plan);
    }
}

static void free_graph(struct nn_program_graph *graph)
{
    drop_plans(graph);
    while (graph->spare_frames) {
        struct nn_program_frame *frame = graph->spare_frames;

        graph->spare_frames = frame->next;
        frame_free(frame);
    }
    nn_graph_done(&graph->graph);
}

struct nn_program *nn_program_free(struct nn_program *program)
{
    if (!program)
        return NULL;
    free_seats(program);
    for (uint32_t i = 0; i < program->n_graphs; i++)
        free_graph(&program->graphs[i]);
    pthread_mutex_destroy(&program->lock);
    free(program->graphs);
    free(program->pools);
    free(program);
    return NULL;
}
