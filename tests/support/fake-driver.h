/* SPDX-License-Identifier: Apache-2.0 */
/* fake-driver.h - a driver that does what a test tells it, lies included
 *
 * One per process. It accepts every model, counts what is called, and
 * computes nothing: each output gets the shape of input 0 where it is open, and
 * input 0's bytes, again and again, as far as they are needed.
 *
 *     fake.execute_status = NNHAL_GENERAL_FAILURE;   a failure
 *     fake.on_execute = shrink_rank;                 a lie, after the honest work
 *     fake_gate_close(); ... fake_gate_open();       executions wait in between */
#ifndef NN_TESTS_FAKE_DRIVER_H
#define NN_TESTS_FAKE_DRIVER_H

#include <nnhal/driver.h>

#include <stdbool.h>

struct fake {
    struct nnhal_driver driver; /* what fake_main() returns; fake_reset() fills it */

    uint32_t open_status;
    uint32_t supported_status;
    uint32_t prepare_status;
    _Atomic uint32_t execute_status;   /* bursts execute on threads of their own */
    const char *explanation;           /* given before a failure, NULL: none */
    const char *refused_configuration; /* fake_main() returns NULL for it */
    bool writes_nothing;
    uint32_t allocate_status, copy_status; /* of buffers that it holds */
    bool leaves_buffer;                    /* the next one is the host's */

    void (*on_supported)(const struct nnhal_driver_model *model, uint8_t *supported);
    void (*on_prepare)(const struct nnhal_prepare *prepare);
    void (*on_execute)(struct nnhal_execution *execution); /* may set execute_status */

    /* What happened. */
    _Atomic uint32_t n_opened, n_closed, n_prepared, n_released, n_executed, n_executing;
    _Atomic uint32_t n_buffers, n_released_buffers;

    /* Of the last execution and preparation. */
    _Atomic uint64_t deadline_ns, loop_timeout_ns;
    _Atomic uint32_t measure;
    _Atomic uint32_t was_cancelled; /* an execution saw is_cancelled */
    const void *_Atomic input_data; /* of input 0 */
    void *_Atomic output_data;      /* of output 0 */
    _Atomic uint32_t preference, priority;
};

extern struct fake fake;

/* Whether its table has allocate_buffer() and the like; set before fake_reset().
 * The bytes of such buffers are inverted, so that no other code can read them. */
extern bool fake_holds_buffers;

/* Whether it says that it charges what it takes; set before fake_reset(). */
extern bool fake_charges_memory;

/* Changes fake.driver at the end of fake_reset(); NULL: nothing is changed. */
extern void (*fake_on_reset)(void);

/* fake_reset() - an honest driver of level 8 that succeeds. */
void fake_reset(void);

/* The host's functions, from open() on. */
const struct nnhal_driver_services *fake_services(void);

const struct nnhal_driver *fake_main(const char *configuration);

/* Executions that begin while the gate is closed wait for it, or for
 * is_cancelled. fake_gate_wait() waits until n executions are in progress. */
void fake_gate_close(void);
void fake_gate_open(void);
void fake_gate_wait(uint32_t n);

#endif
