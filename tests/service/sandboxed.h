/* SPDX-License-Identifier: Apache-2.0 */
/* sandboxed.h - what a closed process finds, asserted from within
 *
 * A body runs in a process of its own behind the sandbox, where Check's assertions cannot be
 * told: EXPECT() says which line is not as expected, and ends the body. */
#ifndef NN_TESTS_SERVICE_SANDBOXED_H
#define NN_TESTS_SERVICE_SANDBOXED_H

#include "service/sandbox.h"

#include <stdbool.h>

/* What the kernel had; in the child. */
extern struct nn_sandbox_report report;

/* A folder of the test with a file "there"; at() gives the path of a name in it. */
void lay_sandbox_folder(void);
void remove_sandbox_folder(void);
const char *at(const char *name);

/* in_sandbox() - runs body, which must return 0. */
void in_sandbox(const struct nn_sandbox_options *options, int (*body)(void));

/* expect_refused() - closing itself ends with this. */
void expect_refused(const struct nn_sandbox_options *options, int wanted);

/* is_refused() - whether a call that gave r was refused for want of rights. Closes what it gave. */
bool is_refused(long r);

int unexpected(int line);

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return unexpected(__LINE__);                                                           \
    } while (0)

#endif
