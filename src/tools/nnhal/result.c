/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include "text.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHOWN_VALUES = 8, MIN_CLASSES = 2, MAX_JSON_VALUES = 1024 };

/* Whether they can be read as per cent; what a model without a softmax says cannot. */
static bool are_probabilities(const double *values, size_t n_values)
{
    for (size_t i = 0; i < n_values; i++)
        if (!(values[i] >= 0 && values[i] <= 1.01)) /* rounded up by 8 bits */
            return false;
    return true;
}

static double calibrated(const struct result_options *options, uint32_t output, size_t class_index,
                         double score)
{
    return options->labels.info
               ? nnhal_tflite_info_score(options->labels.info, output, (uint32_t)class_index, score)
               : score;
}

/* The scores of a classification's classes, malloc'ed. Returns how many; 0: out of memory. */
static size_t class_scores(const struct session *session, const struct result_options *options,
                           double **ret_scores)
{
    size_t n = session_values(session, 0, ret_scores);

    for (size_t i = 0; *ret_scores && i < n; i++)
        (*ret_scores)[i] = calibrated(options, 0, i, (*ret_scores)[i]);
    return *ret_scores ? n : 0;
}

static bool takes_picture(const struct session *session)
{
    const struct nnhal_tflite_tensor *input = nnhal_tflite_input(session->net, 0);

    return input && input->n_dimensions == 4 &&
           (input->dimensions[3] == 1 || input->dimensions[3] == 3);
}

/* Whether the outputs are a row of numbers that can be scores of classes. */
static bool is_row(const struct session *session)
{
    const struct session_buffer *output = session->outputs;
    const struct nnhal_tflite_tensor *tensor = nnhal_tflite_output(session->net, 0);
    size_t n = 1;

    if (session->n_outputs != 1 || tensor->type == ANEURALNETWORKS_TENSOR_INT32 ||
        tensor->type > UINT16_MAX)
        return false;
    for (uint32_t i = 0; i + 1 < output->n_dimensions; i++)
        n *= output->dimensions[i];
    return output->n_dimensions && n == 1 &&
           output->dimensions[output->n_dimensions - 1] >= MIN_CLASSES;
}

