/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - a prepared model: graphs, and the plans made for them so far
 *
 * A program has one graph for the main subgraph and one for each referenced
 * one, and for each graph a small table of plans. A model whose input shapes
 * are all known has the main graph's plan from the beginning; other plans are made when an
 * execution needs them, and are kept until others, used later, push them out.
 *
 * Executions borrow plans (a reference, so that one that is pushed out lives
 * until its last user is done), seats, and frames for what IF and WHILE run, all kept for the
 * next execution: a steady state takes no memory.
 *
 * A seat is what one execution works in. The one that was given back last lies in a word of its
 * own: one execution after the other takes it and gives it back with an exchange each, without
 * the lock. It keeps the plan by which the main graph begins, with a reference, so that a plan
 * that fits again is not looked for in the table.
 *
 * All of it is charged to the program's meter before it is taken.
 *
 * Any number of threads execute one program at a time. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_PROGRAM_H
#define NN_DRIVERS_CPU_EXECUTOR_PROGRAM_H

#include "compiler/passes.h"
#include "drivers/cpu/executor/plan.h"
#include "drivers/cpu/executor/team.h"

#include "model/why.h"

#include <pthread.h>

/* Plans kept per graph. A loop whose tensors grow makes one per round. */
#define NN_PROGRAM_MAX_PLANS 16
/* Frames and seats kept for executions to come. */
#define NN_PROGRAM_MAX_SPARE 4

enum {
    NN_PROGRAM_E_REFUSED = 2, /* why says what cannot be executed */
    NN_PROGRAM_E_STOPPED = 4, /* the caller's deadline has passed, or it was cancelled */
};

struct nn_program_plan {
    struct nn_program_plan *next; /* in the table, most recently used first */
    struct nn_plan plan;
    uint32_t n_refs; /* the table's, the executions' and the seats' */
};

struct nn_workspace {
    uint8_t *arena;
    uint64_t arena_bytes;
    struct nn_tensor *tensors;
    uint32_t n_tensors;
};

struct nn_seat {
    struct nn_seat *next;
    struct nn_workspace workspace;
    struct nn_frame frame;        /* of the main graph */
    struct nn_program_plan *plan; /* NULL: no execution in this seat has had one */
};

struct nn_program_frame {
    struct nn_program_frame *next;
    struct nn_frame frame;
};

struct nn_program_graph {
    struct nn_graph graph;
    struct nn_program_plan *plans;
    struct nn_program_frame *spare_frames;
    uint32_t n_spare_frames;
};

struct nn_program {
    struct nn_team *team;         /* borrowed */
    const struct nn_meter *meter; /* borrowed; NULL: none. The maker sets it */
    uint32_t isa;
    enum nn_pass_set passes;
    bool is_kept; /* it came from the cache without its model: no plans are made */
    uint32_t n_graphs;
    uint32_t n_pools;
    struct nn_program_graph *graphs;
    struct nnhal_mapped_pool *pools;
    pthread_mutex_t lock;      /* plans, spares */
    struct nn_seat *warm_seat; /* the last one given back; atomic */
    struct nn_seat *spare_seats;
    uint32_t n_spare_seats;
    uint32_t n_bursts; /* open: each may keep a frame and a seat more */
    uint32_t is_split; /* some loop was worth more than one thread; atomic */
    uint32_t is_long;  /* loops of an execution were worth waking the team; atomic */
};

/* nn_program_new_empty() - without graphs, which its maker fills in. Returns: NULL: no memory. */
struct nn_program *nn_program_new_empty(struct nn_team *team, uint32_t isa);

/* nn_program_make_first_plan() - the first plan of the main graph, if the model alone decides
 * it. What cannot be executed with any inputs gets none: the execution is refused.
 * Returns: 0, NN_PROGRAM_E_STOPPED, -ENOMEM, -EDQUOT. */
int nn_program_make_first_plan(struct nn_program *program, const struct nn_plan_caller *caller);

/* nn_program_new_kept() - one with an empty graph and no model: it executes the
 * plan that its maker (serialize.h) gives it, and can make no other.
 * Returns: 0, -ENOMEM. */
int nn_program_new_kept(struct nn_team *team, uint32_t isa, struct nn_program **ret_program);

/* nn_program_set_bursts() - how many bursts are open: what one more execution at a
 * time for each works in stays allocated. */
void nn_program_set_bursts(struct nn_program *program, uint32_t n_bursts);

/* nn_program_n_threads() - how many threads its executions keep busy, as far as
 * is known by now. */
unsigned nn_program_n_threads(struct nn_program *program);

/* nn_program_free() - no execution may be in progress. */
struct nn_program *nn_program_free(struct nn_program *program);

NN_DEFINE_CLEANUP(struct nn_program, nn_program_free)

/* nn_program_get_plan() - the plan for the frame that begins at first_node:
 * from the table, or made now. To be given back with nn_program_put_plan().
 * Returns: 0, NN_PROGRAM_E_REFUSED, NN_PROGRAM_E_STOPPED, -ENOMEM, -EDQUOT. */
int nn_program_get_plan(struct nn_program *program, uint32_t graph, uint32_t first_node,
                        const struct nn_frame *frame, const struct nn_plan_caller *caller,
                        struct nn_program_plan **ret_plan);
void nn_program_put_plan(struct nn_program *program, struct nn_program_plan *plan);

/* nn_program_unref_plan() - the same under the lock. */
void nn_program_unref_plan(struct nn_program_plan *plan);

/* nn_program_get_frame() - an empty frame of the graph. Returns: 0, -ENOMEM, -EDQUOT. */
int nn_program_get_frame(struct nn_program *program, uint32_t graph,
                         struct nn_program_frame **ret_frame);
void nn_program_put_frame(struct nn_program *program, uint32_t graph,
                          struct nn_program_frame *frame);

/* nn_program_get_seat() - a seat with an empty frame. Returns: 0, -ENOMEM, -EDQUOT. */
int nn_program_get_seat(struct nn_program *program, struct nn_seat **ret_seat);
void nn_program_put_seat(struct nn_program *program, struct nn_seat *seat);

/* nn_program_get_seat_plan() - the plan that fits the seat's frame from the main graph's first node
 * on: the seat's own, else nn_program_get_plan()'s, which is the seat's from then on, and is given
 * back with it. Returns: as nn_program_get_plan(). */
int nn_program_get_seat_plan(struct nn_program *program, struct nn_seat *seat,
                             const struct nn_plan_caller *caller,
                             struct nn_program_plan **ret_plan);

/* nn_workspace_done() - frees what a workspace has, which was charged to the meter. */
void nn_workspace_done(struct nn_workspace *workspace, const struct nn_meter *meter);

#endif
