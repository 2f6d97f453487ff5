#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether every operation stands in each place that it needs: doc/adding-an-operation.md.

    checklist.py ROWS    ROWS is the program kernel-rows, which prints the table of kernels

A place that was forgotten is named: "MEAN: no generator in tests/oracle". Before that the test
proves that it can fail: it spoils a copy of each place and expects the complaint.
"""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
EXECUTOR = "the executor runs subgraphs itself"
NO_ROW = {"IF": EXECUTOR, "WHILE": EXECUTOR}
UNKNOWN = "TensorFlow Lite has no such operator"
RESHAPED = "the loader builds a RESHAPE"
ONE_SUBGRAPH = "the loader runs one subgraph"
NO_TFLITE = {
    "AXIS_ALIGNED_BBOX_TRANSFORM": UNKNOWN, "BOX_WITH_NMS_LIMIT": UNKNOWN,
    "CHANNEL_SHUFFLE": UNKNOWN, "GENERATE_PROPOSALS": UNKNOWN, "HEATMAP_MAX_KEYPOINT": UNKNOWN,
    "INSTANCE_NORMALIZATION": UNKNOWN, "ROI_ALIGN": UNKNOWN, "ROI_POOLING": UNKNOWN,
    "SQUEEZE": RESHAPED, "EXPAND_DIMS": RESHAPED, "IF": ONE_SUBGRAPH, "WHILE": ONE_SUBGRAPH,
    "QUANTIZED_LSTM": "nnhal.tflite's UNIDIRECTIONAL_SEQUENCE_LSTM gives TensorFlow Lite's bits",
    "RANK": "TensorFlow Lite's delegate does not map it",
    "BIDIRECTIONAL_SEQUENCE_RNN": "TensorFlow Lite's delegate does not map it",
    "RANDOM_MULTINOMIAL": "TensorFlow Lite's seeds are attributes, and its results 64 bits wide",
}
SINCE = {"1": "", "2": "28", "3": "29", "4": "30", "6": "1000006", "7": "1000007"}
HEADER = "include/nnhal/tflite-extension.h"
EXTENSION = "src/model/ops-tflite.def"
GUIDE = "doc/app/tflite-extension.md"
VECTORS = "tests/oracle/meson.build"
INSIDE = 0x8000  # NN_TFLITE_OPS
OPERATIONS = re.compile(r"^NN_OP(?:_TYPES)?\((\w+), (\d), (\w+),", re.M)
TYPES = re.compile(r"^NN_OP_TYPES\((\w+),(.*?)\)$", re.M | re.S)
SIXTEEN = 1 << 7  # TENSOR_QUANT16_SYMM, in the types of a row


class Tree:
    """The texts that name operations, and the table of kernels; copies can be spoilt."""

    def __init__(self, rows, generators):
        self.texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
                      for pattern in ("src/model/op-*.c", "src/model/ops.def", "src/tflite/*.c",
                                      EXTENSION, HEADER, GUIDE, VECTORS,
                                      "hal/types.hal", "doc/hal.md", "tests/runtime/test-values.c",
                                      "include/android/NeuralNetworksTypes.h")
                      for path in ROOT.glob(pattern)}
        self.rows, self.generators = rows, generators

    def spoilt(self, path, pattern):
        copy = Tree.__new__(Tree)
        copy.texts, copy.rows = dict(self.texts), self.rows
        copy.generators = self.generators
        copy.texts[path] = re.sub(pattern, "", self.texts[path], flags=re.M)
        return copy

    def has(self, pattern, *paths):
        return any(re.search(pattern, self.texts.get(path, ""), re.M) for path in paths)

    def all(self, prefix):
        return [path for path in self.texts if path.startswith(prefix)]


def kernel_complaints(tree, name, code):
    rows = [row for row in tree.rows if row[0] == code]
    plain = [row for row in rows if row[1] == 0]
    if not rows and name not in NO_ROW:
        yield "no row in plain C in src/drivers/cpu/kernels"
    for _, isa, types, row in rows:
        covered = any(t == 0 or types and types & ~t == 0 for _, _, t, _ in plain)
        if isa and not covered:
            union = 0
            for _, _, t, _ in plain:
                union |= t
            if not types or types & ~union:
                yield f"no plain C for the types of {row}"


def operation_complaints(tree, code, name, level, family):
    """What is missing for one operation: its places in the order of the document."""
    since = f" since {SINCE[level]}" if SINCE.get(level) else ""
    source = f"src/model/op-{family.replace('_', '-')}.c"
    word = rf"\bNNHAL_OP_{name}\b"
    if not tree.has(rf"^ +OP_{name} = {code}{since};$", "hal/types.hal"):
        yield f"no 'OP_{name} = {code}{since};' in hal/types.hal"
    if not tree.has(rf"^\| OP_{name} \| {code} \|", "doc/hal.md"):
        yield "no line in doc/hal.md: hal/halgen.py update"
    if not tree.has(rf"\bANEURALNETWORKS_{name} = {code},", "include/android/NeuralNetworksTypes.h"):
        yield "no code in include/android/NeuralNetworksTypes.h"
    if not tree.has(rf"SAME\(ANEURALNETWORKS_{name}, {code}\)", "tests/runtime/test-values.c"):
        yield "no value in tests/runtime/test-values.c"
    if not tree.has(word, source):
        yield f"no functions in {source}"
    yield from kernel_complaints(tree, name, code)
    if name not in tree.generators:
        yield "no generator in tests/oracle"
    is_mapped = tree.has(rf"\bANEURALNETWORKS_{name}\b", *tree.all("src/tflite/"))
    if not is_mapped and name not in NO_TFLITE:
        yield "not mapped in src/tflite, and no reason in NO_TFLITE of tests/model/checklist.py"
    if is_mapped and name in NO_TFLITE:
        yield "mapped in src/tflite: NO_TFLITE of tests/model/checklist.py is out of date"


def extension_complaints(tree, number, name, family):
    """The same for an operation of nnhal.tflite."""
    if not tree.has(rf"^    NNHAL_TFLITE_{name} = {number},$", HEADER):
        yield f"no 'NNHAL_TFLITE_{name} = {number},' in {HEADER}"
    source = f"src/model/op-{family.replace('_', '-')}.c"
    types = dict(TYPES.findall(tree.texts[EXTENSION]))
    if name in types:  # inside it is NNAPI's, with another type or a higher rank
        code = re.search(rf"^ +OP_{name} = (\d+)", tree.texts["hal/types.hal"], re.M)
        if code and "Z" in types[name] and not any(row[0] == int(code[1]) and (not row[2] or row[2] & SIXTEEN) for row in tree.rows):
            yield "no row for 16 bits in src/drivers/cpu/kernels"
    else:
        if not tree.has(rf"\bNN_TFLITE_OP\({name}\)", source):
            yield f"no functions in {source}"
        yield from kernel_complaints(tree, name, INSIDE + number)
    if f"TFLITE_{name}" not in tree.generators:
        yield "no generator in tests/oracle"
    if not tree.has(rf"\bNNHAL_TFLITE_{name}\b", *tree.all("src/tflite/")):
        yield "not mapped in src/tflite"
    if not tree.has(rf"^\*\*.*\b{name}\b.*\*\*", GUIDE):
        yield f"nothing in {GUIDE}"
    if not tree.has(rf"'{name}'", VECTORS):
        yield f"no vectors: it is not in the list in {VECTORS}"


def complaints(tree):
    found = []
    for number, (name, _, family) in enumerate(OPERATIONS.findall(tree.texts[EXTENSION])):
        found += [f"{name}: {what}" for what in extension_complaints(tree, number, name, family)]
    for code, (name, level, family) in enumerate(OPERATIONS.findall(tree.texts["src/model/ops.def"])):
        found += [f"{name}: {what}" for what in operation_complaints(tree, code, name, level, family)]
    listed = re.findall(r"^ +OP_(\w+) = (\d+)", tree.texts["hal/types.hal"], re.M)
    known = {name for name, _, _ in OPERATIONS.findall(tree.texts["src/model/ops.def"])}
    found += [f"{name}: no row in src/model/ops.def" for name, _ in listed
              if name not in known | {"OEM_OPERATION"}]
    return found


def generators():
    sys.dont_write_bytecode = True
    folder = ROOT / "tests/oracle"
    sys.path.insert(0, str(folder))
    for path in sorted(folder.glob("ops_*.py")):
        importlib.import_module(path.stem)
    return set(importlib.import_module("case").GENERATORS)


def spoilt_copies(tree):
    """Copies of the tree in which MEAN is forgotten in one place, and what that is called."""
    yield tree.spoilt("hal/types.hal", r"^ +OP_MEAN = .*\n"), "MEAN: no 'OP_MEAN = 31 since 28;' in hal/types.hal"
    yield tree.spoilt("doc/hal.md", r"^\| OP_MEAN .*\n"), "MEAN: no line in doc/hal.md: hal/halgen.py update"
    yield (tree.spoilt("include/android/NeuralNetworksTypes.h", r"^ +ANEURALNETWORKS_MEAN = .*\n"),
           "MEAN: no code in include/android/NeuralNetworksTypes.h")
    yield (tree.spoilt("tests/runtime/test-values.c", r"SAME\(ANEURALNETWORKS_MEAN, 31\);"),
           "MEAN: no value in tests/runtime/test-values.c")
    yield tree.spoilt("src/model/op-reduce.c", r"\bNNHAL_OP_MEAN\b"), "MEAN: no functions in src/model/op-reduce.c"
    mapping = next(p for p in tree.all("src/tflite/") if "ANEURALNETWORKS_MEAN" in tree.texts[p])
    yield (tree.spoilt(mapping, r"\bANEURALNETWORKS_MEAN\b"),
           "MEAN: not mapped in src/tflite, and no reason in NO_TFLITE of tests/model/checklist.py")
    without = tree.spoilt("hal/types.hal", r"(?!)")
    without.rows = [row for row in tree.rows if row[0] != 31]
    yield without, "MEAN: no row in plain C in src/drivers/cpu/kernels"
    without = tree.spoilt("hal/types.hal", r"(?!)")
    without.rows = [row for row in tree.rows if row[0] != 31 or row[1]] + [(31, 1, 8, "mean__avx2")]
    yield without, "MEAN: no plain C for the types of mean__avx2"
    without = tree.spoilt("hal/types.hal", r"(?!)")
    without.generators = tree.generators - {"MEAN"}
    yield without, "MEAN: no generator in tests/oracle"
    yield tree.spoilt(VECTORS, r"'ROUND', *"), f"ROUND: no vectors: it is not in the list in {VECTORS}"
    yield tree.spoilt(GUIDE, r"^\*\*ROUND\.\*\*.*\n"), f"ROUND: nothing in {GUIDE}"
    yield tree.spoilt("src/model/op-unary.c", r".*NN_TFLITE_OP\(ROUND\).*\n"), "ROUND: no functions in src/model/op-unary.c"
    yield (tree.spoilt("src/tflite/map-extension.c", r"\bNNHAL_TFLITE_ROUND\b"),
           "ROUND: not mapped in src/tflite")
    without = tree.spoilt("hal/types.hal", r"(?!)")
    without.rows = [row for row in tree.rows if row[0] != 3 or not row[2] & SIXTEEN]
    yield without, "CONV_2D: no row for 16 bits in src/drivers/cpu/kernels"
    without = tree.spoilt("src/model/ops.def", r"^NN_OP\(REVERSE,.*\n")
    yield without, "REVERSE: no row in src/model/ops.def"


def main(program):
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = [(int(code), int(isa), int(types), name) for code, isa, types, name in
            (line.split(None, 3) for line in printed.splitlines())]
    tree = Tree(rows, generators())
    for spoilt, expected in spoilt_copies(tree):
        if expected not in complaints(spoilt):
            sys.exit(f"a spoilt copy passes: expected '{expected}'")
    found = complaints(tree)
    print("\n".join(found) or f"{len(tree.generators)} operations stand in every place")
    return 1 if found else 0


sys.exit(main(sys.argv[1]))
