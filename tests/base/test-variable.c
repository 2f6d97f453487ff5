/* SPDX-License-Identifier: Apache-2.0 */
#include "base/isa.h"
#include "base/variable.h"

#include "support/check-main.h"

#include <stdlib.h>
#include <string.h>

TEST(a_respelt_variable_is_read_by_both_names)
{
    setenv("NNHAL_OPTIMISE_AFTER", "7", 1);
    unsetenv("NNHAL_OPTIMIZE_AFTER");
    ck_assert_str_eq(nn_variable_get(NN_VARIABLE_OPTIMIZE_AFTER), "7");
    setenv("NNHAL_OPTIMIZE_AFTER", "8", 1);
    ck_assert_str_eq(nn_variable_get(NN_VARIABLE_OPTIMIZE_AFTER), "8");
}
TEST_END

TEST(a_choice_is_one_of_its_names_or_none)
{
    static const char *const names[] = {"auto", "service", NULL};

    unsetenv("NNHAL_MODE");
    ck_assert_ptr_null(nn_variable_get(NN_VARIABLE_MODE));
    ck_assert_int_eq(nn_variable_choose(NN_VARIABLE_MODE, names), -1);
    setenv("NNHAL_MODE", "service", 1);
    ck_assert_int_eq(nn_variable_choose(NN_VARIABLE_MODE, names), 1);
    ck_assert(nn_variable_is(NN_VARIABLE_MODE, "service"));
    setenv("NNHAL_MODE", "serv", 1);
    ck_assert_int_eq(nn_variable_choose(NN_VARIABLE_MODE, names), -1);
    ck_assert(!nn_variable_is(NN_VARIABLE_MODE, "service"));
}
TEST_END

/* Whether the variable may have this value; the sentence of a refusal names both. */
static bool fits(const char *name, const char *value)
{
    char text[512] = "";
    bool is_well;

    setenv(name, value, 1);
    is_well = nn_variables_check(text, sizeof(text)) == 0;
    ck_assert(is_well == (text[0] == '\0'));
    ck_assert_msg(is_well || (strstr(text, name) && strstr(text, value)), "%s", text);
    unsetenv(name);
    return is_well;
}

TEST(values_that_make_no_sense_are_found)
{
    static const struct {
        const char *name, *good, *also, *bad, *worse;
    } rows[] = {
        {"NNHAL_MODE", "private", "", "privat", "service,private"},
        {"NNHAL_RECOVERY", "off", "on", "no", "0"},
        {"NNHAL_CPU_THREADS", "2", "", "two", "-1"},
        {"NNHAL_BURST_SPIN_US", "0", "50", "50us", "1e3"},
        {"NNHAL_SERVICE_UID", "1000", "", "root", "0x10"},
        {"NNHAL_LOG", "debug", "host:debug,service:info", "loud", "host:loud"},
        {"NNHAL_LOG", "warning,cpu:error", "error", "host", "host:debug;info"},
        {"NNHAL_TRACE", "wire,plan", "errors", "wires", "plan:debug"},
        {"NNHAL_STATE_PATH", "/tmp", "", "tmp", "./state"},
        {"NNHAL_DRIVER_PATH", "/a:/b", ":/b:", "drivers", "/a:b"},
        {"NNHAL_SHARE_WEIGHTS", "uid", "all", "none", "on"},
        {"NNHAL_OPTIMISE_AFTER", "32", "", "often", "3.2"},
        {"NNHAL_CPU_ISA", "c", "", "sse9", "avx"},
        {"NNHAL_USER_MEMORY", "25%", "512M", "much", "101%"},
        {"NNHAL_SERVICE_MEMORY", "none", "1073741824", "-1", "5T"},
        {"NNHAL_PARTITIONS", "4", "", "all", "-1"},
        {"NNHAL_SAMPLE_CONFIG", "any text", "x", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert(fits(rows[i].name, rows[i].good));
        ck_assert(fits(rows[i].name, rows[i].also));
        ck_assert(!rows[i].bad || !fits(rows[i].name, rows[i].bad));
        ck_assert(!rows[i].worse || !fits(rows[i].name, rows[i].worse));
    }
}
TEST_END

TEST(an_instruction_set_must_be_there)
{
    static const struct {
        const char *name;
        uint32_t isa;
    } rows[] = {{"avx2", NN_ISA_AVX2},
                {"avx512", NN_ISA_AVX512},
                {"vnni", NN_ISA_AVX512_VNNI},
                {"neon", NN_ISA_NEON}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ck_assert(fits("NNHAL_CPU_ISA", rows[i].name) == ((rows[i].isa & ~nn_isa_of_cpu()) == 0));
}
TEST_END

CHECK_MAIN("variable", a_respelt_variable_is_read_by_both_names,
           a_choice_is_one_of_its_names_or_none, values_that_make_no_sense_are_found,
           an_instruction_set_must_be_there)
