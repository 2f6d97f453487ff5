/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/delegate-options.h"

#include <nnhal/ext.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word that an option may be, and what it stands for. */
struct choice {
    const char *word;
    int32_t value;
};

/* Python gives its own words for what is true. */
static const struct choice flags[] = {{"true", 1}, {"false", 0}, {"1", 1}, {"0", 0},
                                      {"True", 1}, {"False", 0}, {NULL, 0}};
static const struct choice modes[] = {{"embedded", 0}, {"private", 0}, {"service", 0}, {NULL, 0}};
static const struct choice preferences[] = {
    {"low-power", ANEURALNETWORKS_PREFER_LOW_POWER},
    {"fast-single-answer", ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER},
    {"sustained-speed", ANEURALNETWORKS_PREFER_SUSTAINED_SPEED},
    {NULL, 0}};
static const struct choice priorities[] = {{"low", ANEURALNETWORKS_PRIORITY_LOW},
                                           {"medium", ANEURALNETWORKS_PRIORITY_MEDIUM},
                                           {"high", ANEURALNETWORKS_PRIORITY_HIGH},
                                           {NULL, 0}};

static const char possible[] = "device, mode, cache_dir, model_token, preference, priority, "
                               "allow_fp16, max_partitions, verbose";

/* Where a sentence goes. */
struct complaint {
    char *text;
    size_t size;
};

static int refuse_choice(const char *key, const char *value, const struct choice *choices,
                         const struct complaint *why)
{
    char words[128] = "";
    size_t n = 0;

    for (; choices->word && n < sizeof(words); choices++)
        n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", n ? ", " : "", choices->word);
    snprintf(why->text, why->size, "the option %s is \"%s\": possible are %s", key, value, words);
    return -EINVAL;
}

static int read_choice(const char *key, const char *value, const struct choice *choices,
                       int32_t *ret_value, const struct complaint *why)
{
    for (const struct choice *c = choices; c->word; c++)
        if (strcmp(c->word, value) == 0) {
            *ret_value = c->value;
            return 0;
        }
    return refuse_choice(key, value, choices, why);
}

static int read_flag(const char *key, const char *value, bool *ret_flag,
                     const struct complaint *why)
{
    int32_t number = *ret_flag;
    int r = read_choice(key, value, flags, &number, why);

    *ret_flag = number;
    return r;
}

static int read_count(const char *key, const char *value, uint32_t *ret_count,
                      const struct complaint *why)
{
    char *end;
    unsigned long count;

    errno = 0;
    count = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno || count > INT32_MAX) {
        snprintf(why->text, why->size,
                 "the option %s is \"%s\": possible are 0 (any number) and numbers up to %d", key,
                 value, INT32_MAX);
        return -EINVAL;
    }
    *ret_count = (uint32_t)count;
    return 0;
}

static int read_text(const char *key, const char *value, char **ret_text,
                     const struct complaint *why)
{
    char *text;

    if (!value[0]) {
        snprintf(why->text, why->size, "the option %s is empty", key);
        return -EINVAL;
    }
    text = strdup(value);
    if (!text)
        return -ENOMEM;
    free(*ret_text);
    *ret_text = text;
    return 0;
}

static int read_option(struct tfl_settings *settings, const char *key, const char *value,
                       const struct complaint *why)
{
    int32_t unused;

    if (!key || !value) {
        snprintf(why->text, why->size, "an option without a name or a value");
        return -EINVAL;
    }
    if (strcmp(key, "device") == 0)
        return read_text(key, value, &settings->device, why);
    if (strcmp(key, "mode") == 0) {
        int r = read_choice(key, value, modes, &unused, why);

        return r ? r : read_text(key, value, &settings->mode, why);
    }
    if (strcmp(key, "cache_dir") == 0)
        return read_text(key, value, &settings->cache_dir, why);
    if (strcmp(key, "model_token") == 0)
        return read_text(key, value, &settings->model_token, why);
    if (strcmp(key, "preference") == 0)
        return read_choice(key, value, preferences, &settings->preference, why);
    if (strcmp(key, "priority") == 0)
        return read_choice(key, value, priorities, &settings->priority, why);
    if (strcmp(key, "allow_fp16") == 0)
        return read_flag(key, value, &settings->allows_fp16, why);
    if (strcmp(key, "max_partitions") == 0)
        return read_count(key, value, &settings->max_partitions, why);
    if (strcmp(key, "verbose") == 0)
        return read_flag(key, value, &settings->is_verbose, why);
    snprintf(why->text, why->size, "there is no option %s: possible are %s", key, possible);
    return -EINVAL;
}

