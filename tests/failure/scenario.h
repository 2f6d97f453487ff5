/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - what applications do with the library, as functions that can fail
 *
 * Each runs from nothing to nothing: what it makes it frees, also if a call fails in between. It makes
 * no assertions of Check, which allocate. Devices: nnhal-cpu, linked in or in a service on a thread of
 * this process. */
#ifndef NN_TESTS_FAILURE_SCENARIO_H
#define NN_TESTS_FAILURE_SCENARIO_H

#include <stddef.h>

enum scenario_place {
    SCENARIO_EMBEDDED = 1,
    SCENARIO_SERVICE = 2,
    SCENARIO_NOWHERE = 4, /* without a device */
};

enum scenario_trait {
    SCENARIO_SHORT = 1,  /* in `make test`, too */
    SCENARIO_HASHES = 2, /* with libcrypto, whose calls cannot fail: it uses a cache */
    SCENARIO_CALLS = 4,  /* SQLite or libseccomp, whose calls fail in turn */
};

struct scenario {
    const char *name;
    /* Returns: the first code that was not 0; SCENARIO_WRONG. */
    int (*run)(void);
    unsigned places; /* enum scenario_place, or'ed */
    unsigned traits; /* enum scenario_trait, or'ed; without the last two no such call is made */
    /* What is run before and after it; NULL: the same. After two deaths a request is not tried a third
     * time, and after three in a minute none is. */
    int (*beside)(void);
};

enum { SCENARIO_WRONG = -1 }; /* no call failed, but the result is wrong */

/* The call that failed last, as it stands in the source. */
extern const char *scenario_failed;

extern const struct scenario scenarios[];
extern const size_t n_scenarios;

/* scenario_begin() - the environment, in a process without threads; the place is one of them.
 * scenario_end() - takes it away. Both assert. */
void scenario_begin(enum scenario_place place);
void scenario_end(void);

#endif
