/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h - rules of the interface that a driver for tests breaks on purpose
 *
 * A conformance kit has to name each of them. The table that faults_plant() returns forwards to the one
 * that it was given, in the module that it is linked into. */
#ifndef NN_TESTS_DRIVERS_PARTIAL_FAULTS_H
#define NN_TESTS_DRIVERS_PARTIAL_FAULTS_H

#include <nnhal/driver.h>

#include <stddef.h>

/* faults_plant() - fault has n bytes; once in a process. Returns: a table of static memory, NULL
 * if memory is short. */
const struct nnhal_driver *faults_plant(const struct nnhal_driver *table, const char *fault,
                                        size_t n);

#endif
