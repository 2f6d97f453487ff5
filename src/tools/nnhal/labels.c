/* SPDX-License-Identifier: Apache-2.0 */
#include "labels.h"

#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int labels_read(const char *path, struct labels *labels)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    if (!file)
        return -1;
    while ((n = getline(&line, &capacity, file)) >= 0) {
        char **names = reallocarray(labels->names, labels->n + 1, sizeof(*names));

        if (!names)
            break;
        labels->names = names;
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        names[labels->n] = strdup(line);
        labels->n += names[labels->n] != NULL;
    }
    n = ferror(file) ? -1 : 0;
    free(line);
    fclose(file);
    return (int)n;
}

void labels_done(struct labels *labels)
{
    for (size_t i = 0; i < labels->n; i++)
        free(labels->names[i]);
    free(labels->names);
    *labels = (struct labels){0};
}

static const struct nnhal_tflite_description *described(const struct labels *labels,
                                                        uint32_t output)
{
    return labels->info ? nnhal_tflite_info_output(labels->info, output) : NULL;
}

bool labels_are_known(const struct labels *labels, uint32_t output)
{
    const struct nnhal_tflite_description *description = described(labels, output);

    return labels->names || (description && description->n_labels);
}

const char *labels_name(const struct labels *labels, uint32_t output, size_t class_index,
                        char text[LABEL_BYTES])
{
    const struct nnhal_tflite_description *description = described(labels, output);
    const char *name = "";

    if (labels->names)
        name = class_index < labels->n ? labels->names[class_index] : "";
    else if (description && class_index < description->n_labels)
        name = description->labels[class_index];
    if (!*name) {
        snprintf(text, LABEL_BYTES, "class %zu", class_index);
        return text;
    }
    snprintf(text, LABEL_BYTES, "%s", name);
    return text_make_plain(text);
}
