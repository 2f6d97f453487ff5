/* SPDX-License-Identifier: Apache-2.0 */
/* test-delegate.c - the external delegate in a host of each release (fake-lite.h) */
#include <nnhal/delegate.h>

#include "support/check-main.h"
#include "tflite/fake-lite.h"

#include <stdio.h>
#include <string.h>

enum {
    ADD = 0,
    CONV_2D = 3,
    DEQUANTIZE = 6,
    FULLY_CONNECTED = 9,
    RELU = 19,
    RESHAPE = 22,
    CUSTOM = 32,
    SEQUENCE_RNN = 35,
    SQUARED_DIFFERENCE = 99,
};

#define LIST(...) ((const int[]){__VA_ARGS__, -2})

static char complaint[512];

static void complain(const char *text)
{
    snprintf(complaint, sizeof(complaint), "%s", text);
}

/* A delegate with one option, or none; NULL: it was refused, and complaint says why. */
static struct lite_delegate *new_delegate(const char *key, const char *value)
{
    char *keys[2] = {(char *)"verbose", (char *)(uintptr_t)key};
    char *values[2] = {(char *)"true", (char *)(uintptr_t)value};

    complaint[0] = '\0';
    return (struct lite_delegate *)tflite_plugin_create_delegate(keys, values, key ? 2 : 1,
                                                                 complain);
}

static void free_delegate(struct lite_delegate *delegate)
{
    tflite_plugin_destroy_delegate((struct TfLiteDelegate *)delegate);
}

static const float weights[] = {1, 2, 3, 4, 0, 0, 0, 1, -1, -1, -1, -1};
static const float bias[] = {0, 10, 0};

/* y = relu(W x + b), with a custom operation behind it that no device computes. */
struct dense {
    struct fake_lite lite;
    int x, sums, relu, y;
};

static void dense_init(struct dense *dense, enum fake_release release)
{
    struct fake_lite *lite = &dense->lite;
    const struct lite_fully_connected params = {0};
    int w, b;

    fake_lite_init(lite, release);
    dense->x = fake_lite_tensor(lite, 2, (const int[]){1, 4}, NULL);
    w = fake_lite_tensor(lite, 2, (const int[]){3, 4}, weights);
    b = fake_lite_tensor(lite, 1, (const int[]){3}, bias);
    dense->sums = fake_lite_tensor(lite, 2, (const int[]){1, 3}, NULL);
    dense->relu = fake_lite_tensor(lite, 2, (const int[]){1, 3}, NULL);
    dense->y = fake_lite_tensor(lite, 2, (const int[]){1, 3}, NULL);
    fake_lite_node(lite, FULLY_CONNECTED, 1, NULL, &params, sizeof(params.activation),
                   LIST(dense->x, w, b), LIST(dense->sums));
    fake_lite_node(lite, RELU, 1, NULL, NULL, 0, LIST(dense->sums), LIST(dense->relu));
    fake_lite_node(lite, CUSTOM, 1, "Ours", NULL, 0, LIST(dense->relu), LIST(dense->y));
}

/* Fills rows of x with 1, 2, 3, 4 times the row's number, computes and checks. */
static void dense_check(struct dense *dense, int n_rows)
{
    float *x = fake_lite_data(&dense->lite, dense->x);
    const float *y = fake_lite_data(&dense->lite, dense->y);

    for (int i = 0; i < n_rows * 4; i++)
        x[i] = (float)((i / 4 + 1) * (i % 4 + 1));
    ck_assert_int_eq(fake_lite_invoke(&dense->lite), LITE_OK);
    for (int row = 0; row < n_rows; row++) {
        float times = (float)(row + 1);

        ck_assert_float_eq(y[row * 3], 30 * times);
        ck_assert_float_eq(y[row * 3 + 1], 10 + 4 * times);
        ck_assert_float_eq(y[row * 3 + 2], 0);
    }
}

static void dense_apply(struct dense *dense, struct lite_delegate *delegate)
{
    int n_nodes;

    ck_assert_ptr_nonnull(delegate);
    ck_assert_int_eq(fake_lite_apply(&dense->lite, delegate), LITE_OK);
    ck_assert_int_eq(fake_lite_n_delegated(&dense->lite, &n_nodes), 1);
    ck_assert_int_eq(n_nodes, 2);
    ck_assert_int_eq(fake_lite_allocate(&dense->lite), LITE_OK);
}

