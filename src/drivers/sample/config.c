/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - reads what to accept
 *
 * A text file of lines: a word, then names. "operations" lists the operations
 * to accept, "types" the types of tensors, "memories" the kinds of memory; one
 * that is not there allows all. "buffers" says where buffers live; without it
 * the host holds them. "bursts" says what serves them; without it the driver does.
 * '#' begins a comment. The format is in README.md. */
#include "sample.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct name {
    const char *text;
    bool *flag;
};

/* Sets the flags of the names in the rest of a line, and clears the others. */
static const char *read_names(char **rest, const struct name *names, size_t n_names)
{
    const char *word;

    for (size_t i = 0; i < n_names; i++)
        *names[i].flag = false;
    while ((word = strtok_r(NULL, " \t\n", rest)) != NULL) {
        size_t i = 0;

        while (i < n_names && strcmp(word, names[i].text) != 0)
            i++;
        if (i == n_names)
            return word;
        *names[i].flag = true;
    }
    return NULL;
}

/* Returns: the word that is not known, NULL if all is well. */
static const char *read_line(char *line, struct config *config)
{
    const struct name operations[] = {{"ADD", &config->accepts_add},
                                      {"MUL", &config->accepts_mul},
                                      {"RELU", &config->accepts_relu},
                                      {"FROM_FIXED", &config->accepts_from_fixed}};
    const struct name types[] = {{"TENSOR_FLOAT32", &config->accepts_float32}};
    const struct name memories[] = {
        {"ASHMEM", &config->accepts_memory[NNHAL_MEMORY_ASHMEM]},
        {"MMAP_FD", &config->accepts_memory[NNHAL_MEMORY_MMAP_FD]},
        {"HARDWARE_BUFFER_BLOB", &config->accepts_memory[NNHAL_MEMORY_HARDWARE_BUFFER_BLOB]},
        {"HARDWARE_BUFFER", &config->accepts_memory[NNHAL_MEMORY_HARDWARE_BUFFER]},
    };
    const struct name buffers[] = {{"OWN", &config->holds_buffers},
                                   {"HOST", &config->leaves_buffers},
                                   {"OPEN", &config->accepts_open_buffers}};
    const struct name bursts[] = {{"OWN", &config->serves_bursts}};
    char *rest = NULL;
    const char *word;

    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, " \t\n", &rest);
    if (!word)
        return NULL;
    if (strcmp(word, "operations") == 0)
        return read_names(&rest, operations, sizeof(operations) / sizeof(operations[0]));
    if (strcmp(word, "types") == 0)
        return read_names(&rest, types, sizeof(types) / sizeof(types[0]));
    if (strcmp(word, "memories") == 0)
        return read_names(&rest, memories, sizeof(memories) / sizeof(memories[0]));
    if (strcmp(word, "buffers") == 0)
        return read_names(&rest, buffers, sizeof(buffers) / sizeof(buffers[0]));
    if (strcmp(word, "bursts") == 0)
        return read_names(&rest, bursts, sizeof(bursts) / sizeof(bursts[0]));
    return word;
}

bool config_read(const char *path, struct config *config, char *text, size_t n_text)
{
    const char *unknown = NULL;
    char line[512];
    FILE *file;

    *config = (struct config){.accepts_add = true,
                              .accepts_mul = true,
                              .accepts_relu = true,
                              .accepts_from_fixed = true,
                              .accepts_float32 = true,
                              .accepts_memory = {true, true, true, true},
                              .leaves_buffers = true,
                              .accepts_open_buffers = true,
                              .serves_bursts = true};
    if (!path)
        return true;
    file = fopen(path, "re");
    if (!file) {
        snprintf(text, n_text, "%s: %s", path, strerror(errno));
        return false;
    }
    for (unsigned number = 1; !unknown && fgets(line, sizeof(line), file); number++) {
        unknown = read_line(line, config);
        if (unknown)
            snprintf(
                text, n_text,
                "%s:%u: %s is not known: a line is \"operations\" with ADD, MUL, RELU or "
                "FROM_FIXED, "
                "\"types\" with TENSOR_FLOAT32, \"memories\" with ASHMEM, MMAP_FD, "
                "HARDWARE_BUFFER_BLOB or HARDWARE_BUFFER, \"buffers\" with OWN, HOST or OPEN, or "
                "\"bursts\" with OWN",
                path, number, unknown);
    }
    fclose(file);
    return !unknown;
}
