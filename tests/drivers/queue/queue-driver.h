/* SPDX-License-Identifier: Apache-2.0 */
/* queue-driver.h - where the test's words lie in the tensors of the asynchronous device */
#ifndef NN_TESTS_QUEUE_DRIVER_H
#define NN_TESTS_QUEUE_DRIVER_H

enum { QUEUE_FLOATS = 8 };

/* Places in x and z. */
enum { QUEUE_NUMBER = 0, QUEUE_ACTIVE = 1 };

/* Places in y. */
enum { QUEUE_GATE = 0, QUEUE_DEED = 1 };

/* REFUSE is obeyed when an execution is handed over, FAIL_EARLY while it waits for fences, the others when
 * it would compute. */
enum queue_deed {
    QUEUE_COMPUTE,
    QUEUE_FAIL,
    QUEUE_HANG,
    QUEUE_DIE,
    QUEUE_REFUSE,
    QUEUE_FAIL_EARLY
};

#endif
