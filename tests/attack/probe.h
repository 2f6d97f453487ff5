/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - another user of a service that is attacked
 *
 * A process with a session of its own that adds two numbers every few milliseconds, in single
 * calls, and notes how long each took. Where the test is root's it is another user's. */
#ifndef NN_TESTS_ATTACK_PROBE_H
#define NN_TESTS_ATTACK_PROBE_H

#include <stdint.h>
#include <sys/types.h>

struct probe_notes;

struct probe {
    pid_t pid;
    struct probe_notes *notes; /* shared with it */
};

/* probe_start() - over the service at path; returns when it has computed once. */
void probe_start(struct probe *probe, const char *path);

/* probe_stop() - ends it: every call must have been answered rightly and within 2 s. Prints
 * "what: N calls, p50, p99, longest". */
void probe_stop(struct probe *probe, const char *what);

/* probe_user_id() - who the n-th user of the test is: this one, unless the test is root's. */
uid_t probe_user_id(unsigned n);

/* probe_become_user() - this process becomes that user. */
void probe_become_user(unsigned n);

#endif