/* -- devices ---------------------------------------------------------------------- */

static bool is_word_of(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == n && strncmp(at, word, n) == 0)
            return true;
    return false;
}

/* Whether the device is among those asked for: by name, with or without "nnhal-" before it. */
static bool is_wanted(const struct tfl_settings *settings, const char *name)
{
    static const char prefix[] = "nnhal-";

    if (!settings->device)
        return strcmp(name, "nnapi-reference") != 0;
    return is_word_of(settings->device, name) ||
           (strncmp(name, prefix, strlen(prefix)) == 0 &&
            is_word_of(settings->device, name + strlen(prefix)));
}

static bool is_reached_by(const struct tfl_settings *settings, const ANeuralNetworksDevice *device)
{
    struct nnhal_where where = {.size = sizeof(where)};

    return !settings->mode || (nnhal_device_get_where(device, &where) == ANEURALNETWORKS_NO_ERROR &&
                               strcmp(where.way_name, settings->mode) == 0);
}

/* names gets those of all devices that are there, for people. */
static int find_devices(struct tfl_settings *settings, char *names, size_t size)
{
    uint32_t n = 0;
    size_t length = 0;

    names[0] = '\0';
    if (ANeuralNetworks_getDeviceCount(&n) != ANEURALNETWORKS_NO_ERROR)
        n = 0; /* after a fork: TensorFlow Lite computes itself */
    settings->devices = calloc(n + 1u, sizeof(ANeuralNetworksDevice *));
    if (!settings->devices)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = "";

        if (ANeuralNetworks_getDevice(i, &device) != ANEURALNETWORKS_NO_ERROR ||
            ANeuralNetworksDevice_getName(device, &name) != ANEURALNETWORKS_NO_ERROR)
            continue;
        if (length < size)
            length += (size_t)snprintf(names + length, size - length, "%s%s", length ? ", " : "",
                                       name);
        if (is_wanted(settings, name) && is_reached_by(settings, device))
            settings->devices[settings->n_devices++] = device;
    }
    return 0;
}

static int choose_devices(struct tfl_settings *settings, const struct complaint *why)
{
    char names[256];
    int r;

    if (settings->mode && setenv("NNHAL_MODE", settings->mode, 1) < 0)
        return -ENOMEM;
    r = find_devices(settings, names, sizeof(names));
    if (r || settings->n_devices)
        return r;
    if (settings->device || settings->mode) {
        snprintf(why->text, why->size, "no device %s is reached in the way %s: there are %s",
                 settings->device ? settings->device : "but nnapi-reference",
                 settings->mode ? settings->mode : "that NNHAL_MODE names",
                 names[0] ? names : "none");
        return -ENODEV;
    }
    return 0;
}

static int read_options(struct tfl_settings *settings, char **keys, char **values, size_t n,
                        const struct complaint *why)
{
    int r = 0;

    for (size_t i = 0; !r && i < n; i++)
        r = read_option(settings, keys[i], values[i], why);
    if (!r && !settings->cache_dir != !settings->model_token) {
        snprintf(
            why->text, why->size,
            "cache_dir and model_token go together: the folder, and what names the model in it");
        r = -EINVAL;
    }
    return r ? r : choose_devices(settings, why);
}

int tfl_settings_new(char **keys, char **values, size_t n, struct tfl_settings **ret_settings,
                     char *message, size_t message_size)
{
    struct tfl_settings *settings = calloc(1, sizeof(*settings));
    const struct complaint why = {message, message_size};
    int r;

    snprintf(message, message_size, "out of memory");
    if (!settings)
        return -ENOMEM;
    settings->n_refs = 1;
    settings->preference = ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER;
    settings->priority = ANEURALNETWORKS_PRIORITY_DEFAULT;
    settings->max_partitions = 3;
    r = read_options(settings, keys, values, n, &why);
    if (r)
        tfl_settings_unref(settings);
    else
        *ret_settings = settings;
    return r;
}

struct tfl_settings *tfl_settings_ref(struct tfl_settings *settings)
{
    __atomic_add_fetch(&settings->n_refs, 1, __ATOMIC_RELAXED);
    return settings;
}

void tfl_settings_unref(struct tfl_settings *settings)
{
    if (!settings || __atomic_sub_fetch(&settings->n_refs, 1, __ATOMIC_ACQ_REL))
        return;
    free(settings->device);
    free(settings->mode);
    free(settings->cache_dir);
    free(settings->model_token);
    free(settings->devices);
    free(settings);
}
