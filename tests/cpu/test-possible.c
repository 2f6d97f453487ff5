/* SPDX-License-Identifier: Apache-2.0 */
/* Valid models that no execution can compute: NNAPI lets them be finished. */
#include "cpu/builder.h"

#include "support/check-main.h"

#include <stddef.h>
#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32

/* y = RELU(x); z = ADD(y, w, activation), where w has n elements and y two. */
static void build(struct builder *b, uint32_t n, int32_t activation)
{
    const uint32_t two = 2;
    uint32_t operands[3], relu, output;

    builder_init(b, 1);
    relu = builder_input(b, 0, F32, 1, &two, 0, 0);
    operands[0] = builder_temporary(b, 0, F32, 0, NULL, 0, 0);
    builder_operation(b, 0, NNHAL_OP_RELU, 1, &relu, 1, operands);
    operands[1] = builder_input(b, 0, F32, 1, &n, 0, 0);
    operands[2] = builder_i32(b, 0, activation);
    output = builder_output(b, 0, F32, 0, NULL, 0, 0);
    builder_operation(b, 0, NNHAL_OP_ADD, 3, operands, 1, &output);
}

/* Bit i: the device says that it supports operation i. */
static unsigned ask(struct builder *b, const struct nnhal_driver *driver)
{
    const struct nnhal_driver_model model = builder_model(b);
    uint8_t supported[2] = {0};
    void *device;

    ck_assert_uint_eq(driver->open(&b->services, &device), NNHAL_NONE);
    ck_assert_uint_eq(driver->get_supported_operations(device, &model, supported), NNHAL_NONE);
    driver->close(device);
    return supported[0] | (unsigned)supported[1] << 1;
}

TEST(what_is_impossible_is_not_supported_but_by_the_reference)
{
    static const struct {
        uint32_t n;
        int32_t activation;
        unsigned supported;
        const char *refusal;
    } rows[] = {
        {2, 0, 3, ""},
        {1, 3, 3, ""},
        {0, 0, 3, ""},
        {3, 0, 1, "1: ADD: the shapes of inputs 0 and 1 cannot be broadcast"},
        {2, 999, 1, "1: ADD: the fused activation is 999, it must be 0 to 3"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct builder b;

        build(&b, rows[i].n, rows[i].activation);
        ck_assert_uint_eq(ask(&b, nn_cpu_driver_main(NULL)), rows[i].supported);
        ck_assert_str_eq(b.refusal, rows[i].refusal);
        b.refusal[0] = '\0';
        ck_assert_uint_eq(ask(&b, nn_cpu_reference_main(NULL)), 3);
        ck_assert_str_eq(b.refusal, "");
        builder_done(&b);
    }
}
TEST_END

static void must_not_refuse(void *ctx, uint32_t operation, const char *text)
{
    ck_abort_msg("an older host has no refuse()");
}

TEST(an_older_host_is_told_no_reasons)
{
    struct builder b;

    build(&b, 3, 0);
    b.services.size = offsetof(struct nnhal_driver_services, refuse);
    b.services.refuse = must_not_refuse;
    ck_assert_uint_eq(ask(&b, nn_cpu_driver_main(NULL)), 1);
    b.services.size = sizeof(b.services);
    b.services.refuse = NULL;
    ck_assert_uint_eq(ask(&b, nn_cpu_driver_main(NULL)), 1);
    builder_done(&b);
}
TEST_END

TEST(what_is_impossible_is_prepared_and_fails_to_execute)
{
    float x[2] = {1, 2}, w[3] = {0}, z[3];
    struct builder_run run;
    struct builder b;
    void *prepared;

    build(&b, 3, 0);
    prepared = builder_prepare(&b);
    builder_run_init(&run, &b);
    builder_run_input(&run, 0, x, sizeof(x));
    builder_run_input(&run, 1, w, sizeof(w));
    builder_run_output(&run, 0, z, sizeof(z));
    ck_assert_uint_eq(b.driver->execute(prepared, &run.execution), NNHAL_GENERAL_FAILURE);
    ck_assert_msg(strstr(b.why, "ADD"), "%s", b.why);
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

CHECK_MAIN("possible", what_is_impossible_is_not_supported_but_by_the_reference,
           an_older_host_is_told_no_reasons, what_is_impossible_is_prepared_and_fails_to_execute)