static void dense_resize(struct dense *dense, int n_rows)
{
    fake_lite_reshape(&dense->lite, dense->x, 2, (const int[]){n_rows, 4});
    fake_lite_reshape(&dense->lite, dense->sums, 2, (const int[]){n_rows, 3});
    fake_lite_reshape(&dense->lite, dense->relu, 2, (const int[]){n_rows, 3});
    fake_lite_reshape(&dense->lite, dense->y, 2, (const int[]){n_rows, 3});
}

/* -- the releases ------------------------------------------------------------------------- */

static const enum fake_release releases[] = {FAKE_2_9, FAKE_2026};

TEST(each_release_is_computed_for)
{
    for (int i = 0; i < 2; i++) {
        struct lite_delegate *delegate = new_delegate(NULL, NULL);
        struct dense dense;

        dense_init(&dense, releases[i]);
        dense_apply(&dense, delegate);
        ck_assert_ptr_nonnull(strstr(dense.lite.log, "node 2 (Ours) stays with TensorFlow Lite: "
                                                     "NNAPI has no such operation"));
        for (int run = 0; run < 12; run++)
            dense_check(&dense, 1);
        fake_lite_done(&dense.lite);
        free_delegate(delegate);
    }
}
TEST_END

/* Nothing beyond what 2.9 has may be set in what a newer host would act upon. */
TEST(what_2_9_lacks_is_zero)
{
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct dense dense;
    const struct lite_registration *ours;

    dense_init(&dense, FAKE_2026);
    dense_apply(&dense, delegate);
    ours = dense.lite.nodes[dense.lite.n_nodes - 1].registration;
    ck_assert_ptr_null(ours->registration_external);
    ck_assert_ptr_null(ours->async_kernel);
    ck_assert_uint_eq(ours->inplace_operator, 0);
    ck_assert_ptr_null(delegate->opaque_delegate_builder);
    ck_assert_str_eq(ours->custom_name, "nnhal");
    fake_lite_done(&dense.lite);
    free_delegate(delegate);
}
TEST_END

/* Converters give a dilated convolution of floats version 1. */
TEST(convolutions_of_each_version_are_dilated)
{
    static const float filter[] = {2, 4}, zero[] = {0};
    const struct lite_conv params = {.padding = LITE_PADDING_VALID,
                                     .stride_w = 1,
                                     .stride_h = 1,
                                     .dilation_w = 2,
                                     .dilation_h = 1};
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct fake_lite lite;
    int x, w, b, y, n_nodes;

    fake_lite_init(&lite, FAKE_2_9);
    x = fake_lite_tensor(&lite, 4, (const int[]){1, 1, 3, 1}, NULL);
    w = fake_lite_tensor(&lite, 4, (const int[]){1, 1, 2, 1}, filter);
    b = fake_lite_tensor(&lite, 1, (const int[]){1}, zero);
    y = fake_lite_tensor(&lite, 4, (const int[]){1, 1, 1, 1}, NULL);
    fake_lite_node(&lite, CONV_2D, 1, NULL, &params, sizeof(params), LIST(x, w, b), LIST(y));
    ck_assert_int_eq(fake_lite_apply(&lite, delegate), LITE_OK);
    ck_assert_int_eq(fake_lite_n_delegated(&lite, &n_nodes), 1);
    ck_assert_int_eq(fake_lite_allocate(&lite), LITE_OK);
    fake_lite_data(&lite, x)[0] = 1;
    fake_lite_data(&lite, x)[1] = 1000;
    fake_lite_data(&lite, x)[2] = 10;
    ck_assert_int_eq(fake_lite_invoke(&lite), LITE_OK);
    ck_assert_float_eq(fake_lite_data(&lite, y)[0], 42);
    fake_lite_done(&lite);
    free_delegate(delegate);
}
TEST_END