/* An autoencoder's row is none: it has no names, takes no picture and gives any numbers. */
static bool is_classification(const struct session *session, const struct result_options *options)
{
    double *values;
    size_t n;
    bool are_scores;

    if (!is_row(session))
        return false;
    if (labels_are_known(&options->labels, 0) || takes_picture(session))
        return true;
    n = session_values(session, 0, &values);
    are_scores = values && are_probabilities(values, n);
    free(values);
    return are_scores;
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

static void print_classes(const struct session *session, const struct result_options *options)
{
    double *scores;
    size_t n_scores = class_scores(session, options, &scores);
    size_t *best = calloc(options->top, sizeof(*best)), n;
    bool are_shares;
    char text[LABEL_BYTES];

    n = n_scores && best ? best_classes(options, scores, n_scores, best) : 0;
    are_shares = n_scores && are_probabilities(scores, n_scores);
    for (size_t i = 0; i < n; i++)
        printf("  %6.*f%s  %s\n", are_shares ? 2 : 4, scores[best[i]] * (are_shares ? 100 : 1),
               are_shares ? " %" : "", labels_name(&options->labels, 0, best[i], text));
    free(best);
    free(scores);
}

/* A count or class that a model gave: 0 for what is none. */
static size_t count_of(double value)
{
    return value >= 0 && value < 1e9 ? (size_t)value : 0;
}

/* What a detector found: boxes [1, N, 4] as top, left, bottom, right in parts of the picture,
 * classes [1, N], scores [1, N] and N. */
struct detections {
    double *values[4];
    size_t n;
};

static void find_detections(const struct session *session, struct detections *ret_found)
{
    size_t n = SIZE_MAX;

    for (uint32_t i = 0; i < 4; i++) {
        size_t n_values = session_values(session, i, &ret_found->values[i]);

        if (!ret_found->values[i])
            n_values = 0;
        if (i == 0)
            n_values /= 4;
        if (i == 3)
            n_values = n_values ? count_of(ret_found->values[3][0]) : 0;
        n = n < n_values ? n : n_values;
    }
    ret_found->n = n;
}

static void detections_done(struct detections *found)
{
    for (int i = 0; i < 4; i++)
        free(found->values[i]);
}

static void print_detections(const struct session *session, const struct result_options *options)
{
    struct detections found;
    char text[LABEL_BYTES];

    find_detections(session, &found);
    for (size_t i = 0; i < found.n; i++) {
        const double *box = found.values[0] + 4 * i;
        size_t class_index = count_of(found.values[1][i]);

        printf("  %6.2f %%  %-16s  left %.3f, top %.3f, right %.3f, bottom %.3f\n",
               100 * calibrated(options, 2, class_index, found.values[2][i]),
               labels_name(&options->labels, 1, class_index, text), box[1], box[0], box[3], box[2]);
    }
    detections_done(&found);
}

static void print_numbers(const struct session *session)
{
    for (uint32_t i = 0; i < session->n_outputs; i++) {
        const struct session_buffer *output = &session->outputs[i];
        double *values;
        size_t n = session_values(session, i, &values);

        printf("  output %u, ", i);
        text_print(nnhal_tflite_output(session->net, i)->name);
        printf(" [");
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
    if (is_classification(session, options))
        print_classes(session, options);
    else if (is_detection(session))
        print_detections(session, options);
    else
        print_numbers(session);
}

static const double MOST_EXACT = 9007199254740992; /* 2^53: every integer below is a double */

/* An integer as it is, else the digits that tell a float32 from its neighbors; JSON has no word for
 * what is no number. */
static cJSON *value_to_json(double value)
{
    char text[32];

    if (isnan(value) || isinf(value))
        return cJSON_CreateNull();
    if (value == trunc(value) && fabs(value) < MOST_EXACT) {
        snprintf(text, sizeof(text), "%.0f", value);
        return cJSON_CreateRaw(text);
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtof(text, NULL) == (float)value)
            break;
    }
    return cJSON_CreateRaw(text);
}

static cJSON *score_to_json(const char *label, size_t class_index, double score)
{
    cJSON *entry = cJSON_CreateObject();

    cJSON_AddNumberToObject(entry, "class", (double)class_index);
    cJSON_AddStringToObject(entry, "label", label);
    cJSON_AddItemToObject(entry, "score", value_to_json(score));
    return entry;
}

static cJSON *classes_to_json(const struct session *session, const struct result_options *options)
{
    cJSON *list = cJSON_CreateArray();
    double *scores;
    size_t n_scores = class_scores(session, options, &scores);
    size_t *best = calloc(options->top, sizeof(*best)), n;
    char text[LABEL_BYTES];

    n = n_scores && best ? best_classes(options, scores, n_scores, best) : 0;
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(list, score_to_json(labels_name(&options->labels, 0, best[i], text),
                                                 best[i], scores[best[i]]));
    free(best);
    free(scores);
    return list;
}

static cJSON *detections_to_json(const struct session *session,
                                 const struct result_options *options)
{
    static const char *const sides[] = {"top", "left", "bottom", "right"};
    cJSON *list = cJSON_CreateArray();
    struct detections found;
    char text[LABEL_BYTES];

    find_detections(session, &found);
    for (size_t i = 0; i < found.n; i++) {
        size_t class_index = count_of(found.values[1][i]);
        cJSON *entry = score_to_json(labels_name(&options->labels, 1, class_index, text),
                                     class_index,
                                     calibrated(options, 2, class_index, found.values[2][i]));

        for (size_t k = 0; k < 4; k++)
            cJSON_AddItemToObject(entry, sides[k], value_to_json(found.values[0][4 * i + k]));
        cJSON_AddItemToArray(list, entry);
    }
    detections_done(&found);
    return list;
}

static cJSON *values_to_json(const double *values, size_t n)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(list, value_to_json(values[i]));
    return list;
}

static cJSON *output_to_json(const struct session *session, const struct result_options *options,
                             uint32_t index)
{
    cJSON *entry = cJSON_CreateObject(), *dimensions = cJSON_CreateArray();
    double *values;
    size_t n = session_values(session, index, &values);

    for (uint32_t k = 0; k < session->outputs[index].n_dimensions; k++)
        cJSON_AddItemToArray(dimensions, cJSON_CreateNumber(session->outputs[index].dimensions[k]));
    text_add_to_json(entry, "name", nnhal_tflite_output(session->net, index)->name);
    cJSON_AddItemToObject(entry, "dimensions", dimensions);
    cJSON_AddNumberToObject(entry, "n_values", (double)n);
    if (values && (options->all_values || n <= MAX_JSON_VALUES))
        cJSON_AddItemToObject(entry, "values", values_to_json(values, n));
    free(values);
    return entry;
}

cJSON *result_to_json(const struct session *session, const struct result_options *options,
                      const char *image, uint64_t took_ns)
{
    cJSON *entry = cJSON_CreateObject(), *outputs = cJSON_CreateArray();

    if (image)
        cJSON_AddStringToObject(entry, "image", image);
    cJSON_AddNumberToObject(entry, "execute_ms", (double)took_ns / 1e6);
    if (is_classification(session, options))
        cJSON_AddItemToObject(entry, "classes", classes_to_json(session, options));
    else if (is_detection(session))
        cJSON_AddItemToObject(entry, "detections", detections_to_json(session, options));
    for (uint32_t i = 0; i < session->n_outputs; i++)
        cJSON_AddItemToArray(outputs, output_to_json(session, options, i));
    cJSON_AddItemToObject(entry, "outputs", outputs);
    return entry;
}
