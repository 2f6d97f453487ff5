/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - what one user's connections may cost the service together
 *
 * The host limits what a session holds (memories, models, executions). Here it
 * is the transport: connections, and the bytes and descriptors of requests
 * that were received and are not answered yet. Beyond the first a connection
 * is refused; beyond the second the service stops reading from that user's
 * connections until some are answered, so that nothing is lost.
 *
 * Any thread. */
#ifndef NN_SERVICE_QUOTA_H
#define NN_SERVICE_QUOTA_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct nn_service_quota;
struct nn_service_quota_user;

enum {
    NN_SERVICE_QUOTA_E_FULL = 1, /* no further connection */
};

struct nn_service_quota_limits {
    size_t n_connections; /* of all users */
    size_t n_connections_per_user;
    size_t n_bytes_per_user; /* received and not answered; one request may go beyond */
    size_t n_fds_per_user;   /* as many of requests, and as many of replies that were not read */
};

int nn_service_quota_new(const struct nn_service_quota_limits *limits,
                         struct nn_service_quota **ret_quota);

/* nn_service_quota_free() - after every user has left. */
struct nn_service_quota *nn_service_quota_free(struct nn_service_quota *quota);

/* nn_service_quota_enter() - a connection of uid; *ret_user is charged for it until
 * nn_service_quota_leave(). Returns: 0, NN_SERVICE_QUOTA_E_FULL, -ENOMEM. */
int nn_service_quota_enter(struct nn_service_quota *quota, uid_t uid,
                           struct nn_service_quota_user **ret_user);
void nn_service_quota_leave(struct nn_service_quota_user *user);

/* nn_service_quota_charge(), nn_service_quota_release() - a request was received, was answered. */
void nn_service_quota_charge(struct nn_service_quota_user *user, size_t n_bytes, size_t n_fds);
void nn_service_quota_release(struct nn_service_quota_user *user, size_t n_bytes, size_t n_fds);

/* nn_service_quota_pass() - descriptors are handed to the user in a reply, until
 * nn_service_quota_passed() says that it took them. Returns: 0, -EDQUOT (too many wait). */
int nn_service_quota_pass(struct nn_service_quota_user *user, size_t n_fds);
void nn_service_quota_passed(struct nn_service_quota_user *user, size_t n_fds);

/* nn_service_quota_may_receive() - whether another request of the user may be read. */
bool nn_service_quota_may_receive(struct nn_service_quota_user *user);

NN_DEFINE_CLEANUP(struct nn_service_quota, nn_service_quota_free)

#endif