/* A difference has codes of its own: 3 - 5 is not one of the output's, which begin at 0. */
TEST(squares_of_quantized_differences_are_right)
{
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct fake_lite lite;
    int tensors[3], n_nodes;
    const int8_t *squares;

    fake_lite_init(&lite, FAKE_2_9);
    for (int i = 0; i < 3; i++) {
        struct lite_tensor *tensor;

        tensors[i] = fake_lite_tensor(&lite, 1, (const int[]){2}, NULL);
        tensor = &lite.context->tensors[tensors[i]];
        tensor->type = LITE_INT8;
        tensor->bytes = 2;
        tensor->params = (struct lite_scale){1, i == 2 ? -128 : 0};
    }
    fake_lite_node(&lite, SQUARED_DIFFERENCE, 1, NULL, NULL, 0, LIST(tensors[0], tensors[1]),
                   LIST(tensors[2]));
    ck_assert_int_eq(fake_lite_apply(&lite, delegate), LITE_OK);
    ck_assert_int_eq(fake_lite_n_delegated(&lite, &n_nodes), 1);
    ck_assert_int_eq(fake_lite_allocate(&lite), LITE_OK);
    memcpy(fake_lite_data(&lite, tensors[0]), (const int8_t[]){3, 9}, 2);
    memcpy(fake_lite_data(&lite, tensors[1]), (const int8_t[]){5, 4}, 2);
    ck_assert_int_eq(fake_lite_invoke(&lite), LITE_OK);
    squares = (const int8_t *)fake_lite_data(&lite, tensors[2]);
    ck_assert_int_eq(squares[0], 4 - 128);
    ck_assert_int_eq(squares[1], 25 - 128);
    fake_lite_done(&lite);
    free_delegate(delegate);
}
TEST_END

/* -- shapes --------------------------------------------------------------------------------- */

TEST(resized_inputs_are_computed)
{
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct dense dense;

    dense_init(&dense, FAKE_2_9);
    dense_apply(&dense, delegate);
    dense_check(&dense, 1);
    for (int n_rows = 3; n_rows > 0; n_rows--) {
        dense_resize(&dense, n_rows);
        ck_assert_int_eq(fake_lite_allocate(&dense.lite), LITE_OK);
        dense_check(&dense, n_rows);
    }
    fake_lite_done(&dense.lite);
    free_delegate(delegate);
}
TEST_END

/* As with XNNPACK beside it: the delegates are undone and asked again when only the input has its new
 * shape. The same nodes are taken. */
TEST(a_delegate_that_is_asked_again_takes_the_same_nodes)
{
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct dense dense;
    int n_nodes;

    dense_init(&dense, FAKE_2_9);
    dense_apply(&dense, delegate);
    fake_lite_undo(&dense.lite);
    fake_lite_reshape(&dense.lite, dense.x, 2, (const int[]){5, 4});
    ck_assert_int_eq(fake_lite_apply(&dense.lite, delegate), LITE_OK);
    ck_assert_int_eq(fake_lite_n_delegated(&dense.lite, &n_nodes), 1);
    ck_assert_int_eq(n_nodes, 2);
    dense_resize(&dense, 5);
    ck_assert_int_eq(fake_lite_allocate(&dense.lite), LITE_OK);
    dense_check(&dense, 5);
    fake_lite_done(&dense.lite);
    free_delegate(delegate);
}
TEST_END

/* A shape that cannot be computed is told, and the next one computes again. */
TEST(a_shape_that_fails_is_told)
{
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct dense dense;

    dense_init(&dense, FAKE_2_9);
    dense_apply(&dense, delegate);
    fake_lite_reshape(&dense.lite, dense.x, 2, (const int[]){1, 5});
    ck_assert_int_eq(fake_lite_allocate(&dense.lite), LITE_ERROR);
    ck_assert_ptr_nonnull(strstr(dense.lite.log, "FULLY_CONNECTED"));
    dense_resize(&dense, 2);
    ck_assert_int_eq(fake_lite_allocate(&dense.lite), LITE_OK);
    dense_check(&dense, 2);
    fake_lite_done(&dense.lite);
    free_delegate(delegate);
}
TEST_END

