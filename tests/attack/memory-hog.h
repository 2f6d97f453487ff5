/* SPDX-License-Identifier: Apache-2.0 */
/* memory-hog.h - clients that make a service take as much memory as they can
 *
 * Each runs on a desk over a session of its own, goes on until it is refused or has asked for what
 * it wanted, and keeps what it got until its process ends. */
#ifndef NN_TESTS_ATTACK_MEMORY_HOG_H
#define NN_TESTS_ATTACK_MEMORY_HOG_H

#include "host/desk.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the service's control group, MiB; a user may have a quarter. AddressSanitizer needs as much again
 * as the service itself. */
#ifdef __SANITIZE_ADDRESS__
enum { MEMORY_HOG_LIMIT_MIB = 1024 };
#else
enum { MEMORY_HOG_LIMIT_MIB = 512 };
#endif

struct memory_hog {
    const char *name;
    /* Returns: how many requests were refused with RESOURCE_EXHAUSTED_TRANSIENT. */
    uint32_t (*run)(struct desk *desk);
    uint32_t n_processes;
    bool must_be_refused; /* by a service that has 512 MiB */
};

/* The last has no name. */
extern const struct memory_hog memory_hogs[];

#endif
