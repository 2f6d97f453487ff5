#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each promise of SPECIFICATION.md has a figure and a test or bench that enforces it.

    lint-specification.py               judges SPECIFICATION.md
    lint-specification.py --self-test   each kind of spoilt line is found

A promise is a line of a table with the columns promise, figure, enforced by. Its figure is a
number, an error code, or a word that bounds (none, all, before, half). Its last column names
files that exist and that the build folder ($NNHAL_BUILD_ROOT) knows as part of a test, or a
table of `make bench`, written so: `make bench` (cache).

Each number of a figure stands in one of those files, or in the build file beside it, which may
say it in another unit or in a comment: 64 KiB is 65536, or 64 << 10. So a figure that was changed in
one place alone is found.
"""

import json
import os
import re
import sys
from pathlib import Path

import tree

SPECIFICATION = "SPECIFICATION.md"
COLUMNS = ["promise", "figure", "enforced by"]
FIGURE = re.compile(r"\d|\bE[A-Z]{3,}\b|\b[A-Z]{2,}_[A-Z_]+\b|\b(?:none|never|nothing|not at all|"
                    r"every|each|all|one|two|three|half|twice|before|exactly)\b")
CODE = re.compile(r"`[^`]*`|\b[A-Z]\w*_\w+=\d+")
NUMBER = re.compile(r"(?<![\w.^])(?:(\d+)\^(\d+)|(\d[\d,]*(?:\.\d+)?))(?![\w^])")
LITERAL = re.compile(r"(?<![\w.])(?:(\d+) ?(?:<<|\^|\*\*) ?(\d+)|(\d[\d,_']*(?:\.\d+)?))")
UNITS = [1000 ** n for n in range(4)] + [1024 ** n for n in range(1, 5)]
FILE = re.compile(r"(?<![\w/])(?:tests|bench|fuzz)/[\w./-]*\w\.\w+")
BENCH = re.compile(r"`make bench` \((\w+)\)")


class Known:
    """What enforces: files of the registered tests, and the tables of the bench."""

    def __init__(self, files, tables, read=tree.read):
        self.files = files
        self.tables = tables
        self.builds = {path for path in tree.files("meson.build")}
        self.read = read

    def literals(self, paths):
        """The numbers in these files and in the build files beside them."""
        beside = {str(Path(path).parent / "meson.build") for path in paths}
        found = set()
        for path in {*paths, *(beside & self.builds)}:
            for power, exponent, plain in LITERAL.findall(self.read(path)):
                found.add(float(re.sub("[,_']", "", plain) if plain else power))
                if power:
                    found.update((float(power) * 2.0 ** int(exponent),
                                  float(power) ** int(exponent)) if int(exponent) < 64 else ())
        return found


def numbers_of(figure):
    """Yields (as it is written, value)."""
    for match in NUMBER.finditer(CODE.sub("", figure)):
        power, exponent, plain = match.groups()
        yield match[0], (float(plain.replace(",", "")) if plain else float(power) ** int(exponent))


def files_of_tests(build):
    """Sources and scripts of all registered tests, relative to the tree."""
    tests = json.loads((build / "meson-info/intro-tests.json").read_text())
    targets = json.loads((build / "meson-info/intro-targets.json").read_text())
    words = {word for test in tests for word in test["cmd"]}
    found = set(words)
    for target in targets:
        if words.intersection(target["filename"]):
            for group in target["target_sources"]:
                found.update(group["sources"])
    root = f"{tree.ROOT}/"
    return {os.path.normpath(path).removeprefix(root) for path in found
            if path.startswith(("/", "."))}


def tables_of_bench():
    """The names of the tables that are judged, and the programs that print them."""
    tables = re.search(r"^PROMISES = \[(.*)\]", tree.read("scripts/run-bench.py"), re.MULTILINE)
    names = set(re.findall(r'"(\w+)"', tables[1]))
    return names, {path for path in (f"bench/{name}.c" for name in names)
                   if (tree.ROOT / path).is_file()}


def load_known():
    build = Path(os.environ.get("NNHAL_BUILD_ROOT") or tree.ROOT / "build")
    if not (build / "meson-info/intro-tests.json").is_file():
        print(f"{build} is no build folder: whether the tests are registered is not known")
        sys.exit(77)
    tables, programs = tables_of_bench()
    return Known(files_of_tests(build) | programs | {"scripts/run-bench.py"}, tables)


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def judge_promise(cells, known):
    """Yields what is wrong with a line of a table."""
    if len(cells) != len(COLUMNS) or not all(cells):
        yield "a promise has three columns: " + ", ".join(COLUMNS)
        return
    if not FIGURE.search(cells[1]):
        yield f"no figure: {cells[1]}"
    paths, benches = FILE.findall(cells[2]), BENCH.findall(cells[2])
    if not paths and not benches:
        yield f"names no test and no bench: {cells[2]}"
    for path in paths:
        if path not in known.files:
            yield f"{path} is not part of a registered test or bench"
    for table in benches:
        if table not in known.tables:
            yield f"`make bench` prints no table {table}"
    programs = [f"bench/{table}.c" for table in benches] + ["scripts/run-bench.py"] * bool(benches)
    literals = known.literals([path for path in paths + programs if path in known.files])
    for text, value in numbers_of(cells[1]):
        if literals and not any(value * unit in literals for unit in UNITS):
            yield f"{text} stands in none of the files that enforce it"


def judge(text, known):
    """Yields (line, sentence). There must be promises at all."""
    n_promises = 0
    state = None  # of the table: None, "head", "body"
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            state = None
        elif state is None:
            state = "head"
            if cells_of(line) != COLUMNS:
                yield number, "the columns of a table are " + ", ".join(COLUMNS)
        elif state == "head":
            state = "body"
        else:
            n_promises += 1
            for sentence in judge_promise(cells_of(line), known):
                yield number, sentence
    if not n_promises:
        yield 1, "no promise"


def lint():
    known = load_known()
    for line, sentence in judge(tree.read(SPECIFICATION), known):
        yield SPECIFICATION, line, sentence


HEAD = "| promise | figure | enforced by |\n|---|---|---|\n"
ENFORCER = "MS = 50, KIB = 64 << 10, ROUNDS = 1'000, /* 2^24 in all */ rest = 0.75"
SOUND = HEAD + """\
| a call ends | 50 ms | tests/a/test-a.c |
| a call takes | 64 KiB, 1,000 times, 2^24 in all; `NN_X=7`, 0.75 s | tests/a/test-a.c |
| a call is refused | EPERM | tests/a/test-a.c, in the suite slow; `make bench` (cache) |
"""
SPOILT = {
    "no table": "A service is fast.\n",
    "other columns": "| promise | enforced by |\n|---|---|\n| it ends, 1 s | tests/a/test-a.c |\n",
    "a column is missing": HEAD + "| a call ends | tests/a/test-a.c |\n",
    "an empty figure": HEAD + "| a call ends | | tests/a/test-a.c |\n",
    "no figure": HEAD + "| a call ends | soon | tests/a/test-a.c |\n",
    "words that bound nothing": HEAD + "| a call ends | at any time | tests/a/test-a.c |\n",
    "a number that no file knows": HEAD + "| a call ends | 51 ms | tests/a/test-a.c |\n",
    "one of two numbers": HEAD + "| a call ends | 50 ms, 3 times | tests/a/test-a.c |\n",
    "nothing enforces it": HEAD + "| a call ends | 50 ms | review |\n",
    "no such file": HEAD + "| a call ends | 50 ms | tests/a/test-b.c |\n",
    "one of two is no test": HEAD + "| a call ends | 50 ms | tests/a/test-a.c, tests/a/b.py |\n",
    "no such table": HEAD + "| a call ends | 50 ms | `make bench` (speed) |\n",
}


def self_test():
    known = Known({"tests/a/test-a.c"}, {"cache"}, lambda path: ENFORCER)
    failed = [f"a sound text: {found}" for found in judge(SOUND, known)]
    failed += [f"not found: {name}" for name, text in SPOILT.items() if not list(judge(text, known))]
    print("\n".join(failed) or f"{len(SPOILT)} spoilt texts fail")
    sys.exit(1 if failed else 0)


if sys.argv[1:] == ["--self-test"]:
    self_test()
tree.run(lint)
