/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHOWN_VALUES = 8, MIN_CLASSES = 2 };

int result_read_labels(const char *path, struct result_options *options)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    if (!file)
        return -1;
    while ((n = getline(&line, &capacity, file)) >= 0) {
        char **labels = reallocarray(options->labels, options->n_labels + 1, sizeof(*labels));

        if (!labels)
            break;
        options->labels = labels;
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        labels[options->n_labels] = strdup(line);
        options->n_labels += labels[options->n_labels] != NULL;
    }
    n = ferror(file) ? -1 : 0;
    free(line);
    fclose(file);
    return (int)n;
}

void result_done(struct result_options *options)
{
    for (size_t i = 0; i < options->n_labels; i++)
        free(options->labels[i]);
    free(options->labels);
    options->labels = NULL;
    options->n_labels = 0;
}

/* The name of a class; number, into text, where there is no label. */
static const char *label_of(const struct result_options *options, size_t class_index, char text[32])
{
    if (class_index < options->n_labels && *options->labels[class_index])
        return options->labels[class_index];
    snprintf(text, 32, "class %zu", class_index);
    return text;
}

static bool is_classification(const struct session *session)
{
    const struct session_buffer *output = session->outputs;
    const struct nnhal_tflite_tensor *tensor = nnhal_tflite_output(session->net, 0);
    size_t n = 1;

    if (session->n_outputs != 1 || tensor->type == ANEURALNETWORKS_TENSOR_INT32)
        return false;
    for (uint32_t i = 0; i + 1 < output->n_dimensions; i++)
        n *= output->dimensions[i];
    return output->n_dimensions && n == 1 &&
           output->dimensions[output->n_dimensions - 1] >= MIN_CLASSES;
}

static bool is_detection(const struct session *session)
{
    const struct session_buffer *out = session->outputs;

    return session->n_outputs == 4 && out[0].n_dimensions == 3 && out[0].dimensions[2] == 4 &&
           out[1].n_dimensions == 2 && out[2].n_dimensions == 2 && out[3].n_bytes == 4 &&
           out[1].dimensions[1] == out[0].dimensions[1] &&
           out[2].dimensions[1] == out[0].dimensions[1];
}

/* The index of the best value that is not in taken[0..n). */
static size_t next_best(const double *values, size_t n_values, const size_t *taken, size_t n)
{
    size_t best = n_values;

    for (size_t i = 0; i < n_values; i++) {
        bool is_taken = false;

        for (size_t k = 0; k < n; k++)
            is_taken |= taken[k] == i;
        if (!is_taken && (best == n_values || values[i] > values[best]))
            best = i;
    }
    return best;
}

/* The options->top best classes, best first. Returns how many. */
static size_t best_classes(const struct result_options *options, const double *values,
                           size_t n_values, size_t *ret_best)
{
    size_t n = options->top < n_values ? options->top : n_values;

    for (size_t i = 0; i < n; i++)
        ret_best[i] = next_best(values, n_values, ret_best, i);
    return n;
}

/* Whether they can be read as per cent; what a model without a softmax says cannot. */
static bool are_probabilities(const double *values, size_t n_values)
{
    for (size_t i = 0; i < n_values; i++)
        if (!(values[i] >= 0 && values[i] <= 1.01)) /* rounded up by 8 bits */
            return false;
    return true;
}

static void print_classes(const struct session *session, const struct result_options *options)
{
    double *values;
    size_t n_values = session_values(session, 0, &values);
    size_t *best = calloc(options->top, sizeof(*best)), n;
    bool are_shares;
    char text[32];

    n = values && best ? best_classes(options, values, n_values, best) : 0;
    are_shares = values && are_probabilities(values, n_values);
    for (size_t i = 0; i < n; i++)
        printf("  %6.*f%s  %s\n", are_shares ? 2 : 4, values[best[i]] * (are_shares ? 100 : 1),
               are_shares ? " %" : "", label_of(options, best[i], text));
    free(best);
    free(values);
}

/* A count or class that a model gave: 0 for what is none. */
static size_t count_of(double value)
{
    return value >= 0 && value < 1e9 ? (size_t)value : 0;
}

