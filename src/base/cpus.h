/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.h - how many CPUs this process may use
 *
 * The least of two: CPUs in the affinity mask, and what the control group's
 * cpu.max leaves (version 2; every group up to the root that can be read). A
 * team that is larger would be put to sleep in the middle of its loops. */
#ifndef NN_BASE_CPUS_H
#define NN_BASE_CPUS_H

/* nn_cpus_allowed() - at least 1. Reads files: call it before a sandbox is closed. */
unsigned nn_cpus_allowed(void);

/* nn_cpus_parse_quota() - text of a cpu.max file, "200000 100000" or "max 100000", as
 * whole CPUs, rounded up. Returns: 0 if it sets no limit or is not understood. */
unsigned nn_cpus_parse_quota(const char *text);

#endif
