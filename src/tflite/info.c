/* SPDX-License-Identifier: Apache-2.0 */
#include <nnhal/tflite-info.h>

#include "tflite/attachment.h"
#include "tflite/calibration.h"
#include "tflite/file.h"
#include "tflite/notes.h"
#include "tflite/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((__visibility__("default")))

/* An input or output with what its description borrows. */
struct port {
    struct nnhal_tflite_description description;
    struct tfl_lines labels;
    struct tfl_calibration calibration;
    float *deviations;
};

struct nnhal_tflite_info {
    struct tfl_file file;
    uint8_t *metadata; /* a copy, aligned */
    struct tfl_notes notes;
    struct nnhal_tflite_origin origin;
    struct port *inputs, *outputs;
    uint32_t n_attached;
    char complaint[256]; /* "": none */
};

/* A small file may name one that is large unpacked, or a long list, any number of times. */
enum { MAX_ATTACHMENTS = 16, MAX_CHANNELS = 4096 };

/* The first thing that is wrong with the metadata is kept. */
__attribute__((__format__(__printf__, 2, 3))) static void complain(struct nnhal_tflite_info *info,
                                                                   const char *format, ...)
{
    va_list args;

    if (*info->complaint)
        return;
    va_start(args, format);
    vsnprintf(info->complaint, sizeof(info->complaint), format, args);
    va_end(args);
}

static const char *type_name(int32_t type)
{
    static const char *const names[] = {
        "float32", "float16",  "int32",     "uint8",  "int64",   "string",
        "bool",    "int16",    "complex64", "int8",   "float64", "complex128",
        "uint64",  "resource", "variant",   "uint32", "uint16",  "int4",
    };

    return type >= 0 && (size_t)type < sizeof(names) / sizeof(*names) ? names[type] : "unknown";
}

static void describe_tensor(const struct tfl_tensor *from, struct nnhal_tflite_description *to)
{
    to->name = from->name;
    to->type = type_name(from->type);
    to->n_dimensions = from->n_dimensions;
    to->dimensions = from->dimensions;
    to->scale = from->scale;
    to->zero_point = from->zero_point;
    to->title = to->text = "";
}

static void attach_lines(struct nnhal_tflite_info *info, const char *name, struct tfl_lines *lines)
{
    int r;

    if (!name)
        return;
    if (info->n_attached == MAX_ATTACHMENTS) {
        complain(info, "its metadata name more than %d files", MAX_ATTACHMENTS);
        return;
    }
    info->n_attached++;
    r = tfl_attachment_read(info->file.bytes, info->file.n_bytes, name, lines);
    if (r == -ENOENT)
        complain(info, "the file \"%s\" that its metadata name is missing", name);
    else if (r == -EFBIG)
        complain(info, "the file \"%s\" in it is larger than %d bytes or %d lines", name,
                 TFL_MAX_ATTACHMENT_BYTES, TFL_MAX_LINES);
    else if (r < 0)
        complain(info, "the file \"%s\" in it cannot be read: %s", name,
                 r == -ENOMEM ? "out of memory" : "the archive is damaged");
}

static void attach_calibration(struct nnhal_tflite_info *info, const struct tfl_note *note,
                               struct port *port)
{
    struct tfl_lines lines = {0};
    int r;

    attach_lines(info, note->calibration, &lines);
    r = lines.n ? tfl_calibration_parse(note, &lines, &port->calibration) : 0;
    if (r < 0)
        complain(info, "the calibration \"%s\": %s", note->calibration,
                 r == -ENOMEM ? "out of memory" : "a line is not 0, 3 or 4 numbers");
    tfl_lines_done(&lines);
}

/* One mean for all channels, and one deviation, stand for as many as there are of the other. */
static void attach_norm(struct nnhal_tflite_info *info, const struct tfl_note *note,
                        struct port *port)
{
    uint32_t n = note->n_means > note->n_deviations ? note->n_means : note->n_deviations;
    float *values;

    if (n > MAX_CHANNELS)
        complain(info, "its normalization of \"%s\" is for more than %d channels",
                 port->description.name, MAX_CHANNELS);
    values = n && n <= MAX_CHANNELS ? calloc(n, 2 * sizeof(*values)) : NULL;
    port->deviations = values;
    if (!values)
        return;
    for (uint32_t i = 0; i < n; i++) {
        bool has_mean = i < note->n_means || note->n_means == 1;
        bool has_deviation = i < note->n_deviations || note->n_deviations == 1;

        values[i] = has_deviation ? note->deviations[note->n_deviations == 1 ? 0 : i] : 0;
        values[n + i] = has_mean ? note->means[note->n_means == 1 ? 0 : i] : 0;
        if (!has_mean || !(values[i] > 0)) {
            complain(info, "its normalization of \"%s\" lacks a mean or a deviation above 0",
                     port->description.name);
            return;
        }
    }
    port->description.n_means = n;
    port->description.deviations = values;
    port->description.means = values + n;
}

static void attach_note(struct nnhal_tflite_info *info, const struct tfl_note *note,
                        struct port *port)
{
    port->description.title = note->title;
    port->description.text = note->text;
    port->description.sample_rate = note->sample_rate;
    port->description.n_channels = note->n_channels;
    attach_norm(info, note, port);
    attach_lines(info, note->labels, &port->labels);
    port->description.n_labels = port->labels.n;
    port->description.labels = port->labels.lines;
    attach_calibration(info, note, port);
}

