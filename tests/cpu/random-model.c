/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/random-model.h"

#include "drivers/cpu/executor/exec.h"
#include "drivers/cpu/executor/plan.h"
#include "drivers/cpu/executor/program.h"

#include <stdio.h>
#include <string.h>

enum {
    CHANNELS = RANDOM_CHANNELS,
    MAX_TENSORS = 16,
    N_STEPS = 9,
};

/* A tensor of the model, [1, side, side, CHANNELS] or in the other order. */
struct random_tensor {
    uint32_t operand;
    uint32_t type;
    float scale;
    int32_t zero_point;
    bool is_nchw;
};

struct random_maker {
    struct builder *b;
    const uint8_t *bytes; /* choices that are left */
    size_t n_bytes;
    uint32_t seed;
    uint32_t side;
    uint32_t type; /* of quantized tensors */
    uint32_t n;
    struct random_tensor tensors[MAX_TENSORS];
};

static uint32_t pick(struct random_maker *m, uint32_t n)
{
    if (m->n_bytes > 0) {
        m->n_bytes--;
        return *m->bytes++ % n;
    }
    return (builder_random(&m->seed) >> 8) % n;
}

static void set_dims(const struct random_maker *m, bool is_nchw, uint32_t dims[4])
{
    dims[0] = 1;
    dims[1] = is_nchw ? CHANNELS : m->side;
    dims[2] = m->side;
    dims[3] = is_nchw ? m->side : CHANNELS;
}

static bool is_float(const struct random_tensor *t)
{
    return t->type == NNHAL_TENSOR_FLOAT32;
}

/* What a new result of this type is like; the last one is the model's output. */
static struct random_tensor *new_tensor(struct random_maker *m, uint32_t type, bool is_nchw,
                                        bool is_last)
{
    struct random_tensor *t = &m->tensors[m->n++];
    uint32_t dims[4];

    set_dims(m, is_nchw, dims);
    *t = (struct random_tensor){.type = type, .is_nchw = is_nchw};
    if (!is_float(t)) {
        t->scale = 0.05f;
        t->zero_point = type == NNHAL_TENSOR_QUANT8_ASYMM ? 120 : -8;
    }
    t->operand = (is_last ? builder_output : builder_temporary)(m->b, 0, type, 4, dims, t->scale,
                                                                t->zero_point);
    return t;
}

/* Any tensor, recent ones more often. */
static struct random_tensor *any(struct random_maker *m)
{
    uint32_t back = pick(m, 2) ? 0 : pick(m, m->n);

    return &m->tensors[m->n - 1 - back];
}

/* Another of the same type, layout and rank, or NULL. */
static struct random_tensor *like(struct random_maker *m, const struct random_tensor *t)
{
    for (uint32_t tries = 0; tries < 8; tries++) {
        struct random_tensor *other = &m->tensors[pick(m, m->n)];

        if (other->type == t->type && other->is_nchw == t->is_nchw)
            return other;
    }
    return NULL;
}

static uint32_t random_constant(struct random_maker *m, uint32_t type, uint32_t rank,
                                const uint32_t *dims, float scale, int32_t zero_point)
{
    uint8_t bytes[16 * 1024];
    uint32_t n = 1;

    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    for (uint32_t i = 0; i < n; i++) {
        if (type == NNHAL_TENSOR_FLOAT32) {
            float x = builder_random_float(&m->seed, -0.5f, 0.5f);

            memcpy(bytes + i * 4, &x, 4);
        } else if (type == NNHAL_TENSOR_INT32) {
            int32_t x = builder_random_int(&m->seed, -500, 500);

            memcpy(bytes + i * 4, &x, 4);
        } else {
            bytes[i] = (uint8_t)builder_random(&m->seed);
        }
    }
    if (type == NNHAL_TENSOR_FLOAT32 || type == NNHAL_TENSOR_INT32)
        n *= 4;
    return builder_constant(m->b, 0, type, rank, dims, scale, zero_point, bytes, n, n > 512);
}

