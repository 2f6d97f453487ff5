/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-run.c - nnhal run: a model on files or pictures */
#include "image.h"
#include "options.h"
#include "result.h"
#include "session.h"
#include "tool.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_options {
    struct session_options session;
    struct tool_files inputs, outputs, images;
    const char *labels;
    uint32_t top, repeat;
    float mean, deviation;
    bool json;
};

static const char help[] =
    "usage: nnhal run MODEL.tflite [OPTION]...\n\n"
    "Runs the model and prints what it says.\n\n"
    "  --image FILE     a picture (PNG, JPEG, BMP, PPM) for the first input, resized to it;\n"
    "                   may be given many times: one execution each\n"
    "  --input FILE     the bytes of the next input, in the model's order\n"
    "  --output FILE    where the bytes of the next output go\n"
    "  --labels FILE    names of the classes, a line each\n"
    "  --top K          print the K best classes (5)\n"
    "  --mean M, --deviation D\n"
    "                   for float inputs a pixel of 0 to 255 becomes (pixel - M) / D (127.5, "
    "127.5)\n"
    "  --device NAME    the device to use; nnhal devices lists them\n"
    "  --mode MODE      auto, service, private or embedded: how the driver is reached\n"
    "  --path PATH      sync, async or burst: how it is executed\n"
    "  --cache DIR      keep the compiled model in DIR, and take it from there the next time\n"
    "  --repeat N       execute N times and print the median time\n"
    "  --json           print JSON\n";

/* Returns TOOL_OK, or the status to end with (-1: after --help). */
static int run_parse(int argc, char **argv, struct run_options *o)
{
    const struct tool_option options[] = {
        {"image", tool_read_file, &o->images, 0, 0},
        {"input", tool_read_file, &o->inputs, 0, 0},
        {"output", tool_read_file, &o->outputs, 0, 0},
        {"labels", tool_read_text, &o->labels, 0, 0},
        {"top", tool_read_count, &o->top, 1, 1000},
        {"mean", tool_read_number, &o->mean, -1e6, 1e6},
        {"deviation", tool_read_number, &o->deviation, 1e-6, 1e6},
        {"device", tool_read_text, &o->session.device, 0, 0},
        {"mode", tool_read_mode, NULL, 0, 0},
        {"path", session_read_path, &o->session.path, 0, 0},
        {"cache", tool_read_text, &o->session.cache, 0, 0},
        {"repeat", tool_read_count, &o->repeat, 1, 1000000},
        {"json", NULL, &o->json, 0, 0},
    };
    int status = tool_parse(argc, argv,
                            &(struct tool_usage){help, options, sizeof(options) / sizeof(*options),
                                                 1, "one MODEL.tflite is needed"});

    if (status == TOOL_OK)
        o->session.model = argv[optind];
    return status;
}

/* A value as the bytes of a tensor's type. */
static void store_pixel(const struct nnhal_tflite_tensor *tensor, const struct run_options *o,
                        float pixel, uint8_t *data, size_t i)
{
    float value = (pixel - o->mean) / o->deviation;

    switch (tensor->type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
        memcpy(data + 4 * i, &value, sizeof(value));
        break;
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
        data[i] = (uint8_t)(int8_t)(lrintf(pixel) - 128);
        break;
    default:
        data[i] = (uint8_t)lrintf(pixel);
        break;
    }
}

/* Fills the first input, [1, height, width, 1 or 3], with a picture. */
static int use_image(struct session *session, const struct run_options *o, const char *path)
{
    const struct nnhal_tflite_tensor *tensor = nnhal_tflite_input(session->net, 0);
    struct image image;
    char message[256];
    float *pixels;
    size_t n;

    if (!tensor || tensor->n_dimensions != 4 || tensor->dimensions[0] != 1 ||
        (tensor->dimensions[3] != 1 && tensor->dimensions[3] != 3) ||
        (tensor->type != ANEURALNETWORKS_TENSOR_FLOAT32 &&
         tensor->type != ANEURALNETWORKS_TENSOR_QUANT8_ASYMM &&
         tensor->type != ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED))
        return tool_error(TOOL_USAGE, "the model's first input is no picture: use --input");
    if (image_read(path, &image, message, sizeof(message)) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, message);
    n = (size_t)tensor->dimensions[1] * tensor->dimensions[2] * tensor->dimensions[3];
    pixels = calloc(n, sizeof(*pixels));
    if (pixels) {
        image_resize(&image, tensor->dimensions[2], tensor->dimensions[1], tensor->dimensions[3],
                     pixels);
        for (size_t i = 0; i < n; i++)
            store_pixel(tensor, o, pixels[i], session->inputs[0].data, i);
    }
    image_done(&image);
    free(pixels);
    return pixels ? TOOL_OK : tool_error(TOOL_FAILED, "out of memory");
}

/* Reads exactly the bytes of an input. */
static int use_file(struct session *session, uint32_t index, const char *path)
{
    struct session_buffer *input = &session->inputs[index];
    FILE *file = fopen(path, "rbe");
    size_t n;
    bool is_more, is_read;

    if (!file)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, strerror(errno));
    n = fread(input->data, 1, input->n_bytes, file);
    is_more = fgetc(file) != EOF;
    is_read = !ferror(file);
    fclose(file);
    if (!is_read)
        return tool_error(TOOL_BAD_FILE, "%s: it cannot be read", path);
    if (n != input->n_bytes || is_more)
        return tool_error(TOOL_BAD_FILE, "%s: input %u (%s) needs %zu bytes; the file has %s", path,
                          index, nnhal_tflite_input(session->net, index)->name, input->n_bytes,
                          is_more ? "more" : "fewer");
    return TOOL_OK;
}

