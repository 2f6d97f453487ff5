/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/kernel.h"

#include "drivers/cpu/kernels/families.h"
#include "model/types.h"

#include <assert.h>
#include <pthread.h>

#define NN_FAMILY(family) &nn_kernels_##family,
static const struct nn_kernel_family *const families[] = {
#include "drivers/cpu/kernels/families.def"
    NULL};
#undef NN_FAMILY

/* All rows, one behind the other: each step of an execution asks for one. */
enum { MAX_ROWS = 4096 };
static const struct nn_kernel *rows[MAX_ROWS];
static uint32_t n_rows;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void list_rows(void)
{
    for (size_t f = 0; families[f]; f++)
        for (size_t i = 0; i < families[f]->n_kernels; i++) {
            assert(n_rows < MAX_ROWS);
            rows[n_rows++] = &families[f]->kernels[i];
        }
}

const struct nn_kernel *nn_kernel_at(uint32_t index)
{
    pthread_once(&once, list_rows);
    return index < n_rows ? rows[index] : NULL;
}

static bool set_matches(uint32_t set, uint32_t n, const uint32_t *types, uint32_t i)
{
    if (set == NN_T_ANY)
        return true;
    return i < n && types[i] < NN_TYPE_N && (set >> types[i] & 1);
}

static bool row_matches(const struct nn_kernel *row, uint32_t isa, uint32_t n_inputs,
                        uint32_t n_outputs, const uint32_t *types)
{
    return (row->isa & ~isa) == 0 && set_matches(row->in0, n_inputs, types, 0) &&
           set_matches(row->in1, n_inputs, types, 1) &&
           set_matches(row->out0, n_outputs, types + n_inputs, 0);
}

uint32_t nn_kernel_find(uint32_t first, uint32_t operation, uint32_t isa, uint32_t n_inputs,
                        uint32_t n_outputs, const uint32_t *types)
{
    pthread_once(&once, list_rows);
    for (uint32_t i = first; i < n_rows; i++)
        if (rows[i]->operation == operation &&
            row_matches(rows[i], isa, n_inputs, n_outputs, types))
            return i;
    return UINT32_MAX;
}
