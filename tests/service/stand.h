/* SPDX-License-Identifier: Apache-2.0 */
/* stand.h - a service with the fake driver on a thread of the test
 *
 * It listens in a folder of its own. Clients reach it as any client would:
 * stand_dial() through the proxy, stand_connect() as a peer that has said
 * hello and from then on may send anything. */
#ifndef NN_TESTS_SERVICE_STAND_H
#define NN_TESTS_SERVICE_STAND_H

#include "hal/hal.h"
#include "host/desk.h"
#include "service/service.h"

#include <pthread.h>

struct stand {
    char folder[64], path[100];
    struct nn_host *host;
    struct nn_service *service;
    pthread_t thread;
    size_t n_fds; /* of the process, while it has no client */
};

/* stand_open() - starts the service; stand_place() before it, if the path is to
 * be known earlier. stand is all zero. */
void stand_place(struct stand *stand);
void stand_open(struct stand *stand);

/* stand_open_with() - the same with a driver that is not the fake one. */
void stand_open_with(struct stand *stand, const struct nnhal_driver *(*driver)(const char *));

/* stand_close() - stops the service; checks that the driver is left with nothing. */
void stand_close(struct stand *stand);

struct nn_hal *stand_dial(struct stand *stand);

/* stand_desk() - a desk over a dialled session; stand_desk_close() ends it. */
void stand_desk(struct stand *stand, struct desk *desk);
void stand_desk_close(struct desk *desk);

/* A client by hand. */
struct raw_client {
    int fd, events_fd;
};

void stand_connect(struct stand *stand, struct raw_client *client);
void raw_close(struct raw_client *client);

/* raw_send() - exactly these bytes with n_fds times the descriptor fd. Returns
 * whether the service still took them. */
bool raw_send(int fd, const void *bytes, size_t n_bytes, int passed, size_t n_fds);

/* raw_expect_end() - waits until the service has closed both sockets; what it
 * still answers is dropped. */
void raw_expect_end(struct raw_client *client);

/* stand_expect_no_clients() - waits until nothing is left of them. */
void stand_expect_no_clients(struct stand *stand);

#endif
