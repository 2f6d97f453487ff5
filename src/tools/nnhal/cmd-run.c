/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-run.c - nnhal run: a model on files or pictures */
#include "picture.h"
#include "result.h"
#include "session.h"
#include "sound.h"
#include "tensor-file.h"
#include "text.h"
#include "tool.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_options {
    struct session_options session;
    struct tool_files inputs, outputs, sources; /* sources: pictures and sounds */
    const char *labels;
    uint32_t top, repeat;
    struct picture_norm norm;
    bool is_json, all_values;
};

#define TOOL_VALUES struct run_options
static const struct tool_usage run_usage = {
#include "options/run.def"
};

/* Returns TOOL_OK, or the status to end with (TOOL_HELPED: after --help). */
static int run_parse(int argc, char **argv, struct run_options *o)
{
    int status = tool_parse(argc, argv, &run_usage, o);

    if (status == TOOL_OK)
        o->session.model = argv[optind];
    for (int i = optind + 1; i < argc && status == TOOL_OK; i++)
        status = tool_add_file(&o->sources, argv[i]) ? TOOL_OK : TOOL_FAILED;
    return status;
}

static int write_outputs(const struct session *session, const struct run_options *o)
{
    int status = TOOL_OK;

    for (uint32_t i = 0; i < o->outputs.n && status == TOOL_OK; i++)
        status = tensor_write(session, i, o->outputs.paths[i]);
    return status;
}

/* One execution and what it says; image is NULL for what is neither picture nor sound. */
static int run_once(struct session *session, const struct run_options *o,
                    const struct result_options *shown, const char *image, cJSON *json)
{
    uint64_t took_ns = 0;
    int status = session_run_median(session, o->repeat, &took_ns);

    if (status == TOOL_OK)
        status = write_outputs(session, o);
    if (status != TOOL_OK)
        return status;
    if (json)
        cJSON_AddItemToArray(json, result_to_json(session, shown, image, took_ns));
    else
        result_print(session, shown, image, took_ns);
    if (!json) /* what was planned is told at the head */
        session_print_substitutes(session);
    return TOOL_OK;
}

/* A sound, piece by piece. */
static int run_pieces(struct session *session, const struct run_options *o,
                      const struct result_options *shown, const struct sound *sound,
                      const char *path, cJSON *json)
{
    int status = TOOL_OK;
    char name[512];

    for (size_t i = 0; i < sound->n_pieces && status == TOOL_OK; i++) {
        sound_use(session, sound, i);
        snprintf(name, sizeof(name), "%s, %.2f s", path, sound_place_s(sound, i));
        status = run_once(session, o, shown, json ? NULL : name, json);
        if (json && status == TOOL_OK) {
            cJSON *last = cJSON_GetArrayItem(json, cJSON_GetArraySize(json) - 1);

            cJSON_AddStringToObject(last, "sound", path);
            cJSON_AddNumberToObject(last, "at_s", sound_place_s(sound, i));
            cJSON_AddBoolToObject(last, "rate_is_assumed", sound->is_assumed);
        }
    }
    return status;
}

/* A picture or a sound. */
static int run_source(struct session *session, const struct run_options *o,
                      const struct result_options *shown, const char *path, cJSON *json)
{
    struct sound sound;
    int status;

    if (!sound_is_named(path)) {
        status = picture_use(session, &o->norm, path);
        return status == TOOL_OK ? run_once(session, o, shown, path, json) : status;
    }
    status = sound_open(session, shown->labels.info, path, &sound);
    if (status == TOOL_OK && sound.is_assumed && !json)
        printf("assumed: %u samples a second, as %s has; the model does not say\n", sound.wav.rate,
               path);
    if (status == TOOL_OK)
        status = run_pieces(session, o, shown, &sound, path, json);
    sound_close(&sound);
    return status;
}

/* A line on standard error for each input of the model. */
static void list_inputs(const struct session *session)
{
    char text[192], *name;

    for (uint32_t i = 0; i < session->n_inputs; i++) {
        const struct nnhal_tflite_tensor *input = nnhal_tflite_input(session->net, i);

        tensor_describe(input->type, &session->inputs[i], text, sizeof(text));
        name = strdup(input->name);
        fprintf(stderr, "  input %u, %s: %s\n", i, name ? text_make_plain(name) : "", text);
        free(name);
    }
}

static bool has_inputs(const struct run_options *o)
{
    return o->inputs.n > 0 || o->sources.n > 0;
}

static bool has_pictures(const struct run_options *o)
{
    for (uint32_t i = 0; i < o->sources.n; i++)
        if (!sound_is_named(o->sources.paths[i]))
            return true;
    return false;
}

