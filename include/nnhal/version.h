/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - which nnhal a program is compiled against
 *
 * The numbers are those of the whole project: libraries, tools, drivers and the Python package. A
 * higher major number may break programs, a higher minor number adds what they can use, a higher
 * micro number mends. What runs can be newer: `nnhal --version` prints that of the tools.
 *
 *     #if NNHAL_VERSION_NUMBER >= NNHAL_VERSION_MAKE(0, 2, 0)
 *
 * The build refuses a header that names another version than the project. */
#ifndef NNHAL_VERSION_H
#define NNHAL_VERSION_H

#define NNHAL_VERSION_MAJOR 0
#define NNHAL_VERSION_MINOR 1
#define NNHAL_VERSION_MICRO 0
#define NNHAL_VERSION       "0.1.0"

/* Versions as numbers that compare as versions do; each part is at most 999. */
#define NNHAL_VERSION_MAKE(major, minor, micro) ((major)*1000000 + (minor)*1000 + (micro))
#define NNHAL_VERSION_NUMBER                                                                       \
    NNHAL_VERSION_MAKE(NNHAL_VERSION_MAJOR, NNHAL_VERSION_MINOR, NNHAL_VERSION_MICRO)

#endif