static int write_outputs(const struct session *session, const struct run_options *o)
{
    for (uint32_t i = 0; i < o->outputs.n; i++) {
        FILE *file = fopen(o->outputs.paths[i], "wbe");
        bool is_written;

        if (!file)
            return tool_error(TOOL_BAD_FILE, "%s: %s", o->outputs.paths[i], strerror(errno));
        is_written = fwrite(session->outputs[i].data, 1, session->outputs[i].n_bytes, file) ==
                     session->outputs[i].n_bytes;
        if (fclose(file) != 0 || !is_written)
            return tool_error(TOOL_BAD_FILE, "%s: cannot be written", o->outputs.paths[i]);
    }
    return TOOL_OK;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Executes o->repeat times; *ret_ns is the median. */
static int run_and_time(struct session *session, const struct run_options *o, uint64_t *ret_ns)
{
    uint64_t *times = calloc(o->repeat, sizeof(*times));
    int status = times ? TOOL_OK : tool_error(TOOL_FAILED, "out of memory");

    for (uint32_t i = 0; i < o->repeat && status == TOOL_OK; i++)
        status = session_run(session, &times[i]);
    if (status == TOOL_OK) {
        qsort(times, o->repeat, sizeof(*times), compare_times);
        *ret_ns = times[o->repeat / 2];
    }
    free(times);
    return status;
}

/* What computed is told at the head, unless another device had to. */
static void print_substitute(const struct session *session)
{
    char where[256], failure[512];

    if (!session_substitute(session, failure, sizeof(failure)))
        return;
    session_where(session, where, sizeof(where));
    printf("  computed on %s, because %s\n", where, failure);
}

/* One execution and what it says; image is NULL for raw inputs. */
static int run_once(struct session *session, const struct run_options *o,
                    const struct result_options *shown, const char *image, cJSON *json)
{
    uint64_t took_ns = 0;
    int status = image ? use_image(session, o, image) : TOOL_OK;

    if (status == TOOL_OK)
        status = run_and_time(session, o, &took_ns);
    if (status == TOOL_OK)
        status = write_outputs(session, o);
    if (status != TOOL_OK)
        return status;
    if (json)
        cJSON_AddItemToArray(json, result_to_json(session, shown, image, took_ns));
    else
        result_print(session, shown, image, took_ns);
    if (!json)
        print_substitute(session);
    return TOOL_OK;
}

static int check_files(const struct session *session, const struct run_options *o)
{
    uint32_t n_given = o->inputs.n + (o->images.n ? 1 : 0);

    if (o->outputs.n > session->n_outputs)
        return tool_error(TOOL_USAGE, "more --output than outputs: the model has %u",
                          session->n_outputs);
    if (n_given != session->n_inputs)
        return tool_error(TOOL_USAGE,
                          "the model has %u input%s: give each with --input FILE, or the first "
                          "with --image FILE",
                          session->n_inputs, session->n_inputs == 1 ? "" : "s");
    return TOOL_OK;
}

static int run_all(struct session *session, const struct run_options *o,
                   const struct result_options *shown, cJSON *json)
{
    int status = check_files(session, o);

    for (uint32_t i = 0; i < o->inputs.n && status == TOOL_OK; i++)
        status = use_file(session, i + (o->images.n ? 1 : 0), o->inputs.paths[i]);
    if (status == TOOL_OK && !o->images.n)
        return run_once(session, o, shown, NULL, json);
    for (uint32_t i = 0; i < o->images.n && status == TOOL_OK; i++)
        status = run_once(session, o, shown, o->images.paths[i], json);
    return status;
}

static void print_json(const struct session *session, cJSON *results)
{
    cJSON *root = cJSON_CreateObject();
    char where[256], failure[512], *text;

    session_where(session, where, sizeof(where));
    cJSON_AddStringToObject(root, "model", session->options.model);
    cJSON_AddStringToObject(root, "device", where);
    if (session_substitute(session, failure, sizeof(failure)))
        cJSON_AddStringToObject(root, "failure", failure);
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

static void print_head(const struct session *session)
{
    char where[256];

    session_where(session, where, sizeof(where));
    printf("%s on %s; loaded in %.1f ms, prepared in %.1f ms\n", session->options.model, where,
           (double)session->load_ns / 1e6, (double)session->prepare_ns / 1e6);
    if (session->options.cache)
        printf("cache: %s: %s\n", session_cache_name(session), session->cache.why);
}

static int run_model(const struct run_options *o, const struct result_options *shown)
{
    cJSON *json = o->json ? cJSON_CreateArray() : NULL;
    struct session session;
    int status = session_open(&o->session, &session);

    if (status == TOOL_OK && !json)
        print_head(&session);
    if (status == TOOL_OK)
        status = run_all(&session, o, shown, json);
    if (json && status == TOOL_OK)
        print_json(&session, json);
    else
        cJSON_Delete(json);
    session_close(&session);
    return status;
}

int cmd_run(int argc, char **argv)
{
    struct run_options o = {.top = 5, .repeat = 1, .mean = 127.5f, .deviation = 127.5f};
    struct result_options shown;
    int status = run_parse(argc, argv, &o);

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    shown = (struct result_options){.top = o.top};
    if (o.labels && result_read_labels(o.labels, &shown) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: the labels cannot be read", o.labels);
    status = run_model(&o, &shown);
    result_done(&shown);
    return status;
}
