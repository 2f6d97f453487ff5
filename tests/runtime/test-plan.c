/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, as people read them, of small graphs and made-up devices. */
#include "rt.h"

#include "runtime/partition/plan.h"
#include "runtime/partition/wave-time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERATIONS = 12, MAX_DEVICES = 3, FAR = 1000 };

/* A graph of ADD: each operation reads one or two operands and writes the next. Operand 0 is
 * the model's input, the last one is its output. */
struct graph {
    uint32_t n;
    uint32_t inputs[MAX_OPERATIONS][2];
    uint32_t other_output; /* 0: there is none */
};

/* One letter for each device and operation: '.' it does not take it, a digit is its cost in
 * microseconds. */
struct device {
    const char *costs;
    uint64_t launch_us;
    uint64_t far_us; /* what each value takes longer to get there */
    uint32_t place;
    bool keeps; /* it has memory of its own */
};

struct world {
    struct graph graph;
    struct device devices[MAX_DEVICES];
    uint32_t n_devices;
    uint64_t move_us;
    uint32_t max_parts;
    bool is_sharing; /* branches go to several places; costs are tenths of milliseconds */
};

/* What of a world a problem points to. */
struct maker {
    struct nnhal_operand operands[MAX_OPERATIONS + 1];
    struct nnhal_operation operations[MAX_OPERATIONS];
    uint32_t outputs[MAX_OPERATIONS];
    uint32_t first, last[2];
    struct nnhal_model model;
    uint64_t costs_ns[MAX_DEVICES * MAX_OPERATIONS];
    uint64_t launch_ns[MAX_DEVICES], move_ns[MAX_DEVICES * (MAX_OPERATIONS + 1)];
    bool keeps[MAX_DEVICES * (MAX_OPERATIONS + 1)];
    uint32_t places[MAX_DEVICES];
};

static const uint32_t four = 4;

static void make_graph(struct maker *maker, const struct graph *graph)
{
    maker->last[0] = graph->n;
    maker->last[1] = graph->other_output;
    for (uint32_t i = 0; i <= graph->n; i++)
        maker->operands[i] = (struct nnhal_operand){
            .type = NNHAL_TENSOR_FLOAT32,
            .lifetime = i == 0                                      ? NNHAL_SUBGRAPH_INPUT
                        : i == graph->n || i == graph->other_output ? NNHAL_SUBGRAPH_OUTPUT
                                                                    : NNHAL_TEMPORARY_VARIABLE,
            .n_dimensions = 1,
            .dimensions = &four,
        };
    for (uint32_t i = 0; i < graph->n; i++) {
        maker->outputs[i] = i + 1;
        maker->operations[i] = (struct nnhal_operation){.type = NNHAL_OP_ADD,
                                                        .n_inputs = 2,
                                                        .inputs = graph->inputs[i],
                                                        .n_outputs = 1,
                                                        .outputs = &maker->outputs[i]};
    }
    maker->model.main = (struct nnhal_subgraph){
        .n_operands = graph->n + 1,
        .n_operations = graph->n,
        .n_input_indexes = 1,
        .n_output_indexes = graph->other_output ? 2 : 1,
        .operands = maker->operands,
        .operations = maker->operations,
        .input_indexes = &maker->first,
        .output_indexes = maker->last,
    };
}

static void make_costs(struct maker *maker, const struct world *world)
{
    for (uint32_t i = 0; i <= world->graph.n; i++)
        for (uint32_t d = 0; d < world->n_devices; d++) {
            maker->move_ns[d * (world->graph.n + 1) + i] =
                (world->move_us + world->devices[d].far_us) * 1000;
            maker->keeps[d * (world->graph.n + 1) + i] = world->devices[d].keeps;
        }
    for (uint32_t d = 0; d < world->n_devices; d++) {
        maker->launch_ns[d] = world->devices[d].launch_us * 1000;
        maker->places[d] = world->devices[d].place;
        for (uint32_t i = 0; i < world->graph.n; i++) {
            char cost = world->devices[d].costs[i];

            maker->costs_ns[d * world->graph.n + i] = cost == '.'
                                                          ? NN_RT_COST_NONE
                                                          : (uint64_t)(cost - '0') *
                                                                (world->is_sharing ? 100000 : 1000);
        }
    }
}

