/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices compute what, and who helps when one fails. */
#include "drivers/split.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { N = 4 };

/* EXP, ABS, EXP, ABS and so on, of n floats. */
static ANeuralNetworksModel *make_chain_of(uint32_t n, uint32_t n_operations)
{
    const uint32_t input = 0;
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    for (uint32_t i = 0; i < n_operations; i++) {
        uint32_t out = i + 1;

        OK(ANeuralNetworksModel_addOperand(model, &type));
        OK(ANeuralNetworksModel_addOperation(
            model, i % 2 ? ANEURALNETWORKS_ABS : ANEURALNETWORKS_EXP, 1, &i, 1, &out));
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &n_operations));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static ANeuralNetworksModel *make_chain(void)
{
    return make_chain_of(N, 4);
}

static ANeuralNetworksCompilation *compile_any(ANeuralNetworksModel *model, int32_t preference)
{
    ANeuralNetworksCompilation *compilation = NULL;

    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_setPreference(compilation, preference));
    OK(ANeuralNetworksCompilation_finish(compilation));
    return compilation;
}

static const char *name_of(const ANeuralNetworksDevice *device)
{
    const char *name = NULL;

    OK(ANeuralNetworksDevice_getName(device, &name));
    return name;
}

static const char *name_of_part(const ANeuralNetworksCompilation *compilation, uint32_t i)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};

    OK(nnhal_compilation_get_plan(compilation, &plan));
    ck_assert_uint_lt(i, plan.n_parts);
    return name_of(plan.parts[i].device);
}

static ANeuralNetworksExecution *start(ANeuralNetworksCompilation *compilation, const float *in,
                                       float *out)
{
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, N * sizeof(*in)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, N * sizeof(*out)));
    return execution;
}

static const float input[N] = {0, -1, -2, 0.5f};

static void check_output(const float *out)
{
    for (uint32_t i = 0; i < N; i++)
        ck_assert_float_eq_tol(out[i], expf(expf(input[i])), 1e-4f);
}

