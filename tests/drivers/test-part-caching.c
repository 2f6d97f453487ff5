/* SPDX-License-Identifier: Apache-2.0 */
/* What decides whether the parts of a model come from the cache. */
#include "drivers/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE "0:only=EXP;1:only=ABS"

/* How a model is compiled. */
struct setting {
    const char *rules;
    int32_t preference, priority;
    uint8_t token;
    uint32_t first, second; /* the devices, by number */
    uint32_t n;             /* of the tensors */
};

static const struct setting base = {
    BASE, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER, ANEURALNETWORKS_PRIORITY_MEDIUM, 1, 0, 1, 4};

/* EXP, ABS. */
static ANeuralNetworksModel *make_model(uint32_t n)
{
    const uint32_t places[] = {0, 1, 2};
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = &n};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 3; i++)
        OK(ANeuralNetworksModel_addOperand(model, &type));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_EXP, 1, &places[0], 1, &places[1]));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ABS, 1, &places[1], 1, &places[2]));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &places[0], 1, &places[2]));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static uint32_t compile_in(const char *folder, const struct setting *setting)
{
    const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {setting->token};
    struct nnhal_cache_info info = {.size = sizeof(info)};
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model = make_model(setting->n);
    const ANeuralNetworksDevice *devices[2];
    char names[2][16];

    split_rules("%s", setting->rules);
    snprintf(names[0], sizeof(names[0]), "partial-%u", setting->first);
    snprintf(names[1], sizeof(names[1]), "partial-%u", setting->second);
    for (int i = 0; i < 2; i++)
        devices[i] = find_device(names[i]);
    OK(ANeuralNetworksCompilation_createForDevices(model, devices, 2, &compilation));
    OK(ANeuralNetworksCompilation_setPreference(compilation, setting->preference));
    OK(ANeuralNetworksCompilation_setPriority(compilation, setting->priority));
    OK(ANeuralNetworksCompilation_setCaching(compilation, folder, token));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ck_assert_uint_eq(split_count_parts(compilation), 2);
    OK(nnhal_compilation_get_cache_info(compilation, &info));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return info.outcome;
}

/* In a process of its own: what a driver declares is read once. */
static uint32_t outcome_of(const char *folder, const struct setting *setting)
{
    pid_t child = fork();
    int status = -1;

    if (!child)
        exit((int)compile_in(folder, setting)); /* what is saved is on the disk then */
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return (uint32_t)WEXITSTATUS(status);
}

static struct setting changed(void (*change)(struct setting *setting))
{
    struct setting setting = base;

    change(&setting);
    return setting;
}

static void nothing(struct setting *setting)
{
    setting->n = base.n;
}
static void the_preference(struct setting *setting)
{
    setting->preference = ANEURALNETWORKS_PREFER_SUSTAINED_SPEED;
}
static void the_priority(struct setting *setting)
{
    setting->priority = ANEURALNETWORKS_PRIORITY_HIGH;
}
static void the_token(struct setting *setting)
{
    setting->token = 2;
}
static void the_versions(struct setting *setting)
{
    setting->rules = BASE ";*:version=another";
}
static void the_devices(struct setting *setting)
{
    setting->rules = "2:only=EXP;3:only=ABS";
    setting->first = 2;
    setting->second = 3;
}
static void the_parts(struct setting *setting)
{
    setting->rules = "0:only=ABS;1:only=EXP";
}
static void the_model(struct setting *setting)
{
    setting->n = 5;
}

TEST(everything_that_decides_the_parts_is_in_their_keys)
{
    static const struct {
        const char *name;
        void (*change)(struct setting *setting);
        uint32_t outcome;
    } rows[] = {
        {"nothing", nothing, NNHAL_CACHE_HIT},
        {"the preference", the_preference, NNHAL_CACHE_COMPILED},
        {"the priority", the_priority, NNHAL_CACHE_COMPILED},
        {"the token", the_token, NNHAL_CACHE_COMPILED},
        {"the versions", the_versions, NNHAL_CACHE_COMPILED},
        {"the devices", the_devices, NNHAL_CACHE_COMPILED},
        {"the parts", the_parts, NNHAL_CACHE_COMPILED},
        {"the model", the_model, NNHAL_CACHE_COMPILED},
        {"nothing, at last", nothing, NNHAL_CACHE_HIT},
    };
    char folder[] = "/tmp/nnhal-parts-XXXXXX", command[64];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_uint_eq(outcome_of(folder, &base), NNHAL_CACHE_COMPILED);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct setting setting = changed(rows[i].change);
        uint32_t outcome = outcome_of(folder, &setting);

        ck_assert_msg(outcome == rows[i].outcome, "%s: %u", rows[i].name, outcome);
        /* And the same once more is a hit. */
        ck_assert_uint_eq(outcome_of(folder, &setting), NNHAL_CACHE_HIT);
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
TEST_END

CHECK_MAIN("part-caching", everything_that_decides_the_parts_is_in_their_keys)