static void make_devices(struct nn_rt_plan *plan, const struct world *world)
{
    static const char *const names[MAX_DEVICES] = {"a", "b", "c"};

    plan->n_devices = world->n_devices;
    plan->devices = nn_arena_new_n(&plan->arena, struct nn_rt_plan_device, MAX_DEVICES);
    for (uint32_t d = 0; d < world->n_devices; d++) {
        plan->devices[d].name = names[d];
        plan->devices[d].source = (enum nnhal_figure_source)d;
        plan->devices[d].verdicts = nn_arena_alloc(&plan->arena, MAX_OPERATIONS);
        memset(plan->devices[d].verdicts, NNHAL_VERDICT_TAKEN, MAX_OPERATIONS);
    }
}

/* After its parts a plan says how devices were judged, each of these in another way. */
static const char *const judgements[MAX_DEVICES] = {
    "  a is judged by constants of its type\n",
    "  b is judged by what it declares\n",
    "  c is judged by what was measured\n",
};

/* The plan's text is to be exactly this, and how devices were judged; NULL: operation is one that no device takes. */
static void check_plan(const struct world *world, const char *expected, uint32_t operation)
{
    struct nn_rt_plan *plan = calloc(1, sizeof(*plan));
    struct nn_rt_partitioning partitioning;
    struct maker maker = {.first = 0};
    uint32_t unsupported = FAR;
    char text[2048] = "", whole[2048 + 256] = "";
    FILE *file;
    int r;

    nn_arena_init(&plan->arena, 0);
    make_graph(&maker, &world->graph);
    make_costs(&maker, world);
    make_devices(plan, world);
    plan->model = &maker.model;
    plan->known = nn_rt_values_new(&maker.model, NULL, &plan->arena);
    const struct nn_rt_partition_problem problem = {
        .graph = &maker.model.main,
        .n_devices = world->n_devices,
        .max_partitions = world->max_parts,
        .costs_ns = maker.costs_ns,
        .launch_ns = maker.launch_ns,
        .move_ns = maker.move_ns,
        .keeps = maker.keeps,
        .places = maker.places,
        .is_merging = true,
        .is_sharing = world->is_sharing,
    };
    r = nn_rt_partition(&problem, &plan->arena, &partitioning, &unsupported);
    if (!expected) {
        ck_assert_int_eq(r, NN_RT_PARTITION_E_UNSUPPORTED);
        ck_assert_uint_eq(unsupported, operation);
    } else {
        ck_assert_int_eq(r, 0);
        ck_assert_int_eq(nn_rt_plan_lay_out(plan, &problem, &partitioning), 0);
        file = fmemopen(text, sizeof(text), "w");
        nn_rt_plan_print(plan, file);
        fclose(file);
        snprintf(whole, sizeof(whole), "%s", expected);
        for (uint32_t d = 0; d < world->n_devices; d++)
            strcat(whole, judgements[d]);
        ck_assert_str_eq(text, whole);
    }
    nn_rt_plan_free(plan);
}

/* 0 -> 1 -> 2 -> 3 -> 4 */
#define CHAIN                                                                                      \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            {0, 0}, {1, 1}, {2, 2},                                                                \
            {                                                                                      \
                3, 3                                                                               \
            }                                                                                      \
        }                                                                                          \
    }

TEST(one_device_that_takes_all_is_one_part)
{
    const struct world world = {CHAIN, {{"1111", 5}, {"2222", 5}}, 2, 1, 0};

    check_plan(&world,
               "plan: 1 of 1 parts after merging, 9000 ns expected\n"
               "  part 0  wave 0  a  operations 0-3  computes 4000 ns, starts 5000 ns, moves 0 "
               "bytes\n",
               0);
}
TEST_END

TEST(of_equal_devices_the_earlier_one_is_chosen)
{
    const struct world world = {CHAIN, {{"2222", 5}, {"2222", 5}}, 2, 1, 0};

    check_plan(&world,
               "plan: 1 of 1 parts after merging, 13000 ns expected\n"
               "  part 0  wave 0  a  operations 0-3  computes 8000 ns, starts 5000 ns, moves 0 "
               "bytes\n",
               0);
}
TEST_END