TEST(what_a_device_declares_decides_and_not_its_name)
{
    ANeuralNetworksCompilation *fast, *frugal;
    ANeuralNetworksModel *model;

    split_rules("0:time=0.9,power=0.9;1:time=0.1,power=0.8;2:time=0.3,power=0.2");
    model = make_chain();
    fast = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    frugal = compile_any(model, ANEURALNETWORKS_PREFER_LOW_POWER);
    ck_assert_str_eq(name_of_part(fast, 0), "partial-1");
    ck_assert_str_eq(name_of_part(frugal, 0), "partial-2");
    ANeuralNetworksCompilation_free(fast);
    ANeuralNetworksCompilation_free(frugal);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* Calls and moves count beside power: a frugal device gets the operations that are worth them. */
TEST(power_decides_between_parts)
{
    ANeuralNetworksModel *large, *small;
    ANeuralNetworksCompilation *compilation;

    split_rules("*:time=9,power=9;0:only=EXP,time=0.9,power=0.01;1:time=0.1,power=0.9");
    large = make_chain_of(100000, 4);
    small = make_chain();
    compilation = compile_any(large, ANEURALNETWORKS_PREFER_LOW_POWER);
    ck_assert_uint_eq(split_count_parts(compilation), 4);
    ck_assert_str_eq(name_of_part(compilation, 0), "partial-0");
    ck_assert_str_eq(name_of_part(compilation, 1), "partial-1");
    ANeuralNetworksCompilation_free(compilation);
    compilation = compile_any(large, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_uint_eq(split_count_parts(compilation), 1);
    ANeuralNetworksCompilation_free(compilation);
    compilation = compile_any(small, ANEURALNETWORKS_PREFER_LOW_POWER);
    ck_assert_uint_eq(split_count_parts(compilation), 1);
    ck_assert_str_eq(name_of_part(compilation, 0), "partial-1");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(large);
    ANeuralNetworksModel_free(small);
}
TEST_END

/* A plan tells times, also where energy has decided. */
TEST(each_preference_expects_the_same_times_of_a_device)
{
    static const int32_t preferences[] = {ANEURALNETWORKS_PREFER_LOW_POWER,
                                          ANEURALNETWORKS_PREFER_SUSTAINED_SPEED,
                                          ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER};
    struct nnhal_plan plans[3];
    ANeuralNetworksCompilation *compilations[3];
    ANeuralNetworksModel *model;

    split_rules("*:time=9,power=9;0:only=EXP,time=0.1,power=0.001;1:only=ABS,time=0.2,power=0.002");
    model = make_chain_of(100000, 4);
    for (uint32_t i = 0; i < 3; i++) {
        compilations[i] = compile_any(model, preferences[i]);
        plans[i].size = sizeof(plans[i]);
        OK(nnhal_compilation_get_plan(compilations[i], &plans[i]));
        ck_assert_uint_eq(plans[i].n_parts, 4);
        ck_assert_uint_eq(plans[i].expected_ns, plans[0].expected_ns);
        for (uint32_t j = 0; j < 4; j++) {
            ck_assert_ptr_eq(plans[i].parts[j].device, plans[0].parts[j].device);
            ck_assert_uint_eq(plans[i].parts[j].compute_ns, plans[0].parts[j].compute_ns);
        }
    }
    for (uint32_t i = 0; i < 3; i++)
        ANeuralNetworksCompilation_free(compilations[i]);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* However slow a driver says it is, and however far away: nnapi-reference is no choice. */
TEST(the_reference_computes_nothing_that_a_driver_takes)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    split_rules("*:time=900;1:time=800;2:time=700");
    model = make_chain();
    compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_str_eq(name_of_part(compilation, 0), "partial-2");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* An operation that no driver takes, however cheap it would be to compute the rest with it. */
TEST(the_reference_computes_only_what_no_driver_takes)
{
    static const char *const expected[] = {"nnapi-reference", "partial-0", "nnapi-reference",
                                           "partial-0"};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    split_rules("*:not=EXP,time=900;0:time=800");
    model = make_chain();
    compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_uint_eq(split_count_parts(compilation), 4);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_str_eq(name_of_part(compilation, i), expected[i]);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* Then it computes what drivers take, too. */
TEST(no_plan_has_more_parts_than_the_cap)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    split_rules("*:not=EXP");
    model = make_chain_of(N, 40);
    compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_uint_le(split_count_parts(compilation), 16);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(the_user_caps_parts)
{
    static const struct {
        const char *cap;
        uint32_t most;
    } cases[] = {{"", 4}, {"100", 4}, {"3", 3}, {"1", 1}, {"0", 1}};
    ANeuralNetworksModel *model;

    split_rules("*:time=9,power=9;0:only=EXP,time=0.1;1:only=ABS,time=0.2");
    model = make_chain_of(100000, 4);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ANeuralNetworksCompilation *compilation;

        setenv("NNHAL_PARTITIONS", cases[i].cap, 1);
        compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
        ck_assert_uint_le(split_count_parts(compilation), cases[i].most);
        ck_assert(cases[i].most < 4 || split_count_parts(compilation) == 4);
        ANeuralNetworksCompilation_free(compilation);
    }
    ANeuralNetworksModel_free(model);
}
TEST_END

/* No driver takes EXP: nnapi-reference computes the rest, too. */
TEST(a_cap_below_what_drivers_take_is_kept_by_the_reference)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    split_rules("*:not=EXP");
    setenv("NNHAL_PARTITIONS", "1", 1);
    model = make_chain();
    compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_uint_eq(split_count_parts(compilation), 1);
    ck_assert_str_eq(name_of_part(compilation, 0), "nnapi-reference");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(the_user_orders_allows_and_denies_devices)
{
    static const struct {
        const char *devices, *expected;
    } cases[] = {
        {"partial-2,partial-0", "partial-2"},
        {"absent,partial-0", "partial-0"},
        {"-partial-1", "partial-2"},
        {"partial-1,-partial-1", "partial-1"}, /* what is chosen stays */
        {"reference,nnapi-reference", "nnapi-reference"},
    };
    ANeuralNetworksModel *model;

    split_rules("0:time=0.9;1:time=0.1;2:time=0.3");
    model = make_chain();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ANeuralNetworksCompilation *compilation;

        setenv("NNHAL_DEVICES", cases[i].devices, 1);
        compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
        ck_assert_str_eq(name_of_part(compilation, 0), cases[i].expected);
        ANeuralNetworksCompilation_free(compilation);
    }
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(devices_that_are_named_and_missing_are_an_error)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = make_chain();
    char why[256];

    setenv("NNHAL_DEVICES", "npu", 1);
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), ANEURALNETWORKS_BAD_DATA);
    nnhal_compilation_get_error(compilation, why, sizeof(why));
    ck_assert_ptr_nonnull(strstr(why, "NNHAL_DEVICES"));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* The file devices.conf in a folder, which is made; text NULL: a folder of that name. */
static void write_list(const char *folder, const char *text)
{
    char path[PATH_MAX];
    FILE *file;

    ck_assert(mkdir(folder, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof(path), "%s/devices.conf", folder);
    if (!text) {
        ck_assert_int_eq(mkdir(path, 0700), 0);
        return;
    }
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void expect_choice(ANeuralNetworksModel *model, const char *device)
{
    ANeuralNetworksCompilation *compilation = compile_any(model,
                                                          ANEURALNETWORKS_PREFER_SUSTAINED_SPEED);

    ck_assert_str_eq(name_of_part(compilation, 0), device);
    ANeuralNetworksCompilation_free(compilation);
}

static void expect_refusal(ANeuralNetworksModel *model, const char *part_of_sentence)
{
    ANeuralNetworksCompilation *compilation = NULL;
    char why[2 * PATH_MAX];

    OK(ANeuralNetworksCompilation_create(model, &compilation));
    ck_assert_msg(ANeuralNetworksCompilation_finish(compilation) == ANEURALNETWORKS_BAD_DATA,
                  "not refused: %s", part_of_sentence);
    nnhal_compilation_get_error(compilation, why, sizeof(why));
    ck_assert_msg(strstr(why, part_of_sentence) != NULL, "%s", why);
    ANeuralNetworksCompilation_free(compilation);
}

/* Where lists may be: the user's own, and two folders that are named. */
struct places {
    char root[64], own[96], first[96], second[96], both[200];
};

static void places_init(struct places *places)
{
    strcpy(places->root, "/tmp/nnhal-choice-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(places->root));
    snprintf(places->own, sizeof(places->own), "%s/nnhal", places->root);
    snprintf(places->first, sizeof(places->first), "%s/first", places->root);
    snprintf(places->second, sizeof(places->second), "%s/second", places->root);
    snprintf(places->both, sizeof(places->both), "%s:%s", places->first, places->second);
    ck_assert_int_eq(setenv("XDG_CONFIG_HOME", places->root, 1), 0);
    ck_assert_int_eq(unsetenv("NNHAL_CONFIG_PATH"), 0);
}

static void places_done(const struct places *places)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r %s", places->root);
    ck_assert_int_eq(system(command), 0);
}

TEST(a_file_orders_allows_and_denies_devices)
{
    struct places places;
    ANeuralNetworksModel *model;

    split_rules("0:time=0.9;1:time=0.1;2:time=0.3;3:time=0.95;4:time=0.95");
    places_init(&places);
    model = make_chain();
    write_list(places.own, "# not the fastest\n\n  -partial-1 # for now\n");
    expect_choice(model, "partial-2");
    write_list(places.own, "partial-0\r\npartial-1");
    expect_choice(model, "partial-0");
    setenv("NNHAL_CONFIG_PATH", places.both, 1);
    expect_choice(model, "partial-1");
    write_list(places.second, "reference\npartial-2\n");
    expect_choice(model, "partial-2");
    write_list(places.first, "# the first that is there counts, and it says nothing\n");
    expect_choice(model, "partial-1");
    write_list(places.first, "partial-4\n");
    expect_choice(model, "partial-4");
    setenv("NNHAL_DEVICES", "partial-3", 1);
    expect_choice(model, "partial-3");
    ANeuralNetworksModel_free(model);
    places_done(&places);
}
TEST_END

TEST(a_file_with_a_line_that_is_no_name_is_an_error)
{
    static const char *const lines[] = {"partial-0,partial-1", "partial 0", "Partial-0", ".npu",
                                        "-"};
    struct places places;
    ANeuralNetworksModel *model;
    char text[256], long_name[300];

    places_init(&places);
    model = make_chain();
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        snprintf(text, sizeof(text), "# names\npartial-0\n%s\n", lines[i]);
        write_list(places.own, text);
        expect_refusal(model, "/nnhal/devices.conf:3: ");
    }
    memset(long_name, 'a', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    write_list(places.own, long_name);
    expect_refusal(model, "/nnhal/devices.conf:1: ");
    write_list(places.own, "npu\n");
    expect_refusal(model, "/nnhal/devices.conf names no device of this machine");
    setenv("NNHAL_CONFIG_PATH", places.both, 1);
    ck_assert_int_eq(mkdir(places.first, 0700), 0);
    write_list(places.second, NULL);
    expect_refusal(model, "/second/devices.conf cannot be read: ");
    ANeuralNetworksModel_free(model);
    places_done(&places);
}
TEST_END

TEST(listed_devices_share_a_model_and_the_plan_says_how)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksModel *model;
    float out[N];

    split_rules("0:only=EXP;1:only=ABS");
    model = make_chain();
    compilation = split_compile(model, 2);
    OK(nnhal_compilation_get_plan(compilation, &plan));
    ck_assert_uint_eq(plan.n_parts, 4);
    ck_assert_uint_eq(plan.n_operations, 4);
    ck_assert_uint_eq(plan.n_devices, 2);
    ck_assert_uint_eq(plan.devices[0].verdicts[0], NNHAL_VERDICT_TAKEN);
    ck_assert_uint_eq(plan.devices[0].verdicts[1], NNHAL_VERDICT_UNSUPPORTED);
    ck_assert_uint_eq(plan.parts[3].wave, 3);
    ck_assert_uint_eq(plan.parts[3].operations[0], 3);
    ck_assert_uint_eq(plan.parts[3].move_bytes, N * sizeof(float));
    execution = start(compilation, input, out);
    OK(ANeuralNetworksExecution_compute(execution));
    check_output(out);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(what_was_promised_is_kept)
{
    const ANeuralNetworksDevice *devices[2];
    ANeuralNetworksModel *model;
    bool supported[4];

    split_rules("0:only=EXP;1:only=ABS");
    model = make_chain();
    devices[0] = find_device("partial-0");
    devices[1] = find_device("partial-1");
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 2, supported));
    for (uint32_t i = 0; i < 4; i++)
        ck_assert(supported[i]);
    ANeuralNetworksCompilation_free(split_compile(model, 2));
    ANeuralNetworksModel_free(model);
}
TEST_END

/* Without a list: what the device gets is planned anew. */
static void expect_planned_without(const char *rules, const char *why)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    split_rules("0:time=0.001,%s;1:time=0.1;2:time=0.3", rules);
    model = make_chain();
    compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_str_eq(name_of_part(compilation, 0), "partial-1");
    OK(nnhal_compilation_get_plan(compilation, &plan));
    ck_assert_uint_eq(plan.devices[0].verdicts[0], NNHAL_VERDICT_REFUSED);
    ck_assert_msg(strstr(plan.devices[0].why, why), "\"%s\"", plan.devices[0].why);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

TEST(a_device_that_fails_to_prepare_is_planned_without)
{
    expect_planned_without("fail=prepare", "told not to prepare");
}
TEST_END

TEST(a_device_that_lies_is_planned_without)
{
    expect_planned_without("lie=1", "these operations are too many together");
}
TEST_END

/* EXP on partial-0, which fails; ABS on partial-1. Returns: what compute() said. */
static int compute_with_failure(ANeuralNetworksModel *model, float *out,
                                struct nnhal_part_info *ret_parts)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    int r;

    setenv("NNHAL_DEVICES", "partial-0,partial-1", 1);
    compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_uint_eq(split_count_parts(compilation), 4);
    split_rules("0:only=EXP,fail=execute;1:only=ABS");
    execution = start(compilation, input, out);
    r = ANeuralNetworksExecution_compute(execution);
    for (uint32_t i = 0; r == 0 && i < 2; i++) {
        ret_parts[i].size = sizeof(ret_parts[i]);
        OK(nnhal_execution_get_part(execution, i, &ret_parts[i]));
        ck_assert_uint_eq(ret_parts[i].n_parts, 4);
        ret_parts[i].why = ret_parts[i].why[0] ? "failed" : "";
    }
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    return r;
}

