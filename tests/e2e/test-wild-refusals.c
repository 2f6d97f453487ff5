/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that says why it does not take an operation as it should not (wild-driver.c). */
#include "ways.h"

#include <stdlib.h>
#include <string.h>

/* "€", as often as there is room for it. */
static const char *euros(void)
{
    static char text[NNHAL_MAX_REASON_BYTES + 1];

    for (size_t i = 0; i + 3 < sizeof(text); i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    return text;
}

static void expect_verdict(const struct ways_formula *formula, uint32_t operation, uint32_t verdict,
                           const char *why)
{
    struct nnhal_operation_verdict said = {.size = sizeof(said)};

    OK(nnhal_compilation_get_verdict(formula->compilation, ways_device(), operation, &said));
    ck_assert_int_eq(said.verdict, verdict);
    ck_assert_str_eq(said.why, why);
}

/* Twice: what was said of one model is none of the next. */
static void expect_why(const char *how, const char *why)
{
    setenv("WILD_REFUSE", how, 1);
    ways_begin();
    for (int i = 0; i < 2; i++) {
        struct ways_formula formula;

        OK(ways_formula_compile_for_any(&formula));
        expect_verdict(&formula, 0, NNHAL_VERDICT_TAKEN, "");
        expect_verdict(&formula, 1, NNHAL_VERDICT_UNSUPPORTED, why);
        ANeuralNetworksCompilation_free(formula.compilation);
    }
    ways_end();
}

TEST(a_sentence_is_cut)
{
    expect_why("LENGTH", euros());
}
TEST_END

TEST(a_sentence_is_plain)
{
    expect_why("BYTES", "a b?[2Jc??d??e?");
}
TEST_END

/* The last one counts, for which there is no room. */
TEST(no_more_sentences_are_kept_than_there_is_room_for)
{
    expect_why("NUMBER", "");
}
TEST_END

TEST(only_the_thread_that_was_asked_is_heard)
{
    expect_why("THREAD", "");
}
TEST_END

CHECK_MAIN("wild-refusals-" WAY, a_sentence_is_cut, a_sentence_is_plain,
           no_more_sentences_are_kept_than_there_is_room_for,
           only_the_thread_that_was_asked_is_heard)