TEST(a_device_keeps_what_only_it_takes)
{
    const struct world world = {CHAIN, {{"11..", 5}, {"..22", 5}}, 2, 1, 0};

    check_plan(&world,
               "plan: 2 of 2 parts after merging, 17000 ns expected\n"
               "  part 0  wave 0  a  operations 0-1  computes 2000 ns, starts 5000 ns, moves 0 "
               "bytes\n"
               "  part 1  wave 1  b  operations 2-3  computes 4000 ns, starts 5000 ns, moves 16 "
               "bytes\n",
               0);
}
TEST_END

/* Operation 1 is faster on b, but not by as much as it costs to go there and back. */
TEST(an_island_that_does_not_pay_is_merged)
{
    const struct world world = {CHAIN, {{"1911", 5}, {"9199", 5}}, 2, 1, 0};

    check_plan(&world,
               "plan: 1 of 3 parts after merging, 17000 ns expected\n"
               "  part 0  wave 0  a  operations 0-3  computes 12000 ns, starts 5000 ns, moves 0 "
               "bytes\n",
               0);
}
TEST_END

TEST(an_island_that_pays_stays)
{
    const struct world world = {CHAIN, {{"1911", 1}, {"9199", 1}}, 2, 1, 0};

    check_plan(
        &world,
        "plan: 3 of 3 parts after merging, 9000 ns expected\n"
        "  part 0  wave 0  a  operation 0  computes 1000 ns, starts 1000 ns, moves 0 bytes\n"
        "  part 1  wave 1  b  operation 1  computes 1000 ns, starts 1000 ns, moves 16 bytes\n"
        "  part 2  wave 2  a  operations 2-3  computes 2000 ns, starts 1000 ns, moves 16 "
        "bytes\n",
        0);
}
TEST_END

/* Nor does one that is as fast, but to which values are long on their way: only there. */
TEST(a_device_that_is_far_away_gets_no_island)
{
    const struct world world = {
        CHAIN, {{"1911", 1}, {.costs = "9199", .launch_us = 1, .far_us = 10}}, 2, 1, 0};

    check_plan(&world,
               "plan: 1 of 3 parts after merging, 13000 ns expected\n"
               "  part 0  wave 0  a  operations 0-3  computes 12000 ns, starts 1000 ns, moves 0 "
               "bytes\n",
               0);
}
TEST_END

/* The same with a cap of two parts: one device for all of it. */
TEST(no_more_parts_than_the_cap)
{
    const struct world world = {CHAIN, {{"1911", 1}, {"9199", 1}}, 2, 1, 2};

    check_plan(&world,
               "plan: 1 of 3 parts after merging, 13000 ns expected\n"
               "  part 0  wave 0  a  operations 0-3  computes 12000 ns, starts 1000 ns, moves 0 "
               "bytes\n",
               0);
}
TEST_END

/* 0 -> 1 and 0 -> 2 are independent; 3 reads both. */
TEST(independent_parts_are_of_one_wave)
{
    const struct world world = {
        {3, {{0, 0}, {0, 0}, {1, 2}}}, {{"1..", 1}, {".1.", 1}, {"..1", 1}}, 3, 1, 0};

    check_plan(&world,
               "plan: 3 of 3 parts after merging, 8000 ns expected\n"
               "  part 0  wave 0  a  operation 0  computes 1000 ns, starts 1000 ns, moves 0 bytes\n"
               "  part 1  wave 0  b  operation 1  computes 1000 ns, starts 1000 ns, moves 0 bytes\n"
               "  part 2  wave 1  c  operation 2  computes 1000 ns, starts 1000 ns, moves 32 "
               "bytes\n",
               0);
}
TEST_END

/* 0 -> 1 ------> 4
 * 0 -> 2 -> 3 -> 4 */
#define ISLAND                                                                                     \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            {0, 0}, {0, 0}, {2, 2},                                                                \
            {                                                                                      \
                1, 3                                                                               \
            }                                                                                      \
        }                                                                                          \
    }

/* Of two values that the last part reads one is moved. */
#define ISLAND_IN_PARTS                                                                            \
    "plan: 3 of 3 parts after merging, 11000 ns expected\n"                                        \
    "  part 0  wave 0  a  operations 0-1  computes 2000 ns, starts 1000 ns, moves 0 bytes\n"       \
    "  part 1  wave 1  b  operation 2  computes 1000 ns, starts 1000 ns, moves 16 bytes\n"         \
    "  part 2  wave 2  a  operation 3  computes 1000 ns, starts 1000 ns, moves 16 bytes\n"