/* boxes [1, N, 4] as top, left, bottom, right in parts of the picture */
static void print_detections(const struct session *session, const struct result_options *options)
{
    double *values[4];
    size_t n = SIZE_MAX;
    char text[32];

    for (uint32_t i = 0; i < 4; i++) {
        size_t n_values = session_values(session, i, &values[i]);

        if (i == 3)
            n_values = n_values ? count_of(values[3][0]) : 0;
        n = n < n_values ? n : n_values;
    }
    for (size_t i = 0; i < n; i++) {
        const double *box = values[0] + 4 * i;

        printf("  %6.2f %%  %-16s  left %.3f, top %.3f, right %.3f, bottom %.3f\n",
               100 * values[2][i], label_of(options, count_of(values[1][i]), text), box[1], box[0],
               box[3], box[2]);
    }
    for (int i = 0; i < 4; i++)
        free(values[i]);
}

static void print_numbers(const struct session *session)
{
    for (uint32_t i = 0; i < session->n_outputs; i++) {
        const struct session_buffer *output = &session->outputs[i];
        double *values;
        size_t n = session_values(session, i, &values);

        printf("  output %u, %s [", i, nnhal_tflite_output(session->net, i)->name);
        for (uint32_t k = 0; k < output->n_dimensions; k++)
            printf("%s%u", k ? ", " : "", output->dimensions[k]);
        printf("]:");
        for (size_t k = 0; k < n && k < MAX_SHOWN_VALUES; k++)
            printf(" %.6g", values[k]);
        puts(n > MAX_SHOWN_VALUES ? " ..." : "");
        free(values);
    }
}

void result_print(const struct session *session, const struct result_options *options,
                  const char *image, uint64_t took_ns)
{
    printf("%s%sexecuted in %.2f ms\n", image ? image : "", image ? ": " : "",
           (double)took_ns / 1e6);
    if (is_classification(session))
        print_classes(session, options);
    else if (is_detection(session))
        print_detections(session, options);
    else
        print_numbers(session);
}

static cJSON *classes_to_json(const struct session *session, const struct result_options *options)
{
    cJSON *list = cJSON_CreateArray();
    double *values;
    size_t n_values = session_values(session, 0, &values);
    size_t *best = calloc(options->top, sizeof(*best)), n;
    char text[32];

    n = values && best ? best_classes(options, values, n_values, best) : 0;
    for (size_t i = 0; i < n; i++) {
        cJSON *entry = cJSON_CreateObject();

        cJSON_AddNumberToObject(entry, "class", (double)best[i]);
        cJSON_AddStringToObject(entry, "label", label_of(options, best[i], text));
        cJSON_AddNumberToObject(entry, "score", values[best[i]]);
        cJSON_AddItemToArray(list, entry);
    }
    free(best);
    free(values);
    return list;
}

static cJSON *outputs_to_json(const struct session *session)
{
    cJSON *list = cJSON_CreateArray();

    for (uint32_t i = 0; i < session->n_outputs; i++) {
        cJSON *entry = cJSON_CreateObject(), *dimensions = cJSON_CreateArray();
        double *values;
        size_t n = session_values(session, i, &values);

        for (uint32_t k = 0; k < session->outputs[i].n_dimensions; k++)
            cJSON_AddItemToArray(dimensions, cJSON_CreateNumber(session->outputs[i].dimensions[k]));
        cJSON_AddStringToObject(entry, "name", nnhal_tflite_output(session->net, i)->name);
        cJSON_AddItemToObject(entry, "dimensions", dimensions);
        cJSON_AddItemToObject(entry, "values", cJSON_CreateDoubleArray(values, (int)n));
        cJSON_AddItemToArray(list, entry);
        free(values);
    }
    return list;
}

cJSON *result_to_json(const struct session *session, const struct result_options *options,
                      const char *image, uint64_t took_ns)
{
    cJSON *entry = cJSON_CreateObject();

    if (image)
        cJSON_AddStringToObject(entry, "image", image);
    cJSON_AddNumberToObject(entry, "execute_ms", (double)took_ns / 1e6);
    if (is_classification(session))
        cJSON_AddItemToObject(entry, "classes", classes_to_json(session, options));
    cJSON_AddItemToObject(entry, "outputs", outputs_to_json(session));
    return entry;
}
