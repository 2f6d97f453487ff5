/* SPDX-License-Identifier: Apache-2.0 */
/* service.h - a host on a socket
 *
 * One loop on the calling thread: it accepts, reads requests, and sends what
 * had to wait. Calls run on a bounded pool, where clients take turns and none
 * gets every thread. With a listening socket it runs until it is stopped; over
 * one connected socket (a private child, a socket unit with Accept=yes) until
 * that client is gone.
 *
 *     listen --accept--> session --calls--> workers --stub--> host
 *                           '--end--> closers
 *
 * No lock is held and no thread of the service waits while a client is waited
 * for, except a worker in the driver. */
#ifndef NN_SERVICE_SERVICE_H
#define NN_SERVICE_SERVICE_H

#include "base/cleanup.h"
#include "host/host.h"
#include "service/door.h"

#include <stdbool.h>

struct nn_service;

/* Of all users together and of one; its descriptors at most a quarter of the process's. */
enum {
    NN_SERVICE_MAX_CONNECTIONS = 1024,
    NN_SERVICE_MAX_CONNECTIONS_PER_USER = 256,
    NN_SERVICE_MAX_BYTES_PER_USER = 512 << 20, /* of requests that wait for a worker */
    NN_SERVICE_MAX_FDS_PER_USER = 4096,        /* of those, and of replies that were not read */
};

/* nn_service_new() - for an open host, of which it takes a reference. Starts no
 * thread yet. Returns: 0, -errno. */
int nn_service_new(struct nn_host *host, struct nn_service **ret_service);

/* nn_service_free() - ends every session and waits until all are gone, which
 * may wait for the driver. */
struct nn_service *nn_service_free(struct nn_service *service);

/* nn_service_listen() - takes clients from a listening socket, or from the end of a door (door.h); fd
 * is consumed. From now on clients are of several users, who share the CPUs. Returns: 0, -ENOMEM. */
int nn_service_listen(struct nn_service *service, int fd);

/* nn_service_add() - serves who arrived, which is consumed.
 * Returns: 0, -ECONNREFUSED (its user has too many), -errno. */
int nn_service_add(struct nn_service *service, const struct nn_arrival *arrival);

/* nn_service_run() - serves until nn_service_stop(), or without a listening
 * socket until the last client is gone. Returns: 0, -errno. */
int nn_service_run(struct nn_service *service);

/* nn_service_stop() - makes run return. Any thread, and a signal handler. */
void nn_service_stop(struct nn_service *service);

NN_DEFINE_CLEANUP(struct nn_service, nn_service_free)

#endif
