/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/plan.h"

#include "base/arith.h"
#include "model/ops.h"
#include "model/types.h"

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

static uint64_t checksum(const uint8_t *block, uint64_t n_bytes)
{
    struct nn_plan_header header;
    uint64_t sum;

    memcpy(&header, block, sizeof(header));
    header.checksum = 0;
    sum = add_to_sum(n_bytes, &header, sizeof(header));
    return add_to_sum(sum, block + sizeof(header), n_bytes - sizeof(header));
}

void nn_plan_seal(struct nn_plan *plan)
{
    struct nn_plan_header *header = (struct nn_plan_header *)(void *)plan->block;

    header->checksum = checksum(plan->block, header->n_bytes);
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

/* ---- verifying ---- */

struct verifier {
    const struct nn_plan *plan;
    const struct nn_plan_header *header;
    const struct nn_plan_world *world;
    const struct nn_plan_value *values;
    const struct nn_plan_step *steps;
    const struct nn_plan_write *writes;
    const struct nn_plan_condition *conditions;
    const uint32_t *refs;
    const uint32_t *dims;
};

static bool array_fits(const struct verifier *v, const struct nn_plan_array *array,
                       size_t element_bytes)
{
    return array->reserved == 0 && array->offset % 16 == 0 &&
           nn_range_fits(array->offset, array->n * (uint64_t)element_bytes, v->header->n_bytes);
}

static bool header_fits(struct verifier *v, uint64_t n_bytes)
{
    const struct nn_plan_header *header = v->header;

    if (n_bytes < sizeof(*header) || header->magic != NN_PLAN_MAGIC || header->n_bytes != n_bytes ||
        header->checksum != checksum(v->plan->block, n_bytes) ||
        header->table != nn_plan_table_id() || (header->isa & ~v->world->isa) ||
        header->end >= NN_PLAN_END_N || header->first_node > header->end_node ||
        header->end_node > v->world->n_nodes || header->weights_bytes != v->plan->weights_bytes ||
        (header->end != NN_PLAN_DONE && header->end_node == v->world->n_nodes))
        return false;
    if (!array_fits(v, &header->values, sizeof(*v->values)) ||
        !array_fits(v, &header->steps, sizeof(*v->steps)) ||
        !array_fits(v, &header->refs, sizeof(*v->refs)) ||
        !array_fits(v, &header->dims, sizeof(*v->dims)) ||
        !array_fits(v, &header->writes, sizeof(*v->writes)) ||
        !array_fits(v, &header->conditions, sizeof(*v->conditions)))
        return false;
    v->values = nn_plan_at(v->plan, &header->values);
    v->steps = nn_plan_at(v->plan, &header->steps);
    v->refs = nn_plan_at(v->plan, &header->refs);
    v->dims = nn_plan_at(v->plan, &header->dims);
    v->writes = nn_plan_at(v->plan, &header->writes);
    v->conditions = nn_plan_at(v->plan, &header->conditions);
    return true;
}

static bool value_place_fits(const struct verifier *v, const struct nn_plan_value *value)
{
    switch (value->space) {
    case NN_SPACE_NONE:
        return value->size == 0;
    case NN_SPACE_ARENA:
        return nn_range_fits(value->offset, value->size, v->header->arena_bytes);
    case NN_SPACE_SLOT: /* the slot's size is checked when it is looked up */
        return value->index < v->world->n_values;
    case NN_SPACE_POOL:
        return value->index < v->world->n_pools &&
               nn_range_fits(value->offset, value->size, v->world->pool_bytes[value->index]);
    case NN_SPACE_WEIGHTS:
        return nn_range_fits(value->offset, value->size, v->header->weights_bytes);
    default:
        return false;
    }
}

static bool value_fits(const struct verifier *v, const struct nn_plan_value *value)
{
    uint32_t element = nn_type_bytes(value->type);
    uint64_t count, bytes;

    if (value->n_dims > NNHAL_MAX_RANK || !value_place_fits(v, value) ||
        !nn_range_fits(value->first_dim, value->n_dims, v->header->dims.n))
        return false;
    if (value->space == NN_SPACE_NONE)
        return true;
    if (element && value->offset % element)
        return false;
    return nn_dimensions_product(value->n_dims, v->dims + value->first_dim, &count) &&
           nn_mul_u64(count, element, &bytes) && bytes == value->size;
}

static bool is_written_slot(const struct verifier *v, uint32_t slot)
{
    for (uint32_t i = 0; i < v->header->writes.n; i++)
        if (v->writes[i].value == slot)
            return true;
    return false;
}

static bool writes_fit(const struct verifier *v)
{
    for (uint32_t i = 0; i < v->header->writes.n; i++) {
        const struct nn_plan_write *write = &v->writes[i];
        const struct nn_plan_value *value;

        if (write->plan_value >= v->header->values.n)
            return false;
        value = &v->values[write->plan_value];
        if (value->space != NN_SPACE_SLOT || value->index != write->value || value->offset != 0)
            return false;
    }
    return true;
}

static bool conditions_fit(const struct verifier *v)
{
    for (uint32_t i = 0; i < v->header->conditions.n; i++) {
        const struct nn_plan_condition *condition = &v->conditions[i];

        if (condition->value >= v->world->n_values || condition->n_dims > NNHAL_MAX_RANK ||
            !nn_range_fits(condition->first_dim, condition->n_dims, v->header->dims.n) ||
            !nn_range_fits(condition->bytes, condition->n_bytes, v->header->n_bytes))
            return false;
    }
    return true;
}

static void as_tensor(const struct verifier *v, uint32_t ref, struct nn_tensor *tensor)
{
    const struct nn_plan_value *value = &v->values[ref];

    *tensor = (struct nn_tensor){.size = value->size,
                                 .type = value->type,
                                 .n_dims = value->n_dims,
                                 .dims = v->dims + value->first_dim,
                                 .scale = value->scale,
                                 .zero_point = value->zero_point};
}

static bool params_pass(const struct verifier *v, const struct nn_plan_step *step,
                        const struct nn_kernel *kernel)
{
    uint32_t n = step->n_inputs + step->n_outputs;
    struct nn_tensor *tensors;
    bool passes;

    if (!kernel->check)
        return true;
    tensors = calloc(n ? n : 1, sizeof(*tensors));
    if (!tensors)
        return false;
    for (uint32_t i = 0; i < n; i++)
        as_tensor(v, v->refs[step->first_ref + i], &tensors[i]);
    passes = kernel->check(v->plan->block + step->params, step->n_inputs, tensors, step->n_outputs,
                           tensors + step->n_inputs, step->weights_bytes);
    free(tensors);
    return passes;
}

static bool step_fits(const struct verifier *v, const struct nn_plan_step *step)
{
    const struct nn_kernel *kernel = nn_kernel_at(step->kernel);
    uint64_t n = (uint64_t)step->n_inputs + step->n_outputs;

    if (!kernel || (kernel->isa & ~v->header->isa) || step->params % 16 ||
        !nn_range_fits(step->params, kernel->params_bytes, v->header->n_bytes) ||
        step->weights % NN_PLAN_ALIGNMENT ||
        !nn_range_fits(step->weights, step->weights_bytes, v->header->weights_bytes) ||
        !nn_range_fits(step->first_ref, n, v->header->refs.n))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t ref = v->refs[step->first_ref + i];

        if (ref >= v->header->values.n)
            return false;
        if (i >= step->n_inputs && v->values[ref].space != NN_SPACE_ARENA &&
            v->values[ref].space != NN_SPACE_NONE &&
            (v->values[ref].space != NN_SPACE_SLOT || !is_written_slot(v, v->values[ref].index)))
            return false;
    }
    return params_pass(v, step, kernel);
}

int nn_plan_verify(const struct nn_plan *plan, uint64_t n_bytes, const struct nn_plan_world *world)
{
    struct verifier v = {.plan = plan, .header = nn_plan_header(plan), .world = world};

    if (!header_fits(&v, n_bytes))
        return NN_PLAN_E_INVALID;
    for (uint32_t i = 0; i < v.header->values.n; i++)
        if (!value_fits(&v, &v.values[i]))
            return NN_PLAN_E_INVALID;
    if (!writes_fit(&v) || !conditions_fit(&v))
        return NN_PLAN_E_INVALID;
    for (uint32_t i = 0; i < v.header->steps.n; i++)
        if (!step_fits(&v, &v.steps[i]))
            return NN_PLAN_E_INVALID;
    return 0;
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
    free(plan->block);
    free(plan->weights);
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
        fprintf(file, "  %" PRIu32 " %s(", steps[i].node, nn_kernel_at(steps[i].kernel)->name);
        print_refs(plan, steps[i].first_ref, steps[i].n_inputs, file);
        fputs(") -> ", file);
        print_refs(plan, steps[i].first_ref + steps[i].n_inputs, steps[i].n_outputs, file);
        fputc('\n', file);
    }
    fprintf(file, "  %s\n", ends[header->end]);
}
