/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that was damaged is refused, or at least harmless (under ASan). */
#include "drivers/cpu/lowering/compile.h"
#include "drivers/cpu/executor/exec.h"
#include "drivers/cpu/executor/plan.h"

#include "cpu/cases.h"
#include "support/check-main.h"

#include <malloc.h>
#include <string.h>

enum {
    MAX_BLOCK = 1 << 16,
    UNITS = 100, /* of the first case */
};

struct subject {
    struct builder b;
    struct nn_team *team;
    struct nn_program *program;
    struct nn_plan *plan;
    struct nn_plan_world world;
    uint64_t pool_bytes;
    uint64_t n_bytes;
    _Alignas(64) uint8_t original[MAX_BLOCK];
};

static void subject_init(struct subject *s)
{
    struct nnhal_driver_model model;
    struct nn_stop stop = {.deadline_ns = NNHAL_NO_TIME};
    struct nn_why why = {0};
    int r;

    builder_init(&s->b, 1);
    cpu_cases[0].build(&s->b);
    model = builder_model(&s->b);
    ck_assert_int_eq(nn_team_new(1, &s->team), 0);
    r = nn_compile(&model, &(struct nn_compile_options){s->team, NN_ISA_C, NN_PASSES_ALL, &stop},
                   &why, &s->program);
    ck_assert_msg(r == 0, "%s", why.text);
    s->plan = &s->program->graphs[0].plans->plan;
    s->n_bytes = nn_plan_header(s->plan)->n_bytes;
    ck_assert_uint_le(s->n_bytes, MAX_BLOCK);
    memcpy(s->original, s->plan->block, s->n_bytes);
    s->pool_bytes = s->b.mapped.size;
    s->world = (struct nn_plan_world){.n_values = s->program->graphs[0].graph.n_values,
                                      .n_nodes = s->program->graphs[0].graph.n_nodes,
                                      .n_pools = 1,
                                      .pool_bytes = &s->pool_bytes,
                                      .isa = NN_ISA_C};
}

static void subject_done(struct subject *s)
{
    nn_program_free(s->program);
    nn_team_free(s->team);
    builder_done(&s->b);
}

static int verify(struct subject *s)
{
    return nn_plan_verify(s->plan, s->n_bytes, &s->world);
}

static int execute(struct subject *s, uint8_t out[UNITS])
{
    uint8_t in[6 * 6 * 4];
    struct builder_run run;
    struct nn_why why;

    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 5);
    builder_run_init(&run, &s->b);
    builder_run_input(&run, 0, in, sizeof(in));
    builder_run_output(&run, 0, out, UNITS);
    return nn_exec(s->program, &run.execution, &why);
}

TEST(plan_is_accepted_and_can_be_moved)
{
    static struct subject s;
    uint8_t *moved, *old, first[UNITS] = {0}, second[UNITS] = {1};

    subject_init(&s);
    ck_assert_int_eq(verify(&s), 0);
    ck_assert_int_eq(execute(&s, first), 0);
    /* The same bytes at another address: nothing in them is a pointer. */
    moved = aligned_alloc(64, (s.n_bytes + 63) / 64 * 64);
    memcpy(moved, s.original, s.n_bytes);
    old = s.plan->block;
    memset(old, 0xee, s.n_bytes);
    s.plan->block = moved;
    free(old);
    ck_assert_int_eq(verify(&s), 0);
    ck_assert_int_eq(execute(&s, second), 0);
    ck_assert(memcmp(first, second, UNITS) == 0);
    subject_done(&s);
}
TEST_END

/* A plan that no longer fits the frame was replaced: back to this one, in the table and in the seat. */
static void take_plan_back(struct subject *s)
{
    struct nn_program_graph *graph = &s->program->graphs[0];
    struct nn_seat *seat = s->program->warm_seat;

    while (&graph->plans->plan != s->plan) {
        struct nn_program_plan *other = graph->plans;

        graph->plans = other->next;
        nn_program_unref_plan(other);
    }
    if (seat->plan == graph->plans)
        return;
    nn_program_unref_plan(seat->plan);
    seat->plan = graph->plans;
    seat->plan->n_refs++;
}

/* Most bytes decide an address: what is accepted must not read or write where it may not. */
TEST(a_changed_byte_is_refused_or_harmless)
{
    static const uint8_t changes[] = {1, 2, 4, 0x10, 0x80, 0xff};
    static struct subject s;
    uint64_t n_accepted = 0, n_refused = 0;
    uint8_t out[UNITS];

    /* Damaged sizes may ask for gigabytes, which a debugging allocator would fill. */
    mallopt(M_PERTURB, 0);
    subject_init(&s);
    for (uint64_t i = 0; i < s.n_bytes; i++) {
        for (size_t c = 0; c < sizeof(changes); c++) {
            s.plan->block[i] ^= changes[c];
            if (verify(&s) == 0) {
                n_accepted++;
                execute(&s, out);
                take_plan_back(&s);
            } else {
                n_refused++;
            }
            memcpy(s.plan->block, s.original, s.n_bytes);
        }
    }
    ck_assert_uint_gt(n_refused, n_accepted);
    ck_assert_uint_gt(n_accepted, 0);
    s.n_bytes--;
    ck_assert_int_eq(verify(&s), NN_PLAN_E_INVALID);
    subject_done(&s);
}
TEST_END

TEST(plan_of_another_model_is_refused)
{
    static struct subject s;

    subject_init(&s);
    s.world.n_values = 3;
    ck_assert_int_eq(verify(&s), NN_PLAN_E_INVALID);
    s.world.n_values = s.program->graphs[0].graph.n_values;
    s.pool_bytes = 100;
    ck_assert_int_eq(verify(&s), NN_PLAN_E_INVALID);
    s.pool_bytes = s.b.mapped.size;
    s.plan->weights_bytes -= 64;
    ck_assert_int_eq(verify(&s), NN_PLAN_E_INVALID);
    subject_done(&s);
}
TEST_END

CHECK_MAIN("plan", plan_is_accepted_and_can_be_moved, a_changed_byte_is_refused_or_harmless,
           plan_of_another_model_is_refused)