/* Some of the quantized ones have a scale for each channel. */
static uint32_t add_filter(struct random_maker *m, const struct random_tensor *in,
                           const uint32_t *dims, bool is_depthwise)
{
    static const float scales[CHANNELS] = {0.01f,  0.02f,  0.005f, 0.011f, 0.013f, 0.008f,
                                           0.01f,  0.012f, 0.007f, 0.014f, 0.012f, 0.009f,
                                           0.015f, 0.006f, 0.011f, 0.0123f};
    bool has_channels = !is_float(in) && pick(m, 2);
    uint32_t filter;

    if (is_float(in))
        return random_constant(m, in->type, 4, dims, 0, 0);
    if (!has_channels)
        return random_constant(m, in->type, 4, dims, 0.01f,
                               in->type == NNHAL_TENSOR_QUANT8_ASYMM ? 130 : 2);
    filter = random_constant(m, NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL, 4, dims, 0, 0);
    m->b->graphs[0].operands[filter].extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
    m->b->graphs[0].operands[filter].channel_quant = (struct nnhal_channel_quant){
        .channel_dim = is_depthwise ? 3 : 0, .n_scales = CHANNELS, .scales = scales};
    return filter;
}

static bool has_channels(const struct random_maker *m, uint32_t filter)
{
    return m->b->graphs[0].operands[filter].type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL;
}

static void add_conv(struct random_maker *m, bool is_last)
{
    const struct random_tensor *in = any(m);
    bool is_depthwise = pick(m, 3) == 0;
    uint32_t side = pick(m, 2) ? 3 : 1, channels[] = {CHANNELS}, n = 0, o[12];
    uint32_t filter[] = {is_depthwise ? 1 : CHANNELS, side, side, CHANNELS};
    struct random_tensor out = *new_tensor(m, in->type, in->is_nchw, is_last);

    o[n++] = in->operand;
    o[n++] = add_filter(m, in, filter, is_depthwise);
    o[n++] = random_constant(m, is_float(in) ? in->type : NNHAL_TENSOR_INT32, 1, channels,
                             is_float(in) || has_channels(m, o[1]) ? 0 : in->scale * 0.01f, 0);
    o[n++] = builder_i32(m->b, 0, 1);
    o[n] = o[n + 1] = builder_i32(m->b, 0, 1);
    n += 2;
    if (is_depthwise)
        o[n++] = builder_i32(m->b, 0, 1);
    o[n++] = builder_i32(m->b, 0, (int32_t)pick(m, 4));
    o[n++] = builder_bool(m->b, 0, in->is_nchw);
    builder_operation(m->b, 0, is_depthwise ? NNHAL_OP_DEPTHWISE_CONV_2D : NNHAL_OP_CONV_2D, n, o,
                      1, &out.operand);
}

static void add_pool(struct random_maker *m, bool is_last)
{
    const struct random_tensor *in = any(m);
    struct random_tensor out = *new_tensor(m, in->type, in->is_nchw, is_last);
    uint32_t o[8] = {in->operand, builder_i32(m->b, 0, 1)};

    out.zero_point = in->zero_point;
    o[2] = o[3] = o[1];
    o[4] = o[5] = builder_i32(m->b, 0, 3);
    o[6] = builder_i32(m->b, 0, (int32_t)pick(m, 4));
    o[7] = builder_bool(m->b, 0, in->is_nchw);
    builder_operation(m->b, 0, pick(m, 2) ? NNHAL_OP_MAX_POOL_2D : NNHAL_OP_AVERAGE_POOL_2D, 8, o,
                      1, &out.operand);
}

static void add_binary(struct random_maker *m, bool is_last)
{
    static const uint32_t operations[] = {NNHAL_OP_ADD, NNHAL_OP_ADD, NNHAL_OP_MUL, NNHAL_OP_SUB,
                                          NNHAL_OP_MAXIMUM};
    uint32_t operation = operations[pick(m, 5)], channels[] = {CHANNELS}, o[3];
    const struct random_tensor *a = any(m), *b = like(m, a);
    struct random_tensor out;

    o[0] = a->operand;
    if (b && (pick(m, 3) || a->is_nchw))
        o[1] = b->operand;
    else if (a->is_nchw)
        o[1] = a->operand;
    else
        o[1] = random_constant(m, a->type, 1, channels, is_float(a) ? 0 : 0.05f, a->zero_point);
    if (pick(m, 2) && !a->is_nchw) {
        uint32_t first = o[0];

        o[0] = o[1];
        o[1] = first;
    }
    o[2] = operation == NNHAL_OP_MAXIMUM ? 0 : builder_i32(m->b, 0, (int32_t)pick(m, 4));
    out = *new_tensor(m, a->type, a->is_nchw, is_last);
    builder_operation(m->b, 0, operation, operation == NNHAL_OP_MAXIMUM ? 2 : 3, o, 1,
                      &out.operand);
}