TEST(what_stays_in_its_device_is_not_moved)
{
    const struct world world = {
        ISLAND, {{"11.1", 1, 0, 0, true}, {"..1.", 1, 0, 0, true}}, 2, 2, 0};

    check_plan(&world, ISLAND_IN_PARTS, 0);
}
TEST_END

/* As a whole it costs 13 us on a, as much as in parts if all three values moved. */
TEST(an_island_around_which_values_stay_pays)
{
    const struct world world = {ISLAND, {{"1191", 1, 0, 0, true}, {"..1.", 1}}, 2, 2, 0};

    check_plan(&world, ISLAND_IN_PARTS, 0);
}
TEST_END

TEST(an_island_around_which_values_move_does_not_pay)
{
    const struct world world = {ISLAND, {{"1191", 1}, {"..1.", 1, 0, 0, true}}, 2, 2, 0};

    check_plan(&world,
               "plan: 1 of 3 parts after merging, 13000 ns expected\n"
               "  part 0  wave 0  a  operations 0-3  computes 12000 ns, starts 1000 ns, moves 0 "
               "bytes\n",
               0);
}
TEST_END

/* b and a read what a has made first. */
TEST(what_another_device_reads_is_moved_to_all)
{
    const struct world world = {{4, {{0, 0}, {1, 1}, {1, 2}, {3, 3}}},
                                {{"1.11", 1, 0, 0, true}, {".1..", 1, 0, 0, true}},
                                2,
                                2,
                                0};

    check_plan(&world,
               "plan: 3 of 3 parts after merging, 13000 ns expected\n"
               "  part 0  wave 0  a  operation 0  computes 1000 ns, starts 1000 ns, moves 0 "
               "bytes\n"
               "  part 1  wave 1  b  operation 1  computes 1000 ns, starts 1000 ns, moves 16 "
               "bytes\n"
               "  part 2  wave 2  a  operations 2-3  computes 2000 ns, starts 1000 ns, moves 32 "
               "bytes\n",
               0);
}
TEST_END

/* a takes 0 and 2, b takes 1, which 2 needs: one part for both of a would not be convex. */
TEST(parts_are_convex)
{
    const struct world world = {{3, {{0, 0}, {1, 1}, {1, 2}}}, {{"1.1", 1}, {".1.", 1}}, 2, 1, 0};

    check_plan(
        &world,
        "plan: 3 of 3 parts after merging, 9000 ns expected\n"
        "  part 0  wave 0  a  operation 0  computes 1000 ns, starts 1000 ns, moves 0 bytes\n"
        "  part 1  wave 1  b  operation 1  computes 1000 ns, starts 1000 ns, moves 16 bytes\n"
        "  part 2  wave 2  a  operation 2  computes 1000 ns, starts 1000 ns, moves 32 "
        "bytes\n",
        0);
}
TEST_END

/* What one device makes for later is computed in one go before the other begins. */
TEST(operations_of_a_device_are_drawn_together)
{
    const struct world world = {
        {4, {{0, 0}, {1, 1}, {0, 0}, {2, 3}}}, {{"1.1.", 1}, {".1.1", 1}}, 2, 1, 0};

    check_plan(&world,
               "plan: 2 of 2 parts after merging, 8000 ns expected\n"
               "  part 0  wave 0  a  operations 0, 2  computes 2000 ns, starts 1000 ns, moves 0 "
               "bytes\n"
               "  part 1  wave 1  b  operations 1, 3  computes 2000 ns, starts 1000 ns, moves 32 "
               "bytes\n",
               0);
}
TEST_END

/* -- branches ------------------------------------------------------------------------------ */

/* 0 is read by 1 -> 2 and by 3 -> 4, of which 5 reads both. */
#define FORK                                                                                       \
    {                                                                                              \
        6,                                                                                         \
        {                                                                                          \
            {0, 0}, {1, 1}, {2, 2}, {1, 1}, {4, 4},                                                \
            {                                                                                      \
                3, 5                                                                               \
            }                                                                                      \
        }                                                                                          \
    }

