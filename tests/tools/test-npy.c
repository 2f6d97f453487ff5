/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/nnhal/npy.h"

#include "support/check-main.h"

#include <string.h>

/* A head of a version, around a text. */
static size_t put_head(uint8_t *bytes, uint8_t version, const char *text)
{
    size_t n = strlen(text), before = version == 1 ? 10 : 12;

    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = version;
    bytes[7] = 0;
    memset(bytes + 8, 0, 4);
    bytes[8] = (uint8_t)n;
    memcpy(bytes + before, text, n);
    return before + n;
}

static const char *parse(uint8_t version, const char *text, struct npy *ret_npy)
{
    uint8_t bytes[512];

    return npy_parse(bytes, put_head(bytes, version, text), ret_npy);
}

TEST(versions_and_spellings)
{
    static const char *const texts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 30), }\n",
        "{\"shape\":(2,30,),\"fortran_order\":False,\"descr\":\"<f4\"}",
    };
    struct npy npy;

    for (uint8_t version = 1; version <= 3; version++)
        for (int i = 0; i < 2; i++) {
            ck_assert_ptr_null(parse(version, texts[i], &npy));
            ck_assert_str_eq(npy.type, "<f4");
            ck_assert_uint_eq(npy.n_dimensions, 2);
            ck_assert_uint_eq(npy.dimensions[0], 2);
            ck_assert_uint_eq(npy.dimensions[1], 30);
            ck_assert_uint_eq(npy.head_bytes, (version == 1 ? 10 : 12) + strlen(texts[i]));
        }
    ck_assert_ptr_null(parse(1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", &npy));
    ck_assert_uint_eq(npy.n_dimensions, 0);
    ck_assert_ptr_null(parse(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (5,)}", &npy));
    ck_assert_uint_eq(npy.dimensions[0], 5);
}
TEST_END

TEST(what_is_refused)
{
    static const char *const texts[][2] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "big-endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", "no model takes"},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (2,)}", "no model takes"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "several types"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}", "order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,)}", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "shape"},
        {"{'descr': '<f4', 'fortran_order': False}", "damaged"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "damaged"},
        {"{'other': '<f4', 'fortran_order': False, 'shape': ()}", "damaged"},
        {"'descr'", "damaged"},
    };
    struct npy npy;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *wrong = parse(1, texts[i][0], &npy);

        ck_assert_msg(wrong && strstr(wrong, texts[i][1]), "%s: %s", texts[i][0],
                      wrong ? wrong : "taken");
    }
    ck_assert_ptr_nonnull(strstr(parse(4, "{}", &npy), "version"));
    ck_assert_ptr_nonnull(npy_parse((const uint8_t *)"no numpy", 8, &npy));
}
TEST_END

TEST(every_cut_is_refused)
{
    uint8_t bytes[512];
    size_t n = put_head(bytes, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}");
    struct npy npy;

    for (size_t cut = 0; cut < n; cut++)
        ck_assert_ptr_nonnull(npy_parse(bytes, cut, &npy));
    bytes[11] = 1; /* the length of the text: 16 MiB more */
    ck_assert_ptr_nonnull(strstr(npy_parse(bytes, n, &npy), "64 KiB"));
}
TEST_END

TEST(what_is_made_is_read)
{
    static const uint32_t dimensions[] = {4294967295, 4294967295, 4294967295, 4294967295,
                                          4294967295, 4294967295, 4294967295, 4294967295};
    char head[NPY_MADE_HEAD_BYTES];
    struct npy npy;

    for (uint32_t n = 0; n <= NPY_MAX_DIMENSIONS; n++) {
        size_t n_bytes = npy_make("<i2", n, dimensions, head);

        ck_assert_uint_eq(n_bytes % 64, 0);
        ck_assert_int_eq(head[n_bytes - 1], '\n');
        ck_assert_ptr_null(npy_parse((const uint8_t *)head, n_bytes, &npy));
        ck_assert_uint_eq(npy.head_bytes, n_bytes);
        ck_assert_uint_eq(npy.n_dimensions, n);
        ck_assert_int_eq(memcmp(npy.dimensions, dimensions, n * sizeof(uint32_t)), 0);
    }
}
TEST_END

CHECK_MAIN("npy", versions_and_spellings, what_is_refused, every_cut_is_refused,
           what_is_made_is_read)
