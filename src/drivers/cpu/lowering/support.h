/* SPDX-License-Identifier: Apache-2.0 */
/* support.h - which operations of a model can be executed, and why the others cannot
 *
 * An operation can be, if the table of kernels has a row for its types, and what is known of its
 * shapes and small constants leaves an execution that could succeed (possible.h). IF and WHILE can be,
 * if all that they reach has rows. */
#ifndef NN_DRIVERS_CPU_LOWERING_SUPPORT_H
#define NN_DRIVERS_CPU_LOWERING_SUPPORT_H

#include <nnhal/driver.h>

#include <stdbool.h>

struct nn_support_request {
    uint32_t isa;       /* what kernels may use */
    bool takes_invalid; /* what no execution can compute is taken, as in NNAPI's own device */
    /* Called with a sentence for each operation of main that is not supported, sometimes twice: the
     * last one counts. */
    void (*refuse)(void *ctx, uint32_t operation, const char *text);
    void *ctx;
};

/* nn_support_judge() - sets supported, of each operation of main, to 0 or 1. Returns: 0, -ENOMEM. */
int nn_support_judge(const struct nnhal_driver_model *model,
                     const struct nn_support_request *request, uint8_t *supported);

#endif