static void expect_part_elsewhere(void)
{
    struct nnhal_part_info parts[2];
    ANeuralNetworksModel *model;
    float out[N];

    split_rules("0:only=EXP;1:only=ABS");
    model = make_chain();
    OK(compute_with_failure(model, out, parts));
    check_output(out);
    ck_assert_str_eq(name_of(parts[0].planned), "partial-0");
    ck_assert_str_eq(name_of(parts[0].device), "nnapi-reference");
    ck_assert_str_eq(parts[0].why, "failed");
    ck_assert_str_eq(name_of(parts[1].device), "partial-1");
    ck_assert_str_eq(parts[1].why, "");
    ANeuralNetworksModel_free(model);
}

TEST(the_part_that_fails_alone_is_computed_elsewhere)
{
    expect_part_elsewhere();
}
TEST_END

TEST(a_part_is_computed_elsewhere_also_if_the_whole_must_not_be)
{
    setenv("NNHAL_PARTITION", "only", 1);
    expect_part_elsewhere();
}
TEST_END

TEST(nothing_is_computed_elsewhere_if_the_user_says_so)
{
    struct nnhal_part_info parts[2];
    ANeuralNetworksModel *model;
    float out[N];

    setenv("NNHAL_PARTITION", "without-fallback", 1);
    split_rules("0:only=EXP;1:only=ABS");
    model = make_chain();
    ck_assert_int_eq(compute_with_failure(model, out, parts), ANEURALNETWORKS_OP_FAILED);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(one_device_computes_all_if_the_user_says_so)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    setenv("NNHAL_PARTITION", "off", 1);
    split_rules("*:time=1;0:only=EXP,time=0.0001;1:only=ABS,time=0.0001;2:time=0.9");
    model = make_chain();
    compilation = compile_any(model, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER);
    ck_assert_uint_eq(split_count_parts(compilation), 1);
    ck_assert_str_eq(name_of_part(compilation, 0), "partial-2");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

static enum nnhal_cache_outcome compile_cached(ANeuralNetworksModel *model, const char *folder)
{
    struct nnhal_cache_info info = {.size = sizeof(info)};
    const ANeuralNetworksDevice *devices[] = {find_device("partial-0"), find_device("partial-1")};
    const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1};
    ANeuralNetworksCompilation *compilation = NULL;

    OK(ANeuralNetworksCompilation_createForDevices(model, devices, 2, &compilation));
    OK(ANeuralNetworksCompilation_setCaching(compilation, folder, token));
    OK(ANeuralNetworksCompilation_finish(compilation));
    OK(nnhal_compilation_get_cache_info(compilation, &info));
    ANeuralNetworksCompilation_free(compilation);
    return info.outcome;
}

