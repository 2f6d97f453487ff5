/* SPDX-License-Identifier: Apache-2.0 */
#include "base/variable.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *old_name;
} variables[] = {
#define NN_VARIABLE(id, name, old_name, values, standard, meaning)                                 \
    [NN_VARIABLE_##id] = {name, old_name},
#include "base/variables.def"
#undef NN_VARIABLE
};

const char *nn_variable_get(enum nn_variable variable)
{
    const char *value = secure_getenv(variables[variable].name);

    /* The new name wins: a script that sets both means what it was changed to. */
    if (!value && variables[variable].old_name)
        value = secure_getenv(variables[variable].old_name);
    return value;
}

bool nn_variable_is(enum nn_variable variable, const char *wanted)
{
    const char *value = nn_variable_get(variable);

    return value && strcmp(value, wanted) == 0;
}

int nn_variable_choose(enum nn_variable variable, const char *const *names)
{
    const char *value = nn_variable_get(variable);

    for (int i = 0; value && names[i]; i++)
        if (strcmp(value, names[i]) == 0)
            return i;
    return -1;
}