static int describe_ports(struct nnhal_tflite_info *info, const int32_t *list, uint32_t n,
                          struct port **ret_ports)
{
    *ret_ports = calloc(n ? n : 1, sizeof(**ret_ports));
    for (uint32_t i = 0; *ret_ports && i < n; i++)
        describe_tensor(&info->file.graph.tensors[list[i]], &(*ret_ports)[i].description);
    return *ret_ports ? 0 : -ENOMEM;
}

/* Metadata are of no use to a model: what is wrong with them is told, and fails nothing. */
static void read_metadata(struct nnhal_tflite_info *info)
{
    const struct tfl_graph *graph = &info->file.graph;
    size_t n_bytes;
    const uint8_t *bytes = tfl_file_metadata(&info->file, &n_bytes);
    int r;

    if (!bytes)
        return;
    info->metadata = malloc(n_bytes);
    if (info->metadata)
        memcpy(info->metadata, bytes, n_bytes);
    r = info->metadata ? tfl_notes_parse(info->metadata, n_bytes, &info->notes) : -ENOMEM;
    if (r < 0) {
        complain(info, "its metadata cannot be read: %s",
                 r == -ENOMEM ? "out of memory" : "they are damaged");
        return;
    }
    info->origin = (struct nnhal_tflite_origin){info->notes.name, info->notes.text,
                                                info->notes.version, info->notes.author,
                                                info->notes.license};
    for (uint32_t i = 0; i < graph->n_inputs && i < info->notes.n_inputs; i++)
        attach_note(info, &info->notes.inputs[i], &info->inputs[i]);
    for (uint32_t i = 0; i < graph->n_outputs && i < info->notes.n_outputs; i++)
        attach_note(info, &info->notes.outputs[i], &info->outputs[i]);
}

static int read_info(int fd, struct nnhal_tflite_info *info, char *message, size_t size)
{
    const struct tfl_graph *graph = &info->file.graph;
    uint8_t *bytes;
    size_t n_bytes;
    int r = tfl_file_read(fd, &bytes, &n_bytes, message, size);

    if (!r)
        r = tfl_file_parse(bytes, n_bytes, &info->file, message, size);
    if (r < 0)
        return r;
    info->origin = (struct nnhal_tflite_origin){"", "", "", "", ""};
    if (describe_ports(info, graph->inputs, graph->n_inputs, &info->inputs) < 0 ||
        describe_ports(info, graph->outputs, graph->n_outputs, &info->outputs) < 0) {
        if (size)
            snprintf(message, size, "out of memory");
        return -ENOMEM;
    }
    read_metadata(info);
    return 0;
}

PUBLIC int nnhal_tflite_info_read(const char *path, struct nnhal_tflite_info **ret_info,
                                  char *message, size_t message_size)
{
    struct nnhal_tflite_info *info = calloc(1, sizeof(*info));
    int fd, r;

    if (!info) {
        if (message_size)
            snprintf(message, message_size, "out of memory");
        return -ENOMEM;
    }
    fd = tfl_file_open(path, message, message_size);
    r = fd < 0 ? fd : read_info(fd, info, message, message_size);
    if (fd >= 0)
        close(fd);
    if (r < 0)
        nnhal_tflite_info_free(info);
    else
        *ret_info = info;
    return r;
}

static void free_ports(struct port *ports, uint32_t n)
{
    for (uint32_t i = 0; ports && i < n; i++) {
        tfl_lines_done(&ports[i].labels);
        tfl_calibration_done(&ports[i].calibration);
        free(ports[i].deviations);
    }
    free(ports);
}

PUBLIC void nnhal_tflite_info_free(struct nnhal_tflite_info *info)
{
    if (!info)
        return;
    free_ports(info->inputs, info->file.graph.n_inputs);
    free_ports(info->outputs, info->file.graph.n_outputs);
    tfl_notes_done(&info->notes);
    free(info->metadata);
    tfl_file_done(&info->file);
    free(info);
}

PUBLIC const char *nnhal_tflite_info_complaint(const struct nnhal_tflite_info *info)
{
    return *info->complaint ? info->complaint : NULL;
}

PUBLIC const struct nnhal_tflite_origin *
nnhal_tflite_info_origin(const struct nnhal_tflite_info *info)
{
    return &info->origin;
}

PUBLIC uint32_t nnhal_tflite_info_n_inputs(const struct nnhal_tflite_info *info)
{
    return info->file.graph.n_inputs;
}

PUBLIC uint32_t nnhal_tflite_info_n_outputs(const struct nnhal_tflite_info *info)
{
    return info->file.graph.n_outputs;
}

PUBLIC const struct nnhal_tflite_description *
nnhal_tflite_info_input(const struct nnhal_tflite_info *info, uint32_t index)
{
    return index < info->file.graph.n_inputs ? &info->inputs[index].description : NULL;
}

PUBLIC const struct nnhal_tflite_description *
nnhal_tflite_info_output(const struct nnhal_tflite_info *info, uint32_t index)
{
    return index < info->file.graph.n_outputs ? &info->outputs[index].description : NULL;
}

PUBLIC uint32_t nnhal_tflite_info_n_operations(const struct nnhal_tflite_info *info)
{
    return info->file.graph.n_operators;
}

PUBLIC const char *nnhal_tflite_info_operation(const struct nnhal_tflite_info *info, uint32_t index)
{
    return index < info->file.graph.n_operators ? info->file.graph.operators[index].name : NULL;
}

PUBLIC double nnhal_tflite_info_score(const struct nnhal_tflite_info *info, uint32_t output,
                                      uint32_t class_index, double score)
{
    if (output >= info->file.graph.n_outputs)
        return score;
    return tfl_calibration_apply(&info->outputs[output].calibration, class_index, score);
}