static void add_unary(struct random_maker *m, bool is_last)
{
    static const uint32_t both[] = {NNHAL_OP_RELU, NNHAL_OP_RELU6, NNHAL_OP_HARD_SWISH};
    static const uint32_t real[] = {NNHAL_OP_TANH, NNHAL_OP_LOGISTIC, NNHAL_OP_ABS, NNHAL_OP_EXP};
    const struct random_tensor *in = any(m);
    bool is_real = is_float(in) && pick(m, 2);
    uint32_t operation = is_real ? real[pick(m, 4)] : both[pick(m, 3)];
    struct random_tensor out = *new_tensor(m, in->type, in->is_nchw, is_last);

    builder_operation(m->b, 0, operation, 1, &in->operand, 1, &out.operand);
}

static void add_conversion(struct random_maker *m, bool is_last)
{
    const struct random_tensor *in = any(m);
    struct random_tensor out = *new_tensor(m, is_float(in) ? m->type : NNHAL_TENSOR_FLOAT32,
                                           in->is_nchw, is_last);

    builder_operation(m->b, 0, is_float(in) ? NNHAL_OP_QUANTIZE : NNHAL_OP_DEQUANTIZE, 1,
                      &in->operand, 1, &out.operand);
}

static void add_transpose(struct random_maker *m, bool is_last)
{
    static const int32_t orders[2][4] = {{0, 3, 1, 2}, {0, 2, 3, 1}};
    const struct random_tensor *in = any(m);
    struct random_tensor out = *new_tensor(m, in->type, !in->is_nchw, is_last);
    uint32_t four[] = {4}, o[2] = {in->operand};

    o[1] = builder_constant(m->b, 0, NNHAL_TENSOR_INT32, 1, four, 0, 0, orders[in->is_nchw], 16, 0);
    builder_operation(m->b, 0, NNHAL_OP_TRANSPOSE, 2, o, 1, &out.operand);
}

/* The same size in both directions, by any of the rules. */
static void add_resize(struct random_maker *m, bool is_last)
{
    const struct random_tensor *in = any(m);
    struct random_tensor out = *new_tensor(m, in->type, in->is_nchw, is_last);
    uint32_t o[6] = {in->operand};

    o[1] = o[2] = builder_i32(m->b, 0, (int32_t)m->side);
    o[3] = builder_bool(m->b, 0, in->is_nchw);
    o[4] = builder_bool(m->b, 0, 0);
    o[5] = builder_bool(m->b, 0, (int)pick(m, 2));
    builder_operation(m->b, 0,
                      pick(m, 2) ? NNHAL_OP_RESIZE_BILINEAR : NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, 6,
                      o, 1, &out.operand);
}

static void add_step(struct random_maker *m, bool is_last)
{
    switch (pick(m, 14)) {
    case 0:
    case 1:
    case 2:
        return add_conv(m, is_last);
    case 3:
        return add_pool(m, is_last);
    case 4:
    case 5:
    case 6:
        return add_binary(m, is_last);
    case 7:
    case 8:
        return add_unary(m, is_last);
    case 9:
    case 10:
        return add_conversion(m, is_last);
    case 11:
        return add_resize(m, is_last);
    default:
        return add_transpose(m, is_last);
    }
}

void random_model_make(struct builder *b, const struct random_choices *choices, uint32_t side)
{
    struct random_maker m = {.b = b,
                             .bytes = choices->bytes,
                             .n_bytes = choices->n_bytes,
                             .seed = choices->seed * 7919 + 1,
                             .side = side};
    uint32_t type, dims[4];

    m.type = pick(&m, 2) ? NNHAL_TENSOR_QUANT8_ASYMM : NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    type = pick(&m, 2) ? m.type : NNHAL_TENSOR_FLOAT32;
    m.tensors[0] = (struct random_tensor){.type = type, .is_nchw = pick(&m, 2) != 0};
    if (type != NNHAL_TENSOR_FLOAT32) {
        m.tensors[0].scale = 0.05f;
        m.tensors[0].zero_point = type == NNHAL_TENSOR_QUANT8_ASYMM ? 120 : -8;
    }
    set_dims(&m, m.tensors[0].is_nchw, dims);
    m.tensors[0].operand = builder_input(b, 0, type, 4, dims, m.tensors[0].scale,
                                         m.tensors[0].zero_point);
    m.n = 1;
    for (uint32_t i = 0; i < N_STEPS; i++)
        add_step(&m, i >= N_STEPS - 2);
}

