#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether doc/operations.md says what is accepted: no type too many, none missing, at its level.

    operations-reference.py PROGRAM    PROGRAM is reference-forms, which knows the validation

Before that the test proves that it can fail: it spoils what the reference says, and the prose.
"""

import copy
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
from reference import prose, table  # noqa: E402

SCRIPT = ROOT / "scripts/operations.py"


def judge_forms(program, forms):
    return subprocess.run([program], input=forms, capture_output=True, text=True).returncode


def spoilt_forms(forms):
    """Forms of CONV_2D in which one is missing, one is of another level, one has a type of another."""
    lines = [line for line in forms.splitlines(keepends=True) if line.startswith("3 ")]
    at = next(i for i, line in enumerate(lines) if line.startswith("3 1 3 3 3 "))
    yield lines[:at] + lines[at + 1:]
    yield lines[:at] + [lines[at].replace("3 1 ", "3 2 ", 1)] + lines[at + 1:]
    yield lines[:at] + [lines[at].replace("3 1 3 3 3 ", "3 1 3 3 4 ", 1)] + lines[at + 1:]


def spoilt_texts(text):
    """Copies of what is written of CONV_2D, each with one fault."""

    def changed(change):
        other = copy.deepcopy(text)
        change(other)
        return other
    yield changed(lambda other: other.inputs[0].names.pop())
    yield changed(lambda other: other.inputs[0].names.append("nchw"))
    yield changed(lambda other: other.inputs[0].names.__setitem__(1, "input"))
    yield changed(lambda other: other.inputs.pop())
    yield changed(lambda other: other.entries.pop("filter"))
    yield changed(lambda other: other.entries.__setitem__("unknown", other.entries["filter"]))
    yield changed(lambda other: other.parts.pop("Formula"))
    yield changed(lambda other: other.parts.pop("TensorFlow Lite"))
    yield changed(lambda other: other.parts.pop("Quantization"))
    yield changed(lambda other: other.parts.pop("Zero-sized"))
    yield changed(lambda other: setattr(other, "family", "pool"))
    yield changed(lambda other: setattr(other, "summary", ""))


def main(program):
    types = table.read_types()
    operation = next(o for o in table.read_operations(types) if o.name == "CONV_2D")
    text, (_, common) = prose.read_texts()["CONV_2D"], prose.read_introduction()
    for number, spoilt in enumerate(spoilt_texts(text)):
        if not list(prose.judge(operation, spoilt, common, types)):
            sys.exit(f"spoilt prose {number} passes")
    forms = subprocess.run([sys.executable, SCRIPT, "forms"], check=True, capture_output=True,
                           text=True).stdout
    if len({line.split()[0] for line in forms.splitlines()}) != len(prose.read_texts()):
        sys.exit("not every operation has forms")
    for number, spoilt in enumerate(spoilt_forms(forms)):
        if not judge_forms(program, "".join(spoilt)):
            sys.exit(f"spoilt forms {number} pass")
    return subprocess.run([program], input=forms, text=True).returncode


sys.exit(main(sys.argv[1]))