/* A shape that a tensor says which is no constant: that node stays, and those behind it. */
TEST(unknown_shapes_stay)
{
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct fake_lite lite;
    int x, shape, flat, y, n_nodes;

    fake_lite_init(&lite, FAKE_2_9);
    x = fake_lite_tensor(&lite, 2, (const int[]){2, 2}, NULL);
    shape = fake_lite_tensor(&lite, 1, (const int[]){1}, NULL);
    lite.context->tensors[shape].type = LITE_INT32;
    flat = fake_lite_tensor(&lite, 1, (const int[]){4}, NULL);
    y = fake_lite_tensor(&lite, 1, (const int[]){4}, NULL);
    fake_lite_node(&lite, RESHAPE, 1, NULL, NULL, 0, LIST(x, shape), LIST(flat));
    fake_lite_node(&lite, RELU, 1, NULL, NULL, 0, LIST(flat), LIST(y));
    ck_assert_int_eq(fake_lite_apply(&lite, delegate), LITE_OK);
    ck_assert_int_eq(fake_lite_n_delegated(&lite, &n_nodes), 0);
    ck_assert_ptr_nonnull(strstr(lite.log, "node 1 (RELU) stays with TensorFlow Lite: its shapes"));
    fake_lite_done(&lite);
    free_delegate(delegate);
}
TEST_END

/* -- states, partitions, lives -------------------------------------------------------------- */

/* h = relu(x + h): each run goes on from where the last one ended, as the interpreter's own do. */
TEST(states_are_kept_between_runs)
{
    static const float one[] = {1}, zero[] = {0};
    const struct lite_sequence_rnn params = {.time_major = true, .activation = 1};
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct fake_lite lite;
    int x, w, r, b, state, y, n_nodes;

    fake_lite_init(&lite, FAKE_2026);
    x = fake_lite_tensor(&lite, 3, (const int[]){2, 1, 1}, NULL);
    w = fake_lite_tensor(&lite, 2, (const int[]){1, 1}, one);
    r = fake_lite_tensor(&lite, 2, (const int[]){1, 1}, one);
    b = fake_lite_tensor(&lite, 1, (const int[]){1}, zero);
    state = fake_lite_tensor(&lite, 2, (const int[]){1, 1}, NULL);
    lite.context->tensors[state].is_variable = true;
    y = fake_lite_tensor(&lite, 3, (const int[]){2, 1, 1}, NULL);
    fake_lite_node(&lite, SEQUENCE_RNN, 1, NULL, &params, sizeof(params), LIST(x, w, r, b, state),
                   LIST(y));
    ck_assert_int_eq(fake_lite_apply(&lite, delegate), LITE_OK);
    ck_assert_msg(fake_lite_n_delegated(&lite, &n_nodes) == 1, "%s", lite.log);
    ck_assert_int_eq(fake_lite_allocate(&lite), LITE_OK);
    fake_lite_data(&lite, x)[0] = 1;
    fake_lite_data(&lite, x)[1] = 2;
    for (int run = 0; run < 20; run++) {
        ck_assert_int_eq(fake_lite_invoke(&lite), LITE_OK);
        ck_assert_float_eq(fake_lite_data(&lite, y)[0], (float)(3 * run + 1));
        ck_assert_float_eq(fake_lite_data(&lite, state)[0], (float)(3 * run + 3));
    }
    fake_lite_data(&lite, state)[0] = 0; /* ResetVariableTensors() */
    ck_assert_int_eq(fake_lite_invoke(&lite), LITE_OK);
    ck_assert_float_eq(fake_lite_data(&lite, y)[1], 3);
    fake_lite_done(&lite);
    free_delegate(delegate);
}
TEST_END

/* RELU, RELU | Ours | RELU | Ours | RELU */
static void make_pieces(struct fake_lite *lite)
{
    int tensors[7];

    fake_lite_init(lite, FAKE_2_9);
    for (int i = 0; i < 7; i++)
        tensors[i] = fake_lite_tensor(lite, 1, (const int[]){2}, NULL);
    for (int i = 0; i < 6; i++) {
        bool is_ours = i == 2 || i == 4;

        fake_lite_node(lite, is_ours ? CUSTOM : RELU, 1, is_ours ? "Ours" : NULL, NULL, 0,
                       LIST(tensors[i]), LIST(tensors[i + 1]));
    }
}