/* That a computes all of a fork. */
static void check_whole(const struct world *world, unsigned expected_ns)
{
    unsigned starts_ns = (unsigned)world->devices[0].launch_us * 1000;
    char text[256];

    snprintf(text, sizeof(text),
             "plan: 1 of 1 parts after merging, %u ns expected\n"
             "  part 0  wave 0  a  operations 0-5  computes %u ns, starts %u ns, moves 0 bytes\n",
             expected_ns, expected_ns - starts_ns, starts_ns);
    check_plan(world, text, 0);
}

TEST(branches_go_to_two_devices_that_are_as_fast)
{
    const struct world world = {
        FORK, {{"999999", 5, 0, 1}, {"999999", 5, 0, 2}}, 2, 1, 4, .is_sharing = true};

    check_plan(
        &world,
        "plan: 4 of 4 parts after merging, 3618000 ns expected\n"
        "  part 0  wave 0  a  operation 0  computes 900000 ns, starts 5000 ns, moves 0 bytes\n"
        "  part 1  wave 1  a  operations 1-2  computes 1800000 ns, starts 5000 ns, moves 16 bytes\n"
        "  part 2  wave 1  b  operations 3-4  computes 1800000 ns, starts 5000 ns, moves 16 bytes\n"
        "  part 3  wave 2  a  operation 5  computes 900000 ns, starts 5000 ns, moves 32 bytes\n",
        0);
}
TEST_END

TEST(branches_stay_together_where_no_more_parts_are_allowed)
{
    const struct world world = {
        FORK, {{"999999", 5, 0, 1}, {"999999", 5, 0, 2}}, 2, 1, 3, .is_sharing = true};

    check_whole(&world, 5405000);
}
TEST_END

/* They would wait for each other's cores. */
TEST(devices_of_one_place_share_no_branches)
{
    const struct world world = {
        FORK, {{"999999", 5, 0, 0}, {"999999", 5, 0, 0}}, 2, 1, 0, .is_sharing = true};

    check_whole(&world, 5405000);
}
TEST_END

TEST(energy_is_not_shared)
{
    const struct world world = {FORK, {{"999999", 5, 0, 1}, {"999999", 5, 0, 2}}, 2, 1, 0};

    check_whole(&world, 59000);
}
TEST_END

/* A call there takes as long as a branch. */
TEST(branches_that_are_not_worth_a_call_stay)
{
    const struct world world = {
        FORK, {{"111111", 5, 0, 1}, {"111111", 190, 0, 2}}, 2, 1, 0, .is_sharing = true};

    check_whole(&world, 605000);
}
TEST_END

TEST(a_device_that_is_far_slower_gets_no_branch)
{
    const struct world world = {
        FORK, {{"133331", 5, 0, 1}, {"999999", 5, 0, 2}}, 2, 1, 0, .is_sharing = true};

    check_whole(&world, 1405000);
}
TEST_END

/* b does not take the second one. */
TEST(the_branch_that_can_go_goes)
{
    const struct world world = {
        FORK, {{"199991", 5, 0, 1}, {".99.9.", 5, 0, 2}}, 2, 1, 0, .is_sharing = true};

    check_plan(
        &world,
        "plan: 4 of 4 parts after merging, 2018000 ns expected\n"
        "  part 0  wave 0  a  operation 0  computes 100000 ns, starts 5000 ns, moves 0 bytes\n"
        "  part 1  wave 1  a  operations 3-4  computes 1800000 ns, starts 5000 ns, moves 16 bytes\n"
        "  part 2  wave 1  b  operations 1-2  computes 1800000 ns, starts 5000 ns, moves 16 bytes\n"
        "  part 3  wave 2  a  operation 5  computes 100000 ns, starts 5000 ns, moves 32 bytes\n",
        0);
}
TEST_END

/* Where a graph ends its outputs are what is joined: 0 -> 1 and, longer, 2 -> 3 -> 4. */
TEST(what_leads_to_outputs_are_branches)
{
    const struct world world = {{5, {{0, 0}, {1, 1}, {0, 0}, {3, 3}, {4, 4}}, 2},
                                {{"33333", 5, 0, 1}, {"44444", 5, 0, 2}},
                                2,
                                1,
                                0,
                                .is_sharing = true};

    check_plan(
        &world,
        "plan: 2 of 2 parts after merging, 905000 ns expected\n"
        "  part 0  wave 0  a  operations 2-4  computes 900000 ns, starts 5000 ns, moves 0 bytes\n"
        "  part 1  wave 0  b  operations 0-1  computes 800000 ns, starts 5000 ns, moves 0 bytes\n",
        0);
}
TEST_END

