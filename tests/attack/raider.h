/* SPDX-License-Identifier: Apache-2.0 */
/* raider.h - a client that says anything to a service
 *
 * Each connection has a seed, and with the same seed says the same. It says hello, and then
 * calls that use the ids which the service gave it: some are right, most are spoilt by the
 * grammar in one place or two, some are spoilt in the head of the packet. It reads answers or
 * does not, and leaves in the middle. */
#ifndef NN_TESTS_ATTACK_RAIDER_H
#define NN_TESTS_ATTACK_RAIDER_H

#include <stdint.h>

struct raider_count {
    uint64_t n_calls, n_spoilt, n_replies, n_done, n_ended;
};

/* raider_connect_once() - one connection from beginning to end. Adds to count: calls, those that
 * were spoilt, replies, replies without an error, and connections that the service ended. */
void raider_connect_once(const char *path, uint64_t seed, struct raider_count *count);

#endif
