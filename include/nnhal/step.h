/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - a step of an execution, as a driver reports it to those who measure */
#ifndef NNHAL_STEP_H
#define NNHAL_STEP_H

#include <stddef.h>
#include <stdint.h>

/* A step of an execution, as a driver computed it: an operation of the model, and those that were
 * computed with it. Valid during the call that hands it over; the strings live as long as the
 * driver. */
struct nnhal_step {
    size_t size;
    const char *operation; /* "CONV_2D" */
    const char *kernel;    /* the driver's name for the code that computed it */
    uint32_t n_fused;      /* further operations */
    uint32_t type;         /* enum nnhal_operand_type, of its first input */
    uint64_t elapsed_ns;
    uint64_t n_products;   /* multiplications whose results are added up; 0: not made of those */
    uint64_t n_bytes;      /* of inputs, weights and outputs */
    uint32_t n_dimensions; /* of its first output */
    uint32_t reserved;
    const uint32_t *dimensions;
};

/* Called on the thread that computes, after each step. */
typedef void (*nnhal_step_fn)(void *ctx, const struct nnhal_step *step);

#endif