/* ---- running ---- */

/* What passes make is accepted when it comes back from the cache. */
static int verify(const struct builder *b, const struct nn_program *program, uint32_t isa)
{
    const struct nn_plan *plan = &program->graphs[0].plans->plan;
    struct nn_plan_world world = {.n_values = program->graphs[0].graph.n_values,
                                  .n_nodes = program->graphs[0].graph.n_nodes,
                                  .n_pools = 1,
                                  .pool_bytes = &b->mapped.size,
                                  .isa = isa};

    return nn_plan_verify(plan, nn_plan_header(plan)->n_bytes, &world);
}

static size_t bytes_of(const struct builder *b, uint32_t operand)
{
    const struct nnhal_operand *o = &b->graphs[0].operands[operand];

    return (size_t)o->dimensions[1] * o->dimensions[2] * o->dimensions[3] *
           (o->type == NNHAL_TENSOR_FLOAT32 ? 4 : 1);
}

static void fill_input(const struct builder *b, uint32_t seed, uint8_t *input)
{
    size_t n = bytes_of(b, 0);

    for (size_t i = 0; i < n; i += 4) {
        float x = builder_random_float(&seed, -4.0f, 4.0f);
        uint32_t codes = builder_random(&seed);

        if (b->graphs[0].operands[0].type == NNHAL_TENSOR_FLOAT32)
            memcpy(input + i, &x, 4);
        else
            memcpy(input + i, &codes, 4);
    }
}

static int execute(const struct builder *b, struct nn_program *program, const uint8_t *input,
                   struct random_results *results, struct nn_why *why)
{
    struct builder_run execution;

    builder_run_init(&execution, b);
    builder_run_input(&execution, 0, input, bytes_of(b, 0));
    for (uint32_t i = 0; i < b->graphs[0].n_outputs; i++)
        builder_run_output(&execution, i, results->bytes[i], bytes_of(b, b->graphs[0].outputs[i]));
    return nn_exec(program, &execution.execution, why);
}

int random_model_run(struct builder *b, const struct random_run *run, uint32_t seed,
                     struct random_results *ret_results)
{
    static uint8_t input[RANDOM_MAX_BYTES];
    struct nnhal_driver_model model = builder_model(b);
    struct nn_stop stop = {.deadline_ns = NNHAL_NO_TIME};
    struct nn_program *program = NULL;
    struct nn_team *team;
    struct nn_why why = {0};
    int r = nn_team_new(run->n_threads, &team);

    if (r)
        return r;
    memset(ret_results, 0xee, sizeof(*ret_results));
    fill_input(b, seed, input);
    r = nn_compile(&model, &(struct nn_compile_options){team, run->isa, run->passes, &stop}, &why,
                   &program);
    if (r == 0)
        r = verify(b, program, run->isa);
    if (r == 0)
        r = execute(b, program, input, ret_results, &why);
    snprintf(b->why, sizeof(b->why), "%s", why.text);
    nn_program_free(program);
    nn_team_free(team);
    return r;
}

bool random_model_has_floats(const struct builder *b)
{
    for (uint32_t i = 0; i < b->graphs[0].n_operands; i++)
        if (b->graphs[0].operands[i].type == NNHAL_TENSOR_FLOAT32)
            return true;
    return false;
}

uint32_t random_model_usable_isa(uint32_t isa)
{
#ifdef __x86_64__
    if ((!(isa & NN_ISA_AVX2) || __builtin_cpu_supports("avx2")) &&
        (!(isa & NN_ISA_AVX512) || __builtin_cpu_supports("avx512vl")) &&
        (!(isa & NN_ISA_AVX512_VNNI) || __builtin_cpu_supports("avx512vnni")))
        return isa;
#endif
    return NN_ISA_C;
}
