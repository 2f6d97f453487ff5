/* SPDX-License-Identifier: Apache-2.0 */
/* buffers.h - memory of the device's own, for a driver whose kernels know none
 *
 * The bytes of a buffer are inverted, so that no other code can read it. A test in the same process may count:
 * NN_TEST_BUFFERS is the address of a struct buffer_counts, of all drivers together. */
#ifndef NN_TESTS_DRIVERS_PARTIAL_BUFFERS_H
#define NN_TESTS_DRIVERS_PARTIAL_BUFFERS_H

#include <nnhal/driver.h>

#include <stdbool.h>

struct buffer_counts {
    uint32_t n_made, n_released;
    uint32_t n_copied_in, n_copied_out; /* from and to memory outside the device */
    uint32_t n_written, n_read;         /* by executions */
};

/* buffers_add() - to a table; may_have decides about one more, n_held are there. */
void buffers_add(struct nnhal_driver *table, bool (*may_have)(uint32_t n_held));

/* buffers_execute() - execute(), which has arguments outside of buffers alone. */
uint32_t buffers_execute(void *prepared, struct nnhal_execution *execution,
                         uint32_t (*execute)(void *prepared, struct nnhal_execution *execution));

#endif
