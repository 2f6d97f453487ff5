/* SPDX-License-Identifier: Apache-2.0 */
/* cage.h - a control group whose memory is limited, as systemd's MemoryMax= makes one
 *
 * The caller enters it, starts what is to live in it, and leaves: children stay where they were
 * born. Needs a hierarchy of version 2 or 1 with the memory controller that this process may
 * write to. */
#ifndef NN_TESTS_ATTACK_CAGE_H
#define NN_TESTS_ATTACK_CAGE_H

#include <stdbool.h>
#include <stdint.h>

struct cage {
    char path[512]; /* the group's folder */
    char home[512]; /* where the caller came from */
};

/* cage_enter() - false: this machine lets no group be made; why says it. */
bool cage_enter(struct cage *cage, uint64_t n_bytes, char why[256]);
void cage_leave(struct cage *cage);

/* cage_done() - after the last process in it has ended. */
void cage_done(struct cage *cage);

#endif
