/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums ---- */

/* Eight bytes at a time; each step is a bijection of the sum, so that any one
 * change changes the result. */
static uint64_t add_to_sum(uint64_t sum, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint64_t word;

    for (; n; p += n < 8 ? n : 8, n -= n < 8 ? n : 8) {
        word = 0;
        memcpy(&word, p, n < 8 ? n : 8);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

uint64_t nn_plan_table_id(void)
{
    const struct nn_kernel *row;
    uint64_t sum = NN_PLAN_MAGIC;

    for (uint32_t i = 0; (row = nn_kernel_at(i)); i++) {
        sum = add_to_sum(sum, row->name, strlen(row->name));
        sum = add_to_sum(sum, &row->params_bytes, sizeof(row->params_bytes));
    }
    return sum;
}

/* ---- using ---- */

bool nn_plan_matches(const struct nn_plan *plan, const struct nn_frame *frame)
{
    const struct nn_plan_header *header = nn_plan_header(plan);
    const struct nn_plan_condition *conditions = nn_plan_at(plan, &header->conditions);
    const uint32_t *dims = nn_plan_at(plan, &header->dims);

    for (uint32_t i = 0; i < header->conditions.n; i++) {
        const struct nn_plan_condition *c = &conditions[i];
        const struct nn_slot *slot = &frame->slots[c->value];

        if (slot->is_omitted != (c->is_omitted != 0) || slot->n_dims != c->n_dims ||
            (c->n_dims && memcmp(slot->dims, dims + c->first_dim, c->n_dims * sizeof(*dims))))
            return false;
        if (c->n_bytes && (!slot->data || slot->size != c->n_bytes ||
                           memcmp(slot->data, plan->block + c->bytes, c->n_bytes)))
            return false;
    }
    return true;
}

void nn_plan_done(struct nn_plan *plan)
{
    if (!plan->is_borrowed) {
        free(plan->block);
        free(plan->weights);
        nn_meter_uncharge(plan->meter, plan->block_charged);
        nn_meter_uncharge(plan->meter, plan->weights_charged);
    }
    *plan = (struct nn_plan){0};
}

/* ---- printing ---- */

static void print_place(const struct nn_plan_value *value, FILE *file)
{
    switch (value->space) {
    case NN_SPACE_ARENA:
        fprintf(file, "arena+%" PRIu64, value->offset);
        break;
    case NN_SPACE_SLOT:
        fprintf(file, "slot%" PRIu32, value->index);
        if (value->offset)
            fprintf(file, "+%" PRIu64, value->offset);
        break;
    case NN_SPACE_POOL:
        fprintf(file, "pool%" PRIu32 "+%" PRIu64, value->index, value->offset);
        break;
    case NN_SPACE_WEIGHTS:
        fprintf(file, "weights+%" PRIu64, value->offset);
        break;
    default:
        fputc('-', file);
    }
}

static void print_refs(const struct nn_plan *plan, uint32_t first, uint32_t n, FILE *file)
{
    const struct nn_plan_header *header = nn_plan_header(plan);
    const struct nn_plan_value *values = nn_plan_at(plan, &header->values);
    const uint32_t *refs = nn_plan_at(plan, &header->refs);

    for (uint32_t i = 0; i < n; i++) {
        if (i)
            fputs(", ", file);
        print_place(&values[refs[first + i]], file);
    }
}

void nn_plan_print(const struct nn_plan *plan, FILE *file)
{
    static const char *const ends[NN_PLAN_END_N] = {"done", "cut", "control"};
    const struct nn_plan_header *header = nn_plan_header(plan);
    const struct nn_plan_step *steps = nn_plan_at(plan, &header->steps);

    fprintf(file, "plan(nodes %" PRIu32 "..%" PRIu32 ", arena %" PRIu64 ", weights %" PRIu64 ")\n",
            header->first_node, header->end_node, header->arena_bytes, header->weights_bytes);
    for (uint32_t i = 0; i < header->steps.n; i++) {
        fprintf(file, "%s%" PRIu32 " %s(", steps[i].is_fused ? "  + " : "  ", steps[i].node,
                nn_kernel_at(steps[i].kernel)->name);
        print_refs(plan, steps[i].first_ref, steps[i].n_inputs, file);
        fputs(") -> ", file);
        print_refs(plan, steps[i].first_ref + steps[i].n_inputs, steps[i].n_outputs, file);
        fputc('\n', file);
    }
    fprintf(file, "  %s\n", ends[header->end]);
}
