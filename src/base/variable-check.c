/* SPDX-License-Identifier: Apache-2.0 */
/* variable-check.c - values of variables that make no sense, found before they are used
 *
 * The values column of variables.def says what a variable takes. What is checked: choices
 * ("`on`, `off`"), lists of them ("..., several separated by commas", where `TOPIC:LEVEL` stands
 * for a word and a choice), numbers, memory, absolute paths, and lists of folders. Other texts
 * are for people alone. */
#include "base/isa.h"
#include "base/memory-limit.h"
#include "base/variable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *old_name, *values;
} variables[] = {
#define NN_VARIABLE(id, name, old_name, values, standard, meaning)                                 \
    [NN_VARIABLE_##id] = {name, old_name, values},
#include "base/variables.def"
#undef NN_VARIABLE
};

static const char list_tail[] = ", several separated by commas";

/* A text and its length, which need not end with NUL. */
struct piece {
    const char *text;
    size_t n;
};

/* The next literal of a list of choices: "`on`, `off`", with ", or " in place of the last comma.
 * Returns: false at the end, *is_list tells which; and where the text is something else. */
static bool next_literal(const char **text, struct piece *literal, bool *is_choices, bool *is_list)
{
    const char *at = *text;

    *is_list = strcmp(at, list_tail) == 0;
    if (!*at || *is_list)
        return false;
    at += strncmp(at, ", ", 2) == 0 ? 2 : 0;
    at += strncmp(at, "or ", 3) == 0 ? 3 : 0;
    if (*at != '`' || !strchr(at + 1, '`')) {
        *is_choices = false;
        return false;
    }
    *literal = (struct piece){at + 1, (size_t)(strchr(at + 1, '`') - at - 1)};
    *text = at + literal->n + 2;
    return true;
}

static bool is_same(struct piece a, struct piece b)
{
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

/* Whether item is one of the choices; behind a colon, if one of them has a colon. */
static bool is_choice(const char *values, struct piece item)
{
    const char *colon = memchr(item.text, ':', item.n);
    bool is_choices = true, is_list, has_pairs = false, is_one = false;
    struct piece literal, level = item;

    if (colon)
        level = (struct piece){colon + 1, item.n - (size_t)(colon + 1 - item.text)};
    while (next_literal(&values, &literal, &is_choices, &is_list)) {
        has_pairs |= memchr(literal.text, ':', literal.n) != NULL;
        is_one |= is_same(literal, level);
    }
    return is_one && (!colon || has_pairs);
}

static bool each_is_choice(const char *values, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ",");

        if (!is_choice(values, (struct piece){list, n}))
            return false;
        list += n + (list[n] == ',');
    }
    return true;
}

static bool is_number(const char *value)
{
    return strspn(value, "0123456789") == strlen(value) && strlen(value) <= 18;
}

static bool folders_are_absolute(const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ":");

        if (n && *list != '/')
            return false;
        list += n + (list[n] == ':');
    }
    return true;
}

static bool value_fits(const char *values, const char *value)
{
    static const char *const numbers[] = {"a count", "microseconds", "milliseconds",
                                          "a user's number"};
    bool is_choices = true, is_list = false;
    const char *at = values;
    struct piece literal;
    uint64_t n_bytes;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strcmp(values, numbers[i]) == 0)
            return is_number(value);
    if (strncmp(values, "a percentage,", 13) == 0)
        return nn_memory_parse(value, UINT64_MAX, &n_bytes);
    if (strcmp(values, "an absolute path") == 0)
        return value[0] == '/';
    if (strncmp(values, "folders,", 8) == 0)
        return folders_are_absolute(value);
    while (next_literal(&at, &literal, &is_choices, &is_list))
        ;
    if (!is_choices)
        return true;
    return is_list ? each_is_choice(values, value)
                   : is_choice(values, (struct piece){value, strlen(value)});
}

int nn_variables_check(char *text, size_t n_bytes)
{
    const char *isa_name = nn_variable_get(NN_VARIABLE_CPU_ISA);
    uint32_t isa;

    for (enum nn_variable i = 0; i < NN_VARIABLE_N; i++) {
        const char *value = nn_variable_get(i);

        if (value && value[0] && !value_fits(variables[i].values, value)) {
            snprintf(text, n_bytes, "%s=%s: it takes %s%s",
                     secure_getenv(variables[i].name) ? variables[i].name : variables[i].old_name,
                     value, variables[i].values,
                     strncmp(variables[i].values, "folders,", 8) == 0 ? "; each begins with /"
                                                                      : "");
            return -EINVAL;
        }
    }
    if (isa_name && nn_isa_named(isa_name, &isa) && (isa & ~nn_isa_of_cpu())) {
        snprintf(text, n_bytes, "NNHAL_CPU_ISA=%s: this CPU does not have it", isa_name);
        return -EINVAL;
    }
    return 0;
}
