/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal.tflite as the host leaves it to the driver: prefixes are replaced, and operations judged. */
#include "cpu/builder.h"

#include "support/check-main.h"

#include <nnhal/tflite-extension.h>

#include <string.h>

#define F32    NNHAL_TENSOR_FLOAT32
#define PREFIX 7u

/* y = an operation of the extension on x [2, 3], with y of that type and x's extra parameters. */
struct row {
    uint32_t operation, type, extra;
    const char *prefix_of, *why;
};

static void build(struct builder *b, const struct row *row)
{
    const uint32_t dims[] = {2, 3};
    uint32_t x, y;

    builder_init(b, 1);
    x = builder_input(b, 0, F32, 2, dims, 0, 0);
    b->graphs[0].operands[x].extra_params = row->extra;
    y = builder_output(b, 0, row->type, 0, NULL, 0, 0);
    builder_operation(b, 0, PREFIX << 16 | row->operation, 1, &x, 1, &y);
}

static struct nnhal_driver_model model_of(struct builder *b, const struct row *row,
                                          struct nnhal_extension_prefix *prefix)
{
    struct nnhal_driver_model model = builder_model(b);

    *prefix = (struct nnhal_extension_prefix){.name = row->prefix_of, .prefix = PREFIX};
    b->model.n_extension_prefixes = 1;
    b->model.extension_prefixes = prefix;
    return model;
}

static void expect_refused(const struct row *row)
{
    struct nnhal_extension_prefix prefix;
    struct builder b;
    struct nnhal_prepare request = {.size = sizeof(request), .deadline_ns = NNHAL_NO_TIME};
    void *prepared = NULL;
    uint8_t is_supported = 1;

    build(&b, row);
    request.model = model_of(&b, row, &prefix);
    ck_assert_uint_eq(b.driver->get_supported_operations(b.device, &request.model, &is_supported),
                      NNHAL_NONE);
    ck_assert(!is_supported);
    ck_assert(strncmp(b.refusal, "0: ", 3) == 0);
    ck_assert_str_eq(b.refusal + 3, row->why);
    ck_assert_uint_eq(b.driver->prepare(b.device, &request, &prepared), NNHAL_GENERAL_FAILURE);
    ck_assert_str_eq(b.why, row->why);
    builder_done(&b);
}

TEST(what_is_no_operation_of_it_is_refused)
{
    static const struct row rows[] = {
        {NNHAL_TFLITE_SHAPE, F32, 0, NNHAL_TFLITE_EXTENSION,
         "SHAPE output 0 is TENSOR_FLOAT32, which is not allowed here"},
        {NNHAL_TFLITE_SHAPE, PREFIX << 16 | 9, 0, NNHAL_TFLITE_EXTENSION,
         "SHAPE output 0 is extension type, which is not allowed here"},
        {NNHAL_TFLITE_SHAPE, NNHAL_TENSOR_INT32, NNHAL_EXTRA_EXTENSION, NNHAL_TFLITE_EXTENSION,
         "SHAPE: an operand has extension data, of which there is none"},
        {NNHAL_TFLITE_FLOOR_MOD, F32, 0, NNHAL_TFLITE_EXTENSION,
         "FLOOR_MOD has 1 inputs and 1 outputs; it takes inputs: 2; outputs: 1"},
        {NNHAL_TFLITE_DEQUANTIZE, F32, 0, NNHAL_TFLITE_EXTENSION,
         "DEQUANTIZE input 0 is TENSOR_FLOAT32, which is not allowed here"},
        {999, F32, 0, NNHAL_TFLITE_EXTENSION, "there is no operation 999 in nnhal.tflite"},
        {NNHAL_TFLITE_ROUND, F32, 0, "com.example.other",
         "there is no operation 2 in nnhal.tflite"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_refused(&rows[i]);
}
TEST_END

/* The prefix is the model's choice; an output of the extension's type has 8 bytes for an element. */
TEST(what_it_has_is_computed)
{
    const struct row row = {NNHAL_TFLITE_SHAPE, PREFIX << 16 | NNHAL_TFLITE_TENSOR_INT64, 0,
                            NNHAL_TFLITE_EXTENSION, NULL};
    struct nnhal_extension_prefix prefix;
    struct nnhal_prepare request = {.size = sizeof(request), .deadline_ns = NNHAL_NO_TIME};
    const float x[6] = {0};
    int64_t shape[2] = {-1, -1};
    struct builder_run run;
    struct builder b;
    void *prepared = NULL;

    build(&b, &row);
    request.model = model_of(&b, &row, &prefix);
    ck_assert_uint_eq(b.driver->prepare(b.device, &request, &prepared), NNHAL_NONE);
    builder_run_init(&run, &b);
    builder_run_input(&run, 0, x, sizeof(x));
    builder_run_output(&run, 0, (uint8_t *)shape, sizeof(shape));
    ck_assert_uint_eq(b.driver->execute(prepared, &run.execution), NNHAL_NONE);
    ck_assert_int_eq(shape[0], 2);
    ck_assert_int_eq(shape[1], 3);
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

CHECK_MAIN("own-extension", what_is_no_operation_of_it_is_refused, what_it_has_is_computed)