TEST(each_part_comes_from_the_cache)
{
    char folder[] = "/tmp/nnhal-split-XXXXXX", command[64];
    ANeuralNetworksModel *model;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    split_rules("0:only=EXP;1:only=ABS");
    model = make_chain();
    ck_assert_int_eq(compile_cached(model, folder), NNHAL_CACHE_COMPILED);
    ck_assert_int_eq(compile_cached(model, folder), NNHAL_CACHE_HIT);
    ANeuralNetworksModel_free(model);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
TEST_END

CHECK_MAIN("choice", what_a_device_declares_decides_and_not_its_name, power_decides_between_parts,
           each_preference_expects_the_same_times_of_a_device,
           the_reference_computes_nothing_that_a_driver_takes,
           the_reference_computes_only_what_no_driver_takes, no_plan_has_more_parts_than_the_cap,
           the_user_caps_parts, a_cap_below_what_drivers_take_is_kept_by_the_reference,
           the_user_orders_allows_and_denies_devices,
           devices_that_are_named_and_missing_are_an_error, a_file_orders_allows_and_denies_devices,
           a_file_with_a_line_that_is_no_name_is_an_error,
           listed_devices_share_a_model_and_the_plan_says_how, what_was_promised_is_kept,
           a_device_that_fails_to_prepare_is_planned_without, a_device_that_lies_is_planned_without,
           the_part_that_fails_alone_is_computed_elsewhere,
           a_part_is_computed_elsewhere_also_if_the_whole_must_not_be,
           nothing_is_computed_elsewhere_if_the_user_says_so,
           one_device_computes_all_if_the_user_says_so, each_part_comes_from_the_cache)
