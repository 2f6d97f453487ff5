/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.h - a process that sees no other
 *
 * fork(), but the child is the first process of a PID namespace and has a mount
 * namespace of its own; where the caller is not root, in a user namespace that
 * has its user and group alone; and, unless settings of the machine refuse it, of
 * a network namespace where there is nothing. What it cannot see it cannot signal, limit or
 * renice, and its root can be replaced (root.h).
 *
 *     caller --fork--> middle: unshare() --fork--> child
 *
 * The middle ends before the child goes on, which then is the caller's. So
 * the caller stays in its own namespaces, with its own rights. */
#ifndef NN_SERVICE_NAMESPACES_H
#define NN_SERVICE_NAMESPACES_H

#include <stdbool.h>
#include <sys/types.h>

struct nn_namespaces {
    bool are_own; /* false: the kernel or its settings refused, and the child is an ordinary one */
    int error;    /* why, as -errno */
    pid_t pid;    /* in the caller: of the child; in the child: its number outside */
};

/* nn_namespaces_fork() - while the process has one thread.
 * Returns: 0 in the child, 1 in the caller, -errno (there is no child). */
int nn_namespaces_fork(struct nn_namespaces *ret_namespaces);

#endif