TEST(the_largest_partitions_are_kept)
{
    static const struct {
        const char *most;
        int n_partitions, n_nodes;
    } cases[] = {{"1", 1, 2}, {"2", 2, 3}, {"3", 3, 4}, {"0", 3, 4}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lite_delegate *delegate = new_delegate("max_partitions", cases[i].most);
        struct fake_lite lite;
        int n_nodes;

        make_pieces(&lite);
        ck_assert_int_eq(fake_lite_apply(&lite, delegate), LITE_OK);
        ck_assert_int_eq(fake_lite_n_delegated(&lite, &n_nodes), cases[i].n_partitions);
        ck_assert_int_eq(n_nodes, cases[i].n_nodes);
        fake_lite_done(&lite);
        free_delegate(delegate);
    }
}
TEST_END

/* Weights of float16: who reads them stays with TensorFlow Lite, so what makes them of constants
 * does. */
TEST(constants_that_others_read_are_made_by_them)
{
    static const uint16_t halves[] = {0x4000, 0x4000};
    static const int32_t none = 0; /* activation */
    struct lite_delegate *delegate = new_delegate("max_partitions", "1");
    int tensors[6], n_nodes;
    struct fake_lite lite;

    fake_lite_init(&lite, FAKE_2_9);
    for (int i = 0; i < 6; i++)
        tensors[i] = fake_lite_tensor(&lite, 1, (const int[]){2},
                                      i == 0 ? (const float *)(const void *)halves : NULL);
    lite.context->tensors[tensors[0]].type = LITE_FLOAT16;
    lite.context->tensors[tensors[0]].bytes = sizeof(halves);
    fake_lite_node(&lite, DEQUANTIZE, 1, NULL, NULL, 0, LIST(tensors[0]), LIST(tensors[1]));
    fake_lite_node(&lite, RELU, 1, NULL, NULL, 0, LIST(tensors[2]), LIST(tensors[3]));
    fake_lite_node(&lite, CUSTOM, 1, "Ours", NULL, 0, LIST(tensors[3]), LIST(tensors[4]));
    fake_lite_node(&lite, ADD, 1, NULL, &none, sizeof(none), LIST(tensors[4], tensors[1]),
                   LIST(tensors[5]));
    ck_assert_int_eq(fake_lite_apply(&lite, delegate), LITE_OK);
    ck_assert_int_eq(fake_lite_n_delegated(&lite, &n_nodes), 1);
    ck_assert_int_eq(n_nodes, 1); /* the RELU */
    fake_lite_done(&lite);
    free_delegate(delegate);
}
TEST_END

/* A sparse constant without elements that has bytes yet: how many share a scale cannot be said. */
TEST(sparse_constants_stay)
{
    static const struct {
        int size;
        float data[2];
    } scales = {2, {0.5f, 0.25f}};
    static const float bytes[] = {1};
    static const int32_t none = 0; /* activation */
    struct lite_affine affine = {.scale = (void *)(uintptr_t)&scales};
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct lite_tensor *constant;
    int tensors[4], n_nodes;
    struct fake_lite lite;

    fake_lite_init(&lite, FAKE_2_9);
    for (int i = 0; i < 4; i++)
        tensors[i] = fake_lite_tensor(&lite, 2, (const int[]){2, 0}, i == 0 ? bytes : NULL);
    constant = &lite.context->tensors[tensors[0]];
    constant->type = LITE_INT8;
    constant->bytes = sizeof(bytes);
    constant->sparsity = &affine; /* only whether it is there is looked at */
    constant->quantization = (struct lite_quantization){LITE_QUANTIZATION_AFFINE, &affine};
    fake_lite_node(&lite, DEQUANTIZE, 2, NULL, NULL, 0, LIST(tensors[0]), LIST(tensors[1]));
    fake_lite_node(&lite, ADD, 1, NULL, &none, sizeof(none), LIST(tensors[2], tensors[1]),
                   LIST(tensors[3]));
    ck_assert_int_eq(fake_lite_apply(&lite, delegate), LITE_OK);
    ck_assert_int_eq(fake_lite_n_delegated(&lite, &n_nodes), 0);
    ck_assert_ptr_nonnull(strstr(lite.log, "is stored as a sparse tensor"));
    fake_lite_done(&lite);
    free_delegate(delegate);
}
TEST_END

