/* SPDX-License-Identifier: Apache-2.0 */
/* variable.h - the environment variables that this project reads
 *
 * variables.def has one row for each: name, values, default and meaning. Code
 * asks for a variable by its id, documents are written from the same rows, and a
 * lint finds names that have none. All are read through secure_getenv: programs
 * that run with raised privileges ignore them. Any thread, unless the
 * application changes its environment meanwhile. */
#ifndef NN_BASE_VARIABLE_H
#define NN_BASE_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>

enum nn_variable {
#define NN_VARIABLE(id, name, old_name, values, standard, meaning) NN_VARIABLE_##id,
#include "base/variables.def"
#undef NN_VARIABLE
    NN_VARIABLE_N,
};

/* nn_variable_get() - its value, by its name or the name that it had before.
 * Belongs to the environment. NULL: not set. */
const char *nn_variable_get(enum nn_variable variable);

/* nn_variable_is() - whether it is set to exactly this value. */
bool nn_variable_is(enum nn_variable variable, const char *wanted);

/* nn_variable_choose() - the index of its value among names, which end with NULL.
 * Returns: the index, or -1 (not set, or set to none of them). */
int nn_variable_choose(enum nn_variable variable, const char *const *names);

/* nn_variables_check() - whether each variable that is set has a value that its row allows (an
 * empty one counts as not set), and the CPU what NNHAL_CPU_ISA names.
 * Returns: 0; -EINVAL with a sentence of at most n_bytes in text. */
int nn_variables_check(char *text, size_t n_bytes);

#endif