/* All inputs are given, or none: then they are zeros. */
static int check_files(const struct session *session, const struct run_options *o)
{
    uint32_t n_given = o->inputs.n + (o->sources.n ? 1 : 0);

    if (o->outputs.n > session->n_outputs)
        return tool_error(TOOL_USAGE, "more --output than outputs: the model has %u",
                          session->n_outputs);
    if (!has_inputs(o) || n_given == session->n_inputs)
        return TOOL_OK;
    tool_error(TOOL_USAGE,
               "the model has %u input%s, and %u %s given: give each with --input FILE, or the "
               "first as a picture or sound",
               session->n_inputs, session->n_inputs == 1 ? "" : "s", n_given,
               n_given == 1 ? "was" : "were");
    list_inputs(session);
    return TOOL_USAGE;
}

static int run_all(struct session *session, const struct run_options *o,
                   const struct result_options *shown, cJSON *json)
{
    int status = check_files(session, o);

    for (uint32_t i = 0; i < o->inputs.n && status == TOOL_OK; i++)
        status = tensor_read(session, i + (o->sources.n ? 1 : 0), o->inputs.paths[i]);
    if (status == TOOL_OK && !o->sources.n)
        return run_once(session, o, shown, NULL, json);
    for (uint32_t i = 0; i < o->sources.n && status == TOOL_OK; i++)
        status = run_source(session, o, shown, o->sources.paths[i], json);
    return status;
}

static void print_json(const struct session *session, const struct run_options *o, cJSON *results)
{
    cJSON *root = cJSON_CreateObject(),
          *norm = has_pictures(o) ? picture_norm_to_json(&o->norm) : NULL;
    char *text;

    cJSON_AddStringToObject(root, "model", session->options.model);
    session_devices_to_json(session, root);
    cJSON_AddStringToObject(root, "inputs", has_inputs(o) ? "given" : "zeros");
    if (norm)
        cJSON_AddItemToObject(root, "normalization", norm);
    cJSON_AddNumberToObject(root, "load_ms", (double)session->load_ns / 1e6);
    cJSON_AddNumberToObject(root, "prepare_ms", (double)session->prepare_ns / 1e6);
    if (session->options.cache) {
        cJSON_AddStringToObject(root, "cache", session_cache_name(session));
        cJSON_AddStringToObject(root, "cache_why", session->cache.why);
    }
    cJSON_AddItemToObject(root, "results", results);
    text = cJSON_Print(root);
    puts(text ? text : "{}");
    free(text);
    cJSON_Delete(root);
}

static void print_head(const struct session *session, const struct run_options *o)
{
    char where[512];

    session_where(session, where, sizeof(where));
    printf("%s %s; loaded in %.1f ms, prepared in %.1f ms\n", session->options.model, where,
           (double)session->load_ns / 1e6, (double)session->prepare_ns / 1e6);
    session_print_parts(session);
    if (session->options.cache)
        printf("cache: %s: %s\n", session_cache_name(session), session->cache.why);
    if (!has_inputs(o))
        puts("the inputs are zeros: none was given; nnhal info tells what they are");
    if (has_pictures(o) && o->norm.from && strcmp(o->norm.from, "assumed") == 0)
        printf("assumed: a pixel becomes (pixel - %g) / %g; the model does not say: "
               "--mean and --deviation do\n",
               (double)o->norm.mean, (double)o->norm.deviation);
}

static int run_model(struct run_options *o, const struct result_options *shown)
{
    cJSON *json = o->is_json ? cJSON_CreateArray() : NULL;
    struct session session;
    int status = session_open(&o->session, &session);

    if (status == TOOL_OK)
        picture_choose_norm(&session, shown->labels.info, &o->norm);
    if (status == TOOL_OK && !json)
        print_head(&session, o);
    if (status == TOOL_OK)
        status = run_all(&session, o, shown, json);
    if (json && status == TOOL_OK)
        print_json(&session, o, json);
    else
        cJSON_Delete(json);
    session_close(&session);
    return status;
}

/* With what the model says of itself, if anything. */
static int run_described(struct run_options *o, struct result_options *shown)
{
    struct nnhal_tflite_info *info = NULL;
    char message[256];
    int status;

    if (nnhal_tflite_info_read(o->session.model, &info, message, sizeof(message)) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", o->session.model, text_make_plain(message));
    tool_complain(info, o->session.model);
    shown->labels.info = info;
    status = run_model(o, shown);
    nnhal_tflite_info_free(info);
    return status;
}

static int run_command(int argc, char **argv)
{
    struct run_options o = {.top = 5, .repeat = 1, .norm = {.mean = NAN, .deviation = NAN}};
    struct result_options shown = {0};
    int status = run_parse(argc, argv, &o);

    shown.top = o.top;
    shown.all_values = o.all_values;
    if (status == TOOL_OK && o.labels && labels_read(o.labels, &shown.labels) < 0)
        status = tool_error(TOOL_BAD_FILE, "%s: the labels cannot be read", o.labels);
    if (status == TOOL_OK)
        status = run_described(&o, &shown);
    labels_done(&shown.labels);
    tool_files_done(&o.inputs);
    tool_files_done(&o.outputs);
    tool_files_done(&o.sources);
    return status < 0 ? TOOL_OK : status;
}

const struct tool_command cmd_run = {&run_usage, run_command};