TEST(the_delegate_may_go_first)
{
    struct lite_delegate *first = new_delegate(NULL, NULL), *second = new_delegate(NULL, NULL);
    struct dense one, two;

    dense_init(&one, FAKE_2_9);
    dense_init(&two, FAKE_2026);
    dense_apply(&one, first);
    dense_apply(&two, first);
    free_delegate(second);
    free_delegate(first);
    dense_check(&one, 1);
    fake_lite_done(&one.lite);
    dense_resize(&two, 2);
    ck_assert_int_eq(fake_lite_allocate(&two.lite), LITE_OK);
    dense_check(&two, 2);
    fake_lite_done(&two.lite);
}
TEST_END

/* A host that makes other partitions than it announced: told, not computed. */
TEST(a_host_that_contradicts_itself_is_told)
{
    struct lite_delegate *delegate = new_delegate(NULL, NULL);
    struct dense dense;
    struct lite_node *ours;

    dense_init(&dense, FAKE_2_9);
    dense_apply(&dense, delegate);
    ours = dense.lite.nodes[dense.lite.n_nodes - 1].node;
    dense.lite.nodes[dense.lite.n_nodes - 1].registration->free(dense.lite.context,
                                                                ours->user_data);
    ours->user_data = dense.lite.nodes[dense.lite.n_nodes - 1].registration->init(
        dense.lite.context, (const char *)&dense.lite.partitions[0], 0);
    ck_assert_ptr_null(ours->user_data);
    ck_assert_int_eq(fake_lite_allocate(&dense.lite), LITE_ERROR);
    ck_assert_ptr_nonnull(strstr(dense.lite.log, "other partitions"));
    fake_lite_done(&dense.lite);
    free_delegate(delegate);
}
TEST_END

/* -- options ------------------------------------------------------------------------------- */

TEST(options_that_are_wrong_are_told)
{
    static const struct {
        const char *key, *value, *said;
    } cases[] = {
        {"devices", "nnhal-cpu", "no option devices: possible are device, mode, cache_dir"},
        {"device", "gpu", "there are nnhal-cpu"},
        {"device", "", "the option device is empty"},
        {"mode", "remote", "possible are embedded, private, service"},
        {"preference", "fast", "possible are low-power, fast-single-answer, sustained-speed"},
        {"priority", "99", "possible are low, medium, high"},
        {"allow_fp16", "maybe", "possible are true, false, 1, 0, True, False"},
        {"verbose", "2", "possible are true, false, 1, 0, True, False"},
        {"max_partitions", "-1", "possible are 0 (any number) and numbers up to"},
        {"max_partitions", "3x", "possible are 0 (any number) and numbers up to"},
        {"cache_dir", "/tmp", "cache_dir and model_token go together"},
        {"model_token", "mine", "cache_dir and model_token go together"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_ptr_null(new_delegate(cases[i].key, cases[i].value));
        ck_assert_msg(strstr(complaint, cases[i].said) != NULL, "%s=%s: %s", cases[i].key,
                      cases[i].value, complaint);
    }
}
TEST_END

TEST(options_that_are_right_are_taken)
{
    static const char *const cases[][2] = {
        {"device", "nnhal-cpu"},       {"device", "none,cpu"}, {"mode", "embedded"},
        {"preference", "low-power"},   {"priority", "low"},    {"allow_fp16", "true"},
        {"max_partitions", "0"},       {"allow_fp16", "True"}, {"verbose", "0"},
        {"device", "nnapi-reference"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lite_delegate *delegate = new_delegate(cases[i][0], cases[i][1]);
        struct dense dense;

        ck_assert_msg(delegate != NULL, "%s=%s: %s", cases[i][0], cases[i][1], complaint);
        dense_init(&dense, FAKE_2_9);
        dense_apply(&dense, delegate);
        dense_check(&dense, 1);
        fake_lite_done(&dense.lite);
        free_delegate(delegate);
    }
}
TEST_END

CHECK_MAIN("delegate", each_release_is_computed_for, what_2_9_lacks_is_zero,
           convolutions_of_each_version_are_dilated, squares_of_quantized_differences_are_right,
           resized_inputs_are_computed, a_delegate_that_is_asked_again_takes_the_same_nodes,
           a_shape_that_fails_is_told, unknown_shapes_stay, states_are_kept_between_runs,
           the_largest_partitions_are_kept, constants_that_others_read_are_made_by_them,
           sparse_constants_stay, the_delegate_may_go_first, a_host_that_contradicts_itself_is_told,
           options_that_are_wrong_are_told, options_that_are_right_are_taken)
