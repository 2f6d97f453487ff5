/* SPDX-License-Identifier: Apache-2.0 */
/* user.h - an application whose service cannot be trusted
 *
 * A process that compiles and computes by every path (by pointer, in shared memory, an event, a
 * fence, a burst, a buffer of the device), and takes any code of NNAPI for an answer. It ends
 * with 0; what must not be ends it with a signal: a call that is not back in time, a code that
 * there is not, and a result that is wrong although it said NO_ERROR. */
#ifndef NN_TESTS_ATTACK_USER_H
#define NN_TESTS_ATTACK_USER_H

#include <stdbool.h>
#include <stdint.h>

#define USER_CODES 16

enum user_path {
    USER_POINTERS,
    USER_MEMORY,
    USER_EVENT,
    USER_FENCED,
    USER_BURST,
    USER_BUFFER,
    USER_PATHS,
};

/* What happened, by NNAPI's code; shared by all users, atomic. */
struct user_count {
    uint64_t compiled[USER_CODES], computed[USER_CODES];
    uint64_t n_hits; /* compilations that a cache had */
    uint64_t longest_ms;
};

struct user_wish {
    const char *device;
    uint64_t seed;
    uint32_t n_compilations, n_computations; /* of each */
    bool may_be_wrong;                       /* results are not looked at */
    bool must_succeed;                       /* any other code than NO_ERROR is a failure */
    uint32_t deadline_ms;                    /* of a call; 0: 300, or 20,000 if it must succeed */
    const char *cache;                       /* a folder; NULL: none */
    uint32_t paths;                          /* a bit for each; 0: all */
    void (*note)(uint64_t took_ns);          /* a computation; NULL: not asked for */
};

/* user_main() - in a process that has not used the library yet. The environment says where its
 * service is. */
void user_main(const struct user_wish *wish, struct user_count *count);

#endif
