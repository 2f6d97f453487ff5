/* SPDX-License-Identifier: Apache-2.0 */
/* victim.h - nnhal-host as a service, attacked and looked at from outside
 *
 * It listens in a folder of its own, for every user if the test is root's. What it holds is
 * read in /proc, before and after. */
#ifndef NN_TESTS_ATTACK_VICTIM_H
#define NN_TESTS_ATTACK_VICTIM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct victim_state {
    size_t n_fds, n_threads, n_maps;
    uint64_t anonymous_kib; /* resident, not of files */
};

struct victim {
    char folder[64], path[100];
    pid_t pid;  /* that was started */
    pid_t host; /* that runs the driver */
    int log_fd; /* what it printed */
};

/* victim_start() - with the driver called name ("sample", "cpu"). NNHAL_HOST is the program. */
void victim_start(struct victim *victim, const char *name);

/* victim_stop() - ends it; it must end well (no leak, where a sanitizer looks). */
void victim_stop(struct victim *victim);

/* victim_expect_alive() - that it has not ended. */
void victim_expect_alive(const struct victim *victim);

struct victim_state victim_look(const struct victim *victim);

/* victim_expect_back() - that within 10 s it holds no more than before, but for threads of its
 * pools. Memory may have grown by slack_kib, which is not looked at under a sanitizer. */
void victim_expect_back(const struct victim *victim, const struct victim_state *before,
                        uint64_t slack_kib);

/* victim_count_lines() - lines of its log that contain text. */
size_t victim_count_lines(const struct victim *victim, const char *text);

/* victim_number() - the number in the environment, or what is said here. */
uint32_t victim_number(const char *variable, uint32_t otherwise);

#endif