/* Of the two on the cores one waits for the other, in this count. */
TEST(a_wave_takes_as_long_as_its_busiest_place)
{
    const struct nn_rt_timed_part parts[] = {
        {0, NN_RT_PLACE_CORES, 60000, 10000, 0},
        {0, NN_RT_PLACE_CORES, 100000, 10000, 1000},
        {0, 1, 150000, 10000, 0},
        {1, 1, 20000, 5000, 0},
        {1, 2, 20000, 5000, 0},
        {2, 1, 100000, 0, 0},
        {2, 2, 300000, 0, 500},
        {3, 1, 100000, 0, 0},
        {3, NN_RT_PLACE_ANY, 100000, 0, 0},
    };

    ck_assert_uint_eq(nn_rt_waves_time(3, parts), 181000);
    ck_assert_uint_eq(nn_rt_waves_time(2, parts + 3), 50000); /* too short for another thread */
    ck_assert_uint_eq(nn_rt_waves_time(2, parts + 5), 300500);
    ck_assert_uint_eq(nn_rt_waves_time(2, parts + 7), 200000);
    ck_assert_uint_eq(nn_rt_waves_time(9, parts), 181000 + 50000 + 300500 + 200000);
}
TEST_END

TEST(an_operation_that_no_device_takes_is_named)
{
    const struct world world = {CHAIN, {{"11.1", 5}, {"11.1", 5}}, 2, 1, 0};

    check_plan(&world, NULL, 2);
}
TEST_END

TEST(what_devices_refused_is_told)
{
    struct nn_rt_plan *plan = calloc(1, sizeof(*plan));
    const struct world world = {CHAIN, {{"1111", 5}, {"....", 5}}, 2, 1, 0};
    struct maker maker = {.first = 0};
    char text[512] = "";
    FILE *file = fmemopen(text, sizeof(text), "w");

    nn_arena_init(&plan->arena, 0);
    make_graph(&maker, &world.graph);
    make_devices(plan, &world);
    plan->model = &maker.model;
    memset(plan->devices[0].verdicts + 1, NNHAL_VERDICT_UNSUPPORTED, 1);
    memset(plan->devices[1].verdicts, NNHAL_VERDICT_UNREACHED, 4);
    strcpy(plan->devices[1].why.text, "it slept");
    nn_rt_plan_print(plan, file);
    fclose(file);
    ck_assert_str_eq(text, "plan: 0 of 0 parts after merging, 0 ns expected\n"
                           "  a is judged by constants of its type\n"
                           "  a does not support 1 (ADD)\n"
                           "  b is judged by what it declares\n"
                           "  b did not answer for 0-3\n"
                           "  b: it slept\n");
    nn_rt_plan_free(plan);
}
TEST_END

CHECK_MAIN("plan", one_device_that_takes_all_is_one_part,
           of_equal_devices_the_earlier_one_is_chosen, a_device_keeps_what_only_it_takes,
           an_island_that_does_not_pay_is_merged, an_island_that_pays_stays,
           a_device_that_is_far_away_gets_no_island, no_more_parts_than_the_cap,
           independent_parts_are_of_one_wave, what_stays_in_its_device_is_not_moved,
           an_island_around_which_values_stay_pays, an_island_around_which_values_move_does_not_pay,
           what_another_device_reads_is_moved_to_all, parts_are_convex,
           operations_of_a_device_are_drawn_together, a_wave_takes_as_long_as_its_busiest_place,
           an_operation_that_no_device_takes_is_named, what_devices_refused_is_told,
           branches_go_to_two_devices_that_are_as_fast,
           branches_stay_together_where_no_more_parts_are_allowed,
           devices_of_one_place_share_no_branches, energy_is_not_shared,
           branches_that_are_not_worth_a_call_stay, a_device_that_is_far_slower_gets_no_branch,
           the_branch_that_can_go_goes, what_leads_to_outputs_are_branches)
