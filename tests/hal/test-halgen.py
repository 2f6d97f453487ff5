#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generator: what is checked in is up to date, small texts give these
outputs, bad texts give these errors."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "hal"))
sys.dont_write_bytecode = True

from gen import dispatch, header, page, rules, seeds, tables  # noqa: E402
from gen.parse import parse  # noqa: E402
from gen.text import HalError  # noqa: E402

GOLDEN = Path(__file__).resolve().parent / "golden"
HEAD = "// SPDX\n/* Essay. */\npackage nnhal;\nversion 1.1;\n"
BASE = HEAD + """\
limit MAX_SENTENCE_BYTES = 100;
limit MAX_FDS = 2;
limit MAX_THINGS = 5;
constant TOKEN_BYTES = 4;
constant FEATURE_LEVEL_1 = 27;
constant FEATURE_LEVEL_2 = 28;
enum error_status { NONE = 0; FAILED = 1; }
"""


def link(text, path="a.hal"):
    return rules.link([parse(path, text)])


class CheckedIn(unittest.TestCase):
    def test_what_is_checked_in_is_what_the_files_say(self):
        done = subprocess.run([sys.executable, ROOT / "hal/halgen.py", "check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout + done.stderr, done.returncode), ("", 0))

    def test_the_page_has_every_method_and_limit(self):
        text = (ROOT / "doc/hal.md").read_text(encoding="utf-8")
        for name in ("prepare_model_from_cache", "MAX_OPERANDS", "fmq_request_datum",
                     "IPreparedModel.executeSynchronously", "hidl_memory", "cache_written"):
            self.assertIn(name, text)


class Golden(unittest.TestCase):
    """tests/hal/golden: small.hal and what it gives. To renew after a change
    that is meant: NNHAL_RENEW=1."""

    def compare(self, name, text):
        path = GOLDEN / name
        if os.environ.get("NNHAL_RENEW"):
            path.write_text(text, encoding="utf-8")
        self.assertEqual(path.read_text(encoding="utf-8"), text)

    def setUp(self):
        types = (GOLDEN / "small-types.hal").read_text(encoding="utf-8")
        device = (GOLDEN / "small-device.hal").read_text(encoding="utf-8")
        self.linked = rules.link([parse("small-types.hal", types),
                                  parse("small-device.hal", device)])

    def test_types(self):
        self.compare("small-types.txt", header.types_header(self.linked))

    def test_hal(self):
        self.compare("small-hal.txt", header.hal_header(self.linked, "small-device.hal"))

    def test_codec(self):
        self.compare("small-codec.txt", "\n".join(
            make(self.linked) for make in (tables.codec_header, tables.codec_source,
                                           tables.messages_header, tables.messages_source)))

    def test_dispatch(self):
        self.compare("small-dispatch.txt", "\n".join(
            make(self.linked) for make in (dispatch.proxy_methods, dispatch.stub_methods,
                                           dispatch.host_header, dispatch.host_methods)))

    def test_page(self):
        self.compare("small-page.txt", page.page(self.linked))

    def test_seeds(self):
        thing = next(s for s in self.linked.structs() if s.name == "thing")
        encoder = seeds.Encoder("least", "thing")
        absent = b"\xff\xff\xff\xff"
        colors = b"\0\0\0\0\1\0\0\0"
        self.assertEqual(encoder.struct(thing),
                         bytes(4) + absent + bytes(8) + colors + bytes(4 + 2 + 2 + 4 + 4 + 8))
        self.assertEqual(len(encoder.struct(thing)), thing.min_bytes)


GOOD = [
    "struct a { u32 x; u32 y; }",
    "struct a { count n max MAX_THINGS; count m max MAX_THINGS; u32 x[n]; u32 y[m]; u32 z[n]; }",
    "struct a { u32 x; u32 y minor 1; }",
    "struct a { u8 token[TOKEN_BYTES]; }",
    "struct a { u32 x; } struct b { count n max MAX_THINGS; a x[n]; a y; }",
    "open enum a { X = 1; Y = 100; }",
    "enum a { X = 5; Y = 6; end N = 7; }",
    "interface I thing { method 1 a { args { fd? x; fd y; } reply { } } event 1 b { id x; } }",
    "interface I thing { method 1 a { args { id x; } reply also FAILED { bool y; } } }",
    "union u bytes 24 { 0 a { u64 x; } 1 b { u32 y; i32 z; u64 w; } }",
]

# A declaration after BASE, which has 11 lines, and its error.
BAD = [
    # words
    ("struct a { u32 x; } $", "12: unexpected character '$'"),
    ("/* no end", "12: a comment that does not end"),
    # syntax
    ("strict a { u32 x; }", "12: expected a declaration before 'strict'"),
    ("struct a { u32 x }", "12: expected ';' before '}'"),
    ("struct a { u32; }", "12: expected the name of a field before ';'"),
    ("struct a {\nu32 x;\n", "14: expected a field before 'the end of the file'"),
    ("struct { u32 x; }", "12: expected the name of a struct before '{'"),
    ("struct a { count n max 7; }", "12: expected the name of a limit before '7'"),
    ("struct a since b { u32 x; }", "12: expected a feature level before 'b'"),
    ("limit X = Y;", "12: expected a number before 'Y'"),
    ("enum a { X; }", "12: expected '=' before ';'"),
    ("interface I { }", "12: expected what a trace calls its object before '{'"),
    ("interface I thing { u32 x; }", "12: expected a method or an event before 'u32'"),
    ("interface I thing { method a { } }", "12: expected the number of a method before 'a'"),
    ("interface I thing { method 1 a { reply { } } }", "12: expected 'args' before 'reply'"),
    ("union u { 0 a { u32 x; } }", "12: expected 'bytes' before '{'"),
    # names
    ("struct a {\n u32 x;\n u32 x; }", "14: field 'x' is declared twice"),
    ("struct a { u32 x; }\nstruct a { u32 y; }", "13: 'a' is declared twice"),
    ("struct u32 { u32 x; }", "12: 'u32' is declared twice"),
    ("limit MAX_THINGS = 6;", "12: 'MAX_THINGS' is declared twice"),
    ("enum a { X = 0; }\nenum b { X = 0; }", "13: 'X' is declared twice"),
    ("enum a { X = 0; Y = 0; }", "12: value 0 is 'X' already"),
    ("struct a { vec x; }", "12: unknown type 'vec'"),
    ("struct a { b x; }\nstruct b { u32 x; }", "12: 'b' is used before it is declared"),
    ("union u bytes 16 { 0 a { u32 x; } } struct s { u x; }", "12: unknown type 'u'"),
    ("plain struct p { u32 x; } struct s { p x; }",
     "12: 'p' is plain: it has no form on the wire"),
    # limits
    ("struct a { string x; }", "12: missing limit: 'x' is a string"),
    ("struct a { bytes x; }", "12: missing limit: 'x' is a bytes"),
    ("struct a { count n; u32 x[n]; }", "12: missing limit: 'n' is a count"),
    ("struct a { string x max MAX_NONE; }", "12: unknown limit 'MAX_NONE'"),
    ("struct a { string x max TOKEN_BYTES; }", "12: unknown limit 'TOKEN_BYTES'"),
    ("struct a { u32 x max MAX_THINGS; }", "12: 'x': a u32 has no limit"),
    ("limit MAX_ALL = 4294967296;", "12: limit 'MAX_ALL' is not between"),
    ("limit MAX_NO = 0;", "12: limit 'MAX_NO' is not between"),
    # arrays
    ("struct a { u32 x[n]; count n max MAX_THINGS; }", "12: 'x': no count 'n' before it"),
    ("struct a { u32 n; u32 x[n]; }", "12: 'x': no count 'n' before it"),
    ("struct a { count n max MAX_THINGS; }", "12: 'n' counts nothing"),
    ("struct a { u8 x; }", "12: 'x': u8 stands in arrays only"),
    ("struct a { count n max MAX_THINGS; bytes x[n] max MAX_THINGS; }", "12: 'x': no arrays of"),
    ("struct b { u32 x; } struct a { b x[TOKEN_BYTES]; }",
     "12: 'x': an array of structs needs a count"),
    # recursion
    ("struct a {\n count n max MAX_THINGS;\n a x[n]; }",
     "14: a type that contains itself: a -> a"),
    ("struct a { b x; }\nstruct b { c x; }\nstruct c { a x; }",
     "12: a type that contains itself: a -> b -> c -> a"),
    # enums
    ("enum a { X = 0; Y = 2; }", "12: enum 'a' has gaps"),
    ("enum a { end X = 0; }", "12: enum 'a' has no values"),
    # since and minor
    ("struct a since 28 { u32 x since 27; }", "12: since goes backwards: 'x' is since 27"),
    ("interface I thing { method 1 a since 28 { args { id x since 27; } reply { } } }",
     "12: since goes backwards: 'x' is since 27"),
    ("enum a since 28 { X = 0 since 27; }", "12: since goes backwards: 'X' is since 27"),
    ("struct a { u32 x since 29; }", "12: since 29: no such feature level"),
    ("struct a { u32 y; u32 x minor 1;\n u32 z; }", "13: minor goes backwards: 'z' is of minor 0"),
    ("struct a { u32 y; u32 x minor 2; }", "12: 'x' is of minor 2, the files are of version 1.1"),
    ("struct a { u32 x minor 1; }", "12: 'a' takes no bytes in minor 0"),
    ("struct a { count n max MAX_THINGS; u32 x[n] minor 1; }",
     "12: 'x' and its count are of different minors"),
    # methods
    ("interface I thing { method 1 a { args { id x; } reply { } }\n"
     "method 1 b { args { id x; } reply { } } }", "13: method 1 is 'a' already"),
    ("interface I thing { method 1 a { args { id x; } reply { } }\n"
     "method 2 a { args { id x; } reply { } } }", "13: method 'a' is declared twice"),
    ("interface I thing { method 0 a { args { id x; } reply { } } }",
     "12: method 0: numbers begin at 1"),
    ("interface I thing { method 1 a { args { } reply { } } }", "12: 'a_args' is empty"),
    ("interface I thing { method 1 a { args { id x; } reply also NO { } } }",
     "12: unknown status 'NO'"),
    ("interface I thing { event 1 a { id x; }\n event 1 b { id x; } }",
     "13: event 1 is 'a' already"),
    ("interface I thing { method 1 a { args { fd x; fd y; fd z; } reply { } } }",
     "12: 'a_args' may carry 3 descriptors, more than MAX_FDS"),
    # unions
    ("union u bytes 16 { 0 a { u32 x; u64 y; } }", "12: 'y' would leave a gap before it"),
    ("union u bytes 16 { 0 a { u64 x; u64 y; } }", "12: 'a' takes 16 bytes of 8"),
    ("union u bytes 16 { 0 a { u32 x; } 0 b { u32 x; } }", "12: 'b' is declared twice"),
    ("union u bytes 16 { 0 a { string x; } }", "12: 'x': a union holds plain numbers only"),
]


class Rules(unittest.TestCase):
    def test_base(self):
        self.assertEqual(BASE.count("\n"), 11)
        link(BASE)

    def test_good(self):
        for text in GOOD:
            with self.subTest(text):
                linked = link(BASE + text)
                tables.codec_source(linked)
                header.types_header(linked)

    def test_bad(self):
        for text, error in BAD:
            with self.subTest(text):
                with self.assertRaises(HalError) as caught:
                    link(BASE + text)
                self.assertIn("a.hal:" + error, str(caught.exception))

    def test_head(self):
        for text, error in (("", "1: expected 'package'"),
                            ("package a;", "1: expected 'version'"),
                            ("package a;\nversion 1;", "2: expected '.'")):
            with self.assertRaises(HalError) as caught:
                parse("a.hal", text)
            self.assertIn(error, str(caught.exception))

    def test_two_versions(self):
        with self.assertRaises(HalError) as caught:
            rules.link([parse("a.hal", BASE),
                        parse("b.hal", "package nn_hal; version 1.0;")])
        self.assertIn("b.hal:1: version 1.0, but the other files have 1.1", str(caught.exception))


class Command(unittest.TestCase):
    def run_halgen(self, *arguments):
        return subprocess.run([sys.executable, ROOT / "hal/halgen.py", *arguments],
                              capture_output=True, text=True, check=False)

    def test_an_error_names_its_place_and_is_a_failure(self):
        done = self.run_halgen("make", "types", "/dev/null", str(GOLDEN / "bad.hal"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad.hal:8: missing limit: 'name' is a string", done.stderr)

    def test_no_arguments_say_what_there_is(self):
        done = self.run_halgen()
        self.assertEqual(done.returncode, 2)
        self.assertIn("halgen.py update", done.stderr)


if __name__ == "__main__":
    unittest.main()
