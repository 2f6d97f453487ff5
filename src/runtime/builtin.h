/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.h - drivers that are linked into the library
 *
 * Only the build knows which they are: it makes the table (library/meson.build),
 * and tests make their own. They run in the application's process in every
 * NNHAL_MODE, and stand at the end of the device list, in this order. */
#ifndef NN_RUNTIME_BUILTIN_H
#define NN_RUNTIME_BUILTIN_H

#include <nnhal/driver.h>

#include <stdbool.h>
#include <stddef.h>

struct nn_builtin {
    const struct nnhal_driver *(*driver_main)(const char *configuration);
    const char *configuration; /* NULL: none */
    bool is_reference; /* nnapi-reference: the fallback, and no driver that a mode reaches */
};

extern const struct nn_builtin nn_builtins[]; /* ends with a NULL driver_main */

#endif
